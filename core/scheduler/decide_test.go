package scheduler_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"paragents/core"
	"paragents/core/orders"
	"paragents/core/scheduler"
	"paragents/core/scheduler/schedtest"
	"paragents/core/state"
)

func yes(by core.Person) orders.Decision {
	return orders.Decision{State: core.Approved, Scope: core.Once, By: by}
}

func no(by core.Person) orders.Decision { return orders.Decision{State: core.Denied, By: by} }

// decided are the letters that tell of a decision.
func decided(m *schedtest.Mail, id core.ApprovalID) []core.Letter {
	return slices.DeleteFunc(m.All(), func(l core.Letter) bool {
		return l.Event.Type != core.EventApproval || l.Event.State == string(core.Pending) || !slices.Contains(l.Event.Approvals, id)
	})
}

// B030: two answers on two replicas at the same moment. One wins, with all its effects once; the other learns who was faster.
func TestB030TwoAnswersAtOnce(t *testing.T) {
	st, mail := schedtest.Open(t), &schedtest.Mail{}
	r := start(t, st, mail, config{Agent: schedtest.Agent(asking)})
	other := newReplica(t, st, mail, config{})
	for range 30 {
		p := r.Submit(t, "", "text")
		a := eventually(t, r, p.Prompt.ID)
		var got [2]core.Approval
		var errs [2]error
		var wg sync.WaitGroup
		wg.Go(func() { got[0], errs[0] = r.Decide(t.Context(), a.ID, yes("test:ann")) })
		wg.Go(func() { got[1], errs[1] = other.Decide(t.Context(), a.ID, no("test:bob")) })
		wg.Wait()
		win := 0
		if errs[0] != nil {
			win = 1
		}
		wantErr(t, errs[1-win], core.ErrDecided)
		if errs[win] != nil {
			t.Fatal(errs)
		}
		if winner := got[win].By.ID(); got[1-win].By != got[win].By || !strings.Contains(errs[1-win].Error(), winner) {
			t.Fatalf("the loser reads %q and %+v; the winner is %s", errs[1-win], got[1-win], winner)
		}
		stored, err := other.Approval(t.Context(), a.ID)
		must(t, err)
		if stored.State != got[win].State || stored.By != got[win].By {
			t.Fatalf("stored is %s by %s", stored.State, stored.By)
		}
		_, err = r.Decide(t.Context(), a.ID, no("test:ann")) // clicked once more
		wantErr(t, err, core.ErrDecided)
		until(t, func() bool { return r.Read(t, p.Prompt.ID).State == core.Done && len(decided(mail, a.ID)) > 0 })
		if n := len(decided(mail, a.ID)); n != 1 {
			t.Fatalf("%d letters about the decision", n)
		}
	}
}

// eventually waits, in real time, for the approval of a prompt.
func eventually(t testing.TB, r *replica, p core.PromptID) core.Approval {
	t.Helper()
	until(t, func() bool { return r.Read(t, p).State == core.Waiting })
	return waitsFor(t, r, p)
}

func until(t testing.TB, done func() bool) {
	t.Helper()
	for end := time.After(20 * time.Second); !done(); {
		select {
		case <-end:
			t.Fatal("it did not come about")
		case <-time.After(time.Millisecond):
		}
	}
}

