package scheduler

import (
	"context"
	"fmt"
	"strings"
	"time"

	"paragents/core"
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
	RetryOf     core.Ref
	Unattended  bool // nobody can be asked
}

// NewSession is a session to be opened with its first prompt.
type NewSession struct {
	Title     string // "": made from the text
	Workspace string
	Mode      core.Mode
	Bind      bool // make it the one that plain text at the place goes to
}

// Accepted is what became of a submission.
type Accepted struct {
	Session   core.Session
	Prompt    core.Prompt
	Ahead     int   // unfinished prompts before it in the session
	Duplicate bool  // it had been accepted before
	Err       error // ErrRefused, ErrNotFound: nothing was accepted, and the text says why
}

// Seen is what is remembered of an inbound event.
type Seen struct {
	Session core.SessionID `json:"session,omitempty"`
	Prompt  core.PromptID  `json:"prompt,omitempty"`
}

// EventKept is how long an inbound event is remembered for deduplication.
const EventKept = 7 * 24 * time.Hour

// NamedKind says what a ref names.
type NamedKind string

const (
	NamedSession  NamedKind = "session"
	NamedPrompt   NamedKind = "prompt"
	NamedApproval NamedKind = "approval"
)

// Named is what a ref leads to.
type Named struct {
	Kind    NamedKind      `json:"kind"`
	ID      string         `json:"id"`
	Session core.SessionID `json:"session"`
}

// name reserves a ref in a batch; one that is taken refuses the batch, and the next try draws another.
func (s *Scheduler) name(b *state.Batch, ref core.Ref, n Named) {
	b.Expect(state.RefKey(ref), 0)
	b.Put(state.RefKey(ref), n, 0)
}

