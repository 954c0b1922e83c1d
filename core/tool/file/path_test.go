package file_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"paragents/core/tool"
)

// everyTool calls each tool with a path of its kind: file for those that take files, dir for the others.
func everyTool(s *session, words, file, dir string) {
	s.t.Helper()
	s.refused(words, "read_file", args{"path": file})
	s.refused(words, "grep", args{"pattern": "x", "path": file})
	s.refused(words, "write_file", args{"path": file, "content": "evil"})
	s.refused(words, "edit_file", args{"path": file, "old": "secret", "new": "evil"})
	s.refused(words, "list_dir", args{"path": dir})
	s.refused(words, "glob", args{"pattern": "*", "path": dir})
	s.refused(words, "grep", args{"pattern": "x", "path": dir})
}

func TestB065NeighbourDirectory(t *testing.T) {
	ws, s := workspace(t, map[string]string{"a": "a", "d/": ""})
	for _, name := range []string{"s1-evil", "s10", "s2"} {
		put(t, filepath.Join(ws, "..", name, "x"), "secret")
	}
	for _, path := range []string{"../s1-evil", "../s10", "s1/../../s2", "d/../../s2", ws + "-evil", ws + "0", ws + "/../s2", "..", "/"} {
		everyTool(s, "outside the workspace", filepath.Join(path, "x"), path)
	}
	for _, name := range []string{"s1-evil", "s10", "s2"} {
		if got := get(t, filepath.Join(ws, "..", name, "x")); got != "secret" {
			t.Errorf("%s was changed to %q", name, got)
		}
	}
}

func TestB066LinkInTheMiddle(t *testing.T) {
	ws, s := workspace(t, map[string]string{"real/f.txt": "inside\n"})
	outside := filepath.Join(ws, "..", "outside")
	put(t, filepath.Join(outside, "secret.txt"), "secret")
	for name, target := range map[string]string{
		"esc": outside, "esc2": "../outside", "esc3": "real/../../outside", "chain": "esc2", "up": "..",
		"in": "real", "abs": filepath.Join(ws, "real"), "file": filepath.Join(ws, "in", "f.txt"), "circle": "circle", "gone": "real/new.txt",
	} {
		must(t, os.Symlink(target, filepath.Join(ws, name)))
	}
	for _, link := range []string{"esc", "esc2", "esc3", "chain", "up/outside"} {
		everyTool(s, "out of the workspace", link+"/secret.txt", link)
		s.refused("out of the workspace", "write_file", args{"path": link + "/new/file.txt", "content": "x"})
	}
	s.refused("circle", "read_file", args{"path": "circle/x"})
	if list, err := os.ReadDir(outside); err != nil || len(list) != 1 {
		t.Errorf("outside holds %v, %v", list, err)
	}

	for _, path := range []string{"in/f.txt", "abs/f.txt", "file", ws + "/abs/f.txt"} {
		if got := s.out("read_file", args{"path": path}); got != "inside\n" {
			t.Errorf("%s: %q", path, got)
		}
	}
	// A link is written through, and stays a link.
	s.out("edit_file", args{"path": "file", "old": "inside", "new": "changed"})
	s.out("write_file", args{"path": "gone", "content": "new\n"})
	if got := get(t, filepath.Join(ws, "real/f.txt")) + get(t, filepath.Join(ws, "real/new.txt")); got != "changed\nnew\n" {
		t.Errorf("written through links: %q", got)
	}
	if info, err := os.Lstat(filepath.Join(ws, "file")); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link is now %v, %v", info.Mode(), err)
	}
	p, err := s.plan("read_file", args{"path": "file"})
	must(t, err)
	want := []tool.Check{{Tool: "Read", Input: "file"}, {Tool: "Read", Input: "real/f.txt"}}
	if len(p.Checks) != 2 || p.Checks[0] != want[0] || p.Checks[1] != want[1] {
		t.Errorf("checks %v, want %v", p.Checks, want)
	}
}

