package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paragents/core"
	"paragents/core/state"
	"paragents/store"
)

// Duty is the document of something that only one replica may do at a time. It holds as long as its replica's heartbeat does.
type Duty struct {
	Replica core.ReplicaID `json:"replica"`
	Since   time.Time      `json:"since"`
}

// Do does a duty whenever this replica has one of its names, until the context ends: a name is taken when its holder is dead or gave it up, do is called with a context
// that ends when the lease is lost, and after do returned the name is given up. do is called again a second after it failed. Two Do of one process must not share a name.
func (s *Self) Do(ctx context.Context, names []string, do func(ctx context.Context) error) {
	for ctx.Err() == nil {
		wait := time.Second
		for _, name := range names {
			id, version, err := s.take(ctx, name)
			if err == nil && version != 0 {
				s.log.Info("took a duty", "duty", name, "replica", id)
				s.work(ctx, name, id, version, do)
				break
			}
			if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrConflict) {
				s.log.Warn("cannot take a duty; trying again", "duty", name, "error", err)
			}
			if id == "" && s.ID() == "" { // Join is about to take one
				wait = 5 * time.Millisecond
				break
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// take claims a duty that nobody alive has; version 0: somebody has it.
func (s *Self) take(ctx context.Context, name string) (core.ReplicaID, int64, error) {
	id, _ := s.lease.get()
	if !s.lease.alive(id) {
		return "", 0, nil
	}
	key := state.DutyKey(name)
	d, _, err := state.Get[Duty](ctx, s.store, key)
	if err != nil {
		return "", 0, err
	}
	b := &state.Batch{}
	b.Durable = true
	b.Expect(key, d.Version)
	if d.Exists() && d.Value.Replica != id { // our own is left from a time when it could not be given up, or the answer to taking it was lost
		r, _, err := state.Get[Heartbeat](ctx, s.store, state.ReplicaKey(d.Value.Replica))
		if err != nil || r.Exists() {
			return "", 0, err
		}
		b.Expect(state.ReplicaKey(d.Value.Replica), 0)
	}
	b.Hold(key, Duty{Replica: id, Since: s.clock.Now()}, string(id), 0)
	b.InsertNow(state.Duties, name, 0)
	res, err := b.Commit(ctx, s.store)
	return id, res.Version, err
}

// work does the duty and gives it up.
func (s *Self) work(ctx context.Context, name string, id core.ReplicaID, version int64, do func(context.Context) error) {
	duty, cancel := context.WithCancel(ctx)
	defer cancel()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		t := time.NewTicker(s.cfg.Lease / 30)
		defer t.Stop()
		for {
			select {
			case <-duty.Done():
				return
			case <-t.C:
				if !s.lease.alive(id) {
					cancel()
				}
			}
		}
	}()
	if err := do(duty); err != nil && ctx.Err() == nil {
		s.log.Error("a duty failed; beginning again", "duty", name, "error", err)
	}
	cancel()
	<-watched
	after, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer stop()
	var b state.Batch
	b.Fence = &store.Fence{Key: state.DutyKey(name), Version: version, Holder: string(id)}
	b.Delete = []store.Key{state.DutyKey(name)}
	b.RemoveFrom(state.Duties, name)
	if _, err := b.Commit(after, s.store); err != nil {
		s.log.Info("could not give a duty up; it runs out with the lease", "duty", name, "error", err)
	}
}

// Alone does something that only one at a time may do under a name, on all replicas; while somebody else does it, the error is core.ErrRefused. The context of do ends when the
// replica's lease is lost.
func (s *Self) Alone(ctx context.Context, name string, do func(context.Context) error) error {
	busy := fmt.Errorf("%w: somebody else is doing that at this moment; try again", core.ErrRefused)
	s.mu.Lock()
	mine := s.alone[name]
	if !mine {
		s.alone[name] = true
	}
	s.mu.Unlock()
	if mine {
		return busy
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.alone, name)
	}()
	id, version, err := s.take(ctx, name)
	switch {
	case err == nil && version == 0, errors.Is(err, store.ErrConflict):
		return busy
	case err != nil:
		return err
	}
	var failed error
	s.work(ctx, name, id, version, func(ctx context.Context) error {
		failed = do(ctx)
		return nil
	})
	return failed
}
