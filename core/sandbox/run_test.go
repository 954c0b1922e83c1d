package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"paragents/core/sandbox"
)

func TestB049TimeLimitEndsAll(t *testing.T) {
	r := runner(t, time.Minute)
	for name, text := range map[string]string{
		"pipe":     "sh -c 'sleep NAP | cat; echo done'",
		"stubborn": "trap '' TERM; echo so far; while :; do sleep NAP; done",
		"nested":   "bash -c 'bash -c \"sleep NAP; :\"; :'; :",
		"stopped":  "sleep NAP & kill -STOP $!; wait; sleep NAP",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := nap()
			c := command(strings.ReplaceAll(text, "NAP", mark))
			c.Timeout = 2 * time.Second
			start := time.Now()
			out, err := r.Run(context.Background(), c)
			if took := time.Since(start); err != nil || !out.TimedOut || took < c.Timeout || took > c.Timeout+time.Second {
				t.Errorf("%+v, %v after %v", out, err, took)
			}
			if left := alive(t, mark); len(left) > 0 {
				t.Errorf("alive: %q", left)
			}
			if got := printed(out); strings.Contains(got, "done") || name == "stubborn" && got != "so far\n" {
				t.Errorf("output %q", got)
			}
		})
	}
}

func TestB049CancelEndsAll(t *testing.T) {
	mark := nap()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	stopped := errors.New("stopped by a person")
	done := make(chan error, 1)
	r := runner(t, time.Minute)
	go func() {
		out, err := r.Run(ctx, command("echo so far; sleep "+mark+" | cat; echo done"))
		if printed(out) != "so far\n" || out.Exit != -1 {
			err = errors.Join(err, errors.New("output "+printed(out)))
		}
		done <- err
	}()
	eventually(t, 10*time.Second, "the start", func() bool { return len(alive(t, "sleep "+mark)) > 0 })
	cancel(stopped)
	start := time.Now()
	if err := <-done; !errors.Is(err, stopped) || time.Since(start) > time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	gone(t, mark)
	if _, err := r.Run(ctx, command("true")); !errors.Is(err, stopped) {
		t.Errorf("run with an ended context: %v", err)
	}
}

func TestB050BackgroundProcess(t *testing.T) {
	r := runner(t, time.Minute)
	for name, c := range map[string]struct {
		text string
		left bool
	}{
		"plain":        {"sleep NAP & echo started", true},
		"nohup":        {"nohup sleep NAP >/dev/null 2>&1 & echo started", true},
		"stubborn":     {"bash -c 'trap \"\" TERM; while :; do sleep NAP; done' & sleep 0.2; echo started", true},
		"none":         {"true NAP; echo started", false},
		"still at it":  {"echo started > >(sleep 0.05; cat)", false},
		"own session":  {"setsid -f sleep NAP; echo started", true},
		"double forks": {"(sleep NAP & sleep NAP &) ; echo started", true},
	} {
		if name == "own session" && runtime.GOOS != "linux" { // see the package comment
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := nap()
			start := time.Now()
			out, err := r.Run(context.Background(), command(strings.ReplaceAll(c.text, "NAP", mark)))
			if took := time.Since(start); err != nil || out.Exit != 0 || printed(out) != "started\n" || took > 3*time.Second {
				t.Errorf("%+v, %v after %v", out, err, took)
			}
			if out.Leftover != c.left {
				t.Errorf("left over %v", out.Leftover)
			}
			if left := alive(t, mark); len(left) > 0 {
				t.Errorf("alive: %q", left)
			}
		})
	}
}

func TestB051NothingWaitsForInput(t *testing.T) {
	dir := t.TempDir()
	git := "git -c user.name=a -c user.email=a@b.test "
	for name, c := range map[string]struct {
		text string
		exit int
		want string
	}{
		"cat":      {"cat", 0, ""},
		"read":     {"read x", 1, ""},
		"terminal": {"{ : </dev/tty; } 2>/dev/null || echo none", 0, "none\n"},
		"tty":      {"tty", 1, "not a tty\n"},
		"pager":    {"git init -q " + dir + "/p && cd " + dir + "/p && " + git + "commit -q --allow-empty -m first && git log --format=%s", 0, "first\n"},
		"editor":   {"git init -q " + dir + "/e && cd " + dir + "/e && " + git + "commit --allow-empty", 1, "no editor here"},
		"visual":   {"sh -c \"$VISUAL file\"", 1, "no editor here"},
		"password": {"git -c credential.helper= credential fill <<< $'protocol=https\\nhost=x.test\\n'", 128, "fatal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := runner(t, time.Minute).Run(context.Background(), command(c.text))
			if err != nil || out.TimedOut || out.Exit != c.exit || out.Took > 4*time.Second {
				t.Errorf("%+v, %v", out, err)
			}
			if got := printed(out); c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("output %q, want %q", got, c.want)
			}
		})
	}
}

// counter is an output that is only counted.
type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

