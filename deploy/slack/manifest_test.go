package slack

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	adapter "paragents/adapters/slack"
	"paragents/adapters/slack/slacktest"
	"paragents/core"
)

// table is what Slack's pages said at a date.
type table struct {
	Date    string `json:"date"`
	Source  string `json:"source"`
	Methods map[string]struct {
		Library   string   `json:"library"` // what of the client library calls it; empty: it is called by its name
		Scopes    []string `json:"scopes"`
		AppScopes []string `json:"app_scopes"` // of the app-level token, which has no manifest
	} `json:"methods"`
	Events   map[string][]string `json:"events"`
	Features map[string][]string `json:"features"`
}

type manifest struct {
	Metadata struct {
		Major int `yaml:"major_version"`
		Minor int `yaml:"minor_version"`
	} `yaml:"_metadata"`
	Display struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
		Color       string `yaml:"background_color"`
	} `yaml:"display_information"`
	Features struct {
		Home struct {
			Home     bool `yaml:"home_tab_enabled"`
			Messages bool `yaml:"messages_tab_enabled"`
			ReadOnly bool `yaml:"messages_tab_read_only_enabled"`
		} `yaml:"app_home"`
		Bot struct {
			Name   string `yaml:"display_name"`
			Online bool   `yaml:"always_online"`
		} `yaml:"bot_user"`
		Commands []struct {
			Command     string `yaml:"command"`
			Description string `yaml:"description"`
			Hint        string `yaml:"usage_hint"`
			Escape      bool   `yaml:"should_escape"`
		} `yaml:"slash_commands"`
		Shortcuts []struct {
			Name        string `yaml:"name"`
			Type        string `yaml:"type"`
			Callback    string `yaml:"callback_id"`
			Description string `yaml:"description"`
		} `yaml:"shortcuts"`
	} `yaml:"features"`
	OAuth struct {
		Scopes struct {
			Bot []string `yaml:"bot"`
		} `yaml:"scopes"`
	} `yaml:"oauth_config"`
	Settings struct {
		Events struct {
			Bot []string `yaml:"bot_events"`
		} `yaml:"event_subscriptions"`
		Interactivity struct {
			Enabled bool `yaml:"is_enabled"`
		} `yaml:"interactivity"`
		Org      bool `yaml:"org_deploy_enabled"`
		Socket   bool `yaml:"socket_mode_enabled"`
		Rotation bool `yaml:"token_rotation_enabled"`
	} `yaml:"settings"`
}

func load(t *testing.T) (table, manifest) {
	t.Helper()
	var facts table
	var m manifest
	raw, err := os.ReadFile(filepath.Join("testdata", "scopes.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &facts); err != nil {
		t.Fatal(err)
	}
	if _, err := time.Parse(time.DateOnly, facts.Date); err != nil || facts.Source == "" {
		t.Errorf("the table does not say when and where it was read: %v", err)
	}
	if raw, err = os.ReadFile("manifest.yaml"); err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalWithOptions(raw, &m, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	return facts, m
}

// TestScopes: the manifest asks for what the calls, events and features need, and for nothing else.
func TestScopes(t *testing.T) {
	facts, m := load(t)
	need := map[string]string{}
	for method := range calls(t, facts) {
		for _, s := range facts.Methods[method].Scopes {
			need[s] = method
		}
	}
	for _, e := range m.Settings.Events.Bot {
		scopes, ok := facts.Events[e]
		if !ok {
			t.Errorf("event %s is not in the table", e)
		}
		for _, s := range scopes {
			need[s] = e
		}
	}
	if len(m.Features.Commands) > 0 || len(m.Features.Shortcuts) > 0 {
		for _, s := range facts.Features["slash_commands"] {
			need[s] = "slash_commands"
		}
	}
	asked := m.OAuth.Scopes.Bot
	if !slices.IsSorted(asked) || len(slices.Compact(slices.Clone(asked))) != len(asked) {
		t.Error("the scopes are not sorted, or one is there twice")
	}
	for s, by := range need {
		if !slices.Contains(asked, s) {
			t.Errorf("%s needs the scope %s", by, s)
		}
	}
	for _, s := range asked {
		if need[s] == "" {
			t.Errorf("nothing needs the scope %s", s)
		}
	}
}

var methodName = regexp.MustCompile(`^(api|apps|auth|chat|conversations|files|reactions|users|views)\.[a-zA-Z.]+$`)

// calls reads in the adapter's source which methods it calls, by their names and through the library.
func calls(t *testing.T, facts table) map[string]bool {
	t.Helper()
	library := map[string]string{}
	for method, f := range facts.Methods {
		if f.Library != "" {
			library[f.Library] = method
		}
	}
	out := map[string]bool{}
	for _, f := range sources(t) {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if s, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && methodName.MatchString(s) {
					if _, ok := facts.Methods[s]; !ok {
						t.Errorf("method %s is not in the table", s)
					}
					out[s] = true
				}
			case *ast.SelectorExpr:
				name := n.Sel.Name
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "socketmode" && name == "New" {
					out[library["socketmode.New"]] = true
				}
				if x, ok := n.X.(*ast.SelectorExpr); ok && x.Sel.Name == "api" {
					method, ok := library[name]
					if !ok {
						t.Errorf("call %s of the library is not in the table", name)
					}
					out[method] = true
				}
			}
			return true
		})
	}
	for method := range facts.Methods {
		if !out[method] {
			t.Errorf("method %s is in the table and not called", method)
		}
	}
	return out
}

