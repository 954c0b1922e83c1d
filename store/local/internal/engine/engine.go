// Package engine keeps the state in one bbolt file that one process owns: documents, indexes, logs, and the batches that change them.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"paragents/store"
)

// ErrLocked is returned by Open when another process, or another Engine of this one, has the file open.
var ErrLocked = errors.New("held by another process")

// Config says what an Engine works with. All fields but NoSync are needed.
type Config struct {
	Path   string
	NoSync bool                 // do not wait for the disk: for tests
	Now    func() time.Time     // the wall clock
	Ring   func([]store.Notify) // told the bells of each applied batch, by the writer: it must not wait
	Logger *slog.Logger
}

// Engine is an open file. Its methods may be called from many goroutines.
type Engine struct {
	path   string
	db     *bbolt.DB
	file   *os.File // bbolt's own; only to let go of the lock when bbolt can no longer be closed
	alive  *os.File // see Alive
	clock  *clock
	ring   func([]store.Notify)
	logger *slog.Logger

	queue   chan *request
	closing chan struct{} // closed by Close: nothing new is taken
	stopped chan struct{} // closed by the writer when it has ended
	once    sync.Once
	broken  atomic.Pointer[error] // set when bbolt paniced; from then on everything is refused with it
}

// Open opens the file, which it makes when there is none, ends all leases of earlier owners and starts the writer, which Close ends.
// It never waits for the lock: ErrLocked.
func Open(c Config) (*Engine, error) {
	e := &Engine{
		path: c.Path, ring: c.Ring, logger: c.Logger,
		queue: make(chan *request, queueLength), closing: make(chan struct{}), stopped: make(chan struct{}),
	}
	if err := e.open(c); err != nil {
		return nil, fmt.Errorf("open store %s: %w", c.Path, err)
	}
	go e.write()
	return e, nil
}

// Close ends the writer, refuses what is still queued with ErrClosed and lets go of the file.
func (e *Engine) Close() error {
	var err error
	e.once.Do(func() {
		close(e.closing)
		<-e.stopped
		err = e.closeFile()
	})
	return err
}

// Alive is a file that is locked until the owner has closed or ended, and every process has that inherited the descriptor: nobody can open the state
// before, and so end the owner's leases. The engine closes it.
func (e *Engine) Alive() *os.File { return e.alive }

func (e *Engine) closeFile() error {
	_ = e.alive.Close()         // first: who finds the state unlocked finds this unlocked too
	if e.broken.Load() != nil { // a panic may have left bbolt's locks taken
		return e.file.Close()
	}
	return e.db.Close()
}

// view runs fn in a read transaction.
func (e *Engine) view(ctx context.Context, fn func(*bbolt.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return e.guard(func() error { return e.db.View(fn) })
}

// guard turns a panic of bbolt, which is how it reports a damaged file, or a fault in its memory map into an error that stays.
func (e *Engine) guard(fn func() error) (err error) {
	if broken := e.broken.Load(); broken != nil {
		return *broken
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if cause := recover(); cause != nil {
			e.logger.Error("store failed", "path", e.path, "cause", cause, "stack", string(debug.Stack()))
			err = damaged(cause)
			e.broken.Store(&err)
		}
	}()
	if err = fn(); errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		return store.ErrClosed
	}
	return err
}

// damaged is what a person reads when the file cannot be used any more.
func damaged(cause any) error {
	return fmt.Errorf("the file is damaged (%v): restore it from a backup, or move it away to begin with an empty state", cause)
}
