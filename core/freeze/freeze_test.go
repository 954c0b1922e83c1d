package freeze_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"paragents/core"
	"paragents/core/audit"
	"paragents/core/freeze"
	"paragents/store/local"
)

func TestFreezeAndThaw(t *testing.T) {
	s, err := local.Open(t.Context(), local.Config{Path: filepath.Join(t.TempDir(), "state.db"), NoSync: true, Private: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, why := t.Context(), "a leak"
	set := func(scope freeze.Scope, reason *string) error { return freeze.Set(ctx, s, scope, "test:ann", reason) }
	if err := set(freeze.Workspace("shop"), nil); !errors.Is(err, core.ErrRefused) {
		t.Errorf("thawed what was not frozen: %v", err)
	}
	for _, scope := range []freeze.Scope{"", "shop", "workspace/", "everything/x"} {
		if err := set(scope, &why); !errors.Is(err, core.ErrRefused) {
			t.Errorf("%q: %v", scope, err)
		}
	}
	for _, scope := range []freeze.Scope{freeze.Workspace("shop"), freeze.Person("test:bob")} {
		if err := set(scope, &why); err != nil {
			t.Fatal(err)
		}
	}
	if err := set(freeze.Workspace("shop"), &why); !errors.Is(err, core.ErrRefused) {
		t.Errorf("frozen twice: %v", err)
	}
	var w freeze.Watch
	if err := w.Refresh(ctx, s); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		workspace string
		who       core.Person
		want      freeze.Scope
	}{{"shop", "test:eve", "workspace/shop"}, {"other", "test:bob", "person/test:bob"}, {"other", "test:eve", ""}} {
		scope, ice, ok := w.Over(c.workspace, c.who)
		if scope != c.want || ok != (c.want != "") || ok && (ice.Reason != why || ice.By != "test:ann") {
			t.Errorf("over %s in %s: %q %+v", c.who, c.workspace, scope, ice)
		}
	}
	if err := set(freeze.All, &why); err != nil {
		t.Fatal(err)
	}
	f, err := freeze.Read(ctx, s)
	if err != nil || !slices.Equal(f.List(), []freeze.Scope{freeze.All, freeze.Person("test:bob"), freeze.Workspace("shop")}) {
		t.Errorf("%v, %v", f.List(), err)
	}
	if scope, _, ok := f.Over("other", "test:eve"); !ok || scope != freeze.All {
		t.Errorf("all does not cover everybody: %q", scope)
	}
	for _, scope := range f.List() {
		if err := set(scope, nil); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := audit.Last(ctx, s, audit.Filter{}, 100)
	if err != nil || len(entries) != 6 || entries[0].What != "frozen" || entries[0].Why != why || entries[5].What != "thawed" {
		t.Errorf("the audit log: %v, %v", entries, err)
	}
}
