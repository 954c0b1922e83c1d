package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"paragents/core"
	"paragents/core/claims"
	"paragents/core/preflight"
	"paragents/core/state"
	"paragents/store"
)

// Collision is the error of a run that would write what other live prompts have reserved. Nothing ran; the outcome is Blocked.
type Collision struct {
	Conflict core.Conflict
}

func (c *Collision) Error() string {
	return fmt.Sprintf("would write %s, which %s", strings.Join(c.Conflict.Paths, ", "), holds(c.Conflict.Owners))
}

// Unwrap makes a collision a refusal.
func (c *Collision) Unwrap() error { return core.ErrRefused }

func holds(owners []core.Rival) string {
	refs := make([]string, len(owners))
	for i, o := range owners {
		refs[i] = string(o.Session)
	}
	if len(refs) == 1 {
		return "session " + refs[0] + " holds"
	}
	return "sessions " + strings.Join(refs, ", ") + " hold"
}

// patience is how long a prompt may wait for people before others may write what it holds.
const patience = 8 * time.Hour

// sweepAtOnce is how many entries of the book beside those that matter are looked at for prompts that have ended.
const sweepAtOnce = 32

// ledger is a workspace's book as it was read, with the prompts that were read for it.
type ledger struct {
	key     store.Key
	version int64
	book    claims.Book
	apart   string // the directory that paths are about
	fold    bool
	prompts map[core.PromptID]core.Prompt
}

// ledger reads the book of a session's workspace, for the directory that the session works in.
func (s *Scheduler) ledger(ctx context.Context, sess core.Session) (*ledger, error) {
	l := &ledger{key: state.ClaimsKey(sess.Workspace), apart: sess.Apart(), fold: s.cfg.Fold(sess.Workspace), prompts: map[core.PromptID]core.Prompt{}}
	d, now, err := state.Get[claims.Book](ctx, s.store, l.key)
	if err != nil {
		return nil, err
	}
	s.clock.Observe(now)
	l.book, l.version = d.Value, d.Version
	return l, nil
}

// conflicts are a prompt's overlaps with what live prompts hold. Those that have ended hold nothing, whatever the book says, and are dropped from it:
// so a prompt's claims are free in the very commit that ends it.
func (s *Scheduler) conflicts(ctx context.Context, l *ledger, id core.PromptID, want []preflight.Claim) ([]preflight.Conflict, error) {
	found := l.book.Conflicts(id, l.apart, want, l.fold)
	look := claims.Owners(found)
	for other := range l.book.Holders { // in random order
		if len(look) >= sweepAtOnce {
			break
		}
		if other != id && !slices.Contains(look, other) {
			look = append(look, other)
		}
	}
	keys := make([]store.Key, len(look))
	for i, other := range look {
		keys[i] = state.PromptKey(other)
	}
	docs, _, err := state.GetAll[core.Prompt](ctx, s.store, keys)
	if err != nil {
		return nil, err
	}
	var ended []core.PromptID
	for i, d := range docs {
		l.prompts[look[i]] = d.Value
		if (!d.Exists() || d.Value.State.Ended()) && !s.clock.Now().Before(l.book.Holders[look[i]].Until) {
			ended = append(ended, look[i])
		}
	}
	l.book.Drop(ended...)
	return slices.DeleteFunc(found, func(c preflight.Conflict) bool { return slices.Contains(ended, c.Owner) }), nil
}

// reserve adds to a batch what makes a prompt hold its claims, nothing when it holds them already. A collision means that it may not: the batch then only notes what it
// waits for, and must be committed without anything else.
func (s *Scheduler) reserve(ctx context.Context, b *state.Batch, sess core.Session, p core.Prompt, paths []string) (*Collision, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	l, err := s.ledger(ctx, sess)
	if err != nil {
		return nil, err
	}
	want := l.book.Fit(p.ID, toClaims(paths))
	if len(l.book.Missing(p.ID, want)) == 0 {
		return nil, nil
	}
	found, err := s.conflicts(ctx, l, p.ID, want)
	if err != nil {
		return nil, err
	}
	who := holder(s.clock.Now(), sess, p)
	if len(found) > 0 && s.cfg.Conflicts(sess.Workspace) == OverrideConflicts {
		l.book.Allow(p.ID, who, found)
		s.overridden(b, sess, p, l.conflict(found), "")
		found = nil
	}
	if len(found) == 0 {
		l.book.Claim(p.ID, who, want)
		b.Update(l.key, l.version, l.book)
		return nil, nil
	}
	c := l.wait(p.ID, who, found)
	b.Update(l.key, l.version, l.book)
	return &Collision{c}, nil
}

// wait notes in the book what a prompt waits for, and says what people are told of it.
func (l *ledger) wait(id core.PromptID, who claims.Holder, found []preflight.Conflict) core.Conflict {
	l.book.Wait(id, who, found)
	c := l.conflict(found)
	for _, member := range l.book.Cycle(id) {
		c.Cycle = append(c.Cycle, l.book.Holders[member].Ref)
	}
	return c
}

