package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const examplePath = "../../../deploy/paragents.example.yaml"

// eachKey visits every key that a file can have, with [] for an element of a list or table.
func eachKey(t reflect.Type, path string, visit func(path string, f field)) {
	for _, f := range fields(t) {
		path := join(path, f.name)
		visit(path, f)
		switch {
		case scalar(f.typ):
		case f.typ.Kind() == reflect.Struct:
			eachKey(f.typ, path, visit)
		case f.typ.Elem().Kind() == reflect.Struct:
			eachKey(f.typ.Elem(), path+"[]", visit)
		}
	}
}

func TestEveryKeyIsDocumented(t *testing.T) {
	variables := make(map[string]string)
	eachKey(reflect.TypeFor[Config](), "", func(path string, f field) {
		if !strings.HasSuffix(f.doc, ".") && !strings.HasSuffix(f.doc, "…") {
			t.Errorf("%s: its doc is no sentence: %q", path, f.doc)
		}
		if number := is[int](f.typ) || is[float64](f.typ) || is[time.Duration](f.typ); !number && f.min+f.max != "" {
			t.Errorf("%s: bounds of something that has none", path)
		}
		if f.enum != nil && f.typ.Kind() != reflect.String {
			t.Errorf("%s: choice of something that is no text", path)
		}
		if other, twice := variables[envName(path)]; twice {
			t.Errorf("%s and %s are the same variable", path, other)
		}
		variables[envName(path)] = path
	})
	if len(variables) < 80 {
		t.Errorf("only %d keys", len(variables))
	}
}

// TestDefaultsAreValid: also that each bound and choice can be read, because a default is compared with it.
func TestDefaultsAreValid(t *testing.T) {
	if warnings, err := Default().Validate(checkRule); err != nil || len(warnings) != 0 {
		t.Error(warnings, err)
	}
	eachKey(reflect.TypeFor[Config](), "", func(path string, f field) {
		for _, bound := range []string{f.min, f.max} {
			if bound == "" {
				continue
			}
			if wrong, _ := set(reflect.New(f.typ).Elem(), bound, f); wrong != "" {
				t.Errorf("%s: bound %s", path, wrong)
			}
		}
	})
}

// TestExample: the file is complete, says what the schema says, and is valid with everything in it switched on and as it stands.
func TestExample(t *testing.T) {
	data, err := os.ReadFile(examplePath)
	if err != nil {
		t.Fatal(err)
	}
	load := func(text string) *Config {
		m := newMachine(t)
		m.environ = []string{"OTHER_API_KEY=k"}
		m.user(text)
		c, _ := m.load()
		return c
	}
	asItStands := load(string(data))
	want := Default()
	want.LLM.Provider, want.Workspaces[0].Path, want.meta = "demo", asItStands.Workspaces[0].Path, asItStands.meta
	if got, want := withoutSources(Show(asItStands)), withoutSources(Show(want)); got != want {
		t.Errorf("the example is not the defaults: got\n%s\nwant\n%s", got, want)
	}

	off := regexp.MustCompile(`(?m)^( *)#(\S.*|  .*)$`)
	c := load(off.ReplaceAllString(string(data), "$1$2"))
	element := regexp.MustCompile(`\[[^]]*\]`)
	given := make(map[string]bool)
	for path := range c.meta.sources {
		given[element.ReplaceAllString(path, "[]")] = true
	}
	comments := ""
	for line := range strings.Lines(string(data)) {
		if _, comment, ok := strings.Cut(line, "# "); ok {
			comments += strings.TrimSpace(comment) + " "
		}
	}
	eachKey(reflect.TypeFor[Config](), "", func(path string, f field) {
		if !given[path] {
			t.Errorf("%s is not in the example", path)
		}
		if !strings.Contains(comments, f.doc) {
			t.Errorf("%s: the example does not say %q", path, f.doc)
		}
	})
}

