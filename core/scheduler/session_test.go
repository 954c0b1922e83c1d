package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"paragents/core"
	"paragents/core/scheduler"
	"paragents/core/scheduler/schedtest"
	"paragents/core/state"
	"paragents/store"
)

func TestHeldQueueIsRunOrDropped(t *testing.T) {
	for _, drop := range []bool{false, true} {
		t.Run(fmt.Sprintf("drop %v", drop), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var work ran
				r := start(t, schedtest.Open(t), nil, config{Agent: work.modelling(10 * time.Second)})
				first := r.Submit(t, "", "1")
				second, third := r.Submit(t, first.Session.ID, "2"), r.Submit(t, first.Session.ID, "3")
				settle(time.Second)
				_, held, err := r.Scheduler.Stop(t.Context(), first.Session.ID, boss)
				must(t, err)
				settle(time.Minute)
				if held != 2 || len(work.list()) != 1 {
					t.Fatalf("%d held, ran %v", held, work.list())
				}
				late := r.Submit(t, first.Session.ID, "4")
				n, err := r.Release(t.Context(), first.Session.ID, boss, drop)
				must(t, err)
				settle(time.Minute)
				if n != 3 {
					t.Errorf("%d released", n)
				}
				want := core.Done
				if drop {
					want = core.Cancelled
				}
				for _, p := range []scheduler.Accepted{second, third, late} {
					wantEnd(t, r, p.Prompt.ID, want)
				}
				after := r.Submit(t, first.Session.ID, "5")
				settle(time.Minute)
				wantEnd(t, r, after.Prompt.ID, core.Done)
			})
		})
	}
}

func TestCloseEndsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var work ran
		st := schedtest.Open(t)
		r := start(t, st, nil, config{Agent: work.modelling(time.Hour)})
		first := r.Submit(t, "", "1")
		second := r.Submit(t, first.Session.ID, "2")
		settle(time.Second)
		_, err := r.Steer(t.Context(), first.Prompt.ID, boss, "unread")
		must(t, err)
		_, err = r.Close(t.Context(), first.Session.ID, boss)
		must(t, err)
		settle(time.Minute)
		wantEnd(t, r, first.Prompt.ID, core.Cancelled)
		wantEnd(t, r, second.Prompt.ID, core.Cancelled)
		if q := queue(t, r, first.Session.ID); len(q) != 0 {
			t.Errorf("a closed session has %d prompts", len(q))
		}
		if n := len(work.list()); n != 1 {
			t.Errorf("%d runs", n)
		}
		_, err = r.Close(t.Context(), first.Session.ID, boss)
		wantErr(t, err, core.ErrRefused)

		// After its time it is gone with all that belongs to it.
		must(t, r.Stop())
		_, err = st.Commit(t.Context(), store.Batch{Insert: []store.Insert{{Index: state.GC, Member: string(first.Session.ID), FromNow: true}}})
		must(t, err)
		start(t, st, nil, config{Agent: schedtest.Agent(schedtest.Done)})
		settle(time.Second)
		for _, key := range []store.Key{state.SessionKey(first.Session.ID), state.PromptKey(first.Prompt.ID), state.PromptKey(second.Prompt.ID),
			state.RefKey(first.Session.Ref), state.RefKey(second.Prompt.Ref), state.SizeKey(first.Session.ID), state.BindKey(place)} {
			snap, err := st.Get(t.Context(), key)
			must(t, err)
			if snap.Docs[0].Version != 0 {
				t.Errorf("%s is left", key)
			}
		}
		for _, log := range []store.Log{state.Transcript(first.Session.ID), state.Lane(first.Session.ID)} {
			if left, err := st.Read(t.Context(), log, 0, 0); err != nil || len(left) != 0 {
				t.Errorf("%d records of %s are left, %v", len(left), log, err)
			}
		}
		for _, index := range []store.Index{state.Sessions, state.GC, state.Belongs(first.Session.ID), state.ByPerson(author), state.ByPlace(place), state.Ready} {
			if page, err := st.Scan(t.Context(), index, store.Range{}); err != nil || len(page.Entries) != 0 {
				t.Errorf("index %s holds %v, %v", index, page.Entries, err)
			}
		}
	})
}

