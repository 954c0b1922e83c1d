package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"paragents/core"
	"paragents/core/claims"
	"paragents/core/scheduler"
	"paragents/core/scheduler/schedtest"
	"paragents/core/state"
	"paragents/store"
)

// foreseeing says that a prompt writes the paths that its text names.
func foreseeing(_ core.Session, p core.Prompt) core.Guess {
	g := core.Guess{Confidence: 0.9}
	for path := range strings.FieldsSeq(p.Text) {
		if path != "-" {
			g.Claims = append(g.Claims, path)
		}
	}
	g.Writes = g.Claims
	return g
}

// writing is an agent that begins a call for each path of its prompt's text, a second apart.
func (r *ran) writing(ctx context.Context, run *scheduler.Run) outcome {
	r.begin(run)
	defer r.end(run)
	records, err := run.Transcript(ctx)
	if err != nil {
		return outcome{State: core.Queued}
	}
	for i, path := range strings.Fields(run.Prompt.Text) {
		call := core.CallID(fmt.Sprint(run.Prompt.ID, i))
		if slices.ContainsFunc(records, func(rec core.Record) bool { return rec.Call == call }) {
			continue
		}
		intent := core.Record{Kind: core.RecordIntent, Prompt: run.Prompt.ID, Call: call, Claims: []string{path}}
		var hit *core.Collision
		switch err := run.Begin(ctx, intent, "", ""); {
		case errors.As(err, &hit):
			return outcome{State: core.Blocked, Conflict: &hit.Conflict}
		case err != nil:
			return outcome{State: core.Queued}
		}
		select {
		case <-ctx.Done():
			return outcome{State: core.Queued}
		case <-time.After(time.Second):
		}
	}
	return schedtest.Done(ctx, run)
}

func conflicts(m *schedtest.Mail, p core.PromptID) []string {
	var out []string
	for _, l := range m.Of(p, core.EventConflict) {
		out = append(out, l.Event.State)
	}
	return out
}

// held is the book without those that have ended.
func held(t testing.TB, st store.Store) claims.Book {
	t.Helper()
	d, _, err := state.Get[claims.Book](t.Context(), st, state.ClaimsKey("w"))
	must(t, err)
	for id := range d.Value.Holders {
		p, _, err := state.Get[core.Prompt](t.Context(), st, state.PromptKey(id))
		must(t, err)
		if !p.Exists() || p.Value.State.Ended() {
			d.Value.Drop(id)
		}
	}
	return d.Value
}

func TestConflictRunsNothingWithoutAChoice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var work ran
		st, mail := schedtest.Open(t), &schedtest.Mail{}
		r := start(t, st, mail, config{Agent: work.working(time.Minute), Foresee: foreseeing})
		a := r.Submit(t, "", "out.txt")
		settle(time.Second)
		b := r.Submit(t, "", "out.txt")
		settle(time.Second)
		p := wantState(t, r, b.Prompt.ID, core.Blocked)
		if c := p.Conflict; !slices.Equal(c.Paths, []string{"out.txt"}) || len(c.Owners) != 1 || c.Owners[0].Session != a.Session.Ref || c.Owners[0].State != core.Running {
			t.Errorf("conflict %+v", c)
		}
		settle(time.Hour) // the owner is long done
		wantEnd(t, r, a.Prompt.ID, core.Done)
		wantState(t, r, b.Prompt.ID, core.Blocked)
		if got := work.list(); !slices.Equal(got, []string{"out.txt"}) {
			t.Fatalf("ran %q", got)
		}
		_, err := r.Wait(t.Context(), b.Prompt.ID, author)
		must(t, err)
		settle(2 * time.Minute)
		wantEnd(t, r, b.Prompt.ID, core.Done)
		if got := conflicts(mail, b.Prompt.ID); !slices.Equal(got, []string{"open", "waits", "free"}) {
			t.Errorf("told %q", got)
		}
		if p := r.Read(t, b.Prompt.ID); p.Conflict != nil {
			t.Error("the mark of the conflict stays")
		}
	})
}

func TestWaitersGoOnWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var work ran
		r := start(t, schedtest.Open(t), nil, config{Agent: work.working(10 * time.Second), Foresee: foreseeing,
			Conflicts: func(string) core.ConflictMode { return core.WaitConflicts }})
		settle(time.Second)
		a := r.Submit(t, "", "src")
		settle(time.Second)
		b := r.Submit(t, "", "src/main.go")
		settle(8500 * time.Millisecond)
		wantState(t, r, b.Prompt.ID, core.Blocked)
		wantState(t, r, a.Prompt.ID, core.Running)
		settle(1600 * time.Millisecond) // half a second till the end of the first, a second for the duty
		wantState(t, r, a.Prompt.ID, core.Done)
		wantState(t, r, b.Prompt.ID, core.Running)
	})
}

func TestOverrideTellsTheOwnerAndIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var work ran
		st, mail := schedtest.Open(t), &schedtest.Mail{}
		r := start(t, st, mail, config{Agent: schedtest.Agent(work.writing), Foresee: foreseeing})
		settle(time.Second)
		a := r.Submit(t, "", "out.txt - - - - - - - - -")
		settle(100 * time.Millisecond)
		b := r.Submit(t, "", "out.txt")
		settle(100 * time.Millisecond)
		refused := func(core.Rival) error { return fmt.Errorf("%w: not theirs", core.ErrForbidden) }
		_, err := r.Override(t.Context(), b.Prompt.ID, "test:bob", refused)
		wantErr(t, err, core.ErrForbidden)
		c, err := r.Override(t.Context(), b.Prompt.ID, "test:bob", func(core.Rival) error { return nil })
		must(t, err)
		if !slices.Equal(c.Paths, []string{"out.txt"}) || c.Owners[0].Session != a.Session.Ref {
			t.Errorf("override answers %+v", c)
		}
		settle(3 * time.Second)
		wantEnd(t, r, b.Prompt.ID, core.Done)
		wantState(t, r, a.Prompt.ID, core.Running)
		if got := conflicts(mail, a.Prompt.ID); !slices.Equal(got, []string{}) {
			t.Errorf("the owner was told %q before it gave way", got)
		}
		settle(time.Minute)
		if got := conflicts(mail, a.Prompt.ID); !slices.Equal(got, []string{"theirs"}) {
			t.Errorf("the owner was told %q", got)
		}
		if got := conflicts(mail, b.Prompt.ID); !slices.Equal(got, []string{"open", "overridden"}) {
			t.Errorf("told %q", got)
		}
		records, err := st.Read(t.Context(), state.Audit, 0, 0)
		must(t, err)
		if !slices.ContainsFunc(records, func(r store.Record) bool {
			return strings.Contains(string(r.Value), `"overridden"`) && strings.Contains(string(r.Value), "test:bob") && strings.Contains(string(r.Value), "out.txt")
		}) {
			t.Error("the audit log knows nothing of it")
		}
	})
}

// An owner who has waited for people for more than eight hours does not keep others out.
func TestStaleClaimsMayBeOverridden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, schedtest.Open(t), nil, config{Agent: schedtest.Agent(asking), Foresee: foreseeing, Lease: time.Hour})
		r.Submit(t, "", "out.txt")
		settle(time.Second)
		b := r.Submit(t, "", "out.txt")
		settle(time.Second)
		never := func(core.Rival) error { return core.ErrForbidden }
		_, err := r.Override(t.Context(), b.Prompt.ID, "test:bob", never)
		wantErr(t, err, core.ErrForbidden)
		settle(8*time.Hour + time.Minute)
		_, err = r.Override(t.Context(), b.Prompt.ID, "test:bob", never)
		must(t, err)
		settle(time.Second)
		wantState(t, r, b.Prompt.ID, core.Waiting)
	})
}

// A holds a and wants b, B holds b and wants a: both hear of it, and one override undoes it.
func TestCycleIsShownToBoth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var work ran
		st, mail := schedtest.Open(t), &schedtest.Mail{}
		r := start(t, st, mail, config{Agent: schedtest.Agent(work.writing)})
		settle(time.Second)
		a, b := r.Submit(t, "", "a b"), r.Submit(t, "", "b a")
		settle(10 * time.Second)
		wantState(t, r, a.Prompt.ID, core.Blocked)
		wantState(t, r, b.Prompt.ID, core.Blocked)
		heard := map[core.Ref]bool{}
		for _, l := range append(mail.Of(a.Prompt.ID, core.EventConflict), mail.Of(b.Prompt.ID, core.EventConflict)...) {
			if len(l.Event.Conflict.Cycle) == 2 {
				heard[l.Event.Session] = true
			}
		}
		if len(heard) != 2 {
			t.Errorf("of the circle heard %v", heard)
		}
		_, err := r.Override(t.Context(), a.Prompt.ID, author, func(core.Rival) error { return nil })
		must(t, err)
		_, err = r.Wait(t.Context(), b.Prompt.ID, author)
		must(t, err)
		settle(10 * time.Second)
		wantEnd(t, r, a.Prompt.ID, core.Done)
		wantEnd(t, r, b.Prompt.ID, core.Done)
	})
}

