package file_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paragents/core/tool/file"
)

// did runs calls that must succeed and returns what they changed.
func (s *session) did(changes *file.Changes, name string, a args) {
	s.t.Helper()
	r, err := s.call(name, a)
	must(s.t, err)
	changes.Add("p1", r.Changes...)
}

func holds(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s holds %q (%v), want %q", path, got, err, want)
	}
}

func TestUndoPutsBackWhatNobodyChangedSince(t *testing.T) {
	dir, s := workspace(t, map[string]string{"a.txt": "one\n", "b.txt": "one\n", "c.txt": "one\n", "d.txt": "one\n"})
	must(t, os.Chmod(filepath.Join(dir, "a.txt"), 0o600))
	var c file.Changes
	for _, name := range []string{"a.txt", "b.txt", "c.txt", "d.txt"} {
		s.out("read_file", args{"path": name})
		s.did(&c, "edit_file", args{"path": name, "old": "one", "new": "two"})
		s.did(&c, "edit_file", args{"path": name, "old": "two", "new": "three"})
	}
	s.did(&c, "write_file", args{"path": "sub/new.txt", "content": "new"})
	s.did(&c, "write_file", args{"path": "sub/kept.txt", "content": "new"})
	text, n := c.Diff(s.env.Root)
	if n != 6 || !strings.Contains(text, "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+three\n") || !strings.Contains(text, "--- /dev/null\n+++ b/sub/new.txt") {
		t.Errorf("%d files differ:\n%s", n, text)
	}
	put(t, filepath.Join(dir, "b.txt"), "somebody's\n")
	must(t, os.Remove(filepath.Join(dir, "c.txt")))
	put(t, filepath.Join(dir, "sub/kept.txt"), "somebody's\n")
	must(t, os.Remove(filepath.Join(dir, "d.txt")))
	must(t, os.Symlink("a.txt", filepath.Join(dir, "d.txt")))
	left := map[string]bool{}
	for _, u := range c.Undo(s.env.Root) {
		if u.Err != nil {
			left[u.Path] = true
		}
	}
	if len(left) != 4 || !left["b.txt"] || !left["c.txt"] || !left["d.txt"] || !left["sub/kept.txt"] {
		t.Errorf("left as they are: %v", left)
	}
	holds(t, filepath.Join(dir, "a.txt"), "one\n")
	holds(t, filepath.Join(dir, "b.txt"), "somebody's\n")
	holds(t, filepath.Join(dir, "sub/kept.txt"), "somebody's\n")
	if info, err := os.Stat(filepath.Join(dir, "a.txt")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for _, gone := range []string{"c.txt", "sub/new.txt"} {
		if _, err := os.Lstat(filepath.Join(dir, gone)); !os.IsNotExist(err) {
			t.Errorf("%s is there: %v", gone, err)
		}
	}
}

// What was kept is known by its digest: one that somebody changed is not put anywhere.
func TestUndoTakesOnlyWhatWasKept(t *testing.T) {
	dir, s := workspace(t, map[string]string{"a.txt": "one\n"})
	var c file.Changes
	s.out("read_file", args{"path": "a.txt"})
	s.did(&c, "edit_file", args{"path": "a.txt", "old": "one", "new": "two"})
	kept, err := filepath.Glob(filepath.Join(dir, ".paragents/run/p1/before/*"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept %v, %v", kept, err)
	}
	put(t, kept[0], "evil\n")
	if u := c.Undo(s.env.Root); u[0].Err == nil {
		t.Error("it was put back")
	}
	holds(t, filepath.Join(dir, "a.txt"), "two\n")
}
