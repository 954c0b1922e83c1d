package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"paragents/core"
	"paragents/core/scheduler"
	"paragents/core/scheduler/schedtest"
	"paragents/store"
)

// step is one thing that happens: somebody wants something, a process dies, or the store goes away.
type step struct {
	Do    string
	At    int    // which replica, session, prompt or approval, modulo how many there are
	Text  string // what the agent does with the prompt
	After time.Duration
}

var steps = rapid.Custom(func(t *rapid.T) step {
	return step{
		Do: rapid.SampledFrom([]string{"open", "open", "submit", "submit", "submit", "twice", "cancel", "pause", "resume", "stop", "release", "close", "steer", "approve",
			"approve", "deny", "kill", "away", "lost", "frozen"}).Draw(t, "do"),
		At:    rapid.IntRange(0, 11).Draw(t, "at"),
		Text:  rapid.SampledFrom([]string{"done", "calls", "calls", "ask", "ask calls", "question", "slow", "fail"}).Draw(t, "text"),
		After: time.Duration(rapid.SampledFrom([]int{0, 0, 1, 60, 700, 3000, 9000}).Draw(t, "after")) * time.Millisecond,
	}
})

// world is everything that a schedule is played on, and what is known to have happened.
type world struct {
	t        *testing.T
	store    store.Store
	mail     *schedtest.Mail
	replicas []*replica
	desk     *replica // people's wishes arrive here
	sessions []core.SessionID
	prompts  []core.PromptID
	events   []string

	mu      sync.Mutex
	began   map[core.SessionID][]core.PromptID // in the order of their first run
	effects map[core.CallID]int
	faults  []string
}

