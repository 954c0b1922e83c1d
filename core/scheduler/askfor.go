package scheduler

import (
	"context"
	"fmt"
	"slices"

	"paragents/core"
	"paragents/core/state"
	"paragents/store"
)

// maxAskers is how many people may ask for the answer to one approval.
const maxAskers = 5

// AskFor shows an approval, with all that is on its card, to others, each alone, because who may not decide it asks them to: once for each who asks.
func (s *Scheduler) AskFor(ctx context.Context, id core.ApprovalID, who core.Person, others []core.Person) error {
	return s.retry(ctx, "ask for approval", func() error {
		a, err := s.Approval(ctx, id)
		switch {
		case err != nil:
			return err
		case a.State != core.Pending:
			return a.To(core.Denied, who, "", s.clock.Now()) // says who was faster
		case slices.Contains(a.Asked, who):
			return fmt.Errorf("%w: you have asked for this already", core.ErrRefused)
		case len(a.Asked) >= maxAskers:
			return fmt.Errorf("%w: enough people have asked for this", core.ErrRefused)
		}
		keys := make([]store.Key, len(a.Group))
		for i, id := range a.Group {
			keys[i] = state.ApprovalKey(id)
		}
		card, now, err := state.GetAll[core.Approval](ctx, s.store, keys)
		if err != nil {
			return err
		}
		s.clock.Observe(now)
		card = slices.DeleteFunc(card, func(d state.Doc[core.Approval]) bool { return d.Value.State != core.Pending })
		if len(card) == 0 {
			return fmt.Errorf("%w: it was answered meanwhile", core.ErrDecided)
		}
		copies := make([]core.Copy, len(others))
		for i, p := range others {
			copies[i] = core.Copy{Place: core.Place{Platform: a.Place.Platform, Space: a.Place.Space, Private: true}, To: p}
		}
		var b state.Batch
		for _, d := range card {
			v := d.Value
			v.Asked = append(v.Asked, who)
			for _, c := range copies {
				if !slices.ContainsFunc(v.Copies, func(o core.Copy) bool { return o.Key() == c.Key() }) {
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
		s.ready(&b, v.Session)
		b.Append(state.Audit, Entry{Time: now, What: "asked for", Session: v.SessionRef, Prompt: v.PromptRef, Request: a.Ref, Who: who, Trace: v.Trace})
		_, err = b.Commit(ctx, s.store)
		return err
	})
}
