package orders

import (
	"context"
	"fmt"
	"slices"
	"time"

	"paragents/core"
	"paragents/core/audit"
	"paragents/core/moves"
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
func (o *Orders) Decide(ctx context.Context, id core.ApprovalID, d Decision) (core.Approval, error) {
	var out core.Approval
	if d.State != core.Approved && d.State != core.Denied {
		return out, fmt.Errorf("%w: a person approves or denies; nobody makes an approval %s", core.ErrRefused, d.State)
	}
	err := state.Retry(ctx, "decide approval", func() error {
		key := state.ApprovalKey(id)
		a, now, err := state.Get[core.Approval](ctx, o.store, key)
		if err != nil {
			return err
		}
		if !a.Exists() {
			return fmt.Errorf("approval: %w", core.ErrNotFound)
		}
		o.clock.Observe(now)
		if a.Value.State != core.Pending {
			out = a.Value
			return a.Value.To(d.State, d.By, d.Reason, now)
		}
		b := moves.Durable(o.clock)
		a.Value.Scope = d.Scope
		if d.State == core.Approved && d.Scope != core.Once {
			if err := o.storeRules(ctx, b, a.Value, d); err != nil {
				return err
			}
		}
		if err := b.Decide(key, a, d.State, d.By, d.Reason); err != nil {
			return err
		}
		if err := o.goOn(ctx, b, a.Value.Prompt, a.Value.ID); err != nil {
			return err
		}
		if out, err = after(a.Value, d, now); err != nil {
			return err
		}
		_, err = b.Commit(ctx, o.store)
		return err
	})
	return out, err
}

// after is the approval as it stands when the decision was committed.
func after(a core.Approval, d Decision, now time.Time) (core.Approval, error) {
	err := a.To(d.State, d.By, d.Reason, now)
	return a, err
}

// goOn queues the prompt again when the approval that is being decided was the last one it waited for.
func (o *Orders) goOn(ctx context.Context, b *moves.Batch, prompt core.PromptID, deciding core.ApprovalID) error {
	p, _, err := state.Get[core.Prompt](ctx, o.store, state.PromptKey(prompt))
	if err != nil || p.Value.State != core.Waiting {
		return err
	}
	keys := make([]store.Key, 0, len(p.Value.Pending))
	for _, id := range p.Value.Pending {
		if id != deciding {
			keys = append(keys, state.ApprovalKey(id))
		}
	}
	others, _, err := state.GetAll[core.Approval](ctx, o.store, keys)
	if err != nil {
		return err
	}
	// The prompt's version is expected even when it stays as it is: of two that decide the last two at once, one must see the other.
	defer func() { b.Update(state.PromptKey(prompt), p.Version, p.Value) }()
	for _, other := range others {
		if other.Value.State == core.Pending {
			return nil
		}
	}
	p.Value.Question, p.Value.Choices = "", nil
	return p.Value.To(core.Queued, "")
}

// maxAskers is how many people may ask for the answer to one approval.
const maxAskers = 5

// AskFor shows an approval, with all that is on its card, to others, each alone, because who may not decide it asks them to: once for each who asks.
func (o *Orders) AskFor(ctx context.Context, id core.ApprovalID, who core.Person, others []core.Person) error {
	return state.Retry(ctx, "ask for approval", func() error {
		a, err := o.Approval(ctx, id)
		switch {
		case err != nil:
			return err
		case a.State != core.Pending:
			return a.To(core.Denied, who, "", o.clock.Now()) // says who was faster
		case slices.Contains(a.Asked, who):
			return fmt.Errorf("%w: you have asked for this already", core.ErrRefused)
		case len(a.Asked) >= maxAskers:
			return fmt.Errorf("%w: enough people have asked for this", core.ErrRefused)
		}
		keys := make([]store.Key, len(a.Group))
		for i, id := range a.Group {
			keys[i] = state.ApprovalKey(id)
		}
		card, now, err := state.GetAll[core.Approval](ctx, o.store, keys)
		if err != nil {
			return err
		}
		o.clock.Observe(now)
		card = slices.DeleteFunc(card, func(d state.Doc[core.Approval]) bool { return d.Value.State != core.Pending })
		if len(card) == 0 {
			return fmt.Errorf("%w: it was answered meanwhile", core.ErrDecided)
		}
		copies := make([]core.Copy, len(others))
		for i, p := range others {
			copies[i] = core.Copy{Place: core.Place{Platform: a.Place.Platform, Space: a.Place.Space, Private: true}, To: p}
		}
		b := moves.On(o.clock)
		for _, d := range card {
			v := d.Value
			v.Asked = append(v.Asked, who)
			for _, c := range copies {
				if !slices.ContainsFunc(v.Copies, func(old core.Copy) bool { return old.Key() == c.Key() }) {
					v.Copies = append(v.Copies, c)
				}
			}
			b.Update(state.ApprovalKey(v.ID), d.Version, v)
		}
		v := card[0].Value // of one card the first that is open stands for all
		l := core.Letter{SessionID: v.Session, PromptID: v.Prompt, Asker: v.Author, Loud: true,
			Event: core.Event{Type: core.EventReminder, Time: now, Session: v.SessionRef, Prompt: v.PromptRef, Title: v.Title, Request: v.Ref, By: who,
				Tool: v.Action.Tool, Show: v.Action.Show, Approvals: []core.ApprovalID{v.ID}, Trace: v.Trace}}
		for _, c := range copies {
			l.Place, l.Copy = c.Place, &c
			b.Append(state.Lane(v.Session), l)
		}
		b.Ready(v.Session)
		b.Append(state.Audit, audit.Entry{Time: now, What: "asked for", Session: v.SessionRef, Prompt: v.PromptRef, Request: a.Ref, Who: who, Trace: v.Trace})
		_, err = b.Commit(ctx, o.store)
		return err
	})
}
