package scheduler

import (
	"cmp"
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

// Run is this replica's execution of a prompt: what the agent may do with the store. All its writes are fenced by the claim.
type Run struct {
	Session core.Session // as it was when claimed
	Prompt  core.Prompt  // as it was when claimed

	s       *Scheduler
	h       *holding
	replica core.ReplicaID
	fence   store.Fence
	first   *core.Record // the prompt's own record, if this run wrote it
	virgin  bool         // there is nothing else in the transcript
	back    bool         // the session's prompt is held back, and this is for its letters
}

// ErrParked asks the agent to stop at this boundary, with the outcome Queued: the replica is shutting down, or a person paused the prompt.
var ErrParked = errors.New("parked")

// Asking is the context for a model call: it ends with ctx, and with ErrParked when the prompt is paused, because a question to the model can be asked
// again. The caller calls done.
func (r *Run) Asking(ctx context.Context) (asking context.Context, done func()) {
	asking, cancel := context.WithCancelCause(ctx)
	over := make(chan struct{})
	go func() {
		select {
		case <-r.h.paused:
			cancel(ErrParked)
		case <-over:
		}
	}()
	return asking, func() { close(over); cancel(nil) }
}

// Boundary is called before each model call and each tool call: nil means go on.
func (r *Run) Boundary(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !r.Alive() {
		return errLost
	}
	select {
	case <-r.h.park:
		return ErrParked
	default:
		return nil
	}
}

// Alive reports whether the lease still stands by this process's own clock. Without it nothing is started and nothing is sent.
func (r *Run) Alive() bool { return r.s.Alive(r.replica) }

// Now is the store's time.
func (r *Run) Now() time.Time { return r.s.clock.Now() }

// Transcript reads all records of the session, oldest first, waiting for a store that is away. Nobody may change them.
func (r *Run) Transcript(ctx context.Context) (out []core.Record, err error) {
	if r.virgin {
		return []core.Record{*r.first}, nil
	}
	err = r.insist(ctx, func() error {
		out, err = r.s.memory.Transcript(ctx, r.Session.ID)
		return err
	})
	return out, err
}

// Approvals reads the approvals that the prompt has been waiting for.
func (r *Run) Approvals(ctx context.Context) ([]core.Approval, error) {
	keys := make([]store.Key, len(r.Prompt.Pending))
	for i, id := range r.Prompt.Pending {
		keys[i] = state.ApprovalKey(id)
	}
	var docs []state.Doc[core.Approval]
	err := r.insist(ctx, func() (err error) {
		docs, _, err = state.GetAll[core.Approval](ctx, r.s.store, keys)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read approvals of prompt %s: %w", r.Prompt.Ref, err)
	}
	out := make([]core.Approval, 0, len(docs))
	for _, d := range docs {
		if d.Exists() {
			out = append(out, d.Value)
		}
	}
	return out, nil
}

// Append writes records to the transcript. Letters written with them are in the lane in the same commit, and sent when the run gives way.
func (r *Run) Append(ctx context.Context, records []core.Record, letters ...core.Event) error {
	b := r.batch()
	b.Records(r.Session.ID, records...)
	for _, e := range letters {
		b.Say(r.Session, r.Prompt, e, e.Type == core.EventUncertain)
	}
	return r.commit(ctx, b)
}

// Begin records the intent of a call. When it returns nil the call must be started at once, and never again: an intent without a result is an unknown outcome.
// The approval that allows the call, if any, is used up in the same commit; one that was used before, or is not approved, refuses it. What the intent claims is
// reserved in the same commit too; a *core.Collision says that others hold it, and nothing was recorded but that. rule is the one that let the call through, for the audit log.
func (r *Run) Begin(ctx context.Context, intent core.Record, approval core.ApprovalID, rule string) error {
	err := r.insist(ctx, func() error { return r.begin(ctx, intent, approval, rule) })
	if err == nil && !r.Alive() { // the commit took longer than the lease
		return errLost
	}
	return err
}

func (r *Run) begin(ctx context.Context, intent core.Record, approval core.ApprovalID, rule string) error {
	b := r.batch()
	if hit, err := r.s.books.Reserve(ctx, b, r.Session, r.Prompt, intent.Claims); err != nil {
		return err
	} else if hit != nil {
		return cmp.Or(r.commit(ctx, b), error(hit))
	}
	e := audit.Entry{Time: r.Now(), What: "started", Session: r.Session.Ref, Prompt: r.Prompt.Ref, Who: r.Prompt.Author, Tool: intent.Tool, Show: intent.Show,
		Digest: intent.Digest, Rule: rule, Checks: intent.Checks, Space: r.Session.Workspace, Trace: r.Prompt.Trace}
	if approval != "" {
		key := state.ApprovalKey(approval)
		a, _, err := state.Get[core.Approval](ctx, r.s.store, key)
		if err != nil {
			return fmt.Errorf("read approval of call %s: %w", intent.Call, err)
		}
		if a.Value.State != core.Approved || !a.Value.Used.IsZero() || a.Value.Digest != intent.Digest {
			return fmt.Errorf("%w: approval %s does not cover this call", core.ErrRefused, a.Value.Ref)
		}
		a.Value.Used = e.Time
		b.Update(key, a.Version, a.Value)
		e.Request, e.Who, e.Show = a.Value.Ref, a.Value.By, a.Value.Action.Show
	}
	b.Append(state.Audit, e)
	b.Records(r.Session.ID, intent)
	return r.commit(ctx, b)
}

// Audit records something that needs no other write: a call that a rule refused.
func (r *Run) Audit(ctx context.Context, e audit.Entry) error {
	b := moves.On(&r.s.clock)
	b.Fence = &r.fence
	e.Session, e.Prompt, e.Trace, e.Time, e.Space = r.Session.Ref, r.Prompt.Ref, r.Prompt.Trace, r.Now(), r.Session.Workspace
	b.Append(state.Audit, e)
	return r.commit(ctx, b)
}

// Emit tells people what goes on. It is lossy and never blocks.
func (r *Run) Emit(e core.Event) { r.s.cfg.Progress(r.letter(e, false)) }

// Steered takes the messages that were given to the running prompt since the last call, and writes them to the transcript.
func (r *Run) Steered(ctx context.Context) ([]core.Record, error) {
	var out []core.Record
	if !r.h.setSteered(false) {
		return nil, nil
	}
	err := r.insist(ctx, func() error {
		out = nil
		p, _, err := state.Get[core.Prompt](ctx, r.s.store, state.PromptKey(r.Prompt.ID))
		if err != nil || len(p.Value.Steer) == 0 {
			return err
		}
		for _, text := range p.Value.Steer {
			out = append(out, core.Record{Kind: core.RecordUser, Prompt: p.Value.ID, Time: r.Now(), Person: p.Value.Author, Text: text})
		}
		p.Value.Steer = nil
		b := r.batch()
		b.Update(state.PromptKey(p.Value.ID), p.Version, p.Value)
		b.Records(r.Session.ID, out...)
		return r.commit(ctx, b)
	})
	return out, err
}

// batch begins a batch that is applied only as long as the session is this replica's.
func (r *Run) batch() *moves.Batch {
	b := moves.Durable(&r.s.clock)
	b.Fence = &r.fence
	return b
}

// commit applies a fenced batch. While the store is away it tries again, under the same batch ID, as long as the run has a right to go on.
func (r *Run) commit(ctx context.Context, b *moves.Batch) error {
	if b.ID == "" {
		b.ID = core.NewID[string](r.Now())
	}
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		if !r.Alive() {
			return errLost
		}
		res, err := b.Commit(ctx, r.s.store)
		r.s.clock.Observe(res.Time)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, store.ErrFenced):
			r.h.stop(errLost)
			return err
		case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrTooLarge), errors.Is(err, store.ErrClosed):
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
			r.s.log.Warn("cannot write; trying again", "session", r.Session.Ref, "error", err)
		}
	}
}

