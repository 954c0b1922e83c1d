package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"paragents/core"
	"paragents/core/access"
	"paragents/core/delivery"
	"paragents/core/scheduler"
	"paragents/core/state"
)

// maxAsked is how many admins hear of one who asks to be let in.
const maxAsked = 5

// stranger tells somebody who may not, how access is given.
func (d *Desk) stranger(ctx context.Context, v *visit) error {
	if in, err := d.enter(ctx, v); in || err != nil {
		return err
	}
	if v.role > access.Nobody {
		v.say(saysNotEnough, access.Operator, v.role)
		return nil
	}
	switch {
	case v.canAsk() && !v.Place.Private:
		return d.offerAsking(ctx, v, saysMayAsk)
	case !v.Place.Private:
		return nil // where everybody would read the answer, only those who are let in get one
	}
	code, err := access.Offer(ctx, d.cfg.Store, access.Pairing{Person: v.Person, Name: v.Name, Place: v.Place})
	switch {
	case errors.Is(err, core.ErrRefused):
		v.say(saysError, escape(trim(err)))
	case err != nil:
		return err
	case v.canAsk():
		return d.offerAsking(ctx, v, fmt.Sprintf(saysStranger, "paragents pair "+code))
	default:
		v.say(saysStranger, "paragents pair "+code)
	}
	return nil
}

// offerAsking tells a stranger, alone, that they can ask to be let in.
func (d *Desk) offerAsking(ctx context.Context, v *visit, text string) error {
	var bs buttons
	pg := page{text: text, rows: [][]core.Button{{bs.add(labelAsk, "primary", press{Do: doAsk, For: v.Person})}}}
	var b state.Batch
	bs.put(&b)
	if _, err := b.Commit(ctx, d.cfg.Store); err != nil {
		return err
	}
	v.out = append(v.out, pg)
	return nil
}

// canAsk reports whether somebody can be shown a button alone at a place, and admins be written to.
func (v *visit) canAsk() bool {
	_, ok := v.adapter.(core.Director)
	return ok && v.caps.Whispers && v.caps.Buttons
}

// ask tells the admins of a place that the visitor wants to be let in: each alone, once a day.
func (d *Desk) ask(ctx context.Context, v *visit) (string, error) {
	if v.role > access.Nobody {
		return fmt.Sprintf(saysIsIn, v.role), nil
	}
	var admins []core.Person
	for _, p := range d.cfg.Access.Approvers(v.grants, v.Place) {
		if len(admins) < maxAsked && d.cfg.Access.Role(v.grants, p, v.Place) >= access.Admin {
			admins = append(admins, p)
		}
	}
	if len(admins) == 0 {
		code, err := access.Offer(ctx, d.cfg.Store, access.Pairing{Person: v.Person, Name: v.Name, Place: v.Place})
		return fmt.Sprintf(saysNoAdmin, "paragents pair "+code), err
	}
	replies := make([]reply, len(admins))
	asked := access.Asked{Person: v.Person, Name: v.Name, Place: v.Place, Admins: admins}
	where := fmt.Sprintf(saysOnlyIn, code(v.Place.Channel))
	if v.Place.Private {
		where = saysAlone
	}
	first, err := access.Ask(ctx, d.cfg.Store, asked, func(b *state.Batch) {
		b.Append(state.Audit, scheduler.Entry{Time: d.s.Now(), What: "access asked", Who: v.Person, Why: "at " + v.Place.Key()})
		for i, admin := range admins {
			var bs buttons
			grant := func(label, style string, role access.Role) core.Button {
				return bs.add(label, style, press{Do: doGrant, Asker: v.Person, At: v.Place, Role: role.String()})
			}
			pg := page{text: fmt.Sprintf(saysAsksAccess, escape(v.Name), code(string(v.Person)), where), card: askCard(v.Person, admin)}
			pg.rows = [][]core.Button{{grant(labelViewer, "", access.Viewer), grant(labelOperator, "primary", access.Operator)}, {grant(labelNo, "danger", access.Nobody)}}
			bs.put(b)
			replies[i] = reply{adapter: v.adapter, direct: admin, messages: d.cfg.messages(pg, v.caps, core.Place{Platform: v.Place.Platform, Space: v.Place.Space})}
		}
	})
	switch {
	case err != nil:
		return "", err
	case !first:
		return saysAskedAlready, nil
	}
	for _, r := range replies {
		if !d.queue(ctx, r) {
			break
		}
	}
	return saysAsked, nil
}

func askCard(asker, admin core.Person) string { return "access/" + string(asker) + "/" + string(admin) }

// grant lets somebody in who asked, or says no: everywhere by who is admin everywhere, else where they asked. All admins see what became of it, and who asked is told.
func (d *Desk) grant(ctx context.Context, v *visit, p press) (string, error) {
	if d.cfg.Access.Role(v.grants, v.Person, p.At) < access.Admin {
		return "", fmt.Errorf("%w: %s", core.ErrForbidden, saysOnlyAdmins)
	}
	role := access.Nobody
	if p.Role != access.Nobody.String() {
		var err error
		if role, err = access.ParseRole(p.Role); err != nil {
			return "", err
		}
	}
	everywhere := d.cfg.Access.Role(v.grants, v.Person, core.Place{Platform: p.At.Platform}) >= access.Admin
	where := saysEverywhere
	if !everywhere {
		where = fmt.Sprintf(saysOnlyIn, p.At.Channel)
	}
	asked, err := access.Answer(ctx, d.cfg.Store, p.Asker, role, v.Person, everywhere, func(b *state.Batch, a access.Asked) {
		b.Append(state.Audit, scheduler.Entry{Time: a.At, What: "access answered", Who: v.Person, Outcome: string(a.Person) + " is " + role.String() + " " + where})
	})
	if err != nil {
		return "", err
	}
	outcome := fmt.Sprintf(saysGranted, escape(asked.Name), code(string(asked.Person)), role, escape(where), person(v.Person))
	adapter, ok := d.cfg.adapter(p.At.Platform)
	if !ok {
		return "", nil
	}
	caps := adapter.Capabilities()
	told := fmt.Sprintf(saysLetIn, person(v.Person), role, escape(where))
	switch role {
	case access.Nobody:
		outcome = fmt.Sprintf(saysRefused, escape(asked.Name), code(string(asked.Person)), person(v.Person))
		told = saysNotLetIn
	case access.Viewer:
		told += fmt.Sprintf(saysNowLook, caps.Slash)
	default:
		told += saysNowWrite
	}
	d.queue(ctx, reply{also: func(ctx context.Context) error { return d.showAnswer(ctx, adapter, asked, outcome) }})
	d.queue(ctx, reply{adapter: adapter, direct: asked.Person,
		messages: d.cfg.messages(page{text: told}, caps, core.Place{Platform: p.At.Platform, Space: p.At.Space})})
	return "", nil
}

// showAnswer puts what became of a wish in place of the question, wherever that stands.
func (d *Desk) showAnswer(ctx context.Context, adapter core.Adapter, asked access.Asked, outcome string) error {
	var errs []error
	for _, admin := range asked.Admins {
		c, _, err := state.Get[delivery.Card](ctx, d.cfg.Store, state.CardKey(askCard(asked.Person, admin)))
		if err != nil || c.Value.ID == "" {
			errs = append(errs, err)
			continue
		}
		for _, m := range d.cfg.messages(page{text: outcome}, adapter.Capabilities(), c.Value.Place) {
			errs = append(errs, adapter.Edit(ctx, c.Value.ID, m))
		}
	}
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool { return err == nil })...)
}
