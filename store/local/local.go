// Package local keeps the state in one file of this machine, for a deployment without Redis.
//
// The first process that opens the file holds it: it has the lock, and serves the others over a UNIX socket beside the file. When it goes
// away, one of the others takes the file over and the rest connect to that one; a Store does so by itself, and its callers notice no more
// than a wait.
package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"os"
	"sync"
	"time"

	"paragents/store"
	"paragents/store/local/internal/engine"
)

// Config says how a Store is opened. Only Path is needed.
type Config struct {
	Path    string           // of the file; it (mode 0600) and its folder (0700) are made when they do not exist
	Logger  *slog.Logger     // default: none
	Now     func() time.Time // the wall clock; default: time.Now. It must not call the store
	NoSync  bool             // do not wait for the disk: fast, and a crash of the machine (not of the process) may damage the file. For tests
	Private bool             // neither serve other processes nor speak to one that holds the file: nothing waits for a network
}

// Store implements store.Store. Made by Open.
type Store struct {
	config Config
	hub    *hub
	cancel context.CancelFunc // ends keep
	all    sync.WaitGroup

	mu      sync.Mutex
	role    role          // may be gone
	changed chan struct{} // closed when the role changes
	cause   error         // why there is no other role yet
	closed  bool
}

const (
	ownLimit   = 5 * time.Second // of a call whose context has none
	firstRetry = 5 * time.Millisecond
	lastRetry  = 500 * time.Millisecond
)

// errBusy: the file is locked, and its holder cannot be reached; it may be about to begin or to end.
var errBusy = errors.New("another process holds the file and cannot be reached")

// Open opens the file or connects to its holder. It tries until the context ends (5 s when it has no limit) while somebody holds the file
// and does not answer. A file that is damaged, not ours or of a newer program is refused and left as it is.
func Open(ctx context.Context, c Config) (*Store, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	path, err := resolve(c.Path)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", c.Path, err)
	}
	c.Path = path
	s := &Store{config: c, hub: newHub(), changed: make(chan struct{})}
	ctx, cancel := limited(ctx)
	defer cancel()
	if s.role, err = s.attach(ctx, func(err error) bool { return errors.Is(err, errBusy) }); err != nil {
		return nil, err
	}
	keepCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = stop
	if h, holds := s.role.(*holder); holds {
		h.owner = true // before anybody can use it
	} else {
		s.all.Go(func() { s.keep(keepCtx, s.role) })
	}
	return s, nil
}

func limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, ownLimit)
}

// attach finds a role, and tries again after an error that again accepts, until the context ends.
func (s *Store) attach(ctx context.Context, again func(error) bool) (role, error) {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		r, err := s.try(ctx)
		if err == nil {
			return r, nil
		}
		s.mu.Lock()
		s.cause = err
		s.mu.Unlock()
		if !again(err) {
			return nil, err
		}
		select {
		case <-time.After(wait/2 + mathrand.N(wait)):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", err, ctx.Err())
		}
	}
}

// try takes the lock, or connects to who has it.
func (s *Store) try(ctx context.Context) (role, error) {
	c := s.config
	e, err := engine.Open(engine.Config{Path: c.Path, NoSync: c.NoSync, Now: c.Now, Ring: s.hub.ring, Logger: c.Logger})
	if err == nil {
		return s.hold(e), nil
	}
	if c.Private || !errors.Is(err, engine.ErrLocked) {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, ownLimit)
	defer cancel()
	r, err := dial(ctx, c.Path, s.hub)
	switch {
	case errors.Is(err, errVersion):
		return nil, fmt.Errorf("open store %s: %w", c.Path, err)
	case err != nil:
		return nil, fmt.Errorf("open store %s: %w: %w", c.Path, errBusy, err)
	}
	return r, nil
}

// hold makes this process the holder. Where there can be no socket, as on some mounted folders, it holds the file alone.
func (s *Store) hold(e *engine.Engine) *holder {
	h := &holder{engine: e}
	if s.config.Private {
		return h
	}
	var err error
	if h.server, err = serve(s.config.Path, e, s.hub, s.config.Logger); err != nil {
		s.config.Logger.Warn("no other process can use the store while this one does", "path", s.config.Path, "err", err)
	}
	return h
}

// keep looks for another role when the connection to the holder is lost, until this process holds the file itself.
func (s *Store) keep(ctx context.Context, r role) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.gone():
		}
		_ = r.close()
		next, err := s.attach(ctx, func(error) bool { return true })
		if err != nil { // closed
			return
		}
		if !s.change(next) {
			_ = next.close()
			return
		}
		if _, holds := next.(*holder); holds {
			s.config.Logger.Info("took the store over", "path", s.config.Path)
			return
		}
		r = next
	}
}

// Alive is for the children of the process to inherit: a file whose lock keeps others from holding the state as long as one of them lives. Opening the
// state ends the leases of the process that held it, so its children must have ended before. Nil when another process held the state when this one
// opened it: then the leases of this one end by themselves only, even after it has taken the state over. The store closes it.
func (s *Store) Alive() *os.File {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h, holds := s.role.(*holder); holds && h.owner {
		return h.engine.Alive()
	}
	return nil
}

// change sets the role, unless the store was closed.
func (s *Store) change(r role) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.role = r
	close(s.changed)
	s.changed = make(chan struct{})
	return true
}

// reach returns the role, and waits for one while there is none.
func (s *Store) reach(ctx context.Context) (role, error) {
	for {
		s.mu.Lock()
		r, changed, cause, closed := s.role, s.changed, s.cause, s.closed
		s.mu.Unlock()
		if closed {
			return nil, store.ErrClosed
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		select {
		case <-r.gone():
		default:
			return r, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ctx.Err(), cause)
		}
	}
}

// Close lets go of the file or the connection. Subscriptions end, calls end with ErrClosed. A second Close does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.changed)
	s.mu.Unlock()
	s.cancel()
	s.all.Wait()
	s.hub.close()
	return s.role.close()
}
