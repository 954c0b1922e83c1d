package audit_test

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paragents/core"
	"paragents/core/audit"
	"paragents/core/state"
	"paragents/store"
	"paragents/store/local"
)

// open makes a store whose clock is the test's.
func open(t *testing.T, now *time.Time) store.Store {
	t.Helper()
	c := local.Config{Path: filepath.Join(t.TempDir(), "state.db"), NoSync: true, Private: true}
	if now != nil {
		c.Now = func() time.Time { return *now }
	}
	s, err := local.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func commit(t *testing.T, s store.Store, change func(*state.Batch)) store.Result {
	t.Helper()
	var b state.Batch
	change(&b)
	res, err := b.Commit(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func write(t *testing.T, s store.Store, whats ...string) (positions []int64) {
	t.Helper()
	res := commit(t, s, func(b *state.Batch) {
		for _, w := range whats {
			b.Append(state.Audit, audit.Entry{What: w, Session: "s33333", Time: time.UnixMilli(1)})
		}
	})
	return res.Positions
}

func verify(t *testing.T, s store.Store) audit.Report {
	t.Helper()
	r, err := audit.Verify(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func seal(t *testing.T, s store.Store) {
	t.Helper()
	if err := audit.Seal(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

func TestSealsHold(t *testing.T) {
	s := open(t, nil)
	if r := verify(t, s); r.Entries != 0 || len(r.Problems) != 0 {
		t.Fatalf("an empty log: %+v", r)
	}
	write(t, s, "a", "b", "c")
	seal(t, s)
	seal(t, s) // nothing new: no seal
	write(t, s, "d")
	seal(t, s)
	write(t, s, "e", "f")
	if r := verify(t, s); r.Entries != 6 || r.Seals != 2 || r.Unsealed != 2 || len(r.Problems) != 0 {
		t.Errorf("%+v", r)
	}
}

// Whoever takes an entry away, or makes a seal, is found out.
func TestChangesShow(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, s store.Store, first []int64){
		"an entry is gone": func(t *testing.T, s store.Store, first []int64) {
			commit(t, s, func(b *state.Batch) { b.Trim = []store.Trim{{Log: state.Audit, Before: first[1]}} })
		},
		"the log is written again": func(t *testing.T, s store.Store, _ []int64) {
			commit(t, s, func(b *state.Batch) { b.Trim = []store.Trim{{Log: state.Audit, Before: math.MaxInt64}} })
			write(t, s, "a", "x", "c")
		},
		"a seal is gone": func(t *testing.T, s store.Store, _ []int64) {
			commit(t, s, func(b *state.Batch) { b.Trim = []store.Trim{{Log: state.Seals, Before: math.MaxInt64}} })
		},
		"a seal is forged": func(t *testing.T, s store.Store, _ []int64) {
			commit(t, s, func(b *state.Batch) {
				b.Append(state.Seals, map[string]any{"from": 1, "to": int64(1) << 40, "count": 3, "prev": "", "hash": "0"})
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, nil)
			first := write(t, s, "a", "b", "c")
			seal(t, s)
			if name == "the log is written again" || name == "a seal is gone" {
				write(t, s, "d")
				seal(t, s)
			}
			change(t, s, first)
			if r := verify(t, s); len(r.Problems) == 0 {
				t.Errorf("nobody noticed: %+v", r)
			}
		})
	}
}

// What is too old goes, by whole seals, and what is left still verifies.
func TestExpire(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	s := open(t, &now)
	write(t, s, "old", "old")
	seal(t, s)
	now = now.Add(audit.Keep - time.Hour)
	write(t, s, "new")
	seal(t, s)
	expire := func() {
		if err := audit.Expire(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	expire()
	if r := verify(t, s); r.Entries != 3 {
		t.Fatalf("too early: %+v", r)
	}
	now = now.Add(2 * time.Hour)
	expire()
	if r := verify(t, s); r.Entries != 1 || r.Seals != 1 || len(r.Problems) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestFilter(t *testing.T) {
	s := open(t, nil)
	at := time.UnixMilli(1000)
	commit(t, s, func(b *state.Batch) {
		b.Append(state.Audit, audit.Entry{What: "asked", Session: "a", Who: "test:ann", Time: at})
		b.Append(state.Audit, audit.Entry{What: "decided", Session: "a", Request: "r", Who: "test:bob", Time: at.Add(time.Second)})
		b.Append(state.Audit, audit.Entry{What: "ended", Session: "b", Who: "test:ann", Time: at.Add(2 * time.Second)})
	})
	for want, f := range map[string]audit.Filter{
		"asked decided ended": {}, "asked decided": {Session: "a"}, "decided": {Request: "r"}, "asked ended": {Who: "test:ann"},
		"decided ended": {Since: at.Add(time.Second)}, "ended": {What: "ended"}, "": {Session: "c"},
	} {
		got, err := audit.Last(t.Context(), s, f, 10)
		if err != nil {
			t.Fatal(err)
		}
		var whats []string
		for _, e := range got {
			whats = append(whats, e.What)
		}
		if strings.Join(whats, " ") != want {
			t.Errorf("%+v gives %q, want %q", f, whats, want)
		}
	}
	if got, err := audit.Last(t.Context(), s, audit.Filter{}, 1); err != nil || len(got) != 1 || got[0].What != "ended" {
		t.Errorf("the last one is %v, %v", got, err)
	}
}

// A receipt proves that what was shown, approved and run are the same, and shows where they are not.
func TestReceipt(t *testing.T) {
	for name, c := range map[string]struct {
		change func(a *core.Approval, ran, decided *int)
		want   string // of the problems
		proven audit.Proven
	}{
		"in order": {func(*core.Approval, *int, *int) {}, "", audit.ProvenRun},
		"waits": {func(a *core.Approval, ran, decided *int) {
			a.State, a.By, a.Used, *ran, *decided = core.Pending, "", time.Time{}, 0, 0
		}, "", audit.ProvenShown},
		"denied":              {func(a *core.Approval, ran, _ *int) { a.State, a.Used, *ran = core.Denied, time.Time{}, 0 }, "", audit.ProvenRefused},
		"not run yet":         {func(a *core.Approval, ran, _ *int) { a.Used, *ran = time.Time{}, 0 }, "", audit.ProvenApproved},
		"ran twice":           {func(_ *core.Approval, ran, _ *int) { *ran = 2 }, "it ran 2 times", audit.ProvenRun},
		"ran when denied":     {func(a *core.Approval, _, _ *int) { a.State = core.Denied }, "it ran, and is denied", audit.ProvenRefused},
		"another action":      {func(a *core.Approval, _, _ *int) { a.Action.Show = "rm -rf /" }, "the stored action has digest", audit.ProvenRun},
		"decided twice":       {func(_ *core.Approval, _, decided *int) { *decided = 2 }, "decided 2 times", audit.ProvenRun},
		"does not know of it": {func(a *core.Approval, _, _ *int) { a.Used = time.Time{} }, "does not know of it", audit.ProvenRun},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, nil)
			a := core.Approval{ID: "01A", Ref: "r33333", Session: "01S", Prompt: "01P", Call: "c1", State: core.Approved, By: "test:ann", Used: time.UnixMilli(5),
				Action: core.Action{Tool: "run_command", Input: []byte(`{}`), Show: "make", Dir: "/w"}}
			a.Digest = a.Action.Digest()
			digest, show, ran, decided := a.Digest, a.Action.Show, 1, 1
			c.change(&a, &ran, &decided)
			commit(t, s, func(b *state.Batch) {
				b.Put(state.ApprovalKey(a.ID), a, 0)
				b.Append(state.Audit, audit.Entry{What: "asked", Request: a.Ref, Digest: digest, Show: show})
				for range decided {
					b.Append(state.Audit, audit.Entry{What: "decided", Request: a.Ref, Digest: digest, Show: show, Who: "test:ann"})
				}
				for range ran {
					b.Append(state.Transcript(a.Session), core.Record{Kind: core.RecordIntent, Prompt: a.Prompt, Call: a.Call, Approval: a.ID, Digest: digest})
				}
				if ran > 0 {
					b.Append(state.Transcript(a.Session), core.Record{Kind: core.RecordResult, Prompt: a.Prompt, Call: a.Call, Ending: core.EndOK})
				}
			})
			r, err := audit.Check(t.Context(), s, a.ID)
			if err != nil {
				t.Fatal(err)
			}
			if problems := strings.Join(r.Problems, "; "); c.want == "" && problems != "" || !strings.Contains(problems, c.want) {
				t.Errorf("problems: %q, want %q", problems, c.want)
			}
			if r.Proven != c.proven {
				t.Errorf("it proves that it is %s, want %s", r.Proven, c.proven)
			}
			if len(r.Lines) < 1+decided+2*min(ran, 1) {
				t.Errorf("the receipt says %q", r.Lines)
			}
		})
	}
	if _, err := audit.Check(t.Context(), open(t, nil), "01X"); err == nil {
		t.Error("an approval that does not exist has a receipt")
	}
}
