package scheduler

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"paragents/core"
	"paragents/core/state"
	"paragents/store"
)

// Claim is the document that gives a session to a replica. Its version and holder are the fence of everything that the run commits.
type Claim struct {
	Replica core.ReplicaID `json:"replica"`
	Since   time.Time      `json:"since"`
	Author  core.Person    `json:"author,omitempty"` // of the prompt that runs
}

// candidate is a session that may be claimed, with its first prompt if it has one. fresh says that it comes straight from Accept: its lane
// has been empty, and if the session is new its transcript too.
type candidate struct {
	session state.Doc[core.Session]
	prompt  state.Doc[core.Prompt]
	fresh   bool
}

// scanPage is how many ready sessions are looked at together; scanPages, how far a look goes past sessions that others hold.
const (
	scanPage  = 32
	scanPages = 8
)

// poke makes the dispatcher look at once.
func (s *Scheduler) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// dispatch claims what is ready as long as there are free slots: what was accepted here at once, everything else from the index, when a
// bell rings and every second in any case.
func (s *Scheduler) dispatch(ctx, hard context.Context, holdings *sync.WaitGroup) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case c := <-s.hints:
			s.start(ctx, hard, holdings, c)
			continue
		case <-s.wake:
		case <-tick.C:
		}
		if err := s.scan(ctx, hard, holdings); err != nil && ctx.Err() == nil {
			s.log.Warn("cannot look for ready sessions; trying again", "error", err)
		}
	}
}

// scan reads ready sessions and starts those that this replica may hold. Where it has room for all of them it begins at a random one, so that replicas do not
// all try the same; else those come first that have been ready for longest.
func (s *Scheduler) scan(ctx, hard context.Context, holdings *sync.WaitGroup) error {
	var after *store.Entry
	for range s.pages() {
		if !s.acquire(1) {
			return nil // whoever frees a slot looks again
		}
		s.slots.Release(1)
		page, err := s.store.Scan(ctx, state.Ready, store.Range{After: after, Limit: scanPage, Due: true})
		if err != nil {
			return err
		}
		s.clock.Observe(page.Time)
		found, err := s.candidates(ctx, page.Entries)
		if err == nil {
			found, err = s.within(ctx, found)
		}
		if err != nil {
			return err
		}
		if n := len(found); n > 0 {
			from := 0
			if n <= s.room() {
				from = rand.IntN(n)
			}
			for i := range found {
				s.start(ctx, hard, holdings, found[(from+i)%n])
			}
		}
		if len(page.Entries) < scanPage {
			return nil
		}
		after = &page.Entries[len(page.Entries)-1]
	}
	return nil
}

// acquire takes slots. When there are none it marks that something was missed, so that whoever frees one looks again.
func (s *Scheduler) acquire(n int64) bool {
	if s.slots.TryAcquire(n) {
		return true
	}
	s.missed.Store(true)
	return s.slots.TryAcquire(n)
}

