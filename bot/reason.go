package bot

import (
	"context"
	"fmt"
	"strings"
	"time"

	"paragents/core"
	"paragents/core/access"
	"paragents/core/scheduler"
	"paragents/core/state"
)

const (
	maxReason = 500             // characters of why somebody says no
	formWait  = 2 * time.Second // for a form to be shown: the platform waits for the press to be taken
)

// askReason asks why the visitor says no: with a form where there are some and this press can still show one, else by saying how it is typed.
func (d *Desk) askReason(ctx context.Context, v *visit, p press) (string, error) {
	a, err := d.s.Approval(ctx, p.Approval)
	if err != nil {
		return "", err
	}
	if err := d.mayDecide(ctx, v, a, core.Once); err != nil {
		return "", err
	}
	if a.State != core.Pending {
		return "", a.To(core.Denied, v.Person, "", d.s.Now()) // says who was faster
	}
	typed := fmt.Sprintf(saysReasonTyped, v.caps.Slash, a.Ref)
	asker, ok := v.adapter.(core.Asker)
	if !ok || v.Callback == "" {
		return typed, nil
	}
	token := newToken()
	var b state.Batch
	b.Put(state.ButtonKey(token), press{Do: doDenyWhy, Approval: a.ID, Session: a.Session, Prompt: a.Prompt, For: v.Person}, buttonKept)
	if _, err := b.Commit(ctx, d.cfg.Store); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, formWait)
	defer cancel()
	form := core.Form{Place: v.Place, Title: labelDeny + " " + string(a.Ref), Label: saysWhyNot, Submit: labelDeny, Max: maxReason, Token: token}
	if err := asker.Ask(ctx, v.Callback, form); err != nil {
		d.cfg.Logger.Warn("cannot ask for a reason", "request", a.Ref, "error", err)
		return typed, nil
	}
	return "", nil
}

// denyWhy says no with what was filled in. Whether the person may is asked again: much can have happened since the form was shown.
func (d *Desk) denyWhy(ctx context.Context, v *visit, p press) (string, error) {
	if v.Kind != core.InForm {
		return saysGone, nil
	}
	_, err := d.decide(ctx, v, p.Approval, scheduler.Decision{State: core.Denied, Scope: core.Once, Reason: strings.TrimSpace(cutRunes(v.Text, maxReason))})
	return "", err // the card shows it
}

// decidesHere reports whether somebody may type an answer although they have too small a role where they are: what they may answer was asked elsewhere.
func (d *Desk) decidesHere(ctx context.Context, v *visit, c Command) bool {
	if v.role >= access.Operator || c.Name != "approve" && c.Name != "deny" && c.Name != "approvals" {
		return false
	}
	list, err := d.candidates(ctx, v, "approve")
	return err == nil && len(list) > 0
}
