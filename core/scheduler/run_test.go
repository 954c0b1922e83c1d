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
	"paragents/store"
)

func TestPromptsOfASessionRunInOrderAndSessionsInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var work ran
		st, mail := schedtest.Open(t), &schedtest.Mail{}
		a := start(t, st, mail, config{Agent: work.working(10 * time.Second)})
		start(t, st, mail, config{Agent: work.working(10 * time.Second)})
		var all []scheduler.Accepted
		for s := range 4 {
			first := a.Submit(t, "", fmt.Sprint(s, ".0"))
			all = append(all, first)
			for i := 1; i < 4; i++ {
				all = append(all, a.Submit(t, first.Session.ID, fmt.Sprint(s, ".", i)))
			}
		}
		settle(45 * time.Second) // four rounds of ten seconds: in parallel
		for _, p := range all {
			wantEnd(t, a, p.Prompt.ID, core.Done)
		}
		for s := range 4 {
			mine := slices.DeleteFunc(work.list(), func(text string) bool { return text[0] != byte('0'+s) })
			if want := []string{fmt.Sprint(s, ".0"), fmt.Sprint(s, ".1"), fmt.Sprint(s, ".2"), fmt.Sprint(s, ".3")}; !slices.Equal(mine, want) {
				t.Errorf("session %d ran %v", s, mine)
			}
		}
		if work.most != 1 {
			t.Errorf("%d runs of one session at a time", work.most)
		}
		records, err := a.Transcript(t.Context(), all[0].Session.ID)
		must(t, err)
		var texts []string
		for _, r := range records {
			texts = append(texts, string(r.Kind)+" "+r.Text)
		}
		want := []string{"user 0.0", "assistant 0.0", "user 0.1", "assistant 0.1", "user 0.2", "assistant 0.2", "user 0.3", "assistant 0.3"}
		if !slices.Equal(texts, want) {
			t.Errorf("transcript %q", texts)
		}
	})
}

// With one slot, a session with many prompts does not keep others out: each goes to the tail after every prompt.
func TestOneSlotGoesRoundTheChats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var work ran
		r := start(t, schedtest.Open(t), nil, config{Agent: work.working(time.Second), MaxInFlight: 1})
		settle(time.Second)
		busy := r.Submit(t, "", "a1")
		for i := 2; i < 6; i++ {
			r.Submit(t, busy.Session.ID, fmt.Sprint("a", i))
		}
		settle(100 * time.Millisecond)
		r.Submit(t, "", "b1")
		settle(100 * time.Millisecond)
		c := r.Submit(t, "", "c1")
		r.Submit(t, c.Session.ID, "c2")
		settle(20 * time.Second)
		if got, want := work.list(), []string{"a1", "b1", "c1", "a2", "c2", "a3", "a4", "a5"}; !slices.Equal(got, want) {
			t.Errorf("ran %v, want %v", got, want)
		}
	})
}

// Two replicas claim the same session at the same moment, though there is nothing in it to run: one gets it.
func TestTwoClaimsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := schedtest.Open(t)
		desk := newReplica(t, st, nil, config{})
		p := desk.Submit(t, "", "text")
		_, err := desk.Pause(t.Context(), p.Prompt.ID, boss)
		must(t, err)
		var mu sync.Mutex
		tried := 0
		slow := &slowCourier{}
		for range 2 {
			r := newReplica(t, st, nil, config{Agent: schedtest.Agent(schedtest.Done), Courier: slow})
			r.Store.Before = func(b store.Batch) error {
				if slices.ContainsFunc(b.Put, func(p store.Put) bool { return strings.HasPrefix(string(p.Key), "claim/") }) {
					mu.Lock()
					tried++
					mu.Unlock()
					time.Sleep(time.Millisecond) // until the other wants it too
				}
				return nil
			}
			schedtest.Run(t, r)
		}
		settle(5 * time.Second)
		if slow.most != 1 || tried < 2 {
			t.Errorf("%d holders at the same time, of %d who tried", slow.most, tried)
		}
	})
}

