package worktree_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"paragents/core"
	"paragents/core/worktree"
)

// B055: each session has its own work tree; after both worked, each sees only its own changes, and what one checks out touches the other's files not.
func TestB055EachSessionHasItsOwnTree(t *testing.T) {
	b := on(t)
	one, two := b.session("bcdfgh"), b.session("jkmnpq")
	b.write(one.Dir(), "menu.txt", "stew\nbread\ntea\n")
	b.run(two.Dir(), "git", "checkout", "-q", "-b", "other")
	b.write(two.Dir(), "new.txt", "two\n")
	b.run(two.Dir(), "git", "reset", "-q", "--hard")
	for _, tt := range []struct{ dir, file, want string }{
		{one.Dir(), "menu.txt", "stew\nbread\ntea\n"}, {one.Dir(), "new.txt", "-"},
		{two.Dir(), "menu.txt", "soup\nbread\ntea\n"}, {two.Dir(), "new.txt", "two\n"},
		{b.dir, "menu.txt", "soup\nbread\ntea\n"}, {b.dir, "new.txt", "-"},
	} {
		if got := b.read(tt.dir, tt.file); got != tt.want {
			t.Errorf("%s in %s: %q, want %q", tt.file, tt.dir, got, tt.want)
		}
	}
	if got := b.run(b.dir, "git", "status", "--porcelain"); got != "" {
		t.Errorf("the workspace's own checkout shows %q", got)
	}
	if got := b.run(one.Dir(), "git", "symbolic-ref", "--short", "HEAD"); got != "paragents/bcdfgh" {
		t.Errorf("on branch %s", got)
	}
}

