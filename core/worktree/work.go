package worktree

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"paragents/core"
)

// Work is what lies in a session's worktree: its commits, and what is not committed.
type Work struct {
	Head        string // commit that the worktree stands on
	Tree        string // of all that is in it, committed or not, without what git ignores
	From        string // commit that it is compared with: the last one that it has in common with the base
	Commits     int    // that the base does not have
	Uncommitted bool
	Files       []string // that differ from From, relative to the repository, sorted
	Added       int      // lines
	Deleted     int
	// Merging: a merge was begun in it and is not committed.
	Merging bool
	// Digest is short and stands for the difference: what was shown is what is merged, or given up. Committing it changes nothing.
	Digest string
}

// Empty reports whether nothing would be lost if it were gone.
func (w Work) Empty() bool { return w.Commits == 0 && !w.Uncommitted }

// Work looks into a session's worktree; it changes nothing there. fs.ErrNotExist: there is none.
func (g *Git) Work(ctx context.Context, a At) (Work, error) {
	var w Work
	if _, err := os.Lstat(filepath.Join(a.root(), ".git")); err != nil {
		return w, fmt.Errorf("look into the worktree of session %s: %w", a.Session.Ref, err)
	}
	out, err := g.in(ctx, a, "rev-parse", "--absolute-git-dir", "HEAD^{commit}", "HEAD^{tree}")
	if err != nil {
		return w, err
	}
	said := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(said) != 3 {
		return w, fmt.Errorf("read what git rev-parse says: %q", out)
	}
	w.Head = said[1]
	if w.Tree, err = g.snapshot(ctx, a, said[0]); err != nil {
		return w, err
	}
	if _, err := os.Lstat(filepath.Join(said[0], "MERGE_HEAD")); err == nil {
		w.Merging = true
	}
	w.Uncommitted = said[2] != w.Tree || w.Merging
	base, err := g.base(ctx, a)
	if err != nil {
		return w, err
	}
	if w.From, err = g.line(ctx, a.Workspace, "merge-base", base, w.Head); err != nil {
		return w, err
	}
	count, err := g.line(ctx, a.Workspace, "rev-list", "--count", w.Head, "^"+base)
	if err != nil {
		return w, err
	}
	if w.Commits, err = strconv.Atoi(count); err != nil {
		return w, fmt.Errorf("count commits: %w", err)
	}
	sum := sha256.Sum256([]byte(w.From + " " + w.Tree))
	w.Digest = hex.EncodeToString(sum[:6])
	return w, g.stat(ctx, a, &w)
}

// base is what the session's work is compared with: its base branch, or where it began if that branch is gone; of a session of which nothing is known any more, what the
// workspace's checkout stands on.
func (g *Git) base(ctx context.Context, a At) (string, error) {
	if a.Session.Worktree.Base == "" {
		return g.line(ctx, a.Workspace, "rev-parse", "--verify", "HEAD^{commit}")
	}
	out, err := g.line(ctx, a.Workspace, "rev-parse", "--verify", "--quiet", "refs/heads/"+a.Session.Worktree.Base)
	if failed(err, 1) {
		return a.Session.Worktree.Commit, nil
	}
	return out, err
}

// stat fills in which files differ, and by how much.
func (g *Git) stat(ctx context.Context, a At, w *Work) error {
	out, err := g.git(ctx, a.Workspace, "diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv", w.From, w.Tree)
	if err != nil {
		return err
	}
	for _, row := range names(out) {
		parts := strings.SplitN(row, "\t", 3)
		if len(parts) != 3 {
			return fmt.Errorf("read what git diff-tree says: %q", row)
		}
		added, _ := strconv.Atoi(parts[0]) // "-" for a file that is no text
		deleted, _ := strconv.Atoi(parts[1])
		w.Added, w.Deleted = w.Added+added, w.Deleted+deleted
		w.Files = append(w.Files, parts[2])
	}
	return nil
}

// maxDiff is how much of a difference is shown, in bytes.
const maxDiff = 4 << 20

// Diff is the unified difference that a session's work makes; what is over 4 MB is left out.
func (g *Git) Diff(ctx context.Context, a At, w Work) (string, error) {
	c, err := g.tree(ctx, a)
	if err != nil {
		return "", err
	}
	c.most = maxDiff
	return g.call(ctx, c, "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", "-M", w.From, w.Tree)
}

