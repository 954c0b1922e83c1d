package screen

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"paragents/bot/button"
	"paragents/bot/change"
	"paragents/bot/page"
	"paragents/bot/phrase"
	"paragents/core"
	"paragents/core/delivery"
	"paragents/core/worktree"
)

// work is the card of what lies in an isolated session's worktree, or what became of it.
func (s *Screen) work(ctx context.Context, l core.Letter, caps core.Capabilities) (delivery.Rendered, error) {
	var bs button.Set
	var p page.Page
	var out delivery.Rendered
	e, word := l.Event, core.Done
	order := func(label, style, command string) core.Button {
		return bs.Add(label, style, button.Press{Do: button.DoCommand, Command: command, Session: l.SessionID})
	}
	keep, discard := order(phrase.LabelKeep, "", "keep "+string(e.Session)), order(phrase.LabelDiscard, "danger", "discard "+string(e.Session))
	switch st := core.WorkState(e.State); st {
	case core.WorkOpen:
		views, err := s.s.Views(ctx, []core.SessionID{l.SessionID})
		if err != nil || len(views) == 0 {
			return out, err
		}
		var w worktree.Work
		if p, w, err = change.Page(ctx, s.cfg, views[0].Session); errors.Is(err, fs.ErrNotExist) || err == nil && w.Empty() {
			return out, nil // nothing has to be decided
		} else if err != nil {
			s.cfg.Logger.Error("cannot look into a worktree", "session", e.Session, "error", err)
			p = page.Page{Text: fmt.Sprintf(phrase.TreeTrouble, phrase.Escape(phrase.Trim(err)))}
			break
		}
		p.Rows = [][]core.Button{{order(phrase.LabelMerge, "primary", "merge "+string(e.Session)+" "+w.Digest), keep}, {discard}}
		if !caps.Buttons {
			p.Text += fmt.Sprintf(phrase.WorkTyped, caps.Slash, e.Session, caps.Slash, e.Session, caps.Slash, e.Session)
		}
	case core.WorkConflict:
		p.Text = fmt.Sprintf(phrase.MergeConflict, phrase.Code(e.Text), phrase.Person(e.By), phrase.Files(e.Paths))
		p.Rows = [][]core.Button{{order(phrase.LabelResolve, "primary", "resolve "+string(e.Session)), keep}, {discard}}
		if !caps.Buttons {
			p.Text += fmt.Sprintf(phrase.ResolveTyped, caps.Slash, e.Session)
		}
	case core.WorkMerged:
		p.Text = fmt.Sprintf(phrase.Merged, phrase.Code(e.Text), phrase.Person(e.By), phrase.Files(e.Paths))
	case core.WorkGiven:
		p.Text, word = fmt.Sprintf(phrase.Given, phrase.Files(e.Paths), phrase.Person(e.By)), core.Queued
	case core.WorkKept:
		p.Text = fmt.Sprintf(phrase.Kept, phrase.Code(core.BranchOf(e.Session)), phrase.Code(e.Text), phrase.Person(e.By))
	case core.WorkDiscarded:
		p.Text = fmt.Sprintf(phrase.Discarded, phrase.Person(e.By))
	}
	p.Head, p.Card = page.Head(l, caps, word), page.WorkCard(l.SessionID)
	ms := page.Messages(p, caps, l.Place)
	if core.WorkState(e.State) == core.WorkOpen {
		if !caps.Lines { // one place to decide: an older card loses its buttons
			ms = append(page.Replacing(page.Messages(page.Page{Head: p.Head, Text: phrase.WorkBelow}, caps, l.Place), p.Card), ms...)
		}
		ms = page.Loud(ms, l.Loud)
	} else if n := len(ms); n > 0 {
		ms[n-1].Replace, ms[n-1].Silent = true, false
	}
	out.Messages = ms
	if len(p.Rows) > 0 && caps.Buttons {
		out.Put = bs.Put
	}
	return out, nil
}
