package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"paragents/core"
)

// At is the worktree of a session in a workspace.
type At struct {
	Workspace string // absolute directory
	Session   core.Session
}

// root is the worktree's top; Dir the directory in it that stands for the workspace's.
func (a At) root() string {
	return filepath.Join(a.Workspace, filepath.FromSlash(core.Worktrees), string(a.Session.Ref))
}

// Dir is the directory that the session works in.
func (a At) Dir() string { return a.Session.Dir(a.Workspace) }

func (a At) branch() string { return "refs/heads/" + core.BranchOf(a.Session.Ref) }

// rel is the worktree's top relative to the workspace.
func (a At) rel() string {
	return filepath.Join(filepath.FromSlash(core.Worktrees), string(a.Session.Ref))
}

// Begin says from where the worktree of a new session begins: the commit of the workspace's checkout. A core.ErrRefused says what a person has to do first.
func (g *Git) Begin(ctx context.Context, workspace string) (core.Worktree, error) {
	prefix, err := g.line(ctx, workspace, "rev-parse", "--show-prefix")
	if err != nil {
		if failed(err, 128) {
			return core.Worktree{}, refuse("%s is no git repository (%s); run git init and commit there, or begin a session that is not isolated", workspace, says(err))
		}
		return core.Worktree{}, err
	}
	base, err := g.line(ctx, workspace, "symbolic-ref", "--short", "HEAD")
	if err != nil {
		return core.Worktree{}, refuse("%s is on no branch (%s); check one out there first", workspace, says(err))
	}
	commit, err := g.line(ctx, workspace, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil {
		return core.Worktree{}, refuse("the repository at %s has no commit yet; make one first", workspace)
	}
	return core.Worktree{Base: base, Commit: commit, Sub: strings.TrimSuffix(prefix, "/")}, nil
}

// says is what git said, in one line.
func says(err error) string {
	text, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "git "), "\n")
	return text
}

// Make makes the worktree and its branch at the commit that the session begins from. What an attempt left that was cut off is removed first, so nothing may have worked in it.
func (g *Git) Make(ctx context.Context, a At) error {
	if at, err := g.line(ctx, a.Workspace, "rev-parse", "--verify", "--quiet", a.branch()); err == nil && at != a.Session.Worktree.Commit {
		return refuse("there is a branch %s already; rename it, or begin another session", core.BranchOf(a.Session.Ref))
	} else if err != nil && !failed(err, 1) {
		return err
	}
	if err := g.folder(ctx, a); err != nil {
		return err
	}
	if err := g.clear(ctx, a); err != nil {
		return err
	}
	return g.add(ctx, a, "-B", core.BranchOf(a.Session.Ref), "--", a.root(), a.Session.Worktree.Commit)
}

// Restore makes sure that the worktree of a session is still there; one that is gone is made again from its branch. What was not committed is lost then.
func (g *Git) Restore(ctx context.Context, a At) error {
	if _, err := os.Lstat(filepath.Join(a.root(), ".git")); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for worktree %s: %w", a.root(), err)
	}
	if _, err := g.git(ctx, a.Workspace, "rev-parse", "--verify", "--quiet", a.branch()); err != nil {
		if failed(err, 1) {
			return refuse("the worktree of session %s is gone, and so is its branch %s; begin a new session", a.Session.Ref, core.BranchOf(a.Session.Ref))
		}
		return err
	}
	if err := g.folder(ctx, a); err != nil {
		return err
	}
	if err := g.clear(ctx, a); err != nil {
		return err
	}
	return g.add(ctx, a, "--", a.root(), core.BranchOf(a.Session.Ref))
}

func (g *Git) add(ctx context.Context, a At, args ...string) error {
	// Locked, so that no prune takes it for a leftover while its directory is not mounted somewhere.
	args = append([]string{"worktree", "add", "--quiet", "--lock", "--reason", "session " + string(a.Session.Ref) + " of paragents"}, args...)
	if _, err := g.call(ctx, call{dir: a.Workspace, limit: slow}, args...); err != nil {
		return fmt.Errorf("make worktree %s: %w", a.root(), err)
	}
	if _, err := os.Stat(a.Dir()); err != nil {
		return refuse("the commit %.12s has no directory %s, which the workspace is; commit something in it first", a.Session.Worktree.Commit, a.Session.Worktree.Sub)
	}
	return nil
}

// folder makes the folder of the worktrees, which must be no link, and has git leave it alone.
func (g *Git) folder(ctx context.Context, a At) error {
	root, err := os.OpenRoot(a.Workspace)
	if err != nil {
		return fmt.Errorf("open workspace %s: %w", a.Workspace, err)
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.FromSlash(core.Worktrees), 0o700); err != nil {
		return fmt.Errorf("make folder of worktrees: %w", err)
	}
	for dir := filepath.FromSlash(core.Worktrees); dir != "."; dir = filepath.Dir(dir) {
		if info, err := root.Lstat(dir); err != nil || !info.IsDir() {
			return refuse("%s in %s is no directory of its own; remove it first", dir, a.Workspace)
		}
	}
	return g.ignore(ctx, a.Workspace)
}

// own are the bot's folders as a line of git's exclude file.
const own = ".paragents/"

// ignore has git leave the bot's folders alone, in this checkout and in every worktree, unless it does already.
func (g *Git) ignore(ctx context.Context, workspace string) error {
	_, err := g.git(ctx, workspace, "check-ignore", "--quiet", "--", filepath.Join(filepath.FromSlash(core.Worktrees), "x"))
	if err == nil || !failed(err, 1) {
		return err
	}
	path, err := g.line(ctx, workspace, "rev-parse", "--path-format=absolute", "--git-path", "info/exclude")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("have git ignore %s: %w", own, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("have git ignore %s: %w", own, err)
	}
	_, err = f.WriteString("\n" + own + "\n")
	return errors.Join(err, f.Close())
}

// clear removes a worktree's directory and what git knows of it, as far as they are there; the branch stays.
func (g *Git) clear(ctx context.Context, a At) error {
	own, err := g.dir(ctx, a)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(a.Workspace)
	if err != nil {
		return fmt.Errorf("open workspace %s: %w", a.Workspace, err)
	}
	defer root.Close()
	if err := root.RemoveAll(a.rel()); err != nil {
		return fmt.Errorf("remove worktree %s: %w", a.root(), err)
	}
	// Git would refuse to forget what is locked or half there.
	if err := os.RemoveAll(own); err != nil {
		return fmt.Errorf("remove what git knows of worktree %s: %w", a.root(), err)
	}
	return nil
}
