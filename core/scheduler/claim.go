package scheduler

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"paragents/core"
	"paragents/core/moves"
	"paragents/core/state"
	"paragents/store"
)

// candidate is a session that may be claimed, with its first prompt if it has one.
type candidate struct {
	session state.Doc[core.Session]
	prompt  state.Doc[core.Prompt]
	back    bool // the prompt is held back: only letters are to be sent
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

// dispatch claims what is ready as long as there are free slots: when a bell rings, and every second in any case.
func (s *Scheduler) dispatch(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-tick.C:
		}
		if err := s.scan(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("cannot look for ready sessions; trying again", "error", err)
		}
	}
}

// scan reads ready sessions and starts those that this replica may hold. Where it has room for all of them it begins at a random one, so that replicas do not
// all try the same; else those come first that have been ready for longest.
func (s *Scheduler) scan(ctx context.Context) error {
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
				s.start(found[(from+i)%n])
			}
		}
		if len(page.Entries) < scanPage {
			return nil
		}
		after = &page.Entries[len(page.Entries)-1]
	}
	return nil
}

// room is how many more sessions this replica can hold: none while it does not run.
func (s *Scheduler) room() int {
	if !s.Alive(s.ID()) {
		return 0
	}
	return s.cfg.MaxInFlight - s.occupied()
}

// occupied is how many sessions this replica holds.
func (s *Scheduler) occupied() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.held)
}

// candidates reads the sessions of a page that nobody holds and this replica may, with their first prompts: two round trips.
func (s *Scheduler) candidates(ctx context.Context, entries []store.Entry) ([]candidate, error) {
	keys := make([]store.Key, 0, 2*len(entries))
	for _, e := range entries {
		id := core.SessionID(e.Member)
		if s.holds(id) { // asked again behind the mark, which whoever gives the session back may have missed
			s.early.Store(true)
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

// aloneFor is how long a prompt that was taken over twice waits for a replica on which nothing else runs: a busy one may never be that.
const aloneFor = 5 * time.Minute

// start holds a candidate in a goroutine of its own, if a slot is free. A prompt that was taken over twice gets the replica for itself.
func (s *Scheduler) start(c candidate) {
	weight := int64(1)
	if p := c.prompt.Value; !c.back && p.Takeovers >= 2 && s.clock.Now().Sub(p.Since) < aloneFor {
		weight = int64(s.cfg.MaxInFlight)
	}
	if h := s.seat(c.session.Value.ID, weight); h != nil {
		go func() {
			defer h.leave()
			s.claim(h, c)
		}()
	}
}

// runnable reports whether a session's first prompt can be run now.
func runnable(sess core.Session, p state.Doc[core.Prompt]) bool {
	return p.Exists() && p.Value.State == core.Queued && !sess.Held
}

// claim takes a session for this replica in a commit of its own, and works on it.
func (s *Scheduler) claim(h *holding, c candidate) {
	log := s.log.With("session", c.session.Value.Ref)
	run, err := s.claimOnce(h, c)
	switch {
	case errors.Is(err, store.ErrConflict):
		s.poke() // it changed meanwhile: look again
	case err != nil:
		log.Warn("cannot claim the session; whoever is next will", "error", err)
	default:
		finish, again := s.drain(h.ctx, run)
		s.hold(run, finish, again)
	}
}

func (s *Scheduler) claimOnce(h *holding, c candidate) (*Run, error) {
	p := c.prompt.Value
	b := moves.Durable(&s.clock)
	b.Expect(state.SessionKey(c.session.Value.ID), c.session.Version)
	b.RemoveFrom(state.Ready, string(c.session.Value.ID))
	if c.back || !runnable(c.session.Value, c.prompt) {
		p = core.Prompt{}
	} else if err := s.count(h.ctx, b, c.session.Value, p); err != nil {
		return nil, err
	}
	run, err := s.begin(b, h, c.session.Value, p)
	if err != nil {
		return nil, err
	}
	if p.ID != "" {
		b.Update(state.PromptKey(p.ID), c.prompt.Version, run.Prompt)
	}
	res, err := b.Commit(h.ctx, s.store)
	if err != nil {
		return nil, err
	}
	s.clock.Observe(res.Time)
	run.own(res)
	run.back = c.back
	return run, nil
}

// begin adds to a batch what gives a session to this replica, and with it a prompt that can be run, so that a prompt is never running without a holder. The caller writes
// the prompt as it is in the run, commits, and says run.own.
func (s *Scheduler) begin(b *moves.Batch, h *holding, sess core.Session, p core.Prompt) (*Run, error) {
	replica := s.ID()
	if !s.Alive(replica) {
		return nil, errLost
	}
	b.Expect(state.ClaimKey(sess.ID), 0)
	b.InsertNow(state.Running, string(sess.ID), 0)
	b.InsertNow(state.ByWorkspace(sess.Workspace), string(sess.ID), 0)
	b.Hold(state.ClaimKey(sess.ID), state.Claim{Replica: replica, Since: s.clock.Now(), Author: p.Author}, string(replica), 0)
	run := &Run{s: s, h: h, replica: replica, Session: sess}
	if p.ID != "" {
		if err := run.start(b, p); err != nil {
			return nil, err
		}
	}
	h.set(run) // before the commit: an order may follow it at once, and its bell must find the run
	return run, nil
}

// start makes the run one of a prompt, which the caller writes as it then is in the run.
func (r *Run) start(b *moves.Batch, p core.Prompt) error {
	if err := p.To(core.Running, ""); err != nil {
		return err
	}
	p.Since = r.Now()
	if p.Started.IsZero() {
		p.Started = p.Since
		if g := r.s.cfg.Foresee(r.Session, p); len(g.Writes)+len(g.Claims)+len(g.Actions) > 0 {
			p.Guess = &g
		}
		r.first = &core.Record{Kind: core.RecordUser, Prompt: p.ID, Time: p.Since, Person: p.Author, Text: p.Text}
		b.Records(r.Session.ID, *r.first)
	}
	b.InsertNow(state.ByAuthor(p.Author), string(r.Session.ID), 0)
	r.Prompt = p
	r.h.setSteered(len(p.Steer) > 0)
	return nil
}
