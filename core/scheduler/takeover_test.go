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

// A replica whose store is frozen beyond the lease: another one goes on, and the first starts nothing, says nothing and writes nothing when it wakes.
func TestB079WhoLostTheLeaseWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, mail := schedtest.Open(t), &schedtest.Mail{}
		var mu sync.Mutex
		var late []error
		frozen, lost := make(chan struct{}), make(chan struct{})
		old := start(t, st, mail, config{Lost: func() { close(lost) }, Agent: schedtest.Agent(func(ctx context.Context, run *scheduler.Run) outcome {
			close(frozen)
			<-lost
			settle := []error{
				run.Boundary(context.WithoutCancel(ctx)),
				run.Append(context.WithoutCancel(ctx), []core.Record{{Kind: core.RecordAssistant, Text: "late"}}),
				run.Begin(context.WithoutCancel(ctx), core.Record{Kind: core.RecordIntent, Call: "c"}, "", ""),
			}
			mu.Lock()
			late = settle
			mu.Unlock()
			return outcome{State: core.Done, Answer: "late"}
		})})
		p := old.Submit(t, "", "text")
		<-frozen
		was := old.ID()
		old.Store.Set(schedtest.Frozen)
		next := start(t, st, mail, config{Agent: schedtest.Agent(schedtest.Done)})
		settle(40 * time.Second)
		old.Store.Set(schedtest.None)
		settle(10 * time.Second)
		wantEnd(t, next, p.Prompt.ID, core.Done)
		mu.Lock()
		defer mu.Unlock()
		for i, err := range late {
			if err == nil {
				t.Errorf("what it did late (%d) was let through", i)
			}
		}
		if len(late) == 0 || old.ID() == was {
			t.Errorf("%d late tries, id %s after %s", len(late), old.ID(), was)
		}
		for _, l := range mail.All() {
			if l.Event.Text == "late" {
				t.Error("it sent what it said late")
			}
		}
		records, err := next.Transcript(t.Context(), p.Session.ID)
		must(t, err)
		if len(records) != 2 || records[1].Text != "text" {
			t.Errorf("transcript %+v", records)
		}
	})
}

// The token counts, not the clock: a claim that was taken away refuses every write of its old holder, even when that believes to be alive.
func TestFenceRefusesTheOldHolder(t *testing.T) {
	late := map[string]func(context.Context, *scheduler.Run) error{
		"record": func(ctx context.Context, run *scheduler.Run) error {
			return run.Append(ctx, []core.Record{{Kind: core.RecordAssistant}})
		},
		"intent": func(ctx context.Context, run *scheduler.Run) error {
			return run.Begin(ctx, core.Record{Kind: core.RecordIntent, Prompt: run.Prompt.ID, Call: "c"}, "", "")
		},
		"nothing but the outcome": func(context.Context, *scheduler.Run) error { return store.ErrFenced },
	}
	for name, write := range late {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := schedtest.Open(t)
				first := true
				r := start(t, st, nil, config{Agent: schedtest.Agent(func(ctx context.Context, run *scheduler.Run) outcome {
					if !first {
						return schedtest.Done(ctx, run)
					}
					first = false
					if _, err := st.Commit(ctx, store.Batch{Delete: []store.Key{state.ClaimKey(run.Session.ID)}}); err != nil {
						t.Error(err)
					}
					if err := write(ctx, run); err == nil {
						t.Error("it was let through")
					}
					return outcome{State: core.Done, Answer: "fenced"}
				})})
				p := r.Submit(t, "", "text")
				settle(20 * time.Second)
				wantEnd(t, r, p.Prompt.ID, core.Done) // the session is found without a claim, and gone on with
				if answers := r.Mail.Of(p.Prompt.ID, core.EventAnswer); len(answers) != 1 || answers[0].Event.Text != "text" {
					t.Errorf("answers %+v", answers)
				}
			})
		})
	}
}

func TestTakeoverGoesOnWithWhatADeadReplicaLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var work ran
		st, mail := schedtest.Open(t), &schedtest.Mail{}
		dead := start(t, st, mail, config{Agent: work.working(time.Hour)})
		a := dead.Submit(t, "", "a1")
		b := dead.Submit(t, a.Session.ID, "a2")
		settle(time.Second)
		began := time.Now()
		dead.Store.Set(schedtest.Dead)
		next := start(t, st, mail, config{Agent: work.working(time.Second)})
		settle(14 * time.Second)
		if n := len(work.list()); n != 1 {
			t.Fatalf("%d runs before the lease was over", n)
		}
		settle(15 * time.Second)
		wantEnd(t, next, a.Prompt.ID, core.Done)
		wantEnd(t, next, b.Prompt.ID, core.Done)
		if got := work.list(); !slices.Equal(got, []string{"a1", "a1", "a2"}) {
			t.Errorf("ran %v, %s after the death", got, time.Since(began))
		}
	})
}

