package screen

import (
	"context"
	"fmt"

	"paragents/bot/setting"
	"paragents/core"
	"paragents/core/access"
	"paragents/core/audit"
	"paragents/core/state"
)

// maxCopies bounds how many approvers are asked in their own conversations.
const maxCopies = 10

// Copies says where else the approvals of a prompt are asked: see scheduler.Config. What is done in a private conversation is shown to others only if its author cannot
// decide it.
func (s *Screen) Copies(ctx context.Context, p core.Prompt) ([]core.Copy, error) {
	adapter, ok := s.cfg.Adapter(p.Place.Platform)
	if !ok || s.cfg.Notify != setting.NotifyDM && s.cfg.Notify != setting.NotifyChannel {
		return nil, nil
	}
	if s.cfg.Notify == setting.NotifyChannel {
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
	b.Append(state.Audit, audit.Entry{Time: s.s.Now(), What: "not reached", Session: e.Session, Prompt: e.Prompt, Request: e.Request, Why: l.Copy.Key() + ": " + why, Trace: e.Trace})
	_, err := b.Commit(ctx, s.cfg.Store)
	return err
}
