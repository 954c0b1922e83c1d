package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"paragents/core"
	"paragents/core/access"
	"paragents/core/delivery"
	"paragents/core/scheduler"
	"paragents/core/state"
)

// pressed follows a button. The decision is stored before the platform hears of it; telling the platform is best effort.
func (d *Desk) pressed(ctx context.Context, v *visit) error {
	if err := d.atHome(ctx, v); err != nil {
		return err
	}
	note, err := d.follow(ctx, v)
	if personal(err) {
		if offered, err := d.offerAskFor(ctx, v, err); offered || err != nil {
			return err
		}
	}
	switch {
	case err != nil && !personal(err):
		return err
	case v.Place.Channel == "":
		switch {
		case err != nil:
			v.say("%s", escape(trim(err)))
		case v.press == nil || v.press.Do == doReason && note != "":
			v.say("%s", escape(note))
		}
		return d.home(ctx, v) // which shows what has become of it
	case err != nil:
		note = trim(err)
	case v.caps.Lines && v.press != nil:
		note = "" // the decision is a line of its own
	}
	if a, ok := v.adapter.(core.Answerer); ok && v.Callback != "" {
		if err := a.Answer(ctx, v.Callback, note); err != nil {
			d.cfg.Logger.Debug("cannot answer a press", "error", err)
		}
		return nil
	}
	if note != "" {
		v.say("%s", escape(note))
	}
	return nil
}

// personal reports whether an error is an answer to the person, and not a failure.
func personal(err error) bool {
	return errors.Is(err, core.ErrRefused) || errors.Is(err, core.ErrForbidden) || errors.Is(err, core.ErrDecided) || errors.Is(err, core.ErrNotFound)
}

func (d *Desk) follow(ctx context.Context, v *visit) (note string, err error) {
	p := v.press
	switch {
	case p == nil:
		return saysGone, nil
	case p.For != "" && p.For != v.Person:
		return saysNotYours, nil
	case p.Do == doAsk:
		return d.ask(ctx, v)
	case p.Do == doGrant:
		return d.grant(ctx, v, *p)
	case v.role < access.Viewer && p.Approval == "" && len(p.Approvals) == 0: // whose right to answer hangs on where it was asked
		return "", fmt.Errorf("%w: %s", core.ErrForbidden, saysNotIn)
	}
	if len(p.Approvals) > 0 {
		return d.decideAll(ctx, v, *p)
	}
	switch p.Do {
	case doApprove:
		return d.decide(ctx, v, p.Approval, scheduler.Decision{State: core.Approved, Scope: scopeOf(*p), Wide: p.Wide})
	case doDeny:
		return d.decide(ctx, v, p.Approval, scheduler.Decision{State: core.Denied, Scope: core.Once})
	case doAskFor:
		return d.askFor(ctx, v, *p)
	case doReason:
		return d.askReason(ctx, v, *p)
	case doDenyWhy:
		return d.denyWhy(ctx, v, *p)
	case doScope, doConfirm:
		return "", d.twice(ctx, v, *p)
	case doResume, doCancel:
		return d.promptOrder(ctx, v, p.Prompt, p.Do)
	case doRunHeld, doDropHeld:
		return d.held(ctx, v, p.Session, p.Do == doDropHeld)
	case doMove:
		return "", d.move(ctx, v, *p)
	case doRunLate, doDropLate:
		asked := v.Message
		note, err := d.answerLate(ctx, v, *p)
		if err == nil && note != saysGone {
			d.settled(ctx, v, asked, note)
		}
		return note, err
	case doCommand:
		c, ok := Parse(p.Command)
		if !ok {
			return saysGone, nil
		}
		return "", d.command(ctx, v, c)
	}
	return saysGone, nil
}

func scopeOf(p press) core.Scope {
	if p.Scope == "" {
		return core.Once
	}
	return p.Scope
}

// decide answers an approval for the visitor, if they may.
func (d *Desk) decide(ctx context.Context, v *visit, id core.ApprovalID, answer scheduler.Decision) (string, error) {
	a, err := d.s.Approval(ctx, id)
	if err != nil {
		return "", err
	}
	if err := d.mayDecide(ctx, v, a, answer.Scope); err != nil {
		return "", err
	}
	answer.By = v.Person
	a, err = d.s.Decide(ctx, id, answer)
	if err != nil {
		return "", err
	}
	return string(a.State), nil
}

