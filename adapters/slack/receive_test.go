package slack_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"paragents/adapters/slack"
	"paragents/adapters/slack/slacktest"
	"paragents/core"
)

// patience is how long a test waits for anything; it is only used up when something is wrong.
const patience = 20 * time.Second

// reception is a Receive under way, with what it accepted.
type reception struct {
	t      *testing.T
	events chan core.Inbound
	cancel context.CancelFunc
	done   chan error
	once   sync.Once
	before func(context.Context, core.Inbound) error // of accept; may be nil
}

func listen(t *testing.T, a *slack.Adapter, before func(context.Context, core.Inbound) error) *reception {
	ctx, cancel := context.WithCancel(t.Context())
	r := &reception{t: t, events: make(chan core.Inbound, 1000), cancel: cancel, done: make(chan error, 1), before: before}
	go func() { r.done <- a.Receive(ctx, nil, r.accept) }()
	t.Cleanup(r.stop)
	return r
}

func (r *reception) accept(ctx context.Context, events []core.Inbound, _ []byte) error {
	for _, e := range events {
		if r.before != nil {
			if err := r.before(ctx, e); err != nil {
				return err
			}
		}
		r.events <- e
	}
	return nil
}

func (r *reception) stop() {
	r.once.Do(func() {
		r.cancel()
		if err := <-r.done; err != nil {
			r.t.Errorf("Receive after its context ended: %v", err)
		}
	})
}

func (r *reception) next(kind core.InboundKind) core.Inbound {
	r.t.Helper()
	limit := time.After(patience)
	for {
		select {
		case e := <-r.events:
			if e.Kind == kind {
				return e
			}
		case <-limit:
			r.t.Fatalf("no %s within %v", kind, patience)
		}
	}
}

// all gives what has been accepted so far.
func (r *reception) all() []core.Inbound {
	var out []core.Inbound
	for {
		select {
		case e := <-r.events:
			out = append(out, e)
		default:
			return out
		}
	}
}

// acked wants every envelope acknowledged in the end.
func acked(t *testing.T, srv *slacktest.Server) {
	t.Helper()
	srv.Settled()
	last := map[string]slacktest.Delivery{}
	for _, d := range srv.Deliveries() {
		last[d.Envelope] = d
	}
	for _, d := range last {
		if !d.Acked {
			t.Errorf("not acknowledged: %s %s", d.Kind, d.Payload)
		}
	}
}

func TestB001MentionIsOneEvent(t *testing.T) {
	srv := slacktest.New(t)
	room := srv.Channel()
	// Two replicas, each with a socket: each gets one of the two events.
	one, two := listen(t, newAdapter(t, srv, slack.Config{}), nil), listen(t, newAdapter(t, srv, slack.Config{}), nil)
	srv.Connected(2, 2)
	ts := srv.Say(slacktest.Post{Channel: room, By: slacktest.Ann, Mention: slacktest.Bot(), Text: "status"})
	acked(t, srv)
	a, b := one.next(core.InMessage), two.next(core.InMessage)
	if want := "slack:" + slacktest.Team + "/" + room + "/" + ts; a.ID != want || b.ID != want {
		t.Errorf("ids %q and %q, want both %q", a.ID, b.ID, want)
	}
	for _, e := range []core.Inbound{a, b} {
		if !e.Addressed || e.Text != "status" || e.Name != "Ann" || e.Place.Thread != ts {
			t.Errorf("event %+v", e)
		}
	}
	if n := len(srv.Deliveries()); n != 2 {
		t.Errorf("%d deliveries, want 2", n)
	}
}

func TestB002AcknowledgedSoonAndOnlyWhenDurable(t *testing.T) {
	t.Run("a slow platform does not hold it up", func(t *testing.T) {
		srv := slacktest.New(t)
		srv.AckWait(3 * time.Second)
		room := srv.Channel()
		srv.Fail("users.info", slacktest.Failure{Wait: 4 * time.Second, Done: true})
		r := listen(t, newAdapter(t, srv, slack.Config{}), nil)
		srv.Connected(1, 1)
		srv.Say(slacktest.Post{Channel: room, By: slacktest.Ann, Mention: slacktest.Bot(), Text: "status"})
		if e := r.next(core.InMessage); e.Name != slacktest.Ann.ID {
			t.Errorf("name %q, want the id", e.Name)
		}
		acked(t, srv)
		for _, d := range srv.Deliveries() {
			if d.Took > time.Second || d.Attempt > 0 {
				t.Errorf("attempt %d was acknowledged after %v", d.Attempt, d.Took)
			}
		}
	})
	t.Run("not before accept returned", func(t *testing.T) {
		srv := slacktest.New(t)
		srv.AckWait(200 * time.Millisecond)
		fail := true
		r := listen(t, newAdapter(t, srv, slack.Config{}), func(context.Context, core.Inbound) error {
			if fail {
				fail = false
				return errors.New("the store is away")
			}
			return nil
		})
		srv.Say(slacktest.Post{Channel: srv.Direct(), By: slacktest.Ann, Text: "hello"})
		r.next(core.InMessage)
		srv.Settled()
		if list := srv.Deliveries(); len(list) != 2 || list[0].Acked || !list[1].Acked || list[1].Attempt != 1 {
			t.Errorf("deliveries %+v, want one refused and one acknowledged", list)
		}
	})
}

