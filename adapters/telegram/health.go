package telegram

import (
	"context"
	"fmt"
	"time"
)

// health is what Check needs to know of the connection.
type health struct {
	receiving bool
	failing   time.Time // since when no poll succeeded; zero: the last one did
	conflict  time.Time // since when another poller is there
	last      error     // of the last poll
}

// note records how a poll, or an attempt to begin receiving, went.
func (a *Adapter) note(err error, conflict bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := &a.health
	h.last = err
	if err == nil {
		h.failing, h.conflict = time.Time{}, time.Time{}
		return
	}
	now := time.Now()
	if h.failing.IsZero() {
		h.failing = now
	}
	switch {
	case !conflict:
		h.conflict = time.Time{}
	case h.conflict.IsZero():
		h.conflict = now
	}
}

// receiving records that Receive began or ended.
func (a *Adapter) receiving(on bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.health = health{receiving: on}
}

// Check implements core.Checker. While Receive runs it tells how that goes: a second poller after 60 s, any other failure at once. Otherwise
// it asks the platform.
func (a *Adapter) Check(ctx context.Context) error {
	a.mu.Lock()
	h := a.health
	a.mu.Unlock()
	switch {
	case !h.receiving:
		// Not self: an account known from earlier says nothing about now.
		var me account
		if err := a.call(ctx, "getMe", nil, &me); err != nil {
			return err
		}
		a.know(&me)
		return nil
	case h.last == nil:
		return nil
	case h.conflict.IsZero():
		return fmt.Errorf("receive from telegram: failing for %s: %w", time.Since(h.failing).Round(time.Second), h.last)
	case time.Since(h.conflict) >= conflictWait:
		return fmt.Errorf("receive from telegram: another program has been polling with this bot token for %s; stop it, or give this bot its own token: %w",
			time.Since(h.conflict).Round(time.Second), h.last)
	}
	return nil
}

// Notes implements core.Noter: privacy mode, once the account is known.
func (a *Adapter) Notes() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.me == nil || a.me.ReadsAll {
		return nil
	}
	return []string{"Telegram privacy mode is on: in groups @" + a.me.Username + " hears only commands, replies to its messages and what it is " +
		"mentioned in. BotFather's /setprivacy changes that; then remove the bot from the group and add it again."}
}
