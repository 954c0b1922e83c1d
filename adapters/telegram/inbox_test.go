package telegram_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"paragents/adapters/telegram"
	"paragents/adapters/telegram/telegramtest"
	"paragents/core"
)

// inbox is a store that keeps what it is given.
type inbox struct {
	mu      sync.Mutex
	batches [][]core.Inbound
	cursor  []byte
	err     error         // what accept answers
	refuse  int           // so many calls of accept fail
	hold    chan struct{} // accept waits until it is closed, or its context ends
}

func (b *inbox) accept(ctx context.Context, events []core.Inbound, cursor []byte) error {
	if b.hold != nil {
		select {
		case <-b.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return b.err
	}
	if b.refuse > 0 {
		b.refuse--
		return errors.New("the store is away")
	}
	b.batches = append(b.batches, events)
	b.cursor = cursor
	return nil
}

func (b *inbox) events() []core.Inbound {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Concat(b.batches...)
}

func (b *inbox) texts() []string {
	var out []string
	for _, e := range b.events() {
		out = append(out, e.Text)
	}
	return out
}

// run starts Receive; the function that it returns stops it and gives its error.
func run(t *testing.T, a *telegram.Adapter, b *inbox, cursor []byte) (stop func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Receive(ctx, cursor, b.accept) }()
	var once sync.Once
	var err error
	stop = func() error {
		once.Do(func() {
			cancel()
			err = <-done
		})
		return err
	}
	t.Cleanup(func() { stop() }) //nolint:errcheck // tests that care stop it themselves
	return stop
}

// bubble runs a test whose waits cost no time, with a server in memory.
func bubble(t *testing.T, f func(t *testing.T, srv *telegramtest.Server)) {
	synctest.Test(t, func(t *testing.T) { f(t, telegramtest.NewPiped(t)) })
}

// settle lets everything happen that happens within d.
func settle(d time.Duration) {
	time.Sleep(d) // of the bubble
	synctest.Wait()
}

func say(srv *telegramtest.Server, text string) {
	srv.Post(telegramtest.Post{Chat: srv.Private(telegramtest.Ann), From: telegramtest.Ann, Text: text})
}

// arrivals starts Receive and hands over the events one by one.
func arrivals(t *testing.T, a *telegram.Adapter, b *inbox) <-chan core.Inbound {
	out := make(chan core.Inbound, 100)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(out)
		err := a.Receive(ctx, nil, func(ctx context.Context, events []core.Inbound, cursor []byte) error {
			for _, e := range events {
				out <- e
			}
			return b.accept(ctx, events, cursor)
		})
		if err != nil {
			t.Errorf("Receive: %v", err)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return out
}
