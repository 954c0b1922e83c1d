package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"paragents/core"
	"paragents/core/scheduler"
	"paragents/core/scheduler/schedtest"
	"paragents/core/state"
)

func submission(event, text string) scheduler.Submission {
	return scheduler.Submission{Event: event, Author: author, Place: place, Text: text, New: &scheduler.NewSession{Workspace: "w", Bind: true, Join: true}}
}

func accept(t testing.TB, r *replica, subs ...scheduler.Submission) []scheduler.Accepted {
	t.Helper()
	out, err := r.Accept(context.WithoutCancel(t.Context()), subs, nil)
	must(t, err)
	return out
}

func queue(t testing.TB, r *replica, id core.SessionID) []core.PromptID {
	t.Helper()
	views, err := r.Views(context.WithoutCancel(t.Context()), []core.SessionID{id})
	must(t, err)
	if len(views) != 1 {
		t.Fatalf("%d sessions", len(views))
	}
	return views[0].Session.Queue
}

func TestAcceptTakesAnEventOnce(t *testing.T) {
	r := newReplica(t, schedtest.Open(t), nil, config{})
	both := accept(t, r, submission("e1", "one"), submission("e1", "one"))
	if both[0].Err != nil || both[0].Duplicate || !both[1].Duplicate || both[1].Prompt.ID != both[0].Prompt.ID {
		t.Errorf("in one batch: %+v", both)
	}
	if again := accept(t, r, submission("e1", "one")); !again[0].Duplicate || again[0].Prompt.ID != both[0].Prompt.ID {
		t.Errorf("later: %+v", again)
	}
	if q := queue(t, r, both[0].Session.ID); len(q) != 1 {
		t.Errorf("%d prompts", len(q))
	}
}

// Two replicas get the same event at the same moment, many times.
func TestAcceptTakesAnEventOnceOnTwoReplicas(t *testing.T) {
	st := schedtest.Open(t)
	rs := []*replica{newReplica(t, st, nil, config{}), newReplica(t, st, nil, config{})}
	for i := range 100 {
		var out [2]scheduler.Accepted
		var wg sync.WaitGroup
		for k, r := range rs {
			wg.Go(func() { out[k] = accept(t, r, submission(fmt.Sprint("e", i), "text"))[0] })
		}
		wg.Wait()
		if out[0].Duplicate == out[1].Duplicate || out[0].Prompt.ID != out[1].Prompt.ID {
			t.Fatalf("event %d: %+v", i, out)
		}
	}
}

func TestAcceptSeveralSessionsInOneBatch(t *testing.T) {
	r := newReplica(t, schedtest.Open(t), nil, config{})
	a := accept(t, r, scheduler.Submission{New: &scheduler.NewSession{Workspace: "w", Title: "a"}, Author: author, Place: place, Text: "first"})[0].Session
	var also bool
	out, err := r.Accept(t.Context(), []scheduler.Submission{
		{Session: a.ID, Author: author, Place: place, Text: "a2"},
		{New: &scheduler.NewSession{Workspace: "w", Title: "b"}, Author: author, Place: place, Text: "b1"},
		{Session: a.ID, Author: author, Place: place, Text: "a3"},
		{Session: "nobody", Author: author, Place: place, Text: "x"},
	}, func(b *state.Batch) { also = true; b.Put(state.CursorKey("test"), state.Seen{}, 0) })
	must(t, err)
	if !also || out[0].Ahead != 1 || out[1].Ahead != 0 || out[2].Ahead != 2 {
		t.Errorf("%+v", out)
	}
	wantErr(t, out[3].Err, core.ErrNotFound)
	if q := queue(t, r, a.ID); !slices.Equal(q[1:], []core.PromptID{out[0].Prompt.ID, out[2].Prompt.ID}) {
		t.Errorf("queue %v", q)
	}
	if q := queue(t, r, out[1].Session.ID); len(q) != 1 {
		t.Errorf("queue %v", q)
	}
	if c, _, err := state.Get[state.Seen](t.Context(), r.Store, state.CursorKey("test")); err != nil || !c.Exists() {
		t.Errorf("what the caller wanted in the commit is not there: %v", err)
	}
}

