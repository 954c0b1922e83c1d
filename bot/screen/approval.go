package screen

import (
	"context"
	"time"

	"paragents/bot/approval"
	"paragents/bot/phrase"
	"paragents/core"
	"paragents/core/delivery"
	"paragents/core/state"
	"paragents/store"
)

// approval is the card of the approvals of one answer, or what was decided about one of them.
func (s *Screen) approval(ctx context.Context, l core.Letter, caps core.Capabilities) (delivery.Rendered, error) {
	list, now, err := s.approvals(ctx, l.Event.Approvals)
	if err != nil || len(list) == 0 {
		return delivery.Rendered{}, err
	}
	p, _, err := state.Get[core.Prompt](ctx, s.cfg.Store, state.PromptKey(l.PromptID))
	if err != nil {
		return delivery.Rendered{}, err
	}
	c := approval.Cards{Letter: l, Caps: caps, Word: p.Value.State, Now: now, Called: func(p core.Person) string { return phrase.Escape(s.called(ctx, p)) }}
	if c.Word == core.Queued { // it goes on at once
		c.Word = core.Running
	}
	var out delivery.Rendered
	switch group := list[0].Group; {
	case len(group) > 1 && !caps.Lines:
		if list, _, err = s.approvals(ctx, group); err != nil {
			return delivery.Rendered{}, err
		}
		out.Messages = c.Group(list)
	case l.Event.State != string(core.Pending) && l.Event.Type != core.EventReminder:
		out.Messages = c.Decided(list[0])
	default:
		for _, a := range list {
			out.Messages = append(out.Messages, c.Open(a)...)
		}
	}
	if !c.Buttons.Empty() && caps.Buttons {
		out.Put = c.Buttons.Put
	}
	return out, nil
}

// approvals reads those that are still there.
func (s *Screen) approvals(ctx context.Context, ids []core.ApprovalID) ([]core.Approval, time.Time, error) {
	keys := make([]store.Key, len(ids))
	for i, id := range ids {
		keys[i] = state.ApprovalKey(id)
	}
	docs, now, err := state.GetAll[core.Approval](ctx, s.cfg.Store, keys)
	var out []core.Approval
	for _, d := range docs {
		if d.Exists() {
			out = append(out, d.Value)
		}
	}
	return out, now, err
}

func (s *Screen) called(ctx context.Context, p core.Person) string {
	adapter, _ := s.cfg.Adapter(p.Platform())
	return phrase.Called(ctx, adapter, p)
}