// decideAll answers several approvals with one press: those that somebody else has answered meanwhile stay as they are.
func (d *Desk) decideAll(ctx context.Context, v *visit, p press) (string, error) {
	to := core.Approved
	if p.Do == doDeny {
		to = core.Denied
	}
	var first error
	n := 0
	for _, id := range p.Approvals {
		_, err := d.decide(ctx, v, id, scheduler.Decision{State: to, Scope: core.Once})
		switch {
		case err == nil:
			n++
		case !personal(err):
			return "", err
		case first == nil:
			first = err
		}
	}
	if n == 0 {
		return "", first
	}
	return fmt.Sprintf("%d %s", n, to), nil
}

// mayDecide says why the visitor may not answer an approval, if so, and notes that they tried.
func (d *Desk) mayDecide(ctx context.Context, v *visit, a core.Approval, scope core.Scope) error {
	if max(v.role, d.cfg.Access.Role(v.grants, v.Person, a.Place)) < access.Viewer {
		return fmt.Errorf("%w: %s", core.ErrForbidden, saysNotIn)
	}
	err := d.cfg.Access.MayDecide(v.grants, v.Person, a, scope)
	if err != nil {
		d.refusedPress(ctx, v, a, err)
	}
	return err
}

// refusedPress tells the audit log of somebody who pressed what they may not.
func (d *Desk) refusedPress(ctx context.Context, v *visit, a core.Approval, why error) {
	var b state.Batch
	b.Append(state.Audit, scheduler.Entry{Time: d.s.Now(), What: "refused press", Session: a.SessionRef, Prompt: a.PromptRef, Request: a.Ref, Who: v.Person,
		Tool: a.Action.Tool, Digest: a.Digest, Why: why.Error(), Trace: a.Trace})
	if _, err := b.Commit(ctx, d.cfg.Store); err != nil {
		d.cfg.Logger.Error("cannot write the audit log", "error", err)
	}
}

// twice asks once more, with everything that a wider or dangerous yes means in full.
func (d *Desk) twice(ctx context.Context, v *visit, p press) error {
	a, err := d.s.Approval(ctx, p.Approval)
	if err != nil {
		return err
	}
	if err := d.mayDecide(ctx, v, a, scopeOf(p)); err != nil {
		return err
	}
	if a.State != core.Pending {
		return a.To(core.Approved, v.Person, "", d.s.Now()) // says who was faster
	}
	yes := p
	yes.Do, yes.For = doApprove, v.Person
	var bs buttons
	var pg page
	if p.Do == doConfirm {
		pg.text = fmt.Sprintf(saysConfirm, code(a.Confirm))
		pg.rows = [][]core.Button{{bs.add(fmt.Sprintf(labelConfirm, cutRunes(a.Confirm, 40)), "danger", yes)}}
	} else {
		where := map[core.Scope]string{core.ForSession: "session", core.Always: "workspace"}[p.Scope]
		pg.text = fmt.Sprintf(saysWider, where, fence(strings.Join(a.Offers, "\n")))
		pg.rows = [][]core.Button{{bs.add(labelStore, "primary", yes)}}
		if len(a.Wider) > 0 {
			pg.text += fmt.Sprintf(saysWiderStill, fence(strings.Join(a.Wider, "\n")))
			yes.Wide = true
			pg.rows[0] = append(pg.rows[0], bs.add(labelStoreWide, "", yes))
		}
	}
	no := yes
	no.Do, no.Wide = doDeny, false
	pg.rows = append(pg.rows, []core.Button{bs.add(labelDeny, "danger", no)})
	var b state.Batch
	bs.put(&b)
	if _, err := b.Commit(ctx, d.cfg.Store); err != nil {
		return err
	}
	switch {
	case v.caps.Lines:
		pg.card = card(a)
	case v.Place.Platform == a.Place.Platform: // what is decided changes it where the approval's own card is changed
		pg.card = secondCard(a)
	}
	v.out = append(v.out, pg)
	return nil
}