// snapshot writes a tree of all that is in the worktree, without touching its index; dir is git's own directory for it.
func (g *Git) snapshot(ctx context.Context, a At, dir string) (string, error) {
	temp := filepath.Join(dir, "paragents-index-"+strings.ToLower(rand.Text()[:8]))
	defer os.Remove(temp)           //nolint:errcheck // it goes with the worktree at the latest
	defer os.Remove(temp + ".lock") //nolint:errcheck // as above
	if err := copyFile(filepath.Join(dir, "index"), temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("copy the index of worktree %s: %w", a.root(), err)
	}
	c, err := g.tree(ctx, a)
	if err != nil {
		return "", err
	}
	c.env = append(c.env, "GIT_INDEX_FILE="+temp)
	if _, err := g.call(ctx, c, "add", "--all", "--", ".", ":(exclude,glob)**/.paragents/**"); err != nil {
		return "", err
	}
	tree, err := g.call(ctx, c, "write-tree")
	return strings.TrimSpace(tree), err
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	info, err := in.Stat()
	if err != nil {
		return err
	}
	return os.Chtimes(to, time.Time{}, info.ModTime()) // by it git tells which files may have changed unseen
}

// Save commits what is not committed, as it was looked at, with a message. It returns the commit that the worktree stands on then. As long as a conflict that was given back is not
// resolved the error is a core.ErrRefused.
func (g *Git) Save(ctx context.Context, a At, w Work, message string) (string, error) {
	if left := unresolved(a); len(left) > 0 {
		return "", refuse("conflict markers are left in %s; have the session resolve them, or do it by hand in %s", strings.Join(left, ", "), a.Dir())
	}
	if !w.Uncommitted {
		return w.Head, nil
	}
	parents := []string{w.Head}
	if w.Merging {
		merged, err := g.in(ctx, a, "rev-parse", "--verify", "MERGE_HEAD")
		if err != nil {
			return "", err
		}
		parents = append(parents, strings.TrimSpace(merged))
	}
	commit, err := g.commit(ctx, a.Workspace, w.Tree, message, parents...)
	if err != nil {
		return "", err
	}
	if _, err := g.in(ctx, a, "update-ref", "-m", "paragents: save", "HEAD", commit, w.Head); err != nil {
		return "", err
	}
	// The index follows; files stay as they are.
	if _, err := g.in(ctx, a, "reset", "--quiet"); err != nil {
		return "", err
	}
	return commit, nil
}

// commit makes a commit of a tree. Where nobody has told git who they are, the bot signs.
func (g *Git) commit(ctx context.Context, dir, tree, message string, parents ...string) (string, error) {
	var env []string
	for _, who := range []struct{ key, value string }{{"name", "Paragents"}, {"email", "paragents@localhost"}} {
		if _, err := g.git(ctx, dir, "config", "user."+who.key); failed(err, 1) {
			for _, role := range []string{"AUTHOR", "COMMITTER"} {
				env = append(env, "GIT_"+role+"_"+strings.ToUpper(who.key)+"="+who.value)
			}
		} else if err != nil {
			return "", err
		}
	}
	args := []string{"commit-tree", tree, "-m", message}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	out, err := g.call(ctx, call{dir: dir, env: env}, args...)
	return strings.TrimSpace(out), err
}

// Idle says whether a session's worktree can go without loss: nothing in it is uncommitted, and no other branch lacks what it has. why says what is in the way.
func (g *Git) Idle(ctx context.Context, a At) (idle bool, why string, err error) {
	w, err := g.Work(ctx, a)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, "", nil
	case err != nil:
		return false, "", err
	case w.Uncommitted:
		return false, "it holds what is not committed", nil
	case w.Commits == 0:
		return true, "", nil
	}
	// Merged elsewhere, or pushed, is safe as well.
	out, err := g.git(ctx, a.Workspace, "for-each-ref", "--contains", w.Head, "--format=%(refname)", "refs/heads", "refs/remotes")
	if err != nil {
		return false, "", err
	}
	for ref := range strings.FieldsSeq(out) {
		if !strings.HasPrefix(ref, "refs/heads/"+core.BranchOf("")) {
			return true, "", nil
		}
	}
	return false, fmt.Sprintf("it has %d commits that no other branch has", w.Commits), nil
}

// Retire takes away the worktree and the branch of a closed session: when nothing in it would be lost, or it still is what a person gave up. why says what keeps it.
func (g *Git) Retire(ctx context.Context, a At) (gone bool, why string, err error) {
	switch w := a.Session.Worktree; {
	case !a.Session.Closed:
		return false, "its session is open", nil
	case w.Discarded != "":
		now, err := g.Work(ctx, a)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, "", err
		}
		if err == nil && !now.Empty() && now.Digest != w.Discarded {
			return false, "it was given up, but holds something else now", nil
		}
	case w.Kept:
		return false, "a person wants to keep it", nil
	default:
		if idle, why, err := g.Idle(ctx, a); err != nil || !idle {
			return false, why, err
		}
	}
	return true, "", g.Remove(ctx, a)
}

// Remove takes a session's worktree and branch away, whatever is in them. What is gone already is no error.
func (g *Git) Remove(ctx context.Context, a At) error {
	if err := g.clear(ctx, a); err != nil {
		return err
	}
	_, err := g.git(ctx, a.Workspace, "update-ref", "-d", a.branch())
	return err
}
