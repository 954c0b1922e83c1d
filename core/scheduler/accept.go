package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"paragents/core"
	"paragents/core/audit"
	"paragents/core/moves"
	"paragents/core/orders"
	"paragents/core/state"
	"paragents/store"
)

// Submission is a prompt to be accepted: for a session, or for a new one.
type Submission struct {
	// Event identifies where it came from: a second submission with the same Event is recognised and adds nothing. Empty: never the same.
	Event       string
	Session     core.SessionID // "" with New
	New         *NewSession
	Author      core.Person
	Place       core.Place
	Text        string
	Message     string
	Attachments []core.Attachment
	Entered     []string // what stands in Text that Author did not write, for people
	RetryOf     core.Ref
	Unattended  bool // nobody can be asked
}

// NewSession is a session to be opened with its first prompt.
type NewSession struct {
	Title     string // "": made from the text
	Workspace string
	Mode      core.Mode
	Isolated  bool // in a git worktree of its own, whatever the workspace's configuration says
	Bind      bool // make it the one that plain text at the place goes to
	// Join: if another open session is bound to the place by then, the prompt goes there instead. Of several first messages of a place, in one
	// batch or on several replicas, one opens the session.
	Join bool
}

// Accepted is what became of a submission.
type Accepted struct {
	Session   core.Session
	Prompt    core.Prompt
	Ahead     int   // unfinished prompts before it in the session
	Duplicate bool  // it had been accepted before
	Err       error // ErrRefused, ErrNotFound: nothing was accepted, and the text says why
}

// Accept makes prompts of submissions: all of them in one commit, with what else the caller wants in it (a cursor, events that were
// handled otherwise). When it returns without an error, everything is durable and may be acknowledged.
func (s *Scheduler) Accept(ctx context.Context, subs []Submission, also func(*state.Batch)) ([]Accepted, error) {
	var out []Accepted
	err := state.Retry(ctx, "accept", func() (err error) {
		out, err = s.acceptOnce(ctx, subs, also)
		return err
	})
	return out, err
}

// acceptOnce is Accept without a second try: ErrConflict when something changed meanwhile.
func (s *Scheduler) acceptOnce(ctx context.Context, subs []Submission, also func(*state.Batch)) ([]Accepted, error) {
	a := newAcceptance(s)
	if err := a.read(ctx, subs); err != nil {
		return nil, err
	}
	if also != nil {
		also(&a.batch.Batch)
	}
	out := make([]Accepted, 0, len(subs))
	for _, sub := range subs {
		out = append(out, a.accept(sub))
	}
	if err := a.commit(ctx); err != nil {
		return nil, fmt.Errorf("accept: %w", err)
	}
	return out, nil
}

// acceptance is one try of Accept.
type acceptance struct {
	s        *Scheduler
	batch    *moves.Batch
	sessions map[core.SessionID]*state.Doc[core.Session]
	seen     map[string]state.Seen
	binds    map[store.Key]*bind
	changed  []core.SessionID
	prompts  []core.Prompt // accepted at the head of their queues
	claimed  map[core.SessionID]bool
}

func newAcceptance(s *Scheduler) *acceptance {
	return &acceptance{s: s, batch: moves.Durable(&s.clock), sessions: map[core.SessionID]*state.Doc[core.Session]{}, claimed: map[core.SessionID]bool{}, seen: map[string]state.Seen{}, binds: map[store.Key]*bind{}}
}

// bind is a place's binding: as it was read, when somebody asked, and as it shall be.
type bind struct {
	read    bool
	version int64
	session core.SessionID
	changed bool
}

// bind is what is known of a place's binding.
func (a *acceptance) bind(p core.Place) *bind {
	key := state.BindKey(p)
	if a.binds[key] == nil {
		a.binds[key] = &bind{}
	}
	return a.binds[key]
}

