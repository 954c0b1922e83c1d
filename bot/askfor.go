package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"paragents/core"
	"paragents/core/access"
	"paragents/core/state"
)

// maxDeciders is how many are asked for the answer to one question, where its author may not give it.
const maxDeciders = 3

// deciders are whom somebody can ask for the answer to an approval: its author, if they may decide it, else approvers of its place.
func (d *Desk) deciders(v *visit, a core.Approval) []core.Person {
	if d.cfg.Access.MayDecide(v.grants, a.Author, a, core.Once) == nil {
		return []core.Person{a.Author}
	}
	var out []core.Person
	for _, p := range d.cfg.Access.Approvers(v.grants, a.Place) {
		if p != a.Author && len(out) < maxDeciders {
			out = append(out, p)
		}
	}
	return out
}

// offerAskFor tells somebody who may not decide, alone, who may, with a button that asks them; false: that cannot be shown here.
func (d *Desk) offerAskFor(ctx context.Context, v *visit, why error) (bool, error) {
	id := core.ApprovalID("")
	if p := v.press; p != nil {
		if id = p.Approval; id == "" && len(p.Approvals) > 0 {
			id = p.Approvals[0]
		}
	}
	if id == "" || !errors.Is(why, core.ErrForbidden) || !v.canAsk() {
		return false, nil
	}
	a, err := d.s.Approval(ctx, id)
	if err != nil || a.State != core.Pending || max(v.role, d.cfg.Access.Role(v.grants, v.Person, a.Place)) < access.Viewer {
		return false, nil
	}
	people := d.deciders(v, a)
	if len(people) == 0 || d.cfg.Access.MayDecide(v.grants, v.Person, a, core.Once) == nil { // only a wider yes is not theirs
		return false, nil
	}
	names := make([]string, len(people))
	for i, p := range people {
		names[i] = called(ctx, v.adapter, p)
	}
	who := strings.Join(names, ", ")
	var bs buttons
	label := fmt.Sprintf(labelAskFor, who)
	if len([]rune(label)) > 60 {
		label = labelAskThem
	}
	pg := page{text: escape(trim(why))}
	if people[0] == a.Author {
		pg.text = fmt.Sprintf(saysDecides, escape(who))
	}
	pg.rows = [][]core.Button{{bs.add(label, "", press{Do: doAskFor, Approval: a.ID, Session: a.Session, For: v.Person})}}
	var b state.Batch
	bs.put(&b)
	if _, err := b.Commit(ctx, d.cfg.Store); err != nil {
		return false, err
	}
	v.out = append(v.out, pg)
	return true, nil
}

// askFor asks those who may decide for the answer to a question.
func (d *Desk) askFor(ctx context.Context, v *visit, p press) (string, error) {
	a, err := d.s.Approval(ctx, p.Approval)
	if err != nil {
		return "", err
	}
	return saysAskedThem, d.s.AskFor(ctx, a.ID, v.Person, d.deciders(v, a))
}

// called is how people know a person: by the name that the platform shows, which may change hands, and by the id, which does not.
func called(ctx context.Context, adapter core.Adapter, p core.Person) string {
	if n, ok := adapter.(core.Namer); ok && p != "" {
		if name := n.Called(ctx, p); name != "" {
			return name + " (" + p.ID() + ")"
		}
	}
	return p.ID()
}

func (s *Screen) called(ctx context.Context, p core.Person) string {
	adapter, _ := s.cfg.adapter(p.Platform())
	return called(ctx, adapter, p)
}
