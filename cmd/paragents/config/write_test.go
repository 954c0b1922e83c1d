package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is set is in the file, and everything else is as it was, in the same words.
func TestWrite(t *testing.T) {
	settings := []Setting{{"bot_token", "xoxb-new"}, {"app_token", "xapp-new"}}
	const set = "slack:\n  bot_token: \"xoxb-new\"\n  app_token: \"xapp-new\"\n"
	for name, c := range map[string]struct{ old, want string }{
		"no file":       {"", set},
		"other things":  {"# mine\nllm: {model: x} # why\n", "# mine\nllm: {model: x} # why\n" + set},
		"no line end":   {"lease: 15s", "lease: 15s\n" + set},
		"only remarks":  {"# nothing\n", "# nothing\n" + set},
		"an empty one":  {"slack:\nlease: 15s\n", set + "lease: 15s\n"},
		"a flow":        {"slack: {bot_token: \"${OLD}\", mode: socket} # x\n# about the lease\nlease: 15s\n", set + "  mode: socket\n# about the lease\nlease: 15s\n"},
		"a block":       {"lease: 15s\nslack:\n  # remark\n  bot_token_file: /run/secret\n  api_url: \"http://localhost:1/api\"\n", "lease: 15s\n" + set + "  api_url: \"http://localhost:1/api\"\n  # remark\n"},
		"set already":   {set, set},
		"lists beside":  {"workspaces:\n- name: default\n  path: .\nslack: {}\naccess: {admins: [\"slack:T/U\"]}\n", "workspaces:\n- name: default\n  path: .\n" + set + "access: {admins: [\"slack:T/U\"]}\n"},
		"in the middle": {"lease: 15s\n\nslack:\n  mode: socket\n\nlisten: \"\"\n", "lease: 15s\n\n" + set + "  mode: socket\n\nlisten: \"\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "new", "paragents.yaml")
			if c.old != "" {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(c.old), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := Write(path, "slack", settings); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if err != nil || string(got) != c.want {
				t.Errorf("got:\n%s\nwant:\n%s\n%v", got, c.want, err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) != 1 {
				t.Errorf("left behind: %v, %v", list, err)
			}
		})
	}
}

// What cannot be changed for certain is not touched, and the error says what to do, without the secret.
func TestWriteNot(t *testing.T) {
	for name, old := range map[string]string{
		"not YAML":      "slack: [\n",
		"no section":    "slack: 7\n",
		"two documents": "lease: 15s\n---\nslack: {}\n",
		"an alias":      "a: &x {mode: socket}\nslack: *x\n",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "paragents.yaml")
			if err := os.WriteFile(path, []byte(old), 0o644); err != nil {
				t.Fatal(err)
			}
			err := Write(path, "slack", []Setting{{"bot_token", "xoxb-canary"}})
			if err == nil || !strings.Contains(err.Error(), "slack.bot_token into it by hand") || strings.Contains(err.Error(), "canary") {
				t.Errorf("error %v", err)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != old {
				t.Errorf("the file holds %q, %v", got, err)
			}
		})
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "paragents.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(filepath.Join(dir, "paragents.yaml"), "slack", []Setting{{"bot_token", "x"}}); err == nil {
		t.Error("a folder was written")
	}
}
