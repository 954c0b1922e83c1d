package local

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"paragents/store"
	"paragents/store/local/internal/engine"
)

// role is what this process is to the file: its holder, or a client of its holder. Errors are the contract's, or a *lostError.
type role interface {
	get(ctx context.Context, keys []store.Key) (store.Snapshot, error)
	commit(ctx context.Context, b store.Batch) (store.Result, error)
	scan(ctx context.Context, index store.Index, r store.Range) (store.Page, error)
	read(ctx context.Context, log store.Log, from int64, limit int) ([]store.Record, error)
	watch(ctx context.Context) error // returns when the hub hears all its topics
	gone() <-chan struct{}           // closed when the role has become useless
	close() error
}

// holder is the role of the process that has the lock.
type holder struct {
	engine *engine.Engine
	owner  bool    // from the beginning, so that its children hold the engine's Alive
	server *server // nil when nobody else is served
}

func (h *holder) get(ctx context.Context, keys []store.Key) (store.Snapshot, error) {
	return h.engine.Get(ctx, keys...)
}

func (h *holder) commit(ctx context.Context, b store.Batch) (store.Result, error) {
	return h.engine.Commit(ctx, b, h.owner)
}

func (h *holder) scan(ctx context.Context, index store.Index, r store.Range) (store.Page, error) {
	return h.engine.Scan(ctx, index, r)
}

func (h *holder) read(ctx context.Context, log store.Log, from int64, limit int) ([]store.Record, error) {
	return h.engine.Read(ctx, log, from, limit)
}

func (h *holder) watch(context.Context) error { return nil }
func (h *holder) gone() <-chan struct{}       { return nil }

// close lets go of the file last, so that who takes it over finds no socket of this holder.
func (h *holder) close() error {
	if h.server != nil {
		h.server.close()
	}
	return h.engine.Close()
}

// ask lets f ask the role, and the next one when the connection was lost.
func ask[T any](ctx context.Context, s *Store, f func(context.Context, role) (T, error)) (T, error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	for {
		var none T
		r, err := s.reach(ctx)
		if err != nil {
			return none, err
		}
		v, err := f(ctx, r)
		if lost := (*lostError)(nil); errors.As(err, &lost) {
			continue
		}
		return v, err
	}
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, keys ...store.Key) (store.Snapshot, error) {
	return ask(ctx, s, func(ctx context.Context, r role) (store.Snapshot, error) { return r.get(ctx, keys) })
}

// Scan implements store.Store.
func (s *Store) Scan(ctx context.Context, index store.Index, r store.Range) (store.Page, error) {
	return ask(ctx, s, func(ctx context.Context, to role) (store.Page, error) { return to.scan(ctx, index, r) })
}

// Read implements store.Store.
func (s *Store) Read(ctx context.Context, log store.Log, from int64, limit int) ([]store.Record, error) {
	return ask(ctx, s, func(ctx context.Context, r role) ([]store.Record, error) { return r.read(ctx, log, from, limit) })
}

// Commit implements store.Store. When the holder goes away in the middle, the batch goes to the next one under the same ID.
func (s *Store) Commit(ctx context.Context, b store.Batch) (store.Result, error) {
	if err := b.Check(); err != nil { // before anything is sent
		return store.Result{}, fmt.Errorf("commit batch: %w", err)
	}
	b = clone(b)
	sent := false // to a holder that went away
	result, err := ask(ctx, s, func(ctx context.Context, r role) (store.Result, error) {
		if _, holds := r.(*holder); !holds && b.ID == "" {
			b.ID = rand.Text()
		}
		result, err := r.commit(ctx, b)
		if lost := (*lostError)(nil); errors.As(err, &lost) {
			sent = sent || lost.sent
		}
		return result, err
	})
	if sent && err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrFenced) && !errors.Is(err, store.ErrUnknown) {
		err = fmt.Errorf("commit batch: %w: %w", store.ErrUnknown, err)
	}
	return result, err
}

// Subscribe implements store.Store.
func (s *Store) Subscribe(ctx context.Context, topics ...store.Topic) (<-chan store.Notification, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	sub := s.hub.add(topics...)
	_, err := ask(ctx, s, func(ctx context.Context, r role) (struct{}, error) { return struct{}{}, r.watch(ctx) })
	if err != nil {
		s.hub.remove(sub)
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	context.AfterFunc(ctx, func() { s.hub.remove(sub) })
	return sub.rings, nil
}

// clone copies the batch: the caller gets it back when the context ends, while it may still be written or sent.
func clone(b store.Batch) store.Batch {
	if b.Fence != nil {
		fence := *b.Fence
		b.Fence = &fence
	}
	b.Expect, b.Delete, b.Insert, b.Remove = slices.Clone(b.Expect), slices.Clone(b.Delete), slices.Clone(b.Insert), slices.Clone(b.Remove)
	b.Put, b.Add, b.Append, b.Trim, b.Notify = slices.Clone(b.Put), slices.Clone(b.Add), slices.Clone(b.Append), slices.Clone(b.Trim), slices.Clone(b.Notify)
	for i := range b.Put {
		b.Put[i].Value = bytes.Clone(b.Put[i].Value)
	}
	for i := range b.Append {
		b.Append[i].Value = bytes.Clone(b.Append[i].Value)
	}
	for i := range b.Notify {
		b.Notify[i].Payload = bytes.Clone(b.Notify[i].Payload)
	}
	return b
}
