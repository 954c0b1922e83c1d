// Package slacktest is a Slack for tests: the Web API, Socket Mode and signed HTTP callbacks on the real wire, in this process, with people on the other
// side.
//
// It keeps the rules that bots stumble over: a mention comes as two events, an envelope that is not acknowledged comes again, a socket is pinged and may
// go dead or be refreshed, blocks and texts have limits, a file is shared some time after its upload, an answer address takes five answers, and the bot
// hears of its own messages. What bots send is checked, then shown to people; what people do becomes events. Failures are scripted with Fail.
package slacktest

import (
	"context"
	"net"
	"net/http"
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
