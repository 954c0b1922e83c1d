package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The command looks at its helper and at the bot through /proc. Without Harden it sees the bot's environment, with it it does not. Root
// sees everything, so as root the bot runs as somebody else.
func TestB069ParentEnvironment(t *testing.T) {
	const look = `env; tr '\0' '\n' </proc/$PPID/environ; read -r _ _ _ bot _ </proc/$PPID/stat; tr '\0' '\n' </proc/$bot/environ; echo looked`
	raw, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	exe := filepath.Join(dir, "bot")
	if err := os.WriteFile(exe, raw, 0o755); err != nil {
		t.Fatal(err)
	}
	for mode, visible := range map[string]bool{"plain": true, "harden": false} {
		cmd := exec.Command(exe, "bot", "1m", mode, look)
		cmd.Env = append(os.Environ(), "TELEGRAM_BOT_TOKEN=canary-9171")
		cmd.Dir = "/"
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "looked\nerr=<nil>") {
			t.Errorf("%s: %v\n%s", mode, err, out)
		}
		if got := strings.Contains(string(out), "canary-9171"); got != visible {
			t.Errorf("%s: canary seen %v, want %v\n%s", mode, got, visible, out)
		}
		if seen := strings.Count(string(out), "GIT_TERMINAL_PROMPT=0"); seen != 2 {
			t.Errorf("%s: looked at %d environments of the command's own", mode, seen)
		}
	}
}
