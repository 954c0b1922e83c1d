// Package worktree gives isolated sessions a git worktree and a branch of their own, says what is in it, merges it into the workspace's checkout, and takes it away.
//
// It knows directories and git, and decides nothing: who may, whose claims are in the way and what is written down is its callers' business. Every step can be done
// again after a crash at any point. Of a repository's own configuration, hooks and monitors do not run; filters and merge drivers do, because files would be wrong
// without them.
package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"paragents/core"
	"paragents/core/sandbox"
)

// Runner starts commands: a *sandbox.Runner, so that no git outlives the right to run it.
type Runner interface {
	Run(ctx context.Context, c sandbox.Command) (sandbox.Outcome, error)
}

// Git does it. It is safe for concurrent use.
type Git struct {
	run    Runner
	env    []string
	common sync.Map // from a workspace's directory to git's own
}

// New returns a Git that starts git with a runner.
func New(run Runner) *Git {
	return &Git{run: run, env: append(sandbox.Env(os.Environ()), "GIT_OPTIONAL_LOCKS=0")}
}

// Bounds of one git: how long it may take, and how much it may say.
const (
	quick   = time.Minute
	slow    = 10 * time.Minute // it writes a whole checkout
	maxOut  = 32 << 20         // bytes
	maxErrs = 4 << 10
)

// fixed keep a repository's configuration from running programs or asking, and the output readable.
var fixed = []string{"--no-pager", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
	"-c", "core.quotePath=false", "-c", "submodule.recurse=false", "-c", "commit.gpgSign=false", "-c", "advice.detachedHead=false", "-c", "core.askPass=false"}

// failure is a git that ended with another status than 0. Its text is what git said.
type failure struct {
	what string
	exit int
	text string
}

func (f *failure) Error() string { return fmt.Sprintf("git %s: %s", f.what, f.text) }

// failed reports whether an error is of a git that ran and ended with this status.
func failed(err error, exit int) bool {
	var f *failure
	return errors.As(err, &f) && f.exit == exit
}

// call is one git.
type call struct {
	dir   string
	env   []string
	limit time.Duration // 0: quick
	most  int           // bytes of output that are kept; 0: maxOut, and more is an error
}

// git runs git in a directory and returns what it wrote.
func (g *Git) git(ctx context.Context, dir string, args ...string) (string, error) {
	return g.call(ctx, call{dir: dir}, args...)
}

func (g *Git) call(ctx context.Context, c call, args ...string) (string, error) {
	if c.limit == 0 {
		c.limit = quick
	}
	most := c.most
	if most == 0 {
		most = maxOut
	}
	what := args[0]
	out, errs := &bounded{most: most}, &bounded{most: maxErrs}
	res, err := g.run.Run(ctx, sandbox.Command{Argv: append(append([]string{"git"}, fixed...), args...), Dir: c.dir, Env: append(g.env[:len(g.env):len(g.env)], c.env...),
		Timeout: c.limit, Output: out, Errors: errs})
	switch {
	case err != nil && strings.Contains(err.Error(), "executable file not found"):
		return "", fmt.Errorf("%w: git is not installed here; install it, or work without a worktree", core.ErrRefused)
	case err != nil:
		return "", fmt.Errorf("git %s: %w", what, err)
	case res.TimedOut:
		return "", fmt.Errorf("git %s: not done after %s", what, c.limit)
	case res.Exit != 0:
		text := strings.TrimSpace(errs.String())
		if text == "" {
			text = fmt.Sprintf("exit status %d%s", res.Exit, res.Signal)
		}
		return out.String(), &failure{what, res.Exit, text}
	case out.over && c.most == 0:
		return "", fmt.Errorf("git %s: it says more than %d MB", what, maxOut>>20)
	}
	return out.String(), nil
}

// in runs git in a session's worktree.
func (g *Git) in(ctx context.Context, a At, args ...string) (string, error) {
	c, err := g.tree(ctx, a)
	if err != nil {
		return "", err
	}
	return g.call(ctx, c, args...)
}

// tree is a call in a session's worktree. Git is told where its own directory is: the link in the worktree that says so can be changed by who works there.
func (g *Git) tree(ctx context.Context, a At) (call, error) {
	dir, err := g.dir(ctx, a)
	return call{dir: a.root(), env: []string{"GIT_DIR=" + dir, "GIT_WORK_TREE=" + a.root()}}, err
}

// dir is git's own directory for a session's worktree.
func (g *Git) dir(ctx context.Context, a At) (string, error) {
	common, ok := g.common.Load(a.Workspace)
	if !ok {
		found, err := g.line(ctx, a.Workspace, "rev-parse", "--path-format=absolute", "--git-common-dir")
		if err != nil {
			return "", err
		}
		common = found
		g.common.Store(a.Workspace, common)
	}
	return filepath.Join(common.(string), "worktrees", string(a.Session.Ref)), nil
}

// line is the output of a git that says one line.
func (g *Git) line(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := g.git(ctx, dir, args...)
	return strings.TrimSuffix(out, "\n"), err
}

// names is a list that git separates by NUL.
func names(out string) []string {
	if out = strings.TrimSuffix(out, "\x00"); out == "" {
		return nil
	}
	return strings.Split(out, "\x00")
}

// bounded keeps the beginning of what is written.
type bounded struct {
	bytes.Buffer
	most int
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := b.most - b.Len()
	if room < len(p) {
		b.over = true
		b.Buffer.Write(p[:max(0, room)])
		return len(p), nil
	}
	return b.Buffer.Write(p)
}

// refuse is a refusal for people.
func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{core.ErrRefused}, args...)...)
}
