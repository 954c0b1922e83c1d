package agent_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"paragents/core"
	"paragents/core/agent"
	"paragents/core/llm"
	"paragents/core/llm/llmtest"
	"paragents/core/sandbox"
	"paragents/core/worktree"
)

// direct starts git without a helper. fail, if set, may break one.
type direct struct {
	mu   sync.Mutex
	fail func(argv []string) error
}

func (d *direct) Run(ctx context.Context, c sandbox.Command) (sandbox.Outcome, error) {
	d.mu.Lock()
	fail := d.fail
	d.mu.Unlock()
	if fail != nil {
		if err := fail(c.Argv); err != nil {
			return sandbox.Outcome{}, err
		}
	}
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, c.Output, c.Errors
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		return sandbox.Outcome{}, err
	}
	return sandbox.Outcome{Exit: cmd.ProcessState.ExitCode()}, nil
}

// apart gives every session a worktree of its own in a repository with one file.
func apart(t *testing.T, b *bench, run *direct) {
	t.Helper()
	b.write("a.txt", "one\n")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=Ann", "-c", "user.email=ann@example.org", "commit", "-q", "-m", "begin"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = b.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args[0], err, out)
		}
	}
	must(t, b.Stop())
	b.cfg.Git = worktree.New(run)
	b.sched.Isolated = func(string) bool { return true }
	b.restart()
}

func TestAnIsolatedSessionWorksInItsOwnTree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmtest.NewScript(
			llmtest.Call(call("c1", "write_file", args{"path": "b.txt", "content": "two\n"}), call("c2", "read_file", args{"path": "../../workspace-id"})), llmtest.Say("done"))
		b := on(t, model)
		apart(t, b, &direct{})
		must(t, os.MkdirAll(filepath.Join(b.dir, ".paragents"), 0o700))
		b.write(".paragents/workspace-id", "secret")
		p := b.say("write")
		tree := filepath.Join(b.dir, ".paragents/worktrees", string(p.Session.Ref))
		asked := b.asked(p)
		if len(asked) != 1 || asked[0].Action.Dir != tree || !slices.Equal(asked[0].Writes, []string{"b.txt"}) {
			t.Fatalf("asked %+v", asked)
		}
		if asked[0].Facts["git HEAD"] == "" {
			t.Error("the approval is not bound to the commit")
		}
		b.decide(asked[0], core.Approved)
		if got := b.answer(p, core.Done); got != "done" {
			t.Errorf("answer %q", got)
		}
		raw, err := os.ReadFile(filepath.Join(tree, "b.txt"))
		if err != nil || string(raw) != "two\n" || b.read("b.txt") != "" {
			t.Errorf("in its tree: %q, %v; in the workspace: %q", raw, err, b.read("b.txt"))
		}
		requests := model.Requests()
		if system := requests[0].Messages[0].Content; !strings.Contains(system, tree) || !strings.Contains(system, "paragents/"+string(p.Session.Ref)) {
			t.Errorf("system prompt %q", system)
		}
		if got := results(requests[len(requests)-1])["c2"]; strings.Contains(got, "secret") {
			t.Errorf("it read what belongs to the bot: %q", got)
		}
	})
}

// What went wrong in making the worktree is said, and a retry goes on; a replica that dies in the middle is taken over.
func TestMakingAWorktreeIsGoneOnWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := &direct{}
		b := on(t, llmtest.NewFunc(func(_ int, r llm.Request) llmtest.Turn { return llmtest.Say("worked") }), func(*agent.Config) {})
		apart(t, b, run)
		adding := func(argv []string) bool { return slices.Contains(argv, "worktree") && slices.Contains(argv, "add") }
		run.fail = func(argv []string) error {
			if adding(argv) {
				return errors.New("the disk is full")
			}
			return nil
		}
		p := b.say("work")
		if got := b.answer(p, core.Failed); !strings.Contains(got, "the disk is full") || !strings.Contains(got, "retry") {
			t.Errorf("it said %q", got)
		}
		// It dies while git is at work, before it can write down that the worktree is whole.
		dead, hanging := b.Replica, make(chan struct{})
		run.mu.Lock()
		run.fail = func(argv []string) error {
			if adding(argv) {
				<-hanging
			}
			return nil
		}
		run.mu.Unlock()
		q := b.Submit(t, p.Session.ID, "again")
		time.Sleep(2 * time.Second)
		run.mu.Lock()
		run.fail = nil
		run.mu.Unlock()
		close(hanging)
		dead.Kill()
		b.restart()
		settle(time.Minute)
		if got := b.answer(q, core.Done); got != "worked" {
			t.Errorf("answer %q", got)
		}
	})
}