// room is how many more sessions this replica can hold: none while it does not run.
func (s *Scheduler) room() int {
	if !s.lease.alive(s.ID()) {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cfg.MaxInFlight - len(s.held)
}

// candidates reads the sessions of a page that nobody holds and this replica may, with their first prompts: two round trips.
func (s *Scheduler) candidates(ctx context.Context, entries []store.Entry) ([]candidate, error) {
	keys := make([]store.Key, 0, 2*len(entries))
	for _, e := range entries {
		id := core.SessionID(e.Member)
		if s.holds(id) { // asked again behind the mark, which whoever gives the session back may have missed
			s.missed.Store(true)
		}
		if !s.holds(id) {
			keys = append(keys, state.SessionKey(id), state.ClaimKey(id))
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	snap, err := s.store.Get(ctx, keys...)
	if err != nil {
		return nil, err
	}
	var found []candidate
	var prompts []store.Key
	for i := 0; i < len(keys); i += 2 {
		sess, err := state.Decode[core.Session](keys[i], snap.Docs[i])
		if err != nil {
			s.log.Error("leaving a session alone", "error", err)
			continue
		}
		if !sess.Exists() || snap.Docs[i+1].Version != 0 || !s.cfg.Serves(sess.Value.Workspace) || !s.cfg.Reaches(sess.Value.Place) {
			continue
		}
		found = append(found, candidate{session: sess})
		if len(sess.Value.Queue) > 0 {
			prompts = append(prompts, state.PromptKey(sess.Value.Queue[0]))
		}
	}
	if len(prompts) == 0 {
		return found, nil
	}
	if snap, err = s.store.Get(ctx, prompts...); err != nil {
		return nil, err
	}
	docs, whole := snap.Docs, found[:0]
	for _, c := range found {
		if len(c.session.Value.Queue) > 0 {
			if c.prompt, err = state.Decode[core.Prompt](state.PromptKey(c.session.Value.Queue[0]), docs[0]); err != nil {
				s.log.Error("leaving a session alone", "session", c.session.Value.Ref, "error", err)
			}
			if docs = docs[1:]; err != nil {
				continue
			}
		}
		whole = append(whole, c)
	}
	return whole, nil
}

// start holds a candidate in a goroutine of its own, if a slot is free. A prompt that was taken over twice gets the replica for itself.
func (s *Scheduler) start(ctx, hard context.Context, holdings *sync.WaitGroup, c candidate) {
	id := c.session.Value.ID
	weight := int64(1)
	if c.prompt.Value.Takeovers >= 2 {
		weight = int64(s.cfg.MaxInFlight)
	}
	if ctx.Err() != nil || runnable(c.session.Value, c.prompt) && s.frozen(c.session.Value, c.prompt.Value) || !s.acquire(weight) {
		return
	}
	h := newHolding(hard)
	s.mu.Lock()
	if _, mine := s.held[id]; mine {
		s.mu.Unlock()
		s.slots.Release(weight)
		return
	}
	s.held[id] = h
	s.mu.Unlock()
	holdings.Go(func() {
		defer func() {
			h.stop(nil)
			s.mu.Lock()
			delete(s.held, id)
			s.mu.Unlock()
			s.slots.Release(weight)
			if s.missed.Swap(false) {
				s.poke()
			}
		}()
		s.hold(h, c)
	})
}

// runnable reports whether a session's first prompt can be run now.
func runnable(sess core.Session, p state.Doc[core.Prompt]) bool {
	return p.Exists() && p.Value.State == core.Queued && !sess.Held
}

// claim takes the session for this replica, and starts its first prompt if that can run: one batch, so that a prompt is never running
// without a holder.
func (s *Scheduler) claim(ctx context.Context, h *holding, c candidate) (*Run, error) {
	replica, _ := s.lease.get()
	if !s.lease.alive(replica) {
		return nil, errLost
	}
	now := s.clock.Now()
	sess, p := c.session.Value, c.prompt.Value
	var b state.Batch
	b.Durable = true
	b.Expect(state.SessionKey(sess.ID), c.session.Version)
	b.Expect(state.ClaimKey(sess.ID), 0)
	claim := Claim{Replica: replica, Since: now}
	b.InsertNow(state.Running, string(sess.ID), 0)
	b.InsertNow(state.ByWorkspace(sess.Workspace), string(sess.ID), 0)
	b.RemoveFrom(state.Ready, string(sess.ID))
	run := &Run{s: s, h: h, replica: replica, Session: sess}
	if runnable(sess, c.prompt) {
		if err := p.To(core.Running, ""); err != nil {
			return nil, err
		}
		p.Since = now
		if p.Started.IsZero() {
			p.Started = now
			if g := s.cfg.Foresee(sess, p); len(g.Writes)+len(g.Claims)+len(g.Actions) > 0 {
				p.Guess = &g
			}
			run.first = &core.Record{Kind: core.RecordUser, Prompt: p.ID, Time: now, Person: p.Author, Text: p.Text}
			s.appendRecords(&b, sess.ID, *run.first)
		}
		b.Update(state.PromptKey(p.ID), c.prompt.Version, p)
		if err := s.count(ctx, &b, sess, p); err != nil {
			return nil, err
		}
		claim.Author = p.Author
		b.InsertNow(state.ByAuthor(p.Author), string(sess.ID), 0)
	}
	b.Hold(state.ClaimKey(sess.ID), claim, string(replica), 0)
	if p.State == core.Running {
		run.Prompt = p
		h.setSteered(len(p.Steer) > 0)
	}
	h.set(run) // before the commit: an order may follow it at once, and its bell must find the run
	res, err := b.Commit(ctx, s.store)
	if err != nil {
		return nil, err
	}
	s.clock.Observe(res.Time)
	run.fence = store.Fence{Key: state.ClaimKey(sess.ID), Version: res.Version, Holder: string(replica)}
	run.virgin = c.fresh && sess.Last == "" && run.first != nil
	return run, nil
}

// hold claims a session, sends what lies in its lane, runs its first prompt, sends again, and gives the session back.
func (s *Scheduler) hold(h *holding, c candidate) {
	ctx := h.ctx
	log := s.log.With("session", c.session.Value.Ref)
	run, err := s.claim(ctx, h, c)
	switch {
	case errors.Is(err, store.ErrConflict):
		s.poke() // it changed meanwhile: look again
		return
	case err != nil:
		log.Warn("cannot claim the session; whoever is next will", "error", err)
		return
	}
	var finish func(*state.Batch)
	var again time.Duration
	if !c.fresh {
		finish, again = s.drain(ctx, run)
	}
	if run.Prompt.ID != "" {
		if err := s.record(ctx, run, finish); err != nil {
			log.Warn("cannot record what was sent; the session is taken over", "error", err)
			return
		}
		out := Outcome{State: core.Queued}
		if run.Prompt.Order == core.OrderNone { // else somebody has ended it before it began
			if out = run.foresee(ctx); out.State == "" {
				out = s.cfg.Agent.Run(ctx, run)
			}
		}
		if err := s.settle(ctx, run, out); err != nil {
			log.Error("cannot settle the prompt; it is taken over", "prompt", run.Prompt.Ref, "error", err)
			return
		}
		if finish, again, err = s.drainLast(run); err != nil {
			return
		}
	}
	if err := s.release(run, finish, again); err != nil {
		log.Warn("cannot give the session back; it is taken over", "error", err)
	}
}

// record writes down what a drain left to be recorded, before a run that may take long.
func (s *Scheduler) record(ctx context.Context, r *Run, finish func(*state.Batch)) error {
	if finish == nil {
		return nil
	}
	b := &state.Batch{}
	b.Fence, b.Durable = &r.fence, true
	finish(b)
	return r.commit(context.WithoutCancel(ctx), b)
}
