package janitor_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paragents/core"
	"paragents/core/janitor"
	"paragents/core/orders"
	"paragents/core/sandbox"
	"paragents/core/scheduler/schedtest"
	"paragents/core/state"
	"paragents/core/worktree"
	"paragents/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// direct starts git without a helper.
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

// bench is a repository, a store, and a janitor for them.
type bench struct {
	t     *testing.T
	dir   string
	store store.Store
	git   *worktree.Git
	*janitor.Janitor
}

func on(t *testing.T) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	b := &bench{t: t, dir: dir, store: schedtest.Open(t), git: worktree.New(direct{})}
	b.Janitor = janitor.New(janitor.Config{Store: b.store, Git: b.git})
	b.run("git", "init", "-q", "-b", "main")
	b.run("git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org", "commit", "-q", "--allow-empty", "-m", "begin")
	return b
}

func (b *bench) run(argv ...string) {
	b.t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = b.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("%v: %v\n%s", argv, err, out)
	}
}

// session makes a session with a worktree, and stores it unless it is forgotten.
func (b *bench) session(ref core.Ref, known bool, change func(s *core.Session, batch *state.Batch)) string {
	b.t.Helper()
	w, err := b.git.Begin(b.t.Context(), b.dir)
	must(b.t, err)
	s := core.Session{ID: core.SessionID("id-" + ref), Ref: ref, Closed: true, Worktree: &w}
	must(b.t, b.git.Make(b.t.Context(), worktree.At{Workspace: b.dir, Session: s}))
	w.Made = true
	if known {
		var batch state.Batch
		if change != nil {
			change(&s, &batch)
		}
		batch.Put(state.RefKey(ref), state.Named{Kind: state.NamedSession, ID: string(s.ID), Session: s.ID}, 0)
		batch.Put(state.SessionKey(s.ID), s, 0)
		_, err := batch.Commit(b.t.Context(), b.store)
		must(b.t, err)
	}
	return s.Dir(b.dir)
}

func (b *bench) there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestWorktrees(t *testing.T) {
	b := on(t)
	dirty := func(dir string) { must(t, os.WriteFile(filepath.Join(dir, "new.txt"), []byte("x"), 0o644)) }
	old := func(dir string) {
		long := time.Now().Add(-8 * 24 * time.Hour)
		must(t, os.Chtimes(dir, long, long))
	}
	closed := b.session("bbbbbb", true, nil)
	open := b.session("cccccc", true, func(s *core.Session, _ *state.Batch) { s.Closed = false })
	held := b.session("dddddd", true, func(s *core.Session, batch *state.Batch) { batch.Hold(state.ClaimKey(s.ID), state.Claim{}, "r", 0) })
	unmerged := b.session("ffffff", true, nil)
	dirty(unmerged)
	kept := b.session("gggggg", true, func(s *core.Session, _ *state.Batch) { s.Worktree.Kept = true })
	strange := b.session("hhhhhh", false, nil)
	forgotten := b.session("jjjjjj", false, nil)
	old(forgotten)
	lost := b.session("kkkkkk", false, nil)
	dirty(lost)
	old(lost)
	must(t, os.Mkdir(filepath.Join(b.dir, core.Worktrees, "mine"), 0o755)) // somebody else's
	must(t, b.Round(t.Context(), b.dir))
	for dir, want := range map[string]bool{closed: false, open: true, held: true, unmerged: true, kept: true, strange: true, forgotten: false, lost: true,
		filepath.Join(b.dir, core.Worktrees, "mine"): true} {
		if got := b.there(dir); got != want {
			t.Errorf("%s is there: %v, want %v", dir, got, want)
		}
	}
}

func TestRunDirectories(t *testing.T) {
	b := on(t)
	open := b.session("cccccc", true, func(s *core.Session, _ *state.Batch) { s.Closed = false })
	long := time.Now().Add(-orders.KeepClosed - time.Hour)
	forgotten, known, young := core.NewID[core.PromptID](long), core.NewID[core.PromptID](long), core.NewID[core.PromptID](time.Now())
	var batch state.Batch
	batch.Put(state.PromptKey(known), core.Prompt{ID: known}, 0)
	_, err := batch.Commit(t.Context(), b.store)
	must(t, err)
	for _, dir := range []string{b.dir, open} {
		for _, name := range []string{string(forgotten), string(known), string(young), "notes"} {
			must(t, os.MkdirAll(filepath.Join(dir, ".paragents/run", name, "before"), 0o700))
			must(t, os.WriteFile(filepath.Join(dir, ".paragents/run", name, "before", "x"), nil, 0o600))
		}
	}
	must(t, b.Round(t.Context(), b.dir))
	for _, dir := range []string{b.dir, open} {
		for name, want := range map[string]bool{string(forgotten): false, string(known): true, string(young): true, "notes": true} {
			if got := b.there(filepath.Join(dir, ".paragents/run", name)); got != want {
				t.Errorf("%s in %s is there: %v, want %v", name, dir, got, want)
			}
		}
	}
}

// A directory that is no repository, and has no folder of ours, is nothing to complain about.
func TestAnEmptyWorkspace(t *testing.T) {
	b := on(t)
	must(t, b.Round(t.Context(), t.TempDir()))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
