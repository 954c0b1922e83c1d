package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paragents/core"
	"paragents/core/audit"
	"paragents/core/moves"
	"paragents/core/state"
	"paragents/store"
)

// Outcome is what a run came to. The scheduler writes it down in one commit with everything that follows from it.
type Outcome struct {
	// State is Done, Failed, Waiting, Blocked, or Queued (parked at a boundary). When the run's context was ended from outside, the reason decides
	// instead.
	State   core.PromptState
	Records []core.Record // to append in the same commit
	Answer  string        // for people
	Error   string        // why it failed, for people
	// Asks are approvals to wait for; Question, a question with choices. With either, State is Waiting.
	Asks     []core.Approval
	Keep     []core.ApprovalID // approvals of the same answer that were decided before, and still count
	Question string
	Choices  []string
	Conflict *core.Conflict // with State Blocked: what it would write, and who holds it
	Turns    int
	Usage    core.Usage  // of this run alone
	Files    []string    // changed by this prompt
	copies   []core.Copy // of Asks
}

// result is what people hear of it.
func (o Outcome) result() moves.Result {
	return moves.Result{Answer: o.Answer, Error: o.Error, Files: o.Files}
}

// settle writes a run's outcome down. It is decided again when others change the documents meanwhile, and tried again while the store is
// away; the fence and the lease say when it is too late.
func (s *Scheduler) settle(ctx context.Context, r *Run, out Outcome) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, errLost) || !r.Alive() {
		return errLost
	}
	// The run's context may be over; what it did must be written down all the same.
	ctx = context.WithoutCancel(ctx)
	write := func() error { return s.settleOnce(ctx, r, out, cause) }
	err := r.insist(ctx, write)
	if errors.Is(err, store.ErrTooLarge) {
		s.log.Error("the outcome is too large for the store", "session", r.Session.Ref, "prompt", r.Prompt.Ref, "error", err)
		out = Outcome{State: core.Failed, Error: "what came of it is too large to be kept; ask for less at a time", Turns: out.Turns, Usage: out.Usage}
		err = r.insist(ctx, write)
	}
	return err
}

func (s *Scheduler) settleOnce(ctx context.Context, r *Run, out Outcome, cause error) error {
	docs, err := s.store.Get(ctx, state.SessionKey(r.Session.ID), state.PromptKey(r.Prompt.ID))
	if err != nil {
		return err
	}
	s.clock.Observe(docs.Time)
	sess, err := state.Decode[core.Session](state.SessionKey(r.Session.ID), docs.Docs[0])
	if err != nil {
		return err
	}
	p, err := state.Decode[core.Prompt](state.PromptKey(r.Prompt.ID), docs.Docs[1])
	if err != nil {
		return err
	}
	if p.Value.State != core.Running { // an earlier try was applied, though its answer was lost: nobody else may move it
		return nil
	}
	if len(out.Asks) > 0 {
		if out.copies, err = s.cfg.Copies(ctx, p.Value); err != nil {
			return err
		}
	}
	b := r.batch()
	b.Records(sess.Value.ID, out.Records...)
	p.Value.Turns += out.Turns
	p.Value.Usage = p.Value.Usage.Add(out.Usage)
	if len(out.Records) > 0 {
		p.Value.Takeovers = 0
	}
	if err := s.conclude(b, &sess, &p.Value, out, cause); err != nil {
		return err
	}
	p.Value.Since = s.clock.Now()
	b.Update(state.PromptKey(p.Value.ID), p.Version, p.Value)
	return r.commit(ctx, b)
}