// insist decides and commits again until it succeeds or the run has no right to go on.
func (r *Run) insist(ctx context.Context, op func() error) error {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		if !r.Alive() {
			return errLost
		}
		err := op()
		switch {
		case err == nil:
			return nil
		case errors.Is(err, store.ErrConflict):
			wait = 50 * time.Millisecond
			continue
		case errors.Is(err, store.ErrFenced), errors.Is(err, store.ErrTooLarge), errors.Is(err, store.ErrClosed), errors.Is(err, core.ErrRefused),
			errors.Is(err, state.ErrNewer), errors.Is(err, errLost):
			return err
		}
		r.s.log.Warn("cannot reach the store; trying again", "session", r.Session.Ref, "error", err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// letter addresses an event to the place of the prompt.
func (r *Run) letter(e core.Event, loud bool) core.Letter {
	return moves.Letter(r.s.clock.Now(), r.Session, r.Prompt, e, loud)
}

// Isolate writes down how far the worktree of the run's session is made.
func (r *Run) Isolate(ctx context.Context, w core.Worktree) error {
	return r.insist(ctx, func() error {
		sess, _, err := state.Get[core.Session](ctx, r.s.store, state.SessionKey(r.Session.ID))
		if err != nil {
			return err
		}
		sess.Value.Worktree = &w
		b := r.batch()
		b.Update(state.SessionKey(r.Session.ID), sess.Version, sess.Value)
		if err := r.commit(ctx, b); err != nil {
			return err
		}
		r.Session.Worktree = &w
		return nil
	})
}
