package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"paragents/bot/grammar"
	"paragents/bot/page"
	"paragents/bot/phrase"
	"paragents/bot/reply"
	"paragents/bot/visit"
	"paragents/core"
	"paragents/core/access"
	"paragents/core/audit"
	"paragents/core/scheduler"
	"paragents/core/state"
)

// How much of a message that is asked about is shown again, and is kept, in characters.
const (
	shownQuote = 300
	keptQuote  = 12_000
)

// about opens a session about a message that the visitor points at, and asks there what is to be done: the message is anybody's, and says nothing by itself.
func (d *Desk) about(ctx context.Context, v *visit.Visit) error {
	switch {
	case v.About == nil:
		return nil
	case v.Role < access.Operator:
		return d.door.Stranger(ctx, v)
	}
	about := *v.About
	about.Text = phrase.Cut(about.Text, keptQuote)
	sess, opened, err := d.s.Open(ctx, v.Person, v.Place, scheduler.NewSession{Workspace: d.cfg.WorkspaceAt(v.Place), Join: !v.Place.Private}, about)
	if err != nil {
		return err
	}
	again := sess.Owner == v.Person && sess.About != nil && sess.About.Message == v.Message && len(sess.Queue) == 0 && sess.Last == "" // it came twice, or was asked twice
	if !opened && !again {
		v.Say(phrase.WorksHere, phrase.Named(sess))
		return nil
	}
	quoted := strings.ReplaceAll(phrase.Escape(phrase.Cut(strings.TrimSpace(v.About.Text), shownQuote)), "\n", "\n> ")
	r := reply.Reply{Adapter: v.Adapter, Messages: page.Messages(page.Page{Text: fmt.Sprintf(phrase.WhatToDo, phrase.Escape(v.Name), phrase.Escape(v.About.Name), quoted)}, v.Caps, v.Place)}
	r.Failed = func(err error) []core.Message { // the bot may not be where the message is
		ms := page.Messages(page.Page{Text: fmt.Sprintf(phrase.CannotAsk, phrase.Escape(err.Error()))}, v.Caps, v.Place)
		for i := range ms {
			ms[i].Callback, ms[i].Only = v.Callback, v.Person
		}
		return ms
	}
	d.replies.Add(ctx, r)
	return nil
}

// act does what is no prompt.
func (d *Desk) act(ctx context.Context, v *visit.Visit) error {
	command, isCommand := v.Typed()
	switch {
	case v.Bot:
		return nil
	case v.Kind == core.InHome:
		return d.look.Home(ctx, v)
	case v.Kind == core.InPress, v.Kind == core.InForm:
		return d.pressed(ctx, v)
	case v.Kind == core.InMessage && grammar.IsStop(v.Text) && d.meant(v):
		return d.command(ctx, v, grammar.Command{Name: "stop"})
	case v.Kind == core.InAbout:
		return d.about(ctx, v)
	case v.Kind == core.InCommand:
		c, ok := grammar.Parse(v.Text)
		if !ok {
			d.unknown(v, c)
			return nil
		}
		return d.inTime(ctx, v, c)
	case isCommand:
		return d.inTime(ctx, v, command)
	case v.Kind == core.InMessage && v.Role < access.Operator && (v.Addressed || v.Place.Private):
		return d.door.Stranger(ctx, v)
	case v.Kind == core.InMessage && d.meant(v) && v.Role >= access.Operator && late(v.Inbound, d.s.Now()) && worthAsking(v):
		return d.askLate(ctx, v, "")
	case v.Kind == core.InEdit, v.Kind == core.InDelete:
		return d.changed(ctx, v)
	case v.Kind == core.InMoved && v.Bound != "":
		var b state.Batch
		b.Put(state.BindKey(v.MovedTo), state.Binding{Session: v.Bound}, 0)
		_, err := b.Commit(ctx, d.cfg.Store)
		return err
	case v.Kind == core.InJoined:
		v.Out = append(v.Out, d.welcome(v))
	case v.Kind == core.InLeft:
		return d.left(ctx, v)
	}
	return nil
}

// changed follows a message that its author changed or took back: a prompt that has not begun follows it, one that has does not.
func (d *Desk) changed(ctx context.Context, v *visit.Visit) error {
	seen, _, err := state.Get[state.Seen](ctx, d.cfg.Store, state.EventKey(v.Original))
	if err != nil || seen.Value.Prompt == "" {
		return err
	}
	p, _, err := d.s.Prompt(ctx, seen.Value.Prompt)
	switch {
	case errors.Is(err, core.ErrNotFound):
		return nil
	case err != nil:
		return err
	case p.Author != v.Person || v.Kind == core.InEdit && p.Text == v.Text:
		return nil
	}
	if v.Kind == core.InDelete {
		if p.State == core.Queued && p.Started.IsZero() {
			_, err = d.s.Cancel(ctx, p.ID, v.Person)
		}
	} else {
		_, err = d.s.Edit(ctx, p.ID, v.Person, v.Text)
	}
	if phrase.Personal(err) {
		v.Say("%s", phrase.Escape(phrase.Trim(err)))
		return nil
	}
	return err
}

// left follows that the bot was removed from a place, or blocked there: it is written down, and nobody can answer there any more. Sessions keep.
func (d *Desk) left(ctx context.Context, v *visit.Visit) error {
	var b state.Batch
	b.Append(state.Audit, audit.Entry{Time: d.s.Now(), What: "left", Who: v.Person, Why: "the bot was removed from " + v.Place.Key() + ", or blocked there"})
	if _, err := b.Commit(ctx, d.cfg.Store); err != nil {
		return err
	}
	asked, err := d.s.Waiting(ctx, maxAskedAt)
	if err != nil {
		return err
	}
	here, err := d.s.List(ctx, state.ByPlace(v.Place), maxAskedAt, false)
	if err != nil {
		return err
	}
	var prompts []core.PromptID
	for _, a := range asked {
		if access.PlaceKey(a.Place) == access.PlaceKey(v.Place) {
			prompts = append(prompts, a.Prompt)
		}
	}
	for _, w := range here {
		if w.Prompt.State == core.Waiting || w.Prompt.State == core.Blocked {
			prompts = append(prompts, w.Prompt.ID)
		}
	}
	slices.Sort(prompts)
	for _, id := range slices.Compact(prompts) {
		if err := d.s.Unreachable(ctx, id, phrase.Left); err != nil && !phrase.Personal(err) {
			return err
		}
	}
	return nil
}

// maxAskedAt bounds how many questions are looked at when the bot is removed from a place; those behind them end when they are next asked about.
const maxAskedAt = 1000
