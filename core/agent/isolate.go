package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"paragents/core"
	"paragents/core/worktree"
)

// isolate lets the run work in the worktree of its session, which is made when it is not there. From where it begins is written down first, and that it is whole last, so that a
// run that was cut off in between is gone on with: nothing has worked in it before.
func (t *turns) isolate(ctx context.Context) error {
	if t.a.cfg.Git == nil {
		return errors.New("this replica makes no worktrees; begin a session that is not isolated")
	}
	sess := t.run.Session
	err := t.made(ctx, t.ws.Dir)
	if err != nil && errors.Is(err, core.ErrRefused) {
		return fmt.Errorf("session %s cannot get a worktree of its own: %s", sess.Ref, strings.TrimPrefix(err.Error(), core.ErrRefused.Error()+": "))
	}
	t.around, t.ws.Dir = t.ws.Dir, t.run.Session.Dir(t.ws.Dir)
	return err
}

func (t *turns) made(ctx context.Context, dir string) error {
	git, at := t.a.cfg.Git, worktree.At{Workspace: dir, Session: t.run.Session}
	w := *t.run.Session.Worktree
	if w.Made {
		return git.Restore(ctx, at)
	}
	t.run.Emit(core.Event{Type: core.EventNotice, Text: saysMakesTree})
	if w.Commit == "" {
		var err error
		if w, err = git.Begin(ctx, dir); err != nil {
			return err
		}
		if err := t.run.Isolate(ctx, w); err != nil {
			return err
		}
		at.Session = t.run.Session
	}
	if err := git.Make(ctx, at); err != nil {
		return err
	}
	w.Made = true
	return t.run.Isolate(ctx, w)
}

// branch is the session's own branch; "" when it works in the workspace's directory.
func (t *turns) branch() string {
	if t.run.Session.Worktree == nil {
		return ""
	}
	return core.BranchOf(t.run.Session.Ref)
}
