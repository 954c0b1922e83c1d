package replica

import (
	"context"
	"time"

	"paragents/core"
	"paragents/core/fleet"
	"paragents/core/state"
)

// publish adds to a heartbeat what this replica goes by.
func (s *Self) publish(b *state.Batch, id core.ReplicaID, since time.Time) {
	t := s.cfg.Terms()
	t.Replica, t.Host, t.Since = id, s.cfg.Host, since
	b.Hold(state.TermsKey(id), t, string(id), s.cfg.Lease)
}

// Compare reads what the other replicas go by. It is due when one comes or goes, and at every renewal.
func (s *Self) Compare(ctx context.Context) {
	changed, err := s.fleet.Refresh(ctx, s.store, s.ID())
	if err != nil {
		if ctx.Err() == nil {
			s.log.Warn("cannot read what the other replicas go by; trying again", "error", err)
		}
		return
	}
	if !changed {
		return
	}
	problems := s.fleet.Problems()
	for _, p := range problems {
		s.log.Warn(p)
	}
	if len(problems) == 0 {
		s.log.Info("all replicas have the same roles and rules")
	}
}

// Others are the terms of the other live replicas that speak a platform.
func (s *Self) Others(platform string) []fleet.Terms { return s.fleet.Others(platform) }

// Odd says which replicas go by something else than most, a sentence each.
func (s *Self) Odd() []string { return s.fleet.Problems() }
