package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// FuzzLoad: whatever is in a file, Load ends with a configuration or an error, shows no secret, takes from a foreign file nothing but deny
// and ask rules, and reads what Show makes of the result as the same.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/broken/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range append(files, examplePath) {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, true)
		f.Add(data, false)
	}
	dir, home := f.TempDir(), f.TempDir()
	user := filepath.Join(home, "paragents", FileName)
	if err := os.MkdirAll(filepath.Dir(user), 0o755); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte, foreign bool) {
		file := user
		if foreign {
			file = filepath.Join(dir, FileName)
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(file)
		o := Options{Dir: dir, UserConfigDir: home, Environ: []string{"PARAGENTS_TELEGRAM_BOT_TOKEN=hunter2-of-the-environment"}, CheckRule: checkRule}
		c, warnings, err := Load(o)
		said := fmt.Sprint(c, warnings, err)
		if c != nil {
			said += Show(c)
		}
		if strings.Contains(said, "hunter2-of-the-environment") {
			t.Errorf("a secret is shown: %s", said)
		}
		if (c == nil) == (err == nil) {
			t.Errorf("configuration %v, error %v", c, err)
		}
		if c == nil {
			return
		}
		if foreign {
			want := Default()
			want.LLM.Provider, want.Workspaces[0].Path, want.Telegram.BotToken = "demo", dir, c.Telegram.BotToken
			tightened := *c
			tightened.Rules.Deny, tightened.Rules.Ask = nil, nil
			tightened.Workspaces[0].Rules.Deny, tightened.Workspaces[0].Rules.Ask = nil, nil
			if want.meta = c.meta; !reflect.DeepEqual(&tightened, want) {
				t.Errorf("a foreign file changed more than it may: %s", Show(c))
			}
			return
		}
		show := Show(c)
		if len(c.Secrets()) > 1 {
			return // cannot be read again without what is hidden
		}
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(show, `"[hidden]"`, `""`)), 0o644); err != nil {
			t.Fatal(err)
		}
		again, _, err := Load(o)
		if err != nil {
			t.Fatalf("%v in\n%s", err, show)
		}
		if got, want := withoutSources(Show(again)), withoutSources(show); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}
