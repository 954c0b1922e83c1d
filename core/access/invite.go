package access

import (
	"context"
	"fmt"
	"strings"

	"paragents/core"
	"paragents/core/state"
	"paragents/store"
)

// Invitation is a code that whoever can reach the machine was shown, and what it gives to who sends it to the bot first. It is good for CodeKept.
type Invitation struct {
	Role Role        `json:"role"`
	By   core.Person `json:"by"`
	Used core.Person `json:"used,omitempty"`
	Name string      `json:"name,omitempty"` // of Used
}

// Invite makes a code that gives a role everywhere to one person.
func Invite(ctx context.Context, s store.Store, role Role, by core.Person) (string, error) {
	code := newCode()
	b := &state.Batch{}
	b.Expect(state.InviteKey(code), 0)
	b.Put(state.InviteKey(code), Invitation{Role: role, By: by}, CodeKept)
	_, err := b.Commit(ctx, s)
	return code, err
}

// Invited reads what became of a code; core.ErrNotFound when it is none, or too old.
func Invited(ctx context.Context, s store.Store, code string) (Invitation, error) {
	d, _, err := state.Get[Invitation](ctx, s, state.InviteKey(code))
	if err == nil && !d.Exists() {
		err = fmt.Errorf("code: %w; it is good for an hour", core.ErrNotFound)
	}
	return d.Value, err
}

// CodeIn is the code that a message consists of; "" when it is something else.
func CodeIn(text string) string {
	code := strings.ToLower(strings.Join(strings.Fields(text), ""))
	if len(code) != CodeLen || strings.Trim(code, core.RefAlphabet) != "" {
		return ""
	}
	return code
}

// Enter lets in who sent a code, together with what else belongs to that. A code that is none, too old or used up is core.ErrNotFound.
func Enter(ctx context.Context, s store.Store, code string, who core.Person, name string, also func(*state.Batch, Invitation)) (Invitation, error) {
	key := state.InviteKey(code)
	for {
		d, _, err := state.Get[Invitation](ctx, s, key)
		if err != nil {
			return Invitation{}, err
		}
		if !d.Exists() || d.Value.Used != "" {
			return Invitation{}, fmt.Errorf("code: %w; it is good for an hour and for one person", core.ErrNotFound)
		}
		grants, _, err := state.Get[Grants](ctx, s, state.AccessKey)
		if err != nil {
			return Invitation{}, err
		}
		v := d.Value
		v.Used, v.Name = who, name
		b := &state.Batch{}
		b.Durable = true
		b.Expect(key, d.Version)
		b.Put(key, v, CodeKept)
		b.Update(state.AccessKey, grants.Version, grants.Value.with(who, v.Role, core.Place{}, true))
		also(b, v)
		if _, err = b.Commit(ctx, s); err == nil || !conflict(err) {
			return v, err
		}
	}
}
