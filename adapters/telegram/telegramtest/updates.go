package telegramtest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// pending is an update that nobody confirmed yet.
type pending struct {
	id   int64
	body json.RawMessage
}

// unlisted kinds come only to bots that name them.
var unlisted = []string{"chat_member", "message_reaction", "message_reaction_count"}

// pushLocked queues an update, unless the bot said that it does not want the kind.
func (s *Server) pushLocked(kind string, v any) {
	if s.allowed == nil && slices.Contains(unlisted, kind) || s.allowed != nil && !slices.Contains(s.allowed, kind) {
		return
	}
	inner, err := json.Marshal(v)
	if err != nil {
		s.t.Errorf("push %s: %v", kind, err)
		return
	}
	s.nextID++
	body := `{"update_id":` + strconv.FormatInt(s.nextID, 10) + `,"` + kind + `":` + string(inner) + `}`
	s.updates = append(s.updates, pending{s.nextID, json.RawMessage(body)})
	s.wakeLocked()
}

func (s *Server) wakeLocked() {
	close(s.wake)
	s.wake = make(chan struct{})
}

// Push queues an update of any form: what the platform may send tomorrow.
func (s *Server) Push(kind, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pushLocked(kind, json.RawMessage(body))
}

// Pending counts the updates that the bot has not confirmed.
func (s *Server) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.updates)
}

const (
	longestPoll = 50 * time.Second
	mostUpdates = 100
)

func (s *Server) getUpdates(r request) (any, *refusal) {
	limit := int(r.int("limit"))
	if limit <= 0 || limit > mostUpdates {
		limit = mostUpdates
	}
	wait := time.NewTimer(min(time.Duration(r.int("timeout"))*time.Second, longestPoll))
	defer wait.Stop()

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hook != "" {
		return nil, &refusal{code: 409, text: "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"}
	}
	s.allowLocked(r)
	s.confirmLocked(r.int("offset"))
	s.polls++
	mine := s.polls
	s.wakeLocked() // an older poll ends now
	for late := false; ; {
		if mine != s.polls {
			return nil, &refusal{code: 409, text: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"}
		}
		if len(s.updates) > 0 || late {
			out := make([]json.RawMessage, 0, limit)
			for _, u := range s.updates[:min(limit, len(s.updates))] {
				out = append(out, u.body)
			}
			return out, nil
		}
		wake := s.wake
		s.mu.Unlock()
		select {
		case <-wake:
		case <-wait.C:
			late = true
		case <-r.ctx.Done():
		}
		s.mu.Lock()
		if r.ctx.Err() != nil {
			return nil, nil
		}
	}
}

// allowLocked keeps the list of the last caller that gave one.
func (s *Server) allowLocked(r request) {
	list, ok := r.params["allowed_updates"]
	if !ok {
		return
	}
	var kinds []string
	if err := json.Unmarshal([]byte(list), &kinds); err != nil || len(kinds) == 0 {
		s.allowed = nil
		return
	}
	s.allowed = kinds
}

// confirmLocked forgets what is before the offset. A negative one counts from the end; one far in the future is of an older numbering and
// confirms nothing.
func (s *Server) confirmLocked(offset int64) {
	switch {
	case offset < 0:
		if n := len(s.updates) + int(offset); n > 0 {
			s.updates = s.updates[n:]
		}
	case offset > s.nextID+10:
	default:
		for len(s.updates) > 0 && s.updates[0].id < offset {
			s.updates = s.updates[1:]
		}
	}
}

func (s *Server) setWebhook(r request) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.allowLocked(r)
	s.dropHookLocked()
	if r.params["url"] == "" {
		return true, nil
	}
	s.hook, s.secret = r.params["url"], r.params["secret_token"]
	s.polls++
	s.wakeLocked()
	ctx, stop := context.WithCancel(s.base)
	s.hookStop = stop
	url, secret := s.hook, s.secret
	s.wg.Go(func() { s.deliver(ctx, url, secret) })
	return true, nil
}

func (s *Server) deleteWebhook(request) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropHookLocked()
	return true, nil
}

func (s *Server) dropHookLocked() {
	if s.hookStop != nil {
		s.hookStop()
	}
	s.hook, s.secret, s.hookStop = "", "", nil
}

type webhookInfo struct {
	URL     string   `json:"url"`
	Custom  bool     `json:"has_custom_certificate"`
	Pending int      `json:"pending_update_count"`
	Allowed []string `json:"allowed_updates,omitempty"`
}

func (s *Server) webhookInfo(request) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return webhookInfo{URL: s.hook, Pending: len(s.updates), Allowed: s.allowed}, nil
}

// redeliver is the pause before an update that was not taken is delivered again; the real server takes longer each time.
const redeliver = 50 * time.Millisecond

// deliver posts updates one by one until the context ends. An update stays until the bot answers with success.
func (s *Server) deliver(ctx context.Context, url, secret string) {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for ctx.Err() == nil {
		s.mu.Lock()
		wake := s.wake
		var next pending
		if len(s.updates) > 0 {
			next = s.updates[0]
		}
		s.mu.Unlock()
		if next.id == 0 {
			select {
			case <-wake:
			case <-ctx.Done():
			}
			continue
		}
		if s.post(ctx, client, url, secret, next.body) {
			s.mu.Lock()
			s.confirmLocked(next.id + 1)
			s.mu.Unlock()
			continue
		}
		pause := time.NewTimer(redeliver)
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
		pause.Stop()
	}
}

func (s *Server) post(ctx context.Context, client *http.Client, url, secret string, body []byte) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/json")
	if secret != "" {
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
	}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close() //nolint:errcheck // only the status counts
	return resp.StatusCode/100 == 2
}
