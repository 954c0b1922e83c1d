package scheduler_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"paragents/core"
	"paragents/core/scheduler"
	"paragents/core/scheduler/schedtest"
	"paragents/core/state"
	"paragents/store"
)

// An approval that nobody answers: a reminder after an hour and one the next morning, then a question, and nobody is said to have denied.
func TestReminderAndExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		two := schedtest.Agent(func(ctx context.Context, run *scheduler.Run) outcome {
			if list, err := run.Approvals(ctx); err != nil || len(list) > 0 && list[0].State == core.Approved {
				return outcome{State: core.Done}
			}
			return outcome{State: core.Waiting, Asks: []core.Approval{ask("a"), ask("b")}}
		})
		st, mail := schedtest.Open(t), &schedtest.Mail{}
		r := newReplica(t, st, mail, config{})
		p := r.Submit(t, "", "text")
		began := time.Now()
		// at lets two replicas look for a while: of what is due each thing is done by one.
		at := func(when time.Duration) {
			t.Helper()
			settle(when - time.Since(began))
			cfg := config{Agent: two, Expire: 30 * time.Hour}
			a, b := newReplica(t, st, mail, cfg), newReplica(t, st, mail, cfg)
			for _, r := range []*replica{a, b} {
				r.Store.Before = func(b store.Batch) error {
					if slices.ContainsFunc(b.Put, func(p store.Put) bool { return strings.HasPrefix(string(p.Key), "approval/") }) {
						time.Sleep(time.Millisecond) // until the other has read the same
					}
					return nil
				}
				schedtest.Run(t, r)
			}
			settle(10 * time.Second)
			must(t, errors.Join(a.Stop(), b.Stop()))
		}
		at(0)
		ids := r.Read(t, p.Prompt.ID).Pending
		for _, look := range []struct {
			when time.Duration
			want int // reminders so far: each is for two approvals
		}{{59 * time.Minute, 0}, {time.Hour - 5*time.Second, 2}, {18 * time.Hour, 2}, {19*time.Hour - 5*time.Second, 4}, {29 * time.Hour, 4}} {
			at(look.when)
			if n := len(mail.Of(p.Prompt.ID, core.EventReminder)); n != look.want {
				t.Errorf("%d reminders after %s, want %d", n, look.when, look.want)
			}
		}
		at(31 * time.Hour)
		wantState(t, r, p.Prompt.ID, core.Waiting)
		for _, id := range ids {
			if a, err := r.Approval(t.Context(), id); err != nil || a.State != core.Expired || a.By != "" {
				t.Errorf("the approval is %s by %q, %v", a.State, a.By, err)
			}
		}
		if q := mail.Of(p.Prompt.ID, core.EventQuestion); len(q) != 1 || !slices.Equal(q[0].Event.Choices, []string{core.ChoiceAgain, core.ChoiceClose}) {
			t.Errorf("questions %+v", q)
		}
		_, err := r.Decide(t.Context(), ids[0], yes(author))
		wantErr(t, err, core.ErrDecided)
		_, err = r.Resume(t.Context(), p.Prompt.ID, author) // ask again
		must(t, err)
		at(32 * time.Hour)
		got := r.Read(t, p.Prompt.ID)
		if got.State != core.Waiting || len(got.Pending) != 2 || got.Pending[0] == ids[0] || got.Extra != 0 {
			t.Errorf("asked again: %+v", got)
		}
	})
}

// Resuming a prompt one of whose questions is still open takes that back, so that no answer to it counts any more.
func TestAskAgainWithdrawsTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, schedtest.Open(t), nil, config{Agent: schedtest.Agent(asking)})
		p := r.Submit(t, "", "text")
		settle(time.Second)
		a := waitsFor(t, r, p.Prompt.ID)
		doc, _, err := state.Get[core.Prompt](t.Context(), r.Store, state.PromptKey(p.Prompt.ID))
		must(t, err)
		doc.Value.Question = "nobody answered another"
		b := &state.Batch{}
		b.Update(state.PromptKey(p.Prompt.ID), doc.Version, doc.Value)
		_, err = b.Commit(t.Context(), r.Store)
		must(t, err)
		_, err = r.Resume(t.Context(), p.Prompt.ID, author)
		must(t, err)
		settle(time.Second)
		if got := waitsFor(t, r, p.Prompt.ID); got.ID == a.ID {
			t.Error("it waits for the old question")
		}
		_, err = r.Decide(t.Context(), a.ID, yes(author))
		wantErr(t, err, core.ErrDecided)
	})
}
