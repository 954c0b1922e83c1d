package tool

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Clean returns text that may enter a transcript: valid UTF-8, with U+FFFD for every bad byte and a visible ␀ for NUL.
func Clean(raw []byte) string {
	var out strings.Builder
	out.Grow(len(raw))
	for len(raw) > 0 {
		r, n := utf8.DecodeRune(raw)
		out.WriteRune(visible(r))
		raw = raw[n:]
	}
	return out.String()
}

func visible(r rune) rune {
	if r == 0 {
		return '␀'
	}
	return r
}

// Excerpt brings an output of size bytes, of which the beginning and the end are known, into limit bytes of clean text and one line more.
// Head and tail do not overlap; where they are all of it and it fits, nothing is cut. Else the line in the middle says how much is left
// out, and ends with where the rest is.
func Excerpt(head, tail []byte, size int64, where string, limit int) (text string, cut bool) {
	if int64(len(head)+len(tail)) == size {
		whole := Clean(append(append(make([]byte, 0, size), head...), tail...))
		if len(whole) <= limit {
			return whole, false
		}
	}
	first, n := fromStart(head, limit/2)
	last, m := fromEnd(tail, limit/2)
	return fmt.Sprintf("%s\n[%d of %d bytes are left out here; %s]\n%s", first, size-int64(n+m), size, where, last), true
}

// fromStart cleans as much of the beginning of raw as fits, and returns how many bytes of raw that was. A character that raw does not
// hold whole is left out.
func fromStart(raw []byte, limit int) (string, int) {
	used, length := 0, 0
	for used < len(raw) && utf8.FullRune(raw[used:]) {
		r, n := utf8.DecodeRune(raw[used:])
		if length += utf8.RuneLen(visible(r)); length > limit {
			break
		}
		used += n
	}
	return Clean(raw[:used]), used
}

// fromEnd is fromStart from the other side.
func fromEnd(raw []byte, limit int) (string, int) {
	for i := 0; i < utf8.UTFMax-1 && len(raw) > 0 && !utf8.RuneStart(raw[0]); i++ {
		raw = raw[1:]
	}
	at, length := len(raw), 0
	for at > 0 {
		r, n := utf8.DecodeLastRune(raw[:at])
		if length += utf8.RuneLen(visible(r)); length > limit {
			break
		}
		at -= n
	}
	return Clean(raw[at:]), len(raw) - at
}

// KeepBefore keeps what a file holds before it is written: in the run directory, as before/<sum>, once. sum is the SHA-256 of the content in hex.
func KeepBefore(env *Env, sum string, content []byte) error {
	dir, err := filepath.Rel(env.Dir, filepath.Join(env.RunDir, "before"))
	if err != nil {
		return fmt.Errorf("keep content before: %w", err)
	}
	if err := env.Root.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keep content before: %w", err)
	}
	path := filepath.Join(dir, sum)
	if info, err := env.Root.Lstat(path); err == nil && info.Size() == int64(len(content)) {
		return nil
	}
	temp := path + "." + strings.ToLower(rand.Text()[:8])
	if err := env.Root.WriteFile(temp, content, 0o600); err != nil {
		return fmt.Errorf("keep content before: %w", err)
	}
	if err := env.Root.Rename(temp, path); err != nil {
		return fmt.Errorf("keep content before: %w", errors.Join(err, env.Root.Remove(temp)))
	}
	return nil
}

// Keep creates a file for a whole output in the run directory, which it makes when needed; name is its beginning. It returns the file,
// which the caller closes, and its path relative to the workspace. Only the bot's user can read it.
func Keep(env *Env, name string) (*os.File, string, error) {
	dir, err := filepath.Rel(env.Dir, env.RunDir)
	if err != nil {
		return nil, "", fmt.Errorf("make run directory: %w", err)
	}
	// Through the root: a command may have put a link where the directory is to be.
	if err := env.Root.MkdirAll(dir, 0o700); err != nil {
		return nil, "", fmt.Errorf("make run directory: %w", err)
	}
	path := filepath.Join(dir, name+"-"+strings.ToLower(rand.Text()[:8])+".txt")
	f, err := env.Root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, "", fmt.Errorf("keep output: %w", err)
	}
	return f, path, nil
}
