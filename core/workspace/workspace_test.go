package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"paragents/core/scheduler/schedtest"
	"paragents/core/workspace"
)

func TestRegister(t *testing.T) {
	s, dir, copied := schedtest.Open(t), t.TempDir(), t.TempDir()
	register := func(dir string, served bool) error {
		return workspace.Register(t.Context(), s, "web", dir, "h1", served)
	}
	// The first directory is the workspace, whoever asks then.
	for _, served := range []bool{false, true, false} {
		if err := register(dir, served); err != nil {
			t.Fatal(err)
		}
	}
	// An empty directory, such as the one under a volume that is not mounted, is not, while somebody serves the real one.
	if err := register(copied, true); !errors.Is(err, workspace.ErrOther) {
		t.Errorf("an empty directory beside the served one: %v", err)
	}
	if _, err := os.Stat(filepath.Join(copied, workspace.File)); err == nil {
		t.Error("the refused directory got an id")
	}
	// Another workspace's directory never is.
	if err := workspace.Register(t.Context(), s, "db", copied, "h1", false); err != nil {
		t.Fatal(err)
	}
	for _, served := range []bool{false, true} {
		if err := register(copied, served); !errors.Is(err, workspace.ErrOther) {
			t.Errorf("another workspace's directory: %v", err)
		}
	}
	// What was cleaned away comes back when nobody else serves it.
	if err := os.RemoveAll(filepath.Join(dir, ".paragents")); err != nil {
		t.Fatal(err)
	}
	if err := register(dir, false); err != nil {
		t.Error(err)
	}
	if err := register(dir, true); err != nil {
		t.Error(err)
	}
}

// Many processes meet a new directory at the same moment, some through another name of it: all serve it.
func TestRegisterTogether(t *testing.T) {
	s, dir := schedtest.Open(t), t.TempDir()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := workspace.Register(t.Context(), s, "web", dir, "h", false); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	left, err := os.ReadDir(filepath.Join(dir, ".paragents"))
	if err != nil || len(left) != 1 {
		t.Errorf("left in .paragents: %v, %v", left, err)
	}
}

func TestRegisterWithoutDirectory(t *testing.T) {
	if err := workspace.Register(t.Context(), schedtest.Open(t), "web", filepath.Join(t.TempDir(), "gone"), "h", false); err == nil {
		t.Error("a directory that does not exist was registered")
	}
}
