package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pane is a real terminal with the program in it: tmux types and reads.
type pane struct {
	m      *machine
	socket string
}

// chat starts the program as a chat in a terminal of its own.
func (m *machine) chat(args ...string) *pane {
	m.t.Helper()
	p := m.terminal(append([]string{"chat", "--plain"}, args...)...)
	p.shows("paragents: write what is to be done")
	return p
}

// terminal starts the program in a terminal of its own.
func (m *machine) terminal(args ...string) *pane {
	m.t.Helper()
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		m.t.Fatalf("tmux is missing: run .ci/need, or install it with your system's package manager")
	}
	p := &pane{m: m, socket: filepath.Join(m.t.TempDir(), "tmux")}
	line := fmt.Sprintf("trap : INT; env -i %s %s %s; echo \"ended with status $?\"; cat", quoted(m.env), binary, quoted(args))
	cmd := exec.Command(tmux, "-S", p.socket, "-f", "/dev/null", "new-session", "-d", "-x", "150", "-y", "200", "-c", m.dir, "sh", "-c", line)
	if out, err := cmd.CombinedOutput(); err != nil {
		m.t.Fatalf("tmux: %v: %s", err, out)
	}
	m.t.Cleanup(func() { p.tmux("kill-server") })
	return p
}

func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(out, " ")
}

func (p *pane) tmux(args ...string) string {
	out, err := exec.Command("tmux", append([]string{"-S", p.socket}, args...)...).CombinedOutput()
	if err != nil {
		p.m.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

// keys types text without Enter.
func (p *pane) keys(text string) { p.tmux("send-keys", "-l", text) }

// types types a line.
func (p *pane) types(line string) {
	p.keys(line)
	p.tmux("send-keys", "Enter")
}

func (p *pane) screen() string {
	return p.tmux("capture-pane", "-p", "-J")
}

// shows waits until the screen matches, and returns it.
func (p *pane) shows(pattern string) string {
	p.m.t.Helper()
	re := regexp.MustCompile(pattern)
	screen := ""
	p.m.until(fmt.Sprintf("the screen to show %q", pattern), func() bool {
		screen = p.screen()
		return re.MatchString(screen)
	}, &screen)
	return screen
}

// asks is what a question looks like: a line of its own, at which the cursor stands.
const asks = `(?m)^\[y\]es once  \[s\]ession  \[a\]lways here  \[n\]o >\s*\z`

// TestTerminalQuestion: on a terminal a key and Enter answer a question, for the one who sits there.
func TestTerminalQuestion(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.chat()
	p.types("write milk to fridge.txt")
	p.shows(asks)
	if m.holds("fridge.txt") != "" {
		t.Error("it was written before the answer")
	}
	p.types("y")
	p.shows("wrote fridge.txt")
	p.types("write eggs to basket.txt")
	p.shows(asks)
	p.types("n")
	p.shows("denied by a person")
	p.types("/new write jam to jam.txt")
	p.shows(asks)
	p.types("s")
	p.shows(`(?m)Write\(jam\.txt\)(.*\n)+\[y\]es, store it  \[n\]o >\s*\z`)
	p.types("y")
	p.shows("wrote jam.txt")
	if m.holds("fridge.txt") != "milk" || m.holds("basket.txt") != "" || m.holds("jam.txt") != "jam" {
		t.Errorf("the files hold %q, %q and %q", m.holds("fridge.txt"), m.holds("basket.txt"), m.holds("jam.txt"))
	}
	p.types("/quit")
	p.shows("ended with status 0")
}

// TestTerminalTypedBefore: what was typed while the work went on answers no question that appears afterwards.
func TestTerminalTypedBefore(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.chat()
	p.types("think for 2 seconds then write milk to fridge.txt")
	p.types("y") // a prompt: there is no question yet
	p.shows(`queued behind 1`)
	p.keys("y") // half a line
	p.shows(asks)
	p.tmux("send-keys", "Enter")
	p.shows(`(?m)^\[y\]es once.* > y?\s*\n\[y\]es once.* >\s*\z`) // asked again: the line was empty
	if m.holds("fridge.txt") != "" {
		t.Error("what was typed before approved it")
	}
	p.types("n")
	p.shows("denied by a person")
	p.tmux("send-keys", "C-d")
	p.shows("ended with status 0")
	if m.holds("fridge.txt") != "" {
		t.Error("it was written after a no")
	}
}

// TestTerminalTwo: a second terminal on the same state sees the sessions of the first, answers its questions, and takes over when it ends.
func TestTerminalTwo(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	first := m.chat()
	first.types("write milk to fridge.txt")
	first.shows(asks)
	second := m.chat()
	second.types("/list")
	second.shows(`\[needs-you\] write milk to fridge`)
	second.types("read shopping.txt")
	second.shows("apples")
	second.types("/approve")
	if screen := first.shows(`\[done\] done`); regexp.MustCompile(asks).MatchString(screen) {
		t.Errorf("it still asks what was answered elsewhere:\n%s", screen)
	}
	if m.holds("fridge.txt") != "milk" {
		t.Error("it was not written")
	}
	if strings.Contains(second.screen(), "wrote fridge.txt") {
		t.Error("the answer went to the other terminal")
	}
	first.types("/quit")
	first.shows("ended with status 0")
	second.types("say the second goes on")
	second.shows(`\[done\] the second goes on`)
	second.types("/quit")
	second.shows("ended with status 0")
}

// TestTerminalStop: stop reaches what runs, at once.
func TestTerminalStop(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.chat()
	p.types("run echo yes > started; sleep 300")
	p.shows(`(?m)^\[y\]es once.*\[n\]o >\s*\z`)
	p.types("y")
	m.until("the command to begin", func() bool { return m.holds("started") != "" })
	p.types("stop")
	p.shows(`\[cancelled\] stopped by`)
	p.tmux("send-keys", "C-c")
	p.shows("ended with status 0")
}
