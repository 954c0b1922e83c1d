// Package telegramtest is a Bot API server for tests: the real wire, in this process, with people on the other side.
//
// It keeps the rules of the real one that bots stumble over: updates stay until a larger offset confirms them, a second poller ends the first,
// allowed_updates is remembered, HTML is parsed strictly, limits count UTF-16 units, the General topic has no thread id. What bots send is
// checked, then shown to people; what people do becomes updates. Failures are scripted with Fail.
package telegramtest

import (
	"context"
	"encoding/json"
	"errors"
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

// Token is the bot's token. BotID and BotName are who it belongs to.
const (
	Token   = "4242:canaryCANARYcanaryCANARYcanaryCANARY0"
	BotID   = 4242
	BotName = "our_bot"
)

// Server is one Bot API server with one bot. Its methods may be called from any goroutine.
type Server struct {
	t    testing.TB
	gate *gate.Gate
	base context.Context // ends with the server
	wg   sync.WaitGroup

	mu        sync.Mutex
	privacy   bool
	raw       bool
	chats     map[int64]*room
	files     map[string]*storedFile
	presses   map[string]*press
	menus     map[string]json.RawMessage
	failures  map[string][]Failure
	calls     []Call
	nextChat  int64
	nextFile  int
	nextPress int

	updates  []pending
	nextID   int64
	allowed  []string
	wake     chan struct{} // closed and replaced when something changes for pollers
	polls    int           // the newest poller's number
	hook     string
	secret   string
	hookStop context.CancelFunc
}

// Call is one request that the bot made, as it was understood. Text parameters are as sent; the content of files is left out.
type Call struct {
	Method string
	Params map[string]string
	At     time.Time
}

// Failure is how one call goes wrong.
type Failure struct {
	Code       int    // error_code, with Text and the parameters
	Text       string // description
	RetryAfter int    // seconds
	MigrateTo  int64
	Page       int  // answer with this HTTP status and a page instead of JSON
	Cut        bool // close the connection instead of answering
	Hang       bool // never answer; the client has to leave
	Done       bool // but do first what was asked
	Pass       bool // nothing goes wrong with this call
}

// New starts a server on a loopback port; it ends with the test.
func New(t testing.TB) *Server { return start(t, gate.Loopback) }

// NewPiped starts a server that only Client reaches, in memory: for use in a synctest bubble, where its waits cost no time.
func NewPiped(t testing.TB) *Server { return start(t, gate.Piped) }

func start(t testing.TB, open func() (*gate.Gate, error)) *Server {
	t.Helper()
	g, err := open()
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{
		t: t, gate: g, base: ctx,
		chats: map[int64]*room{}, files: map[string]*storedFile{}, presses: map[string]*press{},
		menus: map[string]json.RawMessage{}, failures: map[string][]Failure{},
		nextChat: 1001, nextID: 7000, wake: make(chan struct{}),
	}
	web := &http.Server{Handler: http.HandlerFunc(s.serve), BaseContext: func(net.Listener) context.Context { return ctx }}
	s.wg.Go(func() { web.Serve(g) }) //nolint:errcheck // always ErrServerClosed
	t.Cleanup(func() {
		stop()
		web.Close() //nolint:errcheck // of a listener that is being thrown away
		s.wg.Wait()
	})
	return s
}

// URL is the address of the API, without a slash at the end.
func (s *Server) URL() string { return "http://" + s.gate.Addr().String() }

// Client makes a client with connections of its own, until the test ends. After NewPiped only such a client reaches the server, and only such a
// client sees Down as a refused connection; to others connections break.
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
	key := strings.ToLower(method)
	s.failures[key] = append(s.failures[key], f...)
}

// CountRaw makes the limit of 4096 count what is sent, markup included, instead of what is seen.
func (s *Server) CountRaw(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raw = on
}

// Privacy switches the bot's privacy mode: in groups it then gets only commands and replies to its own messages.
func (s *Server) Privacy(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.privacy = on
}

// Calls lists the bot's calls of a method, oldest first; of all methods without one.
func (s *Server) Calls(method string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Call
	for _, c := range s.calls {
		if method == "" || strings.EqualFold(c.Method, method) {
			out = append(out, c)
		}
	}
	return out
}

