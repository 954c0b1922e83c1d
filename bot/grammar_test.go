package bot

import (
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text, name, rest string
		ok               bool
	}{
		{"list", "list", "", true},
		{"List ALL", "list", "ALL", true},
		{"/list", "list", "", true},
		{"  new   write  milk ", "new", "write  milk", true},
		{"new\nwrite milk\nto fridge.txt", "new", "write milk\nto fridge.txt", true},
		{"sessions", "list", "", true},
		{"ls", "list", "", true},
		{"continue p1", "resume", "p1", true},
		{"exit", "quit", "", true},
		{"?", "help", "", true},
		{"run_held", "run-held", "", true},
		{"RUN-HELD", "run-held", "", true},
		{"more audit", "audit", "", true},
		{"more more", "more", "", false},
		{"more", "more", "", false},
		{"lst", "lst", "", false},
		{"", "", "", false},
		{" /", "", "", false},
	} {
		got, ok := Parse(c.text)
		if got.Name != c.name || got.Rest != c.rest || ok != c.ok || !slices.Equal(got.Args, strings.Fields(c.rest)) {
			t.Errorf("Parse(%q) = %+v, %v; want %s, %q, %v", c.text, got, ok, c.name, c.rest, c.ok)
		}
	}
}

// FuzzParse: whatever was written, a command is one of the grammar's, and nothing of its text is lost or added.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"list all", "more audit x", "/NEW_\u2028x", "İ", "\xff new", "approve #1 always"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, ok := Parse(text)
		if _, known := entries()[c.Name]; known != ok {
			t.Fatalf("%q became %q, known %v, ok %v", text, c.Name, known, ok)
		}
		if c.Rest != strings.TrimSpace(c.Rest) || !strings.HasSuffix(strings.TrimSpace(text), c.Rest) {
			t.Fatalf("%q has the rest %q", text, c.Rest)
		}
		if !ok {
			nearest(c.Name)
		}
	})
}

// TestGrammarIsServed: what can be written is carried out, each name is one command's, and menus hold what they can show.
func TestGrammarIsServed(t *testing.T) {
	handlers, names := entries(), map[string]bool{}
	for _, g := range grammar {
		if _, ok := handlers[g.name]; !ok {
			t.Errorf("%s is in the grammar, and nothing carries it out", g.name)
		}
		delete(handlers, g.name)
		for _, n := range append(g.aliases, g.name) {
			if names[n] || n != canonical(n) {
				t.Errorf("%s is not one command's", n)
			}
			names[n] = true
		}
		if word, _ := cutWord(g.usage); word != g.name || g.help == "" {
			t.Errorf("%s is described as %q, %q", g.name, g.usage, g.help)
		}
	}
	for name := range handlers {
		t.Errorf("%s can be carried out, and not written", name)
	}
	for _, m := range append(Menu(false), Menu(true)...) {
		if len(m[0]) > 32 || strings.Trim(m[0], "abcdefghijklmnopqrstuvwxyz") != "" || len(m[1]) > 100 {
			t.Errorf("a menu cannot show %v", m)
		}
	}
}

func TestNearest(t *testing.T) {
	for written, want := range map[string]string{
		"lst": "list", "aprove": "approve", "approvee": "approve", "ststus": "status", "app": "approvals", "approv": "approvals", "perm": "permissions",
		"swich": "switch", "frobnicate": "", "x": "", "": "",
	} {
		if got := nearest(written); got != want {
			t.Errorf("nearest to %q is %q, want %q", written, got, want)
		}
	}
}

func TestStopWords(t *testing.T) {
	for text, want := range map[string]bool{
		"stop": true, " STOP ": true, "Stop!": true, "halt": true, "abort": true, "/stop": true,
		"stop it": false, "don't stop": false, "": false, "stop\nwrite": false, "unstop": false,
	} {
		if isStop(text) != want {
			t.Errorf("isStop(%q) = %v", text, !want)
		}
	}
}

func TestInWorkspace(t *testing.T) {
	for _, c := range [][3]string{
		{"in:web list files", "web", "list files"},
		{"IN:Web list", "Web", "list"},
		{"in: list", "", "in: list"},
		{"list in:web", "", "list in:web"},
		{"in:web", "web", ""},
	} {
		if ws, rest := inWorkspace(c[0]); ws != c[1] || rest != c[2] {
			t.Errorf("inWorkspace(%q) = %q, %q", c[0], ws, rest)
		}
	}
}
