package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"paragents/core"
	"paragents/core/llm"
)

// Step is how a Server answers one request.
type Step struct {
	Reasoning []string
	Text      []string   // parts
	Calls     []llm.Call // names and ids come first, arguments in small pieces, those of several calls by turns
	Finish    string     // default: tool_calls with calls, else stop; "none": none is sent
	Usage     core.Usage
	// Events are sent instead of all that, each after "data: ", and nothing else. "[DONE]" is not added.
	Events []string
	// Lines are sent raw instead of all that.
	Lines []string
	// Pause is how long the server waits before each event; 0: not at all.
	Pause time.Duration
	// Whole answers with one JSON body, as a server that cannot stream.
	Whole bool
	// Cut breaks the connection, and Silent says nothing more, after Stop events.
	Cut, Silent bool
	Stop        int
	// Status other than 0: the answer is Status, Header and Body.
	Status int
	Header map[string]string
	Body   string
}

// Seen is a request that a Server got.
type Seen struct {
	llm.Request
	Model  string
	Header http.Header
	Raw    []byte
	At     time.Time
	// Refused is why the server refused it by itself.
	Refused error
}

// Server is an OpenAI-compatible endpoint. It answers with its steps in order, whatever the path, and refuses with 400 what real
// providers refuse; that uses up no step. Behind the last step it is a test error.
type Server struct {
	URL string // ends in /v1

	t      testing.TB
	done   chan struct{}
	mu     sync.Mutex
	steps  []Step
	answer func(n int, s Seen) Step
	seen   []Seen
}

// NewServer listens on the loopback address until the test ends.
func NewServer(t testing.TB, steps ...Step) *Server {
	s := NewLocal(t, steps...)
	srv := httptest.NewServer(s)
	s.URL = srv.URL + "/v1"
	t.Cleanup(func() { close(s.done); srv.CloseClientConnections(); srv.Close() })
	return s
}

// NewLocal listens nowhere: only its Client reaches it. It works under synctest.
func NewLocal(t testing.TB, steps ...Step) *Server {
	return &Server{URL: "http://model.test/v1", t: t, steps: steps, done: make(chan struct{})}
}

// Answer replaces the steps by a function of the request number n, from 0. It is called by one goroutine at a time.
func (s *Server) Answer(f func(n int, r Seen) Step) *Server {
	s.answer = f
	return s
}

// Seen are the requests so far.
func (s *Server) Seen() []Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Seen(nil), s.seen...)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	step := s.take(r.Header, raw)
	for k, v := range step.Header {
		w.Header().Set(k, v)
	}
	if step.Status != 0 {
		w.WriteHeader(step.Status)
		io.WriteString(w, step.Body)
		return
	}
	if step.Whole {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, step.whole())
		return
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w)
	flush.Flush() // the head goes out even when nothing follows
	lines := step.lines()
	if step.Cut || step.Silent {
		lines = lines[:min(step.Stop, len(lines))]
	}
	for _, line := range lines {
		if rest(r.Context(), step.Pause) != nil {
			return
		}
		io.WriteString(w, line)
		flush.Flush()
	}
	switch {
	case step.Silent:
		select {
		case <-r.Context().Done():
		case <-s.done:
		}
	case step.Cut:
		panic(http.ErrAbortHandler) // how net/http breaks a connection
	}
}

// take records the request and chooses the step.
func (s *Server) take(h http.Header, raw []byte) Step {
	seen := Seen{Header: h.Clone(), Raw: raw, At: time.Now()}
	seen.Refused = seen.decode()
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.seen)
	s.seen = append(s.seen, seen)
	switch {
	case seen.Refused != nil:
		return Step{Status: http.StatusBadRequest, Body: ErrorBody(seen.Refused.Error(), "invalid_request_error", "")}
	case s.answer != nil:
		return s.answer(n, seen)
	case len(s.steps) == 0:
		s.t.Errorf("request %d has no step", n)
		return Step{Status: http.StatusBadRequest, Body: ErrorBody("the script is over", "invalid_request_error", "")}
	}
	step := s.steps[0]
	s.steps = s.steps[1:]
	return step
}

// decode reads the wire form into s.Request and says what a provider would refuse.
func (s *Seen) decode() error {
	if !utf8.Valid(s.Raw) || loneSurrogate(s.Raw) {
		return errors.New("the body is not UTF-8")
	}
	var wire struct {
		Model     string `json:"model"`
		Stream    bool   `json:"stream"`
		MaxTokens int    `json:"max_tokens"`
		MaxNew    int    `json:"max_completion_tokens"`
		Messages  []struct {
			Role    llm.Role `json:"role"`
			Content *string  `json:"content"`
			CallID  string   `json:"tool_call_id"`
			Calls   []struct {
				ID       core.CallID `json:"id"`
				Type     string      `json:"type"`
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name        string          `json:"name"`
				Description string          `json:"description"`
				Parameters  json.RawMessage `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(s.Raw, &wire); err != nil {
		return fmt.Errorf("the body does not decode: %w", err)
	}
	s.Model, s.MaxTokens = wire.Model, wire.MaxTokens+wire.MaxNew
	for _, m := range wire.Messages {
		out := llm.Message{Role: m.Role, CallID: m.CallID}
		if m.Content != nil {
			out.Content = *m.Content
		} else if m.Role != llm.Assistant {
			return fmt.Errorf("a message (%s) without content", m.Role)
		}
		for _, c := range m.Calls {
			if c.Type != "function" {
				return fmt.Errorf("call %s: type %q", c.ID, c.Type)
			}
			out.Calls = append(out.Calls, llm.Call{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
		}
		s.Messages = append(s.Messages, out)
	}
	for _, t := range wire.Tools {
		s.Tools = append(s.Tools, llm.Tool{Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters})
	}
	if wire.Model == "" || !wire.Stream {
		return errors.New("no model, or not asked to stream")
	}
	return Check(s.Request)
}
