package delivery_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paragents/core"
	"paragents/core/delivery"
	"paragents/core/scheduler/schedtest"
	"paragents/core/state"
	"paragents/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// chat is a platform: what it shows, and what it answers to each send and edit, in order; after that it takes everything.
type chat struct {
	shown   map[string]core.Message // by id
	order   []string                // ids, as they came
	tries   []core.Message
	answers []error // of sends
	edits   []error
	takes   bool // a send that fails as unclear has arrived all the same
}

func (*chat) Capabilities() core.Capabilities { return core.Capabilities{Platform: "test"} }

func (*chat) Receive(ctx context.Context, _ []byte, _ func(context.Context, []core.Inbound, []byte) error) error {
	<-ctx.Done()
	return nil
}

func (*chat) Fetch(context.Context, core.Place, core.Attachment) (io.ReadCloser, error) {
	return nil, core.ErrNotFound
}

func next(answers *[]error) error {
	if len(*answers) == 0 {
		return nil
	}
	err := (*answers)[0]
	*answers = (*answers)[1:]
	return err
}

func (c *chat) Send(_ context.Context, m core.Message) (string, error) {
	c.tries = append(c.tries, m)
	err := next(&c.answers)
	var fault *core.SendError
	if err != nil && !(errors.As(err, &fault) && fault.Fault == core.FaultUnclear && c.takes) {
		return "", err
	}
	id := fmt.Sprint("m", len(c.order)+1)
	if c.shown == nil {
		c.shown = map[string]core.Message{}
	}
	c.shown[id] = m
	c.order = append(c.order, id)
	return id, err
}

func (c *chat) Edit(_ context.Context, id string, m core.Message) error {
	if err := next(&c.edits); err != nil {
		return err
	}
	if _, ok := c.shown[id]; !ok {
		return &core.SendError{Fault: core.FaultGone, Err: errors.New("no such message")}
	}
	c.shown[id] = m
	return nil
}

// texts are what people see, from top to bottom.
func (c *chat) texts() (out []string) {
	for _, id := range c.order {
		m := c.shown[id]
		out = append(out, m.Text+m.Plain)
	}
	return out
}

// finder is a chat that can be searched for markers.
type finder struct{ *chat }

func (f finder) Find(_ context.Context, _ core.Place, mark string) (string, bool, error) {
	for _, id := range f.order {
		if f.shown[id].Marker == mark {
			return id, true, nil
		}
	}
	return "", false, nil
}

const session core.SessionID = "s1"

var place = core.Place{Platform: "test", Channel: "c1"}

// post is a lane with a courier.
type post struct {
	t       *testing.T
	store   store.Store
	own     *schedtest.Store
	fence   store.Fence
	chat    *chat
	courier *delivery.Courier
	alive   bool
	renders int
	given   []string // letters that were given up
}

// open makes a lane that the test holds. Letters are rendered as one message a line: "card NAME: text" is one that replaces.
func open(t *testing.T, find bool) *post {
	p := &post{t: t, store: schedtest.Open(t), chat: &chat{}, alive: true}
	p.claim("me")
	var adapter core.Adapter = p.chat
	if find {
		adapter = finder{p.chat}
	}
	p.courier = p.another(adapter)
	return p
}

func (p *post) another(adapter core.Adapter) *delivery.Courier {
	p.own = schedtest.Wrap(p.store)
	return delivery.New(delivery.Config{Store: p.own, Render: p.render,
		Adapter: func(platform string) (core.Adapter, bool) { return adapter, platform == "test" },
		GivenUp: func(_ context.Context, l core.Letter, _ string) error {
			p.given = append(p.given, l.Event.Text)
			return nil
		}})
}

func (p *post) claim(holder string) {
	p.t.Helper()
	b := &state.Batch{}
	b.Hold(state.ClaimKey(session), delivery.Sent{}, holder, 0)
	res, err := b.Commit(p.t.Context(), p.store)
	must(p.t, err)
	p.fence = store.Fence{Key: state.ClaimKey(session), Version: res.Version, Holder: holder}
}

func (p *post) render(_ context.Context, l core.Letter) (delivery.Rendered, error) {
	p.renders++
	var out delivery.Rendered
	if l.Event.Text == "" {
		return out, nil
	}
	if l.Event.Text == "damaged" {
		return out, fmt.Errorf("read approval: %w", json.Unmarshal([]byte("{"), &out))
	}
	for line := range strings.SplitSeq(l.Event.Text, "\n") {
		m := core.Message{Place: l.Place, Text: line}
		if card, ok := strings.CutPrefix(line, "card "); ok {
			m.Card, _, _ = strings.Cut(card, ":")
			m.Replace = true
			m.Silent = strings.HasSuffix(line, "silent")
		}
		out.Messages = append(out.Messages, m)
	}
	return out, nil
}

func (p *post) write(texts ...string) {
	p.t.Helper()
	b := &state.Batch{}
	for _, text := range texts {
		b.Append(state.Lane(session), core.Letter{SessionID: session, PromptID: "p1", Place: place, Event: core.Event{Type: core.EventAnswer, Text: text}})
	}
	_, err := b.Commit(p.t.Context(), p.store)
	must(p.t, err)
}

// drain sends, and records what is left to be recorded.
func (p *post) drain() (time.Duration, error) {
	p.t.Helper()
	finish, again, err := p.courier.Drain(context.WithoutCancel(p.t.Context()), session, p.fence, func() bool { return p.alive })
	if finish != nil {
		b := &state.Batch{}
		b.Fence = &p.fence
		finish(b)
		if _, err := b.Commit(p.t.Context(), p.own); err != nil {
			return again, err
		}
	}
	return again, err
}

// all drains until nothing is left, waiting as it is told.
func (p *post) all() {
	p.t.Helper()
	for range 100 {
		again, err := p.drain()
		must(p.t, err)
		if again == 0 {
			if left, err := p.store.Read(p.t.Context(), state.Lane(session), 0, 0); err != nil || len(left) != 0 {
				p.t.Errorf("%d letters are left, %v", len(left), err)
			}
			snap, err := p.store.Get(p.t.Context(), state.PiecesKey(session), state.DoubtKey(session))
			must(p.t, err)
			if snap.Docs[0].Version+snap.Docs[1].Version != 0 {
				p.t.Errorf("what is left: %s %s", snap.Docs[0].Value, snap.Docs[1].Value)
			}
			return
		}
		time.Sleep(again)
	}
	p.t.Fatal("it never came to an end")
}

func (p *post) want(texts ...string) {
	p.t.Helper()
	if got := p.chat.texts(); !slices.Equal(got, texts) {
		p.t.Errorf("people see %q, want %q", got, texts)
	}
}

func fault(f core.SendFault) error { return &core.SendError{Fault: f, Err: errors.New("it says")} }