// A message for a running prompt is read at its next turn, by one run once; one that comes too late is a prompt of its own that runs next.
func TestSteerIsNeverLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var read []string
		agent := schedtest.Agent(func(ctx context.Context, run *scheduler.Run) outcome {
			for range 3 {
				list, err := run.Steered(ctx)
				if err != nil {
					return outcome{State: core.Queued}
				}
				for _, rec := range list {
					read = append(read, rec.Text)
				}
				time.Sleep(time.Second)
			}
			return schedtest.Done(ctx, run)
		})
		st, mail := schedtest.Open(t), &schedtest.Mail{}
		r := start(t, st, mail, config{Agent: agent})
		other := newReplica(t, st, mail, config{})
		settle(time.Second)
		p := r.Submit(t, "", "first")
		behind := r.Submit(t, p.Session.ID, "behind")
		settle(500 * time.Millisecond)
		for _, text := range []string{"a", "b"} {
			_, err := other.Steer(t.Context(), p.Prompt.ID, author, text)
			must(t, err)
		}
		settle(2 * time.Second) // the last turn has begun
		_, err := other.Steer(t.Context(), p.Prompt.ID, author, "too late")
		must(t, err)
		settle(10 * time.Second)
		wantEnd(t, r, p.Prompt.ID, core.Done)
		wantEnd(t, r, behind.Prompt.ID, core.Done)
		if !slices.Equal(read, []string{"a", "b"}) {
			t.Errorf("read %v", read)
		}
		records, err := r.Transcript(t.Context(), p.Session.ID)
		must(t, err)
		var people []string
		for _, rec := range records {
			if rec.Kind == core.RecordUser {
				people = append(people, rec.Text)
			}
		}
		if want := []string{"first", "a", "b", "too late", "behind"}; !slices.Equal(people, want) {
			t.Errorf("people said %v, want %v", people, want)
		}
		ended, err := schedtest.Ended(t.Context(), st)
		must(t, err)
		if len(ended) != 3 {
			t.Errorf("ended: %v", ended)
		}
	})
}

// What was said to a prompt that a person stops goes with it, and the result says so.
func TestSteerOfAStoppedPromptIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var work ran
		r := start(t, schedtest.Open(t), nil, config{Agent: work.modelling(time.Hour)})
		p := r.Submit(t, "", "first")
		settle(time.Second)
		_, err := r.Steer(t.Context(), p.Prompt.ID, author, "unread")
		must(t, err)
		_, _, err = r.Scheduler.Stop(t.Context(), p.Session.ID, boss)
		must(t, err)
		settle(time.Minute)
		if e := wantEnd(t, r, p.Prompt.ID, core.Cancelled); e.Error != "stopped by boss; it had not read the last 1 messages for it" {
			t.Errorf("error %q", e.Error)
		}
		if n := len(work.list()); n != 1 {
			t.Errorf("%d runs", n)
		}
	})
}

// A question at a limit: continue raises it, try again does not, and where nobody can be asked the prompt fails.
func TestQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, mail := schedtest.Open(t), &schedtest.Mail{}
		choices := map[string][]string{"limit": {core.ChoiceContinue, core.ChoiceStop}, "account": {core.ChoiceTryAgain, core.ChoiceStop}}
		asked := map[core.PromptID]int{}
		r := start(t, st, mail, config{Agent: schedtest.Agent(func(ctx context.Context, run *scheduler.Run) outcome {
			if asked[run.Prompt.ID]++; asked[run.Prompt.ID] > 1 {
				return schedtest.Done(ctx, run)
			}
			return outcome{State: core.Waiting, Question: "go on?", Choices: choices[run.Prompt.Text]}
		})})
		for text, extra := range map[string]int{"limit": 1, "account": 0} {
			p := r.Submit(t, "", text)
			settle(time.Second)
			wantState(t, r, p.Prompt.ID, core.Waiting)
			if q := mail.Of(p.Prompt.ID, core.EventQuestion); len(q) != 1 || !slices.Equal(q[0].Event.Choices, choices[text]) || !q[0].Loud {
				t.Errorf("%s: questions %+v", text, q)
			}
			_, err := r.Resume(t.Context(), p.Prompt.ID, author)
			must(t, err)
			settle(time.Second)
			wantEnd(t, r, p.Prompt.ID, core.Done)
			if got := r.Read(t, p.Prompt.ID); got.Extra != extra || got.Question != "" {
				t.Errorf("%s: extra %d, question %q", text, got.Extra, got.Question)
			}
		}
		out := accept(t, r, scheduler.Submission{New: &scheduler.NewSession{Workspace: "w"}, Author: author, Place: place, Text: "limit", Unattended: true})
		settle(time.Second)
		wantEnd(t, r, out[0].Prompt.ID, core.Failed)
	})
}