func sources(t *testing.T) []*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "adapters", "slack", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var out []*ast.File
	for _, p := range paths {
		if strings.HasSuffix(p, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	if len(out) == 0 {
		t.Fatal("no source was found")
	}
	return out
}

// TestManifestWithinLimits: what the page that takes the manifest would refuse.
func TestManifestWithinLimits(t *testing.T) {
	_, m := load(t)
	if n := len(m.Display.Name); n == 0 || n > 35 {
		t.Errorf("a name of %d characters: 1 to 35", n)
	}
	if n := len(m.Display.Description); n == 0 || n > 140 {
		t.Errorf("a description of %d characters: 1 to 140", n)
	}
	if len(m.Features.Commands) != 1 || m.Features.Commands[0].Command != "/paragents" || m.Features.Commands[0].Escape {
		t.Errorf("commands %+v", m.Features.Commands)
	}
	for _, s := range m.Features.Shortcuts {
		if s.Type != "message" || len(s.Name) > 24 || s.Callback != slacktest.ShortcutID || len(s.Description) > 150 {
			t.Errorf("shortcut %+v: a message's, its name at most 24 characters", s)
		}
	}
	if m.Features.Home.Home != slices.Contains(m.Settings.Events.Bot, "app_home_opened") || !m.Features.Home.Home {
		t.Error("the bot is not told when somebody opens its page, or has none")
	}
	if !m.Settings.Interactivity.Enabled || !m.Settings.Socket || !m.Features.Home.Messages || m.Features.Home.ReadOnly {
		t.Error("presses, sockets or direct messages are switched off")
	}
}

// TestNotesKnowTheScopes: with the scopes of the manifest the adapter misses none, and without each of them it says so.
func TestNotesKnowTheScopes(t *testing.T) {
	_, m := load(t)
	for i := -1; i < len(m.OAuth.Scopes.Bot); i++ {
		granted := slices.Clone(m.OAuth.Scopes.Bot)
		missing := ""
		if i >= 0 {
			missing = granted[i]
			granted = slices.Delete(granted, i, i+1)
		}
		srv := slacktest.New(t)
		srv.Scopes(strings.Join(granted, ","))
		a, err := adapter.New(adapter.Config{BotToken: slacktest.BotToken, AppToken: slacktest.AppToken, APIURL: srv.URL(), HTTPClient: srv.Client()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.CatchUp(t.Context(), place(srv), time.Time{}); err != nil {
			t.Fatal(err)
		}
		notes := a.Notes()
		if (missing == "") != (len(notes) == 0) || missing != "" && (len(notes) != 1 || !strings.Contains(notes[0], missing)) {
			t.Errorf("without %q: notes %q", missing, notes)
		}
	}
}

func place(srv *slacktest.Server) core.Place {
	return core.Place{Platform: "slack", Channel: srv.Channel()}
}