// A prompt that kills its replicas ends after three takeovers without progress, and from the second on it has the replica for itself.
func TestPoisonEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, mail := schedtest.Open(t), &schedtest.Mail{}
		died := make(chan struct{}, 10)
		var beside []int // other runs when the poison began
		var mu sync.Mutex
		others, alone := 0, false
		agent := schedtest.Agent(func(ctx context.Context, run *scheduler.Run) outcome {
			mu.Lock()
			if run.Prompt.Text == "poison" {
				beside = append(beside, others)
				alone = run.Prompt.Takeovers >= 2
				mu.Unlock()
				died <- struct{}{}
				<-ctx.Done()
				mu.Lock()
				alone = false
				mu.Unlock()
				return outcome{State: core.Queued}
			}
			others++
			if alone {
				t.Error("a run began beside it")
			}
			mu.Unlock()
			defer func() { mu.Lock(); others--; mu.Unlock() }()
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Second):
			}
			return schedtest.Done(ctx, run)
		})
		desk := newReplica(t, st, mail, config{})
		p := desk.Submit(t, "", "poison")
		for range 3 {
			r := start(t, st, mail, config{Agent: agent})
			for i := range 3 {
				desk.Submit(t, "", fmt.Sprint("other ", i))
			}
			<-died
			r.Kill()
		}
		last := start(t, st, mail, config{Agent: agent})
		settle(2 * time.Minute)
		e := wantEnd(t, last, p.Prompt.ID, core.Failed)
		if !strings.Contains(e.Error, "3 replicas") {
			t.Errorf("error %q", e.Error)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(beside) != 3 || beside[2] != 0 {
			t.Errorf("runs beside it: %v; from the second takeover on there must be none", beside)
		}
	})
}

// A replica that is never without work runs it all the same, a little later: what was accepted must not wait for ever.
func TestPoisonDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, mail := schedtest.Open(t), &schedtest.Mail{}
		var work ran
		desk := newReplica(t, st, mail, config{})
		p := desk.Submit(t, "", "suspect")
		first := start(t, st, mail, config{Agent: work.working(time.Hour)})
		settle(time.Second)
		first.Kill()
		second := start(t, st, mail, config{Agent: work.working(time.Hour), MaxInFlight: 1})
		settle(time.Minute)
		busy := start(t, st, mail, config{Agent: work.working(time.Hour)})
		desk.Submit(t, "", "long")
		settle(time.Second)
		second.Kill()
		settle(4 * time.Minute)
		if got := busy.Read(t, p.Prompt.ID); got.Takeovers != 2 || got.State != core.Queued {
			t.Fatalf("%s after %d takeovers, beside %v", got.State, got.Takeovers, work.list())
		}
		settle(2 * time.Minute)
		wantState(t, busy, p.Prompt.ID, core.Running)
	})
}

// A prompt that gets further each time is not poison, however often its replicas die.
func TestProgressForgivesTakeovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, mail := schedtest.Open(t), &schedtest.Mail{}
		step := make(chan struct{}, 10)
		agent := schedtest.Agent(func(ctx context.Context, run *scheduler.Run) outcome {
			if err := run.Append(ctx, []core.Record{{Kind: core.RecordAssistant, Prompt: run.Prompt.ID, Text: "step"}}); err != nil {
				return outcome{State: core.Queued}
			}
			step <- struct{}{}
			<-ctx.Done()
			return outcome{State: core.Queued}
		})
		desk := newReplica(t, st, mail, config{})
		p := desk.Submit(t, "", "long")
		for range 5 {
			r := start(t, st, mail, config{Agent: agent})
			<-step
			r.Kill()
		}
		last := start(t, st, mail, config{Agent: schedtest.Agent(schedtest.Done)})
		settle(time.Minute)
		wantEnd(t, last, p.Prompt.ID, core.Done)
	})
}

// B046: neither runs that fail at once nor dead replicas cost a slot.
func TestB046SlotsComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, mail := schedtest.Open(t), &schedtest.Mail{}
		fail := schedtest.Agent(func(context.Context, *scheduler.Run) outcome { return outcome{State: core.Failed, Error: "set-up"} })
		first := start(t, st, mail, config{Agent: fail, MaxInFlight: 3})
		for range 3 {
			p := first.Submit(t, "", "fails")
			settle(time.Second)
			wantEnd(t, first, p.Prompt.ID, core.Failed)
		}
		must(t, first.Stop())
		var work ran
		dead := start(t, st, mail, config{Agent: work.working(time.Hour), MaxInFlight: 3})
		var stranded []scheduler.Accepted
		for range 3 {
			stranded = append(stranded, dead.Submit(t, "", "stranded"))
		}
		settle(time.Second)
		dead.Kill()
		var next ran
		alive := start(t, st, mail, config{Agent: next.working(time.Second), MaxInFlight: 3})
		settle(20 * time.Second)
		for _, p := range stranded {
			wantEnd(t, alive, p.Prompt.ID, core.Done)
		}
		began := time.Now()
		for range 3 {
			alive.Submit(t, "", "new")
		}
		settle(1100 * time.Millisecond)
		if n := len(next.list()); n != 6 {
			t.Errorf("%d prompts ran, %s after three were accepted", n, time.Since(began))
		}
		page, err := st.Scan(t.Context(), state.Running, store.Range{})
		must(t, err)
		if len(page.Entries) != 0 {
			t.Errorf("%d sessions are still held", len(page.Entries))
		}
	})
}

// A claim whose answer was lost is nobody's work: it is found and gone on with, though its replica lives.
func TestClaimWithoutAnAnswerIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var work ran
		st := schedtest.Open(t)
		r := start(t, st, nil, config{Agent: work.working(time.Second)})
		settle(time.Second)
		desk := newReplica(t, st, nil, config{})
		r.Store.Set(schedtest.Lost)
		p := desk.Submit(t, "", "text")
		settle(2 * time.Second)
		if c, _, err := state.Get[state.Claim](t.Context(), st, state.ClaimKey(p.Session.ID)); err != nil || !c.Exists() {
			t.Fatalf("the claim did not arrive: %v", err)
		}
		r.Store.Set(schedtest.None)
		settle(10 * time.Second)
		wantEnd(t, r, p.Prompt.ID, core.Done)
	})
}
