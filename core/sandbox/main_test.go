package sandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paragents/core/sandbox"
)

// TestMain makes the test binary its own helper, and a small bot for the tests that stop or kill one. os.Exit would wait a second for
// reports of the race detector.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case sandbox.ChildArg:
			syscall.Exit(sandbox.Child(os.Args[2:], os.Stderr))
		case "bot":
			syscall.Exit(bot(os.Args[2:]))
		}
	}
	goleak.VerifyTestMain(m)
}

// bot runs one command: bot LEASE harden|plain COMMAND. It renews its lease ten times a lease, and prints what the command printed.
func bot(args []string) int {
	lease, err := time.ParseDuration(args[0])
	if err != nil {
		fmt.Println(err)
		return 2
	}
	if args[1] == "harden" {
		if err := sandbox.Harden(); err != nil {
			fmt.Println(err)
			return 2
		}
	}
	r := sandbox.New(sandbox.Config{Exe: os.Args[0], Lease: lease})
	go func() {
		for range time.Tick(lease / 10) {
			r.Beat(time.Now())
		}
	}()
	out, err := r.Run(context.Background(), command(args[2]))
	fmt.Printf("%s%serr=%v\n", out.Head, out.Tail, err)
	return 0
}

func command(text string) sandbox.Command {
	return sandbox.Command{
		Argv: []string{"bash", "--norc", "--noprofile", "-c", "--", text}, Dir: os.TempDir(), Env: sandbox.Env(os.Environ()),
		Timeout: 30 * time.Second, Limit: 40 << 10,
	}
}

func runner(t *testing.T, lease time.Duration) *sandbox.Runner {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return sandbox.New(sandbox.Config{Exe: exe, Lease: lease})
}

// printed is all of an output that was within the limit.
func printed(o sandbox.Outcome) string { return string(bytes.Join([][]byte{o.Head, o.Tail}, nil)) }
