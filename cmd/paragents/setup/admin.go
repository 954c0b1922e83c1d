package setup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"paragents/bot"
	"paragents/bot/door"
	"paragents/cmd/paragents/app"
	"paragents/cmd/paragents/config"
	"paragents/core"
	"paragents/core/access"
	"paragents/core/state"
	"paragents/store"
)

// adminTime is how long the code is waited for.
const adminTime = 10 * time.Minute

// errOther refuses what the bot hears meanwhile and is not the code: the platform brings it again when somebody serves it.
var errOther = errors.New("not the code")

// admin makes whoever sends a code to the bot its first admin, if there is none on the platform.
func admin(ctx context.Context, s *app.Setup, t *Terminal, cfg *config.Config, p Platform, secrets map[string]string) error {
	next := func() { t.say("\nNext: paragents serve") }
	st, _, err := s.Store(ctx, cfg, s.Logger())
	if err != nil {
		return fmt.Errorf("%w; when the store is there, run this again to become admin, or name yourself under access.admins", err)
	}
	defer st.Close()
	stored, err := access.Stored(ctx, st)
	if err != nil {
		return err
	}
	var there []string
	for _, who := range cfg.Access.Admins {
		there = append(there, string(who))
	}
	for who, role := range stored.Everywhere {
		if role >= access.Admin {
			there = append(there, string(who))
		}
	}
	slices.Sort(there)
	for _, who := range slices.Compact(there) {
		if core.Person(who).Platform() == p.Name {
			t.say("✓ admin: %s", who)
			next()
			return nil
		}
	}
	code, err := access.Invite(ctx, st, access.Admin, app.Me())
	if err != nil {
		return err
	}
	t.say("\nNobody is admin there yet. To become it, %s:\n\n    %s\n", p.Hello, code)
	if !t.Real() { // a script does not wait for people
		t.say("The code is good for an hour, while paragents serve runs.")
		next()
		return nil
	}
	t.say("Waiting for that (Ctrl-C: later) …")
	in, err := wait(ctx, cfg, st, p, secrets, code)
	switch {
	case err != nil && ctx.Err() != nil:
		t.say("\nNobody became admin. The code is good for an hour while paragents serve runs; this command makes another.")
		return nil
	case err != nil:
		return err
	}
	t.say("✓ %s (%s) is admin now", in.Name, in.Used)
	next()
	return nil
}

// wait waits until somebody has sent the code: to a replica that serves the platform, if there is one, else to this process.
func wait(ctx context.Context, cfg *config.Config, st store.Store, p Platform, secrets map[string]string, code string) (access.Invitation, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, adminTime, errors.New("nobody has sent the code; run this again"))
	defer cancel()
	heard := make(chan error, 1)
	served, err := app.Served(ctx, st, p.Name)
	if err != nil {
		return access.Invitation{}, err
	}
	if !served {
		ad, err := p.Connect(cfg, secrets)
		if err != nil {
			return access.Invitation{}, err
		}
		listening, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		defer func() { stop(); <-done }()
		go func() {
			defer close(done)
			if err := listen(listening, ad, st, code); err != nil {
				heard <- err
			}
		}()
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		in, err := access.Invited(ctx, st, code)
		if err == nil && in.Used != "" {
			return in, nil
		}
		if errors.Is(err, core.ErrNotFound) {
			return in, err
		}
		select {
		case err := <-heard:
			return in, fmt.Errorf("listen for the code: %w", err)
		case <-ctx.Done():
			return in, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// listen hears what people write to the bot, and takes nothing but the code.
func listen(ctx context.Context, ad core.Adapter, st store.Store, code string) error {
	platform := ad.Capabilities().Platform
	cursor, _, err := state.Get[bot.Cursor](ctx, st, state.CursorKey(platform))
	if err != nil {
		return err
	}
	return ad.Receive(ctx, cursor.Value.At, func(ctx context.Context, events []core.Inbound, _ []byte) error {
		others := false
		for _, e := range events {
			if e.Kind != core.InMessage || e.Bot || !e.Place.Private || access.CodeIn(e.Text) != code {
				others = true
				continue
			}
			_, err := access.Enter(ctx, st, code, e.Person, e.Name, func(b *state.Batch, in access.Invitation) {
				b.Put(state.EventKey(e.ID), state.Seen{}, state.EventKept)
				b.Append(state.Audit, door.Entered(in))
			})
			if err != nil && !errors.Is(err, core.ErrNotFound) {
				return err
			}
			if _, err := ad.Send(ctx, core.Message{Place: e.Place, Plain: door.Welcomed(access.Admin, ad.Capabilities())}); err != nil {
				return nil // they are admin, and the terminal says so
			}
		}
		if others {
			return errOther
		}
		return nil
	})
}
