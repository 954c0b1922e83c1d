// Package door lets people in: by a code, or by an admin whom they ask.
package door

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"paragents/bot/button"
	"paragents/bot/page"
	"paragents/bot/phrase"
	"paragents/bot/reply"
	"paragents/bot/setting"
	"paragents/bot/visit"
	"paragents/core"
	"paragents/core/access"
	"paragents/core/audit"
	"paragents/core/delivery"
	"paragents/core/scheduler"
	"paragents/core/state"
)

// maxAsked is how many admins hear of one who asks to be let in.
const maxAsked = 5

// Stranger tells somebody who may not, how access is given.
func (d *Desk) Stranger(ctx context.Context, v *visit.Visit) error {
	if in, err := d.enter(ctx, v); in || err != nil {
		return err
	}
	if v.Role > access.Nobody {
		v.Say(phrase.NotEnough, access.Operator, v.Role)
		return nil
	}
	switch {
	case v.CanAsk() && !v.Place.Private:
		return d.offerAsking(ctx, v, phrase.MayAsk)
	case !v.Place.Private:
		return nil // where everybody would read the answer, only those who are let in get one
	}
	code, err := access.Offer(ctx, d.cfg.Store, access.Pairing{Person: v.Person, Name: v.Name, Place: v.Place})
	switch {
	case errors.Is(err, core.ErrRefused):
		v.Say(phrase.Error, phrase.Escape(phrase.Trim(err)))
	case err != nil:
		return err
	case v.CanAsk():
		return d.offerAsking(ctx, v, fmt.Sprintf(phrase.Stranger, "paragents pair "+code))
	default:
		v.Say(phrase.Stranger, "paragents pair "+code)
	}
	return nil
}

// offerAsking tells a stranger, alone, that they can ask to be let in.
func (d *Desk) offerAsking(ctx context.Context, v *visit.Visit, text string) error {
	var bs button.Set
	pg := page.Page{Text: text, Rows: [][]core.Button{{bs.Add(phrase.LabelAsk, "primary", button.Press{Do: button.DoAsk, For: v.Person})}}}
	if err := bs.Store(ctx, d.cfg.Store); err != nil {
		return err
	}
	v.Out = append(v.Out, pg)
	return nil
}

// Ask tells the admins of a place that the visitor wants to be let in: each alone, once a day.
func (d *Desk) Ask(ctx context.Context, v *visit.Visit) (string, error) {
	if v.Role > access.Nobody {
		return fmt.Sprintf(phrase.IsIn, v.Role), nil
	}
	var admins []core.Person
	for _, p := range d.cfg.Access.Approvers(v.Grants, v.Place) {
		if len(admins) < maxAsked && d.cfg.Access.Role(v.Grants, p, v.Place) >= access.Admin {
			admins = append(admins, p)
		}
	}
	if len(admins) == 0 {
		code, err := access.Offer(ctx, d.cfg.Store, access.Pairing{Person: v.Person, Name: v.Name, Place: v.Place})
		return fmt.Sprintf(phrase.NoAdmin, "paragents pair "+code), err
	}
	replies := make([]reply.Reply, len(admins))
	asked := access.Asked{Person: v.Person, Name: v.Name, Place: v.Place, Admins: admins}
	where := fmt.Sprintf(phrase.OnlyIn, phrase.Code(v.Place.Channel))
	if v.Place.Private {
		where = phrase.Alone
	}
	first, err := access.Ask(ctx, d.cfg.Store, asked, func(b *state.Batch) {
		b.Append(state.Audit, audit.Entry{Time: d.s.Now(), What: "access asked", Who: v.Person, Why: "at " + v.Place.Key()})
		for i, admin := range admins {
			var bs button.Set
			grant := func(label, style string, role access.Role) core.Button {
				return bs.Add(label, style, button.Press{Do: button.DoGrant, Asker: v.Person, At: v.Place, Role: role.String()})
			}
			pg := page.Page{Text: fmt.Sprintf(phrase.AsksAccess, phrase.Escape(v.Name), phrase.Code(string(v.Person)), where), Card: askCard(v.Person, admin)}
			pg.Rows = [][]core.Button{{grant(phrase.LabelViewer, "", access.Viewer), grant(phrase.LabelOperator, "primary", access.Operator)}, {grant(phrase.LabelNo, "danger", access.Nobody)}}
			bs.Put(b)
			replies[i] = reply.Reply{Adapter: v.Adapter, Direct: admin, Messages: page.Messages(pg, v.Caps, core.Place{Platform: v.Place.Platform, Space: v.Place.Space})}
		}
	})
	switch {
	case err != nil:
		return "", err
	case !first:
		return phrase.AskedAlready, nil
	}
	for _, r := range replies {
		if !d.replies.Add(ctx, r) {
			break
		}
	}
	return phrase.Asked, nil
}

