// Package janitor takes away what nobody needs any more in the directories of workspaces: worktrees of sessions that are closed or forgotten, if nothing in them would be lost, and
// the run directories, with what files held before, of prompts that the store has forgotten.
package janitor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/oklog/ulid/v2"

	"paragents/core"
	"paragents/core/orders"
	"paragents/core/state"
	"paragents/core/worktree"
	"paragents/store"
)

// Config is what a janitor needs. All but Every and Logger have no default.
type Config struct {
	Store store.Store
	Git   *worktree.Git
	// Serves are the workspaces that this replica serves at the moment: their absolute directories by name.
	Serves func() map[string]string
	// Alone does something that one replica at a time may do; see scheduler.Alone.
	Alone  func(ctx context.Context, name string, do func(context.Context) error) error
	Every  time.Duration // between two rounds. Default 10 minutes
	Logger *slog.Logger
}

// Bounds of one round in one directory, and what is left alone because it is young.
const (
	maxLooked  = 10_000 // entries
	maxRemoved = 1_000
	atOnce     = 100                // documents that are read together
	strangeAge = 7 * 24 * time.Hour // of a worktree of which this store knows nothing: another one may
)

// Janitor goes its rounds.
type Janitor struct{ cfg Config }

// New makes a janitor; Run sets it to work.
func New(cfg Config) *Janitor {
	if cfg.Every == 0 {
		cfg.Every = 10 * time.Minute
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Janitor{cfg}
}

// Run goes through all workspaces again and again, until the context ends.
func (j *Janitor) Run(ctx context.Context) {
	tick := time.NewTicker(j.cfg.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for name, dir := range j.cfg.Serves() {
			err := j.cfg.Alone(ctx, "janitor/"+name, func(ctx context.Context) error { return j.Round(ctx, dir) })
			if err != nil && ctx.Err() == nil && !errors.Is(err, core.ErrRefused) {
				j.cfg.Logger.Warn("cannot clean up a workspace; trying again", "workspace", name, "error", err)
			}
		}
	}
}

// Round goes through one workspace's directory.
func (j *Janitor) Round(ctx context.Context, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open workspace %s: %w", dir, err)
	}
	defer root.Close()
	errs := j.runs(ctx, root, ".")
	trees, err := list(root, core.Worktrees)
	errs = errors.Join(errs, err)
	for _, e := range trees {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		ref := core.Ref(e.Name())
		if len(ref) != core.RefLen || !core.LooksLikeRef(string(ref)) || !e.IsDir() {
			continue
		}
		gone, err := j.tree(ctx, root, dir, ref)
		if err == nil && !gone {
			err = j.runs(ctx, root, path.Join(core.Worktrees, e.Name()))
		}
		errs = errors.Join(errs, err)
	}
	return errs
}

// tree takes one worktree away, if its session is closed and held by nobody, or forgotten, and nothing in it would be lost.
func (j *Janitor) tree(ctx context.Context, root *os.Root, dir string, ref core.Ref) (gone bool, err error) {
	sess, err := j.session(ctx, ref)
	if err != nil {
		return false, err
	}
	if sess.ID == "" {
		info, err := root.Stat(path.Join(core.Worktrees, string(ref)))
		if err != nil || time.Since(info.ModTime()) < strangeAge {
			return false, err
		}
		sess = core.Session{Ref: ref, Closed: true, Worktree: &core.Worktree{Made: true}}
	}
	if !sess.Closed || sess.Worktree == nil {
		return false, nil
	}
	gone, why, err := j.cfg.Git.Retire(ctx, worktree.At{Workspace: dir, Session: sess})
	if gone {
		j.cfg.Logger.Info("removed the worktree of a closed session", "session", ref)
	} else {
		j.cfg.Logger.Debug("leaving the worktree of a closed session", "session", ref, "why", why)
	}
	return gone, err
}

// session is the session of a ref; its ID is empty when there is none any more. One that a replica holds counts as open.
func (j *Janitor) session(ctx context.Context, ref core.Ref) (core.Session, error) {
	named, _, err := state.Get[state.Named](ctx, j.cfg.Store, state.RefKey(ref))
	if err != nil || named.Value.Kind != state.NamedSession {
		return core.Session{}, err
	}
	id := named.Value.Session
	snap, err := j.cfg.Store.Get(ctx, state.SessionKey(id), state.ClaimKey(id))
	if err != nil {
		return core.Session{}, err
	}
	sess, err := state.Decode[core.Session](state.SessionKey(id), snap.Docs[0])
	if snap.Docs[1].Version != 0 {
		sess.Value.Closed = false
	}
	return sess.Value, err
}

// runs removes the run directories below a place of prompts that are older than any session is kept, and that the store does not know.
func (j *Janitor) runs(ctx context.Context, root *os.Root, at string) error {
	folder := path.Join(at, ".paragents/run")
	entries, err := list(root, folder)
	if err != nil {
		return err
	}
	var old []store.Key
	for _, e := range entries {
		id, err := ulid.ParseStrict(e.Name())
		if err == nil && e.IsDir() && time.Since(ulid.Time(id.Time())) > orders.KeepClosed {
			old = append(old, state.PromptKey(core.PromptID(e.Name())))
		}
	}
	removed := 0
	for from := 0; from < len(old) && removed < maxRemoved && ctx.Err() == nil; from += atOnce {
		keys := old[from:min(from+atOnce, len(old))]
		snap, err := j.cfg.Store.Get(ctx, keys...)
		if err != nil {
			return err
		}
		for i, d := range snap.Docs {
			if d.Version != 0 {
				continue
			}
			if err := root.RemoveAll(path.Join(folder, path.Base(string(keys[i])))); err != nil {
				return fmt.Errorf("remove run directory: %w", err)
			}
			removed++
		}
	}
	if removed > 0 {
		j.cfg.Logger.Info("removed old run directories", "folder", filepath.Join(root.Name(), folder), "removed", removed)
	}
	return nil
}

// list is what lies in a folder, as much of it as one round looks at; nothing when there is no folder.
func list(root *os.Root, folder string) ([]fs.DirEntry, error) {
	f, err := root.Open(filepath.FromSlash(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look into %s: %w", folder, err)
	}
	defer f.Close()
	entries, err := f.ReadDir(maxLooked)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("look into %s: %w", folder, err)
	}
	return entries, nil
}