// Two people answer the last two questions of a prompt at the same moment: it goes on all the same.
func TestLastTwoAnswersAtOnce(t *testing.T) {
	st := schedtest.Open(t)
	both := schedtest.Agent(func(ctx context.Context, run *scheduler.Run) outcome {
		if list, err := run.Approvals(ctx); err != nil || len(list) == 2 {
			return outcome{State: core.Done, Answer: "both"}
		}
		return outcome{State: core.Waiting, Asks: []core.Approval{ask("a"), ask("b")}}
	})
	r := start(t, st, nil, config{Agent: both})
	other := newReplica(t, st, nil, config{})
	for range 30 {
		p := r.Submit(t, "", "text")
		eventually(t, r, p.Prompt.ID)
		ids := r.Read(t, p.Prompt.ID).Pending
		var wg sync.WaitGroup
		for i, one := range []*replica{r, other} {
			wg.Go(func() {
				if _, err := one.Decide(t.Context(), ids[i], yes(boss)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		until(t, func() bool { return r.Read(t, p.Prompt.ID).State == core.Done })
	}
}

// B032: the replica that asked is dead when the answer comes.
func TestB032ApprovalOutlivesTheReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, mail := schedtest.Open(t), &schedtest.Mail{}
		dead := start(t, st, mail, config{Agent: schedtest.Agent(asking)})
		p := dead.Submit(t, "", "text")
		settle(time.Second)
		a := waitsFor(t, dead, p.Prompt.ID)
		dead.Kill()
		r := start(t, st, mail, config{Agent: schedtest.Agent(asking)})
		settle(time.Minute)
		if got := waitsFor(t, r, p.Prompt.ID); got.ID != a.ID || got.State != core.Pending {
			t.Fatalf("after the death: %+v", got)
		}
		_, err := r.Decide(t.Context(), a.ID, yes(author))
		must(t, err)
		settle(time.Second)
		wantEnd(t, r, p.Prompt.ID, core.Done)
		if got := mail.Of(p.Prompt.ID, core.EventAnswer); len(got) != 1 || got[0].Event.Text != "approved" {
			t.Errorf("answers %+v", got)
		}
	})
}

// B036: of two questions on one card each answer counts for its own, in either order; with one answered, nothing is decided about the other.
func TestB036AnswersHitTheirOwnQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := schedtest.Agent(func(ctx context.Context, run *scheduler.Run) outcome {
			list, err := run.Approvals(ctx)
			if err != nil || len(list) == 0 {
				return outcome{State: core.Waiting, Asks: []core.Approval{ask("git status"), ask("rm -rf data")}}
			}
			var said []string
			for _, a := range list {
				said = append(said, a.Action.Show+" "+string(a.State))
			}
			return outcome{State: core.Done, Answer: strings.Join(said, ", ")}
		})
		r := start(t, schedtest.Open(t), nil, config{Agent: agent})
		for name, order := range map[string][]int{"a first": {0, 1}, "b first": {1, 0}, "only b": {1}} {
			p := r.Submit(t, "", name)
			settle(time.Second)
			ids := r.Read(t, p.Prompt.ID).Pending
			cards := r.Mail.Of(p.Prompt.ID, core.EventApproval)
			if len(ids) != 2 || len(cards) != 1 || !slices.Equal(cards[0].Event.Approvals, ids) {
				t.Fatalf("%s: %d approvals on cards %+v", name, len(ids), cards)
			}
			for _, i := range order {
				_, err := r.Decide(t.Context(), ids[i], []orders.Decision{yes(author), no(author)}[i])
				must(t, err)
			}
			settle(time.Second)
			if len(order) == 1 {
				wantState(t, r, p.Prompt.ID, core.Waiting)
				if a, err := r.Approval(t.Context(), ids[0]); err != nil || a.State != core.Pending {
					t.Errorf("%s: the other is %s, %v", name, a.State, err)
				}
				continue
			}
			wantEnd(t, r, p.Prompt.ID, core.Done)
			if got := r.Mail.Of(p.Prompt.ID, core.EventAnswer); got[0].Event.Text != "git status approved, rm -rf data denied" {
				t.Errorf("%s: %q", name, got[0].Event.Text)
			}
		}
	})
}

// B042: an answer after the stop changes nothing, one before it is stopped with the rest.
func TestB042ApprovedAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, mail := schedtest.Open(t), &schedtest.Mail{}
		ended := 0
		agent := schedtest.Agent(func(ctx context.Context, run *scheduler.Run) outcome {
			out := asking(ctx, run)
			if out.State == core.Done { // it would run the command
				<-ctx.Done()
				ended++
				return outcome{State: core.Queued}
			}
			return out
		})
		r := start(t, st, mail, config{Agent: agent})
		other := newReplica(t, st, mail, config{})
		p := r.Submit(t, "", "after")
		settle(time.Second)
		a := waitsFor(t, r, p.Prompt.ID)
		_, _, err := r.Scheduler.Stop(t.Context(), p.Session.ID, author)
		must(t, err)
		_, err = other.Decide(t.Context(), a.ID, yes(boss))
		wantErr(t, err, core.ErrDecided)
		settle(time.Second)
		wantEnd(t, r, p.Prompt.ID, core.Cancelled)
		if got := decided(mail, a.ID); ended != 0 || len(got) != 1 || got[0].Event.State != string(core.Withdrawn) {
			t.Errorf("%d runs, letters %+v", ended, got)
		}

		p = r.Submit(t, "", "before")
		settle(time.Second)
		a = waitsFor(t, r, p.Prompt.ID)
		_, err = other.Decide(t.Context(), a.ID, yes(boss))
		must(t, err)
		settle(50 * time.Millisecond)
		_, _, err = r.Scheduler.Stop(t.Context(), p.Session.ID, author)
		must(t, err)
		settle(time.Second)
		wantEnd(t, r, p.Prompt.ID, core.Cancelled)
		if ended != 1 {
			t.Errorf("%d runs were ended", ended)
		}
	})
}

