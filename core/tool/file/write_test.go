package file_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"paragents/core/tool"
)

func TestB054WriteFromAnOldReading(t *testing.T) {
	ws, one := workspace(t, map[string]string{"cfg.yaml": "a: 1\n"})
	two := open(t, ws)
	one.out("read_file", args{"path": "cfg.yaml"})
	two.out("read_file", args{"path": "cfg.yaml"})
	two.out("write_file", args{"path": "cfg.yaml", "content": "a: 1\nb: 2\n"})
	one.refused("changed since you read it, read again", "write_file", args{"path": "cfg.yaml", "content": "a: 3\n"})
	one.refused("changed since you read it, read again", "edit_file", args{"path": "cfg.yaml", "old": "a: 1", "new": "a: 3"})
	if got := get(t, filepath.Join(ws, "cfg.yaml")); got != "a: 1\nb: 2\n" {
		t.Fatalf("the file is now %q", got)
	}
	two.out("edit_file", args{"path": "cfg.yaml", "old": "b: 2", "new": "b: 3"}) // its own write counts as read
	one.out("read_file", args{"path": "cfg.yaml", "limit": 1})                   // and so does a part
	one.out("edit_file", args{"path": "cfg.yaml", "old": "a: 1", "new": "a: 3"})
	if got := get(t, filepath.Join(ws, "cfg.yaml")); got != "a: 3\nb: 3\n" {
		t.Fatalf("the file is now %q", got)
	}
}

// Time passes between plan and run: an approval may take days.
func TestB054ChangeAfterThePlan(t *testing.T) {
	ws, s := workspace(t, map[string]string{"f": "old\n", "gone": "x\n"})
	s.out("read_file", args{"path": "f"})
	s.out("read_file", args{"path": "gone"})
	for name, meanwhile := range map[string]func(){
		"f":     func() { put(t, filepath.Join(ws, "f"), "other\n") },
		"gone":  func() { must(t, os.Remove(filepath.Join(ws, "gone"))) },
		"new":   func() { put(t, filepath.Join(ws, "new"), "theirs\n") },
		"d/new": func() { must(t, os.Symlink("..", filepath.Join(ws, "d"))) },
	} {
		p, err := s.plan("write_file", args{"path": name, "content": "mine\n"})
		must(t, err)
		meanwhile()
		if r, err := p.Run(context.Background()); err == nil {
			t.Errorf("%s: %q", name, r.Output)
		}
	}
	if got := get(t, filepath.Join(ws, "f")) + get(t, filepath.Join(ws, "new")); got != "other\ntheirs\n" {
		t.Errorf("files are now %q", got)
	}
	if _, err := os.Stat(filepath.Join(ws, "gone")); err == nil {
		t.Error("a file that was removed is back")
	}
	noRest(t, ws)
}

// Of many that create one file at the same time, one does.
func TestB054OneCreates(t *testing.T) {
	ws, _ := workspace(t, nil)
	var wins sync.Map
	var all sync.WaitGroup
	plans := map[string]tool.Plan{}
	for i := range 20 {
		text := strings.Repeat("x", i+1)
		p, err := open(t, ws).plan("write_file", args{"path": "d/f", "content": text})
		must(t, err)
		plans[text] = p
	}
	for text, p := range plans {
		all.Go(func() {
			if _, err := p.Run(context.Background()); err == nil {
				wins.Store(text, true)
			} else if !strings.Contains(err.Error(), "created meanwhile") {
				t.Error(err)
			}
		})
	}
	all.Wait()
	n := 0
	wins.Range(func(text, _ any) bool {
		n++
		if got := get(t, filepath.Join(ws, "d/f")); got != text {
			t.Errorf("%q won, and the file holds %q", text, got)
		}
		return true
	})
	if n != 1 {
		t.Errorf("%d created it", n)
	}
	noRest(t, filepath.Join(ws, "d"))
}

func TestWriteNeedsAReading(t *testing.T) {
	ws, s := workspace(t, map[string]string{"f": "old\n", "bin": "a\x00b"})
	s.refused("read it first", "write_file", args{"path": "f", "content": "new\n"})
	s.refused("read it first", "edit_file", args{"path": "f", "old": "old", "new": "new"})
	s.out("grep", args{"pattern": "old", "path": "f"})
	s.refused("read it first", "write_file", args{"path": "f", "content": "new\n"})
	s.out("read_file", args{"path": "bin"})
	s.refused("binary", "write_file", args{"path": "bin", "content": "x"})
	s.refused("content is missing", "write_file", args{"path": "g"})
	s.refused("NUL", "write_file", args{"path": "g", "content": "a\x00"})
	s.refused("does not exist", "edit_file", args{"path": "g", "old": "a", "new": "b"})
	if got := get(t, filepath.Join(ws, "f")); got != "old\n" {
		t.Errorf("the file is now %q", got)
	}
}