// refusal is an error answer of the API.
type refusal struct {
	code      int
	text      string
	after     int
	migrateTo int64
}

func bad(text string) *refusal { return &refusal{code: 400, text: "Bad Request: " + text} }

// request is one call with its parameters, however they were encoded.
type request struct {
	ctx    context.Context
	params map[string]string
	file   *Upload
}

func (r request) int(key string) int64 {
	n, err := strconv.ParseInt(r.params[key], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

type response struct {
	OK          bool                `json:"ok"`
	Result      any                 `json:"result,omitempty"`
	Code        int                 `json:"error_code,omitempty"`
	Description string              `json:"description,omitempty"`
	Parameters  *responseParameters `json:"parameters,omitempty"`
}

type responseParameters struct {
	RetryAfter int   `json:"retry_after,omitempty"`
	MigrateTo  int64 `json:"migrate_to_chat_id,omitempty"`
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if rest, ok := strings.CutPrefix(r.URL.Path, "/file/bot"+Token+"/"); ok {
		s.download(w, rest)
		return
	}
	token, method, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/bot"), "/")
	if !ok || token != Token {
		answer(w, nil, &refusal{code: 401, text: "Unauthorized"})
		return
	}
	req, err := read(r)
	if err != nil {
		answer(w, nil, bad("can't read the request: "+err.Error()))
		return
	}
	key := strings.ToLower(method)
	s.mu.Lock()
	s.calls = append(s.calls, Call{Method: method, Params: req.params, At: time.Now()})
	var fail *Failure
	if q := s.failures[key]; len(q) > 0 {
		fail, s.failures[key] = &q[0], q[1:]
	}
	s.mu.Unlock()
	if fail == nil || fail.Pass {
		result, refused := s.call(key, req)
		if req.ctx.Err() == nil {
			answer(w, result, refused)
		}
		return
	}
	if fail.Done {
		s.call(key, req)
	}
	s.fail(w, r, *fail)
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, f Failure) {
	switch {
	case f.Hang:
		<-r.Context().Done()
	case f.Cut:
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			conn.Close() //nolint:errcheck // nothing was written
		}
	case f.Page != 0:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Page)
		io.WriteString(w, "<html><body><h1>Bad Gateway</h1></body></html>") //nolint:errcheck // the client may be gone
	default:
		answer(w, nil, &refusal{f.Code, f.Text, f.RetryAfter, f.MigrateTo})
	}
}

func answer(w http.ResponseWriter, result any, refused *refusal) {
	w.Header().Set("Content-Type", "application/json")
	out := response{OK: true, Result: result}
	if refused != nil {
		out = response{Code: refused.code, Description: refused.text}
		if refused.after != 0 || refused.migrateTo != 0 {
			out.Parameters = &responseParameters{refused.after, refused.migrateTo}
		}
		w.WriteHeader(refused.code)
	}
	json.NewEncoder(w).Encode(out) //nolint:errcheck // the client may be gone
}

const maxBody = 64 << 20

// read takes the parameters out of a query, a form, JSON or a multipart form, as the real server does.
func read(r *http.Request) (request, error) {
	req := request{ctx: r.Context(), params: map[string]string{}}
	merge := func(v url.Values) {
		for k := range v {
			req.params[k] = v.Get(k)
		}
	}
	merge(r.URL.Query())
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	r.Body = http.MaxBytesReader(nil, r.Body, maxBody)
	switch kind {
	case "multipart/form-data":
		if err := r.ParseMultipartForm(maxBody); err != nil {
			return req, err
		}
		merge(r.MultipartForm.Value)
		for _, list := range r.MultipartForm.File {
			f, err := list[0].Open()
			if err != nil {
				return req, err
			}
			data, err := io.ReadAll(f)
			if err := errors.Join(err, f.Close()); err != nil {
				return req, err
			}
			req.file = &Upload{Name: list[0].Filename, Data: data}
		}
		return req, nil
	case "application/json":
		var fields map[string]json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&fields); err != nil && !errors.Is(err, io.EOF) {
			return req, err
		}
		for k, v := range fields {
			var text string
			if json.Unmarshal(v, &text) != nil {
				text = string(v)
			}
			req.params[k] = text
		}
		return req, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return req, err
	}
	form, err := url.ParseQuery(string(body))
	merge(form)
	return req, err
}
