package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"paragents/bot/button"
	"paragents/bot/grammar"
	"paragents/bot/page"
	"paragents/bot/phrase"
	"paragents/bot/visit"
	"paragents/core"
	"paragents/core/delivery"
	"paragents/core/scheduler"
	"paragents/core/state"
)

func (d *Desk) steer(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	if c.Rest == "" {
		return fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(phrase.NeedsText, v.Caps.Slash, grammar.Usage(c.Name)))
	}
	x, err := d.find.Find(ctx, v, grammar.Command{Name: c.Name})
	if err != nil {
		return err
	}
	if err := v.MayOrder(x.Owner); err != nil {
		return err
	}
	p, err := d.s.Steer(ctx, x.Prompt, v.Person, c.Rest)
	if err == nil {
		v.Say(phrase.Steered, phrase.Code(string(p.Ref)))
	}
	return err
}

func (d *Desk) order(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	x, err := d.find.Theirs(ctx, v, c)
	if err != nil {
		return err
	}
	if x.Prompt == "" {
		return fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(phrase.Nothing, c.Name))
	}
	var p core.Prompt
	switch c.Name {
	case "pause":
		if p, err = d.s.Pause(ctx, x.Prompt, v.Person); err == nil {
			v.Say(phrase.Pausing, phrase.Code(string(p.Ref)), v.Caps.Slash, p.Ref)
		}
	case "resume":
		if p, err = d.resume(ctx, v, x.Prompt); err == nil {
			v.Say(phrase.Resumed, phrase.Code(string(p.Ref)))
		}
	default:
		was, _, err := d.s.Prompt(ctx, x.Prompt)
		if err != nil {
			return err
		}
		if p, err = d.s.Cancel(ctx, x.Prompt, v.Person); err == nil && p.State == core.Running {
			v.Say(phrase.Stopping, phrase.Code(string(p.Ref)))
		} else if err == nil && was.Conflict != nil {
			v.Say(phrase.CancelledIn, phrase.Code(string(p.Ref)), phrase.Files(was.Conflict.Paths), phrase.Owners(was.Conflict.Owners))
		}
		return err
	}
	return err
}

// retry makes a new prompt of an old one.
func (d *Desk) retry(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	x, err := d.find.Theirs(ctx, v, c)
	if err != nil {
		return err
	}
	p, sess, err := d.s.Prompt(ctx, x.Prompt)
	if err != nil {
		return err
	}
	if !p.State.Ended() {
		return fmt.Errorf("%w: prompt %s is %s; only one that has ended can be done again", core.ErrRefused, p.Ref, p.State.Word())
	}
	return d.submit(ctx, v, scheduler.Submission{Session: sess.ID, Text: p.Text, RetryOf: p.Ref})
}

func (d *Desk) stop(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	x, err := d.find.Theirs(ctx, v, c)
	if err != nil {
		return err
	}
	p, held, err := d.s.Stop(ctx, x.Session, v.Person)
	if err != nil {
		return err
	}
	text := ""
	if p.State == core.Running {
		text = fmt.Sprintf(phrase.Stopping, phrase.Code(string(p.Ref)))
	}
	if held > 0 {
		if text == "" {
			text = fmt.Sprintf(phrase.Ended, phrase.Code(string(p.Ref)))
		}
		text += fmt.Sprintf(phrase.Held, held, v.Caps.Slash, v.Caps.Slash)
	}
	if text != "" {
		v.Say("%s", text)
	}
	return nil
}

func (d *Desk) release(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	x, err := d.find.Find(ctx, v, c)
	if err != nil {
		return err
	}
	note, err := d.held(ctx, v, x.Session, c.Name == "drop-held")
	if err == nil {
		v.Say("%s", note)
	}
	return err
}

func (d *Desk) mode(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	if v.Bound == "" {
		return fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(phrase.NoSession, v.Caps.Slash))
	}
	m := core.Mode(strings.ToLower(c.Rest))
	switch m {
	case core.ModePlan, core.ModeAsk, core.ModeEdits:
	default:
		return fmt.Errorf("%w: the modes are plan (reads only), ask (the default) and edits (file tools may write in the workspace)", core.ErrRefused)
	}
	if err := d.find.MayOrderSession(ctx, v, v.Bound); err != nil {
		return err
	}
	if err := d.s.SetMode(ctx, v.Bound, v.Person, m); err != nil {
		return err
	}
	v.Say(phrase.Mode, "The session", m)
	return nil
}

// promptOrder resumes or cancels a prompt for its author, or an admin.
func (d *Desk) promptOrder(ctx context.Context, v *visit.Visit, id core.PromptID, do button.Verb) (string, error) {
	p, _, err := d.s.Prompt(ctx, id)
	if err != nil {
		return "", err
	}
	if err := v.MayOrder(p.Author); err != nil {
		return "", err
	}
	if do == button.DoCancel {
		_, err = d.s.Cancel(ctx, id, v.Person)
		return fmt.Sprintf(phrase.Cancelled, p.Ref), err
	}
	_, err = d.resume(ctx, v, id)
	return fmt.Sprintf(phrase.Resumed, p.Ref), err
}

// resume lets a prompt go on, and shows on its question, if it had one, that it is answered.
func (d *Desk) resume(ctx context.Context, v *visit.Visit, id core.PromptID) (core.Prompt, error) {
	before, sess, err := d.s.Prompt(ctx, id)
	if err != nil {
		return before, err
	}
	p, err := d.s.Resume(ctx, id, v.Person)
	if err == nil {
		d.answered(ctx, before, sess, v.Person)
	}
	return p, err
}

// answered takes the buttons off the question that a prompt, as it was before, had asked. Best effort: a button that stays does nothing more.
func (d *Desk) answered(ctx context.Context, p core.Prompt, s core.Session, who core.Person) {
	if p.Question == "" {
		return
	}
	c, _, err := state.Get[delivery.Card](ctx, d.cfg.Store, state.CardKey(page.QuestionCard(p.ID)))
	adapter, ok := d.cfg.Adapter(c.Value.Place.Platform)
	if err != nil || !ok {
		return
	}
	caps := adapter.Capabilities()
	l := core.Letter{Event: core.Event{Session: s.Ref, Prompt: p.Ref, Title: s.Title}, Place: c.Value.Place}
	text := fmt.Sprintf(phrase.Answered, phrase.Code(string(p.Ref)), phrase.Person(who))
	if !caps.Lines {
		text = phrase.Escape(p.Question) + "\n\n" + text
	}
	ms := page.Messages(page.Page{Head: page.Head(l, caps, core.Running), Text: text}, caps, c.Value.Place)
	for _, m := range page.Replacing(ms, page.QuestionCard(p.ID)) {
		if err := adapter.Edit(ctx, c.Value.ID, m); err != nil {
			d.cfg.Logger.Debug("cannot change an answered question", "error", err)
		}
	}
}

func (d *Desk) held(ctx context.Context, v *visit.Visit, id core.SessionID, drop bool) (string, error) {
	views, err := d.s.Views(ctx, []core.SessionID{id})
	if err != nil || len(views) == 0 {
		return "", errors.Join(err, core.ErrNotFound)
	}
	if err := v.MayOrder(views[0].Session.Owner); err != nil {
		return "", err
	}
	n, err := d.s.Release(ctx, id, v.Person, drop)
	if drop {
		return fmt.Sprintf(phrase.DropHeld, n), err
	}
	return fmt.Sprintf(phrase.RunHeld, n), err
}
