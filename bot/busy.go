package bot

import (
	"context"
	"fmt"
	"slices"

	"paragents/bot/button"
	"paragents/bot/page"
	"paragents/bot/phrase"
	"paragents/bot/setting"
	"paragents/bot/visit"
	"paragents/core"
	"paragents/core/access"
	"paragents/core/scheduler"
	"paragents/core/state"
)

// What a message to a session at work does, by its workspace. Everything else queues.
const (
	busySteer     = "steer"     // the running prompt is given it at its next step
	busyInterrupt = "interrupt" // the running prompt is cancelled, and it runs next
)

// busy is what the workspace says.
func (d *Desk) busy(workspace string) string {
	for _, w := range d.cfg.Workspaces {
		if w.Name == workspace {
			return w.Busy
		}
	}
	return ""
}

// maySteer reports whether a message could be given to a running prompt; files and albums are prompts of their own.
func (d *Desk) maySteer(sub scheduler.Submission, v *visit.Visit) bool {
	return sub.Session != "" && v.Group == "" && len(v.Files) == 0 && slices.ContainsFunc(d.cfg.Workspaces, func(w setting.Workspace) bool { return w.Busy == busySteer })
}

// steered gives a message to the session's running prompt, where the workspace says so and the prompt is the visitor's to direct. The event is remembered with it.
func (d *Desk) steered(ctx context.Context, v *visit.Visit, sub scheduler.Submission) (bool, error) {
	p, ok, err := d.atWork(ctx, v, sub.Session, busySteer)
	if err != nil || !ok {
		return false, err
	}
	p, err = d.s.SteerOnce(ctx, p.ID, v.Person, sub.Text, v.ID)
	switch {
	case phrase.Personal(err): // it has ended meanwhile, or can take no more
		return false, nil
	case err != nil:
		return false, err
	}
	if !d.replies.React(ctx, v.Adapter, v.Place, v.Message, "seen") {
		v.Say(phrase.Steered, phrase.Code(string(p.Ref)))
		d.answer(ctx, v)
	}
	return true, nil
}

// whichSession says where a text went, when the person has more than one session open here, and lets them take it back.
func (d *Desk) whichSession(ctx context.Context, v *visit.Visit, a scheduler.Accepted) {
	views, err := d.s.List(ctx, state.ByPlace(v.Place), 2, false)
	if err != nil || len(views) < 2 {
		return
	}
	var bs button.Set
	pg := page.Page{Text: fmt.Sprintf(phrase.To, phrase.Escape(a.Session.Title), a.Session.Ref)}
	pg.Rows = [][]core.Button{{bs.Add(phrase.LabelNotThis, "", button.Press{Do: button.DoMove, Prompt: a.Prompt.ID, For: v.Person})}}
	if err := bs.Store(ctx, d.cfg.Store); err == nil {
		v.Out = append(v.Out, pg)
	}
}

// interrupt cancels what runs before a prompt that was just accepted, where the workspace says so.
func (d *Desk) interrupt(ctx context.Context, v *visit.Visit, a scheduler.Accepted) {
	if d.busy(a.Session.Workspace) != busyInterrupt {
		return
	}
	p, ok, err := d.atWork(ctx, v, a.Session.ID, busyInterrupt)
	if err == nil && ok && p.ID != a.Prompt.ID {
		_, err = d.s.Cancel(ctx, p.ID, v.Person)
	}
	if err != nil && !phrase.Personal(err) { // it is queued all the same
		d.cfg.Logger.Warn("cannot interrupt a prompt", "session", a.Session.Ref, "error", err)
	}
}

// atWork is the session's first unfinished prompt, if its workspace treats messages in that way and the visitor may direct it.
func (d *Desk) atWork(ctx context.Context, v *visit.Visit, id core.SessionID, how string) (core.Prompt, bool, error) {
	views, err := d.s.Views(ctx, []core.SessionID{id})
	if err != nil || len(views) == 0 {
		return core.Prompt{}, false, err
	}
	w := views[0].Session
	if d.busy(w.Workspace) != how || w.Closed || len(w.Queue) == 0 {
		return core.Prompt{}, false, nil
	}
	p, _, err := d.s.Prompt(ctx, w.Queue[0])
	if err != nil {
		return p, false, err
	}
	started := p.State == core.Running || p.State == core.Waiting
	return p, started && (p.Author == v.Person || v.Role >= access.Admin), nil
}
