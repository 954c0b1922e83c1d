package local

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paragents/store"
)

// TestMain also is the other process of the tests: with helperEnv set the test binary does what it says instead of testing.
func TestMain(m *testing.M) {
	if what, path, ok := strings.Cut(os.Getenv(helperEnv), " "); ok {
		if err := help(what, path); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

const helperEnv = "PARAGENTS_TEST_HELPER"

// help runs in the other process, which ends when its input does, or when it is killed.
func help(what, path string) error {
	s, err := Open(context.Background(), Config{Path: path, NoSync: what == "hold"})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if what == "write" {
		return write(s)
	}
	for next := bufio.NewScanner(os.Stdin); next.Scan(); fmt.Println("ready") { // another path to hold instead
		if err := s.Close(); err != nil {
			return err
		}
		if s, err = Open(context.Background(), Config{Path: next.Text(), NoSync: true}); err != nil {
			return err
		}
	}
	return s.Close()
}

// write commits and says what was acknowledged, until the process is killed.
func write(s *Store) error {
	for i := 0; ; i++ {
		_, err := s.Commit(context.Background(), store.Batch{
			Put:    []store.Put{{Key: store.Key(fmt.Sprint("doc/", i)), Value: fmt.Append(nil, i)}},
			Insert: []store.Insert{{Index: "index/all", Member: fmt.Sprint(i), Score: float64(i)}},
			Append: []store.Append{{Log: "log/all", Value: fmt.Append(nil, i)}},
		})
		if err != nil {
			return err
		}
		fmt.Println(i)
	}
}

// process is another process that has the store open.
type process struct {
	*exec.Cmd
	in    io.Writer
	lines *bufio.Scanner
	dead  bool
}

func start(t *testing.T, what, path string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0])}
	p.Env = append(os.Environ(), helperEnv+"="+what+" "+path)
	p.Stderr = os.Stderr
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := p.StdinPipe() // held open
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); p.kill() })
	p.in, p.lines = in, bufio.NewScanner(out)
	p.ready(t)
	return p
}

func (p *process) ready(t *testing.T) {
	t.Helper()
	if !p.lines.Scan() || p.lines.Text() != "ready" {
		t.Fatalf("the other process says %q", p.lines.Text())
	}
}

// hold makes it hold another file instead.
func (p *process) hold(t *testing.T, path string) {
	t.Helper()
	if _, err := fmt.Fprintln(p.in, path); err != nil {
		t.Fatal(err)
	}
	p.ready(t)
}

// kill ends it at once; a second time does nothing.
func (p *process) kill() {
	p.dead = true
	_ = p.Process.Signal(syscall.SIGCONT)
	_ = p.Process.Kill()
	_ = p.Wait()
}

// newPath is a path in a folder that does not exist yet.
func newPath(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "state", "state.db")
}

func open(t *testing.T, c Config) *Store {
	t.Helper()
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// holds says whether the store has the file itself.
func holds(s *Store) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, is := s.role.(*holder)
	return is
}

func put(key store.Key, value string) store.Batch {
	return store.Batch{Put: []store.Put{{Key: key, Value: []byte(value)}}}
}

func commit(t *testing.T, s store.Store, b store.Batch) store.Result {
	t.Helper()
	r, err := s.Commit(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func want(t *testing.T, s store.Store, key store.Key, value string) {
	t.Helper()
	snap, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(snap.Docs[0].Value); got != value {
		t.Fatalf("document %s is %q, want %q", key, got, value)
	}
}

// until asks again and again until done says so.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	late := time.After(20 * time.Second)
	for !done() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("waited in vain for: %s", what)
		}
	}
}
