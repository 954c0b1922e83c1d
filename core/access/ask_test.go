package access_test

import (
	"errors"
	"sync"
	"testing"

	"paragents/core"
	"paragents/core/access"
	"paragents/core/state"
)

// Of several answers to one wish the first counts, on however many replicas, and the others are told whose it was. A role that somebody has is not lowered.
func TestAskAndAnswer(t *testing.T) {
	st := open(t)
	const sam, eve core.Person = "slack:T1/sam", "slack:T1/eve"
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	none := func(*state.Batch) {}
	noted := func(b *state.Batch, _ access.Asked) {
		b.Append(state.Audit, access.Asked{})
	}
	for i, want := range []bool{true, false} {
		if first, err := access.Ask(t.Context(), st, access.Asked{Person: sam, Place: thread}, none); err != nil || first != want {
			t.Errorf("wish %d: first %v, %v", i, first, err)
		}
	}
	var wg sync.WaitGroup
	results := make([]error, 8)
	for i := range results {
		wg.Go(func() {
			role := access.Viewer
			if i%2 == 0 {
				role = access.Operator
			}
			_, results[i] = access.Answer(t.Context(), st, sam, role, core.Person("slack:T1/admin"), false, noted)
		})
	}
	wg.Wait()
	won := 0
	for _, err := range results {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, core.ErrDecided):
			t.Errorf("a later answer: %v", err)
		}
	}
	log, err := st.Read(t.Context(), state.Audit, 0, 100)
	must(err)
	if won != 1 || len(log) != 1 {
		t.Errorf("%d answers won, %d were written down", won, len(log))
	}
	grants := func() access.Grants {
		g, err := access.Stored(t.Context(), st)
		must(err)
		return g
	}
	var a access.Access
	if r := a.Role(grants(), sam, thread); r != access.Viewer && r != access.Operator {
		t.Errorf("sam is %s where they asked", r)
	}
	if r := a.Role(grants(), sam, other); r != access.Nobody {
		t.Errorf("sam is %s elsewhere", r)
	}

	must(access.Set(t.Context(), st, eve, access.Approver, none))
	_, err = access.Ask(t.Context(), st, access.Asked{Person: eve, Place: thread}, none)
	must(err)
	_, err = access.Answer(t.Context(), st, eve, access.Viewer, "slack:T1/admin", true, noted)
	must(err)
	if r := a.Role(grants(), eve, other); r != access.Approver {
		t.Errorf("eve was %s and is %s", access.Approver, r)
	}
	if _, err = access.Answer(t.Context(), st, "slack:T1/never", access.Viewer, "slack:T1/admin", true, noted); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("an answer to nobody's wish: %v", err)
	}
}
