package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"paragents/core"
)

// acceptFunc is what Receive hands events to.
type acceptFunc = func(ctx context.Context, events []core.Inbound, cursor []byte) error

// Receive implements core.Adapter. The cursor is the number of the next update, in decimal; without one everything that the platform still
// holds for the bot is taken, which is a day at most. In webhook mode the platform keeps the position and the cursor stays nil.
// It returns an error only when the platform does not know the token.
func (a *Adapter) Receive(ctx context.Context, cursor []byte, accept func(ctx context.Context, events []core.Inbound, cursor []byte) error) error {
	offset, err := parseCursor(cursor)
	if err != nil {
		return err
	}
	a.receiving(true)
	defer a.receiving(false)
	defer a.http.CloseIdleConnections()

	var me account
	err = a.persist(ctx, func() (err error) {
		if me, err = a.self(ctx); err != nil || a.cfg.Mode == Polling {
			return err
		}
		return a.register(ctx)
	})
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	a.note(nil, false)
	if a.cfg.Mode == Webhook {
		a.serveHook(ctx, me, accept)
		return nil
	}
	err = a.persist(ctx, func() error {
		for ctx.Err() == nil {
			if err := a.poll(ctx, me, &offset, accept); err != nil {
				return err
			}
			a.note(nil, false)
		}
		return nil
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func parseCursor(cursor []byte) (int64, error) {
	if len(cursor) == 0 {
		return 0, nil
	}
	n, err := strconv.ParseInt(string(cursor), 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("read telegram cursor %.20q: not the number of an update", cursor)
	}
	return n, nil
}

// Pauses after failures: the nth in a row waits first<<n, at most longest.
const (
	firstPause    = 500 * time.Millisecond
	conflictPause = 2 * time.Second // the other poller is another replica that will stop, or somebody who has to be told
	longestPause  = 30 * time.Second
	unknownTokens = 3 // answers "unauthorized" in a row that are believed
)

// persist repeats what fails with growing pauses, until it succeeds, the context ends or the platform keeps refusing the token. A failure after
// a while of success begins at the first pause again: what is one success is for do to say, by calling note.
func (a *Adapter) persist(ctx context.Context, do func() error) error {
	for failures, refusals := 0, 0; ; failures++ {
		err := do()
		if err == nil || ctx.Err() != nil {
			return err
		}
		if a.healthy() {
			failures, refusals = 0, 0
		}
		var answer *tgbotapi.Error
		pause := grow(firstPause, failures)
		conflict := false
		if errors.As(err, &answer) {
			switch {
			case answer.Code == http.StatusUnauthorized || answer.Code == http.StatusNotFound:
				if refusals++; refusals == unknownTokens {
					return fmt.Errorf("telegram refuses the bot token; check telegram.bot_token: %w", err)
				}
			case answer.RetryAfter > 0:
				pause = time.Duration(answer.RetryAfter) * time.Second
			case answer.Code == http.StatusConflict:
				conflict = true
				pause = grow(conflictPause, failures)
				a.dropWebhook(ctx, answer)
			}
		}
		a.note(err, conflict)
		a.log.Warn("telegram receive failed", "platform", platform, "error", err, "pause", pause)
		if !sleep(ctx, pause) {
			return nil
		}
	}
}

// healthy reports whether something succeeded since the last failure.
func (a *Adapter) healthy() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.health.last == nil
}

func grow(first time.Duration, failures int) time.Duration {
	return min(first<<min(failures, 10), longestPause)
}

// sleep waits, and reports false when the context ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// dropWebhook takes away the webhook that keeps polls from working: the configuration says polling.
func (a *Adapter) dropWebhook(ctx context.Context, answer *tgbotapi.Error) {
	if !strings.Contains(answer.Message, "webhook") {
		return
	}
	if err := a.call(ctx, "deleteWebhook", nil, nil); err != nil {
		a.log.Warn("telegram webhook not deleted", "platform", platform, "error", err)
		return
	}
	a.log.Info("telegram webhook deleted, since telegram.mode is polling", "platform", platform)
}

// poll asks once for updates and hands them over. Only then offset grows, and only the next poll tells the platform: what was not accepted
// comes again.
func (a *Adapter) poll(ctx context.Context, me account, offset *int64, accept acceptFunc) error {
	p := tgbotapi.Params{
		"timeout":         strconv.Itoa(int(pollWait / time.Second)),
		"allowed_updates": wanted,
	}
	p.AddNonZero64("offset", *offset)
	var raw []json.RawMessage
	began := time.Now()
	if err := a.callFor(ctx, pollWait+pollGrace, "getUpdates", p, &raw); err != nil {
		return err
	}
	if len(raw) == 0 && time.Since(began) < pollWait/4 { // a server, or something before it, that holds no poll
		sleep(ctx, firstPause)
	}
	next := *offset
	var events []core.Inbound
	for _, r := range raw {
		u, ok := a.decode(r)
		next = max(next, u.ID+1)
		if !ok {
			continue
		}
		if e, ok := inbound(u, me); ok {
			events = append(events, e)
		}
	}
	if len(raw) > 0 && next == *offset {
		return fmt.Errorf("receive from telegram: %d updates without a number", len(raw))
	}
	if len(events) > 0 {
		if err := accept(ctx, events, strconv.AppendInt(nil, next, 10)); err != nil {
			return fmt.Errorf("accept %d events of telegram: %w", len(events), err)
		}
	}
	*offset = next
	return nil
}

// decode reads one update. One that has another form than it should is logged and left out; its number is read where possible, so that it does
// not come again for ever.
func (a *Adapter) decode(raw []byte) (update, bool) {
	var u update
	err := json.Unmarshal(raw, &u)
	if err == nil {
		return u, true
	}
	var id struct {
		ID int64 `json:"update_id"`
	}
	if json.Unmarshal(raw, &id) != nil {
		id.ID = -1
	}
	a.log.Error("telegram update skipped: not of the known form", "platform", platform, "update", id.ID, "error", err)
	return update{ID: id.ID}, false
}
