package access_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"paragents/core"
	"paragents/core/access"
	"paragents/core/state"
	"paragents/store"
	"paragents/store/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB) store.Store {
	t.Helper()
	s, err := local.Open(t.Context(), local.Config{Path: t.TempDir() + "/state.db", NoSync: true, Private: true})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

var (
	ops    = core.Place{Platform: "slack", Space: "T1", Channel: "ops"}
	thread = core.Place{Platform: "slack", Space: "T1", Channel: "ops", Thread: "t"}
	other  = core.Place{Platform: "slack", Space: "T1", Channel: "other"}
)

func TestRoles(t *testing.T) {
	a := access.Access{Configured: access.Grants{
		Everywhere: access.Roles{"slack:T1/ann": access.Admin, "slack:T1/bob": access.Viewer, "discord:*": access.Viewer},
		Places:     map[string]access.Roles{access.PlaceKey(ops): {"slack:T1/bob": access.Approver, "slack:T1/cat": access.Operator, "slack:*": access.Viewer}},
	}}
	stored := access.Grants{Everywhere: access.Roles{"slack:T1/bob": access.Operator, "telegram:5": access.Viewer}}
	for _, c := range []struct {
		who  core.Person
		at   core.Place
		want access.Role
	}{
		{"slack:T1/ann", ops, access.Admin},
		{"slack:T1/ann", other, access.Admin},
		{"slack:T1/bob", ops, access.Approver},
		{"slack:T1/bob", thread, access.Approver}, // a thread is its channel
		{"slack:T1/bob", other, access.Operator},  // stored: more than configured
		{"slack:T1/cat", ops, access.Operator},
		{"slack:T1/cat", other, access.Nobody},
		{"slack:T1/dan", ops, access.Viewer}, // everybody of that platform, there
		{"slack:T1/dan", other, access.Nobody},
		{"discord:1", other, access.Viewer},
		{"telegram:5", ops, access.Viewer},
		{"telegram:6", ops, access.Nobody},
		{"discord:*", ops, access.Viewer},
		{"", ops, access.Nobody},
	} {
		if got := a.Role(stored, c.who, c.at); got != c.want {
			t.Errorf("%s at %s is %s, want %s", c.who, c.at.Key(), got, c.want)
		}
	}
	if got := (access.Access{}).Role(access.Grants{}, "slack:T1/ann", ops); got != access.Nobody {
		t.Errorf("the zero value lets somebody be %s", got)
	}
}

func TestMayDecide(t *testing.T) {
	const author, peer core.Person = "test:author", "test:peer"
	for _, c := range []struct {
		who   core.Person
		role  access.Role
		scope core.Scope
		own   bool // approve_own
		may   bool
	}{
		{author, access.Viewer, core.Once, true, false},
		{author, access.Operator, core.Once, true, true},
		{author, access.Operator, core.Once, false, false},
		{author, access.Operator, core.ForSession, true, true},
		{author, access.Operator, core.Always, true, false},
		{author, access.Approver, core.Once, false, true},
		{author, access.Approver, core.Always, true, false},
		{author, access.Admin, core.Always, false, true},
		{peer, access.Nobody, core.Once, true, false},
		{peer, access.Viewer, core.Once, true, false},
		{peer, access.Operator, core.Once, true, false},
		{peer, access.Approver, core.Once, true, true},
		{peer, access.Approver, core.ForSession, true, true},
		{peer, access.Approver, core.Always, true, false},
		{peer, access.Admin, core.Once, true, true},
		{peer, access.Admin, core.Always, true, true},
	} {
		a := access.Access{Configured: access.Grants{Everywhere: access.Roles{c.who: c.role}}, ApproveOwn: c.own}
		err := a.MayDecide(access.Grants{}, c.who, core.Approval{Author: author, Place: ops}, c.scope)
		if (err == nil) != c.may || err != nil && !errors.Is(err, core.ErrForbidden) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	// The role is that of the approval's place.
	a := access.Access{Configured: access.Grants{Places: map[string]access.Roles{access.PlaceKey(ops): {peer: access.Approver}}}}
	if err := a.MayDecide(access.Grants{}, peer, core.Approval{Author: author, Place: thread}, core.Once); err != nil {
		t.Errorf("an approver of the place: %v", err)
	}
	if err := a.MayDecide(access.Grants{}, peer, core.Approval{Author: author, Place: other}, core.Once); !errors.Is(err, core.ErrForbidden) {
		t.Errorf("an approver of another place: %v", err)
	}
}

func nothing(*state.Batch, access.Pairing) {}

func TestPairing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ctx := open(t), t.Context()
		p := access.Pairing{Person: "telegram:5", Name: "Eve", Place: ops}
		code, err := access.Offer(ctx, s, p)
		must(t, err)
		if again, err := access.Offer(ctx, s, p); err != nil || again != code || len(code) != access.CodeLen {
			t.Errorf("asked again: %q after %q, %v", again, code, err)
		}
		audited := 0
		got, err := access.Redeem(ctx, s, " "+strings.ToUpper(code)+"\n", access.Operator, func(*state.Batch, access.Pairing) { audited++ })
		must(t, err)
		stored, err := access.Stored(ctx, s)
		must(t, err)
		if got != p || audited != 1 || (access.Access{}).Role(stored, "telegram:5", ops) != access.Operator {
			t.Errorf("redeemed %+v, audited %d times, stored %+v", got, audited, stored)
		}
		if _, err := access.Redeem(ctx, s, code, access.Admin, nothing); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("redeemed twice: %v", err)
		}
		must(t, access.Set(ctx, s, "telegram:5", access.Nobody, func(*state.Batch) {}))
		next, err := access.Offer(ctx, s, p)
		must(t, err)
		if next == code {
			t.Error("who lost access is given the code that was used")
		}
		time.Sleep(access.CodeKept + time.Second)
		if _, err := access.Redeem(ctx, s, next, access.Viewer, nothing); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("an hour later: %v", err)
		}
		if last, err := access.Offer(ctx, s, p); err != nil || last == next {
			t.Errorf("an hour later the code is %q, %v", last, err)
		}
		if _, err := access.Redeem(ctx, s, "nonsense", access.Viewer, nothing); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("a code that nobody has: %v", err)
		}
	})
}