// conclude moves the prompt to where the outcome, or an order given meanwhile, takes it. What has ended by itself stays ended: an order that came
// too late changes nothing.
func (s *Scheduler) conclude(b *moves.Batch, sess *state.Doc[core.Session], p *core.Prompt, out Outcome, cause error) error {
	order := p.Order
	p.Order = core.OrderNone
	switch {
	case out.State == core.Done || out.State == core.Failed:
		return b.End(sess, p, out.State, out.result())
	case order == core.OrderCancel || errors.Is(cause, errCancel):
		out.Error = moves.By("stopped", p.OrderBy)
		return b.End(sess, p, core.Cancelled, out.result())
	case order == core.OrderPause:
		p.Pending = nil
		return p.To(core.Paused, moves.By("paused", p.OrderBy))
	case out.State == core.Waiting && p.Unattended:
		out.Error = "nobody can be asked here: " + out.Question
		return b.End(sess, p, core.Failed, out.result())
	case out.State == core.Waiting && p.Unreachable != "" && len(out.Asks) > 0: // noted while it ran: the next run refuses what it asks
		return p.To(core.Queued, "")
	case out.State == core.Waiting && p.Unreachable != "":
		out.Error = moves.Unasked(out.Question, p.Unreachable)
		return b.End(sess, p, core.Failed, out.result())
	case out.State == core.Waiting:
		return s.ask(b, sess.Value, p, out)
	case out.State == core.Blocked && (p.Unattended || p.Unreachable != "") && s.cfg.Conflicts(sess.Value.Workspace) != core.WaitConflicts:
		b.Say(sess.Value, *p, moves.ConflictEvent(core.ConflictOpen, *out.Conflict, ""), false)
		out.Error = "nobody can be asked here: it " + out.Conflict.String()
		return b.End(sess, p, core.Failed, out.result())
	case out.State == core.Blocked:
		return b.Block(sess.Value, p, *out.Conflict, s.cfg.Conflicts(sess.Value.Workspace))
	case errors.Is(cause, errFrozen):
		return p.To(core.Queued, "frozen")
	case out.State == core.Queued || errors.Is(cause, errShutdown):
		return p.To(core.Queued, "")
	}
	out.Error = fmt.Sprintf("the agent came back with %q, which is a fault of the program; retry, and report it", out.State)
	return b.End(sess, p, core.Failed, out.result())
}

// ask parks the prompt until people have answered: approvals on one card, or a question.
func (s *Scheduler) ask(b *moves.Batch, sess core.Session, p *core.Prompt, out Outcome) error {
	reason := out.Question
	if len(out.Asks) > 0 {
		reason = "waits for approval"
	}
	if err := p.To(core.Waiting, reason); err != nil {
		return err
	}
	now := s.clock.Now()
	p.Pending, p.Question, p.Choices = out.Keep, out.Question, out.Choices
	e := core.Event{Type: core.EventQuestion, Text: out.Question, Choices: out.Choices}
	if len(out.Asks) > 0 {
		e = core.Event{Type: core.EventApproval, State: string(core.Pending)}
	}
	group := make([]core.ApprovalID, len(out.Asks))
	for i := range group {
		group[i] = core.NewID[core.ApprovalID](now)
	}
	for i, a := range out.Asks {
		a.ID, a.Ref, a.Group, a.Copies = group[i], core.NewRef(), group, out.copies
		a.Session, a.Prompt, a.Author, a.Place, a.Trace = sess.ID, p.ID, p.Author, p.Place, p.Trace
		a.SessionRef, a.PromptRef, a.Title = sess.Ref, p.Ref, sess.Title
		a.State, a.Created, a.Expires, a.Number, a.Of = core.Pending, now, now.Add(s.cfg.Expire), i+1, len(out.Asks)
		b.Expect(state.ApprovalKey(a.ID), 0)
		b.Put(state.ApprovalKey(a.ID), a, 0)
		b.Name(a.Ref, state.Named{Kind: state.NamedApproval, ID: string(a.ID), Session: sess.ID})
		b.InsertNow(state.Pending, string(a.ID), 0)
		b.InsertNow(state.Due, state.DueExpire+string(a.ID), s.cfg.Expire)
		if s.cfg.Remind > 0 {
			b.InsertNow(state.Due, state.DueRemind+string(a.ID), s.cfg.Remind)
		}
		b.Append(state.Audit, audit.Entry{Time: now, What: "asked", Session: sess.Ref, Prompt: p.Ref, Request: a.Ref, Who: a.Author, Tool: a.Action.Tool,
			Show: a.Action.Show, Digest: a.Digest, Rule: a.Rule, Trace: p.Trace})
		p.Pending = append(p.Pending, a.ID)
		e.Approvals = append(e.Approvals, a.ID)
		if i == 0 {
			e.Request, e.Tool, e.Input, e.Rule, e.Show = a.Ref, a.Action.Tool, a.Action.Input, a.Rule, a.Action.Show
		}
	}
	b.SayAll(moves.Letter(now, sess, *p, e, true), out.copies)
	return nil
}

