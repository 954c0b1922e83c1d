package worktree_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"paragents/core"
	"paragents/core/worktree"
)

func TestMerge(t *testing.T) {
	b := on(t)
	one, two := b.session("bcdfgh"), b.session("jkmnpq")
	b.write(one.Dir(), "menu.txt", "stew\nbread\ntea\n")
	b.write(two.Dir(), "menu.txt", "soup\nbread\ncoffee\n")
	b.write(two.Dir(), "new.txt", "two\n")
	b.write(b.dir, "draft.txt", "somebody's own\n") // in nobody's way
	b.write(b.dir, "README.md", "changed here\n")
	b.merge(one)
	b.merge(two)
	if got := b.read(b.dir, "menu.txt"); got != "stew\nbread\ncoffee\n" {
		t.Errorf("menu %q", got)
	}
	if b.read(b.dir, "new.txt") != "two\n" || b.read(b.dir, "README.md") != "changed here\n" || b.read(b.dir, "draft.txt") != "somebody's own\n" {
		t.Error("a file is not as it should be")
	}
	if got := b.run(b.dir, "git", "status", "--porcelain"); got != "M README.md\n?? draft.txt" {
		t.Errorf("status %q", got)
	}
	if parents := b.run(b.dir, "git", "log", "-1", "--format=%P %an"); len(strings.Fields(parents)) != 3 || !strings.HasSuffix(parents, "Ann") {
		t.Errorf("parents and author %q", parents)
	}
	if p, err := b.plan(one); err != nil || !p.Nothing() {
		t.Errorf("once more: %+v, %v", p, err)
	}
}

// What somebody has changed in the checkout and not committed is never written over.
func TestMergeRefusesWhereItWouldOverwrite(t *testing.T) {
	for name, do := range map[string]func(b *bench, at worktree.At){
		"changed":   func(b *bench, at worktree.At) { b.write(b.dir, "menu.txt", "mine\n") },
		"staged":    func(b *bench, at worktree.At) { b.write(b.dir, "menu.txt", "mine\n"); b.run(b.dir, "git", "add", "-A") },
		"removed":   func(b *bench, at worktree.At) { b.run(b.dir, "rm", "menu.txt") },
		"untracked": func(b *bench, at worktree.At) { b.write(b.dir, "new.txt", "mine\n") },
		"ignored": func(b *bench, at worktree.At) {
			b.run(at.Dir(), "git", "add", "new.txt")
			b.write(b.dir, ".git/info/exclude", "new.txt\n.paragents/\n")
			b.write(b.dir, "new.txt", "mine\n")
		},
		"a directory":  func(b *bench, at worktree.At) { b.write(b.dir, "new.txt/x", "mine\n") },
		"other branch": func(b *bench, at worktree.At) { b.run(b.dir, "git", "checkout", "-q", "-b", "elsewhere") },
		"in a merge": func(b *bench, at worktree.At) {
			b.run(b.dir, "sh", "-c", "git checkout -q -b x; echo x >menu.txt; git commit -qam x; git checkout -q main; echo y >menu.txt; git commit -qam y; git merge -q x || true")
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := on(t)
			at := b.session("bcdfgh")
			b.write(at.Dir(), "menu.txt", "stew\n")
			b.write(at.Dir(), "new.txt", "theirs\n")
			do(b, at)
			before := b.run(b.dir, "sh", "-c", "git rev-parse HEAD; git status --porcelain --ignored; cat *.txt new.txt/* 2>/dev/null || true")
			p, err := b.plan(at)
			if err == nil && len(p.Conflicts) == 0 {
				err = b.git.Apply(t.Context(), at, p)
			}
			if !errors.Is(err, core.ErrRefused) {
				t.Errorf("%+v, %v", p, err)
			}
			if after := b.run(b.dir, "sh", "-c", "git rev-parse HEAD; git status --porcelain --ignored; cat *.txt new.txt/* 2>/dev/null || true"); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
		})
	}
}

// A merge that was cut off when some files were written and others not is gone on with.
func TestMergeGoesOnWhereItWasCutOff(t *testing.T) {
	b := on(t)
	at := b.session("bcdfgh")
	b.write(at.Dir(), "menu.txt", "stew\n")
	b.write(at.Dir(), "new.txt", "new\n")
	b.run(at.Dir(), "rm", "README.md")
	b.write(b.dir, "menu.txt", "stew\n")
	b.write(b.dir, "new.txt", "new\n")
	b.run(b.dir, "rm", "README.md")
	b.merge(at)
	if got := b.run(b.dir, "git", "status", "--porcelain"); got != "" || b.read(b.dir, "menu.txt") != "stew\n" {
		t.Errorf("status %q, menu %q", got, b.read(b.dir, "menu.txt"))
	}
}

// A conflict changes nothing; given back, it lies in the session's own tree, and what is resolved there is merged.
func TestConflictIsGivenBack(t *testing.T) {
	b := on(t)
	at := b.session("bcdfgh")
	b.write(at.Dir(), "menu.txt", "stew\nbread\ntea\n")
	b.write(b.dir, "menu.txt", "rice\nbread\ntea\n")
	b.commit(b.dir, "rice")
	head := b.run(b.dir, "git", "rev-parse", "HEAD")
	p, err := b.plan(at)
	must(t, err)
	if !slices.Equal(p.Conflicts, []string{"menu.txt"}) || p.Merged != "" {
		t.Fatalf("%+v", p)
	}
	if b.run(b.dir, "git", "rev-parse", "HEAD") != head || b.run(b.dir, "git", "status", "--porcelain") != "" || b.run(at.Dir(), "git", "status", "--porcelain") != "" {
		t.Error("the conflict has left something")
	}
	list, err := b.git.GiveBack(t.Context(), at, "Merge main")
	must(t, err)
	at.Session.Worktree.Conflicts = list
	if !slices.Equal(list, []string{"menu.txt"}) || !strings.Contains(b.read(at.Dir(), "menu.txt"), "<<<<<<< ") {
		t.Fatalf("given back %q: %q", list, b.read(at.Dir(), "menu.txt"))
	}
	if w := b.work(at); !w.Merging || !w.Uncommitted {
		t.Errorf("%+v", w)
	}
	if _, err := b.git.Save(t.Context(), at, b.work(at), "x"); !errors.Is(err, core.ErrRefused) || !strings.Contains(err.Error(), "conflict markers") {
		t.Errorf("with markers: %v", err)
	}
	b.write(at.Dir(), "menu.txt", "rice stew\nbread\ntea\n")
	b.merge(at)
	if got := b.read(b.dir, "menu.txt"); got != "rice stew\nbread\ntea\n" {
		t.Errorf("menu %q", got)
	}
	if w := b.work(at); !w.Empty() || w.Merging {
		t.Errorf("after the merge: %+v", w)
	}
}
