package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paragents/core"
	"paragents/core/access"
	"paragents/core/scheduler"
	"paragents/core/state"
)

// Entered is what the audit log says of somebody who was let in by a code that the terminal showed.
func Entered(in access.Invitation) scheduler.Entry {
	return scheduler.Entry{Time: time.Now().UTC(), What: "invited", Who: in.By, Outcome: string(in.Used) + " is " + in.Role.String()}
}

// Welcomed is what somebody reads whom a code has let in.
func Welcomed(role access.Role, caps core.Capabilities) string {
	return fmt.Sprintf(saysWelcomed, role, caps.Slash)
}

// enter lets the visitor in if their message is a code that the terminal showed; false: it is something else.
func (d *Desk) enter(ctx context.Context, v *visit) (bool, error) {
	code := access.CodeIn(v.Text)
	if code == "" || v.Kind != core.InMessage || !v.Place.Private {
		return false, nil
	}
	in, err := access.Enter(ctx, d.cfg.Store, code, v.Person, v.Name, func(b *state.Batch, in access.Invitation) { b.Append(state.Audit, Entered(in)) })
	if errors.Is(err, core.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		v.say("%s", Welcomed(in.Role, v.caps))
	}
	return err == nil, err
}
