// Package screen is the way out: it renders the letters of sessions for their places.
package screen

import (
	"context"
	"fmt"

	"paragents/bot/page"
	"paragents/bot/phrase"
	"paragents/bot/progress"
	"paragents/bot/setting"
	"paragents/core"
	"paragents/core/delivery"
	"paragents/core/scheduler"
)

// Screen is the way out: it renders letters, and keeps the cards of running prompts up to date.
type Screen struct {
	*progress.Board
	cfg setting.Config
	s   *scheduler.Scheduler
}

// New makes a screen.
func New(cfg setting.Config) *Screen { return &Screen{Board: progress.New(cfg), cfg: cfg} }

// Serve gives the screen its scheduler, which needs the screen first.
func (s *Screen) Serve(sc *scheduler.Scheduler) { s.s = sc }

// Render turns a letter into the messages for its place.
func (s *Screen) Render(ctx context.Context, l core.Letter) (delivery.Rendered, error) {
	adapter, ok := s.cfg.Adapter(l.Place.Platform)
	if !ok {
		return delivery.Rendered{}, fmt.Errorf("no adapter for %s", l.Place.Platform)
	}
	caps := adapter.Capabilities()
	s.Settled(l, caps)
	if caps.Lines {
		s.CaughtUp(ctx)
	}
	switch l.Event.Type {
	case core.EventAnswer:
		p := page.Page{Head: page.Head(l, caps, core.Done), Text: l.Event.Text, Answer: true}
		return delivery.Rendered{Messages: page.Loud(s.reply(page.Messages(p, caps, l.Place), l), l.Loud)}, nil
	case core.EventEnd:
		return s.end(ctx, l, caps)
	case core.EventApproval, core.EventReminder:
		return s.approval(ctx, l, caps)
	case core.EventQuestion:
		return s.question(l, caps), nil
	case core.EventConflict:
		return s.conflict(ctx, l, caps, l.Event.Time)
	case core.EventWork:
		return s.work(ctx, l, caps)
	case core.EventUncertain:
		p := page.Page{Text: page.Head(l, caps, core.Running) + fmt.Sprintf(phrase.Uncertain, phrase.Code(l.Event.Show))}
		return delivery.Rendered{Messages: page.Loud(page.Messages(p, caps, l.Place), true)}, nil
	case core.EventNotice:
		p := page.Page{Text: page.Head(l, caps, core.Running) + l.Event.Text}
		return delivery.Rendered{Messages: page.Messages(p, caps, l.Place)}, nil
	}
	return delivery.Rendered{}, nil
}

// reply makes the first message answer the one that asked.
func (s *Screen) reply(ms []core.Message, l core.Letter) []core.Message {
	if len(ms) > 0 && l.Place.Thread == "" {
		ms[0].Reply = l.Reply
	}
	return ms
}

// Courier makes the courier whose letters the screen renders.
func (s *Screen) Courier() *delivery.Courier {
	return delivery.New(delivery.Config{Store: s.cfg.Store, Render: s.Render, Adapter: s.cfg.Adapter, GivenUp: s.givenUp, Logger: s.cfg.Logger})
}

// givenUp follows a letter that its place does not take: whoever should have answered it cannot.
func (s *Screen) givenUp(ctx context.Context, l core.Letter, why string) error {
	if !l.Event.Asks() || s.s == nil {
		return nil
	}
	if l.Copy != nil {
		return s.unreached(ctx, l, why)
	}
	return s.s.Unreachable(ctx, l.PromptID, why)
}

var _ scheduler.Courier = (*delivery.Courier)(nil)
