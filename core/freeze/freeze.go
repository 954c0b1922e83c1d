// Package freeze is the emergency brake: while something is frozen, no tool starts for it on any replica, what runs is ended, and nothing is lost.
package freeze

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"paragents/core"
	"paragents/core/audit"
	"paragents/core/state"
	"paragents/store"
)

// Scope is what is frozen: All, a workspace ("workspace/NAME") or a person ("person/ID").
type Scope string

// All freezes everything.
const All Scope = "all"

// Workspace freezes the sessions of a workspace; Person, the prompts of a person.
func Workspace(name string) Scope { return Scope("workspace/" + name) }
func Person(p core.Person) Scope  { return Scope("person/" + p) }

func (s Scope) String() string {
	kind, name, ok := strings.Cut(string(s), "/")
	if !ok {
		return "everything"
	}
	return kind + " " + name
}

// Ice is one thing that is frozen.
type Ice struct {
	Reason string      `json:"reason"`
	By     core.Person `json:"by"`
	At     time.Time   `json:"at"`
}

// Frozen is everything that is frozen: the document freeze.
type Frozen struct {
	Scopes map[Scope]Ice `json:"scopes,omitempty"`
}

// Over returns what freezes a prompt of a person in a workspace; ok is false when nothing does.
func (f Frozen) Over(workspace string, who core.Person) (scope Scope, ice Ice, ok bool) {
	for _, s := range []Scope{All, Workspace(workspace), Person(who)} {
		if ice, ok := f.Scopes[s]; ok {
			return s, ice, true
		}
	}
	return "", Ice{}, false
}

// List is what is frozen, in order.
func (f Frozen) List() []Scope { return slices.Sorted(maps.Keys(f.Scopes)) }

// check refuses a scope that would freeze nothing.
func (s Scope) check() error {
	kind, name, _ := strings.Cut(string(s), "/")
	if s == All || name != "" && (kind == "workspace" || kind == "person") {
		return nil
	}
	return fmt.Errorf("%w: %q is nothing that can be frozen; write all, workspace/NAME or person/ID", core.ErrRefused, string(s))
}

// Set freezes a scope, or with a nil reason thaws it. Freezing what is frozen keeps the first reason.
func Set(ctx context.Context, s store.Store, scope Scope, who core.Person, reason *string) error {
	if err := scope.check(); err != nil {
		return err
	}
	for {
		d, now, err := state.Get[Frozen](ctx, s, state.FreezeKey)
		if err != nil {
			return err
		}
		v := d.Value
		if v.Scopes == nil {
			v.Scopes = map[Scope]Ice{}
		}
		_, frozen := v.Scopes[scope]
		e := audit.Entry{Time: now, What: "frozen", Who: who, Outcome: scope.String()}
		switch {
		case reason == nil && !frozen:
			return fmt.Errorf("%w: %s is not frozen", core.ErrRefused, scope)
		case reason == nil:
			delete(v.Scopes, scope)
			e.What = "thawed"
		case frozen:
			return fmt.Errorf("%w: %s is frozen already", core.ErrRefused, scope)
		default:
			v.Scopes[scope] = Ice{Reason: *reason, By: who, At: now}
			e.Why = *reason
		}
		b := &state.Batch{}
		b.Durable = true
		b.Update(state.FreezeKey, d.Version, v)
		b.Append(state.Audit, e)
		b.Ring(state.BellFreeze, string(scope))
		b.Ring(state.BellReady, "")
		if _, err = b.Commit(ctx, s); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// Read reads what is frozen.
func Read(ctx context.Context, s store.Store) (Frozen, error) {
	d, _, err := state.Get[Frozen](ctx, s, state.FreezeKey)
	return d.Value, err
}

// Watch is what this process knows to be frozen; refreshed by whoever runs it.
type Watch struct {
	mu   sync.RWMutex
	last Frozen
}

// Refresh reads what is frozen.
func (w *Watch) Refresh(ctx context.Context, s store.Store) error {
	f, err := Read(ctx, s)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = f
	return nil
}

// Over is Frozen.Over of what was read last.
func (w *Watch) Over(workspace string, who core.Person) (Scope, Ice, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.last.Over(workspace, who)
}
