package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"strings"
	"sync"
	"time"

	slackapi "github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"paragents/core"
)

// acceptFunc is what Receive hands events to.
type acceptFunc = func(ctx context.Context, events []core.Inbound, cursor []byte) error

// intake is what events need on their way in.
type intake struct {
	ctx    context.Context
	me     account
	accept acceptFunc
}

// Receive implements core.Adapter. In Socket Mode each Receive holds one socket: Sockets says how many may run. The platform keeps the position: the cursor
// is nil, and what was not accepted comes again, three times within six minutes; what is older CatchUp finds. Events of one channel are accepted in order,
// presses and commands beside them. It returns an error only when the platform keeps refusing the token.
func (a *Adapter) Receive(ctx context.Context, _ []byte, accept func(ctx context.Context, events []core.Inbound, cursor []byte) error) error {
	a.receiving(1)
	defer a.receiving(-1)
	defer a.http.CloseIdleConnections()
	in := intake{ctx: ctx, accept: accept}
	err := a.persist(ctx, func() (err error) {
		in.me, err = a.self(ctx)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	if a.cfg.Mode == HTTP {
		a.serveHook(&in)
		return nil
	}
	err = a.persist(ctx, func() error { return a.hold(ctx, &in) })
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Pauses after failures: the nth in a row waits first<<n, at most longest.
const (
	firstPause    = 500 * time.Millisecond
	longestPause  = 30 * time.Second
	goodWhile     = time.Minute // after which a failure counts as the first
	unknownTokens = 3           // refusals of the token in a row that are believed
)

// persist repeats what fails with growing pauses, until it succeeds, the context ends or the platform keeps refusing the token.
func (a *Adapter) persist(ctx context.Context, do func() error) error {
	for failures, refusals := 0, 0; ; failures++ {
		begun := time.Now()
		err := do()
		if err == nil || ctx.Err() != nil {
			return err
		}
		if time.Since(begun) > goodWhile {
			failures, refusals = 0, 0
		}
		pause := min(firstPause<<min(failures, 10), longestPause)
		var f *core.SendError
		if errors.As(err, &f) && f.Fault == core.FaultRate {
			pause = f.After
		}
		if refusedToken(err) {
			if refusals++; refusals == unknownTokens {
				return fmt.Errorf("slack refuses the token; check slack.bot_token and slack.app_token: %w", err)
			}
		}
		a.failed(err)
		a.log.Warn("slack receive failed", "platform", platform, "error", err, "pause", pause)
		if !sleep(ctx, pause) {
			return nil
		}
	}
}

func refusedToken(err error) bool {
	switch code(err) {
	case "invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired":
		return true
	}
	return false
}

// sleep waits, and reports false when the context ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// A socket that closes sooner than shortLife after it opened, shortLives times in a row, is being refused: the library would open it again at once.
const (
	shortLife  = 2 * time.Second
	shortLives = 3
)

// hold runs one socket, which the library opens again whenever it closes, until that stops or goes wrong. This goroutine only reads and decodes: a
// reader that waits for anything answers no pings, and the platform then drops what it had sent.
func (a *Adapter) hold(ctx context.Context, in *intake) error {
	ctx, stop := context.WithCancel(ctx)
	client := socketmode.New(a.api,
		socketmode.OptionReadLimit(maxFrame),
		socketmode.OptionPingInterval(a.cfg.Silence),
		socketmode.OptionLog(log.New(io.Discard, "", 0)),
	)
	done := make(chan error, 1)
	go func() { done <- client.RunContext(ctx) }()
	s := &socket{a: a, in: in, client: client}
	var err error
	for err == nil {
		select {
		case err = <-done: // it never ends without an error
		case e := <-client.Events:
			if err = s.event(ctx, e); err != nil {
				stop()
				<-done
			}
		}
	}
	stop()
	s.isUp(false)
	s.jobs.Wait()
	return a.call(in.ctx, "socket", callWait, true, func(context.Context) error { return err })
}

// socket is the state of one socket.
type socket struct {
	a      *Adapter
	in     *intake
	client *socketmode.Client
	jobs   sync.WaitGroup
	up     bool
	opened time.Time
	short  int // lives in a row
}

func (s *socket) isUp(up bool) {
	if up != s.up {
		s.up = up
		s.a.connected(up)
	}
}

// event takes one event of the library. An error ends the socket.
func (s *socket) event(ctx context.Context, e socketmode.Event) error {
	switch e.Type {
	case socketmode.EventTypeConnecting:
		s.isUp(false)
		if !s.opened.IsZero() {
			if time.Since(s.opened) >= shortLife {
				s.short = 0
			} else {
				s.short++
			}
		}
		s.opened = time.Time{}
		if s.short == shortLives {
			return errors.New("closed right after it opened, several times; more than ten sockets of this app?")
		}
	case socketmode.EventTypeConnectionError:
		if failed, ok := e.Data.(*slackapi.ConnectionErrorEvent); ok {
			var limited *slackapi.RateLimitedError
			s.a.failed(s.a.clean(failed.ErrorObj))
			if failed.Backoff > longestPause && !errors.As(failed.ErrorObj, &limited) { // the library would wait for minutes
				return failed.ErrorObj
			}
		}
	case socketmode.EventTypeConnected: // a socket that closes before it says hello has opened, too
		s.opened = time.Now()
	case socketmode.EventTypeHello:
		s.isUp(true)
	case socketmode.EventTypeEventsAPI, socketmode.EventTypeInteractive, socketmode.EventTypeSlashCommand:
		s.take(ctx, envelope{ID: e.Request.EnvelopeID, Type: e.Request.Type, Payload: e.Request.Payload})
	case socketmode.EventTypeErrorBadMessage:
		// The library knows not every event there is; it would not acknowledge them, and they would come again.
		if bad, ok := e.Data.(*socketmode.ErrorBadMessage); ok {
			var env envelope
			if json.Unmarshal(bad.Message, &env) != nil || env.ID == "" {
				s.a.log.Error("slack frame skipped: not of the known form", "platform", platform, "error", bad.Cause)
				return nil
			}
			s.take(ctx, env)
		}
	}
	return nil
}

// take decodes an envelope and hands its events to the lanes; it is acknowledged when all of them are durable.
func (s *socket) take(ctx context.Context, env envelope) {
	events, err := s.a.inbound(env.Type, env.Payload, s.in.me)
	if err != nil {
		s.a.log.Error("slack event skipped: not of the known form", "platform", platform, "envelope", env.ID, "error", err)
	}
	if len(events) == 0 {
		s.ack(ctx, env.ID)
		return
	}
	s.jobs.Add(1)
	taken := s.a.lanes.add(laneOf(events[0]), func() {
		defer s.jobs.Done()
		if s.a.hand(s.in, events) == nil {
			s.ack(ctx, env.ID)
		}
	})
	if !taken {
		s.jobs.Done()
		s.a.log.Warn("slack event left for later: too many wait", "platform", platform, "envelope", env.ID)
	}
}

// ack tells the platform. While the socket is down that may not arrive; then the event comes again, and is known.
func (s *socket) ack(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, ackWait)
	defer cancel()
	if err := s.client.AckCtx(ctx, id, nil); err != nil {
		s.a.log.Debug("slack envelope not acknowledged", "platform", platform, "envelope", id, "error", err)
	}
}

// hand makes the events of one delivery durable.
func (a *Adapter) hand(in *intake, events []core.Inbound) error {
	ctx, cancel := context.WithTimeout(in.ctx, acceptWait)
	defer cancel()
	for i := range events {
		if e := &events[i]; e.Person != "" && !e.Bot && strings.HasSuffix(string(e.Person), "/"+e.Name) {
			e.Name = a.name(ctx, e.Person)
		}
		if m := events[i].About; m != nil && m.Person != "" {
			m.Name = a.name(ctx, m.Person)
		}
	}
	err := in.accept(ctx, events, nil)
	if err != nil {
		a.log.Warn("slack event not accepted", "platform", platform, "event", events[0].ID, "error", err)
	}
	return err
}

// laneOf keeps the messages of a channel in order. Presses and commands wait for nobody's messages.
func laneOf(e core.Inbound) string {
	if e.Place.Channel == "" || e.Kind == core.InPress || e.Kind == core.InCommand || e.Kind == core.InForm {
		return string(e.Person)
	}
	return e.Place.Channel
}

// lanes run jobs: those of one key in order, one at a time, those of different keys beside each other. What waits is bounded. The zero value is ready.
type lanes struct {
	mu      sync.Mutex
	waiting int
	queues  map[string][]func() // the first is running
}

const maxWaiting = 1024

// add queues a job, or reports false when too many wait.
func (l *lanes) add(key string, job func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting >= maxWaiting {
		return false
	}
	l.waiting++
	if l.queues == nil {
		l.queues = map[string][]func(){}
	}
	l.queues[key] = append(l.queues[key], job)
	if len(l.queues[key]) == 1 {
		go l.run(key)
	}
	return true
}

// run works until the lane is empty.
func (l *lanes) run(key string) {
	for {
		l.mu.Lock()
		job := l.queues[key][0]
		l.mu.Unlock()
		job()
		l.mu.Lock()
		l.waiting--
		l.queues[key] = l.queues[key][1:]
		empty := len(l.queues[key]) == 0
		if empty {
			delete(l.queues, key)
		}
		l.mu.Unlock()
		if empty {
			return
		}
	}
}
