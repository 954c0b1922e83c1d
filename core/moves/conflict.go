package moves

import (
	"slices"

	"paragents/core"
	"paragents/core/audit"
	"paragents/core/state"
)

// Block parks a prompt that would write what others hold, and says so.
func (b *Batch) Block(sess core.Session, p *core.Prompt, c core.Conflict, mode core.ConflictMode) error {
	if err := p.To(core.Blocked, c.String()); err != nil {
		return err
	}
	p.Conflict = &c
	event := core.ConflictOpen
	unchosen := func(path string) bool { return !slices.Contains(p.WaitsFor, path) }
	switch {
	case mode == core.WaitConflicts:
		p.WaitsFor = c.Paths
		fallthrough
	case !slices.ContainsFunc(c.Paths, unchosen): // it waits on
		event = core.ConflictWaits
		b.InsertNow(state.Waiters, string(p.ID), 0)
	default:
		p.WaitsFor = nil
	}
	b.Tell(sess, *p, event)
	b.Append(state.Audit, b.conflictEntry("blocked", sess, *p, c, ""))
	return nil
}

// Tell shows a blocked prompt's conflict, and a circle to the others in it.
func (b *Batch) Tell(sess core.Session, p core.Prompt, event core.ConflictState) {
	c := *p.Conflict
	b.Say(sess, p, ConflictEvent(event, c, ""), event == core.ConflictOpen || len(c.Cycle) > 0)
	if b.Fence == nil { // nobody holds the session who would send it
		b.Ready(sess.ID)
	}
	if len(c.Cycle) > 0 {
		b.tellOwners(sess, p, c, core.ConflictCycle, "")
	}
}

// ConflictEvent is an event about a conflict.
func ConflictEvent(st core.ConflictState, c core.Conflict, who core.Person) core.Event {
	e := core.Event{Type: core.EventConflict, State: string(st), Conflict: &c, Paths: c.Paths, By: who}
	if len(c.Owners) > 0 {
		e.Owner = c.Owners[0].Session
	}
	return e
}

func (b *Batch) conflictEntry(what string, sess core.Session, p core.Prompt, c core.Conflict, who core.Person) audit.Entry {
	e := audit.Entry{Time: b.Now(), What: what, Session: sess.Ref, Prompt: p.Ref, Who: who, Why: c.String(), Trace: p.Trace}
	if who == "" {
		e.Who = p.Author
	}
	return e
}

// tellOwners tells those who hold what a prompt wants: each at its own place, about its own paths. The rival that they read of is the prompt.
func (b *Batch) tellOwners(sess core.Session, p core.Prompt, c core.Conflict, st core.ConflictState, who core.Person) {
	for _, o := range c.Owners {
		theirs := core.Conflict{Paths: o.Paths, Cycle: c.Cycle, Owners: []core.Rival{{Prompt: p.ID, PromptRef: p.Ref, SessionID: sess.ID, Session: sess.Ref, Title: sess.Title,
			Author: p.Author, Paths: c.Paths, State: p.State, Reason: p.Reason, Since: p.Since}}}
		b.Say(core.Session{ID: o.SessionID, Ref: o.Session, Title: o.Title}, core.Prompt{ID: o.Prompt, Ref: o.PromptRef, Author: o.Author, Place: o.Place}, ConflictEvent(st, theirs, who), true)
		b.Ready(o.SessionID)
	}
}

// Overridden records that a person, or the configuration, let a prompt write what others hold, and tells them.
func (b *Batch) Overridden(sess core.Session, p core.Prompt, c core.Conflict, who core.Person) {
	b.Append(state.Audit, b.conflictEntry("overridden", sess, p, c, who))
	b.tellOwners(sess, p, c, core.ConflictTheirs, who)
}

// Unblock takes a conflict away from a prompt, whose marks clear with it.
func (b *Batch) Unblock(sess core.Session, p *core.Prompt, st core.ConflictState, who core.Person) {
	if p.Conflict == nil {
		return
	}
	b.RemoveFrom(state.Waiters, string(p.ID))
	b.Say(sess, *p, ConflictEvent(st, *p.Conflict, who), false)
	p.Conflict = nil
}

// Requeue lets a blocked prompt try again.
func (b *Batch) Requeue(sess core.Session, p *core.Prompt, st core.ConflictState, who core.Person) error {
	b.Unblock(sess, p, st, who)
	b.Ready(sess.ID)
	return p.To(core.Queued, "")
}

// Found records that a command has changed what others hold, and tells both sides.
func (b *Batch) Found(sess core.Session, p core.Prompt, c core.Conflict) {
	b.Say(sess, p, ConflictEvent(core.ConflictFound, c, ""), true)
	b.tellOwners(sess, p, c, core.ConflictFound, "")
	b.Append(state.Audit, b.conflictEntry("changed what others hold", sess, p, c, ""))
}
