package bot

import (
	"context"
	"errors"
	"fmt"

	"paragents/bot/button"
	"paragents/bot/decide"
	"paragents/bot/grammar"
	"paragents/bot/page"
	"paragents/bot/phrase"
	"paragents/bot/visit"
	"paragents/core"
	"paragents/core/access"
	"paragents/core/orders"
	"paragents/core/scheduler"
	"paragents/core/state"
)

// pressed follows a button. The decision is stored before the platform hears of it; telling the platform is best effort.
func (d *Desk) pressed(ctx context.Context, v *visit.Visit) error {
	if err := d.atHome(ctx, v); err != nil {
		return err
	}
	note, err := d.follow(ctx, v)
	if phrase.Personal(err) {
		if offered, err := d.decide.OfferAskFor(ctx, v, err); offered || err != nil {
			return err
		}
	}
	switch {
	case err != nil && !phrase.Personal(err):
		return err
	case v.Place.Channel == "":
		switch {
		case err != nil:
			v.Say("%s", phrase.Escape(phrase.Trim(err)))
		case v.Press == nil || v.Press.Do == button.DoReason && note != "":
			v.Say("%s", phrase.Escape(note))
		}
		return d.look.Home(ctx, v) // which shows what has become of it
	case err != nil:
		note = phrase.Trim(err)
	case v.Caps.Lines && v.Press != nil:
		note = "" // the decision is a line of its own
	}
	if a, ok := v.Adapter.(core.Answerer); ok && v.Callback != "" {
		if err := a.Answer(ctx, v.Callback, note); err != nil {
			d.cfg.Logger.Debug("cannot answer a press", "error", err)
		}
		return nil
	}
	if note != "" {
		v.Say("%s", phrase.Escape(note))
	}
	return nil
}

func (d *Desk) follow(ctx context.Context, v *visit.Visit) (note string, err error) {
	p := v.Press
	switch {
	case p == nil:
		return phrase.Gone, nil
	case p.For != "" && p.For != v.Person:
		return phrase.NotYours, nil
	case p.Do == button.DoAsk:
		return d.door.Ask(ctx, v)
	case p.Do == button.DoGrant:
		return d.door.Grant(ctx, v, *p)
	case v.Role < access.Viewer && p.Approval == "" && len(p.Approvals) == 0: // whose right to answer hangs on where it was asked
		return "", fmt.Errorf("%w: %s", core.ErrForbidden, phrase.NotIn)
	}
	if len(p.Approvals) > 0 {
		return d.decide.DecideAll(ctx, v, *p)
	}
	switch p.Do {
	case button.DoApprove:
		return d.decide.Decide(ctx, v, p.Approval, orders.Decision{State: core.Approved, Scope: decide.ScopeOf(*p), Wide: p.Wide})
	case button.DoDeny:
		return d.decide.Decide(ctx, v, p.Approval, orders.Decision{State: core.Denied, Scope: core.Once})
	case button.DoAskFor:
		return d.decide.AskFor(ctx, v, *p)
	case button.DoReason:
		return d.decide.AskReason(ctx, v, *p)
	case button.DoDenyWhy:
		return d.decide.DenyWhy(ctx, v, *p)
	case button.DoScope, button.DoConfirm:
		return "", d.decide.Twice(ctx, v, *p)
	case button.DoResume, button.DoCancel:
		return d.promptOrder(ctx, v, p.Prompt, p.Do)
	case button.DoRunHeld, button.DoDropHeld:
		return d.held(ctx, v, p.Session, p.Do == button.DoDropHeld)
	case button.DoMove:
		return "", d.move(ctx, v, *p)
	case button.DoRunLate, button.DoDropLate:
		asked := v.Message
		note, err := d.answerLate(ctx, v, *p)
		if err == nil && note != phrase.Gone {
			d.settled(ctx, v, asked, note)
		}
		return note, err
	case button.DoCommand:
		c, ok := grammar.Parse(p.Command)
		if !ok {
			return phrase.Gone, nil
		}
		return "", d.command(ctx, v, c)
	}
	return phrase.Gone, nil
}

// move takes a prompt back and gives it to another session.
func (d *Desk) move(ctx context.Context, v *visit.Visit, p button.Press) error {
	prompt, sess, err := d.s.Prompt(ctx, p.Prompt)
	if err != nil {
		return err
	}
	if err := v.MayOrder(prompt.Author); err != nil {
		return err
	}
	if p.Session != "" || p.New {
		sub := scheduler.Submission{Text: prompt.Text, Session: p.Session}
		if p.New {
			sub.New = &scheduler.NewSession{Workspace: sess.Workspace, Bind: true}
		}
		return d.submit(ctx, v, sub)
	}
	if _, err := d.s.Cancel(ctx, prompt.ID, v.Person); err != nil {
		if errors.Is(err, core.ErrRefused) {
			return fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(phrase.TooLate, prompt.Ref))
		}
		return err
	}
	views, err := d.s.List(ctx, state.ByPlace(v.Place), 8, false)
	if err != nil {
		return err
	}
	var bs button.Set
	pg := page.Page{Text: phrase.Where}
	for _, w := range views {
		if w.Session.ID != sess.ID {
			to := button.Press{Do: button.DoMove, Prompt: prompt.ID, Session: w.Session.ID, For: v.Person}
			pg.Rows = append(pg.Rows, []core.Button{bs.Add(phrase.Cut(string(w.Session.Ref)+" "+w.Session.Title, 40), "", to)})
		}
	}
	pg.Rows = append(pg.Rows, []core.Button{bs.Add(phrase.LabelNew, "", button.Press{Do: button.DoMove, Prompt: prompt.ID, New: true, For: v.Person})})
	if err := bs.Store(ctx, d.cfg.Store); err != nil {
		return err
	}
	v.Out = append(v.Out, pg)
	return nil
}

// atHome gives a visitor on their own page the role that they have where the session of a button is.
func (d *Desk) atHome(ctx context.Context, v *visit.Visit) error {
	if v.Place.Channel != "" || v.Press == nil || v.Press.Session == "" {
		return nil
	}
	views, err := d.s.Views(ctx, []core.SessionID{v.Press.Session})
	if err == nil && len(views) > 0 {
		v.Role = max(v.Role, d.cfg.Access.Role(v.Grants, v.Person, views[0].Session.Place))
	}
	return err
}