func TestWriteFile(t *testing.T) {
	ws, s := workspace(t, map[string]string{"run.sh": "echo 1\n"})
	must(t, os.Chmod(filepath.Join(ws, "run.sh"), 0o750))
	s.out("read_file", args{"path": "run.sh"})
	p, err := s.plan("write_file", args{"path": "run.sh", "content": "echo 2\n"})
	must(t, err)
	show := "change run.sh (7 bytes, were 7)\n--- a/run.sh\n+++ b/run.sh\n@@ -1 +1 @@\n-echo 1\n+echo 2\n"
	if p.Show != show || p.Line != "change run.sh (7 bytes, were 7)" || len(p.Checks) != 1 || p.Checks[0] != (tool.Check{Tool: "Write", Input: "run.sh"}) ||
		len(p.Writes) != 1 || p.Writes[0] != "run.sh" || p.Dir != ws {
		t.Errorf("plan %+v", p)
	}
	if got := get(t, filepath.Join(ws, "run.sh")); got != "echo 1\n" {
		t.Errorf("the plan changed it to %q", got)
	}
	r, err := p.Run(context.Background())
	if err != nil || len(r.Changed) != 1 || r.Changed[0] != "run.sh" {
		t.Errorf("%+v, %v", r, err)
	}
	info, err := os.Stat(filepath.Join(ws, "run.sh"))
	if err != nil || info.Mode() != 0o750 || get(t, filepath.Join(ws, "run.sh")) != "echo 2\n" {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}

	p, err = s.plan("write_file", args{"path": "a/b/new.txt", "content": "one\ntwo"})
	must(t, err)
	if p.Show != "new file a/b/new.txt (7 bytes)\none\ntwo" {
		t.Errorf("shown %q", p.Show)
	}
	_, err = p.Run(context.Background())
	must(t, err)
	if got := get(t, filepath.Join(ws, "a/b/new.txt")); got != "one\ntwo" {
		t.Errorf("new file %q", got)
	}
	s.out("write_file", args{"path": "empty", "content": ""})
	p, err = s.plan("write_file", args{"path": "a\nnew file b", "content": ""})
	if err != nil || p.Line != `new file "a\nnew file b" (0 bytes)` {
		t.Errorf("line %q, %v", p.Line, err)
	}
	s.out("read_file", args{"path": "run.sh"})
	s.refused("nothing is to be done", "write_file", args{"path": "run.sh", "content": "echo 2\n"})
	noRest(t, ws)
	noRest(t, filepath.Join(ws, "a/b"))
}

func TestHardLinkAsks(t *testing.T) {
	ws, s := workspace(t, map[string]string{"f": "old\n"})
	outside := filepath.Join(ws, "..", "outside")
	must(t, os.Link(filepath.Join(ws, "f"), outside))
	s.out("read_file", args{"path": "f"})
	for _, c := range []struct {
		name string
		args args
	}{
		{"write_file", args{"path": "f", "content": "new\n"}},
		{"edit_file", args{"path": "f", "old": "old", "new": "new"}},
	} {
		p, err := s.plan(c.name, c.args)
		must(t, err)
		if len(p.Checks) != 2 || p.Checks[1] != (tool.Check{Tool: "hard_link", Input: "f"}) || !strings.Contains(p.Show, "2 names") {
			t.Errorf("%s: checks %v, shown %q", c.name, p.Checks, p.Show)
		}
	}
	s.out("write_file", args{"path": "f", "content": "new\n"})
	if got := get(t, outside); got != "old\n" {
		t.Errorf("the other name now holds %q", got)
	}
}

func TestEditFile(t *testing.T) {
	for _, c := range []struct {
		name, before, from, to string
		all                    bool
		want                   string // content, or "!" and words of the error
	}{
		{"once", "a\nb\nc\n", "b", "x", false, "a\nx\nc\n"},
		{"remove", "a\nb\nc\n", "b\n", "", false, "a\nc\n"},
		{"twice", "a\nb\na\n", "a", "x", false, "!occurs 2 times in f (lines 1, 3)"},
		{"often", strings.Repeat("a\n", 9), "a", "x", false, "!occurs 9 times in f (lines 1, 2, 3, 4, 5 …)"},
		{"all", "a\nb\na\n", "a", "x", true, "x\nb\nx\n"},
		{"missing", "a\n", "z", "x", false, "!does not occur in f; copy it exactly"},
		{"blanks", "{\n\tfoo()\n\tbar()\n}\n", "  foo()\n  bar()\n", "x", false, "!stands in line 2"},
		{"crlf", "a\r\nb\r\nc\r\n", "a\nb", "x\ny", false, "x\r\ny\r\nc\r\n"},
		{"crlf given", "a\r\nb\r\n", "a\r\nb", "x\r\ny", false, "x\r\ny\r\n"},
		{"crlf one line", "a\r\nb\r\n", "b", "x\ny", false, "a\r\nx\r\ny\r\n"},
		{"mixed", "a\r\nb\nc\n", "b\nc", "x\ny", false, "a\r\nx\ny\n"},
		{"other bytes stay", "\xff a\n", "a", "ä", false, "\xff ä\n"},
		{"nothing to find", "a\n", "", "x", false, "!old is empty"},
		{"the same", "a\n", "a", "a", false, "!are the same"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ws, s := workspace(t, map[string]string{"f": c.before})
			s.out("read_file", args{"path": "f"})
			a := args{"path": "f", "old": c.from, "new": c.to, "all": c.all}
			if words, bad := strings.CutPrefix(c.want, "!"); bad {
				s.refused(words, "edit_file", a)
				c.want = c.before
			} else {
				s.out("edit_file", a)
			}
			if got := get(t, filepath.Join(ws, "f")); got != c.want {
				t.Errorf("the file is now %q, want %q", got, c.want)
			}
		})
	}
}

// noRest insists that no temporary file is left.
func noRest(t *testing.T, dir string) {
	t.Helper()
	if left, err := filepath.Glob(filepath.Join(dir, ".paragents-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
