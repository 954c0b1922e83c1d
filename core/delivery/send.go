package delivery

import (
	"context"
	"errors"
	"fmt"

	"paragents/core"
	"paragents/core/state"
	"paragents/store"
)

// send brings one message to the platform and returns its id; "" when there is none to remember. What it had to change about the message, its place or its
// markup, stays changed. An error leaves the rest of the lane for later.
func (d *drain) send(ctx context.Context, adapter core.Adapter, l core.Letter, p *progress, m *core.Message) (string, error) {
	if m.Replace {
		id, ok, err := d.replace(ctx, adapter, m)
		switch {
		case err != nil:
			return "", d.failed(ctx, l, p, *m, err)
		case ok:
			return id, nil
		case m.Silent:
			return "", nil
		}
	}
	if p.Unclear {
		if f, ok := adapter.(core.Finder); ok {
			id, found, err := f.Find(ctx, m.Place, m.Marker)
			if err != nil {
				return "", d.wait(ctx, p)
			}
			if found {
				return id, nil
			}
		} else {
			m.Repeat = true
		}
	}
	id, err := adapter.Send(ctx, *m)
	for range 2 { // a refused markup, and a place that has moved
		if !amend(m, err) {
			break
		}
		id, err = adapter.Send(ctx, *m)
	}
	if err == nil {
		return id, nil
	}
	return "", d.failed(ctx, l, p, *m, err)
}

// amend changes a message so that it can be sent after an error, and reports whether there is a use in that.
func amend(m *core.Message, err error) bool {
	var fault *core.SendError
	if !errors.As(err, &fault) {
		return false
	}
	switch {
	case fault.Fault == core.FaultMarkup && m.Text != "", fault.Fault == core.FaultRefused && m.Text != "" && m.Plain != "":
		m.Text = ""
	case fault.Fault == core.FaultGone && !fault.MovedTo.IsZero() && fault.MovedTo != m.Place:
		m.Place = fault.MovedTo
	default:
		return false
	}
	return true
}

// Why a letter was given up, for people.
const (
	whyGone    = "the chat or thread is not there any more, or the bot may not write there"
	whyRefused = "the platform does not take the message"
	whyDamaged = "what it speaks of cannot be read"
	whyLong    = "the chat cannot be written to for too long"
)

// direct finds the conversation with the person to whom a question is copied. What follows from it changes cards, which stand where they were sent.
func (d *drain) direct(ctx context.Context, adapter core.Adapter, l *core.Letter, p *progress) error {
	if l.Copy == nil || l.Copy.To == "" || !l.Event.Asks() {
		return nil
	}
	director, ok := adapter.(core.Director)
	if !ok {
		return errGivenUp{whyGone}
	}
	place, err := director.Direct(ctx, l.Copy.To)
	if err != nil {
		return d.failed(ctx, *l, p, core.Message{Place: l.Place}, err)
	}
	l.Place = place
	return d.load(ctx, place)
}

// unreached ends a letter whose place was given up; any other error is the caller's.
func (d *drain) unreached(ctx context.Context, r store.Record, l core.Letter, err error) error {
	var up errGivenUp
	if !errors.As(err, &up) {
		return err
	}
	if err := d.giveUp(ctx, l, up.why); err != nil {
		return err
	}
	d.done(r.Position)
	return nil
}

// giveUp tells whoever wants to know that a letter, or a part of it, will not be seen.
func (d *drain) giveUp(ctx context.Context, l core.Letter, why string) error {
	if d.c.cfg.GivenUp == nil {
		return nil
	}
	if err := d.c.cfg.GivenUp(ctx, l, why); err != nil {
		return fmt.Errorf("give up a letter of session %s: %w", l.Event.Session, err)
	}
	return nil
}

// failed decides what becomes of a message that was not sent: errLater or errGivenUp. nil: it is taken as sent, and the lane goes on.
func (d *drain) failed(ctx context.Context, l core.Letter, p *progress, m core.Message, err error) error {
	log := d.c.cfg.Logger.With("session", d.session, "prompt", l.PromptID, "place", m.Place.Key(), "error", err)
	var fault *core.SendError
	if !errors.As(err, &fault) {
		fault = &core.SendError{Fault: core.FaultRetry, Err: err}
	}
	switch fault.Fault {
	case core.FaultRate:
		d.pieces = p
		if err := d.commit(ctx, func(b *state.Batch) { putRest(b, m.Place, fault, d.c.clock.Now()) }); err != nil {
			return err
		}
		return errLater{after(fault)}
	case core.FaultUnclear:
		if p.Unclear && m.Repeat { // sent twice without an answer: a third time would not tell more
			log.Warn("the platform did not say whether it has the message; it was sent twice")
			return nil
		}
		p.Unclear = true
		return d.wait(ctx, p)
	case core.FaultGone, core.FaultRefused, core.FaultMarkup:
		log.Error("the platform will not take the message; leaving it out")
		if fault.Fault == core.FaultGone {
			return errGivenUp{whyGone}
		}
		return errGivenUp{whyRefused}
	}
	log.Warn("cannot send; trying again")
	return d.wait(ctx, p)
}

// wait records the try and leaves the rest for later.
func (d *drain) wait(ctx context.Context, p *progress) error {
	after := backoff(p.Tries)
	p.Tries++
	d.pieces = p
	if err := d.commit(ctx); err != nil {
		return err
	}
	return errLater{after}
}

// replace changes the message of a card. ok is false when there is none any more. An edit that may have arrived is simply made again.
func (d *drain) replace(ctx context.Context, adapter core.Adapter, m *core.Message) (id string, ok bool, err error) {
	c, _, err := state.Get[Card](ctx, d.c.cfg.Store, state.CardKey(m.Card))
	if err != nil || !c.Exists() {
		return "", false, err
	}
	edit := *m
	edit.Place = c.Value.Place
	err = adapter.Edit(ctx, c.Value.ID, edit)
	for range 2 {
		if !amend(&edit, err) {
			break
		}
		err = adapter.Edit(ctx, c.Value.ID, edit)
	}
	var fault *core.SendError
	if errors.As(err, &fault) {
		switch fault.Fault {
		case core.FaultGone:
			return "", false, nil
		case core.FaultUnclear:
			err = &core.SendError{Fault: core.FaultRetry, Err: err}
		}
	}
	if err != nil {
		return "", false, err
	}
	*m = edit
	return c.Value.ID, true, nil
}
