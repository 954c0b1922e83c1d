package orders

import (
	"context"
	"fmt"
	"time"

	"paragents/core"
	"paragents/core/moves"
	"paragents/core/state"
)

// KeepClosed is how long a closed session and all that belongs to it are kept.
const KeepClosed = 90 * 24 * time.Hour

// Close closes a session: its unfinished prompts are cancelled, and it takes no more.
func (o *Orders) Close(ctx context.Context, id core.SessionID, who core.Person) (core.Session, error) {
	var out core.Session
	err := o.session(ctx, id, "close", who, func(b *moves.Batch, v *core.Session) error {
		if v.Closed {
			return fmt.Errorf("%w: session %s is closed already", core.ErrRefused, v.Ref)
		}
		idle := len(v.Queue) == 0 && v.Last != "" // else the prompt that ends last tells of the work
		err := o.shut(ctx, b, v, who)
		out = *v
		if err != nil || !idle || v.Worktree == nil || !v.Worktree.Made || v.Worktree.Kept {
			return err
		}
		return o.tellWork(ctx, b, *v, core.Event{State: string(core.WorkOpen)})
	})
	return out, err
}

// shut closes a session in a batch; the caller writes it.
func (o *Orders) shut(ctx context.Context, b *moves.Batch, v *core.Session, who core.Person) error {
	v.Closed = true
	b.InsertNow(state.GC, string(v.ID), KeepClosed)
	_, err := o.cancelAll(ctx, b, v, who, everyPrompt)
	return err
}

// Rename gives a session another title.
func (o *Orders) Rename(ctx context.Context, id core.SessionID, who core.Person, title string) (core.Session, error) {
	var out core.Session
	err := o.session(ctx, id, "rename", who, func(_ *moves.Batch, v *core.Session) error {
		v.Title = core.Title(title, "")
		if v.Title == "" {
			return fmt.Errorf("%w: a title needs at least one character", core.ErrRefused)
		}
		out = *v
		return nil
	})
	return out, err
}

// SetMode gives a session another mode, from its next call on.
func (o *Orders) SetMode(ctx context.Context, id core.SessionID, who core.Person, mode core.Mode) error {
	return o.session(ctx, id, "mode "+string(mode), who, func(_ *moves.Batch, v *core.Session) error {
		v.Mode = mode
		return nil
	})
}

// Work writes down what a person decided about an isolated session's worktree, and tells its place; e says what. change decides on what was read. With what is
// discarded the session is closed.
func (o *Orders) Work(ctx context.Context, id core.SessionID, who core.Person, e core.Event, change func(core.Session, *core.Worktree) error) (core.Session, error) {
	var out core.Session
	err := o.session(ctx, id, "work "+e.State, who, func(b *moves.Batch, v *core.Session) error {
		if v.Worktree == nil || !v.Worktree.Made {
			return fmt.Errorf("%w: session %s has no worktree of its own", core.ErrRefused, v.Ref)
		}
		w := *v.Worktree
		if err := change(*v, &w); err != nil {
			return err
		}
		v.Worktree, e.By = &w, who
		if w.Discarded != "" && !v.Closed {
			if err := o.shut(ctx, b, v, who); err != nil {
				return err
			}
		}
		out = *v
		return o.tellWork(ctx, b, *v, e)
	})
	return out, err
}

// tellWork tells the place of a session's last prompt about the session's worktree.
func (o *Orders) tellWork(ctx context.Context, b *moves.Batch, v core.Session, e core.Event) error {
	last, _, err := state.Get[core.Prompt](ctx, o.store, state.PromptKey(v.Last))
	if err != nil {
		return err
	}
	e.Type = core.EventWork
	b.Say(v, last.Value, e, false)
	b.Ready(v.ID)
	return nil
}