// Several first messages of a place are one session: in one batch, and on two replicas at the same moment.
func TestB001FirstMessagesOfAPlaceOpenOneSession(t *testing.T) {
	st := schedtest.Open(t)
	rs := []*replica{newReplica(t, st, nil, config{}), newReplica(t, st, nil, config{})}
	out := accept(t, rs[0], submission("e1", "one"), submission("e2", "two"))
	if out[0].Session.ID != out[1].Session.ID || out[1].Ahead != 1 {
		t.Fatalf("in one batch: %+v", out)
	}
	for i := range 50 {
		at := place
		at.Channel = fmt.Sprint("other", i)
		var got [2]scheduler.Accepted
		var wg sync.WaitGroup
		for k, r := range rs {
			sub := submission(fmt.Sprint("x", i, k), "text")
			sub.Place = at
			wg.Go(func() { got[k] = accept(t, r, sub)[0] })
		}
		wg.Wait()
		if got[0].Session.ID != got[1].Session.ID || got[0].Ahead == got[1].Ahead {
			t.Fatalf("%d: sessions %s and %s", i, got[0].Session.Ref, got[1].Session.Ref)
		}
	}
	// A closed session takes no more: the place begins another.
	_, err := rs[0].Close(t.Context(), out[0].Session.ID, author)
	must(t, err)
	if next := accept(t, rs[0], submission("e3", "three"))[0]; next.Err != nil || next.Session.ID == out[0].Session.ID {
		t.Errorf("after close: %+v", next)
	}
}

func TestAcceptRefuses(t *testing.T) {
	r := newReplica(t, schedtest.Open(t), nil, config{MaxQueue: 3})
	sess := accept(t, r, submission("", "1"))[0].Session.ID
	sub := func(text string) scheduler.Submission {
		return scheduler.Submission{Session: sess, Author: author, Place: place, Text: text, Event: "e" + text[:min(len(text), 9)]}
	}
	out := accept(t, r, sub("2"), sub("3"), sub("4"))
	if out[1].Err != nil {
		t.Fatal(out[1].Err)
	}
	wantErr(t, out[2].Err, core.ErrRefused) // the queue is full
	if !strings.Contains(out[2].Err.Error(), "3 unfinished prompts") {
		t.Errorf("%v says nothing of the limit", out[2].Err)
	}
	if again := accept(t, r, sub("4")); !again[0].Duplicate {
		t.Error("a refused event is asked again")
	}
	_, err := r.Close(t.Context(), sess, author)
	must(t, err)
	wantErr(t, accept(t, r, sub("5"))[0].Err, core.ErrRefused) // closed
	wantErr(t, accept(t, r, submission("", " \n"))[0].Err, core.ErrRefused)
	wantErr(t, accept(t, r, submission("", strings.Repeat("x", 300<<10)))[0].Err, core.ErrRefused)
}

// Two replicas accept for one session at the same moment: no prompt is lost, whoever was first.
func TestB047TwoReplicasAcceptForOneSession(t *testing.T) {
	st := schedtest.Open(t)
	rs := []*replica{newReplica(t, st, nil, config{MaxQueue: 3000}), newReplica(t, st, nil, config{MaxQueue: 3000})}
	const sessions, each = 25, 40
	for range sessions {
		sess := accept(t, rs[0], submission("", "first"))[0].Session.ID
		for i := range each {
			var got [2]scheduler.Accepted
			var wg sync.WaitGroup
			for k, r := range rs {
				wg.Go(func() {
					got[k] = accept(t, r, scheduler.Submission{Session: sess, Author: author, Place: place, Text: fmt.Sprint(i, k)})[0]
				})
			}
			wg.Wait()
			q := queue(t, rs[0], sess)
			want := []core.PromptID{got[0].Prompt.ID, got[1].Prompt.ID}
			if got[0].Ahead > got[1].Ahead {
				slices.Reverse(want)
			}
			if last := q[len(q)-2:]; !slices.Equal(last, want) {
				t.Fatalf("round %d: the queue ends with %v, accepted %v", i, last, want)
			}
		}
		_, err := rs[0].Close(t.Context(), sess, author)
		must(t, err)
	}
}

// B037: whatever is written while an approval waits, it is a prompt behind the one that waits, and decides nothing.
func TestB037TextDecidesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, schedtest.Open(t), nil, config{Agent: schedtest.Agent(asking)})
		first := r.Submit(t, "", "make it")
		settle(time.Second)
		a := waitsFor(t, r, first.Prompt.ID)
		for _, text := range []string{"yes", "ok", "go", "approve", "approve " + string(a.Ref), "/approve"} {
			r.Submit(t, first.Session.ID, text)
		}
		settle(time.Minute)
		if again := waitsFor(t, r, first.Prompt.ID); again.State != core.Pending || again.By != "" {
			t.Errorf("the approval is %s by %q", again.State, again.By)
		}
	})
}
