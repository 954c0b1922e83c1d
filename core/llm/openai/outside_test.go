//go:build outside

// The client against a server that somebody else wrote: @copilotkit/aimock, fetched with npm into the user's cache folder.
package openai

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"paragents/core/llm"
)

const aimockVersion = "1.43.0"

var listening = regexp.MustCompile(`listening on (http://\S+)`)

// aimock starts the server and returns its base URL.
func aimock(t *testing.T, flags ...string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "paragents-test", "aimock-"+aimockVersion)
	cli := filepath.Join(dir, "node_modules", "@copilotkit", "aimock", "dist", "cli.js")
	if _, err := os.Stat(cli); err != nil {
		install := exec.CommandContext(t.Context(), "npm", "install", "--no-audit", "--no-fund", "--prefix", dir, "@copilotkit/aimock@"+aimockVersion)
		if out, err := install.CombinedOutput(); err != nil {
			t.Fatalf("install aimock (npm and node are needed): %v\n%s", err, out)
		}
	}
	cmd := exec.Command("node", append([]string{cli, "-p", "0", "-f", "testdata/aimock.json"}, flags...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	watchdog := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() }) // ends the scan
	defer watchdog.Stop()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			return m[1] + "/v1"
		}
	}
	t.Fatal("aimock did not start within 30 s")
	return ""
}

func outside(t *testing.T, url string) *Client {
	c, err := New(Config{Providers: []Provider{{BaseURL: url, APIKey: testKey, Model: "m"}}, Idle: 10 * time.Second, Attempts: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func question(s string) llm.Request {
	return llm.Request{Messages: []llm.Message{{Role: llm.User, Content: s}}}
}

func TestAimock(t *testing.T) {
	c := outside(t, aimock(t, "-c", "3"))
	reply, told, err := ask(t.Context(), c, question("hello"))
	if want := "Hello! 你好 👋 How can I help?"; err != nil || reply.Text != want || strings.Join(told, "") != want || reply.Usage.Out == 0 {
		t.Errorf("reply %+v told %q, %v", reply, told, err)
	}

	r := question("two")
	reply, _, err = ask(t.Context(), c, r)
	if err != nil || len(reply.Calls) != 2 || reply.Calls[0].Arguments != `{"path":"größe.txt"}` || reply.Calls[1].Name != "list_dir" || reply.Finish != "tool_calls" {
		t.Fatalf("reply %+v, %v", reply, err)
	}
	r.Messages = append(r.Messages, llm.Message{Role: llm.Assistant, Calls: reply.Calls})
	for _, call := range reply.Calls {
		r.Messages = append(r.Messages, llm.Message{Role: llm.ToolReply, CallID: string(call.ID), Content: "ok"})
	}
	if reply, _, err = ask(t.Context(), c, r); err != nil || reply.Text != "Both done." || reply.Finish != "stop" {
		t.Errorf("reply %+v, %v", reply, err)
	}

	began := time.Now()
	if reply, _, err = ask(t.Context(), c, question("busy")); err != nil || reply.Text != "Back again." || time.Since(began) < time.Second {
		t.Errorf("reply %+v, %v after %v", reply, err, time.Since(began))
	}
	if _, _, err = ask(t.Context(), c, question("poor")); fault(t, err) != llm.FaultAccount {
		t.Error(err)
	}
	if _, _, err = ask(t.Context(), c, question("unheard of")); fault(t, err) != llm.FaultRequest {
		t.Error(err)
	}
}

func TestAimockBreaksConnections(t *testing.T) {
	c := outside(t, aimock(t, "--chaos-disconnect", "1"))
	if _, _, err := ask(t.Context(), c, question("hello")); fault(t, err) != llm.FaultAway {
		t.Error(err)
	}
}