// withoutSources takes the sources away.
func withoutSources(show string) string {
	return regexp.MustCompile(`(?m)  # .*$`).ReplaceAllString(show, "")
}

// TestShowIsAConfiguration: what Show writes is read as the same configuration.
func TestShowIsAConfiguration(t *testing.T) {
	m := newMachine(t)
	for _, dir := range []string{"a", "b"} {
		m.write(filepath.Join(m.dir, dir, "x"), "")
	}
	m.environ = []string{"PARAGENTS_ACCESS_VIEWERS=telegram:1,telegram:2", "PARAGENTS_LEASE=1m30s", "PARAGENTS_LIMITS_MONEY_PROMPT=0.125"}
	m.user(`
llm: {provider: openai, base_url: "http://localhost:1/v1", model: "true", fallbacks: [{model: "a: b # c"}, {model: d}], price: {"gpt 5": {in: 1.5}, "": {out: 1e3}}}
store: {url: "file:state.db"}
workspaces: [{name: a, path: a}, {name: b, path: b, rules: {deny: ["Bash(echo \"x\" 'y':*)", "- <é>\u0001"]}}]
rules: {allow: ["Bash(go test:*)", "yes", ""]}
access:
  places:
    slack:T0AB/C0EF: {workspace: b, operators: ["slack:T1/U1"]}
approvals: {expire: 90m, remind: 0s}
`)
	first, _ := m.load()
	show := Show(first)
	for _, line := range []string{
		"lease: 1m30s  # PARAGENTS_LEASE",
		"  viewers:  # PARAGENTS_ACCESS_VIEWERS",
		"    - telegram:1",
		"  provider: openai  # " + m.home + "/paragents/paragents.yaml:2",
		"  - name: a  # " + m.home + "/paragents/paragents.yaml:4",
		"shutdown_grace: 30s",
	} {
		if !strings.Contains(show, line+"\n") {
			t.Errorf("%q is not in\n%s", line, show)
		}
	}
	m.environ = nil
	m.user(show)
	second, _ := m.load()
	second.meta, first.meta = meta{}, meta{}
	if again, want := Show(second), Show(first); again != want {
		t.Errorf("got\n%s\nwant\n%s", again, want)
	}
}

func TestSchema(t *testing.T) {
	type node struct {
		Type, Description    string
		Properties           map[string]*node
		AdditionalProperties json.RawMessage
		Items                *node
		Default              any
		Enum                 []string
	}
	var root node
	if err := json.Unmarshal(Schema(), &root); err != nil {
		t.Fatal(err)
	}
	find := func(path string) *node {
		n := &root
		for part := range strings.SplitSeq(path, ".") {
			name, element := strings.CutSuffix(part, "[]")
			n = n.Properties[name]
			if n == nil || !element {
				continue
			}
			entries := n.Items
			if entries == nil {
				if err := json.Unmarshal(n.AdditionalProperties, &entries); err != nil {
					t.Fatalf("%s: %v", path, err)
				}
			}
			n = entries
		}
		return n
	}
	eachKey(reflect.TypeFor[Config](), "", func(path string, f field) {
		n := find(path)
		switch {
		case n == nil:
			t.Errorf("%s is missing", path)
		case !strings.HasPrefix(n.Description, f.doc) || !slices.Equal(n.Enum, f.enum):
			t.Errorf("%s: %+v", path, n)
		case f.typ.Kind() == reflect.Struct && !is[Secret](f.typ) && string(n.AdditionalProperties) != "false":
			t.Errorf("%s takes unknown keys", path)
		case is[Secret](f.typ) && find(path+"_file") == nil:
			t.Errorf("%s_file is missing", path)
		}
	})
	for path, want := range map[string]any{"lease": "15s", "limits.max_in_flight": 128.0, "approvals.approve_own": true, "workspaces[].busy": "queue"} {
		if got := find(path).Default; got != want {
			t.Errorf("%s: default %v, want %v", path, got, want)
		}
	}
}
