package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"paragents/store"
)

const bell store.Topic = "bell/a"

func notifyCases() []examCase {
	return []examCase{
		{name: "delivery", test: func(x *subject) {
			mine := x.subscribe(x.ctx, x.store, bell, "bell/b")
			others := x.subscribe(x.ctx, x.open(), bell)
			x.commit(store.Batch{Notify: []store.Notify{{Topic: "bell/none", Payload: []byte("0")}, {Topic: bell, Payload: []byte("1\x00\xff")}}})
			x.ring("bell/b", "2")
			x.ring(bell, "")
			heard := func(ch <-chan store.Notification) string {
				n, ok := within(x, "a bell", ch)
				return fmt.Sprintf("%s %q %v", n.Topic, n.Payload, ok)
			}
			first, last := `bell/a "1\x00\xff" true`, `bell/a "" true`
			got := []string{heard(mine), heard(mine), heard(mine)}
			slices.Sort(got)
			equal(x, "heard", got, []string{last, first, `bell/b "2" true`})
			equal(x, "heard by the other", []string{heard(others), heard(others)}, []string{first, last})
		}},
		{name: "two subscriptions of one handle", test: func(x *subject) {
			ctx, cancel := context.WithCancel(x.ctx)
			first, second := x.subscribe(ctx, x.store, bell), x.subscribe(x.ctx, x.store, bell, bell)
			x.ring(bell, "1")
			for _, ch := range []<-chan store.Notification{first, second} {
				n, _ := within(x, "a bell", ch)
				equal(x, "payload", string(n.Payload), "1")
			}
			cancel()
			x.closes(first)
			x.ring(bell, "2")
			n, _ := within(x, "a bell", second)
			equal(x, "payload", string(n.Payload), "2")
		}},
		{name: "only what was applied rings", test: func(x *subject) {
			ch := x.subscribe(x.ctx, x.store, bell)
			x.refuse(store.Batch{Expect: []store.Expect{{Key: "doc/none", Version: 7}}, Notify: []store.Notify{{Topic: bell, Payload: []byte("refused")}}}, store.ErrConflict)
			once := store.Batch{ID: "b1", Notify: []store.Notify{{Topic: bell, Payload: []byte("once")}}}
			x.commit(once)
			x.commit(once)
			x.ring(bell, "end")
			for _, want := range []string{"once", "end"} {
				n, _ := within(x, "a bell", ch)
				equal(x, "payload", string(n.Payload), want)
			}
		}},
		{name: "what rang can be read", test: func(x *subject) {
			other := x.open()
			ch := x.subscribe(x.ctx, other, bell)
			for i := range 20 {
				value := fmt.Sprint(i)
				x.commit(store.Batch{Put: []store.Put{{Key: "doc/a", Value: []byte(value)}}, Notify: []store.Notify{{Topic: bell}}})
				within(x, "a bell", ch)
				equal(x, "value", string(getFrom(x, other, "doc/a").Docs[0].Value), value)
			}
		}},
		{name: "a full channel drops the new ones", test: func(x *subject) {
			ch := x.subscribe(x.ctx, x.store, bell)
			equal(x, "capacity", cap(ch), 256)
			const total = 400
			var b store.Batch
			for i := range total {
				b.Notify = append(b.Notify, store.Notify{Topic: bell, Payload: fmt.Append(nil, i)})
			}
			x.commit(b)
			x.until("a full channel", func() bool { return len(ch) == cap(ch) })
			// Rung after the 400 and heard through the same handle: so all of them have been handed out or dropped.
			later := x.subscribe(x.ctx, x.store, "bell/later")
			x.ring("bell/later", "")
			within(x, "the later bell", later)
			for i := range cap(ch) {
				n, _ := within(x, "a kept bell", ch)
				equal(x, "payload", string(n.Payload), fmt.Sprint(i))
			}
			x.ring(bell, "after")
			n, _ := within(x, "the next bell", ch)
			equal(x, "payload", string(n.Payload), "after")
		}},
		{name: "ends with its context", test: func(x *subject) {
			ctx, cancel := context.WithCancel(x.ctx)
			ch := x.subscribe(ctx, x.store, bell)
			cancel()
			x.closes(ch)
			if _, err := x.store.Subscribe(ctx, bell); !errors.Is(err, context.Canceled) {
				x.Fatalf("subscribe in an ended context: %v", err)
			}
			again := x.subscribe(x.ctx, x.store, bell)
			x.ring(bell, "again")
			n, _ := within(x, "a bell", again)
			equal(x, "payload", string(n.Payload), "again")
		}},
		{name: "ends with the store", test: func(x *subject) {
			ch := x.subscribe(x.ctx, x.store, bell)
			if err := x.store.Close(); err != nil {
				x.Fatal(err)
			}
			x.closes(ch)
		}},
		{name: "B080 again after a restart", needs: canRestart, test: func(x *subject) {
			ch := x.subscribe(x.ctx, x.store, bell)
			x.backing.(Restarter).Restart(x.T)
			x.hearsAgain(ch)
		}},
		{name: "B080 again after an outage", needs: canGoAway, test: func(x *subject) {
			ch := x.subscribe(x.ctx, x.store, bell)
			back := x.backing.(Outage).Away(x.T)
			x.unreachable()
			back()
			x.hearsAgain(ch)
		}},
	}
}

func (x *subject) subscribe(ctx context.Context, s store.Store, topics ...store.Topic) <-chan store.Notification {
	x.Helper()
	ch, err := s.Subscribe(ctx, topics...)
	if err != nil {
		x.Fatalf("subscribe %q: %v", topics, err)
	}
	return ch
}

func (x *subject) ring(topic store.Topic, payload string) {
	x.Helper()
	x.commit(store.Batch{Notify: []store.Notify{{Topic: topic, Payload: []byte(payload)}}})
}

// closes waits for the end of a subscription.
func (x *subject) closes(ch <-chan store.Notification) {
	x.Helper()
	for {
		if _, ok := within(x, "the end of the subscription", ch); !ok {
			return
		}
	}
}

// hearsAgain rings, as whoever rings does, until a bell is heard.
func (x *subject) hearsAgain(ch <-chan store.Notification) {
	x.Helper()
	for {
		x.ring(bell, "again")
		select {
		case _, ok := <-ch:
			equal(x, "subscription open", ok, true)
			return
		case <-time.After(50 * time.Millisecond):
		case <-x.ctx.Done():
			x.Fatal("the subscription did not come back")
		}
	}
}
