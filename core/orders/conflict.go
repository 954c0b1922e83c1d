package orders

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"paragents/core"
	"paragents/core/moves"
	"paragents/core/preflight"
	"paragents/core/reader"
	"paragents/core/reserve"
	"paragents/core/state"
	"paragents/store"
)

// blocked refuses for a prompt that is not in conflict.
func blocked(p core.Prompt) error {
	if p.State == core.Blocked && p.Conflict != nil {
		return nil
	}
	return fmt.Errorf("%w: prompt %s is %s; only one in conflict can wait or override", core.ErrRefused, p.Ref, p.State.Word())
}

// Wait lets a blocked prompt go on as soon as what it would write is free.
func (o *Orders) Wait(ctx context.Context, id core.PromptID, who core.Person) (core.Conflict, error) {
	var c core.Conflict
	_, err := o.change(ctx, id, "wait", who, func(b *moves.Batch, p *reader.Pair) error {
		v := &p.Prompt.Value
		if err := blocked(*v); err != nil {
			return err
		}
		c = *v.Conflict
		v.WaitsFor = c.Paths
		b.InsertNow(state.Waiters, string(v.ID), 0)
		b.Say(p.Session.Value, *v, moves.ConflictEvent(core.ConflictWaits, c, who), false)
		b.Ready(v.Session)
		return nil
	})
	return c, err
}

// Override lets a blocked prompt write what others hold: exactly the paths that its conflict names. may refuses for an owner whose claims this person must not
// override; it is not asked about owners who have waited for people for more than eight hours. The owners are told.
func (o *Orders) Override(ctx context.Context, id core.PromptID, who core.Person, may func(core.Rival) error) (core.Conflict, error) {
	var c core.Conflict
	_, err := o.change(ctx, id, "override", who, func(b *moves.Batch, p *reader.Pair) error {
		v := &p.Prompt.Value
		if err := blocked(*v); err != nil {
			return err
		}
		c = *v.Conflict
		l, err := o.books.Open(ctx, p.Session.Value)
		if err != nil {
			return err
		}
		found, err := l.Conflicts(ctx, id, reserve.Claims(c.Paths))
		if err != nil {
			return err
		}
		shown := func(id core.PromptID) bool {
			return slices.ContainsFunc(c.Owners, func(r core.Rival) bool { return r.Prompt == id })
		}
		found = slices.DeleteFunc(found, func(f preflight.Conflict) bool { return !shown(f.Owner) })
		now := l.Conflict(found)
		for _, rival := range now.Owners {
			if l.Stale(rival) {
				continue
			}
			if err := may(rival); err != nil {
				return err
			}
		}
		if len(found) > 0 {
			l.Book.Allow(id, reserve.Holder(o.clock.Now(), p.Session.Value, *v), found)
			l.Save(b)
			b.Overridden(p.Session.Value, *v, now, who)
		}
		return b.Requeue(p.Session.Value, v, core.ConflictOverridden, who)
	})
	return c, err
}

// waitersAtOnce is how many blocked prompts are looked at together.
const waitersAtOnce = 64

// Waiters lets those blocked prompts go on that somebody chose to let wait and whose paths are free. The error is about those that could not be looked at.
func (o *Orders) Waiters(ctx context.Context) error {
	var after *store.Entry
	var errs error
	for {
		page, err := o.store.Scan(ctx, state.Waiters, store.Range{After: after, Limit: waitersAtOnce})
		if err != nil {
			return errors.Join(errs, err)
		}
		for _, e := range page.Entries {
			if err := o.look(ctx, core.PromptID(e.Member)); err != nil && !errors.Is(err, store.ErrConflict) {
				errs = errors.Join(errs, fmt.Errorf("prompt %s: %w", e.Member, err))
			}
		}
		if len(page.Entries) < waitersAtOnce {
			return errs
		}
		after = &page.Entries[len(page.Entries)-1]
	}
}

// look lets one waiting prompt go on if nobody alive holds what it wants.
func (o *Orders) look(ctx context.Context, id core.PromptID) error {
	p, err := o.Load(ctx, id)
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return err
	}
	v, b := &p.Prompt.Value, moves.Durable(o.clock)
	if v.State != core.Blocked || v.Conflict == nil {
		b.Expect(state.PromptKey(id), p.Prompt.Version) // it may be blocked again by now
		b.RemoveFrom(state.Waiters, string(id))
		_, err := b.Commit(ctx, o.store)
		return err
	}
	l, err := o.books.Open(ctx, p.Session.Value)
	if err != nil {
		return err
	}
	found, err := l.Conflicts(ctx, id, reserve.Claims(v.Conflict.Paths))
	if err != nil {
		return err
	}
	switch c := l.Conflict(found); {
	case len(found) == 0:
		if err := b.Requeue(p.Session.Value, v, core.ConflictFree, ""); err != nil {
			return err
		}
		v.Since = o.clock.Now()
	case slices.EqualFunc(c.Owners, v.Conflict.Owners, func(x, y core.Rival) bool { return x.Prompt == y.Prompt }):
		return nil
	default: // somebody else was faster, or only some are done: it waits for others now
		c = l.Wait(id, reserve.Holder(o.clock.Now(), p.Session.Value, *v), found)
		l.Save(b)
		c.Paths = v.Conflict.Paths
		v.Conflict, v.Reason = &c, c.String()
		b.Tell(p.Session.Value, *v, core.ConflictWaits)
	}
	b.Update(state.PromptKey(id), p.Prompt.Version, *v)
	_, err = b.Commit(ctx, o.store)
	return err
}