// What stands in the way of a worktree is said in words, with what to do.
func TestRefusals(t *testing.T) {
	b := on(t)
	plain, empty := t.TempDir(), t.TempDir()
	b.run(empty, "git", "init", "-q")
	b.run(b.dir, "git", "checkout", "-q", "--detach")
	for dir, want := range map[string]string{plain: "git init", empty: "no commit yet", b.dir: "check one out"} {
		if _, err := b.git.Begin(t.Context(), dir); !errors.Is(err, core.ErrRefused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want it to say %q", dir, err, want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := worktree.New(direct{}).Begin(t.Context(), b.dir); !errors.Is(err, core.ErrRefused) || !strings.Contains(err.Error(), "not installed") {
		t.Errorf("without git: %v", err)
	}
}

// A run may die at any point of making the worktree: the next one makes it whole, and one that is whole is left alone.
func TestMakeGoesOnWhereItWasCutOff(t *testing.T) {
	for name, cut := range map[string]func(b *bench, at worktree.At){
		"only the branch": func(b *bench, at worktree.At) {
			b.run(b.dir, "git", "worktree", "remove", "-f", "-f", at.Dir())
		},
		"half of the files, and a lock": func(b *bench, at worktree.At) {
			must(b.t, os.Remove(filepath.Join(at.Dir(), "menu.txt")))
			b.write(b.dir, ".git/worktrees/bcdfgh/index.lock", "")
		},
		"only a directory": func(b *bench, at worktree.At) {
			b.run(b.dir, "git", "worktree", "remove", "-f", "-f", at.Dir())
			b.write(at.Dir(), "menu.txt", "so")
		},
		"git's half only": func(b *bench, at worktree.At) {
			must(b.t, os.RemoveAll(at.Dir()))
			must(b.t, os.Remove(filepath.Join(b.dir, ".git/worktrees/bcdfgh/gitdir")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := on(t)
			at := b.session("bcdfgh")
			at.Session.Worktree.Made = false
			cut(b, at)
			must(t, b.git.Make(t.Context(), at))
			if w := b.work(at); !w.Empty() || b.read(at.Dir(), "menu.txt") != "soup\nbread\ntea\n" {
				t.Errorf("it holds %+v, menu %q", w, b.read(at.Dir(), "menu.txt"))
			}
			b.write(at.Dir(), "menu.txt", "stew\n")
			must(t, b.git.Restore(t.Context(), at))
			if b.read(at.Dir(), "menu.txt") != "stew\n" {
				t.Error("what was there was written over")
			}
		})
	}
}

// The workspace may be a folder of its repository; the session then works in the same folder of its own tree.
func TestAFolderOfARepository(t *testing.T) {
	b := on(t)
	b.write(b.dir, "app/main.go", "package main\n")
	b.commit(b.dir, "app")
	top := b.dir
	b.dir = filepath.Join(top, "app")
	at := b.session("bcdfgh")
	if want := filepath.Join(b.dir, ".paragents/worktrees/bcdfgh/app"); at.Dir() != want {
		t.Fatalf("works in %s, want %s", at.Dir(), want)
	}
	b.write(at.Dir(), "main.go", "package app\n")
	b.write(at.Dir(), "../menu.txt", "stew\n")
	p, err := b.plan(at)
	must(t, err)
	if want := []string{"git:index", "main.go"}; !slices.Equal(p.Claims, want) {
		t.Errorf("claims %q, want %q", p.Claims, want)
	}
	must(t, b.git.Apply(t.Context(), at, p))
	if b.read(top, "app/main.go") != "package app\n" || b.read(top, "menu.txt") != "stew\n" {
		t.Error("not all of it was merged")
	}
}

func TestWorkIsWhatLiesThere(t *testing.T) {
	b := on(t)
	at := b.session("bcdfgh")
	if w := b.work(at); !w.Empty() || len(w.Files) != 0 {
		t.Errorf("at the beginning: %+v", w)
	}
	b.write(at.Dir(), "menu.txt", "stew\nbread\ntea\n")
	b.commit(at.Dir(), "one")
	b.write(at.Dir(), "new.txt", "1\n2\n")
	b.write(at.Dir(), ".paragents/run/x/before/y", "kept by the bot")
	staged := b.run(at.Dir(), "git", "status", "--porcelain")
	w := b.work(at)
	if w.Commits != 1 || !w.Uncommitted || !slices.Equal(w.Files, []string{"menu.txt", "new.txt"}) || w.Added != 3 || w.Deleted != 1 {
		t.Errorf("%+v", w)
	}
	if got := b.run(at.Dir(), "git", "status", "--porcelain"); got != staged || !strings.Contains(got, "?? new.txt") {
		t.Errorf("looking has changed the index: %q, was %q", got, staged)
	}
	diff, err := b.git.Diff(t.Context(), at, w)
	if err != nil || !strings.Contains(diff, "-soup\n+stew\n") || !strings.Contains(diff, "+2\n") || strings.Contains(diff, "kept by the bot") {
		t.Errorf("diff %v\n%s", err, diff)
	}
	if _, err := b.git.Save(t.Context(), at, w, "two"); err != nil {
		t.Fatal(err)
	}
	if again := b.work(at); again.Digest != w.Digest || again.Uncommitted || again.Commits != 2 {
		t.Errorf("saved: %+v, was %+v", again, w)
	}
	if got := b.run(at.Dir(), "git", "status", "--porcelain"); got != "" {
		t.Errorf("after saving: %q", got)
	}
}

// Hooks and monitors of the repository do not run, whatever is done.
func TestNoHookRuns(t *testing.T) {
	b := on(t)
	for _, hook := range []string{"post-checkout", "pre-commit", "commit-msg", "post-commit", "pre-merge-commit", "post-merge", "reference-transaction", "post-index-change", "query-watchman"} {
		b.write(b.dir, ".git/hooks/"+hook, "#!/bin/sh\necho "+hook+" >>"+b.dir+"/../ran\n")
		must(t, os.Chmod(filepath.Join(b.dir, ".git/hooks", hook), 0o755))
	}
	b.run(b.dir, "git", "config", "core.fsmonitor", ".git/hooks/query-watchman")
	b.run(b.dir, "git", "config", "diff.external", "sh -c 'echo differ >>"+b.dir+"/../ran'")
	must(t, os.RemoveAll(b.dir+"/../ran")) // git config may have asked the monitor
	at := b.session("bcdfgh")
	b.write(at.Dir(), "menu.txt", "stew\n")
	if _, err := b.git.Diff(t.Context(), at, b.work(at)); err != nil {
		t.Fatal(err)
	}
	b.merge(at)
	must(t, b.git.Remove(t.Context(), at))
	if got := b.read(b.dir, "../ran"); got != "-" {
		t.Errorf("ran: %q", got)
	}
}

// Who works in a worktree can change the link in it that says where git's own directory is; nobody follows it.
func TestTheLinkInTheWorktreeIsNotFollowed(t *testing.T) {
	b := on(t)
	at := b.session("bcdfgh")
	b.run(at.Dir(), "git", "init", "-q", "evil")
	b.run(filepath.Join(at.Dir(), "evil"), "git", "config", "filter.x.clean", "echo ran >"+b.dir+"/../evil; cat")
	b.write(at.Dir(), ".gitattributes", "*.txt filter=x\n")
	b.write(at.Dir(), "menu.txt", "stew\n")
	b.run(at.Dir(), "mv", "evil/.git", "evil.git")
	b.write(at.Dir(), ".git", "gitdir: "+at.Dir()+"/evil.git\n")
	if w := b.work(at); !slices.Contains(w.Files, "menu.txt") {
		t.Errorf("%+v", w)
	}
	if b.read(b.dir, "../evil") != "-" {
		t.Error("a filter of the worktree's own making ran")
	}
}

// The janitor takes away what would not be missed, and nothing else.
func TestRetire(t *testing.T) {
	for _, tt := range []struct {
		name string
		gone bool
		do   func(b *bench, at *worktree.At)
	}{
		{"nothing in it", true, func(*bench, *worktree.At) {}},
		{"its session is open", false, func(_ *bench, at *worktree.At) { at.Session.Closed = false }},
		{"uncommitted", false, func(b *bench, at *worktree.At) { b.write(at.Dir(), "menu.txt", "stew\n") }},
		{"a new file", false, func(b *bench, at *worktree.At) { b.write(at.Dir(), "new.txt", "x") }},
		{"committed", false, func(b *bench, at *worktree.At) { b.write(at.Dir(), "new.txt", "x"); b.commit(at.Dir(), "x") }},
		{"committed on a branch of its own making", true, func(b *bench, at *worktree.At) {
			b.run(at.Dir(), "git", "checkout", "-q", "-b", "mine")
			b.write(at.Dir(), "new.txt", "x")
			b.commit(at.Dir(), "x")
		}},
		{"on no branch", false, func(b *bench, at *worktree.At) {
			b.run(at.Dir(), "git", "checkout", "-q", "--detach")
			b.write(at.Dir(), "new.txt", "x")
			b.commit(at.Dir(), "x")
		}},
		{"merged", true, func(b *bench, at *worktree.At) { b.write(at.Dir(), "new.txt", "x"); b.merge(*at) }},
		{"merged, and more since", false, func(b *bench, at *worktree.At) {
			b.write(at.Dir(), "new.txt", "x")
			b.merge(*at)
			b.write(at.Dir(), "newer.txt", "x")
		}},
		{"kept", false, func(_ *bench, at *worktree.At) { at.Session.Worktree.Kept = true }},
		{"discarded", true, func(b *bench, at *worktree.At) {
			b.write(at.Dir(), "new.txt", "x")
			at.Session.Worktree.Discarded = b.work(*at).Digest
		}},
		{"discarded, and more since", false, func(b *bench, at *worktree.At) {
			b.write(at.Dir(), "new.txt", "x")
			at.Session.Worktree.Discarded = b.work(*at).Digest
			b.write(at.Dir(), "newer.txt", "x")
		}},
		{"removed by hand", true, func(b *bench, at *worktree.At) { must(b.t, os.RemoveAll(at.Dir())) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := on(t)
			at := b.session("bcdfgh")
			at.Session.Closed = true
			tt.do(b, &at)
			gone, why, err := b.git.Retire(t.Context(), at)
			must(t, err)
			_, missing := os.Lstat(at.Dir())
			if gone != tt.gone || errors.Is(missing, fs.ErrNotExist) != tt.gone || gone == (why != "") {
				t.Errorf("gone %v (%s), directory: %v; want %v", gone, why, missing, tt.gone)
			}
			if branches := b.run(b.dir, "git", "branch", "--list", "paragents/*"); (branches == "") != tt.gone {
				t.Errorf("branches %q", branches)
			}
			if tt.gone {
				if again, _, err := b.git.Retire(t.Context(), at); !again || err != nil {
					t.Errorf("again: %v, %v", again, err)
				}
			}
		})
	}
}
