// Package workspace ties the name of a workspace to one directory. The directory holds a random id, and so does the store: replicas that share a store serve a workspace only
// where both are the same, so that nobody works in a copy, or in the empty directory under a volume that is not mounted.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"paragents/core"
	"paragents/core/state"
	"paragents/store"
)

// File is where the id stands, in the workspace's directory.
const File = ".paragents/workspace-id"

// ErrOther: the directory is not the registered one. The text says what to do.
var ErrOther = errors.New("not the registered directory")

// Registration is the document of a workspace.
type Registration struct {
	ID    string    `json:"id"`
	Host  string    `json:"host"` // where it was registered
	Since time.Time `json:"since"`
}

// Register proves that dir is the directory of the workspace. The first one to ask decides which directory that is. A directory without an id becomes it only if the name is not
// registered yet, or nobody else serves it.
func Register(ctx context.Context, s store.Store, name, dir, host string, served bool) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open workspace %s: %w; make the directory, or mount it", name, err)
	}
	defer root.Close()
	for range 8 {
		d, now, err := state.Get[Registration](ctx, s, state.WorkspaceKey(name))
		if err != nil {
			return fmt.Errorf("read registration of workspace %s: %w", name, err)
		}
		id, err := read(root)
		switch {
		case err != nil:
			return fmt.Errorf("read id of workspace %s: %w", name, err)
		case d.Exists() && id == d.Value.ID:
			return nil
		case d.Exists() && id != "":
			return fmt.Errorf("workspace %s: %w: %s holds another id than the one registered from %s on %s; mount the same directory on all replicas, or give this one a name of its own",
				name, ErrOther, filepath.Join(dir, File), d.Value.Host, d.Value.Since.Format(time.DateOnly))
		case d.Exists() && served:
			return fmt.Errorf("workspace %s: %w: %s is missing, while another replica serves the workspace; mount the same directory on all replicas, or give this one a name of its own",
				name, ErrOther, filepath.Join(dir, File))
		case id == "":
			want := d.Value.ID
			if want == "" {
				want = core.NewID[string](now)
			}
			if err := write(root, want); err != nil && !errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("write id of workspace %s: %w", name, err)
			}
			continue
		}
		b := &state.Batch{}
		b.Durable = true
		b.Update(state.WorkspaceKey(name), 0, Registration{ID: id, Host: host, Since: now})
		if _, err := b.Commit(ctx, s); err == nil || !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("register workspace %s: others are faster; try again", name)
}

// read is the id that a directory holds; "" when there is none.
func read(root *os.Root) (string, error) {
	raw, err := root.ReadFile(File)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(raw)), err
}

// write gives a directory an id, whole or not at all; fs.ErrExist when it has got one meanwhile.
func write(root *os.Root, id string) error {
	if err := root.MkdirAll(filepath.Dir(File), 0o700); err != nil {
		return err
	}
	temp := File + "." + core.NewID[string](time.Now())
	if err := root.WriteFile(temp, []byte(id+"\n"), 0o600); err != nil {
		return err
	}
	return errors.Join(root.Link(temp, File), root.Remove(temp))
}