// promptOrder resumes or cancels a prompt for its author, or an admin.
func (d *Desk) promptOrder(ctx context.Context, v *visit, id core.PromptID, do verb) (string, error) {
	p, _, err := d.s.Prompt(ctx, id)
	if err != nil {
		return "", err
	}
	if err := d.mayOrder(v, p.Author); err != nil {
		return "", err
	}
	if do == doCancel {
		_, err = d.s.Cancel(ctx, id, v.Person)
		return fmt.Sprintf(saysCancelled, p.Ref), err
	}
	_, err = d.resume(ctx, v, id)
	return fmt.Sprintf(saysResumed, p.Ref), err
}

// resume lets a prompt go on, and shows on its question, if it had one, that it is answered.
func (d *Desk) resume(ctx context.Context, v *visit, id core.PromptID) (core.Prompt, error) {
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
	c, _, err := state.Get[delivery.Card](ctx, d.cfg.Store, state.CardKey(questionCard(p.ID)))
	adapter, ok := d.cfg.adapter(c.Value.Place.Platform)
	if err != nil || !ok {
		return
	}
	caps := adapter.Capabilities()
	l := core.Letter{Event: core.Event{Session: s.Ref, Prompt: p.Ref, Title: s.Title}, Place: c.Value.Place}
	text := fmt.Sprintf(saysAnswered, code(string(p.Ref)), person(who))
	if !caps.Lines {
		text = escape(p.Question) + "\n\n" + text
	}
	ms := d.cfg.messages(page{head: d.screen.head(l, caps, core.Running), text: text}, caps, c.Value.Place)
	for _, m := range replacing(ms, questionCard(p.ID)) {
		if err := adapter.Edit(ctx, c.Value.ID, m); err != nil {
			d.cfg.Logger.Debug("cannot change an answered question", "error", err)
		}
	}
}

// move takes a prompt back and gives it to another session.
func (d *Desk) move(ctx context.Context, v *visit, p press) error {
	prompt, sess, err := d.s.Prompt(ctx, p.Prompt)
	if err != nil {
		return err
	}
	if err := d.mayOrder(v, prompt.Author); err != nil {
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
			return fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(saysTooLate, prompt.Ref))
		}
		return err
	}
	views, err := d.s.List(ctx, state.ByPlace(v.Place), 8, false)
	if err != nil {
		return err
	}
	var bs buttons
	pg := page{text: saysWhere}
	for _, w := range views {
		if w.Session.ID != sess.ID {
			to := press{Do: doMove, Prompt: prompt.ID, Session: w.Session.ID, For: v.Person}
			pg.rows = append(pg.rows, []core.Button{bs.add(cutRunes(string(w.Session.Ref)+" "+w.Session.Title, 40), "", to)})
		}
	}
	pg.rows = append(pg.rows, []core.Button{bs.add(labelNew, "", press{Do: doMove, Prompt: prompt.ID, New: true, For: v.Person})})
	var b state.Batch
	bs.put(&b)
	if _, err := b.Commit(ctx, d.cfg.Store); err != nil {
		return err
	}
	v.out = append(v.out, pg)
	return nil
}

// mayOrder says whether the visitor may direct what belongs to somebody.
func (d *Desk) mayOrder(v *visit, owner core.Person) error {
	if v.role >= access.Admin || v.role >= access.Operator && v.Person == owner {
		return nil
	}
	return fmt.Errorf("%w: this belongs to %s; they, or an admin, can do that", core.ErrForbidden, owner)
}

func (d *Desk) held(ctx context.Context, v *visit, id core.SessionID, drop bool) (string, error) {
	views, err := d.s.Views(ctx, []core.SessionID{id})
	if err != nil || len(views) == 0 {
		return "", errors.Join(err, core.ErrNotFound)
	}
	if err := d.mayOrder(v, views[0].Session.Owner); err != nil {
		return "", err
	}
	n, err := d.s.Release(ctx, id, v.Person, drop)
	if drop {
		return fmt.Sprintf(saysDropHeld, n), err
	}
	return fmt.Sprintf(saysRunHeld, n), err
}
