package slacktest

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxPlain is where text is refused. The platform takes more in some calls, and cuts it in others.
const maxPlain = 4000

var stampForm = regexp.MustCompile(`^[0-9]{10}\.[0-9]{6}$`)

type posted struct {
	answer
	Channel string `json:"channel,omitempty"`
	TS      string `json:"ts,omitempty"`
	Text    string `json:"text,omitempty"`
	Message *wire  `json:"message,omitempty"`
	Private string `json:"message_ts,omitempty"`
}

// content checks what a message holds; s.mu is held.
func content(req request) (*Message, *refusal) {
	blocks, wrong := parseBlocks(req.args["blocks"])
	if wrong != nil {
		return nil, wrong
	}
	m := &Message{Text: req.args["text"], Blocks: blocks, Thread: req.args["thread_ts"]}
	m.unfurls = req.args["unfurl_links"] != "false" || req.args["unfurl_media"] != "false"
	switch {
	case strings.TrimSpace(m.Text) == "" && len(blocks) == 0:
		return nil, no("no_text")
	case utf8.RuneCountInString(m.Text) > maxPlain:
		return nil, no("msg_too_long")
	case m.Thread != "" && !stampForm.MatchString(m.Thread):
		return nil, no("invalid_thread_ts")
	}
	if raw := req.args["metadata"]; raw != "" {
		var md struct {
			Type    string                     `json:"event_type"`
			Payload map[string]json.RawMessage `json:"event_payload"`
		}
		if json.Unmarshal([]byte(raw), &md) != nil || md.Type == "" || md.Payload == nil {
			return nil, no("invalid_metadata_format")
		}
		m.Metadata = json.RawMessage(raw)
	}
	return m, nil
}

func (s *Server) post(req request) (any, *refusal) {
	r, wrong := s.reach(req.args["channel"])
	if wrong != nil {
		return nil, wrong
	}
	if r.archived {
		return nil, no("is_archived")
	}
	m, wrong := content(req)
	if wrong != nil {
		return nil, wrong
	}
	m.TS, m.Author = s.stamp(), Person{ID: BotUser, Team: Team, Bot: BotID}
	s.write(r, m)
	return posted{answer: answer{OK: true}, Channel: r.id, TS: m.TS, Message: s.wire(m, r.id)}, nil
}

func (s *Server) update(req request) (any, *refusal) {
	r, wrong := s.reach(req.args["channel"])
	if wrong != nil {
		return nil, wrong
	}
	old := r.find(req.args["ts"])
	switch {
	case old == nil || old.Only != "":
		return nil, no("message_not_found")
	case old.Author.Bot != BotID:
		return nil, no("cant_update_message")
	case r.archived:
		return nil, no("is_archived")
	}
	m, wrong := content(req)
	if wrong != nil {
		return nil, wrong
	}
	before := *old
	old.Text = m.Text
	if _, given := req.args["blocks"]; given {
		old.Blocks = m.Blocks
	}
	if m.Metadata != nil {
		old.Metadata = m.Metadata
	}
	s.emitChanged(r, &before, old)
	return posted{answer: answer{OK: true}, Channel: r.id, TS: old.TS, Text: old.Text, Message: s.wire(old, r.id)}, nil
}

func (s *Server) ephemeral(req request) (any, *refusal) {
	r, wrong := s.reach(req.args["channel"])
	if wrong != nil {
		return nil, wrong
	}
	if !slices.ContainsFunc(people(), func(p Person) bool { return p.ID == req.args["user"] }) {
		return nil, no("user_not_in_channel")
	}
	m, wrong := content(req)
	if wrong != nil {
		return nil, wrong
	}
	m.TS, m.Author, m.Only = s.stamp(), Person{ID: BotUser, Team: Team, Bot: BotID}, req.args["user"]
	r.messages = append(r.messages, m)
	s.changed.Broadcast()
	return posted{answer: answer{OK: true}, Private: m.TS}, nil
}

// answerURL is where an app answers a press or a command.
type answerURL struct {
	channel string
	user    string
	message string // that was pressed
	used    int
}

// answerTo makes an address; s.mu is held.
func (s *Server) answerTo(channel, user, message string) string {
	id := s.number("R")
	s.answers[id] = &answerURL{channel: channel, user: user, message: message}
	return "http://" + s.gate.Addr().String() + "/answer/" + id
}

// answered takes an answer.
func (s *Server) answered(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Text    string          `json:"text"`
		Blocks  json.RawMessage `json:"blocks"`
		Type    string          `json:"response_type"`
		Thread  string          `json:"thread_ts"`
		Replace bool            `json:"replace_original"`
		Delete  bool            `json:"delete_original"`
	}
	err := json.NewDecoder(io.LimitReader(r.Body, maxBody)).Decode(&body)
	id := strings.TrimPrefix(r.URL.Path, "/answer/")
	fail := s.record("answer", request{args: map[string]string{
		"text": body.Text, "response_type": body.Type, "thread_ts": body.Thread, "replace_original": strconv.FormatBool(body.Replace),
	}})
	if fail != nil {
		s.fail(w, r, *fail)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	to := s.answers[id]
	if to == nil || to.used == 5 || err != nil {
		w.WriteHeader(http.StatusNotFound)
		reply(w, nil, no("used_url"))
		return
	}
	m, wrong := content(request{args: map[string]string{"text": body.Text, "blocks": string(body.Blocks), "thread_ts": body.Thread}})
	if wrong != nil && !body.Delete {
		reply(w, nil, wrong)
		return
	}
	to.used++
	room := s.channels[to.channel]
	if body.Replace || body.Delete {
		room.messages = slices.DeleteFunc(room.messages, func(m *Message) bool { return m.TS == to.message })
	}
	if !body.Delete {
		m.TS, m.Author = s.stamp(), Person{ID: BotUser, Team: Team, Bot: BotID}
		if body.Type != "in_channel" {
			m.Only = to.user
		}
		room.messages = append(room.messages, m)
	}
	s.changed.Broadcast()
	w.Header().Set("Content-Type", "text/html")
	io.WriteString(w, "ok") //nolint:errcheck // the client may be gone
}
