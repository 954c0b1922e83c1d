package scheduler_test

import (
	"context"
	"errors"
	"flag"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"paragents/core"
	"paragents/core/scheduler"
	"paragents/core/scheduler/schedtest"
)

func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", "30") // each plays a whole schedule; the flag on the command line wins
	goleak.VerifyTestMain(m)
}

// Short names of what every test here uses.
type (
	replica = schedtest.Replica
	config  = scheduler.Config
	outcome = scheduler.Outcome
)

var start, newReplica, place, author = schedtest.Start, schedtest.New, schedtest.Place, schedtest.Author

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// settle lets d pass and everything come to rest.
func settle(d time.Duration) {
	time.Sleep(d) // of the bubble: it costs nothing
	synctest.Wait()
}

// ran notes which prompts ran, in order, by their texts.
type ran struct {
	mu    sync.Mutex
	texts []string
	most  int
	now   map[core.SessionID]int
}

func (r *ran) begin(run *scheduler.Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now == nil {
		r.now = map[core.SessionID]int{}
	}
	r.texts = append(r.texts, run.Prompt.Text)
	r.now[run.Session.ID]++
	r.most = max(r.most, r.now[run.Session.ID])
}

func (r *ran) end(run *scheduler.Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now[run.Session.ID]--
}

func (r *ran) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.texts)
}

// working is an agent whose prompts take d, and which keeps to boundaries.
func (r *ran) working(d time.Duration) schedtest.Agent {
	return func(ctx context.Context, run *scheduler.Run) outcome {
		r.begin(run)
		defer r.end(run)
		for range 10 {
			if run.Boundary(ctx) != nil {
				return outcome{State: core.Queued}
			}
			select {
			case <-ctx.Done():
				return outcome{State: core.Queued}
			case <-time.After(d / 10):
			}
		}
		return schedtest.Done(ctx, run)
	}
}

// asking is an agent that asks for approval of one call, and answers "ran" or "denied" when it is decided.
func asking(_ context.Context, run *scheduler.Run) outcome {
	list, err := run.Approvals(context.Background())
	if err != nil {
		return outcome{State: core.Failed, Error: err.Error()}
	}
	if len(list) == 0 || !slices.Contains([]core.ApprovalState{core.Approved, core.Denied}, list[0].State) {
		return outcome{State: core.Waiting, Asks: []core.Approval{ask("make")}}
	}
	return outcome{State: core.Done, Answer: string(list[0].State)}
}

func ask(show string) core.Approval {
	a := core.Action{Tool: "run_command", Input: []byte(`{}`), Show: show, Dir: "/w"}
	return core.Approval{Call: core.CallID(show), Action: a, Digest: a.Digest(), Rule: "no rule covers it", Offers: []string{"Bash(" + show + ":*)"}}
}

func waitsFor(t testing.TB, r *replica, p core.PromptID) core.Approval {
	t.Helper()
	prompt := r.Read(t, p)
	if prompt.State != core.Waiting || len(prompt.Pending) == 0 {
		t.Fatalf("prompt is %s with %d approvals", prompt.State, len(prompt.Pending))
	}
	a, err := r.Approval(t.Context(), prompt.Pending[len(prompt.Pending)-1])
	must(t, err)
	return a
}

func wantState(t testing.TB, r *replica, p core.PromptID, want core.PromptState) core.Prompt {
	t.Helper()
	got := r.Read(t, p)
	if got.State != want {
		t.Fatalf("prompt %q is %s (%s), want %s", got.Text, got.State, got.Reason, want)
	}
	return got
}

// wantEnd sees that the prompt ended once, as it should, and that people heard of it.
func wantEnd(t testing.TB, r *replica, p core.PromptID, want core.PromptState) core.Event {
	t.Helper()
	wantState(t, r, p, want)
	ends := r.Mail.Of(p, core.EventEnd)
	if len(ends) != 1 || ends[0].Event.State != string(want) {
		t.Fatalf("%d results, want one: %+v", len(ends), ends)
	}
	return ends[0].Event
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
}
