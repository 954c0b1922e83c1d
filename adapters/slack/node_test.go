package slack_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// nodeLimit is for everything a Node program does in a test, but not for the first installation.
const nodeLimit = 60 * time.Second

// node is a running program of testdata/npm, which speaks in lines.
type node struct {
	t     *testing.T
	lines chan string
	stdin io.Closer
}

func startNode(t *testing.T, env []string, args ...string) *node {
	t.Helper()
	dir := install(t)
	ctx, cancel := context.WithTimeout(t.Context(), nodeLimit)
	cmd := exec.CommandContext(ctx, "node", args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "NO_PROXY=*"), env...)
	cmd.Stderr = os.Stderr
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		cancel()
		t.Fatal(err)
	}
	n := &node{t: t, lines: make(chan string, 100), stdin: stdin}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(n.lines)
		for s := bufio.NewScanner(stdout); s.Scan(); {
			select {
			case n.lines <- s.Text():
			case <-ctx.Done():
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		cmd.Wait() //nolint:errcheck // killed, unless it ended by itself
	})
	return n
}

func (n *node) line() string {
	n.t.Helper()
	line, ok := <-n.lines
	if !ok {
		n.t.Fatal("the Node program ended, or took too long")
	}
	return line
}

// want reads the next line.
func (n *node) want(line string) {
	n.t.Helper()
	if got := n.line(); got != line {
		n.t.Fatalf("got  %s\nwant %s", got, line)
	}
}

// sighting is a line of bolt.mjs of which only a part is foreseen.
type sighting struct {
	Saw      string
	TS       string
	Text     string
	Port     int
	Replies  int
	Metadata string
}

func (n *node) next(saw string) sighting {
	n.t.Helper()
	var s sighting
	line := n.line()
	if err := json.Unmarshal([]byte(line), &s); err != nil || s.Saw != saw {
		n.t.Fatalf("got %s, want %s", line, saw)
	}
	return s
}

// stop ends the program's input, at which it ends itself.
func (n *node) stop() {
	n.t.Helper()
	if err := n.stdin.Close(); err != nil {
		n.t.Error(err)
	}
}

// install makes a folder with the packages of testdata/npm, once for each lock file, and gives its path.
func install(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("this test needs %s (Node 20 or newer) to run clients from outside: %v", tool, err)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	files := map[string][]byte{}
	for _, name := range []string{"package.json", "package-lock.json", "bolt.mjs", "emulate.yaml"} {
		data, err := os.ReadFile(filepath.Join("testdata", "npm", name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = data
		sum.Write(data)
	}
	dir := filepath.Join(cache, "paragents-test", "slack-"+hex.EncodeToString(sum.Sum(nil))[:16])
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	// Whole or not at all: the folder gets its name when everything is in it.
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "new-*")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(work, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = work
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("install clients from outside: %v\n%s", err, out)
	}
	if err := os.Rename(work, dir); err != nil {
		os.RemoveAll(work) //nolint:errcheck // another run was faster, or the next line says what is wrong
		if _, err := os.Stat(dir); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
