package scheduler

import (
	"context"
	"errors"
	"math"
	"strings"
	"time"

	"paragents/core"
	"paragents/core/audit"
	"paragents/core/moves"
	"paragents/core/state"
	"paragents/store"
)

// remindAgain is how long after the first reminder of an approval there is another: the next morning, as far as one can say who does not know people's time zone.
const remindAgain = 18 * time.Hour

// due does what has become due by the store's clock. Everything due is done in a commit that changes the document that it is about, so it happens once.
func (s *Scheduler) due(ctx context.Context) {
	page, err := s.store.Scan(ctx, state.Due, store.Range{Limit: 64, Due: true})
	if err != nil {
		return // the dispatcher has logged that the store is away
	}
	for _, e := range page.Entries {
		kind, id, _ := strings.Cut(e.Member, "/")
		if kind+"/" == state.DueAlbum {
			if err := s.acceptAlbum(ctx, id); err != nil && ctx.Err() == nil {
				s.log.Warn("cannot accept an album; trying again", "album", id, "error", err)
			}
			continue
		}
		err := state.Retry(ctx, kind+" approval", func() error { return s.dueApproval(ctx, e.Member, kind+"/", core.ApprovalID(id)) })
		if err != nil && ctx.Err() == nil {
			s.log.Warn("cannot do what is due; trying again", "what", e.Member, "error", err)
		}
	}
}

func (s *Scheduler) dueApproval(ctx context.Context, member, kind string, id core.ApprovalID) error {
	key := state.ApprovalKey(id)
	a, now, err := state.Get[core.Approval](ctx, s.store, key)
	if err != nil {
		return err
	}
	s.clock.Observe(now)
	b := moves.On(&s.clock)
	b.RemoveFrom(state.Due, member)
	b.Expect(key, a.Version)
	switch {
	case a.Value.State != core.Pending: // decided meanwhile, or gone
	case kind == state.DueExpire:
		b.Batch.Batch.Expect = nil // decide expects it
		if err := b.Decide(key, a, core.Expired, "", "nobody answered in time"); err != nil {
			return err
		}
		if err := s.unanswered(ctx, b, a.Value); err != nil {
			return err
		}
	case kind == state.DueRemind:
		v := a.Value
		if v.Reminded > 1 || v.Reminded == 1 && now.Sub(v.Created) < s.cfg.Remind+remindAgain {
			return nil // another replica was faster
		}
		b.Batch.Batch.Expect, b.Remove = nil, nil
		if v.Reminded == 0 && now.Sub(v.Created) < 2*s.cfg.Remind+time.Minute {
			v.Reminded = 1
			b.InsertNow(state.Due, member, remindAgain)
		} else { // the last one
			v.Reminded = 2
			b.RemoveFrom(state.Due, member)
		}
		b.Update(key, a.Version, v)
		b.SayAll(core.Letter{SessionID: v.Session, PromptID: v.Prompt, Place: v.Place, Asker: v.Author, Loud: true,
			Event: core.Event{Type: core.EventReminder, Time: now, Session: v.SessionRef, Prompt: v.PromptRef, Title: v.Title, Request: v.Ref,
				Tool: v.Action.Tool, Show: v.Action.Show, Approvals: []core.ApprovalID{id}, Trace: v.Trace}}, v.Copies)
		b.Ready(v.Session)
	}
	_, err = b.Commit(ctx, s.store)
	return err
}

// unanswered leaves a prompt whose approval has expired to its author: nobody said no, so it is not told so. Ask again resumes it; Close
// cancels it.
func (s *Scheduler) unanswered(ctx context.Context, b *moves.Batch, a core.Approval) error {
	p, err := s.Load(ctx, a.Prompt)
	if err != nil || p.Prompt.Value.State != core.Waiting {
		return err
	}
	v := &p.Prompt.Value
	if v.Question != "" { // of several on one card, the first that expires asks
		return nil
	}
	v.Choices = []string{core.ChoiceAgain, core.ChoiceClose}
	v.Question = "nobody answered " + string(a.Ref) + " in time; ask again?"
	b.Update(state.PromptKey(v.ID), p.Prompt.Version, *v)
	b.Say(p.Session.Value, *v, core.Event{Type: core.EventQuestion, Text: v.Question, Choices: v.Choices}, true)
	return nil
}

