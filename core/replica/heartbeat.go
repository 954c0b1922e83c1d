package replica

import (
	"context"
	"errors"
	"sync"
	"time"

	"paragents/core"
	"paragents/core/state"
	"paragents/store"
)

// Heartbeat is the document of a running process, as others see it.
type Heartbeat struct {
	ID      core.ReplicaID `json:"id"`
	Host    string         `json:"host"`
	Version string         `json:"version"`
	Since   time.Time      `json:"since"`
	Held    int            `json:"held"` // sessions
}

// lease is this replica's right to hold sessions.
type lease struct {
	mu      sync.Mutex
	id      core.ReplicaID
	version int64     // of the heartbeat document
	until   time.Time // on our monotonic clock, counted from before the renewal was sent
	since   time.Time
}

func (l *lease) get() (core.ReplicaID, int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.id, l.version
}

// alive reports whether id is our present id and its lease is not over by our own clock.
func (l *lease) alive(id core.ReplicaID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return id == l.id && id != "" && time.Now().Before(l.until)
}

// enlist takes a new id and writes its first heartbeat, trying until the context ends.
func (s *Self) enlist(ctx context.Context) error {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		sent := time.Now()
		id := core.NewID[core.ReplicaID](s.clock.Now())
		r := Heartbeat{ID: id, Host: s.cfg.Host, Version: s.cfg.Version, Since: s.clock.Now()}
		var b state.Batch
		b.Expect(state.ReplicaKey(id), 0)
		b.Hold(state.ReplicaKey(id), r, string(id), s.cfg.Lease)
		s.publish(&b, id, r.Since)
		b.InsertNow(state.Replicas, string(id), 0)
		b.Ring(state.BellReplicas, string(id))
		res, err := b.Commit(ctx, s.store)
		if err == nil {
			s.clock.Observe(res.Time)
			s.lease.mu.Lock()
			s.lease.id, s.lease.version, s.lease.since, s.lease.until = id, res.Version, r.Since, sent.Add(s.cfg.Lease)
			s.lease.mu.Unlock()
			s.cfg.Beat(sent)
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s.log.Warn("cannot write the heartbeat; trying again", "error", err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// Stay renews the lease until the context ends. A lease that ran out is never renewed: the runs are dropped and a new id is taken.
func (s *Self) Stay(ctx context.Context) {
	t := time.NewTicker(s.cfg.Lease / 3)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if s.renew(ctx) {
			look, cancel := context.WithTimeout(ctx, s.cfg.Lease/6) // it must not cost the next renewal
			s.cfg.Renewed(look)
			cancel()
			continue
		}
		if ctx.Err() != nil {
			return
		}
		s.log.Error("lost the lease; dropping all runs", "replica", s.ID())
		s.cfg.Lost()
		if s.enlist(ctx) != nil {
			return
		}
		s.cfg.Back()
	}
}

// renew writes the heartbeat again, and reports false when the lease is lost: because the store says so, or because it could not be asked
// until our own clock said so.
func (s *Self) renew(ctx context.Context) bool {
	id, version := s.lease.get()
	s.lease.mu.Lock()
	until := s.lease.until
	r := Heartbeat{ID: id, Host: s.cfg.Host, Version: s.cfg.Version, Since: s.lease.since}
	s.lease.mu.Unlock()
	r.Held = s.cfg.Held()
	// One batch for all tries: its own ID tells a renewal that arrived, but whose answer was lost, from somebody else's write.
	var b state.Batch
	b.ID = core.NewID[string](s.clock.Now())
	b.Expect(state.ReplicaKey(id), version)
	b.Hold(state.ReplicaKey(id), r, string(id), s.cfg.Lease)
	s.publish(&b, id, r.Since)
	b.InsertNow(state.Replicas, string(id), 0)
	sent := time.Now()
	for s.lease.alive(id) {
		try, cancel := context.WithDeadline(ctx, until)
		res, err := b.Commit(try, s.store)
		cancel()
		switch {
		case err == nil:
			s.clock.Observe(res.Time)
			s.lease.mu.Lock()
			s.lease.version, s.lease.until = res.Version, sent.Add(s.cfg.Lease)
			s.lease.mu.Unlock()
			s.cfg.Beat(sent)
			return true
		case errors.Is(err, store.ErrConflict):
			return false
		}
		if ctx.Err() != nil {
			return false
		}
		s.log.Warn("cannot renew the lease; trying again", "replica", id, "error", err)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(s.cfg.Lease / 30):
		}
	}
	return false
}

// Leave ends the heartbeat, so that others need not wait for it to run out.
func (s *Self) Leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	s.lease.mu.Lock()
	id := s.lease.id
	s.lease.id, s.lease.until = "", time.Time{}
	s.lease.mu.Unlock()
	var b state.Batch // at whatever version: of a renewal that was cut off it is not known whether it was made
	b.Delete = []store.Key{state.ReplicaKey(id), state.TermsKey(id)}
	b.RemoveFrom(state.Replicas, string(id))
	b.Ring(state.BellReplicas, string(id))
	if _, err := b.Commit(ctx, s.store); err != nil {
		s.log.Info("could not end the heartbeat; it runs out by itself", "replica", id, "error", err)
	}
}
