package schedtest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"paragents/core"
	"paragents/core/audit"
	"paragents/core/scheduler"
	"paragents/core/state"
	"paragents/store"
)

// Agent is a function that runs prompts.
type Agent func(ctx context.Context, run *scheduler.Run) scheduler.Outcome

// Run implements scheduler.Agent.
func (a Agent) Run(ctx context.Context, run *scheduler.Run) scheduler.Outcome { return a(ctx, run) }

// Done is an agent that answers each prompt with its text.
func Done(_ context.Context, run *scheduler.Run) scheduler.Outcome {
	return scheduler.Outcome{State: core.Done, Answer: run.Prompt.Text, Records: []core.Record{{Kind: core.RecordAssistant, Prompt: run.Prompt.ID, Text: run.Prompt.Text}}}
}

// Mail is what couriers of all replicas have delivered, in order.
type Mail struct {
	mu      sync.Mutex
	letters []core.Letter
}

// All returns the letters so far.
func (m *Mail) All() []core.Letter {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]core.Letter(nil), m.letters...)
}

// Of returns the letters of a type about a prompt.
func (m *Mail) Of(p core.PromptID, e core.EventType) []core.Letter {
	var out []core.Letter
	for _, l := range m.All() {
		if l.PromptID == p && l.Event.Type == e {
			out = append(out, l)
		}
	}
	return out
}

// courier delivers letters into a Mail.
type courier struct {
	mail  *Mail
	store store.Store
}

// Drain implements scheduler.Courier.
func (c courier) Drain(ctx context.Context, id core.SessionID, _ store.Fence, alive func() bool) (func(*state.Batch), time.Duration, error) {
	records, err := c.store.Read(ctx, state.Lane(id), 0, 0)
	if err != nil || len(records) == 0 {
		return nil, 0, err
	}
	for _, r := range records {
		if !alive() {
			return nil, 0, context.Canceled
		}
		var l core.Letter
		if err := json.Unmarshal(r.Value, &l); err != nil {
			return nil, 0, err
		}
		c.mail.mu.Lock()
		c.mail.letters = append(c.mail.letters, l)
		c.mail.mu.Unlock()
	}
	next := records[len(records)-1].Position + 1
	return func(b *state.Batch) { b.Trim = append(b.Trim, store.Trim{Log: state.Lane(id), Before: next}) }, 0, nil
}

// Replica is a scheduler that runs, with its own way to the store.
type Replica struct {
	*scheduler.Scheduler
	Store *Store
	Mail  *Mail
	stop  context.CancelFunc
	ended chan error
}

// Start starts a replica on a store. Store of cfg is set here, and Courier if it is nil; mail may be nil. It is stopped at the end of the test.
func Start(t testing.TB, s store.Store, mail *Mail, cfg scheduler.Config) *Replica {
	t.Helper()
	r := New(t, s, mail, cfg)
	Run(t, r)
	return r
}

// Run starts a replica that New made.
func Run(t testing.TB, r *Replica) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	r.stop = stop
	r.ended = make(chan error, 1)
	go func() { r.ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		if err := r.Stop(); err != nil {
			t.Errorf("run: %v", err)
		}
	})
}

// New makes a replica that accepts and decides, and does not run.
func New(t testing.TB, s store.Store, mail *Mail, cfg scheduler.Config) *Replica {
	t.Helper()
	if mail == nil {
		mail = &Mail{}
	}
	own := Wrap(s)
	cfg.Store = own
	if cfg.Courier == nil {
		cfg.Courier = courier{mail: mail, store: own}
	}
	return &Replica{Scheduler: scheduler.New(cfg), Store: own, Mail: mail}
}

// Stop shuts the replica down as a signal would, and waits for it.
func (r *Replica) Stop() error {
	if r.ended == nil {
		return nil
	}
	r.stop()
	err := <-r.ended
	r.ended = nil
	return err
}

// Kill makes the replica write nothing any more, as if its process had died, and waits for its goroutines.
func (r *Replica) Kill() {
	r.Store.Set(Dead)
	_ = r.Stop()
}

// Place is where tests talk.
var Place = core.Place{Platform: "test", Channel: "c1"}

// Author is who tests talk as.
const Author core.Person = "test:ann"

// Submit accepts one prompt, in a new session if the session is "".
func (r *Replica) Submit(t testing.TB, session core.SessionID, text string) scheduler.Accepted {
	t.Helper()
	sub := scheduler.Submission{Session: session, Author: Author, Place: Place, Text: text}
	if session == "" {
		sub.New = &scheduler.NewSession{Workspace: "w"}
	}
	out, err := r.Accept(context.WithoutCancel(t.Context()), []scheduler.Submission{sub}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if out[0].Err != nil {
		t.Fatal(out[0].Err)
	}
	return out[0]
}

// Prompt reads a prompt.
func (r *Replica) Read(t testing.TB, id core.PromptID) core.Prompt {
	t.Helper()
	p, _, err := r.Prompt(context.WithoutCancel(t.Context()), id)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Ended reads all "ended" entries of the audit log: by prompt, how often it ended and as what.
func Ended(ctx context.Context, s store.Store) (map[core.Ref][]string, error) {
	out := map[core.Ref][]string{}
	for from := int64(0); ; {
		page, err := s.Read(ctx, state.Audit, from, 0)
		if err != nil {
			return nil, err
		}
		for _, r := range page {
			var e audit.Entry
			if err := json.Unmarshal(r.Value, &e); err != nil {
				return nil, fmt.Errorf("audit entry %d: %w", r.Position, err)
			}
			if e.What == "ended" {
				out[e.Prompt] = append(out[e.Prompt], e.Outcome)
			}
			from = r.Position + 1
		}
		if len(page) < store.MaxScan {
			return out, nil
		}
	}
}
