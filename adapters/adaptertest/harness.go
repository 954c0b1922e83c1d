// Package adaptertest is the exam that every adapter passes: the same questions for every platform, asked through the platform's own wire.
//
// An adapter brings a Harness: a fake of its platform that speaks the real protocol to the real client library, with people to act as and
// failures to arrange. Each topic is a file, and each question begins with a fresh fake.
package adaptertest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"paragents/core"
)

// Where names a place that every fake has.
type Where string

const (
	Direct Where = "direct" // the conversation of Ann with the bot
	Room   Where = "room"   // a channel or group that Ann, Bob and the bot are in
	Thread Where = "thread" // a thread or topic of a room
)

// Who acts.
const (
	Ann     = ""    // the zero Action is hers
	Bob     = "bob" // not in Direct
	Machine = "bot" // another bot, in Room
)

// Deed is what somebody does.
type Deed string

const (
	Say     Deed = "say"     // Text
	Mention Deed = "mention" // Text, behind a mention of Whom
	Reply   Deed = "reply"   // Text, to Message, where the platform knows replies
	Command Deed = "command" // Text is what stands behind the slash
	Press   Deed = "press"   // the button Label under Message
	Change  Deed = "change"  // Message becomes Text
	Remove  Deed = "remove"  // Message is deleted
	Attach  Deed = "attach"  // File, with Text
	Invite  Deed = "invite"  // the bot comes to Place
	Expel   Deed = "expel"   // the bot is taken out of Place
)

// Action is one thing that somebody does.
type Action struct {
	Do      Deed
	Place   core.Place
	By      string
	Whom    string // for Mention: the bot (zero) or Bob
	Text    string
	Message string // its id, as in Inbound.Message and as returned by Send
	Label   string
	File    *core.File
}

// Trouble is what can go wrong with a platform.
type Trouble string

const (
	Down  Trouble = "down"  // nothing answers, and connections break
	Up    Trouble = "up"    // it works again
	Rate  Trouble = "rate"  // the next message is refused, to be sent again After
	Odd   Trouble = "odd"   // the next message's markup is refused
	Cut   Trouble = "cut"   // the next message is shown, but the answer is lost
	Gone  Trouble = "gone"  // Place is not there any more, or without the bot, and no event says so
	Weird Trouble = "weird" // the platform sends an event of a form that nobody knew
)

// Failure is trouble to arrange.
type Failure struct {
	Trouble Trouble
	Place   core.Place
	After   time.Duration // whole seconds
}

// Shown is one message as a person sees it.
type Shown struct {
	ID      string
	Text    string
	FromBot bool
	Buttons [][]string // labels
	File    *core.File
	Reply   string
	Silent  bool
}

// Facts tell the exam what the platform is like.
type Facts struct {
	Ann     core.Person
	Secrets []string // must be in no error
	Replies bool     // a message can answer another one
	Deletes bool     // bots learn that a message was deleted
	Refuses bool     // markup can be refused
	Keeps   bool     // events wait for a bot that is away
	Silence bool     // a message can be sent without a notification
	Roots   bool     // a message at the top of a room stands in the thread that its replies would make
}

// Harness is one fresh fake platform and the adapter under test. It ends with the test that it was made for.
type Harness interface {
	// Adapter makes an adapter as a new process would: it knows nothing of those before.
	Adapter() core.Adapter
	Facts() Facts
	Place(Where) core.Place
	// Act does what a person does and returns the id of the message that came of it, if any. Where the platform would lose the event, it first
	// waits until a running adapter is connected.
	Act(Action) string
	Fail(Failure)
	// Shown lists what stands in a place, oldest first, without the threads of a room.
	Shown(core.Place) []Shown
}

// Run asks everything.
func Run(t *testing.T, fresh func(t *testing.T) Harness) {
	topics := []struct {
		name string
		ask  func(*testing.T, func(t *testing.T) Harness)
	}{
		{"text", testText},
		{"place", testPlace},
		{"command", testCommand},
		{"press", testPress},
		{"edit", testEdit},
		{"file", testFile},
		{"resume", testResume},
		{"refuse", testRefuse},
		{"stop", testStop},
	}
	for _, topic := range topics {
		t.Run(topic.name, func(t *testing.T) { topic.ask(t, fresh) })
	}
}

