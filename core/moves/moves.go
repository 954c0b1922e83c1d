// Package moves is what follows from each move of a session, a prompt or an approval: who is told, what is written into which index and into the audit log. It writes all of
// that into the batch of the commit that makes the move, whoever makes it: a person's order, the end of a run, or a takeover.
package moves

import (
	"slices"
	"time"

	"paragents/core"
	"paragents/core/state"
	"paragents/store"
)

// Batch is a batch of moves, made at the store's time as far as this process knows it.
type Batch struct {
	state.Batch

	clock *state.Clock
}

// On begins a batch.
func On(clock *state.Clock) *Batch { return &Batch{clock: clock} }

// Durable begins a batch that is on disk when its commit returns.
func Durable(clock *state.Clock) *Batch {
	b := On(clock)
	b.Batch.Durable = true
	return b
}

// Now is the store's time.
func (b *Batch) Now() time.Time { return b.clock.Now() }

// Say puts an event into the session's lane, for the place of a prompt.
func (b *Batch) Say(sess core.Session, p core.Prompt, e core.Event, loud bool) {
	b.Append(state.Lane(sess.ID), Letter(b.Now(), sess, p, e, loud))
}

// Ready puts a session at the tail of what wants attention, and rings.
func (b *Batch) Ready(id core.SessionID) {
	b.InsertNow(state.Ready, string(id), 0)
	b.Ring(state.BellReady, string(id))
}

// Touch moves a session to the head of the lists that it stands in.
func (b *Batch) Touch(sess core.Session) {
	for _, index := range []store.Index{state.Sessions, state.ByPerson(sess.Owner), state.ByPlace(sess.Place)} {
		b.InsertNow(index, string(sess.ID), 0)
	}
}

// Letter is an event for the place of a prompt.
func Letter(now time.Time, sess core.Session, p core.Prompt, e core.Event, loud bool) core.Letter {
	e.Time, e.Session, e.Prompt, e.Title, e.Trace = now, sess.Ref, p.Ref, sess.Title, p.Trace
	return core.Letter{Event: e, SessionID: sess.ID, PromptID: p.ID, Place: p.Place, Reply: p.Message, Asker: p.Author, Loud: loud}
}

// Records adds records to a session's transcript, and their size to its counter.
func (b *Batch) Records(id core.SessionID, records ...core.Record) {
	before := len(b.Batch.Batch.Append)
	for _, rec := range records {
		b.Append(state.Transcript(id), rec)
	}
	var size int64
	for _, a := range b.Batch.Batch.Append[before:] {
		size += int64(len(a.Value))
	}
	if size == 0 {
		return
	}
	key := state.SizeKey(id)
	if i := slices.IndexFunc(b.Add, func(a store.Add) bool { return a.Key == key }); i >= 0 {
		b.Add[i].Delta += size
		return
	}
	b.Add = append(b.Add, store.Add{Key: key, Delta: size})
}