// A directory is swapped for a link to the outside, and for one to a directory inside that was not judged, all the time.
func TestB066SwapRace(t *testing.T) {
	ws, s := workspace(t, map[string]string{"mid/f.txt": "inside", "other/f.txt": "unjudged"})
	outside := filepath.Join(ws, "..", "outside")
	put(t, filepath.Join(outside, "f.txt"), "secret")
	mid, kept := filepath.Join(ws, "mid"), filepath.Join(ws, "kept")
	must(t, os.Symlink(outside, filepath.Join(ws, "l1")))
	must(t, os.Symlink("other", filepath.Join(ws, "l2")))

	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			link := filepath.Join(ws, []string{"l1", "l2"}[i%2])
			for _, move := range [][2]string{{mid, kept}, {link, mid}, {mid, link}, {kept, mid}} {
				tries := 0
				for err := os.Rename(move[0], move[1]); err != nil; err = os.Rename(move[0], move[1]) {
					if tries++; tries > 1000 {
						t.Error(err)
						return
					}
					_ = os.RemoveAll(move[1]) // write_file has just made the directory that was missing
				}
			}
		}
	})
	var read, refused int
	for i := range 10_000 {
		p, err := s.plan("read_file", args{"path": "mid/f.txt"})
		if err == nil {
			var r tool.Result
			if r, err = p.Run(context.Background()); err == nil {
				read++
				judged := p.Checks[len(p.Checks)-1].Input
				if want := map[string]string{"mid/f.txt": "inside", "other/f.txt": "unjudged"}[judged]; r.Output != want {
					t.Fatalf("try %d read %q as %s", i, r.Output, judged)
				}
			}
		}
		if err != nil {
			refused++
		}
		if i%20 == 0 {
			_, _ = s.call("write_file", args{"path": "mid/new" + string(rune('a'+i%26)) + "/f.txt", "content": "x"})
		}
	}
	close(stop)
	swapper.Wait()
	if list, err := os.ReadDir(outside); err != nil || len(list) != 1 || get(t, filepath.Join(outside, "f.txt")) != "secret" {
		t.Errorf("outside holds %v, %v", list, err)
	}
	if read == 0 || refused == 0 {
		t.Errorf("no race: %d reads, %d refusals", read, refused)
	}
}

func TestOnlyRegularFiles(t *testing.T) {
	ws, s := workspace(t, map[string]string{"dir/x": "x"})
	must(t, syscall.Mkfifo(filepath.Join(ws, "pipe"), 0o644))
	must(t, os.Symlink("/dev/zero", filepath.Join(ws, "zero")))
	for path, words := range map[string]string{"pipe": "named pipe", "zero": "out of the workspace", "dir": "directory"} {
		s.refused(words, "read_file", args{"path": path})
		s.refused(words, "write_file", args{"path": path, "content": "x"})
		s.refused(words, "edit_file", args{"path": path, "old": "a", "new": "x"})
	}
	s.refused("named pipe", "grep", args{"pattern": "x", "path": "pipe"})
	if got := s.out("grep", args{"pattern": "x"}); got != "dir/x:1: x\n" {
		t.Errorf("grep over a pipe: %q", got)
	}
	s.refused("no directory", "list_dir", args{"path": "dir/x"})
	s.refused("no directory", "read_file", args{"path": "dir/x/y"})
	s.refused("does not exist", "read_file", args{"path": "nothing"})
	s.refused("empty", "read_file", args{"path": ""})
	s.refused("NUL", "read_file", args{"path": "a\x00b"})
	s.refused("too long", "write_file", args{"path": strings.Repeat("n", 300), "content": "x"})
}

func TestBotsOwnDirectory(t *testing.T) {
	ws, s := workspace(t, map[string]string{".paragents/run/k3m9p2/x": "secret", "sub/.paragents/x": "secret", "a": "a secret\n"})
	must(t, os.Symlink(".paragents", filepath.Join(ws, "link")))
	for _, dir := range []string{".paragents", ".PARAGENTS", "link", ".paragents/run/k3m9p2", "sub/.paragents", "./x/../.paragents"} {
		everyTool(s, "", dir+"/x", dir)
	}
	s.refused("belongs to the bot", "write_file", args{"path": ".paragents/settings.json", "content": "{}"})
	s.refused("belongs to the bot", "write_file", args{"path": "sub/.paragents", "content": "{}"})
	if got := s.out("list_dir", args{"path": "."}); got != "a (9 bytes)\nlink -> .paragents\nsub/\n" {
		t.Errorf("list_dir: %q", got)
	}
	if got := s.out("glob", args{"pattern": "**"}); got != "a\nlink\nsub/\n" {
		t.Errorf("glob: %q", got)
	}
	if got := s.out("grep", args{"pattern": "secret"}); got != "a:1: a secret\n" {
		t.Errorf("grep: %q", got)
	}
}
