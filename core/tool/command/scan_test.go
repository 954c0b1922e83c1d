package command_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What a command writes without saying so is found afterwards; git's own files and the bot's are left out.
func TestChangedFilesAreFound(t *testing.T) {
	env := workspace(t)
	for _, name := range []string{"same", "changed", "removed", "sub/deep", ".git/config"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(env.Dir, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(env.Dir, name), []byte("1"), 0o644))
	}
	r := run(t, env, `cat same; f=changed; echo 22 > $f; rm removed; echo 333 > sub/deep; echo > .git/config; mkdir d; echo 1 > d/new`, 0)
	if want := []string{"changed", "d/new", "removed", "sub/deep"}; !slices.Equal(r.Changed, want) {
		t.Errorf("changed %v, want %v", r.Changed, want)
	}
	if r := run(t, env, "cat same", 0); len(r.Changed) != 0 {
		t.Errorf("reading changed %v", r.Changed)
	}
}
