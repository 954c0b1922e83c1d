// Package access says who may do what: people by stable ids, roles that build on each other, everywhere and in single places.
//
// Roles come from the configuration and from one document of the store (pairing, grants), which is read with every inbound event, so that a change counts at
// once and on every replica.
package access

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"paragents/core"
	"paragents/core/state"
	"paragents/store"
)

// Role is what a person may do; each includes those before it.
type Role int

const (
	Nobody   Role = iota // nothing
	Viewer               // look
	Operator             // write prompts, and decide what they ask for
	Approver             // decide what others' prompts ask for
	Admin                // everything
)

var names = []string{"nobody", "viewer", "operator", "approver", "admin"}

func (r Role) String() string {
	if r < 0 || int(r) >= len(names) {
		return fmt.Sprintf("role %d", int(r))
	}
	return names[r]
}

// ParseRole reads a role's name.
func ParseRole(s string) (Role, error) {
	if i := slices.Index(names, strings.ToLower(s)); i > 0 {
		return Role(i), nil
	}
	return Nobody, fmt.Errorf("%w: there is no role %q; the roles are viewer, operator, approver and admin", core.ErrRefused, s)
}

// Roles gives people roles. "platform:*" is everybody there.
type Roles map[core.Person]Role

// Grants are what the configuration says, or what the store holds: roles everywhere, and more in single places (by place key without the thread).
type Grants struct {
	Everywhere Roles            `json:"everywhere,omitempty"`
	Places     map[string]Roles `json:"places,omitempty"`
}

// PlaceKey is the key of a place in Grants: its channel, whatever the thread.
func PlaceKey(p core.Place) string {
	p.Thread = ""
	return p.Key()
}

func (g Grants) role(p core.Person, place core.Place) Role {
	best := Nobody
	for _, roles := range []Roles{g.Everywhere, g.Places[PlaceKey(place)]} {
		for _, who := range []core.Person{p, core.Person(p.Platform() + ":*")} {
			best = max(best, roles[who])
		}
	}
	return best
}

// Access answers who may do what. The zero value lets nobody do anything. As JSON it is what the configuration says.
type Access struct {
	Configured Grants `json:"configured"`
	// ApproveOwn: operators may decide what their own prompts ask for.
	ApproveOwn bool `json:"approve_own"`
	// Machine are roles of people by what they can reach on this machine, whatever the configuration says.
	Machine Roles `json:"-"`
	// Others are the accesses of the other live replicas that speak a platform: of what is configured, only what all of them grant counts there. May be nil.
	Others func(platform string) []Access `json:"-"`
}

// Same reports whether two configurations grant the same.
func (a Access) Same(o Access) bool {
	mine, err1 := json.Marshal(a)
	theirs, err2 := json.Marshal(o)
	return err1 == nil && err2 == nil && bytes.Equal(mine, theirs)
}

// agreed are the accesses that have to agree about a place.
func (a Access) agreed(place core.Place) []Access {
	if a.Others == nil {
		return []Access{a}
	}
	return append(a.Others(place.Platform), a)
}

// Role is a person's role at a place, by the configuration and what the store holds.
func (a Access) Role(stored Grants, p core.Person, place core.Place) Role {
	configured := Admin
	for _, o := range a.agreed(place) {
		configured = min(configured, o.Configured.role(p, place))
	}
	return max(configured, a.Machine[p], stored.role(p, place))
}

// MayDecide returns nil when a person may answer an approval, or ErrForbidden with who can.
func (a Access) MayDecide(stored Grants, who core.Person, at core.Approval, scope core.Scope) error {
	role := a.Role(stored, who, at.Place)
	own := !slices.ContainsFunc(a.agreed(at.Place), func(o Access) bool { return !o.ApproveOwn })
	switch {
	case scope == core.Always && role < Admin:
		return fmt.Errorf("%w: only an admin can store a rule for everybody; approve it once, or ask an admin", core.ErrForbidden)
	case role >= Approver:
		return nil
	case who == at.Author && role >= Operator && own:
		return nil
	case who == at.Author && role >= Operator:
		return fmt.Errorf("%w: nobody approves what they asked for themselves here; ask an approver", core.ErrForbidden)
	}
	return fmt.Errorf("%w: %s decides this, or an approver of this place", core.ErrForbidden, at.Author.ID())
}