// read gets the events, sessions and bindings of all submissions at one moment, and then the sessions that the bindings lead to.
func (a *acceptance) read(ctx context.Context, subs []Submission) error {
	var keys []store.Key
	for _, sub := range subs {
		if sub.Event != "" {
			keys = append(keys, state.EventKey(sub.Event))
		}
		switch {
		case sub.New == nil:
			keys = append(keys, state.SessionKey(sub.Session), state.ClaimKey(sub.Session))
		case sub.New.Join:
			keys = append(keys, state.BindKey(sub.Place))
		}
	}
	docs, err := a.get(ctx, keys)
	if err != nil {
		return err
	}
	keys = nil
	for _, sub := range subs {
		if sub.Event != "" {
			seen, err := state.Decode[state.Seen](state.EventKey(sub.Event), docs[state.EventKey(sub.Event)])
			if err != nil {
				return err
			}
			if seen.Exists() {
				a.seen[sub.Event] = seen.Value
			}
		}
		switch {
		case sub.New == nil:
			if err := a.session(sub.Session, docs); err != nil {
				return err
			}
		case sub.New.Join:
			key := state.BindKey(sub.Place)
			d, err := state.Decode[state.Binding](key, docs[key])
			if err != nil {
				return err
			}
			*a.bind(sub.Place) = bind{read: true, version: d.Version, session: d.Value.Session}
			if d.Value.Session != "" {
				keys = append(keys, state.SessionKey(d.Value.Session), state.ClaimKey(d.Value.Session))
			}
		}
	}
	if docs, err = a.get(ctx, keys); err != nil {
		return err
	}
	for _, b := range a.binds {
		if b.session != "" && a.sessions[b.session] == nil {
			if err := a.session(b.session, docs); err != nil {
				return err
			}
		}
	}
	return nil
}

// get reads documents, each once.
func (a *acceptance) get(ctx context.Context, keys []store.Key) (map[store.Key]store.Doc, error) {
	slices.Sort(keys)
	keys = slices.Compact(keys)
	if len(keys) == 0 {
		return nil, nil
	}
	snap, err := a.s.store.Get(ctx, keys...)
	if err != nil {
		return nil, err
	}
	a.s.clock.Observe(snap.Time)
	docs := make(map[store.Key]store.Doc, len(keys))
	for i, key := range keys {
		docs[key] = snap.Docs[i]
	}
	return docs, nil
}

// session notes a session as it was read.
func (a *acceptance) session(id core.SessionID, docs map[store.Key]store.Doc) error {
	d, err := state.Decode[core.Session](state.SessionKey(id), docs[state.SessionKey(id)])
	a.sessions[id] = &d
	a.claimed[id] = docs[state.ClaimKey(id)].Version != 0
	return err
}

// accept adds one submission to the batch.
func (a *acceptance) accept(sub Submission) Accepted {
	if seen, ok := a.seen[sub.Event]; ok && sub.Event != "" {
		return Accepted{Duplicate: true, Session: core.Session{ID: seen.Session}, Prompt: core.Prompt{ID: seen.Prompt}}
	}
	now := a.s.clock.Now()
	sess, err := a.take(sub, now)
	if err != nil {
		if sub.Event != "" { // a refusal is an answer: the same event is not asked again
			a.remember(sub.Event, state.Seen{})
		}
		return Accepted{Err: err}
	}
	v := &sess.Value
	p := core.Prompt{ID: core.NewID[core.PromptID](now), Ref: core.NewRef(), Session: v.ID, Author: sub.Author, Place: sub.Place, Text: sub.Text,
		Message: sub.Message, Attachments: sub.Attachments, Entered: sub.Entered, State: core.Queued, Accepted: now, RetryOf: sub.RetryOf, Unattended: sub.Unattended, Trace: core.NewID[core.TraceID](now)}
	ahead := len(v.Queue)
	v.Queue, v.Touched = append(v.Queue, p.ID), now
	a.batch.Name(p.Ref, state.Named{Kind: state.NamedPrompt, ID: string(p.ID), Session: v.ID})
	a.batch.Append(state.Audit, audit.Entry{Time: now, What: "accepted", Session: v.Ref, Prompt: p.Ref, Who: p.Author, Show: p.Text, Trace: p.Trace})
	if sub.Event != "" {
		a.remember(sub.Event, state.Seen{Session: v.ID, Prompt: p.ID})
	}
	if ahead == 0 && !v.Held {
		a.prompts = append(a.prompts, p)
	} else {
		a.put(p)
	}
	return Accepted{Session: *v, Prompt: p, Ahead: ahead}
}