// waiters lets blocked prompts go on whose paths are free.
func (s *Scheduler) waiters(ctx context.Context) {
	if err := s.Waiters(ctx); err != nil && ctx.Err() == nil {
		s.log.Warn("cannot see whether blocked prompts can go on; trying again", "error", err)
	}
}

// keepDead is how long the name of a dead replica is kept.
const keepDead = 24 * time.Hour

// collect removes what has been kept long enough: closed sessions and dead replicas' names.
func (s *Scheduler) collect(ctx context.Context) {
	for more := true; more && ctx.Err() == nil; {
		page, err := s.store.Scan(ctx, state.GC, store.Range{Limit: 64, Due: true})
		if err != nil {
			return
		}
		more = len(page.Entries) == 64
		for _, e := range page.Entries {
			if err := s.forget(ctx, core.SessionID(e.Member)); err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrConflict) {
				s.log.Warn("cannot remove a closed session; trying again", "session", e.Member, "error", err)
				more = false
			}
		}
	}
	dead, err := s.store.Scan(ctx, state.Replicas, store.Range{Limit: 64})
	if err != nil {
		return
	}
	var b state.Batch
	for _, e := range dead.Entries {
		if dead.Time.Sub(time.UnixMilli(int64(e.Score))) > keepDead {
			b.RemoveFrom(state.Replicas, e.Member)
		}
	}
	if len(b.Batch.Remove) > 0 {
		if _, err := b.Commit(ctx, s.store); err != nil && ctx.Err() == nil {
			s.log.Warn("cannot forget dead replicas; trying again", "error", err)
		}
	}
}

// forgetAtOnce is how many documents of a session are removed in one commit.
const forgetAtOnce = 500

// forget removes a closed session with its prompts, approvals, refs and logs. The session itself goes last, so that what was cut off is gone on with.
func (s *Scheduler) forget(ctx context.Context, id core.SessionID) error {
	sess, _, err := state.Get[core.Session](ctx, s.store, state.SessionKey(id))
	if err != nil {
		return err
	}
	v := sess.Value
	last := state.Batch{}
	last.Expect(state.SessionKey(id), sess.Version)
	last.Batch.Delete = []store.Key{state.SessionKey(id), state.SizeKey(id), state.PiecesKey(id), state.DoubtKey(id), state.SessionRules(id), state.UnservedKey(id)}
	last.Trim = []store.Trim{{Log: state.Transcript(id), Before: math.MaxInt64}, {Log: state.Lane(id), Before: math.MaxInt64}}
	for _, index := range []store.Index{state.GC, state.Sessions, state.ByPerson(v.Owner), state.ByPlace(v.Place), state.Ready} {
		last.RemoveFrom(index, string(id))
	}
	bound, _, err := state.Get[state.Binding](ctx, s.store, state.BindKey(v.Place))
	if err != nil {
		return err
	}
	if bound.Value.Session == id {
		last.Expect(state.BindKey(v.Place), bound.Version)
		last.Batch.Delete = append(last.Batch.Delete, state.BindKey(v.Place))
	}
	for {
		page, err := s.store.Scan(ctx, state.Belongs(id), store.Range{Limit: forgetAtOnce})
		if err != nil {
			return err
		}
		var b state.Batch
		for _, e := range page.Entries {
			b.RemoveFrom(state.Belongs(id), e.Member)
			if key := store.Key(e.Member); key != state.SessionKey(id) {
				b.Batch.Delete = append(b.Batch.Delete, key)
			}
		}
		if len(page.Entries) == 0 {
			_, err := last.Commit(ctx, s.store)
			return err
		}
		if _, err := b.Commit(ctx, s.store); err != nil {
			return err
		}
	}
}

// seal closes what has come into the audit log, and removes what is too old to be kept.
func (s *Scheduler) seal(ctx context.Context) {
	err := audit.Seal(ctx, s.store)
	if err == nil {
		err = audit.Expire(ctx, s.store)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrConflict) {
		s.log.Warn("cannot seal the audit log; trying again", "error", err)
	}
}
