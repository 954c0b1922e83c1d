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
		if c, _, err := state.Get[scheduler.Claim](t.Context(), st, state.ClaimKey(p.Session.ID)); err != nil || !c.Exists() {
			t.Fatalf("the claim did not arrive: %v", err)
		}
		r.Store.Set(schedtest.None)
		settle(10 * time.Second)
		wantEnd(t, r, p.Prompt.ID, core.Done)
	})
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