// Whatever ends a prompt frees what it holds at once: here a start that fails, a stop, a close.
func TestClaimsAreFreedByEveryEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := schedtest.Agent(func(ctx context.Context, run *scheduler.Run) outcome {
			if strings.Contains(run.Prompt.Text, "broken") {
				return outcome{State: core.Failed, Error: "cannot start"}
			}
			<-ctx.Done()
			return outcome{State: core.Queued}
		})
		st := schedtest.Open(t)
		r := start(t, st, nil, config{Agent: agent, Foresee: foreseeing})
		free := func(after string) {
			t.Helper()
			settle(time.Second)
			if b := held(t, st); len(b.Holders) != 0 {
				t.Errorf("after %s the book holds %+v", after, b.Holders)
			}
		}
		r.Submit(t, "", "broken out.txt")
		free("a start that failed")
		b := r.Submit(t, "", "out.txt")
		settle(time.Second)
		wantState(t, r, b.Prompt.ID, core.Running)
		_, _, err := r.Scheduler.Stop(t.Context(), b.Session.ID, author)
		must(t, err)
		free("a stop")
		c := r.Submit(t, "", "out.txt")
		settle(time.Second)
		wantState(t, r, c.Prompt.ID, core.Running)
		_, err = r.Close(t.Context(), c.Session.ID, author)
		must(t, err)
		free("a close")
	})
}

// A prompt keeps its claims when its replica dies, and the one that takes it over needs no new ones.
func TestTakeoverKeepsClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var work ran
		st := schedtest.Open(t)
		first := start(t, st, nil, config{Agent: work.working(time.Hour), Foresee: foreseeing})
		a := first.Submit(t, "", "out.txt")
		settle(time.Second)
		second := start(t, st, nil, config{Agent: work.working(time.Minute), Foresee: foreseeing})
		first.Kill()
		b := second.Submit(t, "", "out.txt")
		settle(30 * time.Second)
		wantState(t, second, a.Prompt.ID, core.Running)
		wantState(t, second, b.Prompt.ID, core.Blocked)
	})
}

func TestUnattendedConflictFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var work ran
		r := start(t, schedtest.Open(t), nil, config{Agent: work.working(time.Minute), Foresee: foreseeing})
		r.Submit(t, "", "out.txt")
		settle(time.Second)
		out := accept(t, r, scheduler.Submission{Author: author, Place: place, Text: "out.txt", Unattended: true, New: &scheduler.NewSession{Workspace: "w"}})
		settle(time.Second)
		if e := wantEnd(t, r, out[0].Prompt.ID, core.Failed); !strings.Contains(e.Error, "out.txt") {
			t.Errorf("failed with %q", e.Error)
		}
	})
}

func TestBorrowRefusesWhatOthersHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var work ran
		st := schedtest.Open(t)
		r := start(t, st, nil, config{Agent: work.working(10 * time.Second), Foresee: foreseeing})
		a := r.Submit(t, "", "out.txt")
		settle(time.Second)
		did := 0
		do := func() string {
			did++
			b, _, err := state.Get[claims.Book](t.Context(), st, state.ClaimsKey("w"))
			must(t, err)
			if len(b.Value.Holders) == 0 {
				t.Error("nothing is claimed meanwhile")
			}
			return "done"
		}
		var hit *core.Collision
		if err := r.Borrow(t.Context(), scheduler.Loan{What: "undo", Prompt: a.Prompt.ID, Paths: []string{"out.txt"}, Who: author}, do); !errors.As(err, &hit) || did != 0 {
			t.Errorf("got %v, did %d", err, did)
		}
		settle(time.Minute)
		must(t, r.Borrow(t.Context(), scheduler.Loan{What: "undo", Prompt: a.Prompt.ID, Paths: []string{"out.txt"}, Who: author}, do))
		if b := held(t, st); did != 1 || len(b.Holders) != 0 {
			t.Errorf("did %d, holds %v", did, b.Holders)
		}
	})
}
