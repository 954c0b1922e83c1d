package grammar

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
		if known := slices.ContainsFunc(All(), func(g Entry) bool { return g.Name == c.Name }); known != ok {
			t.Fatalf("%q became %q, known %v, ok %v", text, c.Name, known, ok)
		}
		if c.Rest != strings.TrimSpace(c.Rest) || !strings.HasSuffix(strings.TrimSpace(text), c.Rest) {
			t.Fatalf("%q has the rest %q", text, c.Rest)
		}
		if !ok {
			Nearest(c.Name)
		}
	})
}

// TestGrammar: each name is one command's, and each command is described.
func TestGrammar(t *testing.T) {
	names := map[string]bool{}
	for _, g := range All() {
		for _, n := range append(g.Aliases, g.Name) {
			if names[n] || n != canonical(n) {
				t.Errorf("%s is not one command's", n)
			}
			names[n] = true
		}
		if word, _ := CutWord(g.Usage); word != g.Name || g.Help == "" {
			t.Errorf("%s is described as %q, %q", g.Name, g.Usage, g.Help)
		}
	}
}

func TestNearest(t *testing.T) {
	for written, want := range map[string]string{
		"lst": "list", "aprove": "approve", "approvee": "approve", "ststus": "status", "app": "approvals", "approv": "approvals", "perm": "permissions",
		"swich": "switch", "frobnicate": "", "x": "", "": "",
	} {
		if got := Nearest(written); got != want {
			t.Errorf("nearest to %q is %q, want %q", written, got, want)
		}
	}
}

func TestStopWords(t *testing.T) {
	for text, want := range map[string]bool{
		"stop": true, " STOP ": true, "Stop!": true, "halt": true, "abort": true, "/stop": true,
		"stop it": false, "don't stop": false, "": false, "stop\nwrite": false, "unstop": false,
	} {
		if IsStop(text) != want {
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
		if ws, rest := InWorkspace(c[0]); ws != c[1] || rest != c[2] {
			t.Errorf("inWorkspace(%q) = %q, %q", c[0], ws, rest)
		}
	}
}
