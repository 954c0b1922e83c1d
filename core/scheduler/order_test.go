package scheduler_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"paragents/core"
	"paragents/core/orders"
	"paragents/core/scheduler"
	"paragents/core/scheduler/schedtest"
	"paragents/core/state"
)

const boss core.Person = "test:boss"

// modelling is an agent that asks a model, and gets its answer after d: a paused question is dropped and asked again by the next run.
func (r *ran) modelling(d time.Duration) schedtest.Agent {
	return func(ctx context.Context, run *scheduler.Run) outcome {
		r.begin(run)
		defer r.end(run)
		asking, done := run.Asking(ctx)
		defer done()
		select {
		case <-asking.Done():
			return outcome{State: core.Queued}
		case <-time.After(d):
		}
		return schedtest.Done(ctx, run)
	}
}

func TestPauseAndResumeARunningPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var work ran
		st, mail := schedtest.Open(t), &schedtest.Mail{}
		start(t, st, mail, config{Agent: work.modelling(10 * time.Second)})
		other := newReplica(t, st, mail, config{}) // orders come from anywhere
		p := other.Submit(t, "", "long")
		settle(2 * time.Second)
		_, err := other.Pause(t.Context(), p.Prompt.ID, boss)
		must(t, err)
		settle(100 * time.Millisecond)
		if got := wantState(t, other, p.Prompt.ID, core.Paused); got.Reason != "paused by boss" {
			t.Errorf("reason %q", got.Reason)
		}
		settle(10 * time.Minute)
		wantState(t, other, p.Prompt.ID, core.Paused)
		_, err = other.Resume(t.Context(), p.Prompt.ID, boss)
		must(t, err)
		settle(9 * time.Second)
		wantState(t, other, p.Prompt.ID, core.Running)
		settle(2 * time.Second)
		wantEnd(t, other, p.Prompt.ID, core.Done)
		if n := len(work.list()); n != 2 {
			t.Errorf("%d runs", n)
		}
	})
}

// Pause and resume in quick succession leave a prompt that runs.
func TestResumeBeforeThePauseArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var work ran
		r := start(t, schedtest.Open(t), nil, config{Agent: work.modelling(time.Second)})
		p := r.Submit(t, "", "text")
		settle(100 * time.Millisecond)
		_, err := r.Pause(t.Context(), p.Prompt.ID, boss)
		must(t, err)
		_, err = r.Resume(t.Context(), p.Prompt.ID, boss)
		must(t, err)
		settle(5 * time.Second)
		wantEnd(t, r, p.Prompt.ID, core.Done)
	})
}

func TestPauseAQueuedAndAWaitingPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, schedtest.Open(t), nil, config{Agent: schedtest.Agent(asking)})
		waits := r.Submit(t, "", "asks")
		behind := r.Submit(t, waits.Session.ID, "asks too")
		settle(time.Second)
		a := waitsFor(t, r, waits.Prompt.ID)
		for _, p := range []scheduler.Accepted{waits, behind} {
			_, err := r.Pause(t.Context(), p.Prompt.ID, boss)
			must(t, err)
			wantState(t, r, p.Prompt.ID, core.Paused)
		}
		got, err := r.Approval(t.Context(), a.ID)
		must(t, err)
		if got.State != core.Withdrawn {
			t.Errorf("the approval is %s", got.State)
		}
		_, err = r.Resume(t.Context(), waits.Prompt.ID, boss)
		must(t, err)
		settle(time.Second)
		if again := waitsFor(t, r, waits.Prompt.ID); again.ID == a.ID || again.State != core.Pending {
			t.Errorf("it waits for %s, which is %s", again.Ref, again.State)
		}
		wantState(t, r, behind.Prompt.ID, core.Paused)
	})
}

func TestOrdersThatAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, schedtest.Open(t), nil, config{Agent: schedtest.Agent(schedtest.Done)})
		p := r.Submit(t, "", "text")
		settle(time.Second)
		wantEnd(t, r, p.Prompt.ID, core.Done)
		id, sess := p.Prompt.ID, p.Session.ID
		ctx := t.Context()
		for name, order := range map[string]func() error{
			"cancel":           func() error { _, err := r.Cancel(ctx, id, boss); return err },
			"pause":            func() error { _, err := r.Pause(ctx, id, boss); return err },
			"resume":           func() error { _, err := r.Resume(ctx, id, boss); return err },
			"steer":            func() error { _, err := r.Steer(ctx, id, boss, "x"); return err },
			"edit":             func() error { _, err := r.Edit(ctx, id, author, "x"); return err },
			"stop":             func() error { _, _, err := r.Scheduler.Stop(ctx, sess, boss); return err },
			"release":          func() error { _, err := r.Release(ctx, sess, boss, false); return err },
			"rename to nought": func() error { _, err := r.Rename(ctx, sess, boss, " "); return err },
			"withdraw a vote":  func() error { _, err := r.Decide(ctx, "x", orders.Decision{State: core.Withdrawn}); return err },
		} {
			if err := order(); !errors.Is(err, core.ErrRefused) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for name, order := range map[string]func() error{
			"cancel":  func() error { _, err := r.Cancel(ctx, "x", boss); return err },
			"stop":    func() error { _, _, err := r.Scheduler.Stop(ctx, "x", boss); return err },
			"close":   func() error { _, err := r.Close(ctx, "x", boss); return err },
			"decide":  func() error { _, err := r.Decide(ctx, "x", orders.Decision{State: core.Denied}); return err },
			"find":    func() error { _, err := r.Find(ctx, "zzzzzz"); return err },
			"approve": func() error { _, err := r.Approval(ctx, "x"); return err },
		} {
			if err := order(); !errors.Is(err, core.ErrNotFound) {
				t.Errorf("%s of what is not there: %v", name, err)
			}
		}
		wantEnd(t, r, id, core.Done)
	})
}

