package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"paragents/core"
	"paragents/core/llm/llmtest"
)

// TestExecStatus: the exit status says how it ended: 0 done, 1 failed, 2 wrongly called, 3 needed an approval that nobody could give.
func TestExecStatus(t *testing.T) {
	for _, c := range []struct {
		name     string
		args     []string
		status   int
		out, err string
	}{
		{"done", []string{"exec", "read shopping.txt"}, 0, "apples", ""},
		{"no text", []string{"exec"}, 2, "", "text"},
		{"an unknown option", []string{"exec", "--frobnicate", "list files"}, 2, "", "frobnicate"},
		{"an unknown command", []string{"frobnicate"}, 2, "", "frobnicate"},
		{"an approval was needed", []string{"exec", "write milk to fridge.txt"}, 3, "did not work", "nobody can be asked"},
		{"an unknown workspace", []string{"exec", "-w", "nowhere", "list files"}, 2, "", "there are: default"},
		{"a missing configuration", []string{"--config", "nowhere.yaml", "exec", "list files"}, 2, "", "nowhere.yaml"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			out, problems, status := m.run("", c.args...)
			if status != c.status || !strings.Contains(out, c.out) || !strings.Contains(problems, c.err) {
				t.Errorf("status %d, want %d\n%s\n%s", status, c.status, out, problems)
			}
			if m.holds("fridge.txt") != "" {
				t.Error("it was written without a yes")
			}
		})
	}
}

// TestExecFails: what the model's provider refuses fails, with the reason; what would be asked of a person is not waited for.
func TestExecFails(t *testing.T) {
	for name, c := range map[string]struct {
		step   llmtest.Step
		says   string
		status int
	}{
		"refused":   {llmtest.Step{Status: http.StatusBadRequest, Body: llmtest.ErrorBody("no such thing", "invalid_request_error", "")}, "no such thing", 1},
		"no credit": {llmtest.Step{Status: http.StatusPaymentRequired, Body: llmtest.ErrorBody("pay first", "insufficient_quota", "insufficient_quota")}, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := llmtest.NewServer(t).Answer(func(int, llmtest.Seen) llmtest.Step { return c.step })
			m := newMachine(t)
			m.env = append(m.env, "PARAGENTS_LLM_BASE_URL="+server.URL, "PARAGENTS_LLM_MODEL=test", "OPENAI_API_KEY=sk-canary-1234567890")
			out, problems, status := m.run("", "exec", "list files")
			if status != c.status || !strings.Contains(problems, c.says) || strings.Contains(out+problems, "canary") {
				t.Errorf("status %d\n%s\n%s", status, out, problems)
			}
		})
	}
}

// TestExecJSON: each event is a line of JSON, and the last is the result. Nothing is left pending.
func TestExecJSON(t *testing.T) {
	m := newMachine(t)
	out, problems, status := m.run("", "exec", "--json", "read shopping.txt and write milk to fridge.txt")
	if status != 3 {
		t.Errorf("status %d\n%s", status, problems)
	}
	types := map[core.EventType]core.Event{}
	var last core.Event
	for line := range strings.Lines(out) {
		last = core.Event{}
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if last.Session == "" || last.Prompt == "" || last.Time.IsZero() {
			t.Errorf("%q does not say what it is about", line)
		}
		types[last.Type] = last
	}
	for _, want := range []core.EventType{core.EventTurn, core.EventCall, core.EventResult, core.EventApproval, core.EventAnswer} {
		if types[want].Type == "" {
			t.Errorf("there was no %s in\n%s", want, out)
		}
	}
	if last.Type != core.EventEnd || last.State != string(core.Done) || last.Tokens == 0 {
		t.Errorf("it ends with %+v", last)
	}
	if a := types[core.EventApproval]; a.Tool != "write_file" || a.State != "refused" {
		t.Errorf("the approval is %+v", a)
	}
	if out, _, _ := m.run("", "approvals"); out != "" {
		t.Errorf("something is left pending: %s", out)
	}
}

// TestExecFrozen: nothing is accepted that would wait for a thaw.
func TestExecFrozen(t *testing.T) {
	m := newMachine(t)
	m.run("", "freeze", "all", "a look")
	if _, problems, status := m.run("", "exec", "list files"); status != 1 || !strings.Contains(problems, "everything is frozen: a look") || !strings.Contains(problems, "thaw all") {
		t.Errorf("status %d\n%s", status, problems)
	}
	if out, _, _ := m.run("", "sessions"); out != "" {
		t.Errorf("there is a session: %s", out)
	}
	m.run("", "thaw", "all")
	if _, problems, status := m.run("", "exec", "list files"); status != 0 {
		t.Errorf("after the thaw: status %d\n%s", status, problems)
	}
}

// TestWrongConfiguration: what is wrong is told with file and line, and the status is 2, whatever was asked for.
func TestWrongConfiguration(t *testing.T) {
	m := newMachine(t)
	m.file("my.yaml", "# mine\nllm:\n  provider: demo\n  modle: gpt\nworkspaces:\n  - name: default\n    path: .\n    rules: {allow: [\"Bash(\"]}\nlease: soon\n")
	for _, args := range [][]string{{"chat", "--plain"}, {"serve"}, {"exec", "list files"}, {"config", "check"}, {"sessions"}} {
		out, problems, status := m.run("/quit\n", append([]string{"--config", "my.yaml"}, args...)...)
		if status != 2 {
			t.Errorf("%q: status %d", args, status)
		}
		for _, want := range []string{"my.yaml:4", "modle", "my.yaml:8", "my.yaml:9"} {
			if !strings.Contains(problems, want) {
				t.Errorf("%q does not say %s:\n%s%s", args, want, out, problems)
			}
		}
	}
}
