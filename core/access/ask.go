package access

import (
	"context"
	"fmt"
	"time"

	"paragents/core"
	"paragents/core/state"
	"paragents/store"
)

// AskKept is how long somebody who has asked to be let in cannot ask again, and how long an admin can answer.
const AskKept = 24 * time.Hour

// Asked is that somebody wants to be let in, and what became of it.
type Asked struct {
	Person core.Person   `json:"person"`
	Name   string        `json:"name"`
	Place  core.Place    `json:"place"`  // where they asked
	Admins []core.Person `json:"admins"` // who were told

	By   core.Person `json:"by,omitempty"` // who answered
	Role Role        `json:"role,omitempty"`
	At   time.Time   `json:"at,omitzero"`
}

// Ask writes down that a person asks to be let in, together with what else belongs to that. It reports false, and does nothing, when they have asked within AskKept.
func Ask(ctx context.Context, s store.Store, a Asked, also func(*state.Batch)) (bool, error) {
	b := &state.Batch{}
	key := state.AskedKey(a.Person)
	b.Expect(key, 0)
	b.Put(key, a, AskKept)
	also(b)
	_, err := b.Commit(ctx, s)
	if conflict(err) {
		return false, nil
	}
	return err == nil, err
}

// Answer gives whoever asked a role, everywhere or only where they asked; Nobody is a no, and takes nothing away. The first answer counts: another is
// core.ErrDecided with who gave it, and one that comes after AskKept core.ErrNotFound.
func Answer(ctx context.Context, s store.Store, who core.Person, role Role, by core.Person, everywhere bool, audit func(*state.Batch, Asked)) (Asked, error) {
	key := state.AskedKey(who)
	for {
		asked, now, err := state.Get[Asked](ctx, s, key)
		if err != nil {
			return Asked{}, err
		}
		a := asked.Value
		switch {
		case !asked.Exists():
			return a, fmt.Errorf("%w: that was asked more than a day ago; they can ask again", core.ErrNotFound)
		case a.By != "":
			return a, fmt.Errorf("%w: %s answered at %s", core.ErrDecided, a.By, a.At.UTC().Format("15:04:05"))
		}
		grants, _, err := state.Get[Grants](ctx, s, state.AccessKey)
		if err != nil {
			return a, err
		}
		a.By, a.Role, a.At = by, role, now
		b := &state.Batch{}
		b.Durable = true
		b.Expect(key, asked.Version)
		b.Put(key, a, AskKept)
		if role > Nobody {
			b.Update(state.AccessKey, grants.Version, grants.Value.with(who, role, a.Place, everywhere))
		}
		audit(b, a)
		if _, err = b.Commit(ctx, s); err == nil || !conflict(err) {
			return a, err
		}
	}
}

// with is the grants with a role more, which lowers none that there is.
func (g Grants) with(who core.Person, role Role, place core.Place, everywhere bool) Grants {
	roles := g.Everywhere
	if !everywhere {
		roles = g.Places[PlaceKey(place)]
	}
	if roles == nil {
		roles = Roles{}
	}
	roles[who] = max(roles[who], role)
	if everywhere {
		g.Everywhere = roles
		return g
	}
	if g.Places == nil {
		g.Places = map[string]Roles{}
	}
	g.Places[PlaceKey(place)] = roles
	return g
}
