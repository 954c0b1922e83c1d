package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Plan is a merge that was worked out and not carried out yet.
type Plan struct {
	Branch string   // of the workspace's checkout
	Target string   // commit that it stands on
	Merged string   // commit that it shall stand on; "" with Conflicts
	Files  []string // that this changes there, relative to the repository, sorted
	Claims []string // the same relative to the workspace, and the index: what nobody else may be writing
	// Conflicts are the files that cannot be merged by themselves. Nothing was changed.
	Conflicts []string
}

// Nothing reports whether the checkout has it all already.
func (p Plan) Nothing() bool { return p.Merged == p.Target }

// Repository is a short name for the repository of a workspace: the same for all workspaces and worktrees of it.
func (g *Git) Repository(ctx context.Context, workspace string) (string, error) {
	dir, err := g.line(ctx, workspace, "rev-parse", "--path-format=absolute", "--git-common-dir")
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:8]), err
}

// Plan works out how head, a commit of a session's worktree, is merged into the workspace's checkout. It changes no branch and no file. A core.ErrRefused says what a person has to do first.
func (g *Git) Plan(ctx context.Context, a At, head, message string) (Plan, error) {
	p := Plan{Branch: a.Session.Worktree.Base}
	on, err := g.line(ctx, a.Workspace, "symbolic-ref", "--quiet", "--short", "HEAD")
	if err != nil && !failed(err, 1) {
		return p, err
	}
	if on != p.Branch {
		if on == "" {
			on = "no branch"
		}
		return p, refuse("%s is on %s, and the session began from %s; check out %s there first", a.Workspace, on, p.Branch, p.Branch)
	}
	if err := g.calm(ctx, a.Workspace); err != nil {
		return p, err
	}
	if p.Target, err = g.line(ctx, a.Workspace, "rev-parse", "--verify", "HEAD^{commit}"); err != nil {
		return p, err
	}
	if p.Merged, p.Conflicts, err = g.join(ctx, a.Workspace, p.Target, head, message); err != nil || len(p.Conflicts) > 0 || p.Nothing() {
		return p, err
	}
	out, err := g.git(ctx, a.Workspace, "diff-tree", "-r", "-z", "--name-only", "--no-renames", p.Target, p.Merged)
	if err != nil {
		return p, err
	}
	p.Files = names(out)
	slices.Sort(p.Files)
	p.Claims = []string{"git:index"}
	for _, f := range p.Files {
		if rel, err := filepath.Rel(filepath.FromSlash(a.Session.Worktree.Sub), filepath.FromSlash(f)); err == nil && filepath.IsLocal(rel) {
			p.Claims = append(p.Claims, filepath.ToSlash(rel))
		}
	}
	return p, nil
}

// join merges two commits without a checkout: into the one that has the other, or a new one.
func (g *Git) join(ctx context.Context, dir, target, head, message string) (merged string, conflicts []string, err error) {
	for _, has := range [][2]string{{head, target}, {target, head}} {
		_, err := g.git(ctx, dir, "merge-base", "--is-ancestor", has[0], has[1])
		if err == nil {
			return has[1], nil, nil
		}
		if !failed(err, 1) {
			return "", nil, err
		}
	}
	out, err := g.git(ctx, dir, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", target, head)
	if err != nil && !failed(err, 1) {
		if failed(err, 129) {
			return "", nil, refuse("this git is too old to merge beside a checkout; 2.38 or newer is needed")
		}
		return "", nil, err
	}
	list := names(out)
	if len(list) == 0 {
		return "", nil, fmt.Errorf("git merge-tree said nothing")
	}
	if err != nil {
		conflicts = slices.Compact(slices.Sorted(slices.Values(list[1:])))
		return "", slices.DeleteFunc(conflicts, func(s string) bool { return s == "" }), nil
	}
	merged, err = g.commit(ctx, dir, list[0], message, target, head)
	return merged, nil, err
}

// calm refuses for a checkout in the middle of something.
func (g *Git) calm(ctx context.Context, dir string) error {
	for _, what := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"} {
		path, err := g.line(ctx, dir, "rev-parse", "--path-format=absolute", "--git-path", what)
		if err != nil {
			return err
		}
		if _, err := os.Lstat(path); err == nil {
			return refuse("%s is in the middle of a merge, a rebase or the like (%s); end that first", dir, what)
		}
	}
	return nil
}