func (a *acceptance) put(p core.Prompt) { a.batch.Update(state.PromptKey(p.ID), 0, p) }

func (a *acceptance) remember(event string, seen state.Seen) {
	a.batch.Expect(state.EventKey(event), 0)
	a.batch.Put(state.EventKey(event), seen, state.EventKept)
	a.seen[event] = seen
}

// take finds or opens the session of a submission, and marks it as changed.
func (a *acceptance) take(sub Submission, now time.Time) (*state.Doc[core.Session], error) {
	switch {
	case strings.TrimSpace(sub.Text) == "" && len(sub.Attachments) == 0:
		return nil, fmt.Errorf("%w: there is no text; write what is to be done", core.ErrRefused)
	case len(sub.Text) > orders.MaxText:
		return nil, fmt.Errorf("%w: the text has more than %d bytes; put it into a file of the workspace and name that", core.ErrRefused, orders.MaxText)
	}
	id := sub.Session
	if sub.New != nil {
		if id = a.joined(sub); id == "" {
			return a.open(sub, now), nil
		}
	}
	d := a.sessions[id]
	switch {
	case d == nil || d.Value.ID == "":
		return nil, fmt.Errorf("session: %w; list shows those that there are", core.ErrNotFound)
	case d.Value.Closed:
		return nil, fmt.Errorf("%w: session %s (%s) is closed; begin a new one", core.ErrRefused, d.Value.Ref, d.Value.Title)
	case len(d.Value.Queue) >= a.s.cfg.MaxQueue:
		return nil, fmt.Errorf("%w: session %s has %d unfinished prompts, which is the most; wait, or cancel one", core.ErrRefused, d.Value.Ref, len(d.Value.Queue))
	}
	if !slices.Contains(a.changed, id) {
		a.changed = append(a.changed, id)
	}
	return d, nil
}

// joined is the open session that the submission goes to because its place is bound to it; "" when it opens one.
func (a *acceptance) joined(sub Submission) core.SessionID {
	if !sub.New.Join {
		return ""
	}
	id := a.bind(sub.Place).session
	if d := a.sessions[id]; d == nil || d.Value.ID == "" || d.Value.Closed {
		return ""
	}
	return id
}

// commit writes the changed sessions and everything collected before. What this replica can run at once it takes in the same commit; for the rest it rings.
func (a *acceptance) commit(ctx context.Context) error {
	for _, id := range a.changed {
		d := a.sessions[id]
		a.batch.Update(state.SessionKey(id), d.Version, d.Value)
		a.batch.Touch(d.Value)
	}
	for key, b := range a.binds {
		if b.read {
			a.batch.Expect(key, b.version)
		}
		if b.changed {
			a.batch.Put(key, state.Binding{Session: b.session}, 0)
		}
	}
	var runs []*Run
	for _, p := range a.prompts {
		if run := a.begin(p); run != nil {
			runs = append(runs, run)
			a.put(run.Prompt)
			continue
		}
		a.put(p)
		a.batch.Ready(p.Session)
	}
	res, err := a.batch.Commit(ctx, a.s.store)
	for _, run := range runs {
		if err != nil { // if it was applied all the same, recover finds a claim that nobody works at
			run.h.leave()
			continue
		}
		run.own(res)
		go func() {
			defer run.h.leave()
			a.s.hold(run, nil, 0)
		}()
	}
	if err == nil {
		a.s.clock.Observe(res.Time)
	}
	return err
}

// begin takes the session of a prompt at the head of its queue for this replica; nil when somebody else shall look for it.
func (a *acceptance) begin(p core.Prompt) *Run {
	s, sess := a.s, a.sessions[p.Session].Value
	if s.missed.Load() { // others have been ready for longer
		return nil
	}
	if a.claimed[sess.ID] || !s.cfg.Serves(sess.Workspace) || !s.cfg.Reaches(sess.Place) || s.frozen(sess.Workspace, p.Author) || len(s.limits(sess, p)) > 0 {
		return nil
	}
	h := s.seat(sess.ID, 1)
	if h == nil {
		return nil
	}
	run, err := s.begin(a.batch, h, sess, p)
	if err != nil { // the lease is over
		h.leave()
		return nil
	}
	run.virgin = sess.Last == "" && run.first != nil
	return run
}
