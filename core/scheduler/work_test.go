package scheduler_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"paragents/core"
	"paragents/core/scheduler"
	"paragents/core/scheduler/schedtest"
)

// isolated is a config for a workspace whose sessions have worktrees of their own, which are made at once.
func isolated(agent schedtest.Agent) config {
	return config{Isolated: func(string) bool { return true }, Foresee: foreseeing, Agent: schedtest.Agent(func(ctx context.Context, run *scheduler.Run) outcome {
		if w := run.Session.Worktree; w != nil && !w.Made {
			if err := run.Isolate(ctx, core.Worktree{Base: "main", Commit: "c", Made: true}); err != nil {
				return outcome{State: core.Failed, Error: err.Error()}
			}
		}
		return agent(ctx, run)
	})}
}

func works(m *schedtest.Mail) (out []string) {
	for _, l := range m.All() {
		if l.Event.Type == core.EventWork {
			out = append(out, l.Event.State)
		}
	}
	return out
}

// B055: sessions in worktrees of their own write the same file and meet nobody; a branch of a remote is everybody's.
func TestB055IsolatedSessionsMeetOnlyOutside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var work ran
		r := start(t, schedtest.Open(t), nil, isolated(work.working(time.Minute)))
		a, b := r.Submit(t, "", "out.txt ."), r.Submit(t, "", "out.txt git:index")
		c, d := r.Submit(t, "", "git:push:origin/main"), r.Submit(t, "", "git:push:origin/main")
		settle(2 * time.Second)
		for _, p := range []scheduler.Accepted{a, b} {
			wantState(t, r, p.Prompt.ID, core.Running)
		}
		states := []core.PromptState{r.Read(t, c.Prompt.ID).State, r.Read(t, d.Prompt.ID).State}
		slices.Sort(states)
		if !slices.Equal(states, []core.PromptState{core.Blocked, core.Running}) {
			t.Errorf("two that push the same branch are %v", states)
		}
	})
}

// The worktree of a session is told about when the last prompt that changed files is done, and when the session is closed; not when nothing has changed.
func TestWorkIsToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mail := &schedtest.Mail{}
		r := start(t, schedtest.Open(t), mail, isolated(func(ctx context.Context, run *scheduler.Run) outcome {
			out := schedtest.Done(ctx, run)
			if run.Prompt.Text != "-" {
				out.Files = []string{run.Prompt.Text}
			}
			return out
		}))
		a := r.Submit(t, "", "-")
		settle(2 * time.Second)
		if got := works(mail); len(got) != 0 {
			t.Fatalf("nothing has changed, and it said %q", got)
		}
		r.Submit(t, a.Session.ID, "a.txt")
		settle(2 * time.Second)
		_, err := r.Close(t.Context(), a.Session.ID, author)
		must(t, err)
		settle(2 * time.Second)
		if got := works(mail); !slices.Equal(got, []string{"open", "open"}) {
			t.Errorf("it said %q", got)
		}
	})
}

// What becomes of the work is decided once, and what is discarded closes its session.
func TestWorkIsDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mail := &schedtest.Mail{}
		r := start(t, schedtest.Open(t), mail, isolated(schedtest.Done))
		shared := newReplica(t, r.Store, mail, config{}).Submit(t, "", "shared")
		a := r.Submit(t, "", "a")
		settle(2 * time.Second)
		once := func(_ core.Session, w *core.Worktree) error {
			if w.Discarded != "" {
				return core.ErrDecided
			}
			w.Discarded, w.By = "digest", author
			return nil
		}
		discard := core.Event{State: string(core.WorkDiscarded)}
		if _, err := r.Work(t.Context(), shared.Session.ID, author, discard, once); !errors.Is(err, core.ErrRefused) {
			t.Errorf("a session that is not isolated: %v", err)
		}
		sess, err := r.Work(t.Context(), a.Session.ID, author, discard, once)
		must(t, err)
		if !sess.Closed || sess.Worktree.Discarded != "digest" {
			t.Errorf("%+v", sess)
		}
		if _, err := r.Work(t.Context(), a.Session.ID, author, discard, once); !errors.Is(err, core.ErrDecided) {
			t.Errorf("twice: %v", err)
		}
		settle(2 * time.Second)
		if got := works(mail); !slices.Equal(got, []string{"discarded"}) {
			t.Errorf("it said %q", got)
		}
	})
}

// Of several replicas, and of several callers in one, one does what may be done alone; when it dies another may.
func TestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := schedtest.Open(t)
		one, two := start(t, st, nil, config{Agent: schedtest.Agent(schedtest.Done)}), start(t, st, nil, config{Agent: schedtest.Agent(schedtest.Done)})
		settle(time.Second)
		again := func() (one1, two1 error) {
			nothing := func(context.Context) error { return nil }
			return one.Alone(t.Context(), "merge/x", nothing), two.Alone(t.Context(), "merge/x", nothing)
		}
		failed := errors.New("it failed")
		err := one.Alone(t.Context(), "merge/x", func(context.Context) error {
			if a, b := again(); !errors.Is(a, core.ErrRefused) || !errors.Is(b, core.ErrRefused) {
				t.Errorf("at the same time: %v, %v", a, b)
			}
			must(t, two.Alone(t.Context(), "merge/y", func(context.Context) error { return nil }))
			return failed
		})
		if err != failed {
			t.Errorf("%v, want what do returned", err)
		}
		if a, b := again(); a != nil || b != nil {
			t.Errorf("afterwards: %v, %v", a, b)
		}
		ended := make(chan error)
		go func() {
			ended <- one.Alone(context.WithoutCancel(t.Context()), "merge/x", func(ctx context.Context) error {
				<-ctx.Done() // with the lease
				return ctx.Err()
			})
		}()
		settle(time.Second)
		one.Kill()
		settle(time.Minute)
		<-ended
		must(t, two.Alone(t.Context(), "merge/x", func(context.Context) error { return nil }))
	})
}

// A question is withdrawn as long as it is open: the prompt ends, and what it holds is free.
func TestWithdraw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, schedtest.Open(t), nil, config{Agent: schedtest.Agent(asking), Foresee: foreseeing})
		a := r.Submit(t, "", "out.txt")
		settle(time.Second)
		asked := waitsFor(t, r, a.Prompt.ID)
		b := r.Submit(t, "", "out.txt")
		settle(time.Second)
		if c := wantState(t, r, b.Prompt.ID, core.Blocked).Conflict; len(c.Owners) != 1 || !c.Owners[0].Asks {
			t.Errorf("conflict %+v", c)
		}
		if _, err := r.Withdraw(t.Context(), b.Prompt.ID, author); !errors.Is(err, core.ErrRefused) {
			t.Errorf("of one that asks nothing: %v", err)
		}
		_, err := r.Withdraw(t.Context(), a.Prompt.ID, author)
		must(t, err)
		_, err = r.Wait(t.Context(), b.Prompt.ID, author)
		must(t, err)
		settle(3 * time.Second)
		wantEnd(t, r, a.Prompt.ID, core.Cancelled)
		if got, err := r.Approval(t.Context(), asked.ID); err != nil || got.State != core.Withdrawn {
			t.Errorf("approval is %s, %v", got.State, err)
		}
		waitsFor(t, r, b.Prompt.ID) // it goes on
		if _, err := r.Withdraw(t.Context(), a.Prompt.ID, author); !errors.Is(err, core.ErrRefused) {
			t.Errorf("twice: %v", err)
		}
	})
}
