package worktree_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"paragents/core"
	"paragents/core/sandbox"
	"paragents/core/worktree"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(repository)
		os.Exit(code)
	}))
}

// bench is a repository with two files and one commit on main, and what makes worktrees of it.
type bench struct {
	t   *testing.T
	dir string
	git *worktree.Git
}

func on(t *testing.T) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	b := &bench{t, dir, worktree.New(direct{})}
	first.Do(func() {
		repository, err = os.MkdirTemp("", "repository-")
		must(t, err)
		b.run(repository, "git", "init", "-q", "-b", "main")
		b.run(repository, "git", "config", "user.name", "Ann")
		b.run(repository, "git", "config", "user.email", "ann@example.org")
		b.write(repository, "menu.txt", "soup\nbread\ntea\n")
		b.write(repository, "README.md", "about\n")
		b.commit(repository, "begin")
	})
	must(t, os.CopyFS(dir, os.DirFS(repository)))
	return b
}

// repository is what every bench is a copy of.
var (
	first      sync.Once
	repository string
)

// direct starts commands without a helper, which costs more than git does.
type direct struct{}

func (direct) Run(ctx context.Context, c sandbox.Command) (sandbox.Outcome, error) {
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, c.Output, c.Errors
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		return sandbox.Outcome{}, err
	}
	return sandbox.Outcome{Exit: cmd.ProcessState.ExitCode()}, nil
}

// session makes the worktree of a new session, as a run does.
func (b *bench) session(ref core.Ref) worktree.At {
	b.t.Helper()
	w, err := b.git.Begin(b.t.Context(), b.dir)
	must(b.t, err)
	at := worktree.At{Workspace: b.dir, Session: core.Session{Ref: ref, Worktree: &w}}
	must(b.t, b.git.Make(b.t.Context(), at))
	w.Made = true
	return at
}

func (b *bench) work(at worktree.At) worktree.Work {
	b.t.Helper()
	w, err := b.git.Work(b.t.Context(), at)
	must(b.t, err)
	return w
}

// plan saves what is in a worktree and plans its merge.
func (b *bench) plan(at worktree.At) (worktree.Plan, error) {
	b.t.Helper()
	head, err := b.git.Save(b.t.Context(), at, b.work(at), "work")
	must(b.t, err)
	return b.git.Plan(b.t.Context(), at, head, "Merge session")
}

// merge merges it.
func (b *bench) merge(at worktree.At) {
	b.t.Helper()
	p, err := b.plan(at)
	must(b.t, err)
	must(b.t, b.git.Apply(b.t.Context(), at, p))
}

func (b *bench) run(dir string, argv ...string) string {
	b.t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(b.t.Context()), argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (b *bench) commit(dir, message string) {
	b.t.Helper()
	b.run(dir, "git", "add", "-A")
	b.run(dir, "git", "commit", "-q", "-m", message)
}

func (b *bench) write(dir, name, text string) {
	b.t.Helper()
	must(b.t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
	must(b.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}

// read is a file's content; "-" when there is none.
func (b *bench) read(dir, name string) string {
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return "-"
	}
	return string(raw)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
