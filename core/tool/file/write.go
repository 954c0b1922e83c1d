package file

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/aymanbagabas/go-udiff"

	"paragents/core"
	"paragents/core/tool"
)

const writeSchema = `{"type":"object","additionalProperties":false,"required":["path","content"],"properties":{
"path":{"type":"string","description":"file, relative to the workspace; missing directories are made"},
"content":{"type":"string","description":"the whole new content"}}}`

// maxEdit is the size of the largest file that can be written or edited, in bytes.
const maxEdit = 4 << 20

func planWrite(env *tool.Env, arguments json.RawMessage) (tool.Plan, error) {
	var args struct {
		Path    string  `json:"path"`
		Content *string `json:"content"`
	}
	if err := tool.Args(arguments, &args); err != nil {
		return tool.Plan{}, err
	}
	if args.Content == nil {
		return tool.Plan{}, errors.New("content is missing; an empty string makes an empty file")
	}
	c, err := newChange(env, args.Path)
	if err != nil {
		return tool.Plan{}, err
	}
	c.after = []byte(*args.Content)
	return c.plan(env)
}

// change is a file before and after a call.
type change struct {
	place  place
	exists bool
	info   fs.FileInfo // nil for a new file
	before []byte
	after  []byte
	sum    string // digest of before
}

// newChange loads the file as it is, and insists that the session knows it.
func newChange(env *tool.Env, name string) (*change, error) {
	p, err := find(env, name)
	if err != nil {
		return nil, err
	}
	c := &change{place: p}
	dir, base, err := descend(env.Root, p.real, false)
	if err == nil {
		defer dir.Close()
		c.before, c.info, err = load(dir, base)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, explain(p.asked, err)
	}
	c.exists, c.sum = true, digest(c.before)
	switch env.Seen(p.real) {
	case c.sum:
		return c, nil
	case "":
		if bytes.IndexByte(c.before[:min(len(c.before), sniff)], 0) >= 0 {
			return nil, fmt.Errorf("%s is a binary file; file tools do not change it", p)
		}
		return nil, fmt.Errorf("%s exists and this session has not read it; read it first", p)
	}
	return nil, fmt.Errorf("%s changed since you read it, read again", p)
}

// load reads a whole file.
func load(dir *os.Root, name string) ([]byte, fs.FileInfo, error) {
	f, info, err := open(dir, name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxEdit+1))
	if err == nil && len(data) > maxEdit {
		err = fmt.Errorf("it has more than %d bytes, too many for the file tools", maxEdit)
	}
	return data, info, err
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// plan plans the change.
func (c *change) plan(env *tool.Env) (tool.Plan, error) {
	switch {
	case len(c.after) > maxEdit:
		return tool.Plan{}, fmt.Errorf("%s would have more than %d bytes, too many for the file tools", c.place, maxEdit)
	case bytes.IndexByte(c.after, 0) >= 0:
		return tool.Plan{}, errors.New("the new content holds a NUL byte; file tools write text only")
	case c.exists && bytes.Equal(c.before, c.after):
		return tool.Plan{}, fmt.Errorf("%s has exactly this content already; nothing is to be done", c.place)
	}
	checks := c.place.checks("Write")
	links := c.links()
	if links > 1 {
		checks = append(checks, tool.Check{Tool: "hard_link", Input: c.place.real})
	}
	what, size := "new file", fmt.Sprintf("%d bytes", len(c.after))
	if c.exists {
		what, size = "change", fmt.Sprintf("%d bytes, were %d", len(c.after), len(c.before))
	}
	line := fmt.Sprintf("%s %s (%s)", what, c.place, size)
	return tool.Plan{
		Checks: checks, Show: line + "\n" + c.show(links), Line: line, Writes: []string{c.place.real},
		Run: func(context.Context) (tool.Result, error) {
			if err := c.place.again(env); err != nil {
				return tool.Result{}, err
			}
			if c.exists {
				if err := tool.KeepBefore(env, c.sum, c.before); err != nil {
					return tool.Result{}, err
				}
			}
			if err := c.apply(env.Root); err != nil {
				return tool.Result{}, explain(c.place.asked, err)
			}
			return tool.Result{
				Changes: []core.Change{{Path: c.place.real, Before: c.sum, After: digest(c.after)}},
				Output:  fmt.Sprintf("wrote %s (%s)", c.place, size),
				Seen:    map[string]string{c.place.real: digest(c.after)},
				Changed: []string{c.place.real},
			}, nil
		},
	}, nil
}

// links is the number of names that the file has.
func (c *change) links() uint64 {
	if c.info == nil {
		return 0
	}
	st, ok := c.info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return uint64(st.Nlink)
}

// show is the whole change as a person reads it: the content of a new file, the difference to one that exists.
func (c *change) show(links uint64) string {
	if !c.exists {
		return tool.Clean(c.after)
	}
	diff := udiff.Unified(inLine("a/"+c.place.real), inLine("b/"+c.place.real), tool.Clean(c.before), tool.Clean(c.after))
	if links > 1 {
		diff = fmt.Sprintf("The file has %d names (hard links). This one gets a copy of its own; the others keep the old content.\n", links) + diff
	}
	return diff
}

// apply writes the file at once or not at all: a temporary file beside it takes the content and then its name. The mode is kept, and the
// owner where the bot's user may; other attributes are not.
func (c *change) apply(root *os.Root) error {
	dir, name, err := descend(root, c.place.real, !c.exists)
	if err != nil {
		return err
	}
	defer dir.Close()
	temp := ".paragents-" + strings.ToLower(rand.Text()) + ".tmp"
	if err := c.writeTemp(dir, temp); err != nil {
		_ = dir.Remove(temp)
		return err
	}
	if !c.exists {
		return create(dir, temp, name, c.after)
	}
	now, _, err := load(dir, name)
	if err == nil && digest(now) != c.sum {
		err = errChanged
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = errChanged
	}
	if err == nil {
		err = dir.Rename(temp, name)
	}
	if err != nil {
		_ = dir.Remove(temp)
	}
	return err
}

var (
	errChanged = errors.New("changed since you read it, read again")
	errCreated = errors.New("was created meanwhile; read it first")
)

func (c *change) writeTemp(dir *os.Root, temp string) error {
	mode := fs.FileMode(0o666)
	if c.exists {
		mode = c.info.Mode().Perm()
	}
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(c.after)
	if c.exists {
		if st, ok := c.info.Sys().(*syscall.Stat_t); ok {
			_ = f.Chown(int(st.Uid), int(st.Gid)) // only root may give a file away
		}
		err = errors.Join(err, f.Chmod(mode))
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// create gives the temporary file its name, unless that exists by now.
func create(dir *os.Root, temp, name string, content []byte) error {
	defer dir.Remove(temp)
	err := dir.Link(temp, name)
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrExist) {
		return errCreated
	}
	return createPlain(dir, name, content) // the file system has no hard links
}

// createPlain makes a new file in place. A reader may see a part of it, but it replaces nothing.
func createPlain(dir *os.Root, name string, content []byte) error {
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return errCreated
	}
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, dir.Remove(name))
	}
	return nil
}
