package file_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"paragents/core/tool"
)

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func TestReadFile(t *testing.T) {
	_, s := workspace(t, map[string]string{
		"plain": "a\nb\n", "open": "a\nb", "empty": "", "crlf": "a\r\nb\r\n", "ten": numbered(10),
		"bad": "ab\xB2c\n", "binary": "GIF\x00\x01", "late": strings.Repeat("x", 9000) + "\x00\n",
	})
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"path": "plain"}, "a\nb\n"},
		{args{"path": "./plain"}, "a\nb\n"},
		{args{"path": "open"}, "a\nb"},
		{args{"path": "empty"}, "[the file is empty]"},
		{args{"path": "crlf"}, "a\nb\n[lines end in CR LF; edit_file keeps that]"},
		{args{"path": "bad"}, "ab\uFFFDc\n"},
		{args{"path": "late"}, strings.Repeat("x", 9000) + "␀\n"},
		{args{"path": "binary"}, "binary is a binary file of 5 bytes; file tools neither show nor change it"},
		{args{"path": "ten", "limit": 2}, "line 1\nline 2\n[lines 1 to 2 of 10; read on with offset 3]"},
		{args{"path": "ten", "offset": 4, "limit": 1}, "line 4\n[lines 4 to 4 of 10; read on with offset 5]"},
		{args{"path": "ten", "offset": 9}, "line 9\nline 10\n[lines 9 to 10 of 10]"},
		{args{"path": "open", "offset": 2}, "b\n[lines 2 to 2 of 2]"},
	} {
		if got := s.out("read_file", c.args); got != c.want {
			t.Errorf("%v: %q, want %q", c.args, got, c.want)
		}
	}
	s.refused("has only 10 lines", "read_file", args{"path": "ten", "offset": 11})
	s.refused("count lines", "read_file", args{"path": "ten", "offset": -1})
	s.refused("schema", "read_file", args{"file": "ten"})
}

func TestReadFileIsBounded(t *testing.T) {
	ws, s := workspace(t, map[string]string{
		"many": numbered(10_000), "long": "short\n" + strings.Repeat("ä", 100_000) + "\nend\n", "wide": strings.Repeat("ä", 100_000),
	})
	got := s.out("read_file", args{"path": "many"})
	if len(got) > tool.OutputLimit || !strings.Contains(got[len(got)-80:], "of 10000; read on with offset") {
		t.Errorf("%d bytes, end %q", len(got), got[len(got)-80:])
	}
	if got := s.out("read_file", args{"path": "long"}); got != "short\n[lines 1 to 1 of 3; read on with offset 2]" {
		t.Errorf("long: %q", got)
	}
	for _, a := range []args{{"path": "long", "offset": 2}, {"path": "wide"}} {
		got := s.out("read_file", a)
		if len(got) > tool.OutputLimit || !utf8.ValidString(got) || !strings.HasSuffix(got, "too long to show]") {
			t.Errorf("%v: %d bytes, end %q", a, len(got), got[len(got)-80:])
		}
	}

	// A huge file is not read to its end.
	must(t, os.Truncate(filepath.Join(ws, "many"), 1<<40))
	r, err := s.call("read_file", args{"path": "many", "limit": 1})
	if err != nil || !strings.HasPrefix(r.Output, "line 1\n[lines 1 to 1 of a file of 1099511627776 bytes") || r.Seen != nil {
		t.Errorf("huge: %q, %v, seen %v", r.Output, err, r.Seen)
	}
	s.refused("too many for the file tools", "write_file", args{"path": "many", "content": "x"})
}

func TestListDir(t *testing.T) {
	ws, s := workspace(t, map[string]string{"b": "12", "a/x": "", "caf\xe9": "", "none/": ""})
	must(t, os.Symlink("b", filepath.Join(ws, "l")))
	if got := s.out("list_dir", args{"path": "."}); got != "a/\nb (2 bytes)\ncaf\uFFFD (0 bytes)\nl -> b\nnone/\n" {
		t.Errorf("%q", got)
	}
	if got := s.out("list_dir", args{"path": "none"}); got != "the directory is empty\n" {
		t.Errorf("%q", got)
	}
	for i := range 1100 {
		put(t, filepath.Join(ws, "many", fmt.Sprintf("f%04d", i)), "")
	}
	got := s.out("list_dir", args{"path": "many"})
	if strings.Count(got, "\n") != 1001 || !strings.HasSuffix(got, "f0999 (0 bytes)\n[only the first 1000 are shown; narrow it down for the rest]\n") {
		t.Errorf("%d lines, end %q", strings.Count(got, "\n"), got[len(got)-100:])
	}
}

