package orders

import (
	"context"
	"fmt"
	"slices"

	"paragents/core"
	"paragents/core/moves"
	"paragents/core/reader"
	"paragents/core/state"
)

// Pause holds a prompt until Resume. Of a running one a model call is dropped, to be asked again later, a tool that runs comes to its end, and no other is started.
// What it waits for is withdrawn, to be asked again.
func (o *Orders) Pause(ctx context.Context, id core.PromptID, who core.Person) (core.Prompt, error) {
	return o.change(ctx, id, "pause", who, func(b *moves.Batch, p *reader.Pair) error {
		v := &p.Prompt.Value
		if v.State == core.Running {
			if v.Order == core.OrderCancel {
				return fmt.Errorf("%w: prompt %s is being stopped", core.ErrRefused, v.Ref)
			}
			o.order(b, v, core.OrderPause, who)
			return nil
		}
		if err := v.To(core.Paused, moves.By("paused", who)); err != nil {
			return err
		}
		return o.unask(ctx, b, v, who)
	})
}

// unask takes back what a prompt waits for.
func (o *Orders) unask(ctx context.Context, b *moves.Batch, p *core.Prompt, who core.Person) error {
	err := o.withdraw(ctx, b, *p, who, "")
	p.Pending, p.Question, p.Choices = nil, "", nil
	return err
}

// Resume lets a paused prompt go on, or one that waits with a question; "continue" at a limit allows it the same again.
func (o *Orders) Resume(ctx context.Context, id core.PromptID, who core.Person) (core.Prompt, error) {
	return o.change(ctx, id, "resume", who, func(b *moves.Batch, p *reader.Pair) error {
		v := &p.Prompt.Value
		switch {
		case v.State == core.Running && v.Order == core.OrderPause:
			v.Order = core.OrderNone
			return nil
		case v.State == core.Waiting && v.Question != "":
			if slices.Contains(v.Choices, core.ChoiceContinue) {
				v.Extra++
			}
			if err := o.unask(ctx, b, v, who); err != nil {
				return err
			}
		case v.State != core.Paused:
			return fmt.Errorf("%w: prompt %s is %s; only a paused one, or one that asks whether to continue, can be resumed", core.ErrRefused, v.Ref, v.State.Word())
		}
		if err := v.To(core.Queued, ""); err != nil {
			return err
		}
		b.Ready(v.Session)
		return nil
	})
}

// Steer gives an unfinished prompt a message that the model reads before its next turn. One that comes too late for that becomes a prompt of its own,
// which runs next.
func (o *Orders) Steer(ctx context.Context, id core.PromptID, who core.Person, text string) (core.Prompt, error) {
	return o.SteerOnce(ctx, id, who, text, "")
}

// MaxText is the longest prompt, in bytes: what is accepted fits into the store with all that belongs to it.
const MaxText = 256 << 10

// SteerOnce is Steer for an inbound event, which is remembered in the same commit; if it was already, nothing is given. An empty event is never the same.
func (o *Orders) SteerOnce(ctx context.Context, id core.PromptID, who core.Person, text, event string) (core.Prompt, error) {
	return o.change(ctx, id, "steer", who, func(b *moves.Batch, p *reader.Pair) error {
		if event != "" {
			seen, _, err := state.Get[state.Seen](ctx, o.store, state.EventKey(event))
			if err != nil || seen.Exists() {
				return err
			}
			b.Expect(state.EventKey(event), 0)
			b.Put(state.EventKey(event), state.Seen{Session: p.Session.Value.ID}, state.EventKept)
		}
		v := &p.Prompt.Value
		if v.State.Ended() {
			return fmt.Errorf("%w: prompt %s is %s; write a new one", core.ErrRefused, v.Ref, v.State.Word())
		}
		unread := len(text)
		for _, t := range v.Steer {
			unread += len(t)
		}
		if len(v.Steer) >= o.maxQueue || unread > MaxText {
			return fmt.Errorf("%w: prompt %s has %d messages that it has not read yet, and no room for this one", core.ErrRefused, v.Ref, len(v.Steer))
		}
		v.Steer = append(v.Steer, text)
		b.Ring(state.BellOrder, string(v.ID))
		return nil
	})
}

// Edit gives a prompt that has not begun another text; one that has begun refuses it.
func (o *Orders) Edit(ctx context.Context, id core.PromptID, who core.Person, text string) (core.Prompt, error) {
	return o.change(ctx, id, "edit", who, func(_ *moves.Batch, p *reader.Pair) error {
		v := &p.Prompt.Value
		switch {
		case v.Author != who:
			return fmt.Errorf("%w: only %s can change it", core.ErrForbidden, v.Author)
		case !v.Started.IsZero() || v.State.Ended():
			return fmt.Errorf("%w: %s has begun already, so the change of your message does nothing; write what is different", core.ErrRefused, v.Ref)
		}
		v.Text = text
		return nil
	})
}

// Unreachable notes that nobody can be asked at a prompt's place any more, and why: what it asks is refused with that reason instead of waiting for an answer that
// cannot come, and so is what it would ask later. What only a person could let go on ends.
func (o *Orders) Unreachable(ctx context.Context, id core.PromptID, why string) error {
	_, err := o.change(ctx, id, "unreachable", "", func(b *moves.Batch, p *reader.Pair) error {
		v := &p.Prompt.Value
		if v.State.Ended() {
			return nil
		}
		v.Unreachable = why
		switch {
		case v.State == core.Waiting && len(v.Pending) > 0:
			if err := o.withdraw(ctx, b, *v, "", why); err != nil {
				return err
			}
			v.Question, v.Choices = "", nil
			b.Ready(v.Session)
			return v.To(core.Queued, "")
		case v.State == core.Waiting, v.State == core.Blocked:
			return b.End(&p.Session, v, core.Cancelled, moves.Result{Error: moves.Unasked(v.Reason, why)})
		}
		return nil
	})
	return err
}
