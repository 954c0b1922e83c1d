package slack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// health is what Check needs to know of the connection.
type health struct {
	receiving int       // Receives under way
	up        int       // of them, those that are connected
	down      time.Time // since when none is
	last      error     // of the last attempt to connect
}

// receiving counts Receives.
func (a *Adapter) receiving(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.health.receiving == 0 {
		a.health = health{down: time.Now()}
	}
	a.health.receiving += n
}

// connected counts a socket that opened or closed.
func (a *Adapter) connected(up bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if up {
		a.health.up++
		a.health.last = nil
		return
	}
	if a.health.up--; a.health.up == 0 {
		a.health.down = time.Now()
	}
}

func (a *Adapter) failed(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.health.last = err
}

// Check implements core.Checker. While Receive runs it tells whether a socket is connected. Otherwise, and in HTTP mode, it asks the platform.
func (a *Adapter) Check(ctx context.Context) error {
	a.mu.Lock()
	h := a.health
	a.mu.Unlock()
	if h.receiving == 0 || a.cfg.Mode == HTTP {
		// Not self: an account known from earlier says nothing about now.
		return a.call(ctx, "auth.test", callWait, true, func(ctx context.Context) error {
			_, err := a.api.AuthTestContext(ctx)
			return err
		})
	}
	if h.up > 0 {
		return nil
	}
	err := fmt.Errorf("receive from slack: not connected for %s", time.Since(h.down).Round(time.Second))
	if h.last != nil {
		err = fmt.Errorf("%w: %w", err, h.last)
	}
	return err
}

// wanted are the scopes of deploy/slack/manifest.yaml, each with what does not work without it.
var wanted = [][2]string{
	{"app_mentions:read", "mentions are not heard"},
	{"channels:history", "messages in public channels are not heard"},
	{"channels:read", "the bot does not know when it is invited to a public channel"},
	{"chat:write", "nothing can be posted"},
	{"commands", "there is no /paragents"},
	{"files:read", "files cannot be read"},
	{"files:write", "files cannot be sent"},
	{"groups:history", "messages in private channels are not heard"},
	{"groups:read", "the bot does not know when it is invited to a private channel"},
	{"im:history", "direct messages are not heard"},
	{"im:write", "files for one person are not sent"},
	{"mpim:history", "messages in group conversations are not heard"},
	{"reactions:write", "messages are not marked as seen or queued"},
	{"users:read", "people are called by their ids"},
}

// Notes implements core.Noter: the scopes that are missing, once the account is known.
func (a *Adapter) Notes() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.me == nil || a.me.Scopes == "" {
		return nil
	}
	granted := strings.Split(strings.ReplaceAll(a.me.Scopes, " ", ""), ",")
	var out []string
	for _, w := range wanted {
		if !slices.Contains(granted, w[0]) {
			out = append(out, fmt.Sprintf("Slack: %s, for the app lacks the scope %s. Update it from deploy/slack/manifest.yaml and install it again.", w[1], w[0]))
		}
	}
	return out
}