// slowCourier takes its time, and counts how many are at it.
type slowCourier struct {
	mu        sync.Mutex
	now, most int
}

func (c *slowCourier) Drain(context.Context, core.SessionID, store.Fence, func() bool) (func(*state.Batch), time.Duration, error) {
	c.mu.Lock()
	c.now++
	c.most = max(c.most, c.now)
	c.mu.Unlock()
	time.Sleep(time.Second)
	c.mu.Lock()
	c.now--
	c.mu.Unlock()
	return nil, 0, nil
}

// A decision that falls between the last look at a session and giving it back is not put off until its letters can be sent.
func TestDecisionWhileTheSessionIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := schedtest.Open(t)
		desk := newReplica(t, st, nil, config{})
		r := newReplica(t, st, nil, config{Agent: schedtest.Agent(asking), Courier: resting{}})
		decided := false
		r.Store.Before = func(b store.Batch) error {
			list, err := desk.Waiting(t.Context(), 1)
			if err != nil {
				return err
			}
			if gives := slices.ContainsFunc(b.Delete, func(k store.Key) bool { return strings.HasPrefix(string(k), "claim/") }); gives && !decided && len(list) == 1 {
				decided = true
				_, err = desk.Decide(t.Context(), list[0].ID, yes(author))
			}
			return err
		}
		schedtest.Run(t, r)
		settle(time.Second)
		p := desk.Submit(t, "", "text")
		settle(5 * time.Second)
		if wantState(t, desk, p.Prompt.ID, core.Done); !decided {
			t.Error("nothing was decided meanwhile")
		}
	})
}

// resting is a courier whose place must not be sent to for an hour.
type resting struct{}

func (resting) Drain(context.Context, core.SessionID, store.Fence, func() bool) (func(*state.Batch), time.Duration, error) {
	return nil, time.Hour, nil
}

// At shutdown a run ends at its next boundary, another replica goes on at once, and nothing is told as an error.
func TestShutdownParks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var work ran
		st, mail := schedtest.Open(t), &schedtest.Mail{}
		old := start(t, st, mail, config{Agent: work.working(100 * time.Second)})
		p := old.Submit(t, "", "long")
		settle(time.Second)
		began := time.Now()
		must(t, old.Stop())
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("parking at a boundary took %s", took)
		}
		wantState(t, old, p.Prompt.ID, core.Queued)
		next := start(t, st, mail, config{Agent: work.working(time.Second)})
		settle(3 * time.Second)
		wantEnd(t, next, p.Prompt.ID, core.Done)
		if got := next.Read(t, p.Prompt.ID); got.Takeovers != 0 {
			t.Errorf("%d takeovers", got.Takeovers)
		}
	})
}

// What does not come to a boundary within the grace is ended, and queued again.
func TestShutdownEndsWhatDoesNotPark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := schedtest.Agent(func(ctx context.Context, run *scheduler.Run) outcome {
			<-ctx.Done()
			return outcome{State: core.Queued, Records: []core.Record{{Kind: core.RecordResult, Prompt: run.Prompt.ID, Text: "what was done"}}}
		})
		r := start(t, schedtest.Open(t), nil, config{Agent: deaf, Grace: 7 * time.Second})
		p := r.Submit(t, "", "long")
		settle(time.Second)
		began := time.Now()
		must(t, r.Stop())
		if took := time.Since(began); took < 7*time.Second || took > 8*time.Second {
			t.Errorf("it took %s", took)
		}
		wantState(t, r, p.Prompt.ID, core.Queued)
		records, err := r.Transcript(t.Context(), p.Session.ID)
		must(t, err)
		if len(records) != 2 || records[1].Text != "what was done" {
			t.Errorf("transcript %+v", records)
		}
	})
}

