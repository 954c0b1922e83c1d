package bot

import (
	"context"
	"fmt"
	"slices"

	"paragents/core"
	"paragents/core/access"
	"paragents/core/scheduler"
	"paragents/core/state"
)

// Where questions are shown besides the place of their prompt.
const (
	NotifyThread  = "thread"  // nowhere
	NotifyDM      = "dm"      // to each approver of the place, in their own conversation with the bot
	NotifyChannel = "channel" // in the channel around the thread
)

// maxCopies bounds how many approvers are asked in their own conversations.
const maxCopies = 10

// Copies says where else the approvals of a prompt are asked: see scheduler.Config. What is done in a private conversation is shown to others only if its author cannot
// decide it.
func (s *Screen) Copies(ctx context.Context, p core.Prompt) ([]core.Copy, error) {
	adapter, ok := s.cfg.adapter(p.Place.Platform)
	if !ok || s.cfg.Notify != NotifyDM && s.cfg.Notify != NotifyChannel {
		return nil, nil
	}
	if s.cfg.Notify == NotifyChannel {
		if p.Place.Thread == "" || p.Place.Private {
			return nil, nil
		}
		place := p.Place
		place.Thread = ""
		return []core.Copy{{Place: place}}, nil
	}
	if _, ok := adapter.(core.Director); !ok {
		return nil, nil
	}
	stored, err := access.Stored(ctx, s.cfg.Store)
	if err != nil {
		return nil, fmt.Errorf("read who may approve: %w", err)
	}
	if p.Place.Private && s.cfg.Access.MayDecide(stored, p.Author, core.Approval{Author: p.Author, Place: p.Place}, core.Once) == nil {
		return nil, nil
	}
	var out []core.Copy
	for _, who := range s.cfg.Access.Approvers(stored, p.Place) {
		if who != p.Author && len(out) < maxCopies {
			out = append(out, core.Copy{Place: core.Place{Platform: p.Place.Platform, Space: p.Place.Space, Private: true}, To: who})
		}
	}
	return out, nil
}

// unreached notes that somebody was not shown a question. The others were.
func (s *Screen) unreached(ctx context.Context, l core.Letter, why string) error {
	e := l.Event
	s.cfg.Logger.Warn("a copy of a question was not sent", "session", e.Session, "prompt", e.Prompt, "request", e.Request, "to", l.Copy.Key(), "why", why)
	var b state.Batch
	b.Append(state.Audit, scheduler.Entry{Time: s.s.Now(), What: "not reached", Session: e.Session, Prompt: e.Prompt, Request: e.Request, Why: l.Copy.Key() + ": " + why, Trace: e.Trace})
	_, err := b.Commit(ctx, s.cfg.Store)
	return err
}

// name is a card's, of the original or of a copy.
func (c *cards) name(card string) string {
	if c.l.Copy == nil {
		return card
	}
	return card + "/" + c.l.Copy.Key()
}

// whose says on a copy for whom the question is asked, and where: others do not see that.
func (c *cards) whose(a core.Approval) string {
	if c.l.Copy == nil {
		return ""
	}
	text := fmt.Sprintf(saysFor, c.called(a.Author))
	if c.l.Event.Type == core.EventReminder && c.l.Event.By != "" {
		text = fmt.Sprintf(saysAsksYou, c.called(c.l.Event.By)) + text
	}
	return text
}

// later reports whether another letter will change the copy of a card once more: several that are decided at once make one change.
func (c *cards) later(list []core.Approval) bool {
	mine := slices.IndexFunc(list, func(a core.Approval) bool { return a.ID == c.l.Event.Approvals[0] })
	for i, a := range list {
		if c.l.Copy != nil && (a.Decided.After(c.l.Event.Time) || a.Decided.Equal(c.l.Event.Time) && i > mine) {
			return true
		}
	}
	return false
}
