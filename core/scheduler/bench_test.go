package scheduler_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"paragents/core"
	"paragents/core/orders"
	"paragents/core/scheduler"
	"paragents/core/scheduler/schedtest"
	"paragents/core/state"
	"paragents/store"
	"paragents/store/redis"
	"paragents/store/redis/redistest"
)

// onRedis opens a private Redis.
func onRedis(b *testing.B) store.Store {
	b.Helper()
	st, err := redis.Open(b.Context(), redis.Config{URL: redistest.Start(b).URL()})
	must(b, err)
	b.Cleanup(func() { _ = st.Close() })
	return st
}

// fill stores sessions of many people and places, closed in no case.
func fill(b *testing.B, st store.Store, n int) {
	b.Helper()
	const each = 500
	now := time.Now()
	for from := 0; from < n; from += each {
		var batch state.Batch
		for i := from; i < min(n, from+each); i++ {
			who := core.Person(fmt.Sprint("test:", i/10))
			at := core.Place{Platform: "test", Channel: fmt.Sprint("c", i/10)}
			v := core.Session{ID: core.NewID[core.SessionID](now), Ref: core.NewRef(), Title: "an old one", Workspace: "w", Owner: who, Place: at, Mode: core.ModeAsk, Created: now, Touched: now}
			batch.Put(state.SessionKey(v.ID), v, 0)
			for _, index := range []store.Index{state.Sessions, state.ByPerson(who), state.ByPlace(at)} {
				batch.InsertNow(index, string(v.ID), 0)
			}
		}
		_, err := batch.Commit(b.Context(), st)
		must(b, err)
	}
}

// p99 reports the ninety-ninth percentile, in milliseconds.
func p99(b *testing.B, name string, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, name+"-p99-ms")
}

// BenchmarkStored: what a person waits for does not grow with what is stored. PARAGENTS_STORED adds another number of sessions, such as 1000000.
func BenchmarkStored(b *testing.B) {
	sizes := []int{1000, 100_000}
	if more, err := strconv.Atoi(os.Getenv("PARAGENTS_STORED")); err == nil {
		sizes = append(sizes, more)
	}
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			st := onRedis(b)
			fill(b, st, n)
			began := make(chan struct{}, 1)
			r := start(b, st, nil, config{Agent: schedtest.Agent(func(ctx context.Context, run *scheduler.Run) outcome {
				began <- struct{}{}
				return schedtest.Done(ctx, run)
			})})
			r.Submit(b, "", "warm")
			<-began
			var submit, claim, list []time.Duration
			for b.Loop() {
				t := time.Now()
				p := r.Submit(b, "", "new")
				submit = append(submit, time.Since(t))
				<-began
				claim = append(claim, time.Since(t))
				t = time.Now()
				views, err := r.List(b.Context(), state.ByPerson(author), 20, false)
				must(b, err)
				if len(views) == 0 || p.Session.ID == "" {
					b.Fatal("the list is empty")
				}
				list = append(list, time.Since(t))
			}
			p99(b, "submit", submit)
			p99(b, "claim", claim)
			p99(b, "list", list)
		})
	}
}

// BenchmarkPress: an approval is decided on one replica, and the call starts on another.
func BenchmarkPress(b *testing.B) {
	st := onRedis(b)
	asked, began := make(chan struct{}, 1), make(chan time.Time, 1)
	works := start(b, st, nil, config{Agent: schedtest.Agent(func(ctx context.Context, run *scheduler.Run) outcome {
		if list, err := run.Approvals(ctx); err != nil || len(list) > 0 {
			began <- time.Now()
			return schedtest.Done(ctx, run)
		}
		asked <- struct{}{}
		return outcome{State: core.Waiting, Asks: []core.Approval{{Action: core.Action{Tool: "run_command", Show: "make"}}}}
	})})
	hears := start(b, st, nil, config{Agent: schedtest.Agent(schedtest.Done), Serves: func(string) bool { return false }})
	var took []time.Duration
	for b.Loop() {
		p := works.Submit(b, "", "ask").Prompt
		<-asked
		var approval core.ApprovalID
		for approval == "" {
			if now := hears.Read(b, p.ID); now.State == core.Waiting {
				approval = now.Pending[0]
			}
		}
		pressed := time.Now()
		_, err := hears.Decide(b.Context(), approval, orders.Decision{State: core.Approved, Scope: core.Once, By: author})
		must(b, err)
		took = append(took, (<-began).Sub(pressed))
	}
	p99(b, "press-to-start", took)
}
