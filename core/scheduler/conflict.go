package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"paragents/core"
	"paragents/core/preflight"
	"paragents/core/state"
	"paragents/store"
)

// ConflictMode says what happens to a prompt that would write what another one holds.
type ConflictMode string

const (
	AskConflicts      ConflictMode = "ask"      // a person chooses; without a choice nothing runs
	WaitConflicts     ConflictMode = "wait"     // it waits by itself
	OverrideConflicts ConflictMode = "override" // it writes all the same, and the owner is told
)

// block parks a prompt that would write what others hold, and says so.
func (s *Scheduler) block(b *state.Batch, sess core.Session, p *core.Prompt, c core.Conflict) error {
	if err := p.To(core.Blocked, (&Collision{c}).Error()); err != nil {
		return err
	}
	p.Conflict = &c
	event := core.ConflictOpen
	unchosen := func(path string) bool { return !slices.Contains(p.WaitsFor, path) }
	switch {
	case s.cfg.Conflicts(sess.Workspace) == WaitConflicts:
		p.WaitsFor = c.Paths
		fallthrough
	case !slices.ContainsFunc(c.Paths, unchosen): // it waits on
		event = core.ConflictWaits
		b.InsertNow(state.Waiters, string(p.ID), 0)
	default:
		p.WaitsFor = nil
	}
	s.tell(b, sess, *p, event)
	b.Append(state.Audit, s.conflictEntry("blocked", sess, *p, c, ""))
	return nil
}

// tell shows a blocked prompt's conflict, and a circle to the others in it.
func (s *Scheduler) tell(b *state.Batch, sess core.Session, p core.Prompt, event core.ConflictState) {
	c := *p.Conflict
	b.Append(state.Lane(sess.ID), letter(s.clock.Now(), sess, p, conflictEvent(event, c, ""), event == core.ConflictOpen || len(c.Cycle) > 0))
	if b.Fence == nil { // nobody holds the session who would send it
		s.ready(b, sess.ID)
	}
	if len(c.Cycle) > 0 {
		s.tellOwners(b, sess, p, c, core.ConflictCycle, "")
	}
}

func conflictEvent(st core.ConflictState, c core.Conflict, who core.Person) core.Event {
	e := core.Event{Type: core.EventConflict, State: string(st), Conflict: &c, Paths: c.Paths, By: who}
	if len(c.Owners) > 0 {
		e.Owner = c.Owners[0].Session
	}
	return e
}

func (s *Scheduler) conflictEntry(what string, sess core.Session, p core.Prompt, c core.Conflict, who core.Person) Entry {
	e := Entry{Time: s.clock.Now(), What: what, Session: sess.Ref, Prompt: p.Ref, Who: who, Why: (&Collision{c}).Error(), Trace: p.Trace}
	if who == "" {
		e.Who = p.Author
	}
	return e
}

// tellOwners tells those who hold what a prompt wants: each at its own place, about its own paths. The rival that they read of is the prompt.
func (s *Scheduler) tellOwners(b *state.Batch, sess core.Session, p core.Prompt, c core.Conflict, st core.ConflictState, who core.Person) {
	now := s.clock.Now()
	for _, o := range c.Owners {
		theirs := core.Conflict{Paths: o.Paths, Cycle: c.Cycle, Owners: []core.Rival{{Prompt: p.ID, PromptRef: p.Ref, SessionID: sess.ID, Session: sess.Ref, Title: sess.Title,
			Author: p.Author, Paths: c.Paths, State: p.State, Reason: p.Reason, Since: p.Since}}}
		b.Append(state.Lane(o.SessionID), letter(now, core.Session{ID: o.SessionID, Ref: o.Session, Title: o.Title},
			core.Prompt{ID: o.Prompt, Ref: o.PromptRef, Author: o.Author, Place: o.Place}, conflictEvent(st, theirs, who), true))
		s.ready(b, o.SessionID)
	}
}

// overridden records that a person, or the configuration, let a prompt write what others hold, and tells them.
func (s *Scheduler) overridden(b *state.Batch, sess core.Session, p core.Prompt, c core.Conflict, who core.Person) {
	b.Append(state.Audit, s.conflictEntry("overridden", sess, p, c, who))
	s.tellOwners(b, sess, p, c, core.ConflictTheirs, who)
}

// unblock takes a conflict away from a prompt, whose marks clear with it.
func (s *Scheduler) unblock(b *state.Batch, sess core.Session, p *core.Prompt, st core.ConflictState, who core.Person) {
	if p.Conflict == nil {
		return
	}
	b.RemoveFrom(state.Waiters, string(p.ID))
	b.Append(state.Lane(sess.ID), letter(s.clock.Now(), sess, *p, conflictEvent(st, *p.Conflict, who), false))
	p.Conflict = nil
}

// blocked refuses for a prompt that is not in conflict.
func blocked(p core.Prompt) error {
	if p.State == core.Blocked && p.Conflict != nil {
		return nil
	}
	return fmt.Errorf("%w: prompt %s is %s; only one in conflict can wait or override", core.ErrRefused, p.Ref, p.State.Word())
}

