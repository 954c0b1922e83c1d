package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"paragents/core"
	"paragents/core/freeze"
	"paragents/core/scheduler"
	"paragents/core/scheduler/schedtest"
	"paragents/core/state"
	"paragents/store"
)

// Three replicas take what one person asks for: never more at once than the quota, and all of it in the end, also after a replica died with its share.
func TestB046QuotaIsKeptAndGivenBack(t *testing.T) {
	for name, limit := range map[string]config{"person": {MaxPerPerson: 3}, "workspace": {MaxPerWorkspace: 3}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := schedtest.Open(t)
				var mu sync.Mutex
				now, most := 0, 0
				limit := limit
				limit.Lease = 6 * time.Second
				limit.Agent = schedtest.Agent(func(ctx context.Context, run *scheduler.Run) outcome {
					mu.Lock()
					now++
					most = max(most, now)
					mu.Unlock()
					select {
					case <-time.After(time.Second):
					case <-ctx.Done():
					}
					mu.Lock()
					now--
					mu.Unlock()
					return schedtest.Done(ctx, run)
				})
				replicas := []*replica{start(t, s, nil, limit), start(t, s, nil, limit), start(t, s, nil, limit)}
				settle(time.Second)
				var all []core.PromptID
				for i := range 12 {
					all = append(all, replicas[i%3].Submit(t, "", fmt.Sprint("job ", i)).Prompt.ID)
				}
				settle(time.Second / 2)
				replicas[0].Kill()
				settle(2 * time.Minute)
				for _, id := range all {
					if p := replicas[1].Read(t, id); p.State != core.Done {
						t.Errorf("%s is %s", p.Text, p.State)
					}
				}
				if most != 3 {
					t.Errorf("%d ran at once, the quota is 3", most)
				}
				for _, index := range []store.Index{state.ByAuthor(author), state.ByWorkspace("w")} {
					page, err := s.Scan(t.Context(), index, store.Range{})
					must(t, err)
					if len(page.Entries) > 0 {
						t.Errorf("%s holds %v when nothing runs", index, page.Entries)
					}
				}
			})
		})
	}
}

// Another person's prompt is not held up by somebody who has used up their quota.
func TestQuotaOfOneHoldsUpNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := schedtest.Open(t)
		r := start(t, s, nil, config{MaxPerPerson: 1, Agent: schedtest.Agent(func(ctx context.Context, run *scheduler.Run) outcome {
			if run.Prompt.Author == author {
				select {
				case <-time.After(time.Hour):
				case <-ctx.Done():
				}
			}
			return schedtest.Done(ctx, run)
		})})
		settle(time.Second)
		for i := range 300 {
			r.Submit(t, "", fmt.Sprint("flood ", i))
		}
		out, err := r.Accept(t.Context(), []scheduler.Submission{{New: &scheduler.NewSession{Workspace: "w"}, Author: "test:bob", Place: place, Text: "mine"}}, nil)
		must(t, err)
		settle(3 * time.Second)
		if p := r.Read(t, out[0].Prompt.ID); p.State != core.Done {
			t.Errorf("the other person's prompt is %s", p.State)
		}
	})
}

// approvals.remind says when people are reminded first; negative: never.
func TestRemindIsConfigurable(t *testing.T) {
	for after, want := range map[time.Duration]int{10 * time.Minute: 1, -1: 0} {
		synctest.Test(t, func(t *testing.T) {
			s := schedtest.Open(t)
			mail := &schedtest.Mail{}
			r := start(t, s, mail, config{Remind: after, Agent: schedtest.Agent(func(_ context.Context, run *scheduler.Run) outcome {
				return outcome{State: core.Waiting, Asks: []core.Approval{{Action: core.Action{Tool: "x", Show: "x"}}}}
			})})
			settle(time.Second)
			p := r.Submit(t, "", "ask").Prompt
			settle(9 * time.Minute)
			early := len(mail.Of(p.ID, core.EventReminder))
			settle(3 * time.Minute)
			if got := len(mail.Of(p.ID, core.EventReminder)); early != 0 || got != want {
				t.Errorf("remind %s: %d reminders before, %d after, want %d", after, early, got, want)
			}
		})
	}
}

// A prompt that is held back, because it is frozen or its quota is used up, holds back no letters: a decision is shown at once, and nothing is claimed in vain after that.
func TestLettersOfWhatIsHeldBack(t *testing.T) {
	for name, cfg := range map[string]config{"frozen": {}, "over its quota": {MaxPerPerson: 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := schedtest.Open(t)
				gate := make(chan struct{})
				cfg := cfg
				cfg.Agent = schedtest.Agent(func(ctx context.Context, run *scheduler.Run) outcome {
					if run.Prompt.Text == "long" {
						select {
						case <-gate:
						case <-ctx.Done():
							return outcome{State: core.Queued}
						}
						return schedtest.Done(ctx, run)
					}
					return asking(ctx, run)
				})
				r := newReplica(t, s, nil, cfg)
				var claims atomic.Int64
				r.Store.Before = func(b store.Batch) error {
					if slices.ContainsFunc(b.Put, func(p store.Put) bool { return strings.HasPrefix(string(p.Key), "claim/") }) {
						claims.Add(1)
					}
					return nil
				}
				schedtest.Run(t, r)
				settle(time.Second)
				p := r.Submit(t, "", "asks").Prompt
				settle(time.Second)
				a := waitsFor(t, r, p.ID)
				if name == "frozen" {
					must(t, r.Freeze(t.Context(), freeze.All, boss, "a look"))
				} else {
					r.Submit(t, "", "long")
				}
				settle(time.Second)
				_, err := r.Decide(t.Context(), a.ID, yes(boss))
				must(t, err)
				settle(2 * time.Second)
				wantState(t, r, p.ID, core.Queued)
				if n := len(r.Mail.Of(p.ID, core.EventApproval)); n != 2 {
					t.Errorf("%d letters about the approval, want the question and the decision", n)
				}
				was := claims.Load()
				settle(time.Minute)
				if n := claims.Load() - was; n > 0 {
					t.Errorf("it was claimed %d times more", n)
				}
				if name == "frozen" {
					must(t, r.Thaw(t.Context(), freeze.All, boss))
				} else {
					close(gate)
				}
				settle(2 * time.Second)
				wantEnd(t, r, p.ID, core.Done)
			})
		})
	}
}
