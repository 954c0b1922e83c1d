package killtest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// patience bounds every wait for something that must come.
const patience = 90 * time.Second

// fault is what was done to a process, with the times right before and after.
type fault struct {
	what     string
	from, to time.Time
}

// replica is one place for a process of the program, and the process that is there now.
type replica struct {
	w    *world
	name string

	cmd   *exec.Cmd
	ended chan struct{}

	mu   sync.Mutex
	log  []string
	dead bool // we ended it
}

// start starts a process: paragents serve.
func (w *world) start(name string) *replica {
	r := &replica{w: w, name: name}
	w.replicas = append(w.replicas, r)
	w.t.Cleanup(r.clear)
	r.start()
	return r
}

func (r *replica) start() {
	t := r.w.t
	t.Helper()
	r.cmd = exec.Command(binary, "--config", filepath.Join(r.w.dir, "paragents.yaml"), "--log-level", "info", "serve")
	r.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.w.dir, "TMPDIR=" + os.TempDir()}
	r.cmd.Dir = r.w.dir
	out, err := r.cmd.StderrPipe()
	if err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		t.Fatalf("start %s: %v", r.name, err)
	}
	r.mu.Lock()
	r.log = append(r.log, fmt.Sprintf("--- process %d, %s", r.cmd.Process.Pid, time.Now().Format(time.StampMilli)))
	r.dead = false
	r.mu.Unlock()
	ended, cmd := make(chan struct{}), r.cmd
	r.ended = ended
	go func() {
		defer close(ended)
		r.read(out)
		err := cmd.Wait()
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.dead {
			t.Errorf("%s ended by itself: %v\n%s", r.name, err, strings.Join(r.log, "\n"))
		}
	}()
}

func (r *replica) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		r.mu.Lock()
		r.log = append(r.log, lines.Text())
		r.mu.Unlock()
	}
}

// said counts the lines of the present process's log, or of all processes', that hold a text.
func (r *replica) said(text string, ever bool) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, line := range r.log {
		switch {
		case strings.HasPrefix(line, "---") && !ever:
			n = 0
		case strings.Contains(line, text):
			n++
		}
	}
	return n
}

// end notes that the process is meant to end.
func (r *replica) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dead = true
}

// kill ends the process with SIGKILL.
func (r *replica) kill() {
	from := time.Now()
	r.clear()
	r.w.faults = append(r.w.faults, fault{"kill", from, time.Now()})
}

// clear ends the process, if it is still there.
func (r *replica) clear() {
	r.end()
	_ = r.cmd.Process.Signal(syscall.SIGKILL)
	r.gone()
}

func (r *replica) gone() {
	select {
	case <-r.ended:
	case <-time.After(patience):
		r.w.t.Errorf("%s does not end\n%s", r.name, strings.Join(r.log, "\n"))
	}
}

// pause stops the process until resume.
func (r *replica) pause() {
	from := time.Now()
	_ = r.cmd.Process.Signal(syscall.SIGSTOP)
	r.w.faults = append(r.w.faults, fault{"stop", from, time.Now()})
}

func (r *replica) resume() { _ = r.cmd.Process.Signal(syscall.SIGCONT) }

// quit ends all processes as a service manager does; that must work.
func (w *world) quit() {
	w.t.Helper()
	for _, r := range w.replicas {
		r.end()
		_ = r.cmd.Process.Signal(syscall.SIGTERM)
	}
	for _, r := range w.replicas {
		r.gone()
		if r.said("DATA RACE", true) > 0 {
			w.t.Errorf("%s has a data race\n%s", r.name, strings.Join(r.log, "\n"))
		}
		if state := r.cmd.ProcessState; state != nil && !state.Success() {
			w.t.Errorf("%s ended with %v when it was asked to\n%s", r.name, state, strings.Join(r.log, "\n"))
		}
	}
}

// tails are the ends of all logs, for a test that failed.
func (w *world) tails() string {
	var b strings.Builder
	for _, r := range w.replicas {
		r.mu.Lock()
		fmt.Fprintf(&b, "%s:\n  %s\n", r.name, strings.Join(r.log[max(0, len(r.log)-40):], "\n  "))
		r.mu.Unlock()
	}
	return b.String()
}
