package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"paragents/core/tool"
)

// Bounds of one walk. What lies beyond them is left out, and the result says so.
const (
	maxDirEntries = 10_000
	maxEntries    = 100_000
	maxDepth      = 100 // directories are open at the same time
	maxWalk       = 20 * time.Second
)

var errEnough = errors.New("enough")

// walk visits what lies below a directory, sorted, without following links. It passes over .git and the bot's own directories.
type walk struct {
	// visit gets each entry with its directory and its path below the directory where the walk began. errEnough ends the walk.
	visit   func(dir *os.Root, rel string, e fs.DirEntry) error
	entries int
	cut     string // why something was left out
}

// below walks the directory at p.
func (w *walk) below(ctx context.Context, env *tool.Env, p place) error {
	ctx, cancel := context.WithTimeoutCause(ctx, maxWalk, errEnough)
	defer cancel()
	dir, err := openDir(env, p)
	if err != nil {
		return explain(p.asked, err)
	}
	defer dir.Close()
	err = w.dir(ctx, dir, "", 0)
	if errors.Is(err, errEnough) {
		if w.cut == "" && ctx.Err() != nil {
			w.cut = fmt.Sprintf("stopped after %v", maxWalk)
		}
		return nil
	}
	return err
}

func (w *walk) dir(ctx context.Context, dir *os.Root, rel string, depth int) error {
	list, cut, err := entries(dir)
	if err != nil {
		w.cut = fmt.Sprintf("%s cannot be listed", tool.Clean([]byte(path.Join(".", rel))))
		return nil
	}
	if cut {
		w.cut = fmt.Sprintf("%s holds more than %d entries", tool.Clean([]byte(path.Join(".", rel))), maxDirEntries)
	}
	for _, e := range list {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if w.entries++; w.entries > maxEntries {
			w.cut = fmt.Sprintf("stopped after %d entries", maxEntries)
			return errEnough
		}
		name := path.Join(rel, e.Name())
		if e.IsDir() && e.Name() == ".git" {
			continue
		}
		if err := w.visit(dir, name, e); err != nil {
			return err
		}
		if !e.IsDir() {
			continue
		}
		if depth == maxDepth {
			w.cut = fmt.Sprintf("stopped at a depth of %d", maxDepth)
			continue
		}
		next, err := enter(dir, e.Name())
		if err != nil { // gone, or forbidden
			w.cut = fmt.Sprintf("%s cannot be listed", tool.Clean([]byte(name)))
			continue
		}
		if err := errors.Join(w.dir(ctx, next, name, depth+1), next.Close()); err != nil {
			return err
		}
	}
	return nil
}

// openDir opens the directory at p, which must not be a link by now. The caller closes it.
func openDir(env *tool.Env, p place) (*os.Root, error) {
	if p.real == "." {
		return env.Root.OpenRoot(".")
	}
	parent, name, err := descend(env.Root, p.real, false)
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	return enter(parent, name)
}

// entries lists a directory, sorted, without the bot's own. Cut says that it holds more than maxDirEntries; which ones are left out is then
// up to the file system.
func entries(dir *os.Root) (list []fs.DirEntry, cut bool, err error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	list, err = f.ReadDir(maxDirEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	if len(list) > maxDirEntries {
		list, cut = list[:maxDirEntries], true
	}
	list = slices.DeleteFunc(list, func(e fs.DirEntry) bool { return strings.EqualFold(e.Name(), own) })
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, cut, nil
}

// lines collects lines of a result within its bounds.
type lines struct {
	max  int // lines
	n    int
	text strings.Builder
	full bool
}

// add takes a line, and reports whether there was room for it.
func (l *lines) add(line string) bool {
	line = tool.Clean([]byte(line))
	if l.n == l.max || l.text.Len()+len(line) >= readRoom {
		l.full = true
		return false
	}
	l.n++
	l.text.WriteString(line + "\n")
	return true
}

// result makes the result: the lines, or empty where there are none, and the notes that are not "".
func (l *lines) result(empty string, notes ...string) tool.Result {
	text := l.text.String()
	if text == "" {
		text = empty + "\n"
	}
	if l.full {
		notes = append([]string{fmt.Sprintf("only the first %d are shown; narrow it down for the rest", l.n)}, notes...)
	}
	for _, note := range notes {
		if note != "" {
			text += "[" + note + "]\n"
		}
	}
	return tool.Result{Output: text}
}