func TestB006DeadSocket(t *testing.T) {
	srv := slacktest.New(t)
	direct := srv.Direct()
	a := newAdapter(t, srv, slack.Config{Silence: 400 * time.Millisecond})
	r := listen(t, a, nil)
	srv.Connected(1, 1)
	eventually(t, "a good check", func() bool { return a.Check(t.Context()) == nil })
	srv.Kill()
	srv.Say(slacktest.Post{Channel: direct, By: slacktest.Ann, Text: "anybody?"})
	if e := r.next(core.InMessage); e.Text != "anybody?" {
		t.Errorf("got %+v", e)
	}
	if _, ever := srv.Sockets(); ever != 2 {
		t.Errorf("%d sockets were opened, want 2", ever)
	}
	srv.Down()
	eventually(t, "a check that tells", func() bool {
		err := a.Check(t.Context())
		return err != nil && strings.Contains(err.Error(), "not connected")
	})
	srv.Up()
	eventually(t, "a good check", func() bool { return a.Check(t.Context()) == nil })
}

// eventually asks until it is so; each question takes a turn of the machine.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func TestRefreshLosesNothing(t *testing.T) {
	srv := slacktest.New(t)
	direct := srv.Direct()
	a := newAdapter(t, srv, slack.Config{})
	r := listen(t, a, nil)
	listen(t, a, func(_ context.Context, e core.Inbound) error { r.events <- e; return nil })
	srv.Connected(2, 2)
	want := map[string]bool{}
	for i := range 60 {
		text := fmt.Sprint("message ", i)
		want[text] = true
		srv.Say(slacktest.Post{Channel: direct, By: slacktest.Ann, Text: text})
		if i%20 == 10 {
			srv.Refresh()
		}
	}
	for len(want) > 0 {
		delete(want, r.next(core.InMessage).Text)
	}
	srv.Settled()
}

func TestB008EditOfAMention(t *testing.T) {
	srv := slacktest.New(t)
	room := srv.Channel()
	r := listen(t, newAdapter(t, srv, slack.Config{}), nil)
	ts := srv.Say(slacktest.Post{Channel: room, By: slacktest.Ann, Mention: slacktest.Bot(), Text: "list pods"})
	first := r.next(core.InMessage)
	srv.Change(room, ts, "list all pods")
	a, b := r.next(core.InEdit), r.next(core.InEdit)
	if a.ID != b.ID || a.ID == first.ID || a.Original != first.ID || a.Text != "list all pods" || b.Text != a.Text || a.Message != ts || a.Place != first.Place {
		t.Errorf("edits %+v and %+v of %+v", a, b, first)
	}
	acked(t, srv)
	for _, e := range r.all() {
		if e.Kind == core.InMessage && e.ID != first.ID {
			t.Errorf("the edit is a message as well: %+v", e)
		}
	}
}

