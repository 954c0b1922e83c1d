// Package slacktest is a Slack for tests: the Web API, Socket Mode and signed HTTP callbacks on the real wire, in this process, with people on the other
// side.
//
// It keeps the rules that bots stumble over: a mention comes as two events, an envelope that is not acknowledged comes again, a socket is pinged and may
// go dead or be refreshed, blocks and texts have limits, a file is shared some time after its upload, an answer address takes five answers, and the bot
// hears of its own messages. What bots send is checked, then shown to people; what people do becomes events. Failures are scripted with Fail.
package slacktest

import (
	"context"
	"encoding/json"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"paragents/adapters/adaptertest/gate"
)

// The app, and where it is installed.
const (
	BotToken      = "xoxb-1-canaryCANARYcanaryCANARYcanary"
	AppToken      = "xapp-1-A0APP0001-canaryCANARYcanaryCANARY"
	SigningSecret = "5ecretcanaryCANARYcanaryCANARY00"
	Team          = "T0TEAM001"
	OtherTeam     = "T0OTHER01" // of people in shared channels
	BotUser       = "U0BOT00001"
	BotID         = "B0BOT00001"
	AppID         = "A0APP0001"
	ShortcutID    = "ask" // of the message shortcut
)

// Server is one Slack with one app. Its methods may be called from any goroutine.
type Server struct {
	t    testing.TB
	gate *gate.Gate
	base context.Context // ends with the server
	wg   sync.WaitGroup

	mu        sync.Mutex
	changed   *sync.Cond
	scopes    string
	channels  map[string]*room
	files     map[string]*stored
	answers   map[string]*answerURL
	failures  map[string][]Failure
	triggers  map[string]*trigger
	forms     map[string]*View // by user
	homes     map[string]*View // by user
	calls     []Call
	last      int64 // microseconds of the newest time stamp
	next      int   // numbers of everything else
	hook      string
	ackWait   time.Duration
	sockets   []*conn
	opened    int
	turn      int
	tickets   map[string]bool
	pending   []*delivery
	flying    map[string]*delivery
	delivered []Delivery
	mute      bool
}

// Call is one request that the bot made. The content of files is left out.
type Call struct {
	Method string
	Args   map[string]string
	At     time.Time
}

// Failure is how one call goes wrong.
type Failure struct {
	Error      string   // answer ok:false with this
	Needed     string   // scope, with missing_scope
	Messages   []string // of response_metadata
	RetryAfter int      // seconds: answer 429
	Status     int      // answer with this HTTP status and a page
	Cut        bool     // close the connection instead of answering
	Wait       time.Duration
	Done       bool // but do first what was asked
}

// New starts a server on a loopback port; it ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	g, err := gate.Loopback()
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{
		t: t, gate: g, base: ctx, ackWait: time.Second, tickets: map[string]bool{}, flying: map[string]*delivery{},
		channels: map[string]*room{}, files: map[string]*stored{}, answers: map[string]*answerURL{}, failures: map[string][]Failure{},
		triggers: map[string]*trigger{}, forms: map[string]*View{}, homes: map[string]*View{},
	}
	s.changed = sync.NewCond(&s.mu)
	web := &http.Server{Handler: http.HandlerFunc(s.serve), BaseContext: func(net.Listener) context.Context { return ctx }}
	s.wg.Go(func() { web.Serve(g) }) //nolint:errcheck // always ErrServerClosed
	t.Cleanup(func() {
		stop()
		web.Close()   //nolint:errcheck // of a listener that is being thrown away
		s.gate.Shut() // sockets, which the web server let go
		s.mu.Lock()
		s.changed.Broadcast()
		s.mu.Unlock()
		s.wg.Wait()
	})
	return s
}

// URL is the address of the Web API.
func (s *Server) URL() string { return "http://" + s.gate.Addr().String() + "/api/" }

// Client makes a client with connections of its own, until the test ends. Only such a client sees Down as a refused connection; to others connections break.
func (s *Server) Client() *http.Client {
	c := s.gate.Client()
	s.t.Cleanup(c.CloseIdleConnections)
	return c
}

// Down makes the server unreachable and breaks all connections.
func (s *Server) Down() { s.gate.Shut() }

// Up makes it reachable again.
func (s *Server) Up() { s.gate.Open() }

// Fail lets the next calls of a method go wrong, one failure each.
func (s *Server) Fail(method string, f ...Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures[method] = append(s.failures[method], f...)
}

// Scopes sets what the bot token was granted, comma-separated; it is told, not enforced.
func (s *Server) Scopes(list string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scopes = list
}

// AckWait sets how long an envelope waits for its acknowledgement; Slack itself waits 3 s, New's is 1 s.
func (s *Server) AckWait(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ackWait = d
}

// Calls lists the bot's calls of a method, oldest first; of all methods without one.
func (s *Server) Calls(method string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Call
	for _, c := range s.calls {
		if method == "" || c.Method == method {
			out = append(out, c)
		}
	}
	return out
}

// await waits, with s.mu held, until ok, and fails the test after a while.
func (s *Server) await(what string, ok func() bool) {
	s.t.Helper()
	late := false
	timer := time.AfterFunc(20*time.Second, func() {
		s.mu.Lock()
		late = true
		s.mu.Unlock()
		s.changed.Broadcast()
	})
	defer timer.Stop()
	for !ok() {
		if late || s.base.Err() != nil {
			s.t.Errorf("waited in vain for %s", what)
			return
		}
		s.changed.Wait()
	}
}

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