// Stop and approve at the same moment: whichever is first, the prompt ends as cancelled, or runs and is then cancelled; it never hangs.
func TestB042StopAndApproveAtOnce(t *testing.T) {
	st, mail := schedtest.Open(t), &schedtest.Mail{}
	r := start(t, st, mail, config{Agent: schedtest.Agent(asking)})
	other := newReplica(t, st, mail, config{})
	for range 30 {
		p := r.Submit(t, "", "text")
		a := eventually(t, r, p.Prompt.ID)
		var errs [2]error
		var wg sync.WaitGroup
		wg.Go(func() { _, errs[0] = r.Decide(t.Context(), a.ID, yes(author)) })
		wg.Go(func() { _, errs[1] = other.Cancel(t.Context(), p.Prompt.ID, author) })
		wg.Wait()
		if errs[0] != nil && !errors.Is(errs[0], core.ErrDecided) || errs[1] != nil && !errors.Is(errs[1], core.ErrRefused) || errs[0] != nil && errs[1] != nil {
			t.Fatal(errs)
		}
		until(t, func() bool { return r.Read(t, p.Prompt.ID).State.Ended() })
		got, err := r.Approval(t.Context(), a.ID)
		must(t, err)
		if want := map[bool]core.ApprovalState{true: core.Approved, false: core.Withdrawn}[errs[0] == nil]; got.State != want {
			t.Fatalf("the approval is %s, want %s (%v)", got.State, want, errs)
		}
		if end := r.Read(t, p.Prompt.ID).State; errs[0] != nil && end != core.Cancelled {
			t.Fatalf("the prompt is %s", end)
		}
	}
}

func TestDecideStoresRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, schedtest.Open(t), nil, config{Agent: schedtest.Agent(asking)})
		for scope, key := range map[core.Scope]func(core.SessionID) string{
			core.ForSession: func(id core.SessionID) string { return string(state.SessionRules(id)) },
			core.Always:     func(core.SessionID) string { return string(state.WorkspaceRules("w")) },
		} {
			p := r.Submit(t, "", "text")
			settle(time.Second)
			a := waitsFor(t, r, p.Prompt.ID)
			d := yes(boss)
			d.Scope = scope
			_, err := r.Decide(t.Context(), a.ID, d)
			must(t, err)
			settle(time.Second)
			wantEnd(t, r, p.Prompt.ID, core.Done)
			for _, k := range []core.Scope{core.ForSession, core.Always} {
				where := state.SessionRules(p.Session.ID)
				if k == core.Always {
					where = state.WorkspaceRules("w")
				}
				rules, err := r.StoredRules(t.Context(), where)
				must(t, err)
				stored := len(rules.Allow) == 1 && rules.Allow[0].Rule == "Bash(make:*)" && rules.Allow[0].By == boss && rules.Allow[0].Request == a.Ref
				if want := key(p.Session.ID) == string(where); stored != want && !(k == core.Always && scope == core.ForSession) {
					t.Errorf("%s: under %s are %+v", scope, where, rules)
				}
			}
		}
		p := r.Submit(t, "", "text")
		settle(time.Second)
		a := waitsFor(t, r, p.Prompt.ID)
		bare, _, err := state.Get[core.Approval](t.Context(), r.Store, state.ApprovalKey(a.ID))
		must(t, err)
		bare.Value.Offers = nil
		b := &state.Batch{}
		b.Update(state.ApprovalKey(a.ID), bare.Version, bare.Value)
		_, err = b.Commit(t.Context(), r.Store)
		must(t, err)
		d := yes(boss)
		d.Scope = core.Always
		_, err = r.Decide(t.Context(), a.ID, d)
		wantErr(t, err, core.ErrRefused)
		if got, err := r.Approval(t.Context(), a.ID); err != nil || got.State != core.Pending {
			t.Errorf("a refused decision left it %s, %v", got.State, err)
		}
	})
}

// An approval starts its action once.
func TestApprovalIsUsedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs []error
		r := start(t, schedtest.Open(t), nil, config{Agent: schedtest.Agent(func(ctx context.Context, run *scheduler.Run) outcome {
			list, err := run.Approvals(ctx)
			if err != nil || len(list) == 0 {
				return outcome{State: core.Waiting, Asks: []core.Approval{ask("make"), ask("other")}}
			}
			begin := func(digest string, a core.Approval) {
				errs = append(errs, run.Begin(ctx, core.Record{Kind: core.RecordIntent, Prompt: run.Prompt.ID, Call: a.Call, Digest: digest}, a.ID, a.Rule))
			}
			begin("another digest", list[0])
			begin(list[0].Digest, list[0])
			begin(list[0].Digest, list[0])
			begin(list[1].Digest, list[1]) // denied
			return outcome{State: core.Done}
		})})
		p := r.Submit(t, "", "text")
		settle(time.Second)
		ids := r.Read(t, p.Prompt.ID).Pending
		_, err := r.Decide(t.Context(), ids[0], yes(author))
		must(t, err)
		_, err = r.Decide(t.Context(), ids[1], no(author))
		must(t, err)
		settle(time.Second)
		wantEnd(t, r, p.Prompt.ID, core.Done)
		if len(errs) != 4 || errs[1] != nil {
			t.Fatalf("errors %v", errs)
		}
		for _, i := range []int{0, 2, 3} {
			wantErr(t, errs[i], core.ErrRefused)
		}
		records, err := r.Transcript(t.Context(), p.Session.ID)
		must(t, err)
		if len(records) != 2 {
			t.Errorf("%d records, want the prompt and one intent", len(records))
		}
	})
}
