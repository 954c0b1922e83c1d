package scheduler

import (
	"context"
	"errors"
	"fmt"

	"paragents/core"
	"paragents/core/audit"
	"paragents/core/moves"
	"paragents/core/replica"
	"paragents/core/state"
	"paragents/store"
)

// maxTakeovers is how often a prompt may be taken over without its transcript having grown.
const maxTakeovers = 3

// recover takes over the sessions whose replica is dead, and those that this one has a claim on but does not work at, because the answer to its claim was lost or it
// could not give the session back: it ends the claims, and running prompts are queued again. Any number of replicas may do it at once; versions see to it that one succeeds.
func (s *Scheduler) recover(ctx context.Context) {
	var after *store.Entry
	for ctx.Err() == nil {
		page, err := s.store.Scan(ctx, state.Running, store.Range{After: after, Limit: 256})
		if err != nil {
			if ctx.Err() == nil {
				s.log.Warn("cannot look for dead replicas' sessions; trying again", "error", err)
			}
			return
		}
		s.clock.Observe(page.Time)
		if err := s.recoverPage(ctx, page.Entries); err != nil && ctx.Err() == nil {
			s.log.Warn("cannot take over; trying again", "error", err)
		}
		if len(page.Entries) < 256 {
			return
		}
		after = &page.Entries[len(page.Entries)-1]
	}
}

func (s *Scheduler) recoverPage(ctx context.Context, entries []store.Entry) error {
	claims := make([]store.Key, len(entries))
	for i, e := range entries {
		claims[i] = state.ClaimKey(core.SessionID(e.Member))
	}
	docs, _, err := state.GetAll[state.Claim](ctx, s.store, claims)
	if err != nil {
		return err
	}
	beats := make([]store.Key, len(docs))
	for i, d := range docs {
		beats[i] = state.ReplicaKey(d.Value.Replica)
	}
	alive, _, err := state.GetAll[replica.Heartbeat](ctx, s.store, beats)
	if err != nil {
		return err
	}
	me := s.ID()
	var errs error
	for i, claim := range docs {
		id := core.SessionID(entries[i].Member)
		// Asked after the claims were read: what is held by now may have been claimed before, and what is not is nobody's work.
		if s.holds(id) || claim.Exists() && alive[i].Exists() && claim.Value.Replica != me {
			continue
		}
		err := s.takeOver(ctx, id, claim, claim.Value.Replica == me)
		if err != nil && !errors.Is(err, store.ErrConflict) { // a conflict: somebody else has seen to it
			errs = errors.Join(errs, err)
		}
	}
	return errs
}

func (s *Scheduler) holds(id core.SessionID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, mine := s.held[id]
	return mine
}

// takeOver ends a claim of a dead replica, or one of this replica's own that nothing came of. The batch holds only as long as the replica is dead and the claim is still
// the one that was read.
func (s *Scheduler) takeOver(ctx context.Context, id core.SessionID, claim state.Doc[state.Claim], own bool) error {
	sess, _, err := state.Get[core.Session](ctx, s.store, state.SessionKey(id))
	if err != nil {
		return err
	}
	b := moves.Durable(&s.clock)
	b.Expect(state.ClaimKey(id), claim.Version)
	if claim.Exists() {
		b.Delete = append(b.Delete, state.ClaimKey(id))
		if !own {
			b.Expect(state.ReplicaKey(claim.Value.Replica), 0)
		}
	}
	b.RemoveFrom(state.Running, string(id))
	b.RemoveFrom(state.ByWorkspace(sess.Value.Workspace), string(id))
	if claim.Value.Author != "" {
		b.RemoveFrom(state.ByAuthor(claim.Value.Author), string(id))
	}
	if !sess.Exists() {
		_, err := b.Commit(ctx, s.store)
		return err
	}
	b.Ready(id)
	if err := s.doubt(ctx, b, id); err != nil {
		return err
	}
	if len(sess.Value.Queue) == 0 {
		_, err := b.Commit(ctx, s.store)
		return err
	}
	p, err := s.Load(ctx, sess.Value.Queue[0])
	if err != nil {
		return err
	}
	if v := &p.Prompt.Value; v.State == core.Running {
		size, err := s.Size(ctx, id)
		if err != nil {
			return err
		}
		if size != v.Mark {
			v.Takeovers, v.Mark = 0, size
		}
		v.Takeovers++
		switch {
		case v.Order == core.OrderCancel:
			err = b.End(&p.Session, v, core.Cancelled, moves.Result{Error: moves.By("stopped", v.OrderBy)})
		case v.Order == core.OrderPause:
			v.Order = core.OrderNone
			err = v.To(core.Paused, moves.By("paused", v.OrderBy))
		case v.Unattended:
			err = b.End(&p.Session, v, core.Failed, moves.Result{Error: "the process that asked for it is gone"})
		case v.Takeovers >= maxTakeovers:
			err = b.End(&p.Session, v, core.Failed, moves.Result{Error: fmt.Sprintf(
				"%d replicas died or hung while they worked on this, without getting any further; look at the log for trace %s, then retry", v.Takeovers, v.Trace)})
		default:
			err = v.To(core.Queued, "taken over")
		}
		if err != nil {
			return err
		}
		v.Since = s.clock.Now()
		b.Update(state.PromptKey(v.ID), p.Prompt.Version, *v)
		b.Append(state.Audit, audit.Entry{Time: v.Since, What: "taken over", Session: sess.Value.Ref, Prompt: v.Ref, Outcome: string(v.State), Trace: v.Trace,
			Why: "replica " + string(claim.Value.Replica) + " is gone"})
	}
	if _, err := b.Commit(ctx, s.store); err != nil {
		return err
	}
	s.log.Info("took over a session of a dead replica", "session", sess.Value.Ref, "replica", claim.Value.Replica)
	return nil
}

// doubt notes that the first message of the lane that is not recorded as sent may have been sent by who died.
func (s *Scheduler) doubt(ctx context.Context, b *moves.Batch, id core.SessionID) error {
	first, err := s.store.Read(ctx, state.Lane(id), 0, 1)
	if err != nil || len(first) == 0 {
		return err
	}
	b.Put(state.DoubtKey(id), state.Doubt{Position: first[0].Position}, 0)
	return nil
}