func (w *world) fault(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// run is the agent: what it does is in the text of the prompt.
func (w *world) run(ctx context.Context, run *scheduler.Run) outcome {
	w.mu.Lock()
	known := false
	for _, p := range w.began[run.Session.ID] {
		known = known || p == run.Prompt.ID
	}
	if !known {
		w.began[run.Session.ID] = append(w.began[run.Session.ID], run.Prompt.ID)
	}
	w.mu.Unlock()
	if strings.Contains(run.Prompt.Text, "ask") {
		list, err := run.Approvals(ctx)
		if err != nil {
			return outcome{State: core.Queued}
		}
		if len(list) == 0 || list[0].State != core.Approved && list[0].State != core.Denied {
			return outcome{State: core.Waiting, Asks: []core.Approval{ask("make")}}
		}
	}
	if strings.Contains(run.Prompt.Text, "calls") {
		if err := w.calls(ctx, run); err != nil {
			return outcome{State: core.Queued}
		}
	}
	switch {
	case run.Prompt.Text == "fail":
		return outcome{State: core.Failed, Error: "it failed"}
	case run.Prompt.Text == "question" && run.Prompt.Extra == 0:
		return outcome{State: core.Waiting, Question: "go on?", Choices: []string{core.ChoiceContinue, core.ChoiceStop}}
	case run.Prompt.Text == "slow":
		asking, done := run.Asking(ctx)
		defer done()
		select {
		case <-asking.Done():
			return outcome{State: core.Queued}
		case <-time.After(8 * time.Second):
		}
	}
	return schedtest.Done(ctx, run)
}

// calls makes three calls with side effects, each once whatever happens, going on where the transcript ends.
func (w *world) calls(ctx context.Context, run *scheduler.Run) error {
	for i := range 3 {
		if err := run.Boundary(ctx); err != nil {
			return err
		}
		if _, err := run.Steered(ctx); err != nil {
			return err
		}
		id := core.CallID(fmt.Sprint(run.Prompt.ID, "/", i))
		records, err := run.Transcript(ctx)
		if err != nil {
			return err
		}
		begun, ended := false, false
		for _, r := range records {
			begun = begun || r.Kind == core.RecordIntent && r.Call == id
			ended = ended || r.Kind == core.RecordResult && r.Call == id
		}
		if ended {
			continue
		}
		result := core.Record{Kind: core.RecordResult, Prompt: run.Prompt.ID, Call: id, Ending: core.EndUnknown}
		if !begun {
			if err := run.Begin(ctx, core.Record{Kind: core.RecordIntent, Prompt: run.Prompt.ID, Call: id}, "", ""); err != nil {
				return err
			}
			w.mu.Lock()
			w.effects[id]++
			w.mu.Unlock()
			result.Ending = core.EndOK
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(700 * time.Millisecond):
			}
		}
		if err := run.Append(ctx, []core.Record{result}); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) start() *replica {
	r := start(w.t, w.store, w.mail, config{Agent: schedtest.Agent(w.run), MaxInFlight: 4, Grace: 3 * time.Second})
	w.replicas = append(w.replicas, r)
	return r
}

func pick[T any](list []T, i int) (out T, ok bool) {
	if len(list) == 0 {
		return out, false
	}
	return list[i%len(list)], true
}

// play does one step. What people are refused is no fault; what they get as an error of the machine is.
func (w *world) play(s step) {
	ctx := context.WithoutCancel(w.t.Context())
	session, _ := pick(w.sessions, s.At)
	prompt, _ := pick(w.prompts, s.At)
	r, _ := pick(w.replicas, s.At)
	var err error
	switch s.Do {
	case "open", "submit":
		sub := scheduler.Submission{Event: fmt.Sprint("e", len(w.events)), Author: author, Place: place, Text: s.Text, Session: session}
		if s.Do == "open" || session == "" {
			sub.New = &scheduler.NewSession{Workspace: "w"}
		}
		w.events = append(w.events, sub.Event)
		var out []scheduler.Accepted
		if out, err = w.desk.Accept(ctx, []scheduler.Submission{sub}, nil); err == nil && out[0].Err == nil {
			w.prompts = append(w.prompts, out[0].Prompt.ID)
			if sub.New != nil {
				w.sessions = append(w.sessions, out[0].Session.ID)
			}
		}
	case "twice":
		event, _ := pick(w.events, s.At)
		if event == "" {
			return
		}
		var out []scheduler.Accepted
		out, err = w.desk.Accept(ctx, []scheduler.Submission{{Event: event, Session: session, Author: author, Place: place, Text: "again"}}, nil)
		if err == nil && !out[0].Duplicate {
			w.fault("event %s was accepted twice", event)
		}
	case "cancel":
		_, err = w.desk.Cancel(ctx, prompt, boss)
	case "pause":
		_, err = w.desk.Pause(ctx, prompt, boss)
	case "resume":
		_, err = w.desk.Resume(ctx, prompt, boss)
	case "steer":
		_, err = w.desk.Steer(ctx, prompt, author, "done")
	case "stop":
		_, _, err = w.desk.Scheduler.Stop(ctx, session, boss)
	case "release":
		_, err = w.desk.Release(ctx, session, boss, s.At%2 == 0)
	case "close":
		if s.At%3 == 0 { // not too often
			_, err = w.desk.Close(ctx, session, boss)
		}
	case "approve", "deny":
		list, scan := w.desk.Waiting(ctx, 100)
		if a, ok := pick(list, s.At); ok {
			d := yes(boss)
			if s.Do == "deny" {
				d = no(boss)
			}
			_, err = w.desk.Decide(ctx, a.ID, d)
		}
		err = errors.Join(scan, err)
	case "kill":
		r.Store.Set(schedtest.Dead)
		w.start()
		for i, other := range w.replicas {
			if other == r {
				w.replicas = append(w.replicas[:i], w.replicas[i+1:]...)
				break
			}
		}
	case "away":
		r.Store.Set(schedtest.Away)
	case "lost":
		r.Store.Set(schedtest.Lost)
	case "frozen":
		r.Store.Set(schedtest.Frozen)
	}
	for _, fine := range []error{core.ErrRefused, core.ErrNotFound, core.ErrDecided} {
		if errors.Is(err, fine) {
			err = nil
		}
	}
	if err != nil {
		w.fault("%+v: %v", s, err)
	}
	settle(s.After)
	if r != nil && (s.Do == "away" || s.Do == "lost" || s.Do == "frozen") {
		if s.At%3 == 0 {
			settle(20 * time.Second) // beyond the lease
		}
		r.Store.Set(schedtest.None)
	}
}

// finish answers, resumes and releases until nothing is left to do.
func (w *world) finish() {
	ctx := context.WithoutCancel(w.t.Context())
	settle(time.Minute)
	w.told()
	for range 60 {
		settle(5 * time.Second)
		left := 0
		for _, id := range w.sessions {
			views, err := w.desk.Views(ctx, []core.SessionID{id})
			if err != nil || len(views) != 1 {
				w.fault("read session %s: %v", id, err)
				return
			}
			left += len(views[0].Session.Queue)
			if views[0].Session.Held {
				_, _ = w.desk.Release(ctx, id, boss, false)
			}
			for _, p := range views[0].Session.Queue {
				_, _ = w.desk.Resume(ctx, p, boss)
			}
		}
		list, err := w.desk.Waiting(ctx, 100)
		if err != nil {
			w.fault("waiting: %v", err)
		}
		for _, a := range list {
			_, _ = w.desk.Decide(ctx, a.ID, yes(boss))
		}
		if left == 0 {
			settle(20 * time.Second) // the last letters
			return
		}
	}
	w.fault("after five minutes there are still prompts that have not ended")
}

// Whatever people want, in whatever order, and whichever processes die or lose the store meanwhile: each accepted prompt ends in exactly one result, prompts of a session
// begin in order, no call runs twice, no approval is decided or used twice, people see what waits for them, and nothing is left held or unsent.
func TestEveryPromptEndsOnceWhateverHappens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		plan := rapid.SliceOfN(steps, 5, 40).Draw(rt, "plan")
		var faults []string
		synctest.Test(t, func(t *testing.T) {
			w := &world{t: t, store: schedtest.Open(t), mail: &schedtest.Mail{}, began: map[core.SessionID][]core.PromptID{}, effects: map[core.CallID]int{}}
			w.desk = newReplica(t, w.store, w.mail, config{})
			w.start()
			w.start()
			for _, s := range plan {
				w.play(s)
			}
			w.finish()
			w.check()
			faults = w.faults
		})
		if len(faults) > 0 {
			rt.Fatal(strings.Join(faults, "\n"))
		}
	})
}
