// Package delivery sends what runs have to say: the letters of a session's lane, in order, each piece recorded when the platform took it.
//
// A letter was written in the commit that made it true, so it cannot be lost; it stays in the lane until all its pieces were sent. A piece appears twice only
// if the process died between sending and recording, or if the platform's answer was lost and it has no way to look.
package delivery

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"

	"paragents/core"
	"paragents/core/state"
	"paragents/store"
)

// Rendered is a letter as messages for its place. Put adds to a batch what the messages' buttons lead to; it is committed before the first is sent. Nil: nothing.
type Rendered struct {
	Messages []core.Message
	Put      func(*state.Batch)
}

// Config is what a courier needs.
type Config struct {
	Store store.Store
	// Render turns a letter into messages; none: there is nothing to show. The same letter may be rendered again until its first message was sent.
	Render func(ctx context.Context, l core.Letter) (Rendered, error)
	// Adapter is the platform's, or false when this replica does not speak to it.
	Adapter func(platform string) (core.Adapter, bool)
	// GivenUp is told of a letter that its place does not take: the place is gone, or the platform refuses the message. why is a sentence for people. An error leaves the
	// letter for later. May be nil.
	GivenUp func(ctx context.Context, l core.Letter, why string) error
	Logger  *slog.Logger
}

// Courier implements scheduler.Courier.
type Courier struct {
	cfg   Config
	clock state.Clock
}

// New makes a courier.
func New(cfg Config) *Courier {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Courier{cfg: cfg}
}

// progress is how far the letter at a position is: the document pieces/<session>. It is written when a letter is begun and not sent whole.
type progress struct {
	Position int64          `json:"position"`
	Messages []core.Message `json:"messages"`
	Next     int            `json:"next"`    // the first message that was not sent
	Unclear  bool           `json:"unclear"` // the next may have been sent
	Tries    int            `json:"tries"`
}

// Sent says which session a message of the bot belongs to.
type Sent struct {
	Session core.SessionID `json:"session"`
	Prompt  core.PromptID  `json:"prompt,omitempty"`
}

// Card is where a message that is kept up to date stands: the document card/<name>.
type Card struct {
	Place core.Place `json:"place"`
	ID    string     `json:"id"`
}

// PutCard remembers where a card stands.
func PutCard(b *state.Batch, name string, p core.Place, id string) {
	b.Put(state.CardKey(name), Card{Place: p, ID: id}, sentKept)
}

const (
	sentKept  = 30 * 24 * time.Hour
	batchSize = 32
	retryMin  = time.Second
	retryMax  = time.Minute
	copyWait  = 30 * time.Second // the rest of a lane waits no longer at once for a copy
)

// errLater ends a drain early: the rest waits.
type errLater struct{ after time.Duration }

func (e errLater) Error() string { return fmt.Sprintf("wait %s", e.after) }

// errGivenUp says that a message will never be taken, in a sentence for people.
type errGivenUp struct{ why string }

func (e errGivenUp) Error() string { return "given up: " + e.why }

// Drain sends the lane's letters. See scheduler.Courier.
func (c *Courier) Drain(ctx context.Context, session core.SessionID, fence store.Fence, alive func() bool) (func(*state.Batch), time.Duration, error) {
	d := &drain{c: c, session: session, fence: fence, alive: alive, rested: map[string]time.Time{}}
	for {
		records, err := c.cfg.Store.Read(ctx, state.Lane(session), d.from, batchSize)
		if err != nil {
			return d.finish(), 0, fmt.Errorf("read lane: %w", err)
		}
		for _, r := range records {
			err := d.letter(ctx, r)
			var later errLater
			if errors.As(err, &later) {
				return d.finish(), later.after, nil
			}
			if err != nil {
				return d.finish(), 0, err
			}
		}
		if len(records) < batchSize {
			return d.finish(), 0, nil
		}
	}
}

