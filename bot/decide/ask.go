package decide

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"paragents/bot/button"
	"paragents/bot/page"
	"paragents/bot/phrase"
	"paragents/bot/visit"
	"paragents/core"
	"paragents/core/access"
)

// maxDeciders is how many are asked for the answer to one question, where its author may not give it.
const maxDeciders = 3

// deciders are whom somebody can ask for the answer to an approval: its author, if they may decide it, else approvers of its place.
func (d *Desk) deciders(v *visit.Visit, a core.Approval) []core.Person {
	if d.cfg.Access.MayDecide(v.Grants, a.Author, a, core.Once) == nil {
		return []core.Person{a.Author}
	}
	var out []core.Person
	for _, p := range d.cfg.Access.Approvers(v.Grants, a.Place) {
		if p != a.Author && len(out) < maxDeciders {
			out = append(out, p)
		}
	}
	return out
}

// OfferAskFor tells somebody who may not decide, alone, who may, with a button that asks them; false: that cannot be shown here.
func (d *Desk) OfferAskFor(ctx context.Context, v *visit.Visit, why error) (bool, error) {
	id := core.ApprovalID("")
	if p := v.Press; p != nil {
		if id = p.Approval; id == "" && len(p.Approvals) > 0 {
			id = p.Approvals[0]
		}
	}
	if id == "" || !errors.Is(why, core.ErrForbidden) || !v.CanAsk() {
		return false, nil
	}
	a, err := d.s.Approval(ctx, id)
	if err != nil || a.State != core.Pending || max(v.Role, d.cfg.Access.Role(v.Grants, v.Person, a.Place)) < access.Viewer {
		return false, nil
	}
	people := d.deciders(v, a)
	if len(people) == 0 || d.cfg.Access.MayDecide(v.Grants, v.Person, a, core.Once) == nil { // only a wider yes is not theirs
		return false, nil
	}
	names := make([]string, len(people))
	for i, p := range people {
		names[i] = phrase.Called(ctx, v.Adapter, p)
	}
	who := strings.Join(names, ", ")
	var bs button.Set
	label := fmt.Sprintf(phrase.LabelAskFor, who)
	if len([]rune(label)) > 60 {
		label = phrase.LabelAskThem
	}
	pg := page.Page{Text: phrase.Escape(phrase.Trim(why))}
	if people[0] == a.Author {
		pg.Text = fmt.Sprintf(phrase.Decides, phrase.Escape(who))
	}
	pg.Rows = [][]core.Button{{bs.Add(label, "", button.Press{Do: button.DoAskFor, Approval: a.ID, Session: a.Session, For: v.Person})}}
	if err := bs.Store(ctx, d.cfg.Store); err != nil {
		return false, err
	}
	v.Out = append(v.Out, pg)
	return true, nil
}

// AskFor asks those who may decide for the answer to a question.
func (d *Desk) AskFor(ctx context.Context, v *visit.Visit, p button.Press) (string, error) {
	a, err := d.s.Approval(ctx, p.Approval)
	if err != nil {
		return "", err
	}
	return phrase.AskedThem, d.s.AskFor(ctx, a.ID, v.Person, d.deciders(v, a))
}
