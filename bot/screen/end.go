package screen

import (
	"context"
	"fmt"
	"strings"
	"time"

	"paragents/bot/button"
	"paragents/bot/page"
	"paragents/bot/phrase"
	"paragents/core"
	"paragents/core/delivery"
	"paragents/core/state"
	"paragents/store"
)

// end closes the status card; a prompt that never had one, and went well, needs no more than its answer.
func (s *Screen) end(ctx context.Context, l core.Letter, caps core.Capabilities) (delivery.Rendered, error) {
	e := l.Event
	var b strings.Builder
	to := core.PromptState(e.State)
	b.WriteString(page.Head(l, caps, to))
	switch to {
	case core.Done:
		b.WriteString(phrase.Done)
	case core.Cancelled:
		b.WriteString(phrase.Escape(e.Error))
	default:
		fmt.Fprintf(&b, phrase.Failed, phrase.Escape(e.Error))
	}
	fmt.Fprintf(&b, " · %s", e.Took.Round(100*time.Millisecond))
	if e.Tokens > 0 {
		fmt.Fprintf(&b, phrase.Tokens, e.Tokens)
	}
	if len(e.Files) > 0 {
		fmt.Fprintf(&b, phrase.Changed, phrase.Files(e.Files))
	}
	var bs button.Set
	p := page.Page{Text: b.String()}
	if len(e.Files) > 0 && !caps.Lines {
		p.Rows = append(p.Rows, []core.Button{
			bs.Add(phrase.LabelDiff, "", button.Press{Do: button.DoCommand, Command: "diff " + string(e.Session), Session: l.SessionID}),
			bs.Add(phrase.LabelUndo, "", button.Press{Do: button.DoCommand, Command: "undo " + string(e.Prompt), Session: l.SessionID})})
	}
	if to != core.Done && !caps.Lines {
		p.Rows = append(p.Rows, []core.Button{bs.Add(phrase.LabelRetry, "", button.Press{Do: button.DoCommand, Command: "retry " + string(e.Prompt), Session: l.SessionID})})
	}
	ms := page.Messages(p, caps, l.Place)
	if n := len(ms); n > 0 {
		ms[n-1].Card, ms[n-1].Replace = page.StatusCard(l.PromptID), true
		ms[n-1].Silent = to != core.Failed && !caps.Lines
	}
	if n := len(ms); (to == core.Cancelled || len(e.Files) > 0 && !caps.Lines) && n > 0 { // no answer tells of it: without a card it is a message of its own
		docs, _, err := state.GetAll[delivery.Card](ctx, s.cfg.Store, []store.Key{state.CardKey(page.StatusCard(l.PromptID)), state.CardKey(page.QuestionCard(l.PromptID))})
		if err != nil {
			return delivery.Rendered{}, err
		}
		ms[n-1].Replace = docs[0].Exists()
		if to == core.Cancelled && docs[1].Exists() { // nobody is asked any more
			gone := page.Messages(page.Page{Head: page.Head(l, caps, to), Text: phrase.Escape(e.Error)}, caps, l.Place)
			ms = append(page.Replacing(gone, page.QuestionCard(l.PromptID)), ms...)
		}
	}
	out := delivery.Rendered{Messages: ms}
	if !bs.Empty() && caps.Buttons {
		out.Put = bs.Put
	}
	return out, nil
}

// question asks a person something that is no approval.
func (s *Screen) question(l core.Letter, caps core.Capabilities) delivery.Rendered {
	var bs button.Set
	var row []core.Button
	for _, choice := range l.Event.Choices {
		p := button.Press{Do: button.DoResume, Prompt: l.PromptID, Session: l.SessionID}
		switch choice {
		case core.ChoiceStop, core.ChoiceClose:
			p.Do = button.DoCancel
		}
		row = append(row, bs.Add(choice, "", p))
	}
	text := page.Head(l, caps, core.Waiting) + phrase.Escape(l.Event.Text)
	if !caps.Buttons {
		text += "\n" + fmt.Sprintf(phrase.AnswerTyped, caps.Slash, l.Event.Prompt, caps.Slash, l.Event.Prompt)
	}
	ms := page.Messages(page.Page{Text: text, Rows: [][]core.Button{row}}, caps, l.Place)
	if n := len(ms); n > 0 {
		ms[n-1].Card = page.QuestionCard(l.PromptID)
	}
	return delivery.Rendered{Messages: page.Loud(s.reply(ms, l), true), Put: bs.Put}
}
