package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// binary is the program, built once.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "paragents-test")
	if err == nil {
		binary = filepath.Join(dir, "paragents")
		var out []byte
		if out, err = exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
			err = fmt.Errorf("build the program: %w\n%s", err, out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		_ = os.RemoveAll(dir)
		os.Exit(status)
	}))
}

// limit ends every wait for the program.
const limit = time.Minute

// machine is a fresh user's: a home with nothing in it, and a directory to work in.
type machine struct {
	t    *testing.T
	home string
	dir  string
	env  []string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, home: t.TempDir(), dir: t.TempDir()}
	m.env = []string{"HOME=" + m.home, "PATH=" + os.Getenv("PATH"), "USER=rob", "TERM=dumb", "LANG=C.UTF-8"}
	m.file("shopping.txt", "apples\n")
	return m
}

func (m *machine) file(name, content string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(content), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// holds is what is in a file of the directory; "" when there is none.
func (m *machine) holds(name string) string {
	m.t.Helper()
	raw, err := os.ReadFile(filepath.Join(m.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		m.t.Fatal(err)
	}
	return string(raw)
}

// until waits for something; when it does not come, what there was instead is told.
func (m *machine) until(what string, done func() bool, instead ...*string) {
	m.t.Helper()
	end := time.After(limit)
	tick := time.NewTicker(30 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-end:
			for _, s := range instead {
				what += "\n" + strings.TrimRight(*s, "\n")
			}
			m.t.Fatalf("waited %s in vain for %s", limit, what)
		}
	}
}

// run runs the program with its input from a pipe.
func (m *machine) run(in string, args ...string) (out, problems string, status int) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = m.dir, m.env, strings.NewReader(in), &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		m.t.Fatalf("%q does not end; it said:\n%s\n%s", args, &stdout, &stderr)
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		m.t.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}