// The end of a run is written down when the store comes back within the lease, and people hear of it then.
func TestSettleWaitsForTheStore(t *testing.T) {
	for name, trouble := range map[string]schedtest.Trouble{"away": schedtest.Away, "answers lost": schedtest.Lost} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runs := 0
				var r *replica
				r = start(t, schedtest.Open(t), nil, config{Agent: schedtest.Agent(func(ctx context.Context, run *scheduler.Run) outcome {
					runs++
					r.Store.Set(trouble)
					return schedtest.Done(ctx, run)
				})})
				p := r.Submit(t, "", "text")
				settle(5 * time.Second)
				r.Store.Set(schedtest.None)
				settle(5 * time.Second)
				wantEnd(t, r, p.Prompt.ID, core.Done)
				if answers := r.Mail.Of(p.Prompt.ID, core.EventAnswer); len(answers) != 1 || runs != 1 {
					t.Errorf("%d answers of %d runs", len(answers), runs)
				}
			})
		})
	}
}

// What is too large for the store ends the prompt instead of keeping its session for ever.
func TestOutcomeTooLargeFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, schedtest.Open(t), nil, config{Agent: schedtest.Agent(func(_ context.Context, run *scheduler.Run) outcome {
			return outcome{State: core.Done, Answer: strings.Repeat("x", 2<<20)}
		})})
		p := r.Submit(t, "", "text")
		settle(time.Second)
		if e := wantEnd(t, r, p.Prompt.ID, core.Failed); !strings.Contains(e.Error, "too large") {
			t.Errorf("error %q", e.Error)
		}
	})
}

// An agent that comes back with nothing ends its prompt too.
func TestOutcomeWithoutAStateFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, schedtest.Open(t), nil, config{Agent: schedtest.Agent(func(context.Context, *scheduler.Run) outcome { return outcome{} })})
		p := r.Submit(t, "", "text")
		settle(time.Second)
		wantEnd(t, r, p.Prompt.ID, core.Failed)
	})
}

// A document of a newer version is left alone, and costs the others nothing.
func TestB081NewerDocumentsAreLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := schedtest.Open(t)
		desk := newReplica(t, st, nil, config{})
		newer, other := desk.Submit(t, "", "newer"), desk.Submit(t, "", "other")
		raw := []byte(`{"schema_version":99,"of":"tomorrow"}`)
		_, err := st.Commit(t.Context(), store.Batch{Put: []store.Put{{Key: state.PromptKey(newer.Prompt.ID), Value: raw}}})
		must(t, err)
		r := start(t, st, desk.Mail, config{Agent: schedtest.Agent(schedtest.Done)})
		settle(20 * time.Second)
		wantEnd(t, r, other.Prompt.ID, core.Done)
		snap, err := st.Get(t.Context(), state.PromptKey(newer.Prompt.ID))
		must(t, err)
		if string(snap.Docs[0].Value) != string(raw) {
			t.Errorf("it was changed to %s", snap.Docs[0].Value)
		}
		if views, err := r.List(t.Context(), state.Sessions, 10, true); err != nil || len(views) != 2 {
			t.Errorf("%d sessions are listed, %v", len(views), err)
		}
	})
}

// What could not be sent within the time that a run has for it, or when the replica was told to stop, is not forgotten: the session stays ready.
func TestLettersWhoseTimeWasOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := schedtest.Open(t)
		stuck := stuckCourier{}
		r := start(t, st, nil, config{Agent: schedtest.Agent(asking), Courier: &stuck})
		settle(time.Second)
		p := r.Submit(t, "", "text")
		settle(time.Minute)
		if stuck.calls < 2 {
			t.Fatalf("the letters were tried %d times", stuck.calls)
		}
		wantState(t, r, p.Prompt.ID, core.Waiting)
		must(t, r.Stop())
		page, err := st.Scan(t.Context(), state.Ready, store.Range{})
		must(t, err)
		if len(page.Entries) != 1 {
			t.Errorf("after the stop %d sessions are ready; its letters wait", len(page.Entries))
		}
	})
}

// stuckCourier hangs until its time is over.
type stuckCourier struct {
	calls int
}

func (c *stuckCourier) Drain(ctx context.Context, _ core.SessionID, _ store.Fence, _ func() bool) (func(*state.Batch), time.Duration, error) {
	c.calls++
	<-ctx.Done()
	return nil, 0, ctx.Err()
}