// drain is one going-through of a lane.
type drain struct {
	c       *Courier
	session core.SessionID
	fence   store.Fence
	alive   func() bool
	from    int64
	read    bool                // the document about the lane's progress was read
	at      state.Doc[progress] // as read
	stored  bool                // there is one in the store
	doubt   int64               // the letter whose next message may have been sent by somebody who died; 0: none
	// rested are places that need not rest, as far as was read, with until when, by the store's clock, they are to be sent to slowly.
	rested map[string]time.Time

	// What the latest sends have to leave behind; committed with the next thing that is.
	put        []func(*state.Batch)
	trim       int64     // letters before this position are done
	pieces     *progress // how far the present letter is
	unrecorded bool      // something was sent
}

// pending adds to a batch what was not recorded yet.
func (d *drain) pending(b *state.Batch) {
	for _, put := range d.put {
		put(b)
	}
	if d.trim > 0 {
		b.Trim = append(b.Trim, store.Trim{Log: state.Lane(d.session), Before: d.trim})
	}
	switch {
	case d.pieces != nil:
		b.Put(state.PiecesKey(d.session), *d.pieces, 0)
	case d.stored:
		b.Batch.Delete = append(b.Batch.Delete, state.PiecesKey(d.session))
	}
	if d.doubt > 0 {
		b.Batch.Delete = append(b.Batch.Delete, state.DoubtKey(d.session))
	}
}

// finish is what is left to record, nil when nothing.
func (d *drain) finish() func(*state.Batch) {
	if len(d.put) == 0 && d.trim == 0 && d.pieces == nil {
		return nil
	}
	return d.pending
}

// commit records it.
func (d *drain) commit(ctx context.Context, also ...func(*state.Batch)) error {
	var b state.Batch
	b.Fence, b.Durable = &d.fence, true
	d.put = append(d.put, also...)
	d.pending(&b)
	res, err := b.Commit(ctx, d.c.cfg.Store)
	if err != nil {
		return fmt.Errorf("record what was sent: %w", err)
	}
	d.c.clock.Observe(res.Time)
	d.put, d.trim, d.doubt, d.stored, d.unrecorded = nil, 0, 0, d.pieces != nil, false
	return nil
}

// letter sends one letter from where it is.
func (d *drain) letter(ctx context.Context, r store.Record) error {
	var l core.Letter
	if err := json.Unmarshal(r.Value, &l); err != nil {
		d.c.cfg.Logger.Error("a letter cannot be read; leaving it out", "session", d.session, "position", r.Position, "error", err)
		d.done(r.Position)
		return nil
	}
	err := d.deliver(ctx, r, l)
	var later errLater
	if l.Copy != nil && l.Event.Asks() && errors.As(err, &later) && later.after > copyWait {
		if err := d.giveUp(ctx, l, whyLong); err != nil {
			return err
		}
		d.done(r.Position)
		return nil
	}
	return err
}

// damaged reports whether something of what a letter speaks of is no document.
func damaged(err error) bool {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	return errors.As(err, &syntax) || errors.As(err, &kind)
}

