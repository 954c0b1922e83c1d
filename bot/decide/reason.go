package decide

import (
	"context"
	"fmt"
	"strings"
	"time"

	"paragents/bot/button"
	"paragents/bot/grammar"
	"paragents/bot/phrase"
	"paragents/bot/visit"
	"paragents/core"
	"paragents/core/access"
	"paragents/core/orders"
)

const (
	maxReason = 500             // characters of why somebody says no
	formWait  = 2 * time.Second // for a form to be shown: the platform waits for the press to be taken
)

// AskReason asks why the visitor says no: with a form where there are some and this press can still show one, else by saying how it is typed.
func (d *Desk) AskReason(ctx context.Context, v *visit.Visit, p button.Press) (string, error) {
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
	typed := fmt.Sprintf(phrase.ReasonTyped, v.Caps.Slash, a.Ref)
	asker, ok := v.Adapter.(core.Asker)
	if !ok || v.Callback == "" {
		return typed, nil
	}
	var bs button.Set
	token := bs.Add("", "", button.Press{Do: button.DoDenyWhy, Approval: a.ID, Session: a.Session, Prompt: a.Prompt, For: v.Person}).Token
	if err := bs.Store(ctx, d.cfg.Store); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, formWait)
	defer cancel()
	form := core.Form{Place: v.Place, Title: phrase.LabelDeny + " " + string(a.Ref), Label: phrase.WhyNot, Submit: phrase.LabelDeny, Max: maxReason, Token: token}
	if err := asker.Ask(ctx, v.Callback, form); err != nil {
		d.cfg.Logger.Warn("cannot ask for a reason", "request", a.Ref, "error", err)
		return typed, nil
	}
	return "", nil
}

// DenyWhy says no with what was filled in. Whether the person may is asked again: much can have happened since the form was shown.
func (d *Desk) DenyWhy(ctx context.Context, v *visit.Visit, p button.Press) (string, error) {
	if v.Kind != core.InForm {
		return phrase.Gone, nil
	}
	_, err := d.Decide(ctx, v, p.Approval, orders.Decision{State: core.Denied, Scope: core.Once, Reason: strings.TrimSpace(phrase.Cut(v.Text, maxReason))})
	return "", err // the card shows it
}

// DecidesHere reports whether somebody may type an answer although they have too small a role where they are: what they may answer was asked elsewhere.
func (d *Desk) DecidesHere(ctx context.Context, v *visit.Visit, c grammar.Command) bool {
	if v.Role >= access.Operator || c.Name != "approve" && c.Name != "deny" && c.Name != "approvals" {
		return false
	}
	list, err := d.find.Candidates(ctx, v, "approve")
	return err == nil && len(list) > 0
}
