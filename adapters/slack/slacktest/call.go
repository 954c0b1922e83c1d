package slacktest

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// request is one call with its arguments, however they were encoded.
type request struct {
	args  map[string]string
	token string
}

func (r request) flag(key string) bool { return r.args[key] == "true" || r.args[key] == "1" }

// refusal is an answer with ok:false.
type refusal struct {
	code     string
	needed   string
	messages []string
}

func no(code string, messages ...string) *refusal { return &refusal{code: code, messages: messages} }

// answer is the part that all answers have; the rest is embedded by each method.
type answer struct {
	OK       bool          `json:"ok"`
	Error    string        `json:"error,omitempty"`
	Needed   string        `json:"needed,omitempty"`
	Provided string        `json:"provided,omitempty"`
	Metadata *responseMeta `json:"response_metadata,omitempty"`
}

type responseMeta struct {
	Messages []string `json:"messages,omitempty"`
	Cursor   string   `json:"next_cursor,omitempty"`
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	switch {
	case path == "/link":
		s.socket(w, r)
		return
	case strings.HasPrefix(path, "/upload/"):
		s.uploaded(w, r)
		return
	case strings.HasPrefix(path, "/files/"):
		s.download(w, r)
		return
	case strings.HasPrefix(path, "/answer/"):
		s.answered(w, r)
		return
	}
	method, ok := strings.CutPrefix(path, "/api/")
	if !ok {
		http.NotFound(w, r)
		return
	}
	req, err := read(r)
	if err != nil {
		reply(w, nil, no("invalid_form_data"))
		return
	}
	fail := s.record(method, req)
	if fail != nil {
		if fail.Done {
			s.call(method, req)
		}
		s.fail(w, r, *fail)
		return
	}
	result, refused := s.call(method, req)
	s.mu.Lock()
	w.Header().Set("X-OAuth-Scopes", s.scopes)
	s.mu.Unlock()
	reply(w, result, refused)
}

func (s *Server) record(method string, req request) *Failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, Call{Method: method, Args: req.args, At: time.Now()})
	s.changed.Broadcast()
	q := s.failures[method]
	if len(q) == 0 {
		return nil
	}
	s.failures[method] = q[1:]
	return &q[0]
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, f Failure) {
	if f.Wait > 0 {
		select {
		case <-time.After(f.Wait):
		case <-r.Context().Done():
			return
		}
	}
	switch {
	case f.Cut:
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			conn.Close() //nolint:errcheck // nothing was written
		}
	case f.RetryAfter > 0:
		w.Header().Set("Retry-After", strconv.Itoa(f.RetryAfter))
		w.WriteHeader(http.StatusTooManyRequests)
		reply(w, nil, no("ratelimited"))
	case f.Status != 0:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		io.WriteString(w, "<html><body>Server Error</body></html>") //nolint:errcheck // the client may be gone
	case f.Error != "":
		reply(w, nil, &refusal{f.Error, f.Needed, f.Messages})
	default:
		reply(w, answer{OK: true}, nil)
	}
}

func reply(w http.ResponseWriter, result any, refused *refusal) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if refused != nil {
		a := answer{Error: refused.code, Needed: refused.needed}
		if len(refused.messages) > 0 {
			a.Metadata = &responseMeta{Messages: refused.messages}
		}
		result = a
	}
	json.NewEncoder(w).Encode(result) //nolint:errcheck // the client may be gone
}

const maxBody = 64 << 20

// read takes the arguments out of a query, a form or JSON, and the token out of the header or them.
func read(r *http.Request) (request, error) {
	req := request{args: map[string]string{}}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if err != nil {
		return req, err
	}
	form := url.Values{}
	if kind == "application/json" {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(body, &fields); err != nil && len(body) > 0 {
			return req, err
		}
		for k, v := range fields {
			var text string
			if json.Unmarshal(v, &text) != nil {
				text = string(v)
			}
			req.args[k] = text
		}
	} else if form, err = url.ParseQuery(string(body)); err != nil {
		return req, err
	}
	for _, values := range []url.Values{r.URL.Query(), form} {
		for k := range values {
			req.args[k] = values.Get(k)
		}
	}
	req.token = req.args["token"]
	delete(req.args, "token")
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		req.token = bearer
	}
	return req, nil
}

// call runs a method.
func (s *Server) call(method string, req request) (any, *refusal) {
	switch {
	case method == "apps.connections.open" && req.token == AppToken:
		return s.open()
	case req.token == "":
		return nil, no("not_authed")
	case req.token != BotToken:
		return nil, no("invalid_auth")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch method {
	case "auth.test":
		return struct {
			answer
			URL    string `json:"url"`
			Team   string `json:"team"`
			User   string `json:"user"`
			TeamID string `json:"team_id"`
			UserID string `json:"user_id"`
			BotID  string `json:"bot_id"`
		}{answer{OK: true}, "https://ours.slack.com/", "Ours", "paragents", Team, BotUser, BotID}, nil
	case "chat.postMessage":
		return s.post(req)
	case "chat.update":
		return s.update(req)
	case "chat.postEphemeral":
		return s.ephemeral(req)
	case "conversations.open":
		return s.openDirect(req)
	case "conversations.history", "conversations.replies":
		return s.history(method, req)
	case "reactions.add":
		return s.react(req)
	case "users.info":
		return s.user(req)
	case "views.open":
		return s.openView(req)
	case "views.publish":
		return s.publishView(req)
	case "files.getUploadURLExternal":
		return s.beginUpload(req)
	case "files.completeUploadExternal":
		return s.completeUpload(req)
	case "files.info":
		return s.fileInfo(req)
	}
	return nil, no("unknown_method")
}
