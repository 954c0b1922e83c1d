// Package orders is what people wish: each method carries one wish out, on any replica, in one commit that tells everybody whom it concerns. Whether the person may wish it is for
// the caller to know. What runs is not reached from here: its holder finds the order in the store.
package orders

import (
	"context"
	"fmt"

	"paragents/core"
	"paragents/core/audit"
	"paragents/core/moves"
	"paragents/core/reader"
	"paragents/core/reserve"
	"paragents/core/state"
	"paragents/store"
)

// Config is what orders need. Everything must be set.
type Config struct {
	Store store.Store
	Clock *state.Clock
	Books *reserve.Keeper
	// MaxQueue is how many messages may wait for a prompt that has not read them.
	MaxQueue int
}

// Orders carries out what people wish. It reads what they see, too.
type Orders struct {
	*reader.Reader

	store    store.Store
	clock    *state.Clock
	books    *reserve.Keeper
	maxQueue int
}

// New makes orders.
func New(cfg Config) *Orders {
	return &Orders{Reader: reader.New(cfg.Store, cfg.Clock), store: cfg.Store, clock: cfg.Clock, books: cfg.Books, maxQueue: cfg.MaxQueue}
}

// change decides something about a prompt on what was read, and commits it with an audit entry.
func (o *Orders) change(ctx context.Context, id core.PromptID, what string, who core.Person, decide func(b *moves.Batch, p *reader.Pair) error) (core.Prompt, error) {
	var out core.Prompt
	err := state.Retry(ctx, what+" prompt", func() error {
		p, err := o.Load(ctx, id)
		if err != nil {
			return err
		}
		b, was := moves.Durable(o.clock), p.Prompt.Value.State
		if err := decide(b, &p); err != nil {
			return err
		}
		if p.Prompt.Value.State != was {
			p.Prompt.Value.Since = o.clock.Now()
		}
		b.Update(state.PromptKey(id), p.Prompt.Version, p.Prompt.Value)
		b.Append(state.Audit, audit.Entry{Time: o.clock.Now(), What: "ordered", Session: p.Session.Value.Ref, Prompt: p.Prompt.Value.Ref, Who: who,
			Outcome: what, Trace: p.Prompt.Value.Trace})
		out = p.Prompt.Value
		_, err = b.Commit(ctx, o.store)
		return err
	})
	return out, err
}

// session changes a session document on what was read.
func (o *Orders) session(ctx context.Context, id core.SessionID, what string, who core.Person, decide func(*moves.Batch, *core.Session) error) error {
	return state.Retry(ctx, what+" session", func() error {
		sess, now, err := state.Get[core.Session](ctx, o.store, state.SessionKey(id))
		if err != nil {
			return err
		}
		if !sess.Exists() {
			return fmt.Errorf("session: %w", core.ErrNotFound)
		}
		o.clock.Observe(now)
		b := moves.Durable(o.clock)
		if err := decide(b, &sess.Value); err != nil {
			return err
		}
		sess.Value.Touched = now
		b.Update(state.SessionKey(id), sess.Version, sess.Value)
		b.Touch(sess.Value)
		b.Append(state.Audit, audit.Entry{Time: now, What: "ordered", Session: sess.Value.Ref, Who: who, Outcome: what})
		_, err = b.Commit(ctx, o.store)
		return err
	})
}

// order stores what the replica that runs the prompt has to do, and rings for it.
func (o *Orders) order(b *moves.Batch, p *core.Prompt, what core.Order, who core.Person) {
	p.Order, p.OrderBy = what, who
	b.Ring(state.BellOrder, string(p.ID))
}
