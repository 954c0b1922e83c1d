package tool_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"paragents/core/tool"
)

func TestB053CleanIsValid(t *testing.T) {
	for raw, want := range map[string]string{
		"plain äß 😀":   "plain äß 😀",
		"ab\xB2c":      "ab\uFFFDc",
		"a\x00b":       "a␀b",
		"\xf0\x9f\x98": "\uFFFD\uFFFD\uFFFD",
		"\xed\xa0\xbd": "\uFFFD\uFFFD\uFFFD", // half of a surrogate pair
	} {
		if got := tool.Clean([]byte(raw)); got != want {
			t.Errorf("Clean(%q) = %q, want %q", raw, got, want)
		}
	}
}

// Whatever the bytes and wherever the cut, an excerpt is valid, within its bound, and its count of what is left out adds up.
func TestB053ExcerptOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.SliceOfN(rapid.Byte(), 0, 400).Draw(t, "bytes")
		if rapid.Bool().Draw(t, "text") {
			whole = []byte(rapid.StringN(0, 100, 400).Draw(t, "string"))
		}
		limit := rapid.IntRange(8, 500).Draw(t, "limit")
		head, tail := whole, []byte(nil)
		if keep := rapid.IntRange(0, 200).Draw(t, "keep"); len(whole) > 2*keep {
			head, tail = whole[:keep], whole[len(whole)-keep:]
		}
		text, cut := tool.Excerpt(head, tail, int64(len(whole)), "see x", limit)
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			t.Fatalf("not clean: %q", text)
		}
		if !cut {
			if text != tool.Clean(whole) || len(text) > limit {
				t.Fatalf("not cut, but %q of %q", text, whole)
			}
			return
		}
		at := strings.LastIndex(text, "\n[")
		end := at + strings.Index(text[at:], "; see x]\n")
		var left, size int
		if _, err := fmt.Sscanf(text[at:], "\n[%d of %d bytes are left out here", &left, &size); err != nil || size != len(whole) {
			t.Fatalf("no count in %q: %v", text, err)
		}
		first, last := text[:at], text[end+len("; see x]\n"):]
		if len(first)+len(last) > limit {
			t.Fatalf("%d bytes, limit %d", len(first)+len(last), limit)
		}
		if left <= 0 || left > size {
			t.Fatalf("%d of %d bytes left out", left, size)
		}
		if !strings.HasPrefix(tool.Clean(whole), first) {
			t.Fatalf("begins with %q", first)
		}
	})
}

func TestB053ExcerptNeverCutsACharacter(t *testing.T) {
	whole := []byte(strings.Repeat("😀", 100))
	for keep := 1; keep < 9; keep++ {
		text, cut := tool.Excerpt(whole[:keep], whole[len(whole)-keep:], 400, "", 100)
		if !cut || strings.ContainsRune(text, utf8.RuneError) {
			t.Errorf("keep %d: %q", keep, text)
		}
	}
}

func TestKeepIsPrivateAndStaysInside(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	env := &tool.Env{Root: root, Dir: dir, RunDir: filepath.Join(dir, ".paragents", "run", "k3m9p2")}
	f, rel, err := tool.Keep(env, "command")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, rel))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%s: %v, %v", rel, info.Mode(), err)
	}
	if !strings.HasPrefix(rel, ".paragents/run/k3m9p2/command-") {
		t.Errorf("path %s", rel)
	}

	outside := t.TempDir()
	env.RunDir = filepath.Join(dir, "linked", "run")
	if err := os.Symlink(outside, filepath.Join(dir, "linked")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := tool.Keep(env, "command"); err == nil {
		t.Error("kept an output outside of the workspace")
	}
	if left, err := fs.Glob(os.DirFS(outside), "*"); err != nil || len(left) > 0 {
		t.Errorf("outside: %v, %v", left, err)
	}
}
