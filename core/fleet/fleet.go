// Package fleet compares what the live replicas go by. Each publishes its configured roles and rules beside its heartbeat. While those of replicas that do the same work
// differ, such as in the middle of a deployment, every deny and ask of any of them holds, and only what all of them allow counts.
package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"paragents/core"
	"paragents/core/access"
	"paragents/core/state"
	"paragents/store"
)

// Rules are the three lists of a layer of rules.
type Rules struct {
	Deny  []string `json:"deny,omitempty"`
	Ask   []string `json:"ask,omitempty"`
	Allow []string `json:"allow,omitempty"`
}

// With is what holds for two that must agree: what either denies or asks, and what both allow.
func (r Rules) With(o Rules) Rules {
	union := func(a, b []string) []string {
		out := slices.Clone(a)
		for _, rule := range b {
			if !slices.Contains(out, rule) {
				out = append(out, rule)
			}
		}
		return out
	}
	return Rules{Deny: union(r.Deny, o.Deny), Ask: union(r.Ask, o.Ask),
		Allow: slices.DeleteFunc(slices.Clone(r.Allow), func(rule string) bool { return !slices.Contains(o.Allow, rule) })}
}

func (r Rules) same(o Rules) bool {
	return same(r.Deny, o.Deny) && same(r.Ask, o.Ask) && same(r.Allow, o.Allow)
}

// same compares lists as sets.
func same(a, b []string) bool {
	in := func(list []string) func(string) bool { return func(s string) bool { return !slices.Contains(list, s) } }
	return !slices.ContainsFunc(a, in(b)) && !slices.ContainsFunc(b, in(a))
}

// Terms are what one replica goes by, and for what: its configuration, without anything secret.
type Terms struct {
	Replica    core.ReplicaID   `json:"replica"`
	Host       string           `json:"host"`
	Since      time.Time        `json:"since"`
	Platforms  []string         `json:"platforms"` // that it speaks
	Access     access.Access    `json:"access"`
	Managed    Rules            `json:"managed"`
	Workspaces map[string]Rules `json:"workspaces"` // that it serves
}

// Digests are short names of the terms for people: equal ones go by the same.
func (t Terms) Digests() (roles, rules string) {
	short := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		sum := sha256.Sum256(raw)
		return hex.EncodeToString(sum[:4])
	}
	sorted := func(r Rules) Rules {
		return Rules{slices.Sorted(slices.Values(r.Deny)), slices.Sorted(slices.Values(r.Ask)), slices.Sorted(slices.Values(r.Allow))}
	}
	all := map[string]Rules{"": sorted(t.Managed)}
	for name, r := range t.Workspaces {
		all[name] = sorted(r)
	}
	return short(t.Access), short(all)
}

// Differences say in what two replicas differ that do the same work: "access", "rules", "rules of workspace NAME".
func (t Terms) Differences(o Terms) []string {
	if !slices.ContainsFunc(t.Platforms, func(p string) bool { return slices.Contains(o.Platforms, p) }) {
		return nil
	}
	var out []string
	if !t.Access.Same(o.Access) {
		out = append(out, "access")
	}
	common := false
	for _, name := range slices.Sorted(maps.Keys(t.Workspaces)) {
		theirs, both := o.Workspaces[name]
		common = common || both
		if both && !t.Workspaces[name].same(theirs) {
			out = append(out, "rules of workspace "+name)
		}
	}
	if common && !t.Managed.same(o.Managed) {
		out = append(out, "rules")
	}
	return out
}

// Odd are the replicas that go by something else than most, or, where there is no most, than the one that has run for longest: by id, what differs.
func Odd(all []Terms) map[core.ReplicaID][]string {
	agree := func(t Terms) (n int) {
		for _, o := range all {
			if len(t.Differences(o)) == 0 {
				n++
			}
		}
		return n
	}
	odd := map[core.ReplicaID][]string{}
	if len(all) == 0 {
		return odd
	}
	norm := slices.MinFunc(all, func(a, b Terms) int {
		if n := agree(b) - agree(a); n != 0 {
			return n
		}
		return a.Since.Compare(b.Since)
	})
	for _, t := range all {
		if d := t.Differences(norm); len(d) > 0 {
			odd[t.Replica] = d
		}
	}
	return odd
}

// Read reads the terms of all live replicas, the newest sign of life first.
func Read(ctx context.Context, s store.Store) ([]Terms, error) {
	page, err := s.Scan(ctx, state.Replicas, store.Range{Limit: 256, Reverse: true})
	if err != nil || len(page.Entries) == 0 {
		return nil, err
	}
	keys := make([]store.Key, len(page.Entries))
	for i, e := range page.Entries {
		keys[i] = state.TermsKey(core.ReplicaID(e.Member))
	}
	snap, err := s.Get(ctx, keys...)
	if err != nil {
		return nil, err
	}
	var out []Terms
	for i, doc := range snap.Docs {
		d, err := state.Decode[Terms](keys[i], doc)
		if errors.Is(err, state.ErrNewer) { // it can read ours, and goes by both
			continue
		}
		if err != nil {
			return nil, err
		}
		if d.Exists() {
			out = append(out, d.Value)
		}
	}
	return out, nil
}

// Watch is what one replica knows of the others.
type Watch struct {
	mu     sync.Mutex
	others []Terms
	odd    map[core.ReplicaID][]string
}

// Refresh reads the others' terms. It reports whether there is something to tell: who differs has changed.
func (w *Watch) Refresh(ctx context.Context, s store.Store, own core.ReplicaID) (changed bool, err error) {
	all, err := Read(ctx, s)
	if err != nil {
		return false, err
	}
	odd := Odd(all)
	w.mu.Lock()
	defer w.mu.Unlock()
	changed = !maps.EqualFunc(odd, w.odd, slices.Equal)
	w.odd = odd
	w.others = slices.DeleteFunc(all, func(t Terms) bool { return t.Replica == own })
	return changed, nil
}

// Others are the terms of the other replicas that speak a platform.
func (w *Watch) Others(platform string) []Terms {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Speaking(w.others, platform)
}

// Speaking are those that speak a platform.
func Speaking(all []Terms, platform string) []Terms {
	var out []Terms
	for _, t := range all {
		if slices.Contains(t.Platforms, platform) {
			out = append(out, t)
		}
	}
	return out
}

// Problems say which replicas differ, a sentence each.
func (w *Watch) Problems() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, id := range slices.Sorted(maps.Keys(w.odd)) {
		out = append(out, fmt.Sprintf("replica %s differs in %s: only what all replicas allow counts until they have the same configuration", id, strings.Join(w.odd[id], ", ")))
	}
	return out
}
