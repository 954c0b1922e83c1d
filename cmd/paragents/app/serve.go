package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"paragents/bot"
	"paragents/core"
)

// flushLimit is how long the last answers may take to be sent.
const flushLimit = 2 * time.Second

// Run works until the context ends: the scheduler, the screen, the desk, and every adapter. When an adapter that every replica has for itself (the terminal) stops
// receiving, everything ends, and left is called first.
func (a *App) Run(ctx context.Context, left func()) error {
	g, ctx := errgroup.WithContext(ctx)
	// The screen and the desk outlive the work, so that what was decided last is still said.
	out, done := context.WithCancel(context.WithoutCancel(ctx))
	defer done()
	var speaking errgroup.Group
	speaking.Go(func() error { return a.Screen.Run(out) })
	speaking.Go(func() error { return a.Desk.Run(out) })
	a.premises.look(ctx, "")
	g.Go(func() error { a.premises.run(ctx, a.Scheduler.ID); return nil })
	g.Go(func() error { return a.Scheduler.Run(ctx) })
	g.Go(func() error { a.janitor.Run(ctx); return nil })
	g.Go(func() error { a.feed(ctx); return nil })
	for _, ad := range a.Adapters {
		limited, ok := ad.(core.Limited)
		if !ok {
			g.Go(func() error {
				err := a.receive(ctx, ad)
				a.Desk.Flush(flushLimit)
				left()
				return err
			})
			continue
		}
		here, total := limited.Sockets()
		for i := range here {
			g.Go(func() error { a.serve(ctx, ad, i, here, total); return nil })
		}
	}
	err := g.Wait()
	a.Desk.Flush(flushLimit)
	done()
	return errors.Join(err, speaking.Wait())
}

// serve receives as the i-th of here in this process, under one of the total names that all replicas share; without a total, whatever the others do.
func (a *App) serve(ctx context.Context, ad core.Adapter, i, here, total int) {
	platform := ad.Capabilities().Platform
	var names []string
	for n := i; n < total; n += here {
		names = append(names, fmt.Sprintf("receive/%s/%d", platform, n))
	}
	receive := func(ctx context.Context) error { return a.receive(ctx, ad) }
	if c, ok := ad.(core.Catcher); ok && i == 0 {
		receive = func(ctx context.Context) error { return a.attended(ctx, ad, c) }
	}
	if total > 0 {
		a.Scheduler.Do(ctx, names, receive)
		return
	}
	for ctx.Err() == nil {
		if err := receive(ctx); err != nil && ctx.Err() == nil {
			a.Log.Error("cannot receive; trying again", "platform", platform, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// attended receives, and beside that, on one of the replicas that do, catches up what was written while none of them listened.
func (a *App) attended(ctx context.Context, ad core.Adapter, c core.Catcher) error {
	attending, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	beside.Go(func() {
		a.Scheduler.Do(attending, []string{"catch-up/" + ad.Capabilities().Platform}, func(ctx context.Context) error { return a.attendant.Attend(ctx, ad, c) })
	})
	return a.receive(ctx, ad)
}

// receive takes a platform's events from where the store has it.
func (a *App) receive(ctx context.Context, ad core.Adapter) error {
	platform := ad.Capabilities().Platform
	if m, ok := ad.(core.Menuer); ok {
		var menu sync.WaitGroup
		defer menu.Wait()
		menu.Go(func() { // beside receiving, which it must not hold up
			for _, place := range []core.Place{{Platform: platform, Private: true}, {Platform: platform}} {
				if err := m.SetMenu(ctx, place, bot.Menu(place.Private)); err != nil && ctx.Err() == nil {
					a.Log.Warn("cannot set the menu of commands", "platform", platform, "error", err)
				}
			}
		})
	}
	cursor, err := a.Desk.CursorAt(ctx, platform)
	if err != nil {
		return fmt.Errorf("read cursor of %s: %w", platform, err)
	}
	return ad.Receive(ctx, cursor, func(ctx context.Context, events []core.Inbound, cursor []byte) error {
		return a.Desk.Accept(ctx, ad, events, cursor)
	})
}
