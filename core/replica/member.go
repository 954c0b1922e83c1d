package replica

import (
	"context"
	"slices"

	"paragents/core"
	"paragents/core/fleet"
	"paragents/core/state"
	"paragents/store"
)

// Member is a live replica with everything that the others know of it.
type Member struct {
	Heartbeat
	Terms  fleet.Terms
	Duties []string // that only it has at the moment
	Odd    []string // in what it differs from most
}

// Replicas returns the processes that are alive, the newest sign of life first.
func (s *Self) Replicas(ctx context.Context) ([]Member, error) {
	page, err := s.store.Scan(ctx, state.Replicas, store.Range{Limit: 256, Reverse: true})
	if err != nil {
		return nil, err
	}
	keys := make([]store.Key, len(page.Entries))
	for i, e := range page.Entries {
		keys[i] = state.ReplicaKey(core.ReplicaID(e.Member))
	}
	docs, _, err := state.GetAll[Heartbeat](ctx, s.store, keys)
	if err != nil {
		return nil, err
	}
	terms, err := fleet.Read(ctx, s.store)
	if err != nil {
		return nil, err
	}
	duties, err := s.Duties(ctx)
	if err != nil {
		return nil, err
	}
	odd := fleet.Odd(terms)
	var out []Member
	for _, d := range docs {
		if !d.Exists() {
			continue
		}
		m := Member{Heartbeat: d.Value, Odd: odd[d.Value.ID]}
		if i := slices.IndexFunc(terms, func(t fleet.Terms) bool { return t.Replica == m.ID }); i >= 0 {
			m.Terms = terms[i]
		}
		for name, d := range duties {
			if d.Replica == m.ID {
				m.Duties = append(m.Duties, name)
			}
		}
		slices.Sort(m.Duties)
		out = append(out, m)
	}
	return out, nil
}

// Duties are what one replica at a time does, by name, with who took it last; that replica may be dead.
func (s *Self) Duties(ctx context.Context) (map[string]Duty, error) {
	page, err := s.store.Scan(ctx, state.Duties, store.Range{})
	if err != nil || len(page.Entries) == 0 {
		return nil, err
	}
	keys := make([]store.Key, len(page.Entries))
	for i, e := range page.Entries {
		keys[i] = state.DutyKey(e.Member)
	}
	docs, _, err := state.GetAll[Duty](ctx, s.store, keys)
	if err != nil {
		return nil, err
	}
	out := make(map[string]Duty, len(docs))
	for i, d := range docs {
		out[page.Entries[i].Member] = d.Value
	}
	return out, nil
}
