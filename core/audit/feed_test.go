package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"paragents/core"
	"paragents/core/audit"
	"paragents/core/state"
)

// kept is a sink in memory.
type kept struct {
	mu     sync.Mutex
	lines  []string
	broken error
}

func (k *kept) sink(_ context.Context, lines []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.broken != nil {
		return k.broken
	}
	for l := range strings.Lines(string(lines)) {
		k.lines = append(k.lines, l)
	}
	return nil
}

func (k *kept) whats(t *testing.T) string {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []string
	last := int64(-1)
	for _, l := range k.lines {
		var e struct {
			audit.Entry
			Position int64
		}
		if err := json.Unmarshal([]byte(l), &e); err != nil || e.Session != "s33333" || e.Position <= last {
			t.Fatalf("line %q after position %d: %v", l, last, err)
		}
		last = e.Position
		out = append(out, e.What)
	}
	return strings.Join(out, " ")
}

func TestFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, nil)
		var k kept
		start := func() (stop func()) {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { defer close(ended); audit.Feed(ctx, s, k.sink, slog.New(slog.DiscardHandler)) }()
			return func() { cancel(); <-ended }
		}
		write(t, s, "a", "b")
		stop := start()
		time.Sleep(3 * time.Second)
		if got := k.whats(t); got != "a b" {
			t.Errorf("the sink has %q", got)
		}
		write(t, s, "c")
		time.Sleep(3 * time.Second)
		stop()
		write(t, s, "d")
		k.broken = errors.New("away")
		stop = start()
		time.Sleep(10 * time.Minute)
		if got := k.whats(t); got != "a b c" {
			t.Errorf("while it fails the sink has %q", got)
		}
		k.mu.Lock()
		k.broken = nil
		k.mu.Unlock()
		time.Sleep(time.Minute + time.Second)
		stop()
		if got := k.whats(t); got != "a b c d" {
			t.Errorf("at the end the sink has %q", got)
		}
	})
}

// A long log goes page by page, without a rest between them.
func TestFeedPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, nil)
		const n = 2500
		for range n / 100 {
			commit(t, s, func(b *state.Batch) {
				for range 100 {
					b.Append(state.Audit, audit.Entry{What: "x", Session: core.Ref("s33333")})
				}
			})
		}
		var k kept
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); audit.Feed(ctx, s, k.sink, slog.New(slog.DiscardHandler)) }()
		time.Sleep(time.Second)
		cancel()
		<-ended
		if k.whats(t); len(k.lines) != n {
			t.Errorf("%d lines, want %d", len(k.lines), n)
		}
	})
}
