package scheduler_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"paragents/core"
	"paragents/core/delivery"
	"paragents/core/scheduler"
	"paragents/core/scheduler/schedtest"
	"paragents/core/state"
	"paragents/store"
	"paragents/store/redis"
	"paragents/store/redis/redistest"
)

// chat is an adapter that takes everything.
type chat struct {
	mu   sync.Mutex
	sent []core.Message
}

func (*chat) Capabilities() core.Capabilities { return core.Capabilities{Platform: "test"} }
func (*chat) Receive(ctx context.Context, _ []byte, _ func(context.Context, []core.Inbound, []byte) error) error {
	<-ctx.Done()
	return nil
}
func (c *chat) Send(_ context.Context, m core.Message) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = append(c.sent, m)
	return fmt.Sprint("m", len(c.sent)), nil
}
func (c *chat) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.sent)
}
func (*chat) Edit(context.Context, string, core.Message) error { return nil }
func (*chat) Fetch(context.Context, core.Place, core.Attachment) (io.ReadCloser, error) {
	return nil, core.ErrNotFound
}

// counted leaves out of a store's count what is done whether there is work or not: heartbeats and polls.
type counted struct {
	store.Store
	calls atomic.Int64
	given chan struct{} // a session was given back
}

func (c *counted) Get(ctx context.Context, keys ...store.Key) (store.Snapshot, error) {
	if len(keys) != 1 || keys[0] != state.FreezeKey {
		c.calls.Add(1)
	}
	return c.Store.Get(ctx, keys...)
}

func (c *counted) Commit(ctx context.Context, b store.Batch) (store.Result, error) {
	if len(b.Insert) != 1 || b.Insert[0].Index != state.Replicas {
		c.calls.Add(1)
	}
	r, err := c.Store.Commit(ctx, b)
	if err == nil && len(b.Delete) > 0 && strings.HasPrefix(string(b.Delete[len(b.Delete)-1]), "claim/") {
		c.given <- struct{}{}
	}
	return r, err
}

func (c *counted) Read(ctx context.Context, log store.Log, from int64, limit int) ([]store.Record, error) {
	c.calls.Add(1)
	return c.Store.Read(ctx, log, from, limit)
}

func (c *counted) Scan(ctx context.Context, index store.Index, r store.Range) (store.Page, error) {
	if index == state.Ready {
		c.calls.Add(1)
	}
	return c.Store.Scan(ctx, index, r)
}

// A message without tools costs at most 12 calls of the store, and as many round trips, from the moment it is accepted until its answer is recorded as sent.
func TestStoreCallsOfAMessage(t *testing.T) {
	server := redistest.Start(t)
	onRedis, err := redis.Open(t.Context(), redis.Config{URL: server.URL()})
	must(t, err)
	t.Cleanup(func() { _ = onRedis.Close() })
	for name, st := range map[string]store.Store{"local": schedtest.Open(t), "redis": onRedis} {
		t.Run(name, func(t *testing.T) {
			c, to := &counted{Store: st, given: make(chan struct{}, 100)}, &chat{}
			courier := delivery.New(delivery.Config{Store: c, Adapter: func(string) (core.Adapter, bool) { return to, true },
				Render: func(_ context.Context, l core.Letter) (delivery.Rendered, error) {
					m := core.Message{Place: l.Place, Text: l.Event.Text}
					if l.Event.Type == core.EventEnd { // a card that is only kept up where there is one
						m.Card, m.Replace, m.Silent = "status/"+string(l.PromptID), true, true
					}
					return delivery.Rendered{Messages: []core.Message{m}}, nil
				}})
			s := scheduler.New(config{Store: c, Courier: courier, Agent: schedtest.Agent(schedtest.Done), Lease: time.Minute})
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- s.Run(ctx) }()
			until(t, func() bool { return s.ID() != "" })
			var calls, trips []int64
			for i := range 21 {
				before, sent := c.calls.Load(), onRedis.RoundTrips()
				_, err := s.Accept(t.Context(), []scheduler.Submission{{Event: fmt.Sprint("e", i), New: &scheduler.NewSession{Workspace: "w", Bind: true, Join: true},
					Author: author, Place: core.Place{Platform: "test", Channel: fmt.Sprint(i)}, Text: "hello"}}, nil)
				must(t, err)
				<-c.given
				calls, trips = append(calls, c.calls.Load()-before), append(trips, onRedis.RoundTrips()-sent)
				if n := to.count(); n != i+1 {
					t.Fatalf("%d messages were sent for %d prompts", n, i+1)
				}
			}
			slices.Sort(calls)
			slices.Sort(trips)
			// Some have a poll among them; the one in the middle has none.
			t.Logf("%v calls, %v round trips a message", calls, trips)
			if calls[10] > 12 || trips[10] > 12 {
				t.Errorf("a message costs %d calls of the store, %d round trips", calls[10], trips[10])
			}
			stop()
			must(t, <-ended)
		})
	}
}

// While nobody else waits, the queue of a session is worked off under one claim, the commit that takes the first prompt being the one that accepts it; where others
// wait, the session is given back after each.
func TestAQueueIsWorkedOffUnderOneClaim(t *testing.T) {
	for name, slots := range map[string]int{"room for all": 2, "beside another": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var work ran
				c := &counted{Store: schedtest.Open(t), given: make(chan struct{}, 100)}
				r := start(t, c, nil, config{Agent: work.working(time.Second), MaxInFlight: slots})
				settle(time.Second)
				first := r.Submit(t, "", "1")
				r.Submit(t, first.Session.ID, "2")
				last := r.Submit(t, first.Session.ID, "3")
				if slots == 1 {
					r.Submit(t, "", "other")
				}
				settle(time.Minute)
				wantEnd(t, r, last.Prompt.ID, core.Done)
				order, least, most := []string{"1", "2", "3"}, 1, 1
				if slots == 1 { // a look that finds no slot while 2 runs gives the session back once more
					order, least, most = []string{"1", "other", "2", "3"}, 3, 4
				}
				if got := work.list(); !slices.Equal(got, order) || len(c.given) < least || len(c.given) > most {
					t.Errorf("ran %v under %d claims", got, len(c.given))
				}
			})
		})
	}
}
