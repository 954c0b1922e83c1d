package scheduler

import (
	"context"
	"fmt"
	"strings"
	"time"

	"paragents/core"
	"paragents/core/state"
	"paragents/store"
)

// Decision is a person's answer to an approval. Whether the person may give it is for the caller to know.
type Decision struct {
	State  core.ApprovalState // Approved or Denied
	Scope  core.Scope         // of an approval: Once, ForSession, Always
	Wide   bool               // store Wider of the approval, not Offers
	By     core.Person
	Reason string
}

// Decide answers an approval, once: the first answer wins, and everybody else gets ErrDecided with who and when. What follows from it (the prompt goes
// on, rules are stored, people are told) is in the same commit.
func (s *Scheduler) Decide(ctx context.Context, id core.ApprovalID, d Decision) (core.Approval, error) {
	var out core.Approval
	if d.State != core.Approved && d.State != core.Denied {
		return out, fmt.Errorf("%w: a person approves or denies; nobody makes an approval %s", core.ErrRefused, d.State)
	}
	err := s.retry(ctx, "decide approval", func() error {
		key := state.ApprovalKey(id)
		a, now, err := state.Get[core.Approval](ctx, s.store, key)
		if err != nil {
			return err
		}
		if !a.Exists() {
			return fmt.Errorf("approval: %w", core.ErrNotFound)
		}
		s.clock.Observe(now)
		if a.Value.State != core.Pending {
			out = a.Value
			return a.Value.To(d.State, d.By, d.Reason, now)
		}
		b := &state.Batch{}
		b.Durable = true
		a.Value.Scope = d.Scope
		if d.State == core.Approved && d.Scope != core.Once {
			if err := s.storeRules(ctx, b, a.Value, d); err != nil {
				return err
			}
		}
		if err := s.decide(b, key, a, d.State, d.By, d.Reason); err != nil {
			return err
		}
		if err := s.goOn(ctx, b, a.Value.Prompt, a.Value.ID); err != nil {
			return err
		}
		if out, err = after(a.Value, d, now); err != nil {
			return err
		}
		_, err = b.Commit(ctx, s.store)
		return err
	})
	return out, err
}

// after is the approval as it stands when the decision was committed.
func after(a core.Approval, d Decision, now time.Time) (core.Approval, error) {
	err := a.To(d.State, d.By, d.Reason, now)
	return a, err
}

// decide moves an approval out of pending, and tells the place and the audit log.
func (s *Scheduler) decide(b *state.Batch, key store.Key, a state.Doc[core.Approval], to core.ApprovalState, who core.Person, reason string) error {
	v, now := a.Value, s.clock.Now()
	if err := v.To(to, who, reason, now); err != nil {
		return err
	}
	b.Update(key, a.Version, v)
	b.RemoveFrom(state.Pending, string(v.ID))
	b.RemoveFrom(state.Due, dueExpire+string(v.ID))
	b.RemoveFrom(state.Due, dueRemind+string(v.ID))
	sendAll(b, core.Letter{SessionID: v.Session, PromptID: v.Prompt, Place: v.Place, Asker: v.Author,
		Event: core.Event{Type: core.EventApproval, Time: now, Session: v.SessionRef, Prompt: v.PromptRef, Title: v.Title, Request: v.Ref, Tool: v.Action.Tool, Show: v.Action.Show, State: string(to), By: who,
			Approvals: []core.ApprovalID{v.ID}, Trace: v.Trace}}, v.Copies)
	s.ready(b, v.Session)
	b.Append(state.Audit, Entry{Time: now, What: "decided", Session: v.SessionRef, Prompt: v.PromptRef, Request: v.Ref, Who: who, Tool: v.Action.Tool, Show: v.Action.Show, Digest: v.Digest,
		Rule: v.Rule, Outcome: strings.TrimSpace(string(to) + " " + string(v.Scope)), Why: reason, Trace: v.Trace})
	return nil
}

// goOn queues the prompt again when the approval that is being decided was the last one it waited for.
func (s *Scheduler) goOn(ctx context.Context, b *state.Batch, prompt core.PromptID, deciding core.ApprovalID) error {
	p, _, err := state.Get[core.Prompt](ctx, s.store, state.PromptKey(prompt))
	if err != nil || p.Value.State != core.Waiting {
		return err
	}
	keys := make([]store.Key, 0, len(p.Value.Pending))
	for _, id := range p.Value.Pending {
		if id != deciding {
			keys = append(keys, state.ApprovalKey(id))
		}
	}
	others, _, err := state.GetAll[core.Approval](ctx, s.store, keys)
	if err != nil {
		return err
	}
	// The prompt's version is expected even when it stays as it is: of two that decide the last two at once, one must see the other.
	defer func() { b.Update(state.PromptKey(prompt), p.Version, p.Value) }()
	for _, o := range others {
		if o.Value.State == core.Pending {
			return nil
		}
	}
	p.Value.Question, p.Value.Choices = "", nil
	return p.Value.To(core.Queued, "")
}
