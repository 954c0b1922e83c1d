// Package reserve keeps, for each workspace, which live prompt will write what: it gives claims out and finds who is in the way.
package reserve

import (
	"context"
	"slices"
	"time"

	"paragents/core"
	"paragents/core/claims"
	"paragents/core/moves"
	"paragents/core/preflight"
	"paragents/core/state"
	"paragents/store"
)

// patience is how long a prompt may wait for people before others may write what it holds.
const patience = 8 * time.Hour

// sweepAtOnce is how many entries of the book beside those that matter are looked at for prompts that have ended.
const sweepAtOnce = 32

// Keeper keeps the books of all workspaces. Nothing has a default.
type Keeper struct {
	Store store.Store
	Clock *state.Clock
	// Mode says what happens in a workspace to a prompt that would write what another one holds.
	Mode func(workspace string) core.ConflictMode
	// Fold reports whether a workspace's file system takes names that differ only in case for the same.
	Fold func(workspace string) bool
}

// Ledger is a workspace's book as it was read, with the prompts that were read for it.
type Ledger struct {
	Book claims.Book

	keeper  *Keeper
	key     store.Key
	version int64
	apart   string // the directory that paths are about
	fold    bool
	prompts map[core.PromptID]core.Prompt
}

// Save adds to a batch what writes the book back, if nobody has changed it since.
func (l *Ledger) Save(b *moves.Batch) { b.Update(l.key, l.version, l.Book) }

// Open reads the book of a session's workspace, for the directory that the session works in.
func (k *Keeper) Open(ctx context.Context, sess core.Session) (*Ledger, error) {
	l := &Ledger{keeper: k, key: state.ClaimsKey(sess.Workspace), apart: sess.Apart(), fold: k.Fold(sess.Workspace), prompts: map[core.PromptID]core.Prompt{}}
	d, now, err := state.Get[claims.Book](ctx, k.Store, l.key)
	if err != nil {
		return nil, err
	}
	k.Clock.Observe(now)
	l.Book, l.version = d.Value, d.Version
	return l, nil
}

// Conflicts are a prompt's overlaps with what live prompts hold. Those that have ended hold nothing, whatever the book says, and are dropped from it:
// so a prompt's claims are free in the very commit that ends it.
func (l *Ledger) Conflicts(ctx context.Context, id core.PromptID, want []preflight.Claim) ([]preflight.Conflict, error) {
	found := l.Book.Conflicts(id, l.apart, want, l.fold)
	look := claims.Owners(found)
	for other := range l.Book.Holders { // in random order
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
	docs, _, err := state.GetAll[core.Prompt](ctx, l.keeper.Store, keys)
	if err != nil {
		return nil, err
	}
	var ended []core.PromptID
	for i, d := range docs {
		l.prompts[look[i]] = d.Value
		if (!d.Exists() || d.Value.State.Ended()) && !l.keeper.Clock.Now().Before(l.Book.Holders[look[i]].Until) {
			ended = append(ended, look[i])
		}
	}
	l.Book.Drop(ended...)
	return slices.DeleteFunc(found, func(c preflight.Conflict) bool { return slices.Contains(ended, c.Owner) }), nil
}

// Reserve adds to a batch what makes a prompt hold its claims, nothing when it holds them already. A collision means that it may not: the batch then only notes what it
// waits for, and must be committed without anything else.
func (k *Keeper) Reserve(ctx context.Context, b *moves.Batch, sess core.Session, p core.Prompt, paths []string) (*core.Collision, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	l, err := k.Open(ctx, sess)
	if err != nil {
		return nil, err
	}
	want := l.Book.Fit(p.ID, Claims(paths))
	if len(l.Book.Missing(p.ID, want)) == 0 {
		return nil, nil
	}
	found, err := l.Conflicts(ctx, p.ID, want)
	if err != nil {
		return nil, err
	}
	who := Holder(k.Clock.Now(), sess, p)
	if len(found) > 0 && k.Mode(sess.Workspace) == core.OverrideConflicts {
		l.Book.Allow(p.ID, who, found)
		b.Overridden(sess, p, l.Conflict(found), "")
		found = nil
	}
	if len(found) == 0 {
		l.Book.Claim(p.ID, who, want)
		l.Save(b)
		return nil, nil
	}
	c := l.Wait(p.ID, who, found)
	l.Save(b)
	return &core.Collision{Conflict: c}, nil
}

// Wait notes in the book what a prompt waits for, and says what people are told of it.
func (l *Ledger) Wait(id core.PromptID, who claims.Holder, found []preflight.Conflict) core.Conflict {
	l.Book.Wait(id, who, found)
	c := l.Conflict(found)
	for _, member := range l.Book.Cycle(id) {
		c.Cycle = append(c.Cycle, l.Book.Holders[member].Ref)
	}
	return c
}

// Claims are the claims that paths are.
func Claims(paths []string) []preflight.Claim {
	out := make([]preflight.Claim, len(paths))
	for i, p := range paths {
		out[i] = preflight.Claim(p)
	}
	return out
}

// Holder is a prompt as the book names it.
func Holder(now time.Time, sess core.Session, p core.Prompt) claims.Holder {
	return claims.Holder{Apart: sess.Apart(), Session: sess.ID, Ref: sess.Ref, PromptRef: p.Ref, Title: sess.Title, Author: p.Author, Since: now}
}

// Conflict is what people are told of overlaps.
func (l *Ledger) Conflict(found []preflight.Conflict) core.Conflict {
	c := core.Conflict{Paths: claims.Mine(found)}
	for _, id := range claims.Owners(found) {
		h, p := l.Book.Holders[id], l.prompts[id]
		c.Owners = append(c.Owners, core.Rival{Prompt: id, PromptRef: h.PromptRef, SessionID: h.Session, Session: h.Ref, Title: h.Title, Author: p.Author, Place: p.Place,
			Paths: claims.Theirs(found, id), State: p.State, Reason: p.Reason, Asks: len(p.Pending) > 0, Since: p.Since})
	}
	return c
}

// Stale reports whether the owner has waited for people for so long that others need not ask.
func (l *Ledger) Stale(o core.Rival) bool {
	waits := o.State == core.Waiting || o.State == core.Paused || o.State == core.Blocked
	return waits && !o.Since.IsZero() && l.keeper.Clock.Now().Sub(o.Since) > patience
}
