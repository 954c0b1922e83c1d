package orders

import (
	"context"
	"fmt"
	"slices"

	"paragents/core"
	"paragents/core/moves"
	"paragents/core/reader"
	"paragents/core/state"
	"paragents/store"
)

// Cancel ends a prompt. One that a replica is running gets an order and ends when everything it started has ended; the order cannot be lost. The
// approvals that it waits for are withdrawn in the same commit, so that a press that comes later changes nothing.
func (o *Orders) Cancel(ctx context.Context, id core.PromptID, who core.Person) (core.Prompt, error) {
	return o.change(ctx, id, "cancel", who, func(b *moves.Batch, p *reader.Pair) error { return o.cancel(ctx, b, p, who) })
}

func (o *Orders) cancel(ctx context.Context, b *moves.Batch, p *reader.Pair, who core.Person) error {
	v := &p.Prompt.Value
	if v.State.Ended() {
		return fmt.Errorf("%w: prompt %s is %s already", core.ErrRefused, v.Ref, v.State.Word())
	}
	if v.State == core.Running {
		o.order(b, v, core.OrderCancel, who)
		return nil
	}
	if err := o.withdraw(ctx, b, *v, who, ""); err != nil {
		return err
	}
	return b.End(&p.Session, v, core.Cancelled, moves.Result{Error: moves.By("stopped", who)})
}

// cancelAll cancels those of a session's unfinished prompts that are meant, the last first, changes the session with them, and returns how many they are. The caller
// writes the session.
func (o *Orders) cancelAll(ctx context.Context, b *moves.Batch, v *core.Session, who core.Person, meant func(core.Prompt) bool) (n int, err error) {
	keys := make([]store.Key, len(v.Queue))
	for i, id := range v.Queue {
		keys[i] = state.PromptKey(id)
	}
	docs, _, err := state.GetAll[core.Prompt](ctx, o.store, keys)
	if err != nil {
		return 0, err
	}
	for i, p := range slices.Backward(docs) {
		if !meant(p.Value) {
			continue
		}
		n++
		if p.Value.State == core.Running {
			o.order(b, &p.Value, core.OrderCancel, who)
		} else {
			if err := o.withdraw(ctx, b, p.Value, who, ""); err != nil {
				return n, err
			}
			if err := b.Leave(v, &p.Value, core.Cancelled, moves.Result{Error: moves.By("stopped", who)}); err != nil {
				return n, err
			}
		}
		b.Update(keys[i], p.Version, p.Value)
	}
	return n, nil
}

func everyPrompt(core.Prompt) bool { return true }

// withdraw ends the approvals that a prompt waits for.
func (o *Orders) withdraw(ctx context.Context, b *moves.Batch, p core.Prompt, who core.Person, why string) error {
	keys := make([]store.Key, len(p.Pending))
	for i, id := range p.Pending {
		keys[i] = state.ApprovalKey(id)
	}
	docs, _, err := state.GetAll[core.Approval](ctx, o.store, keys)
	if err != nil {
		return err
	}
	for i, d := range docs {
		if d.Value.State == core.Pending {
			if err := b.Decide(keys[i], d, core.Withdrawn, who, why); err != nil {
				return err
			}
		}
	}
	return nil
}

// Stop cancels a session's first unfinished prompt, and holds those behind it until a person says what is to become of them. It
// returns the prompt and how many are held.
func (o *Orders) Stop(ctx context.Context, id core.SessionID, who core.Person) (core.Prompt, int, error) {
	sess, _, err := state.Get[core.Session](ctx, o.store, state.SessionKey(id))
	if err != nil {
		return core.Prompt{}, 0, err
	}
	if !sess.Exists() {
		return core.Prompt{}, 0, fmt.Errorf("session: %w", core.ErrNotFound)
	}
	if len(sess.Value.Queue) == 0 {
		return core.Prompt{}, 0, fmt.Errorf("%w: nothing is going on in session %s", core.ErrRefused, sess.Value.Ref)
	}
	held := 0
	p, err := o.change(ctx, sess.Value.Queue[0], "stop", who, func(b *moves.Batch, p *reader.Pair) error {
		v := &p.Session.Value
		held = len(v.Queue) - 1
		v.Held = held > 0
		running := p.Prompt.Value.State == core.Running
		if err := o.cancel(ctx, b, p, who); err != nil {
			return err
		}
		if running { // otherwise end has written the session
			b.Update(state.SessionKey(v.ID), p.Session.Version, *v)
		}
		return nil
	})
	return p, held, err
}

// Release lets the prompts run that a stop held; with drop it cancels them instead. It returns how many there were.
func (o *Orders) Release(ctx context.Context, id core.SessionID, who core.Person, drop bool) (int, error) {
	held := 0
	err := o.session(ctx, id, "release", who, func(b *moves.Batch, v *core.Session) error {
		if !v.Held {
			return fmt.Errorf("%w: session %s holds nothing back", core.ErrRefused, v.Ref)
		}
		held = len(v.Queue)
		v.Held = false
		b.Ready(id)
		if drop {
			_, err := o.cancelAll(ctx, b, v, who, everyPrompt)
			return err
		}
		return nil
	})
	return held, err
}

// Withdraw cancels a prompt that waits for an approval, and only one that does: the approval is withdrawn, and what it holds is free.
func (o *Orders) Withdraw(ctx context.Context, id core.PromptID, who core.Person) (core.Prompt, error) {
	return o.change(ctx, id, "withdraw", who, func(b *moves.Batch, p *reader.Pair) error {
		if v := p.Prompt.Value; v.State != core.Waiting || len(v.Pending) == 0 {
			return fmt.Errorf("%w: prompt %s is %s; only a question that is open can be withdrawn", core.ErrRefused, v.Ref, v.State.Word())
		}
		return o.cancel(ctx, b, p, who)
	})
}
