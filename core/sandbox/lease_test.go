package sandbox_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"paragents/core/sandbox"
)

// startBot starts a bot whose command appends to a file every 100 ms, and waits until it does.
func startBot(t *testing.T, lease time.Duration) (bot *exec.Cmd, mark, file string) {
	t.Helper()
	mark, file = nap(), filepath.Join(t.TempDir(), "log")
	bot = exec.Command(os.Args[0], "bot", lease.String(), "plain",
		"sleep "+mark+" & trap '' TERM; while :; do echo x >> "+file+"; sleep 0.1; done")
	if err := bot.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = bot.Process.Kill()
		_ = bot.Wait()
		gone(t, mark)
	})
	eventually(t, 10*time.Second, "output of the command", func() bool { return size(file) > 4 })
	return bot, mark, file
}

func size(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}

// A replica that is stopped cannot keep its commands beyond its lease, when another may take over.
func TestStoppedBotLosesItsCommands(t *testing.T) {
	const lease = 4 * time.Second
	bot, mark, file := startBot(t, lease)
	stopped := time.Now()
	if err := bot.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, 4*lease, "the end of the commands of a stopped bot", func() bool { return len(alive(t, mark)) == 0 })
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	// The last thing that the command did is what counts, not how long it took to find out.
	if lasted := info.ModTime().Sub(stopped); lasted > lease || lasted < lease/2 {
		t.Errorf("the command went on for %v", lasted)
	}
}

func TestKilledBotLosesItsCommands(t *testing.T) {
	bot, mark, _ := startBot(t, time.Minute)
	if err := bot.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	gone(t, mark)
}

func TestBeatsKeepACommand(t *testing.T) {
	const lease = time.Second
	r := runner(t, lease)
	stop := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(lease / 10)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				r.Beat(time.Now())
			case <-stop:
				return
			}
		}
	}()
	out, err := r.Run(context.Background(), command("sleep 2; echo done"))
	close(stop)
	<-stopped
	if err != nil || printed(out) != "done\n" {
		t.Errorf("%+v, %v", out, err)
	}
}

// Without beats, and with beats for renewals that were sent long ago, a command ends before the lease does, and none starts.
func TestNoBeatInTime(t *testing.T) {
	const lease = 2 * time.Second
	start := time.Now()
	r := runner(t, lease)
	mark := nap()
	late := time.AfterFunc(lease/2, func() { r.Beat(start) }) // answered late
	defer late.Stop()
	out, err := r.Run(context.Background(), command("echo a; sleep "+mark))
	if took := time.Since(start); !errors.Is(err, sandbox.ErrLease) || took > lease || printed(out) != "a\n" {
		t.Errorf("%+v, %v after %v", out, err, took)
	}
	if left := alive(t, mark); len(left) > 0 {
		t.Errorf("alive: %q", left)
	}
	if _, err := r.Run(context.Background(), command("true")); !errors.Is(err, sandbox.ErrLease) {
		t.Errorf("started without a lease: %v", err)
	}
	r.Beat(time.Now())
	if _, err := r.Run(context.Background(), command("true")); err != nil {
		t.Errorf("with a new lease: %v", err)
	}
}

func TestKillAll(t *testing.T) {
	r := runner(t, time.Minute)
	mark := nap()
	done := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := r.Run(context.Background(), command("sleep "+mark))
			done <- err
		}()
	}
	eventually(t, 10*time.Second, "two commands", func() bool {
		n := 0
		for _, line := range alive(t, "sleep "+mark) {
			if !strings.Contains(line, sandbox.ChildArg) {
				n++
			}
		}
		return n >= 2
	})
	r.KillAll()
	for range 2 {
		if err := <-done; !errors.Is(err, sandbox.ErrEnded) {
			t.Errorf("ended with %v", err)
		}
	}
	gone(t, mark)
	if _, err := r.Run(context.Background(), command("true")); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// A helper that does not read must not hold up the heartbeat.
func TestBeatNeverWaits(t *testing.T) {
	r := runner(t, time.Minute)
	file := filepath.Join(t.TempDir(), "stopped")
	done := make(chan error, 1)
	go func() {
		_, err := r.Run(context.Background(), command("kill -STOP $PPID; touch "+file+"; sleep 1; kill -CONT $PPID"))
		done <- err
	}()
	eventually(t, 10*time.Second, "a stopped helper", func() bool { _, err := os.Stat(file); return err == nil })
	beaten := make(chan struct{})
	go func() {
		defer close(beaten)
		for range 20_000 { // more than the pipe holds
			r.Beat(time.Now())
		}
	}()
	select {
	case <-beaten:
	case <-time.After(20 * time.Second):
		t.Error("Beat waits")
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