func askCard(asker, admin core.Person) string { return "access/" + string(asker) + "/" + string(admin) }

// Grant lets somebody in who asked, or says no: everywhere by who is admin everywhere, else where they asked. All admins see what became of it, and who asked is told.
func (d *Desk) Grant(ctx context.Context, v *visit.Visit, p button.Press) (string, error) {
	if d.cfg.Access.Role(v.Grants, v.Person, p.At) < access.Admin {
		return "", fmt.Errorf("%w: %s", core.ErrForbidden, phrase.OnlyAdmins)
	}
	role := access.Nobody
	if p.Role != access.Nobody.String() {
		var err error
		if role, err = access.ParseRole(p.Role); err != nil {
			return "", err
		}
	}
	everywhere := d.cfg.Access.Role(v.Grants, v.Person, core.Place{Platform: p.At.Platform}) >= access.Admin
	where := phrase.Everywhere
	if !everywhere {
		where = fmt.Sprintf(phrase.OnlyIn, p.At.Channel)
	}
	asked, err := access.Answer(ctx, d.cfg.Store, p.Asker, role, v.Person, everywhere, func(b *state.Batch, a access.Asked) {
		b.Append(state.Audit, audit.Entry{Time: a.At, What: "access answered", Who: v.Person, Outcome: string(a.Person) + " is " + role.String() + " " + where})
	})
	if err != nil {
		return "", err
	}
	outcome := fmt.Sprintf(phrase.Granted, phrase.Escape(asked.Name), phrase.Code(string(asked.Person)), role, phrase.Escape(where), phrase.Person(v.Person))
	adapter, ok := d.cfg.Adapter(p.At.Platform)
	if !ok {
		return "", nil
	}
	caps := adapter.Capabilities()
	told := fmt.Sprintf(phrase.LetIn, phrase.Person(v.Person), role, phrase.Escape(where))
	switch role {
	case access.Nobody:
		outcome = fmt.Sprintf(phrase.Refused, phrase.Escape(asked.Name), phrase.Code(string(asked.Person)), phrase.Person(v.Person))
		told = phrase.NotLetIn
	case access.Viewer:
		told += fmt.Sprintf(phrase.NowLook, caps.Slash)
	default:
		told += phrase.NowWrite
	}
	d.replies.Add(ctx, reply.Reply{Also: func(ctx context.Context) error { return d.showAnswer(ctx, adapter, asked, outcome) }})
	d.replies.Add(ctx, reply.Reply{Adapter: adapter, Direct: asked.Person,
		Messages: page.Messages(page.Page{Text: told}, caps, core.Place{Platform: p.At.Platform, Space: p.At.Space})})
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
		for _, m := range page.Messages(page.Page{Text: outcome}, adapter.Capabilities(), c.Value.Place) {
			errs = append(errs, adapter.Edit(ctx, c.Value.ID, m))
		}
	}
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool { return err == nil })...)
}

// Desk lets people in.
type Desk struct {
	cfg     setting.Config
	s       *scheduler.Scheduler
	replies *reply.Queue
}

// New makes the desk.
func New(cfg setting.Config, s *scheduler.Scheduler, replies *reply.Queue) *Desk {
	return &Desk{cfg: cfg, s: s, replies: replies}
}