// Accept makes prompts of submissions: all of them in one commit, with what else the caller wants in it (a cursor, events that were
// handled otherwise). When it returns without an error, everything is durable and may be acknowledged.
func (s *Scheduler) Accept(ctx context.Context, subs []Submission, also func(*state.Batch)) ([]Accepted, error) {
	var out []Accepted
	var hints []candidate
	err := s.retry(ctx, "accept", func() error {
		a := acceptance{s: s, sessions: map[core.SessionID]*state.Doc[core.Session]{}, seen: map[string]Seen{}}
		if err := a.read(ctx, subs); err != nil {
			return err
		}
		if also != nil {
			also(&a.batch)
		}
		out = out[:0]
		for _, sub := range subs {
			out = append(out, a.accept(sub))
		}
		var res store.Result
		var err error
		if hints, res, err = a.commit(ctx); err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		s.clock.Observe(res.Time)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, c := range hints {
		select {
		case s.hints <- c:
		default: // found in the index as well
			s.poke()
		}
	}
	return out, nil
}

// acceptance is one try of Accept.
type acceptance struct {
	s        *Scheduler
	batch    state.Batch
	sessions map[core.SessionID]*state.Doc[core.Session]
	seen     map[string]Seen
	changed  []core.SessionID
	prompts  []core.Prompt // accepted at the head of their queues
}

// read gets the events and sessions of all submissions at one moment.
func (a *acceptance) read(ctx context.Context, subs []Submission) error {
	var keys []store.Key
	for _, sub := range subs {
		if sub.Event != "" {
			keys = append(keys, state.EventKey(sub.Event))
		}
		if sub.New == nil {
			keys = append(keys, state.SessionKey(sub.Session))
		}
	}
	if len(keys) == 0 {
		return nil
	}
	snap, err := a.s.store.Get(ctx, keys...)
	if err != nil {
		return err
	}
	a.s.clock.Observe(snap.Time)
	docs := snap.Docs
	for _, sub := range subs {
		if sub.Event != "" {
			seen, err := state.Decode[Seen](state.EventKey(sub.Event), docs[0])
			if err != nil {
				return err
			}
			if seen.Exists() {
				a.seen[sub.Event] = seen.Value
			}
			docs = docs[1:]
		}
		if sub.New == nil {
			sess, err := state.Decode[core.Session](state.SessionKey(sub.Session), docs[0])
			if err != nil {
				return err
			}
			a.sessions[sub.Session] = &sess
			docs = docs[1:]
		}
	}
	return nil
}

// accept adds one submission to the batch.
func (a *acceptance) accept(sub Submission) Accepted {
	if seen, ok := a.seen[sub.Event]; ok && sub.Event != "" {
		return Accepted{Duplicate: true, Session: core.Session{ID: seen.Session}, Prompt: core.Prompt{ID: seen.Prompt}}
	}
	now := a.s.clock.Now()
	sess, err := a.session(sub, now)
	if err != nil {
		if sub.Event != "" { // a refusal is an answer: the same event is not asked again
			a.remember(sub.Event, Seen{})
		}
		return Accepted{Err: err}
	}
	v := &sess.Value
	p := core.Prompt{ID: core.NewID[core.PromptID](now), Ref: core.NewRef(), Session: v.ID, Author: sub.Author, Place: sub.Place, Text: sub.Text,
		Message: sub.Message, Attachments: sub.Attachments, State: core.Queued, Accepted: now, RetryOf: sub.RetryOf, Unattended: sub.Unattended, Trace: core.NewID[core.TraceID](now)}
	ahead := len(v.Queue)
	v.Queue, v.Touched = append(v.Queue, p.ID), now
	a.batch.Expect(state.PromptKey(p.ID), 0)
	a.batch.Put(state.PromptKey(p.ID), p, 0)
	a.s.name(&a.batch, p.Ref, Named{Kind: NamedPrompt, ID: string(p.ID), Session: v.ID})
	a.batch.Append(state.Audit, Entry{Time: now, What: "accepted", Session: v.Ref, Prompt: p.Ref, Who: p.Author, Show: p.Text, Trace: p.Trace})
	if sub.Event != "" {
		a.remember(sub.Event, Seen{Session: v.ID, Prompt: p.ID})
	}
	if ahead == 0 && !v.Held {
		a.s.ready(&a.batch, v.ID)
		a.prompts = append(a.prompts, p)
	}
	return Accepted{Session: *v, Prompt: p, Ahead: ahead}
}

func (a *acceptance) remember(event string, seen Seen) {
	a.batch.Expect(state.EventKey(event), 0)
	a.batch.Put(state.EventKey(event), seen, EventKept)
	a.seen[event] = seen
}

// session finds or opens the session of a submission, and marks it as changed.
func (a *acceptance) session(sub Submission, now time.Time) (*state.Doc[core.Session], error) {
	if strings.TrimSpace(sub.Text) == "" && len(sub.Attachments) == 0 {
		return nil, fmt.Errorf("%w: there is no text; write what is to be done", core.ErrRefused)
	}
	if sub.New != nil {
		v := core.Session{ID: core.NewID[core.SessionID](now), Ref: core.NewRef(), Title: Title(sub.New.Title, sub.Text), Workspace: sub.New.Workspace,
			Owner: sub.Author, Place: sub.Place, Mode: sub.New.Mode, Created: now}
		if v.Mode == "" {
			v.Mode = core.ModeAsk
		}
		a.s.name(&a.batch, v.Ref, Named{Kind: NamedSession, ID: string(v.ID), Session: v.ID})
		if sub.New.Bind {
			a.batch.Put(state.BindKey(sub.Place), Binding{Session: v.ID}, 0)
		}
		d := &state.Doc[core.Session]{Value: v}
		a.sessions[v.ID] = d
		a.changed = append(a.changed, v.ID)
		return d, nil
	}
	d := a.sessions[sub.Session]
	switch {
	case d == nil || !d.Exists() && d.Value.ID == "":
		return nil, fmt.Errorf("session: %w; list shows those that there are", core.ErrNotFound)
	case d.Value.Closed:
		return nil, fmt.Errorf("%w: session %s (%s) is closed; begin a new one", core.ErrRefused, d.Value.Ref, d.Value.Title)
	case len(d.Value.Queue) >= a.s.cfg.MaxQueue:
		return nil, fmt.Errorf("%w: session %s has %d unfinished prompts, which is the most; wait, or cancel one", core.ErrRefused, d.Value.Ref, len(d.Value.Queue))
	}
	for _, id := range a.changed {
		if id == d.Value.ID {
			return d, nil
		}
	}
	a.changed = append(a.changed, d.Value.ID)
	return d, nil
}

// commit writes the changed sessions and everything collected before, and says which of the sessions can be run at once.
func (a *acceptance) commit(ctx context.Context) ([]candidate, store.Result, error) {
	a.batch.Durable = true
	for _, id := range a.changed {
		d := a.sessions[id]
		a.batch.Update(state.SessionKey(id), d.Version, d.Value)
		a.s.touch(&a.batch, d.Value)
	}
	res, err := a.batch.Commit(ctx, a.s.store)
	if err != nil {
		return nil, res, err
	}
	var out []candidate
	for _, p := range a.prompts {
		sess := a.sessions[p.Session].Value
		if a.s.cfg.Serves(sess.Workspace) && a.s.cfg.Reaches(sess.Place) {
			out = append(out, candidate{fresh: true, session: state.Doc[core.Session]{Value: sess, Version: res.Version},
				prompt: state.Doc[core.Prompt]{Value: p, Version: res.Version}})
		}
	}
	return out, res, nil
}

// Binding ties a place to the session that plain text goes to.
type Binding struct {
	Session core.SessionID `json:"session"`
}

// titleLen is the longest title, in characters.
const titleLen = 60

// Title makes a session's title: the given one, or the first line of its first prompt.
func Title(given, text string) string {
	if given == "" {
		given, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	}
	title := []rune(strings.Join(strings.Fields(given), " "))
	if len(title) > titleLen {
		title = append(title[:titleLen-1], '…')
	}
	return string(title)
}
