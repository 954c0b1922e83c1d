// Package replica is this process among the others that share a store: its lease, the duties that only one of them does at a time, and who else is there.
package replica

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"paragents/core"
	"paragents/core/fleet"
	"paragents/core/state"
	"paragents/store"
)

// Config is what a replica needs. Everything must be set.
type Config struct {
	Store store.Store
	Clock *state.Clock
	// Lease is how long the replica may be silent before others take over what it has; renewed every third of it.
	Lease time.Duration
	// Terms are what it goes by at the moment, for the others; who and since when is filled in here.
	Terms func() fleet.Terms
	// Held is how many sessions it holds.
	Held func() int
	// Beat is called at every renewal of the lease with the time at which it was sent, and must not block.
	Beat func(sent time.Time)
	// Renewed is called after every renewal but the first; its context leaves time for the next one.
	Renewed func(context.Context)
	// Lost is called when the lease was lost, before a new one is taken: everything that lives from the old one must end. Back is called when there is a new one.
	Lost, Back func()
	// Host and Version describe it to people.
	Host, Version string
	Logger        *slog.Logger
}

// Self is this process as a replica. It has an id from Join until Leave, a new one whenever the lease was lost.
type Self struct {
	cfg   Config
	store store.Store
	clock *state.Clock
	log   *slog.Logger
	lease lease
	fleet fleet.Watch

	mu    sync.Mutex
	alone map[string]bool // what is done here at the moment of which only one may do it
}

// New makes a replica that has not joined yet.
func New(cfg Config) *Self {
	return &Self{cfg: cfg, store: cfg.Store, clock: cfg.Clock, log: cfg.Logger, alone: make(map[string]bool)}
}

// ID is the replica's present id; "" before it has joined and after it has left.
func (s *Self) ID() core.ReplicaID { id, _ := s.lease.get(); return id }

// Alive reports whether id is our present id and its lease is not over by our own clock.
func (s *Self) Alive(id core.ReplicaID) bool { return s.lease.alive(id) }

// Join takes an id and a lease, trying until the context ends, and looks at what the others go by.
func (s *Self) Join(ctx context.Context) error {
	if err := s.enlist(ctx); err != nil {
		return err
	}
	s.Compare(ctx)
	return nil
}