// drain sends what lies in the lane. Its errors are the lane's own: the letters stay and are tried again.
func (s *Scheduler) drain(ctx context.Context, r *Run) (finish func(*state.Batch), again time.Duration) {
	finish, again, err := s.cfg.Courier.Drain(ctx, r.Session.ID, r.fence, r.Alive)
	if err != nil {
		again = max(again, time.Second) // also when the context is over: nobody else knows of them
		if ctx.Err() == nil {
			s.log.Warn("cannot send the session's letters; trying again", "session", r.Session.Ref, "error", err)
		}
	}
	return finish, again
}

// drainLast sends what a run left in the lane, when its own context may be over: people hear of a cancel as well. The lease still bounds it.
func (s *Scheduler) drainLast(r *Run) (finish func(*state.Batch), again time.Duration, err error) {
	if !r.Alive() {
		return nil, 0, errLost
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.h.ctx), 2*s.cfg.Lease)
	defer cancel()
	stop := context.AfterFunc(r.h.ctx, func() {
		if errors.Is(context.Cause(r.h.ctx), errLost) {
			cancel()
		}
	})
	defer stop()
	finish, again = s.drain(ctx, r)
	return finish, again, nil
}

// release gives the session back: its claim ends, and if there is more to do it goes to the tail of what is ready. Where nobody has been ready for longer, this replica
// goes on with the next prompt instead, in the same commit: its run is returned.
func (s *Scheduler) release(r *Run, finish func(*state.Batch), again time.Duration) (next *Run, err error) {
	ctx := context.WithoutCancel(r.h.ctx)
	err = r.insist(ctx, func() error {
		next = nil
		r.h.set(r)
		sess, _, err := state.Get[core.Session](ctx, s.store, state.SessionKey(r.Session.ID))
		if err != nil {
			return err
		}
		var p state.Doc[core.Prompt]
		if len(sess.Value.Queue) > 0 {
			if p, _, err = state.Get[core.Prompt](ctx, s.store, state.PromptKey(sess.Value.Queue[0])); err != nil {
				return err
			}
		}
		if p.Value.State == core.Running { // an earlier try was applied, though its answer was lost: it is taken over
			return errLost
		}
		b := moves.On(&s.clock)
		b.Fence = &r.fence
		b.Expect(state.SessionKey(r.Session.ID), sess.Version)
		if finish != nil {
			finish(&b.Batch)
		}
		if again == 0 && r.next(sess.Value, p) {
			b.Durable = true
			next = &Run{s: s, h: r.h, replica: r.replica, fence: r.fence, Session: sess.Value}
			if err := next.start(b, p.Value); err != nil {
				return err
			}
			b.Update(state.PromptKey(p.Value.ID), p.Version, next.Prompt)
			b.RemoveFrom(state.Ready, string(r.Session.ID))
			r.h.set(next)
			return r.commit(ctx, b)
		}
		if p.Exists() { // a decision that makes it ready at once must not be put off
			b.Expect(state.PromptKey(p.Value.ID), p.Version)
		}
		b.Delete = append(b.Delete, state.ClaimKey(r.Session.ID))
		b.RemoveFrom(state.Running, string(r.Session.ID))
		b.RemoveFrom(state.ByWorkspace(r.Session.Workspace), string(r.Session.ID))
		if r.Prompt.ID != "" {
			b.RemoveFrom(state.ByAuthor(r.Prompt.Author), string(r.Session.ID))
		}
		switch {
		case runnable(sess.Value, p) && r.back && again > 0: // nobody looks for it more often than that while it is held back
			b.InsertNow(state.Ready, string(r.Session.ID), min(again, time.Second))
		case runnable(sess.Value, p):
			b.Ready(r.Session.ID)
		case again > 0:
			b.InsertNow(state.Ready, string(r.Session.ID), again)
		}
		return r.commit(ctx, b)
	})
	return next, err
}

// next reports whether the holder of a session may go on with its next prompt: the claim and the quotas are for the author of the last one, and who has been ready for longer comes first.
func (r *Run) next(sess core.Session, p state.Doc[core.Prompt]) bool {
	s := r.s
	return runnable(sess, p) && p.Value.Author == r.Prompt.Author && p.Value.Takeovers == 0 && r.Boundary(r.h.ctx) == nil &&
		!s.missed.Load() && !s.frozen(sess.Workspace, p.Value.Author) && len(s.limits(sess, p.Value)) == 0 && s.cfg.Serves(sess.Workspace)
}