// Approvers are the people of a place's platform who may decide what others' prompts ask for there, sorted. Those who may because everybody may are not among them.
func (a Access) Approvers(stored Grants, place core.Place) []core.Person {
	var out []core.Person
	for _, g := range []Grants{a.Configured, stored} {
		for _, roles := range []Roles{g.Everywhere, g.Places[PlaceKey(place)]} {
			for p := range roles {
				if p.Platform() == place.Platform && !strings.HasSuffix(string(p), ":*") && a.Role(stored, p, place) >= Approver {
					out = append(out, p)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Pairing codes: how long one is good, and how many may be open, so that strangers cannot fill the store or guess.
const (
	CodeLen  = 8
	CodeKept = time.Hour
	maxCodes = 100
)

// Pairing is an open pairing code.
type Pairing struct {
	Person core.Person `json:"person"`
	Name   string      `json:"name"`
	Place  core.Place  `json:"place"`
}

// pairings is who has a code, so that asking again gives the same one.
type pairings struct {
	Codes map[core.Person]open `json:"codes"`
}

type open struct {
	Code string    `json:"code"`
	Till time.Time `json:"till"`
}

// Offer returns the code that an admin can redeem for a stranger. It is the same for an hour; when too many are open it refuses.
func Offer(ctx context.Context, s store.Store, p Pairing) (string, error) {
	for {
		d, now, err := state.Get[pairings](ctx, s, state.PairingsKey)
		if err != nil {
			return "", err
		}
		v := d.Value
		if v.Codes == nil {
			v.Codes = map[core.Person]open{}
		}
		for who, o := range v.Codes {
			if !o.Till.After(now) {
				delete(v.Codes, who)
			}
		}
		if o, ok := v.Codes[p.Person]; ok {
			return o.Code, nil
		}
		if len(v.Codes) >= maxCodes {
			return "", fmt.Errorf("%w: too many people ask for access at the moment; ask an admin to name you in the configuration", core.ErrRefused)
		}
		code := newCode()
		v.Codes[p.Person] = open{Code: code, Till: now.Add(CodeKept)}
		b := &state.Batch{}
		b.Update(state.PairingsKey, d.Version, v)
		b.Put(state.PairKey(code), p, CodeKept)
		_, err = b.Commit(ctx, s)
		if err == nil {
			return code, nil
		}
		if !conflict(err) {
			return "", err
		}
	}
}

// Redeem gives the person behind a code a role. The code is used up.
func Redeem(ctx context.Context, s store.Store, code string, role Role, audit func(*state.Batch, Pairing)) (Pairing, error) {
	key := state.PairKey(strings.ToLower(strings.TrimSpace(code)))
	for {
		d, _, err := state.Get[Pairing](ctx, s, key)
		if err != nil {
			return Pairing{}, err
		}
		if !d.Exists() {
			return Pairing{}, fmt.Errorf("pairing code: %w; it is good for an hour and for one use", core.ErrNotFound)
		}
		codes, _, err := state.Get[pairings](ctx, s, state.PairingsKey)
		if err != nil {
			return Pairing{}, err
		}
		b := &state.Batch{}
		b.Expect(key, d.Version)
		b.Delete = []store.Key{key}
		if state.PairKey(codes.Value.Codes[d.Value.Person].Code) == key { // whoever asks again gets another
			delete(codes.Value.Codes, d.Value.Person)
			b.Update(state.PairingsKey, codes.Version, codes.Value)
		}
		audit(b, d.Value)
		if err = set(ctx, s, b, d.Value.Person, role); err == nil {
			return d.Value, nil
		}
		if !conflict(err) {
			return Pairing{}, err
		}
	}
}

// Set gives a person a role everywhere; Nobody takes all that the store holds about them.
func Set(ctx context.Context, s store.Store, who core.Person, role Role, audit func(*state.Batch)) error {
	for {
		b := &state.Batch{}
		audit(b)
		if err := set(ctx, s, b, who, role); err == nil || !conflict(err) {
			return err
		}
	}
}

func set(ctx context.Context, s store.Store, b *state.Batch, who core.Person, role Role) error {
	if err := change(ctx, s, b, who, role); err != nil {
		return err
	}
	b.Durable = true
	_, err := b.Commit(ctx, s)
	return err
}

// Without adds to a batch what takes all roles from a person that the store holds.
func Without(ctx context.Context, s store.Store, b *state.Batch, who core.Person) error {
	return change(ctx, s, b, who, Nobody)
}

func change(ctx context.Context, s store.Store, b *state.Batch, who core.Person, role Role) error {
	d, _, err := state.Get[Grants](ctx, s, state.AccessKey)
	if err != nil {
		return err
	}
	if d.Value.Everywhere == nil {
		d.Value.Everywhere = Roles{}
	}
	d.Value.Everywhere[who] = role
	if role == Nobody {
		delete(d.Value.Everywhere, who)
		for _, roles := range d.Value.Places {
			delete(roles, who)
		}
	}
	b.Update(state.AccessKey, d.Version, d.Value)
	return nil
}

// Stored reads what the store grants.
func Stored(ctx context.Context, s store.Store) (Grants, error) {
	d, _, err := state.Get[Grants](ctx, s, state.AccessKey)
	return d.Value, err
}

func conflict(err error) bool { return errors.Is(err, store.ErrConflict) }

// newCode draws 8 characters without look-alikes: some 38 bits.
func newCode() string {
	var b [8]byte
	rand.Read(b[:]) //nolint:errcheck // never fails
	n := binary.LittleEndian.Uint64(b[:])
	out := make([]byte, CodeLen)
	for i := range out {
		out[i] = core.RefAlphabet[n%uint64(len(core.RefAlphabet))]
		n /= uint64(len(core.RefAlphabet))
	}
	return string(out)
}