func TestB052EndlessOutput(t *testing.T) {
	r := runner(t, time.Minute)
	for _, c := range []struct {
		text    string
		limit   time.Duration
		size    int64 // at least
		timeout bool
	}{
		{"yes", 5 * time.Second, 1 << 20, true},
		{"head -c 2G /dev/zero", 100 * time.Second, 2 << 30, false},
	} {
		cmd := command(c.text)
		cmd.Timeout = c.limit
		kept := &counter{}
		cmd.Output = kept
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		out, err := r.Run(context.Background(), cmd)
		runtime.ReadMemStats(&after)
		if err != nil || out.TimedOut != c.timeout || out.Size < c.size || out.Took > c.limit+time.Second {
			t.Errorf("%s: size %d, timed out %v, took %v, %v", c.text, out.Size, out.TimedOut, out.Took, err)
		}
		if want := min(out.Size, sandbox.OutputCap); kept.n != want || out.Kept != want {
			t.Errorf("%s: kept %d of %d, want %d", c.text, kept.n, out.Size, want)
		}
		if len(out.Head) != cmd.Limit/2 || len(out.Tail) != cmd.Limit/2 {
			t.Errorf("%s: head %d, tail %d", c.text, len(out.Head), len(out.Tail))
		}
		// All that was allocated, freed or not: more than memory ever grew.
		if grew := after.TotalAlloc - before.TotalAlloc; grew > 10<<20 {
			t.Errorf("%s: memory grew by %d bytes", c.text, grew)
		}
	}
}

func TestOutcome(t *testing.T) {
	r := runner(t, time.Minute)
	dir := t.TempDir()
	for text, want := range map[string]sandbox.Outcome{
		"echo a; echo b >&2": {Head: []byte("a\nb\n")},
		"exit 7":             {Exit: 7},
		"kill -KILL $$":      {Exit: -1, Signal: "killed"},
		"pwd":                {Head: []byte(dir + "\n")},
		"ulimit -c":          {Head: []byte("0\n")},
		"for fd in 3 4 5 6 7 8 9; do { : >&$fd; } 2>/dev/null && echo $fd; done; :": {},
	} {
		c := command(text)
		c.Dir = dir
		got, err := r.Run(context.Background(), c)
		if err != nil || got.Exit != want.Exit || got.Signal != want.Signal || printed(got) != string(want.Head) || got.Leftover || got.TimedOut {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

func TestErrorsMayBeKeptApart(t *testing.T) {
	var errs bytes.Buffer
	c := command("echo out; echo wrong >&2")
	c.Errors = &errs
	out, err := runner(t, time.Minute).Run(t.Context(), c)
	if err != nil || string(out.Head)+string(out.Tail) != "out\n" || errs.String() != "wrong\n" {
		t.Errorf("%v: output %q, errors %q", err, out.Head, errs.String())
	}
}

func TestCommandsThatCannotStart(t *testing.T) {
	r := runner(t, time.Minute)
	missing := command("true")
	missing.Argv = []string{"no-such-program"}
	nowhere := command("true")
	nowhere.Dir = filepath.Join(t.TempDir(), "gone")
	limitless := command("true")
	limitless.Timeout = 0
	for words, c := range map[string]sandbox.Command{
		"executable file not found": missing, "no such file or directory": nowhere, "time limit": limitless, "needs a program": {Timeout: time.Second},
	} {
		if _, err := r.Run(context.Background(), c); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("error %v, want %q", err, words)
		}
	}
	wrong := sandbox.New(sandbox.Config{Exe: "/bin/echo"})
	if _, err := wrong.Run(context.Background(), command("true")); err == nil || !strings.Contains(err.Error(), "did not start a command") {
		t.Errorf("another program as the helper: %v", err)
	}
}

func TestChildByHand(t *testing.T) {
	for _, args := range [][]string{nil, {"0", "1s", "--", "true"}} {
		cmd := exec.Command(os.Args[0], append([]string{sandbox.ChildArg}, args...)...)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), "not by hand") {
			t.Errorf("%v: %v, %q", args, err, out)
		}
	}
}

func TestKilledHelper(t *testing.T) {
	mark := nap()
	out, err := runner(t, time.Minute).Run(context.Background(), command("echo a; (sleep "+mark+") & kill -KILL $PPID; sleep "+mark))
	if err == nil || !strings.Contains(err.Error(), "helper was killed") || out.Took > 3*time.Second {
		t.Errorf("%+v, %v", out, err)
	}
	gone(t, mark)
}

func TestB069EnvironmentIsAList(t *testing.T) {
	base := []string{
		"PATH=/bin", "HOME=/h", "USER=u", "LANG=C", "LC_ALL=C", "TZ=UTC", "TMPDIR=/t", "TERM=xterm",
		"OPENAI_API_KEY=canary", "PATH_TOKEN=canary", "SSH_AUTH_SOCK=canary", "BASH_ENV=canary", "LD_PRELOAD=canary", "GIT_DIR=canary", "canary",
	}
	got := strings.Join(sandbox.Env(base), "\n") + "\n"
	for _, want := range append(base[:7:7], "TERM=dumb", "GIT_TERMINAL_PROMPT=0", "PAGER=cat") {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
	if strings.Contains(got, "canary") || strings.Contains(got, "xterm") {
		t.Errorf("too much: %s", got)
	}
}

func TestB069NothingIsInherited(t *testing.T) {
	t.Setenv("TELEGRAM_BOT_TOKEN", "canary")
	env, err := exec.LookPath("env")
	if err != nil {
		t.Fatal(err)
	}
	for _, given := range [][]string{nil, {"A=b", "C=d e"}} {
		c := command("")
		c.Argv, c.Env = []string{env}, given
		out, err := runner(t, time.Minute).Run(context.Background(), c)
		want := strings.Join(given, "\n")
		if err != nil || strings.TrimSpace(printed(out)) != want {
			t.Errorf("%v: %q, %v", given, printed(out), err)
		}
	}
}
