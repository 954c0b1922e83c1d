package scheduler

import (
	"context"
	"fmt"

	"paragents/core"
	"paragents/core/state"
)

// Isolate writes down how far the worktree of the run's session is made.
func (r *Run) Isolate(ctx context.Context, w core.Worktree) error {
	return r.insist(ctx, func() error {
		sess, _, err := state.Get[core.Session](ctx, r.s.store, state.SessionKey(r.Session.ID))
		if err != nil {
			return err
		}
		sess.Value.Worktree = &w
		b := &state.Batch{}
		b.Fence, b.Durable = &r.fence, true
		b.Update(state.SessionKey(r.Session.ID), sess.Version, sess.Value)
		if err := r.commit(ctx, b); err != nil {
			return err
		}
		r.Session.Worktree = &w
		return nil
	})
}

// Work writes down what a person decided about an isolated session's worktree, and tells its place; e says what. change decides on what was read. With what is
// discarded the session is closed.
func (s *Scheduler) Work(ctx context.Context, id core.SessionID, who core.Person, e core.Event, change func(core.Session, *core.Worktree) error) (core.Session, error) {
	var out core.Session
	err := s.session(ctx, id, "work "+e.State, who, func(b *state.Batch, v *core.Session) error {
		if v.Worktree == nil || !v.Worktree.Made {
			return fmt.Errorf("%w: session %s has no worktree of its own", core.ErrRefused, v.Ref)
		}
		w := *v.Worktree
		if err := change(*v, &w); err != nil {
			return err
		}
		v.Worktree, e.By = &w, who
		if w.Discarded != "" && !v.Closed {
			if err := s.shut(ctx, b, v, who); err != nil {
				return err
			}
		}
		out = *v
		return s.tellWork(ctx, b, *v, e)
	})
	return out, err
}

// tellWork tells the place of a session's last prompt about the session's worktree.
func (s *Scheduler) tellWork(ctx context.Context, b *state.Batch, v core.Session, e core.Event) error {
	last, _, err := state.Get[core.Prompt](ctx, s.store, state.PromptKey(v.Last))
	if err != nil {
		return err
	}
	e.Type = core.EventWork
	b.Append(state.Lane(v.ID), letter(s.clock.Now(), v, last.Value, e, false))
	s.ready(b, v.ID)
	return nil
}

// Withdraw cancels a prompt that waits for an approval, and only one that does: the approval is withdrawn, and what it holds is free.
func (s *Scheduler) Withdraw(ctx context.Context, id core.PromptID, who core.Person) (core.Prompt, error) {
	return s.change(ctx, id, "withdraw", who, func(b *state.Batch, p *pair) error {
		if v := p.prompt.Value; v.State != core.Waiting || len(v.Pending) == 0 {
			return fmt.Errorf("%w: prompt %s is %s; only a question that is open can be withdrawn", core.ErrRefused, v.Ref, v.State.Word())
		}
		return s.cancel(ctx, b, p, who)
	})
}
