package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"paragents/core/tool"
)

// own is the name of the bot's directories. No tool looks into one.
const own = ".paragents"

// maxLinks is after how many links a path counts as a circle, as in the kernel.
const maxLinks = 40

// place is a path that a call names, understood.
type place struct {
	asked string // clean and relative to the workspace
	real  string // the same with all links followed; what it names need not exist
}

func (p place) String() string {
	if p.asked == p.real {
		return inLine(p.asked)
	}
	return fmt.Sprintf("%s (a link to %s)", inLine(p.asked), inLine(p.real))
}

// inLine quotes a text that would break out of its line where it is shown.
func inLine(text string) string {
	if strings.ContainsFunc(text, unicode.IsControl) {
		return strconv.Quote(text)
	}
	return text
}

// checks has both paths judged: a rule may name either.
func (p place) checks(kind string) []tool.Check {
	list := []tool.Check{{Tool: kind, Input: p.asked}}
	if p.real != p.asked {
		list = append(list, tool.Check{Tool: kind, Input: p.real})
	}
	return list
}

// find understands a path. It refuses what leads out of the workspace, and the bot's own directories.
func find(env *tool.Env, text string) (place, error) {
	if text == "" {
		return place{}, errors.New("the path is empty; name a file of the workspace, or . for the workspace")
	}
	if strings.ContainsRune(text, 0) {
		return place{}, errors.New("the path holds a NUL byte; no file has such a name")
	}
	asked, ok := inside(env, text)
	if !ok {
		return place{}, fmt.Errorf("%s lies outside the workspace; file tools reach only what is in it", text)
	}
	real, err := follow(env, asked)
	if err != nil {
		return place{}, err
	}
	for _, form := range []string{asked, real} {
		for elem := range strings.SplitSeq(form, "/") {
			if strings.EqualFold(elem, own) {
				return place{}, fmt.Errorf("%s belongs to the bot; no tool reads or writes %s", text, own)
			}
		}
	}
	return place{asked, real}, nil
}

// again finds the place once more, when the call was judged and is about to run.
func (p place) again(env *tool.Env) error {
	now, err := find(env, p.asked)
	if err == nil && now != p {
		err = fmt.Errorf("%s led to %s and now leads to %s; call again", p.asked, p.real, now.real)
	}
	return err
}

// inside returns the clean path relative to the workspace, and false for one that is not in it.
func inside(env *tool.Env, text string) (string, bool) {
	rel := filepath.Clean(text)
	if filepath.IsAbs(rel) {
		var err error
		if rel, err = filepath.Rel(env.Dir, rel); err != nil {
			return "", false
		}
	}
	return filepath.ToSlash(rel), filepath.IsLocal(rel)
}

// follow follows every link of a clean path, element by element. Links may be absolute where they lead into the workspace.
func follow(env *tool.Env, clean string) (string, error) {
	done, todo := ".", strings.Split(clean, "/")
	for links := 0; len(todo) > 0; {
		elem := todo[0]
		todo = todo[1:]
		switch elem {
		case "", ".":
			continue
		case "..":
			if done == "." {
				return "", fmt.Errorf("%s leads out of the workspace through a link; file tools reach only what is in it", clean)
			}
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, elem)
		info, err := env.Root.Lstat(next)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", explain(clean, err)
		}
		if err != nil || info.Mode().Type() != fs.ModeSymlink {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%s leads in a circle of links", clean)
		}
		target, err := env.Root.Readlink(next)
		if err != nil {
			return "", explain(clean, err)
		}
		if filepath.IsAbs(target) {
			rel, ok := inside(env, target)
			if !ok {
				return "", fmt.Errorf("%s leads out of the workspace: %s is a link to %s; file tools reach only what is in it", clean, next, target)
			}
			done, target = ".", rel
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	return done, nil
}

// descend opens the directory that holds a path without links, and returns it with the path's last element. The directories on the way
// must still be no links. With create, missing ones are made. The caller closes the directory.
func descend(root *os.Root, real string, create bool) (*os.Root, string, error) {
	at, err := root.OpenRoot(".")
	if err != nil {
		return nil, "", err
	}
	elems := strings.Split(real, "/")
	for _, elem := range elems[:len(elems)-1] {
		if create {
			if err := at.Mkdir(elem, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
				return nil, "", errors.Join(err, at.Close())
			}
		}
		next, err := enter(at, elem)
		if err := errors.Join(err, at.Close()); err != nil {
			return nil, "", err
		}
		at = next
	}
	return at, elems[len(elems)-1], nil
}

// enter opens a directory that is no link, not even one that was put there a moment ago.
func enter(at *os.Root, name string) (*os.Root, error) {
	before, err := at.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	next, err := at.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	after, err := next.Stat(".")
	if err == nil && !os.SameFile(before, after) {
		err = errMoved
	}
	if err != nil {
		return nil, errors.Join(err, next.Close())
	}
	return next, nil
}

var errMoved = errors.New("it was replaced while it was opened; call again")

// open opens a regular file for reading, and nothing else: a pipe would block, a device may do anything.
func open(dir *os.Root, name string) (*os.File, fs.FileInfo, error) {
	before, err := dir.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if err := regular(before.Mode()); err != nil {
		return nil, nil, err
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	after, err := f.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = errMoved
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, after, nil
}

func regular(mode fs.FileMode) error {
	switch mode.Type() {
	case 0:
		return nil
	case fs.ModeDir:
		return errors.New("it is a directory; use list_dir")
	case fs.ModeSymlink:
		return errMoved
	case fs.ModeNamedPipe:
		return errors.New("it is a named pipe; file tools take regular files only")
	case fs.ModeSocket:
		return errors.New("it is a socket; file tools take regular files only")
	}
	return errors.New("it is a device; file tools take regular files only")
}

// explain says in words for the model what is wrong with a path.
func explain(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist; list_dir and glob show what does", name)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: the bot's user has no permission for it", name)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s: a part of the path is no directory", name)
	case errors.Is(err, syscall.ENAMETOOLONG):
		return fmt.Errorf("%.80s…: the name is too long", name)
	}
	var p *fs.PathError
	if errors.As(err, &p) { // its path may be only the last element
		err = p.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// join returns the path of what lies below p, as the model would name it.
func (p place) join(rel string) string { return path.Join(p.asked, rel) }