// Strangers cannot fill the store: so many codes are open at most, and each makes room after an hour.
func TestPairingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		offer := func(i int) error {
			_, err := access.Offer(t.Context(), s, access.Pairing{Person: core.Person(fmt.Sprint("telegram:", i))})
			return err
		}
		for i := range 100 {
			must(t, offer(i))
		}
		if err := offer(100); !errors.Is(err, core.ErrRefused) {
			t.Errorf("one more: %v", err)
		}
		must(t, offer(7))
		time.Sleep(access.CodeKept + time.Second)
		must(t, offer(100))
	})
}

// Of two admins who redeem a code at the same moment one does; two strangers who ask at the same moment both get a code.
func TestPairingAtTheSameMoment(t *testing.T) {
	s := open(t)
	for i := range 30 {
		var codes [2]string
		var errs [2]error
		var wg sync.WaitGroup
		for k := range codes {
			wg.Go(func() {
				codes[k], errs[k] = access.Offer(t.Context(), s, access.Pairing{Person: core.Person(fmt.Sprint("telegram:", i, k))})
			})
		}
		wg.Wait()
		must(t, errors.Join(errs[:]...))
		for k := range errs {
			wg.Go(func() {
				_, errs[k] = access.Redeem(context.WithoutCancel(t.Context()), s, codes[0], access.Viewer, nothing)
			})
		}
		wg.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("redeemed at once: %v", errs)
		}
	}
}

func TestParseRole(t *testing.T) {
	for _, r := range []access.Role{access.Viewer, access.Operator, access.Approver, access.Admin} {
		if got, err := access.ParseRole(strings.ToUpper(r.String())); err != nil || got != r {
			t.Errorf("%s reads as %s, %v", r, got, err)
		}
	}
	for _, s := range []string{"", "nobody", "root"} {
		if _, err := access.ParseRole(s); !errors.Is(err, core.ErrRefused) {
			t.Errorf("%q: %v", s, err)
		}
	}
	if got := access.Role(99).String(); got != "role 99" {
		t.Errorf("a role of a newer version reads %q", got)
	}
}

func TestApprovers(t *testing.T) {
	a := access.Access{Configured: access.Grants{
		Everywhere: access.Roles{"slack:T1/ann": access.Admin, "slack:T1/bob": access.Operator, "telegram:5": access.Approver, "slack:*": access.Approver},
		Places:     map[string]access.Roles{access.PlaceKey(ops): {"slack:T1/cat": access.Approver}, access.PlaceKey(other): {"slack:T1/dan": access.Admin}},
	}}
	stored := access.Grants{Everywhere: access.Roles{"slack:T1/eve": access.Approver, "slack:T1/ann": access.Viewer}}
	want := []core.Person{"slack:T1/ann", "slack:T1/bob", "slack:T1/cat", "slack:T1/eve"} // bob, because everybody is
	if got := a.Approvers(stored, thread); !slices.Equal(got, want) {
		t.Errorf("approvers %v, want %v", got, want)
	}
	delete(a.Configured.Everywhere, "slack:*")
	want = []core.Person{"slack:T1/ann", "slack:T1/cat", "slack:T1/eve"}
	if got := a.Approvers(stored, thread); !slices.Equal(got, want) {
		t.Errorf("approvers %v, want %v", got, want)
	}
	// Another replica, which does not know Ann and Cat yet: they may not decide, so they are not asked.
	a.Others = func(string) []access.Access { return []access.Access{{}} }
	if got := a.Approvers(stored, thread); !slices.Equal(got, want[2:]) {
		t.Errorf("while replicas differ: %v, want %v", got, want[2:])
	}
}
