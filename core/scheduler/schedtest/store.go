// Package schedtest holds what tests of prompts share: a store that can be slow, away or dead for one replica, and replicas that can be killed.
package schedtest

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"paragents/store"
	"paragents/store/local"
)

// Open opens an empty store on a file of its own, closed at the end of the test. It may be used under synctest.
func Open(t testing.TB) store.Store {
	t.Helper()
	s, err := local.Open(t.Context(), local.Config{Path: filepath.Join(t.TempDir(), "state.db"), NoSync: true, Private: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Trouble is what a Store does to calls.
type Trouble int

const (
	None   Trouble = iota
	Away           // calls fail, and nothing is applied
	Lost           // commits are applied, and their answers lost
	Frozen         // calls wait, at most 5 s, until the trouble is over, and go through then: the process is stopped
	Dead           // for good: nothing is applied any more
)

var errAway = errors.New("the store is away")

// Store is one process's way to a store, with troubles of its own. It counts its calls.
type Store struct {
	store.Store
	Calls atomic.Int64
	// Before, if set, is called before each commit; an error is returned instead of it. Set it before the store is used.
	Before func(b store.Batch) error

	mu      sync.Mutex
	trouble Trouble
	changed chan struct{} // closed when the trouble changes
}

// Wrap gives a store troubles.
func Wrap(s store.Store) *Store { return &Store{Store: s, changed: make(chan struct{})} }

// Set changes the trouble. After Dead there is no other.
func (s *Store) Set(t Trouble) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trouble == Dead {
		return
	}
	s.trouble = t
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Store) state() (Trouble, chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trouble, s.changed
}

// pass waits until a call may go through.
func (s *Store) pass(ctx context.Context) (Trouble, error) {
	s.Calls.Add(1)
	limit := time.NewTimer(5 * time.Second)
	defer limit.Stop()
	for {
		now, changed := s.state()
		switch now {
		case Away, Dead:
			return now, errAway
		case Frozen:
		default:
			return now, ctx.Err()
		}
		select {
		case <-changed:
		case <-limit.C:
			return now, errAway
		case <-ctx.Done():
			return now, ctx.Err()
		}
	}
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, keys ...store.Key) (store.Snapshot, error) {
	if _, err := s.pass(ctx); err != nil {
		return store.Snapshot{}, err
	}
	return s.Store.Get(ctx, keys...)
}

// Commit implements store.Store.
func (s *Store) Commit(ctx context.Context, b store.Batch) (store.Result, error) {
	now, err := s.pass(ctx)
	if err != nil {
		return store.Result{}, errors.Join(store.ErrUnknown, err)
	}
	if s.Before != nil {
		if err := s.Before(b); err != nil {
			return store.Result{}, err
		}
	}
	r, err := s.Store.Commit(ctx, b)
	if now == Lost && err == nil {
		return store.Result{}, store.ErrUnknown
	}
	return r, err
}

// Scan implements store.Store.
func (s *Store) Scan(ctx context.Context, index store.Index, r store.Range) (store.Page, error) {
	if _, err := s.pass(ctx); err != nil {
		return store.Page{}, err
	}
	return s.Store.Scan(ctx, index, r)
}

// Read implements store.Store.
func (s *Store) Read(ctx context.Context, log store.Log, from int64, limit int) ([]store.Record, error) {
	if _, err := s.pass(ctx); err != nil {
		return nil, err
	}
	return s.Store.Read(ctx, log, from, limit)
}

// Close does nothing: the store belongs to the test.
func (s *Store) Close() error { return nil }
