package app

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"paragents/core"
	"paragents/core/agent"
	"paragents/core/fleet"
	"paragents/core/scheduler/schedtest"
	"paragents/core/state"
)

// A replica serves a workspace of a shared store only in the directory that is registered for it, and says why not.
func TestPremises(t *testing.T) {
	st := schedtest.Open(t)
	here, elsewhere := t.TempDir(), t.TempDir()
	at := func(dir string, alone bool) *premises {
		return newPremises(st, alone, []agent.Workspace{{Name: "web", Dir: dir}}, slog.New(slog.DiscardHandler))
	}
	first := at(here, false)
	if first.serves("web") {
		t.Error("it serves what it has not looked at")
	}
	first.look(t.Context(), "r1")
	if !first.serves("web") || first.serves("db") || len(first.problems()) > 0 {
		t.Errorf("the first replica: %v, %v", first.served(), first.problems())
	}
	// The first one is alive and serves it.
	var b state.Batch
	b.Put(state.TermsKey("r1"), fleet.Terms{Replica: "r1", Workspaces: map[string]fleet.Rules{"web": {}}}, 0)
	b.InsertNow(state.Replicas, "r1", 0)
	if _, err := b.Commit(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	for _, self := range []core.ReplicaID{"", "r2"} {
		other := at(elsewhere, false)
		other.look(t.Context(), self)
		if other.serves("web") || !slices.ContainsFunc(other.problems(), func(p string) bool { return strings.Contains(p, "mount the same directory") }) {
			t.Errorf("the second replica, elsewhere: %v, %v", other.served(), other.problems())
		}
	}
	same := at(here, false)
	same.look(t.Context(), "r2")
	if !same.serves("web") {
		t.Errorf("the second replica, in the same directory: %v", same.problems())
	}
	if alone := at(elsewhere, true); !alone.serves("web") {
		t.Error("on a store of its own a directory is what the configuration says")
	}
}