// patience is how long the exam waits for anything; it is only used up when something is wrong.
const patience = 20 * time.Second

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// receiver runs Receive and keeps what is accepted.
type receiver struct {
	t       *testing.T
	adapter core.Adapter
	cancel  context.CancelFunc
	done    chan struct{}
	err     error // of Receive, once done
	events  chan core.Inbound

	mu     sync.Mutex
	refuse int
	seen   []string // ids of all that was handed over, refused or not
	taken  map[string]bool
	cursor []byte
}

var errStore = errors.New("the store is away")

// receive starts an adapter. The first refuse calls of accept fail.
func receive(t *testing.T, a core.Adapter, cursor []byte, refuse int) *receiver {
	ctx, cancel := context.WithCancel(t.Context())
	r := &receiver{t: t, adapter: a, cancel: cancel, done: make(chan struct{}), events: make(chan core.Inbound, 1000), refuse: refuse, cursor: cursor, taken: map[string]bool{}}
	go func() {
		defer close(r.done)
		r.err = a.Receive(ctx, cursor, r.accept)
	}()
	t.Cleanup(r.stop)
	return r
}

func (r *receiver) accept(_ context.Context, events []core.Inbound, cursor []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range events {
		r.seen = append(r.seen, e.ID)
	}
	if r.refuse > 0 {
		r.refuse--
		return errStore
	}
	r.cursor = slices.Clone(cursor)
	for _, e := range events {
		if r.taken[e.ID] { // as the bot does: a second delivery is nothing new
			continue
		}
		r.taken[e.ID] = true
		r.events <- e
	}
	return nil
}

// stop ends Receive, which has to end soon and without an error.
func (r *receiver) stop() {
	r.t.Helper()
	r.cancel()
	select {
	case <-r.done:
	case <-time.After(patience):
		r.t.Fatal("Receive goes on after its context ended")
	}
	if r.err != nil {
		r.t.Fatalf("Receive after its context ended: %v, want nil", r.err)
	}
}

// next waits for the next event of a kind; others are passed over.
func (r *receiver) next(kind core.InboundKind) core.Inbound {
	r.t.Helper()
	limit := time.After(patience)
	for {
		select {
		case e := <-r.events:
			if e.Kind == kind {
				return e
			}
		case <-r.done:
			r.t.Fatalf("Receive ended while a %s was awaited: %v", kind, r.err)
		case <-limit:
			r.t.Fatalf("no %s within %v", kind, patience)
		}
	}
}

// send sends and returns the id.
func send(t *testing.T, a core.Adapter, m core.Message) string {
	t.Helper()
	id, err := a.Send(soon(t), m)
	if err != nil {
		t.Fatalf("send %.60q: %v", m.Text, err)
	}
	if id == "" {
		t.Fatalf("send %.60q: no id", m.Text)
	}
	return id
}

func text(p core.Place, s string) core.Message { return core.Message{Place: p, Text: s, Plain: s} }

// find gives the message with an id as it is shown.
func find(t *testing.T, h Harness, p core.Place, id string) Shown {
	t.Helper()
	all := h.Shown(p)
	i := slices.IndexFunc(all, func(s Shown) bool { return s.ID == id })
	if i < 0 {
		t.Fatalf("message %q is not shown in %s: %+v", id, p.Key(), all)
	}
	return all[i]
}

// faultOf gives the fault of an error that has to be a *core.SendError.
func faultOf(t *testing.T, err error) *core.SendError {
	t.Helper()
	var f *core.SendError
	if !errors.As(err, &f) {
		t.Fatalf("error %v, want a *core.SendError", err)
	}
	return f
}

func wantFault(t *testing.T, err error, want core.SendFault) *core.SendError {
	t.Helper()
	f := faultOf(t, err)
	if f.Fault != want {
		t.Fatalf("fault %q (%v), want %q", f.Fault, err, want)
	}
	return f
}
