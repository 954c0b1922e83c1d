package bot

import (
	"context"
	"fmt"
	"strings"

	"paragents/bot/grammar"
	"paragents/bot/phrase"
	"paragents/bot/visit"
	"paragents/core"
	"paragents/core/scheduler"
	"paragents/core/state"
)

// newSession begins a session: new makes it the active one, submit leaves that as it is.
func (d *Desk) newSession(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	isolated, rest := grammar.Isolated(c.Rest)
	name, text := grammar.InWorkspace(rest)
	if !isolated { // in either order
		isolated, text = grammar.Isolated(text)
	}
	if name == "" {
		name = d.cfg.WorkspaceAt(v.Place)
	}
	if !d.cfg.Has(name) {
		return fmt.Errorf("%w: %s", core.ErrNotFound, fmt.Sprintf(phrase.Workspace, name, strings.Join(d.cfg.Names(), ", ")))
	}
	if text == "" && len(v.Files) == 0 {
		return fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(phrase.NeedsText, v.Caps.Slash, grammar.Usage(c.Name)))
	}
	return d.submit(ctx, v, scheduler.Submission{Text: text, New: &scheduler.NewSession{Workspace: name, Isolated: isolated, Bind: c.Name == "new"}})
}

// submit hands a prompt in for the visitor, under the event's id.
func (d *Desk) submit(ctx context.Context, v *visit.Visit, sub scheduler.Submission) error {
	sub.Event, sub.Author, sub.Place, sub.Message, sub.Attachments = v.ID+"/prompt", v.Person, v.Place, v.Message, v.Files
	out, err := d.s.Accept(ctx, []scheduler.Submission{sub}, nil)
	if err != nil {
		return err
	}
	d.accepted(ctx, v, out[0])
	return nil
}

func (d *Desk) prompt(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	if c.Rest == "" {
		return fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(phrase.NeedsText, v.Caps.Slash, grammar.Usage(c.Name)))
	}
	sub := scheduler.Submission{Text: c.Rest, Session: v.Bound}
	if v.Bound == "" {
		sub.New = &scheduler.NewSession{Workspace: d.cfg.WorkspaceAt(v.Place), Bind: true}
	}
	return d.submit(ctx, v, sub)
}

func (d *Desk) switchTo(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	x, err := d.find.Theirs(ctx, v, c)
	if err != nil {
		return err
	}
	var b state.Batch
	b.Put(state.BindKey(v.Place), state.Binding{Session: x.Session}, 0)
	if _, err := b.Commit(ctx, d.cfg.Store); err != nil {
		return err
	}
	v.Say(phrase.Switched, phrase.Code(string(x.Ref))+" "+phrase.Escape(x.Title))
	return nil
}

func (d *Desk) rename(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	if v.Bound == "" {
		return fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(phrase.NoSession, v.Caps.Slash))
	}
	if err := d.find.MayOrderSession(ctx, v, v.Bound); err != nil {
		return err
	}
	s, err := d.s.Rename(ctx, v.Bound, v.Person, c.Rest)
	if err == nil {
		v.Say(phrase.Renamed, phrase.Named(s))
	}
	return err
}

func (d *Desk) close(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	x, err := d.find.Theirs(ctx, v, c)
	if err != nil {
		return err
	}
	s, err := d.s.Close(ctx, x.Session, v.Person)
	if err != nil {
		return err
	}
	if x.Session == v.Bound {
		if err := d.unbind(ctx, v); err != nil {
			return err
		}
	}
	v.Say(phrase.Closed, phrase.Named(s))
	if len(s.Queue) == 0 {
		d.change.Retire(ctx, s)
	}
	return nil
}

// unbind leaves the visitor's place without an active session.
func (d *Desk) unbind(ctx context.Context, v *visit.Visit) error {
	var b state.Batch
	b.Put(state.BindKey(v.Place), state.Binding{}, 0)
	_, err := b.Commit(ctx, d.cfg.Store)
	return err
}

// accepted tells the author what became of a prompt, where that is not obvious.
func (d *Desk) accepted(ctx context.Context, v *visit.Visit, a scheduler.Accepted) {
	switch {
	case a.Err != nil:
		v.Say(phrase.Error, phrase.Escape(phrase.Trim(a.Err)))
	case a.Duplicate:
	case a.Ahead > 0:
		d.interrupt(ctx, v, a)
		if d.replies.React(ctx, v.Adapter, v.Place, v.Message, "queued") {
			return
		}
		v.Say(phrase.Queued, a.Ahead, phrase.Named(a.Session))
	case v.Bound != "" && v.Bound == a.Session.ID && v.Place.Private && v.Place.Thread == "" && !v.Caps.Lines:
		d.whichSession(ctx, v, a)
	case v.Caps.Lines:
		v.Say(phrase.Opened, a.Session.Ref, a.Prompt.Ref, phrase.Escape(core.Title("", a.Prompt.Text)))
	}
	d.answer(ctx, v)
}
