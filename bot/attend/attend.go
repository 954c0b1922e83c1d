// Package attend catches up what was written while no replica listened to a platform that keeps nothing.
package attend

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"paragents/core"
	"paragents/core/scheduler"
	"paragents/core/state"
	"paragents/store"
)

// How it is noted that somebody listens to a platform, and how far what was missed is looked for.
const (
	noteEvery = 10 * time.Second
	blink     = 3 * time.Second                // a gap in which one replica takes over from another, while others listen
	overlap   = time.Minute                    // before the gap: what was on its way then
	farthest  = state.EventKept - 24*time.Hour // older messages could not be told from ones that were taken before
	maxPlaces = 200                            // threads and conversations that are looked at, the last changed first
	catchTime = 10 * time.Minute               // for all of them
	perBatch  = 50                             // messages that are accepted together
	askAgain  = 5 * time.Second                // after the platform could not be asked
)

// Heard is until when somebody listened to a platform.
type Heard struct {
	Until time.Time `json:"until"`
}

// Config is what an attendant needs.
type Config struct {
	Store     store.Store
	Scheduler *scheduler.Scheduler
	// Accept takes what was missed, as if it came now.
	Accept func(ctx context.Context, adapter core.Adapter, events []core.Inbound, cursor []byte) error
	Logger *slog.Logger
}

// Attendant notes that somebody listens, and catches up.
type Attendant struct{ cfg Config }

// New makes an attendant.
func New(cfg Config) *Attendant { return &Attendant{cfg: cfg} }

// Attend notes that somebody listens to a platform that keeps nothing for who was away, and after a gap, in which every replica was down, had no connection or could
// not reach the store, catches up what was written in it. It is for one replica at a time, and one that receives; it returns when the context ends or the store fails.
// Whoever does it next begins at the last note, so that what it had not finished is done again.
func (a *Attendant) Attend(ctx context.Context, adapter core.Adapter, c core.Catcher) error {
	tick := time.NewTimer(0)
	defer tick.Stop()
	steady := false // this replica has been listening since its last note
	for {
		select {
		case <-ctx.Done():
			if steady {
				last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
				defer cancel()
				return a.note(last, adapter, c, noteEvery+blink)
			}
			return nil
		case <-tick.C:
		}
		if Connected(ctx, adapter) != nil {
			steady = false
			tick.Reset(time.Second)
			continue
		}
		allowed := blink
		if steady { // a longer gap than this: the process was paused
			allowed = 2 * noteEvery
		}
		if err := a.note(ctx, adapter, c, allowed); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		steady = true
		tick.Reset(noteEvery)
	}
}

// checkLimit bounds how long a platform is asked whether it is connected.
const checkLimit = 3 * time.Second

// Connected asks a platform, for at most three seconds, whether it is connected; an error says what is wrong.
func Connected(ctx context.Context, a core.Adapter) error {
	c, ok := a.(core.Checker)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	return c.Check(ctx)
}

// note writes down that somebody listens now, after catching up what was missed if nobody has for longer than allowed.
func (a *Attendant) note(ctx context.Context, adapter core.Adapter, c core.Catcher, allowed time.Duration) error {
	key := state.HeardKey(adapter.Capabilities().Platform)
	h, now, err := state.Get[Heard](ctx, a.cfg.Store, key)
	if err != nil {
		return fmt.Errorf("read until when somebody listened: %w", err)
	}
	if gap := now.Sub(h.Value.Until); h.Exists() && gap > allowed {
		if err := a.catchUp(ctx, adapter, c, now.Add(-min(gap+overlap, farthest))); err != nil {
			return fmt.Errorf("catch up: %w", err)
		}
		if h, now, err = state.Get[Heard](ctx, a.cfg.Store, key); err != nil { // that took a while, in which somebody listened
			return fmt.Errorf("read until when somebody listened: %w", err)
		}
	}
	var b state.Batch
	b.Update(key, h.Version, Heard{Until: now})
	_, err = b.Commit(ctx, a.cfg.Store)
	return err
}

// catchUp takes what was written since a time as if it came now: first at the top of the channels that have sessions, then in the threads, those included that have
// just begun. Messages that were taken before are known by their ids, old ones are asked about.
func (a *Attendant) catchUp(ctx context.Context, adapter core.Adapter, c core.Catcher, since time.Time) error {
	limited, cancel := context.WithTimeout(ctx, catchTime)
	defer cancel()
	found := 0
	for _, threads := range []bool{false, true} {
		places, err := a.placesOf(ctx, adapter.Capabilities().Platform, threads)
		if err != nil {
			return err
		}
		for i, p := range places {
			events, ok := a.missed(limited, c, p, since)
			if !ok {
				if ctx.Err() == nil {
					a.cfg.Logger.Warn("not everything that was missed is caught up: it took too long", "platform", p.Platform, "left", len(places)-i)
				}
				return ctx.Err()
			}
			found += len(events)
			for batch := range slices.Chunk(events, perBatch) {
				if err := a.cfg.Accept(ctx, adapter, batch, nil); err != nil {
					return err
				}
			}
		}
	}
	a.cfg.Logger.Info("caught up", "platform", adapter.Capabilities().Platform, "since", since, "messages", found)
	return nil
}

// placesOf are where a platform's open sessions are, the last changed first: the places themselves, or the tops of the channels that hold them.
func (a *Attendant) placesOf(ctx context.Context, platform string, threads bool) ([]core.Place, error) {
	views, err := a.cfg.Scheduler.List(ctx, state.Sessions, 5*maxPlaces, false)
	if err != nil {
		return nil, err
	}
	var out []core.Place
	for _, v := range views {
		p := v.Session.Place
		if !threads {
			p.Thread = ""
		}
		if p.Platform == platform && (p.Thread != "") == threads && !slices.Contains(out, p) && len(out) < maxPlaces {
			out = append(out, p)
		}
	}
	return out, nil
}

// missed asks for what was written at a place, as often as the platform wants it asked; false: there is no time left. Where nobody may look, nothing was missed.
func (a *Attendant) missed(ctx context.Context, c core.Catcher, p core.Place, since time.Time) ([]core.Inbound, bool) {
	for {
		events, err := c.CatchUp(ctx, p, since)
		if err == nil {
			return events, true
		}
		wait := askAgain
		var f *core.SendError
		if errors.As(err, &f) {
			switch f.Fault {
			case core.FaultGone, core.FaultRefused:
				a.cfg.Logger.Info("cannot look for what was missed at a place", "place", p.Key(), "error", err)
				return nil, true
			case core.FaultRate:
				wait = f.After
			}
		}
		a.cfg.Logger.Debug("asking again for what was missed", "place", p.Key(), "wait", wait, "error", err)
		select {
		case <-ctx.Done():
			return nil, false
		case <-time.After(wait):
		}
	}
}