func TestGlob(t *testing.T) {
	_, s := workspace(t, map[string]string{
		"main.go": "", "cmd/a/main.go": "", "cmd/b/main.c": "", "README.md": "", ".git/config": "", "cmd/.git/x.go": "",
	})
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"pattern": "**/*.go"}, "cmd/a/main.go\nmain.go\n"},
		{args{"pattern": "*.go"}, "main.go\n"},
		{args{"pattern": "*/*/main.{go,c}"}, "cmd/a/main.go\ncmd/b/main.c\n"},
		{args{"pattern": "*", "path": "cmd"}, "cmd/a/\ncmd/b/\n"},
		{args{"pattern": "**/config"}, "nothing matches\n"},
	} {
		if got := s.out("glob", c.args); got != c.want {
			t.Errorf("%v: %q, want %q", c.args, got, c.want)
		}
	}
	s.refused("absolute", "glob", args{"pattern": "/etc/*"})
	s.refused("holds ..", "glob", args{"pattern": "../*"})
	s.refused("not well formed", "glob", args{"pattern": "[a"})
	s.refused("empty", "glob", args{"pattern": ""})
}

func TestGrep(t *testing.T) {
	ws, s := workspace(t, map[string]string{
		"a.go": "package a\nfunc Foo() {}\r\n", "b/c.txt": "foo\n", "b/d.go": "// foo", "bin": "foo\x00", "bad": "foo \xff\n",
		".env": "FOO_TOKEN=foo", ".git/x": "foo", "wide": strings.Repeat("z", 1000) + "\n",
	})
	must(t, os.Symlink("a.go", filepath.Join(ws, "link.go")))
	private := "[left out because the rules ask before they are read: 1; name one as path to ask for it]\n"
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"pattern": "(?i)foo"}, "a.go:2: func Foo() {}\nb/c.txt:1: foo\nb/d.go:1: // foo\nbad:1: foo \uFFFD\n" + private},
		{args{"pattern": "(?i)foo", "glob": "*.go"}, "a.go:2: func Foo() {}\nb/d.go:1: // foo\n"},
		{args{"pattern": "foo", "glob": "b/*.go"}, "b/d.go:1: // foo\n"},
		{args{"pattern": "^foo$", "path": "b"}, "b/c.txt:1: foo\n"},
		{args{"pattern": "foo", "path": ".env"}, ".env:1: FOO_TOKEN=foo\n"},
		{args{"pattern": "z", "path": "wide"}, "wide:1: " + strings.Repeat("z", 300) + "…\n"},
		{args{"pattern": "nothing", "path": "b"}, "no line matches\n"},
	} {
		if got := s.out("grep", c.args); got != c.want {
			t.Errorf("%v: %q, want %q", c.args, got, c.want)
		}
	}
	s.refused("no RE2 regular expression", "grep", args{"pattern": "(?=x)"})
	s.refused("empty", "grep", args{"pattern": ""})
	s.refused("not well formed", "grep", args{"pattern": "x", "glob": "{a"})

	put(t, filepath.Join(ws, "many"), strings.Repeat("hit\n", 10_000))
	put(t, filepath.Join(ws, "z/large"), strings.Repeat("hit\n", 2<<20))
	if got := s.out("grep", args{"pattern": "hit"}); strings.Count(got, "many:") != 500 || !strings.Contains(got, "[only the first 500 are shown") {
		t.Errorf("many: %d lines", strings.Count(got, "\n"))
	}
	if got := s.out("grep", args{"pattern": "hit", "path": "z"}); got != "no line matches\n[left out because they have more than 4194304 bytes: 1]\n" {
		t.Errorf("large: %q", got)
	}
	s.env.Readable = nil
	s.refused("not known what may be read", "grep", args{"pattern": "x"})
}
