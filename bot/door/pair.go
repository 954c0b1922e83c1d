package door

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paragents/bot/grammar"
	"paragents/bot/phrase"
	"paragents/bot/visit"
	"paragents/core"
	"paragents/core/access"
	"paragents/core/audit"
	"paragents/core/state"
	"paragents/store"
)

func (d *Desk) Pair(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	if len(c.Args) == 0 {
		return fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(phrase.NeedsText, v.Caps.Slash, grammar.Usage(c.Name)))
	}
	role := access.Operator
	if len(c.Args) > 1 {
		var err error
		if role, err = access.ParseRole(c.Args[1]); err != nil {
			return err
		}
	}
	p, err := Pair(ctx, d.cfg.Store, c.Args[0], role, v.Person)
	if err == nil {
		v.Say(phrase.Paired, phrase.Escape(p.Name), phrase.Escape(string(p.Person)), role)
	}
	return err
}

// Entered is what the audit log says of somebody who was let in by a code that the terminal showed.
func Entered(in access.Invitation) audit.Entry {
	return audit.Entry{Time: time.Now().UTC(), What: "invited", Who: in.By, Outcome: string(in.Used) + " is " + in.Role.String()}
}

// Welcomed is what somebody reads whom a code has let in.
func Welcomed(role access.Role, caps core.Capabilities) string {
	return fmt.Sprintf(phrase.Welcomed, role, caps.Slash)
}

// enter lets the visitor in if their message is a code that the terminal showed; false: it is something else.
func (d *Desk) enter(ctx context.Context, v *visit.Visit) (bool, error) {
	code := access.CodeIn(v.Text)
	if code == "" || v.Kind != core.InMessage || !v.Place.Private {
		return false, nil
	}
	in, err := access.Enter(ctx, d.cfg.Store, code, v.Person, v.Name, func(b *state.Batch, in access.Invitation) { b.Append(state.Audit, Entered(in)) })
	if errors.Is(err, core.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		v.Say("%s", Welcomed(in.Role, v.Caps))
	}
	return err == nil, err
}

// Access takes everything away from a person.
func (d *Desk) Access(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	if len(c.Args) != 2 || c.Args[0] != "revoke" {
		return fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(phrase.NeedsText, v.Caps.Slash, grammar.Usage(c.Name)))
	}
	whom := core.Person(c.Args[1])
	n, err := d.s.Revoke(ctx, whom, v.Person, d.cfg.Names(), func(b *state.Batch) error { return access.Without(ctx, d.cfg.Store, b, whom) })
	if err != nil {
		return err
	}
	v.Say(phrase.AccessGone, phrase.Escape(string(whom)), n)
	if d.cfg.Access.Role(access.Grants{}, whom, v.Place) > access.Nobody {
		v.Say(phrase.StillConfigured, phrase.Escape(string(whom)))
	}
	return nil
}

// Pair redeems a pairing code for an admin.
func Pair(ctx context.Context, s store.Store, code string, role access.Role, admin core.Person) (access.Pairing, error) {
	return access.Redeem(ctx, s, code, role, func(b *state.Batch, p access.Pairing) {
		b.Append(state.Audit, audit.Entry{Time: time.Now().UTC(), What: "paired", Who: admin, Outcome: string(p.Person) + " is " + role.String()})
	})
}