func TestB012Bots(t *testing.T) {
	srv := slacktest.New(t)
	room := srv.Channel()
	a := newAdapter(t, srv, slack.Config{})
	r := listen(t, a, nil)
	place := core.Place{Platform: "slack", Space: slacktest.Team, Channel: room}
	id, err := a.Send(t.Context(), core.Message{Place: place, Plain: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Edit(t.Context(), id, core.Message{Place: place, Plain: "hello again"}); err != nil {
		t.Fatal(err)
	}
	srv.Say(slacktest.Post{Channel: room, By: slacktest.Rob, Mention: slacktest.Bot(), Text: "do it"})
	srv.Raw(map[string]string{"type": "message", "subtype": "bot_message", "channel": room, "ts": "1700000000.000100", "text": "from a webhook"})
	srv.Raw(map[string]string{"type": "message", "channel": room, "user": "U0ANN00001", "app_id": "A0X", "ts": "1700000000.000200", "text": "by an app of mine"})
	acked(t, srv)
	list := r.all()
	for _, e := range list {
		if !e.Bot {
			t.Errorf("a bot's word is taken for a person's: %+v", e)
		}
	}
	if len(list) != 4 { // Rob's twice, and nothing of our own
		t.Errorf("events %+v", list)
	}
}

func TestB017MessageAndRepliesAreOnePlace(t *testing.T) {
	srv := slacktest.New(t)
	room, direct := srv.Channel(), srv.Direct()
	r := listen(t, newAdapter(t, srv, slack.Config{}), nil)
	one := srv.Say(slacktest.Post{Channel: room, By: slacktest.Ann, Text: "one"})
	two := srv.Say(slacktest.Post{Channel: room, By: slacktest.Bob, Text: "two"})
	srv.Say(slacktest.Post{Channel: room, Thread: one, By: slacktest.Ann, Text: "more"})
	a, b, c := r.next(core.InMessage), r.next(core.InMessage), r.next(core.InMessage)
	if a.Place != c.Place || a.Place.Thread != one || b.Place.Thread != two || a.Place.Key() == b.Place.Key() {
		t.Errorf("places %+v, %+v and %+v", a.Place, b.Place, c.Place)
	}
	root := srv.Say(slacktest.Post{Channel: direct, By: slacktest.Ann, Text: "in private"})
	srv.Say(slacktest.Post{Channel: direct, Thread: root, By: slacktest.Ann, Text: "beside"})
	if e := r.next(core.InMessage); e.Place.Thread != "" || !e.Place.Private {
		t.Errorf("place %+v", e.Place)
	}
	if e := r.next(core.InMessage); e.Place.Thread != root {
		t.Errorf("place %+v", e.Place)
	}
}

func TestB026DeletedMessageWithReplies(t *testing.T) {
	srv := slacktest.New(t)
	room := srv.Channel()
	r := listen(t, newAdapter(t, srv, slack.Config{}), nil)
	root := srv.Say(slacktest.Post{Channel: room, By: slacktest.Ann, Text: "one"})
	srv.Say(slacktest.Post{Channel: room, Thread: root, By: slacktest.Bob, Text: "two"})
	srv.Remove(room, root)
	if e := r.next(core.InDelete); e.Message != root || e.Place.Thread != root || e.Person != "slack:T0TEAM001/U0ANN00001" || e.Text != "" {
		t.Errorf("delete is %+v", e)
	}
}

func TestWhatIsNotUnderstoodDoesNotComeAgain(t *testing.T) {
	srv := slacktest.New(t)
	r := listen(t, newAdapter(t, srv, slack.Config{}), nil)
	srv.Connected(1, 1)
	srv.Raw(map[string]string{"type": "pizza_arrived"})
	srv.Raw(map[string]string{"type": "reaction_added", "user": "U0ANN00001"})
	srv.Raw(map[string]any{"type": "message", "channel": map[string]string{"id": "C1"}, "ts": 5})
	srv.Raw("hello")
	acked(t, srv)
	if list := srv.Deliveries(); len(list) != 4 || len(r.all()) != 0 {
		t.Errorf("deliveries %+v", list)
	}
}

func TestRefusedTokenEndsReceive(t *testing.T) {
	for method, code := range map[string]string{"auth.test": "account_inactive", "apps.connections.open": "invalid_auth"} {
		srv := slacktest.New(t)
		no := slacktest.Failure{Error: code}
		srv.Fail(method, no, no, no)
		err := newAdapter(t, srv, slack.Config{}).Receive(t.Context(), nil, nil)
		if err == nil || !strings.Contains(err.Error(), "slack.bot_token") {
			t.Errorf("%s: %v", method, err)
		}
	}
}

func TestTooManySockets(t *testing.T) {
	srv := slacktest.New(t)
	a := newAdapter(t, srv, slack.Config{})
	for range 10 {
		listen(t, newAdapter(t, srv, slack.Config{}), nil)
	}
	srv.Connected(10, 10)
	began := time.Now()
	listen(t, a, nil)
	eventually(t, "a check that tells", func() bool {
		err := a.Check(t.Context())
		return err != nil && strings.Contains(err.Error(), "more than ten sockets")
	})
	took := time.Since(began)
	if n := len(srv.Calls("apps.connections.open")); n > 20+int(2*took/time.Second) {
		t.Errorf("%d sockets were asked for in %s", n, took)
	}
}
