package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"paragents/store"
)

const (
	queueLength = 256         // batches that wait for the writer; more wait in their own goroutines
	groupBytes  = 8 << 20     // a group takes no further batch beyond this many bytes of values
	sweepFew    = 64          // expired things removed in passing, beside two for each batch
	sweepMany   = 1000        // expired things removed by one transaction of the idle writer
	sweepEvery  = time.Minute // how long the writer is idle before it looks for expired things
)

// request is one batch on its way through the writer.
type request struct {
	batch store.Batch
	owner bool
	state atomic.Int32 // waiting, then taken by the writer or withdrawn by the caller
	done  chan outcome // holds one, so that the writer never waits for the caller
}

const (
	waiting int32 = iota
	taken
	withdrawn
)

type outcome struct {
	result store.Result
	err    error
}

// Commit is the contract's. The owner says that the batch is the own process's and not one from the socket. The batch belongs to the
// engine from now on, for it may be read after the caller's context has ended. One without an ID is not remembered.
func (e *Engine) Commit(ctx context.Context, b store.Batch, owner bool) (store.Result, error) {
	r, err := e.commit(ctx, b, owner)
	if err != nil {
		return store.Result{}, fmt.Errorf("commit batch: %w", err)
	}
	return r, nil
}

func (e *Engine) commit(ctx context.Context, b store.Batch, owner bool) (store.Result, error) {
	if err := b.Check(); err != nil {
		return store.Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return store.Result{}, err
	}
	r := &request{batch: b, owner: owner, done: make(chan outcome, 1)}
	select {
	case e.queue <- r:
	case <-ctx.Done():
		return store.Result{}, ctx.Err()
	case <-e.closing:
		return store.Result{}, store.ErrClosed
	}
	select {
	case o := <-r.done:
		return o.result, o.err
	case <-e.stopped:
		if r.state.CompareAndSwap(waiting, withdrawn) {
			return store.Result{}, store.ErrClosed
		}
		o := <-r.done
		return o.result, o.err
	case <-ctx.Done():
		if r.state.CompareAndSwap(waiting, withdrawn) {
			return store.Result{}, ctx.Err()
		}
		return store.Result{}, fmt.Errorf("%w: %w", store.ErrUnknown, ctx.Err())
	}
}

func size(b *store.Batch) (n int) {
	for _, p := range b.Put {
		n += len(p.Value)
	}
	for _, a := range b.Append {
		n += len(a.Value)
	}
	return n
}

// write is the one goroutine that changes the file.
func (e *Engine) write() {
	defer close(e.stopped)
	idle := time.NewTimer(sweepEvery)
	defer idle.Stop()
	for {
		select {
		case <-e.closing:
			return
		case r := <-e.queue:
			e.commitGroup(e.group(r))
			idle.Reset(sweepEvery)
		case <-idle.C:
			wait := sweepEvery
			if e.sweepIdle() {
				wait = 0
			}
			idle.Reset(wait)
		}
	}
}

// group takes what is queued behind the first request, without waiting for more.
func (e *Engine) group(r *request) []*request {
	var group []*request
	total := 0
	for {
		if r.state.CompareAndSwap(waiting, taken) {
			group = append(group, r)
			total += size(&r.batch)
		}
		if len(group) == queueLength || total > groupBytes {
			return group
		}
		select {
		case r = <-e.queue:
		default:
			return group
		}
	}
}

// errNothing rolls a transaction back in which there was nothing to write.
var errNothing = errors.New("nothing to write")

// commitGroup applies the batches in one transaction of the file and answers them.
func (e *Engine) commitGroup(group []*request) {
	if len(group) == 0 {
		return
	}
	outcomes := make([]outcome, len(group))
	_, err := e.update(sweepFew+2*len(group), func(t *transaction) (bool, error) {
		applied := false
		for i, r := range group {
			o, err := t.run(r)
			if err != nil {
				return false, err
			}
			outcomes[i] = o
			applied = applied || o.err == nil && !o.result.Repeated
		}
		return applied, nil
	})
	if err != nil {
		e.logger.Error("commit group", "path", e.path, "batches", len(group), "err", err)
	}
	for i, r := range group {
		if err != nil {
			outcomes[i] = outcome{err: err}
		} else if o := outcomes[i]; o.err == nil && !o.result.Repeated && len(r.batch.Notify) > 0 {
			e.ring(r.batch.Notify)
		}
		r.done <- outcomes[i]
	}
}

// run decides and applies one batch. An error fails the whole transaction; a refusal is an outcome.
func (t *transaction) run(r *request) (outcome, error) {
	first, found, err := t.repeated(r.batch.ID)
	if err != nil {
		return outcome{}, err
	}
	if found {
		return outcome{result: first}, nil
	}
	counters, err := t.decide(&r.batch)
	if err != nil {
		return outcome{err: err}, nil
	}
	result, err := t.apply(&r.batch, counters, r.owner)
	return outcome{result: result}, err
}

// update runs fn in a write transaction, sweeps in passing (at most limit of a kind; it returns how many of all), and commits when either
// had something to write. An error is ErrUnknown when the commit itself failed.
func (e *Engine) update(limit int, fn func(*transaction) (bool, error)) (swept int, err error) {
	committing := false
	err = e.guard(func() error {
		return e.db.Update(func(tx *bbolt.Tx) error {
			t := begin(tx, e.clock.now())
			if err := t.load(); err != nil {
				return err
			}
			changed, err := fn(t)
			if err != nil {
				return err
			}
			if swept, err = t.sweep(limit); err != nil {
				return err
			}
			if !changed && swept == 0 {
				return errNothing
			}
			committing = true
			return t.finish()
		})
	})
	switch {
	case errors.Is(err, errNothing):
		return 0, nil
	case err != nil && committing:
		return 0, fmt.Errorf("%w: write %s: %w", store.ErrUnknown, e.path, err)
	}
	return swept, err
}

// sweepIdle removes expired things and says whether there may be more.
func (e *Engine) sweepIdle() bool {
	swept, err := e.update(sweepMany, func(*transaction) (bool, error) { return false, nil })
	if err != nil {
		e.logger.Error("sweep store", "path", e.path, "err", err)
	}
	return err == nil && swept >= sweepMany
}