func toClaims(paths []string) []preflight.Claim {
	out := make([]preflight.Claim, len(paths))
	for i, p := range paths {
		out[i] = preflight.Claim(p)
	}
	return out
}

func holder(now time.Time, sess core.Session, p core.Prompt) claims.Holder {
	return claims.Holder{Apart: sess.Apart(), Session: sess.ID, Ref: sess.Ref, PromptRef: p.Ref, Title: sess.Title, Author: p.Author, Since: now}
}

// conflict is what people are told of overlaps.
func (l *ledger) conflict(found []preflight.Conflict) core.Conflict {
	c := core.Conflict{Paths: claims.Mine(found)}
	for _, id := range claims.Owners(found) {
		h, p := l.book.Holders[id], l.prompts[id]
		c.Owners = append(c.Owners, core.Rival{Prompt: id, PromptRef: h.PromptRef, SessionID: h.Session, Session: h.Ref, Title: h.Title, Author: p.Author, Place: p.Place,
			Paths: claims.Theirs(found, id), State: p.State, Reason: p.Reason, Asks: len(p.Pending) > 0, Since: p.Since})
	}
	return c
}

// foresee reserves what the prompt's text says that it will write, before its first tool call can. An outcome with a state means that the agent is not to run.
func (r *Run) foresee(ctx context.Context) Outcome {
	if r.Prompt.Guess == nil || len(r.Prompt.Guess.Claims) == 0 {
		return Outcome{}
	}
	err := r.insist(ctx, func() error {
		var b state.Batch
		b.Fence, b.Durable = &r.fence, true
		hit, err := r.s.reserve(ctx, &b, r.Session, r.Prompt, r.Prompt.Guess.Claims)
		if err != nil {
			return err
		}
		if len(b.Batch.Put) > 0 {
			err = r.commit(ctx, &b)
		}
		if err == nil && hit != nil {
			return hit
		}
		return err
	})
	var hit *Collision
	switch {
	case err == nil:
		return Outcome{}
	case errors.As(err, &hit):
		return Outcome{State: core.Blocked, Conflict: &hit.Conflict}
	case ctx.Err() != nil, errors.Is(err, errLost):
		return Outcome{State: core.Queued}
	}
	return Outcome{State: core.Failed, Error: "cannot reserve what it would write: " + err.Error()}
}

// Foresee keeps a better guess about the prompt, and reserves what is new in it. The error is a *Collision if somebody else holds that.
func (r *Run) Foresee(ctx context.Context, g core.Guess) error {
	return r.insist(ctx, func() error {
		p, _, err := state.Get[core.Prompt](ctx, r.s.store, state.PromptKey(r.Prompt.ID))
		if err != nil {
			return err
		}
		var b state.Batch
		b.Fence, b.Durable = &r.fence, true
		hit, err := r.s.reserve(ctx, &b, r.Session, r.Prompt, g.Claims)
		if err != nil {
			return err
		}
		p.Value.Guess = &g
		b.Update(state.PromptKey(r.Prompt.ID), p.Version, p.Value)
		if err := r.commit(ctx, &b); err != nil {
			return err
		}
		if r.Prompt.Guess = &g; hit != nil {
			return hit
		}
		return nil
	})
}

// Touched tells both sides that paths changed while a command of this run went on although others hold them: it could not be known before. sum is the SHA-256 of what a file
// holds now, by which an owner's own writes are told apart. Own claims, and what a person allowed, are no conflict.
func (r *Run) Touched(ctx context.Context, paths []string, sum func(path string) string) error {
	return r.insist(ctx, func() error {
		l, err := r.s.ledger(ctx, r.Session)
		if err != nil {
			return err
		}
		found, err := r.s.conflicts(ctx, l, r.Prompt.ID, toClaims(paths))
		if err != nil {
			return err
		}
		own := map[core.PromptID]map[string]string{}
		for _, owner := range claims.Owners(found) {
			if own[owner], err = r.s.left(ctx, l.book.Holders[owner].Session); err != nil {
				return err
			}
		}
		found = slices.DeleteFunc(found, func(f preflight.Conflict) bool {
			after, wrote := own[f.Owner][string(f.Mine)]
			return wrote && after == sum(string(f.Mine))
		})
		if len(found) == 0 {
			return nil
		}
		c := l.conflict(found)
		var b state.Batch
		b.Fence = &r.fence
		b.Append(state.Lane(r.Session.ID), r.letter(conflictEvent(core.ConflictFound, c, ""), true))
		r.s.tellOwners(&b, r.Session, r.Prompt, c, core.ConflictFound, "")
		b.Append(state.Audit, r.s.conflictEntry("changed what others hold", r.Session, r.Prompt, c, ""))
		return r.commit(ctx, &b)
	})
}

// left is what a session's file tools left in files, by path: the SHA-256 of it.
func (s *Scheduler) left(ctx context.Context, id core.SessionID) (map[string]string, error) {
	records, err := s.Transcript(ctx, id)
	out := map[string]string{}
	for _, rec := range records {
		for _, ch := range rec.Changes {
			out[ch.Path] = ch.After
		}
	}
	return out, err
}
