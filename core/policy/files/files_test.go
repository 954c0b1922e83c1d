package files_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"paragents/core/policy/files"
)

// world is a made-up file system: a name that ends in a slash is a directory, a value is the target of a link.
type world map[string]string

func (w world) Workspace() string { return "/ws" }
func (w world) Home() string      { return "/home" }

func (w world) Lstat(name string) (files.Kind, string) {
	if target, ok := w[name]; ok && target != "" {
		return files.Link, target
	} else if ok {
		return files.File, ""
	}
	if names, _ := w.List(name); len(names) > 0 || name == "/" {
		return files.Dir, ""
	}
	return files.Missing, ""
}

func (w world) List(dir string) ([]string, bool) {
	var out []string
	for name := range w {
		if rest, ok := strings.CutPrefix(name, strings.TrimSuffix(dir, "/")+"/"); ok {
			first, _, _ := strings.Cut(rest, "/")
			out = append(out, first)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), true
}

var small = world{
	"/ws/a.txt": "", "/ws/sub/b.txt": "", "/ws/sub/.env": "", "/ws/up": "..", "/ws/out": "/etc", "/ws/l": "sub", "/ws/loop": "loop", "/ws/sub/far": "../a.txt",
	"/etc/shadow": "", "/home/.ssh/id": "", "/ws/to-file": "/etc/shadow",
}

func TestForms(t *testing.T) {
	v := files.NewView(small)
	for text, want := range map[string]string{
		"/ws/a.txt": "/ws/a.txt", "/ws/l/b.txt": "/ws/l/b.txt /ws/sub/b.txt", "/ws/out/shadow": "/ws/out/shadow /etc/shadow", "/ws/l/../a.txt": "/ws/a.txt",
		"/ws/out/../home": "/ws/home /home", "/ws/up/ws/./a.txt": "/ws/up/ws/a.txt /ws/a.txt", "/ws/sub/far": "/ws/sub/far /ws/a.txt", "/../..": "/",
		"/ws/l/far": "/ws/l/far /ws/a.txt /ws/sub/far",
	} {
		if got := strings.Join(files.FormsOf(v, text).Paths, " "); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	if !files.FormsOf(v, "/ws/loop/x").Circle || files.FormsOf(v, "/ws/a.txt").Circle {
		t.Error("circle not told from a file")
	}
	if !files.FormsOf(v, "/proc/self/cwd/x").Magic || !files.FormsOf(v, "/proc/1/root").Magic || files.FormsOf(v, "/proc/self/status").Magic {
		t.Error("links of the kernel not told from files")
	}
}

func TestMatch(t *testing.T) {
	v := files.NewView(small)
	for _, c := range []struct {
		pattern string
		target  files.Target
		match   files.Answer
		covered bool
	}{
		{"sub/**", files.Target{Path: "/ws/sub"}, files.Yes, true},
		{"sub/**", files.Target{Path: "/ws/SUB/x"}, files.Yes, false},
		{"sub/**", files.Target{Path: "/ws/subx"}, files.No, false},
		{"sub/**", files.Target{Path: "/ws/l/b.txt"}, files.Yes, false},
		{"**/.env", files.Target{Path: "/ws/.env"}, files.Yes, true},
		{"**/.env", files.Target{Path: "/ws/sub", Extent: files.Tree}, files.Yes, false},
		{"**/.env", files.Target{Path: "/ws/sub", Extent: files.Some}, files.Maybe, false},
		{"**/.env", files.Target{Path: "/ws/x", Extent: files.Tree}, files.No, false},
		{"**/.env", files.Target{Path: "/ws/x", Extent: files.New}, files.Maybe, false},
		{"**/.env", files.Target{Path: "/ws/sub/.e*", Extent: files.Matching}, files.Yes, false},
		{"**/.env", files.Target{Path: "/ws/sub/*", Extent: files.Matching}, files.No, false},
		{"**/.env", files.Target{Path: "/ws/*", Extent: files.Trees}, files.Yes, false},
		{"**/.env", files.Target{Extent: files.Anything}, files.Maybe, false},
		{"./**", files.Target{Path: "/ws/sub/*", Extent: files.Matching}, files.Yes, true},
		{"./**", files.Target{Path: "/ws/to-*", Extent: files.Matching}, files.Yes, false},
		{"./**", files.Target{Path: "/ws/sub", Extent: files.Tree}, files.Yes, true},
		{"./**", files.Target{Path: "/ws", Extent: files.Some}, files.Yes, false},
		{"./**", files.Target{Path: "/ws/sub", Extent: files.Some}, files.Yes, true},
		{"/etc/**", files.Target{Path: "/ws", Extent: files.Followed}, files.Yes, false},
		{"/etc/**", files.Target{Path: "/ws", Extent: files.Tree}, files.No, false},
		{"/etc/**", files.Target{Path: "/ws/out/x"}, files.Yes, false},
		{"~/.ssh/**", files.Target{Path: "/home/.ssh"}, files.Yes, true},
		{"docs/*.md", files.Target{Path: "/ws/docs/x/y.md"}, files.No, false},
		{"a?txt", files.Target{Path: "/ws/a.txt"}, files.Yes, true},
		{"../home/**", files.Target{Path: "/home/x"}, files.Yes, true},
		{"*", files.Target{Extent: files.Anything}, files.Yes, true},
	} {
		s := files.NewSet(v, c.target)
		p := files.ParsePattern(c.pattern)
		if got := s.Match(p); got != c.match {
			t.Errorf("%s with %s (%d): got %d, want %d", c.pattern, c.target, c.target.Extent, got, c.match)
		}
		if got := s.Covered([]files.Pattern{p}); got != c.covered {
			t.Errorf("%s covers %s (%d): got %v", c.pattern, c.target, c.target.Extent, got)
		}
	}
}

// TestAllowIsNarrowerThanDeny says that whatever a pattern covers for an allow rule, it matches for a deny rule.
func TestAllowIsNarrowerThanDeny(t *testing.T) {
	v := files.NewView(small)
	rapid.Check(t, func(t *rapid.T) {
		p := files.ParsePattern(rapid.StringMatching(`(\./|/ws/|~/|/|)([a*?.]{1,3}|\*\*|sub|l|out)(/([a*]{1,2}|\*\*|\.\.|b\.txt)){0,2}`).Draw(t, "pattern"))
		target := files.Target{
			Path:   rapid.StringMatching(`/ws(/(sub|l|out|up|\.\.|a\.txt|x|\.env)){0,3}`).Draw(t, "path"),
			Extent: files.Extent(rapid.IntRange(int(files.One), int(files.New)).Draw(t, "extent")),
		}
		s := files.NewSet(v, target)
		if s.Covered([]files.Pattern{p}) && s.Match(p) != files.Yes {
			t.Fatalf("%+v covers %s (%d) and does not match it", p, target, target.Extent)
		}
		if !path.IsAbs(s.Forms.Paths[0]) || path.Clean(s.Forms.Paths[0]) != s.Forms.Paths[0] {
			t.Fatalf("%s has the form %s", target.Path, s.Forms.Paths[0])
		}
	})
}
