package scheduler

import (
	"context"
	"sync"
	"time"

	"paragents/core"
	"paragents/core/state"
	"paragents/store"
)

// floor is where holdings are while this replica takes sessions.
type floor struct {
	hard     context.Context // the end of all of them
	holdings sync.WaitGroup
}

// holding is a session in this replica's hands.
type holding struct {
	ctx   context.Context
	stop  context.CancelCauseFunc
	leave func()        // gives its slot back; called once, by who has it
	park  chan struct{} // closed: come to an end at the next boundary

	mu      sync.Mutex
	parked  bool
	paused  chan struct{} // closed: a person paused the prompt
	steered bool          // messages may wait on the prompt
	run     *Run
}

// open lets this replica take sessions; all of them end with hard.
func (s *Scheduler) open(hard context.Context) *floor {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.floor = &floor{hard: hard}
	return s.floor
}

// close takes no more sessions, and asks all runs to come to an end at their next boundary.
func (s *Scheduler) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.floor = nil
	for _, h := range s.held {
		h.parkNow(false)
	}
}

// seat makes room for a session, which takes a number of slots; nil when there is none, when the session is held already, or when this replica takes nothing.
func (s *Scheduler) seat(id core.SessionID, slots int64) *holding {
	if !s.acquire(slots) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, mine := s.held[id]; mine || s.floor == nil {
		s.free(slots)
		return nil
	}
	f := s.floor
	h := &holding{park: make(chan struct{}), paused: make(chan struct{})}
	h.ctx, h.stop = context.WithCancelCause(f.hard)
	h.leave = func() {
		h.stop(nil)
		s.mu.Lock()
		delete(s.held, id)
		s.mu.Unlock()
		s.free(slots)
		f.holdings.Done()
	}
	s.held[id] = h
	f.holdings.Add(1)
	return h
}

// acquire takes slots. When there are none it marks that something was missed, so that whoever frees one looks again.
func (s *Scheduler) acquire(n int64) bool {
	if s.slots.TryAcquire(n) {
		return true
	}
	s.missed.Store(true)
	return s.slots.TryAcquire(n)
}

// free gives slots back, and has the dispatcher look again if something could not be held before.
func (s *Scheduler) free(n int64) {
	s.slots.Release(n)
	missed, early := s.missed.Swap(false), s.early.Swap(false)
	if missed || early {
		s.poke()
	}
}

func (h *holding) set(r *Run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.run = r
}

func (h *holding) get() *Run {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.run
}

// parkNow asks the run to end at its next boundary; with pause, without waiting for the model either.
func (h *holding) parkNow(pause bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.parked {
		h.parked = true
		close(h.park)
	}
	if pause {
		select {
		case <-h.paused:
		default:
			close(h.paused)
		}
	}
}

func (h *holding) setSteered(v bool) (was bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	was, h.steered = h.steered, v
	return was
}

// own says that the commit was applied that gave the session to the run.
func (r *Run) own(res store.Result) {
	r.fence = store.Fence{Key: state.ClaimKey(r.Session.ID), Version: res.Version, Holder: string(r.replica)}
}

// hold works on a session until it gives it back. finish and again come from what was sent before.
func (s *Scheduler) hold(run *Run, finish func(*state.Batch), again time.Duration) {
	log := s.log.With("session", run.Session.Ref)
	for run != nil {
		var err error
		if run.Prompt.ID != "" {
			if err = s.record(run, finish); err != nil {
				log.Warn("cannot record what was sent; the session is taken over", "error", err)
				return
			}
			if err = s.settle(run.h.ctx, run, s.outcome(run)); err != nil {
				log.Error("cannot settle the prompt; it is taken over", "prompt", run.Prompt.Ref, "error", err)
				return
			}
			if finish, again, err = s.drainLast(run); err != nil {
				return
			}
		}
		if run, err = s.release(run, finish, again); err != nil {
			log.Warn("cannot give the session back; it is taken over", "error", err)
		}
		finish, again = nil, 0
	}
}

// outcome runs the prompt.
func (s *Scheduler) outcome(run *Run) Outcome {
	if run.Prompt.Order != core.OrderNone { // somebody has ended it before it began
		return Outcome{State: core.Queued}
	}
	if out := run.foresee(run.h.ctx); out.State != "" {
		return out
	}
	return s.cfg.Agent.Run(run.h.ctx, run)
}

// record writes down what a drain left to be recorded, before a run that may take long.
func (s *Scheduler) record(r *Run, finish func(*state.Batch)) error {
	if finish == nil {
		return nil
	}
	b := r.batch()
	finish(&b.Batch)
	return r.commit(context.WithoutCancel(r.h.ctx), b)
}