// unresolved are the files of a conflict that was given back which still hold conflict markers.
func unresolved(a At) []string {
	var left []string
	for _, f := range a.Session.Worktree.Conflicts {
		path := filepath.Join(a.root(), filepath.FromSlash(f))
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		raw, err := os.ReadFile(path)
		if err == nil && strings.Contains("\n"+string(raw), "\n<<<<<<< ") {
			left = append(left, f)
		}
	}
	return left
}

// Apply carries a plan out in the workspace's checkout. Files that somebody has changed there and that the merge would write are in the way; those that hold already what it
// would write are not, as after a merge that was cut off in the middle. A core.ErrRefused says what a person has to do first; nothing was changed then.
func (g *Git) Apply(ctx context.Context, a At, p Plan) error {
	top, err := g.line(ctx, a.Workspace, "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	dirty, same, err := g.inTheWay(ctx, top, p)
	if err != nil {
		return err
	}
	if len(dirty) > 0 {
		return refuse("%s was changed in %s and is not committed, and the merge would write it; commit it there or put it back first", strings.Join(dirty[:min(len(dirty), 5)], ", "), top)
	}
	for _, f := range same {
		if _, err := g.git(ctx, top, "update-index", "--add", "--remove", "--", f); err != nil {
			return err
		}
	}
	if _, err := g.call(ctx, call{dir: top, limit: slow}, "merge", "--quiet", "--ff-only", "--no-overwrite-ignore", p.Merged); err != nil {
		return refuse("git would not do it: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	return nil
}

// inTheWay are the files of a plan that are not as the checkout's commit has them: dirty, or the same as they shall be.
func (g *Git) inTheWay(ctx context.Context, top string, p Plan) (dirty, same []string, err error) {
	out, err := g.git(ctx, top, "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty")
	if err != nil {
		return nil, nil, err
	}
	for _, row := range names(out) {
		if len(row) < 4 {
			return nil, nil, fmt.Errorf("read what git status says: %q", row)
		}
		f := row[3:]
		if _, found := slices.BinarySearch(p.Files, f); !found {
			continue
		}
		is, err := g.blob(ctx, top, f)
		if err != nil {
			return nil, nil, err
		}
		shall, err := g.line(ctx, top, "rev-parse", "--verify", "--quiet", p.Merged+":"+f)
		if err != nil && !failed(err, 1) {
			return nil, nil, err
		}
		if is == shall {
			same = append(same, f)
		} else {
			dirty = append(dirty, f)
		}
	}
	return dirty, same, nil
}

// blob is the name that git would give to a file's content; "" for a file that is not there.
func (g *Git) blob(ctx context.Context, top, f string) (string, error) {
	info, err := os.Lstat(filepath.Join(top, filepath.FromSlash(f)))
	switch {
	case os.IsNotExist(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("look at %s: %w", f, err)
	case !info.Mode().IsRegular():
		return "no file", nil
	}
	return g.line(ctx, top, "hash-object", "--", f)
}

// GiveBack merges the base into the session's own branch and leaves the conflicts there, for the session to resolve. The worktree must hold nothing uncommitted. It returns the files in
// conflict; none when the merge went through.
func (g *Git) GiveBack(ctx context.Context, a At, message string) ([]string, error) {
	base := "refs/heads/" + a.Session.Worktree.Base // by name, which the conflict markers show
	c, err := g.tree(ctx, a)
	if err != nil {
		return nil, err
	}
	c.limit = slow
	_, err = g.call(ctx, c, "merge", "--quiet", "--no-commit", "--no-ff", "-m", message, base)
	out, listed := g.in(ctx, a, "diff", "--name-only", "-z", "--diff-filter=U")
	if listed != nil {
		return nil, listed
	}
	list := names(out)
	if len(list) == 0 && err != nil {
		return nil, err
	}
	return slices.Compact(slices.Sorted(slices.Values(list))), nil
}
