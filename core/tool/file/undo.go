package file

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"paragents/core"
	"paragents/core/tool"
)

// Changes are what became of files, in the order of their first change.
type Changes struct {
	list []kept
}

type kept struct {
	core.Change
	runDir string
}

// Add notes later changes of a prompt: a file keeps the content that it had first, and gets the digest that it has now.
func (c *Changes) Add(p core.PromptID, changes ...core.Change) {
	for _, ch := range changes {
		at := slices.IndexFunc(c.list, func(k kept) bool { return k.Path == ch.Path })
		if at < 0 {
			c.list = append(c.list, kept{ch, path.Join(own, "run", string(p))})
			continue
		}
		c.list[at].After = ch.After
	}
}

// Paths are the files, in the order of their first change.
func (c *Changes) Paths() []string {
	out := make([]string, len(c.list))
	for i, k := range c.list {
		out[i] = k.Path
	}
	return out
}

// errLost: what a file held is not there any more, or is not what was kept.
var errLost = errors.New("what it held before is not kept any more")

// before is what a file held.
func (k kept) before(root *os.Root) ([]byte, error) {
	if k.Before == "" {
		return nil, nil
	}
	f, err := root.Open(path.Join(k.runDir, "before", k.Before))
	if err != nil {
		return nil, errLost
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxEdit+1))
	if sum := sha256.Sum256(data); err != nil || hex.EncodeToString(sum[:]) != k.Before {
		return nil, errLost
	}
	return data, nil
}

// now is what a file holds; info is nil when there is none.
func (k kept) now(root *os.Root) (data []byte, info fs.FileInfo, err error) {
	dir, name, err := descend(root, k.Path, false)
	if err == nil {
		defer dir.Close()
		data, info, err = load(dir, name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	return data, info, err
}

// Diff is the unified difference between what the files held first and what they hold now, and how many of them differ.
func (c *Changes) Diff(root *os.Root) (text string, files int) {
	var b strings.Builder
	for _, k := range c.list {
		before, err := k.before(root)
		now, info, err2 := k.now(root)
		from, to := "a/"+k.Path, "b/"+k.Path
		if k.Before == "" {
			from = "/dev/null"
		}
		if info == nil {
			to = "/dev/null"
		}
		switch err := errors.Join(err, err2); {
		case err != nil:
			fmt.Fprintf(&b, "--- %s: %v\n", inLine(k.Path), err)
		case k.Before == "" && info == nil || k.Before != "" && info != nil && digest(now) == k.Before:
			continue
		case !utf8.Valid(before) || !utf8.Valid(now):
			fmt.Fprintf(&b, "--- %s: not text, %d bytes, were %d\n", inLine(k.Path), len(now), len(before))
		default:
			b.WriteString(udiff.Unified(inLine(from), inLine(to), tool.Clean(before), tool.Clean(now)))
		}
		files++
	}
	return b.String(), files
}

// Undone is what became of one file. Err says why it was left as it is.
type Undone struct {
	Path    string
	Removed bool // it had been created, and is gone
	Err     error
}

// Undo puts every file back to what it held first, where it still is what the last change left; others stay as they are.
func (c *Changes) Undo(root *os.Root) []Undone {
	out := make([]Undone, len(c.list))
	for i, k := range c.list {
		out[i] = Undone{Path: k.Path, Removed: k.Before == "", Err: k.undo(root)}
	}
	return out
}

func (k kept) undo(root *os.Root) error {
	before, err := k.before(root)
	if err != nil {
		return err
	}
	now, info, err := k.now(root)
	switch {
	case err != nil:
		return err
	case info == nil && k.Before == "":
		return nil // it is gone already
	case info == nil:
		return errors.New("it was removed since")
	case k.Before != "" && digest(now) == k.Before:
		return nil // it holds that already
	case digest(now) != k.After:
		return errors.New("it was changed since")
	}
	if k.Before == "" {
		dir, name, err := descend(root, k.Path, false)
		if err != nil {
			return err
		}
		defer dir.Close()
		return dir.Remove(name)
	}
	ch := change{place: place{k.Path, k.Path}, exists: true, info: info, before: now, after: before, sum: digest(now)}
	if err := ch.apply(root); err != nil {
		return explain(k.Path, err)
	}
	return nil
}