// deliver sends what is left of a letter.
func (d *drain) deliver(ctx context.Context, r store.Record, l core.Letter) error {
	adapter, ok := d.c.cfg.Adapter(l.Place.Platform)
	if !ok {
		if l.Place.IsZero() { // nobody to tell
			d.done(r.Position)
			return nil
		}
		return errLater{5 * time.Second}
	}
	if err := d.load(ctx, l.Place); err != nil {
		return err
	}
	p := d.at.Value
	doubtful := d.doubt == r.Position // asked before a commit takes the note away
	if p.Position != r.Position {
		p = progress{Position: r.Position}
	}
	if len(p.Messages) == 0 {
		if err := d.direct(ctx, adapter, &l, &p); err != nil {
			return d.unreached(ctx, r, l, err)
		}
		out, err := d.c.cfg.Render(ctx, l)
		if damaged(err) { // trying again would hold up everything behind it for ever
			d.c.cfg.Logger.Error("a letter cannot be shown; leaving it out", "session", d.session, "position", r.Position, "error", err)
			if err := d.giveUp(ctx, l, whyDamaged); err != nil {
				return err
			}
			d.done(r.Position)
			return nil
		}
		if err != nil {
			return fmt.Errorf("render letter %d: %w", r.Position, err)
		}
		p.Messages = out.Messages
		if out.Put != nil {
			p.Unclear = doubtful
			d.pieces = &p
			if err := d.commit(ctx, out.Put); err != nil {
				return err
			}
		}
	}
	p.Unclear = p.Unclear || doubtful
	for ; p.Next < len(p.Messages); p.Next++ {
		if !d.alive() {
			return errors.New("the lease is over")
		}
		if d.unrecorded { // never two sends without a record between
			if err := d.commit(ctx); err != nil {
				return err
			}
		}
		m := p.Messages[p.Next]
		m.Marker = marker(d.session, p.Position, p.Next)
		id, err := d.send(ctx, adapter, l, &p, &m)
		var up errGivenUp
		if errors.As(err, &up) {
			if err := d.giveUp(ctx, l, up.why); err != nil {
				return err
			}
			if l.Event.Asks() && !m.Replace { // a question that is not whole is none
				break
			}
		} else if err != nil {
			return err
		}
		p.Unclear, p.Tries = false, 0
		d.sent(l, m, id, p)
		slow, now := d.rested[l.Place.Key()], d.c.clock.Now()
		if id == "" || !slow.After(now) {
			continue
		}
		if p.Next == len(p.Messages)-1 {
			d.done(r.Position)
		}
		gap := pause(adapter.Capabilities())
		if err := d.commit(ctx, func(b *state.Batch) { putPause(b, m.Place, gap, slow, now) }); err != nil {
			return err
		}
		return errLater{gap}
	}
	d.done(r.Position)
	return nil
}

// sent notes that a message is done with: whose it is, where its card stands, and how far the letter is. Without an id there is no message to remember.
func (d *drain) sent(l core.Letter, m core.Message, id string, p progress) {
	p.Next++
	d.pieces = &p
	if id == "" {
		return
	}
	d.unrecorded = true
	d.put = append(d.put, func(b *state.Batch) {
		b.Put(state.SentKey(m.Place, id), Sent{Session: l.SessionID, Prompt: l.PromptID}, sentKept)
		if m.Card != "" {
			PutCard(b, m.Card, m.Place, id)
		}
	})
}

// done takes a letter out of the lane, with the next commit.
func (d *drain) done(position int64) {
	d.from, d.trim, d.pieces, d.at = position+1, position+1, nil, state.Doc[progress]{}
}

// load reads, once, how far the lane's first letter is, and once for each place whether it must rest.
func (d *drain) load(ctx context.Context, p core.Place) error {
	var keys []store.Key
	if _, known := d.rested[p.Key()]; !known {
		keys = restKeys(p)
	}
	rests := len(keys)
	if !d.read {
		keys = append(keys, state.PiecesKey(d.session), state.DoubtKey(d.session))
	}
	if len(keys) == 0 {
		return nil
	}
	snap, err := d.c.cfg.Store.Get(ctx, keys...)
	if err != nil {
		return fmt.Errorf("read how far the lane is: %w", err)
	}
	d.c.clock.Observe(snap.Time)
	if rests > 0 {
		wait, slow, err := restDocs(keys[:rests], snap)
		switch {
		case err != nil:
			return err
		case wait > 0:
			return errLater{wait}
		}
		d.rested[p.Key()] = slow
	}
	if d.read {
		return nil
	}
	at, err1 := state.Decode[progress](keys[rests], snap.Docs[rests])
	doubt, err2 := state.Decode[state.Doubt](keys[rests+1], snap.Docs[rests+1])
	d.read, d.at, d.stored, d.doubt = true, at, at.Exists(), doubt.Value.Position
	return errors.Join(err1, err2)
}

// marker names one message of one letter.
func marker(session core.SessionID, position int64, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%d", session, position, n))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))[:24]
}

// backoff is how long to wait before the n-th try.
func backoff(n int) time.Duration {
	return time.Duration(min(float64(retryMax), float64(retryMin)*math.Pow(2, float64(n))))
}