func TestCancelInEveryState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, mail := schedtest.Open(t), &schedtest.Mail{}
		desk := newReplica(t, st, mail, config{})
		cancel := func(p core.PromptID) {
			t.Helper()
			_, err := desk.Cancel(t.Context(), p, boss)
			must(t, err)
			settle(1100 * time.Millisecond) // a bell may be lost
			if e := wantEnd(t, desk, p, core.Cancelled); e.Error != "stopped by boss" {
				t.Errorf("error %q", e.Error)
			}
		}
		queued := desk.Submit(t, "", "queued")
		paused := desk.Submit(t, "", "paused")
		_, err := desk.Pause(t.Context(), paused.Prompt.ID, boss)
		must(t, err)
		var work ran
		start(t, st, mail, config{Agent: schedtest.Agent(func(ctx context.Context, run *scheduler.Run) outcome {
			if run.Prompt.Text == "waiting" {
				return asking(ctx, run)
			}
			return work.modelling(time.Hour)(ctx, run)
		})})
		cancel(paused.Prompt.ID)
		settle(time.Second)
		cancel(queued.Prompt.ID) // runs by now
		waiting := desk.Submit(t, "", "waiting")
		behind := desk.Submit(t, waiting.Session.ID, "waiting")
		settle(time.Second)
		a := waitsFor(t, desk, waiting.Prompt.ID)
		cancel(behind.Prompt.ID)
		cancel(waiting.Prompt.ID)
		if got, err := desk.Approval(t.Context(), a.ID); err != nil || got.State != core.Withdrawn {
			t.Errorf("the approval is %s, %v", got.State, err)
		}
	})
}

// B048: stop while the model is asked, while a tool runs, before the run began, and from another replica. Within two seconds nothing of the prompt goes on, and the
// next prompt is untouched.
func TestB048StopStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var work ran
		st, mail := schedtest.Open(t), &schedtest.Mail{}
		r := start(t, st, mail, config{Agent: schedtest.Agent(func(ctx context.Context, run *scheduler.Run) outcome {
			if run.Prompt.Text != "tool" {
				return work.modelling(10*time.Minute)(ctx, run)
			}
			work.begin(run)
			defer work.end(run)
			<-ctx.Done() // the tool's command is ended with the context
			return outcome{State: core.Queued}
		})})
		other := newReplica(t, st, mail, config{})
		for _, kind := range []string{"model", "tool"} {
			first := other.Submit(t, "", kind)
			settle(time.Second)
			next := other.Submit(t, first.Session.ID, "next")
			p, held, err := other.Scheduler.Stop(t.Context(), first.Session.ID, boss)
			must(t, err)
			if p.ID != first.Prompt.ID || held != 1 {
				t.Errorf("%s: stopped %s, %d held", kind, p.Text, held)
			}
			settle(2 * time.Second)
			wantEnd(t, r, first.Prompt.ID, core.Cancelled)
			if work.now[first.Session.ID] != 0 {
				t.Errorf("%s: it still runs", kind)
			}
			settle(time.Minute)
			wantState(t, r, next.Prompt.ID, core.Queued)
		}
		before := len(work.list())
		unborn := other.Submit(t, "", "model")
		p, _, err := other.Scheduler.Stop(t.Context(), unborn.Session.ID, boss) // no time has passed
		must(t, err)
		settle(time.Minute)
		wantEnd(t, r, p.ID, core.Cancelled)
		if n := len(work.list()); n > before+1 {
			t.Errorf("%d runs after the stop", n-before)
		}
	})
}

// An order whose bell was lost is found at the next renewal.
func TestB080OrderWithoutABell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var work ran
		st := schedtest.Open(t)
		r := start(t, st, nil, config{Agent: work.modelling(time.Hour)})
		p := r.Submit(t, "", "long")
		settle(time.Second)
		got, _, err := state.Get[core.Prompt](t.Context(), st, state.PromptKey(p.Prompt.ID))
		must(t, err)
		got.Value.Order, got.Value.OrderBy = core.OrderCancel, boss
		b := &state.Batch{}
		b.Update(state.PromptKey(p.Prompt.ID), got.Version, got.Value)
		_, err = b.Commit(t.Context(), st)
		must(t, err)
		settle(5100 * time.Millisecond)
		wantEnd(t, r, p.Prompt.ID, core.Cancelled)
	})
}

// What a dead replica was told to do is done by who takes over.
func TestOrdersOutliveTheReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var work ran
		st, mail := schedtest.Open(t), &schedtest.Mail{}
		dead := start(t, st, mail, config{Agent: work.modelling(time.Hour)})
		cancelled, paused := dead.Submit(t, "", "1"), dead.Submit(t, "", "2")
		settle(time.Second)
		dead.Store.Set(schedtest.Dead)
		desk := newReplica(t, st, mail, config{})
		_, err := desk.Cancel(t.Context(), cancelled.Prompt.ID, boss)
		must(t, err)
		_, err = desk.Pause(t.Context(), paused.Prompt.ID, boss)
		must(t, err)
		r := start(t, st, mail, config{Agent: work.modelling(time.Hour)})
		settle(30 * time.Second)
		wantEnd(t, r, cancelled.Prompt.ID, core.Cancelled)
		wantState(t, r, paused.Prompt.ID, core.Paused)
	})
}
