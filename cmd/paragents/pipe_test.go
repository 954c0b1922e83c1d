package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPipe: a script's lines are run in order, and the end waits for the work.
func TestPipe(t *testing.T) {
	for name, in := range map[string]string{"quit": "read shopping.txt\n/quit\n", "the end of the pipe": "read shopping.txt\n", "the old word": "read shopping.txt\n/exit\nsay behind\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, problems, status := newMachine(t).run(in, "chat", "--plain")
			if status != 0 || problems != "" {
				t.Errorf("status %d: %s", status, problems)
			}
			if !strings.Contains(out, "apples") || !strings.Contains(out, "Goodbye") || strings.Contains(out, "behind") {
				t.Errorf("it says:\n%s", out)
			}
		})
	}
}

// TestPipeApprovesByNameOnly: from a pipe no key and no word approves, only the command that names the question.
func TestPipeApprovesByNameOnly(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	out, _, status := m.run("write milk to fridge.txt\ny\nyes\n/quit\n", "chat", "--plain")
	if status != 0 || m.holds("fridge.txt") != "" || !strings.Contains(out, "May this run?") || strings.Contains(out, " > ") {
		t.Errorf("status %d, the file holds %q, and it says:\n%s", status, m.holds("fridge.txt"), out)
	}
	asked := regexp.MustCompile(`May this run\? ([a-z0-9]{6})`).FindStringSubmatch(out)
	if asked == nil {
		t.Fatal("it does not name what it asks")
	}
	// The question has outlived its process, and the next one can answer it.
	out, _, status = m.run("approve "+asked[1]+"\n/quit\n", "chat", "--plain")
	if status != 0 || m.holds("fridge.txt") != "milk" {
		t.Errorf("status %d, the file holds %q, and it says:\n%s", status, m.holds("fridge.txt"), out)
	}
}

// TestPipeWaitsForTheQuestion: a script that answers at once is held back until it is asked.
func TestPipeWaitsForTheQuestion(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	out, _, status := m.run("write milk to fridge.txt\n/approve\nwrite eggs to basket.txt\n/deny\n/quit\n", "chat", "--plain")
	if status != 0 || m.holds("fridge.txt") != "milk" || m.holds("basket.txt") != "" {
		t.Errorf("status %d, the files hold %q and %q, and it says:\n%s", status, m.holds("fridge.txt"), m.holds("basket.txt"), out)
	}
}

// TestTour: the tour of make run, typed by a script, works and ends with status 0.
func TestTour(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("sh", filepath.Join(root, "deploy", "playground.sh"), filepath.Join(m.dir, "playground")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	m.dir = filepath.Join(m.dir, "playground")
	in := "read shopping.txt\n/new write milk to fridge.txt\n/approve\n/new run rm shopping.txt\n/deny\ncount to 100\n/stop\n/list\n/quit\n"
	out, problems, status := m.run(in, "--config", "paragents.demo.yaml", "chat", "--plain", "--tour")
	if status != 0 || problems != "" {
		t.Errorf("status %d: %s", status, problems)
	}
	for _, want := range []string{"A tour of 90 seconds", "apples", "wrote fridge.txt", "denied by a person", "stopped by", "[idle] read shopping.txt", "Goodbye"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if m.holds("fridge.txt") != "milk" || m.holds("shopping.txt") == "" {
		t.Errorf("the files hold %q and %q", m.holds("fridge.txt"), m.holds("shopping.txt"))
	}
}