// Wait lets a blocked prompt go on as soon as what it would write is free.
func (s *Scheduler) Wait(ctx context.Context, id core.PromptID, who core.Person) (core.Conflict, error) {
	var c core.Conflict
	_, err := s.change(ctx, id, "wait", who, func(b *state.Batch, p *pair) error {
		v := &p.prompt.Value
		if err := blocked(*v); err != nil {
			return err
		}
		c = *v.Conflict
		v.WaitsFor = c.Paths
		b.InsertNow(state.Waiters, string(v.ID), 0)
		b.Append(state.Lane(v.Session), letter(s.clock.Now(), p.session.Value, *v, conflictEvent(core.ConflictWaits, c, who), false))
		s.ready(b, v.Session)
		return nil
	})
	return c, err
}

// Override lets a blocked prompt write what others hold: exactly the paths that its conflict names. may refuses for an owner whose claims this person must not
// override; it is not asked about owners who have waited for people for more than eight hours. The owners are told.
func (s *Scheduler) Override(ctx context.Context, id core.PromptID, who core.Person, may func(core.Rival) error) (core.Conflict, error) {
	var c core.Conflict
	_, err := s.change(ctx, id, "override", who, func(b *state.Batch, p *pair) error {
		v := &p.prompt.Value
		if err := blocked(*v); err != nil {
			return err
		}
		c = *v.Conflict
		l, err := s.ledger(ctx, p.session.Value)
		if err != nil {
			return err
		}
		found, err := s.conflicts(ctx, l, id, toClaims(c.Paths))
		if err != nil {
			return err
		}
		shown := func(o core.PromptID) bool {
			return slices.ContainsFunc(c.Owners, func(r core.Rival) bool { return r.Prompt == o })
		}
		found = slices.DeleteFunc(found, func(f preflight.Conflict) bool { return !shown(f.Owner) })
		now := l.conflict(found)
		for _, o := range now.Owners {
			if s.stale(o) {
				continue
			}
			if err := may(o); err != nil {
				return err
			}
		}
		if len(found) > 0 {
			l.book.Allow(id, holder(s.clock.Now(), p.session.Value, *v), found)
			b.Update(l.key, l.version, l.book)
			s.overridden(b, p.session.Value, *v, now, who)
		}
		return s.requeue(b, p.session.Value, v, core.ConflictOverridden, who)
	})
	return c, err
}

// stale reports whether the owner has waited for people for so long that others need not ask.
func (s *Scheduler) stale(o core.Rival) bool {
	waits := o.State == core.Waiting || o.State == core.Paused || o.State == core.Blocked
	return waits && !o.Since.IsZero() && s.clock.Now().Sub(o.Since) > patience
}

// requeue lets a blocked prompt try again.
func (s *Scheduler) requeue(b *state.Batch, sess core.Session, p *core.Prompt, st core.ConflictState, who core.Person) error {
	s.unblock(b, sess, p, st, who)
	s.ready(b, sess.ID)
	return p.To(core.Queued, "")
}

// waitersAtOnce is how many blocked prompts are looked at together.
const waitersAtOnce = 64

// waiters lets those blocked prompts go on that somebody chose to let wait and whose paths are free.
func (s *Scheduler) waiters(ctx context.Context) {
	var after *store.Entry
	for ctx.Err() == nil {
		page, err := s.store.Scan(ctx, state.Waiters, store.Range{After: after, Limit: waitersAtOnce})
		if err != nil {
			return // the dispatcher has logged that the store is away
		}
		for _, e := range page.Entries {
			if err := s.look(ctx, core.PromptID(e.Member)); err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrConflict) {
				s.log.Warn("cannot see whether a blocked prompt can go on; trying again", "prompt", e.Member, "error", err)
			}
		}
		if len(page.Entries) < waitersAtOnce {
			return
		}
		after = &page.Entries[len(page.Entries)-1]
	}
}

// look lets one waiting prompt go on if nobody alive holds what it wants.
func (s *Scheduler) look(ctx context.Context, id core.PromptID) error {
	p, err := s.load(ctx, id)
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return err
	}
	v, b := &p.prompt.Value, &state.Batch{}
	if v.State != core.Blocked || v.Conflict == nil {
		b.Expect(state.PromptKey(id), p.prompt.Version) // it may be blocked again by now
		b.RemoveFrom(state.Waiters, string(id))
		_, err := b.Commit(ctx, s.store)
		return err
	}
	l, err := s.ledger(ctx, p.session.Value)
	if err != nil {
		return err
	}
	found, err := s.conflicts(ctx, l, id, toClaims(v.Conflict.Paths))
	if err != nil {
		return err
	}
	b.Durable = true
	switch c := l.conflict(found); {
	case len(found) == 0:
		if err := s.requeue(b, p.session.Value, v, core.ConflictFree, ""); err != nil {
			return err
		}
		v.Since = s.clock.Now()
	case slices.EqualFunc(c.Owners, v.Conflict.Owners, func(x, y core.Rival) bool { return x.Prompt == y.Prompt }):
		return nil
	default: // somebody else was faster, or only some are done: it waits for others now
		c = l.wait(id, holder(s.clock.Now(), p.session.Value, *v), found)
		b.Update(l.key, l.version, l.book)
		c.Paths = v.Conflict.Paths
		v.Conflict, v.Reason = &c, (&Collision{c}).Error()
		s.tell(b, p.session.Value, *v, core.ConflictWaits)
	}
	b.Update(state.PromptKey(id), p.prompt.Version, *v)
	_, err = b.Commit(ctx, s.store)
	return err
}
