package bot_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"paragents/core"
	"paragents/store"
)

// TestOnceOnly: an event that comes again, in the same batch, later, or to another process at the same moment, is one prompt and one command.
func TestOnceOnly(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		other := w.start()
		defer other.end(t)
		conn := connection{w.chat, w.replica.cut}
		message, command := w.event("rob", "rob", "say hello"), w.event("rob", "ops", "/submit say again")
		batch := []core.Inbound{message, command, message, command}
		results := make(chan error, 8)
		for i := range cap(results) {
			desk := []*replica{w.replica, other}[i%2].desk
			go func() { results <- desk.Accept(context.Background(), conn, batch, nil) }()
		}
		for range cap(results) {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		w.clock.settle(w, 0)
		if got := strings.Count(said(w.chat.take()), "hello"); got != 2 { // title and answer
			t.Errorf("hello was said %d times", got)
		}
		if n := len(w.sessions()); n != 2 {
			t.Errorf("there are %d sessions", n)
		}
	}, "rob is operator")
}

// TestStopComesAgain: a stop that the platform delivers once more does not stop what was begun since.
func TestStopComesAgain(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.model.hold(true)
		w.does("rob", "say one")
		stop := w.event("rob", "rob", "stop")
		for _, text := range []string{"stopped by rob", ""} {
			if err := w.chat.post(stop); err != nil {
				t.Fatal(err)
			}
			w.clock.settle(w, 0)
			if got := said(w.chat.take()); !strings.Contains(got, text) || text == "" && got != "" {
				t.Errorf("stop is answered %q, want %q", got, text)
			}
			w.does("rob", "say two")
		}
		if v := w.sessions()[0]; v.Prompt.State != core.Running {
			t.Errorf("what was begun after the stop is %s", v.Prompt.State)
		}
	}, "rob is operator")
}

// TestCommandsComeAfterWhatWasBefore: in one batch, a command sees the prompts before it, and none behind it.
func TestCommandsComeAfterWhatWasBefore(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.model.hold(true)
		e := []core.Inbound{w.event("rob", "rob", "say one"), w.event("rob", "rob", "say two"), w.event("rob", "rob", "/list"), w.event("rob", "rob", "say three"), w.event("rob", "rob", "stop")}
		if err := w.replica.desk.Accept(t.Context(), connection{w.chat, w.replica.cut}, e, []byte("5")); err != nil {
			t.Fatal(err)
		}
		w.clock.settle(w, 0)
		got := said(w.chat.take())
		if !strings.Contains(got, "1 more queued") || !strings.Contains(got, "2 more wait behind it") {
			t.Errorf("it said:\n%s", got)
		}
		if n := len(w.sessions()); n != 1 {
			t.Errorf("there are %d sessions", n)
		}
		if at, err := w.replica.desk.CursorAt(t.Context(), "chat"); string(at) != "5" || err != nil {
			t.Errorf("the cursor is %q: %v", at, err)
		}
	}, "rob is operator")
}

// faulty is a store whose n-th commit from now on fails: it was not applied, or it was and nobody knows.
type faulty struct {
	store.Store
	left    atomic.Int64
	applied bool
}

var errAway = errors.New("the store is away")

func (f *faulty) Commit(ctx context.Context, b store.Batch) (store.Result, error) {
	if f.left.Add(-1) != 0 {
		return f.Store.Commit(ctx, b)
	}
	if f.applied {
		if _, err := f.Store.Commit(ctx, b); err != nil {
			return store.Result{}, err
		}
	}
	return store.Result{}, fmt.Errorf("%w: %w", store.ErrUnknown, errAway)
}

// TestFailingStore: whichever commit of a batch fails, the platform is not told that it was taken, and when it comes again everything is there once.
func TestFailingStore(t *testing.T) {
	for _, applied := range []bool{false, true} {
		failures := 0
		for n := int64(1); ; n++ {
			failed := false
			bubble(t, func(t *testing.T, w *world) {
				w.replica.end(t) // nothing but the batch writes
				f := &faulty{Store: w.store, applied: applied}
				w.store = f
				w.replica = w.start()
				w.model.hold(true)
				conn := connection{w.chat, w.replica.cut}
				batch := []core.Inbound{w.event("rob", "rob", "say one"), w.event("rob", "rob", "/submit say two"), w.event("rob", "rob", "say three"), w.event("ann", "ann", "say four")}
				time.Sleep(time.Second)
				w.replica.stop() // from here on, only the desk speaks to the store
				synctest.Wait()
				f.left.Store(n)
				err := w.replica.desk.Accept(t.Context(), conn, batch, []byte("4"))
				if failed = err != nil; failed && !errors.Is(err, errAway) {
					t.Fatal(err)
				}
				if at, _ := w.replica.desk.CursorAt(t.Context(), "chat"); failed && !applied && at != nil {
					t.Errorf("commit %d: refused, and the cursor is %q", n, at)
				}
				if failed {
					if err := w.replica.desk.Accept(t.Context(), conn, batch, []byte("4")); err != nil {
						t.Fatal(err)
					}
				}
				var got []string
				for _, v := range w.sessions() {
					for _, id := range v.Session.Queue {
						p, _, err := w.replica.scheduler.Prompt(t.Context(), id)
						if err != nil {
							t.Fatal(err)
						}
						got = append(got, p.Text)
					}
				}
				slices.Sort(got)
				if !slices.Equal(got, []string{"say four", "say one", "say three", "say two"}) {
					t.Errorf("commit %d failed, applied %v: the prompts are %q", n, applied, got)
				}
				if at, err := w.replica.desk.CursorAt(t.Context(), "chat"); string(at) != "4" || err != nil {
					t.Errorf("commit %d: the cursor is %q: %v", n, at, err)
				}
			}, "rob is operator", "ann is operator")
			if !failed {
				break
			}
			failures++
		}
		if failures < 3 {
			t.Errorf("only %d commits could fail", failures)
		}
	}
}
