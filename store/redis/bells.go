package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"paragents/store"
)

const (
	bellQueue   = 256
	bellPing    = 2 * time.Second // a connection that is silent for two of these is given up
	bellBackoff = time.Second     // the longest wait before the next connection
)

// bells shares one connection among all subscriptions of a Store. The goroutine of run is the only one that writes to it: it subscribes
// and unsubscribes until the server has what topics says.
type bells struct {
	client  redis.UniversalClient
	keys    keys
	logger  *slog.Logger
	changed chan struct{} // topics are not what the connection has
	ctx     context.Context
	end     context.CancelFunc
	start   sync.Once
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	topics map[string]*topic // by channel
}

// topic has the subscriptions of one channel.
type topic struct {
	subs    map[*subscription]struct{}
	inForce chan struct{} // closed when the connection has it; a new one when the connection is lost
}

type subscription struct {
	ch       chan store.Notification
	channels map[string]struct{}
	ended    bool
}

func newBells(client redis.UniversalClient, keys keys, logger *slog.Logger) *bells {
	ctx, end := context.WithCancel(context.Background())
	return &bells{client: client, keys: keys, logger: logger, changed: make(chan struct{}, 1), ctx: ctx, end: end, topics: make(map[string]*topic)}
}

// close ends all subscriptions and waits for the goroutine.
func (b *bells) close() {
	b.mu.Lock()
	b.closed = true
	subs := make(map[*subscription]struct{})
	for _, t := range b.topics {
		for sub := range t.subs {
			subs[sub] = struct{}{}
		}
	}
	b.mu.Unlock()
	b.end()
	for sub := range subs {
		b.remove(sub)
	}
	b.running.Wait()
}

// Subscribe implements store.Store.
func (s *Store) Subscribe(ctx context.Context, topics ...store.Topic) (<-chan store.Notification, error) {
	ch, err := s.bells.subscribe(ctx, topics)
	if err != nil {
		return nil, fmt.Errorf("subscribe %q: %w", topics, err)
	}
	return ch, nil
}

func (b *bells) subscribe(ctx context.Context, topics []store.Topic) (<-chan store.Notification, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	sub, waits, err := b.add(topics)
	if err != nil {
		return nil, err
	}
	limit, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	for _, inForce := range waits {
		select {
		case <-inForce:
		case <-limit.Done():
			b.remove(sub)
			return nil, fmt.Errorf("%w: %w", limit.Err(), Unreachable)
		case <-b.ctx.Done():
			return nil, store.ErrClosed
		}
	}
	context.AfterFunc(ctx, func() { b.remove(sub) })
	return sub.ch, nil
}

func (b *bells) add(topics []store.Topic) (*subscription, []<-chan struct{}, error) {
	sub := &subscription{ch: make(chan store.Notification, bellQueue), channels: make(map[string]struct{})}
	var waits []<-chan struct{}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, nil, store.ErrClosed
	}
	for _, name := range topics {
		channel := b.keys.bell(name)
		t := b.topics[channel]
		if t == nil {
			t = &topic{subs: make(map[*subscription]struct{}), inForce: make(chan struct{})}
			b.topics[channel] = t
		}
		t.subs[sub] = struct{}{}
		sub.channels[channel] = struct{}{}
		waits = append(waits, t.inForce)
	}
	b.start.Do(func() { b.running.Go(b.run) })
	b.touch()
	return sub, waits, nil
}

// remove ends a subscription; again is harmless.
func (b *bells) remove(sub *subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if sub.ended {
		return
	}
	sub.ended = true
	close(sub.ch)
	for channel := range sub.channels {
		t := b.topics[channel]
		delete(t.subs, sub)
		if len(t.subs) == 0 {
			delete(b.topics, channel)
		}
	}
	b.touch()
}

func (b *bells) touch() {
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// run keeps a connection, one after the other, until the Store is closed.
func (b *bells) run() {
	wait := firstWait
	for b.ctx.Err() == nil {
		begin := time.Now()
		err := b.connection()
		if b.ctx.Err() != nil {
			return
		}
		level := slog.LevelDebug
		if time.Since(begin) > bellBackoff { // it had worked
			wait, level = firstWait, slog.LevelWarn
		}
		b.logger.Log(b.ctx, level, "subscribe again", "cause", translate(err))
		select {
		case <-time.After(wait):
		case <-b.ctx.Done():
		}
		wait = min(2*wait, bellBackoff)
	}
}

var errSilent = errors.New("connection is silent")

// connection opens one, keeps its subscriptions as topics says, and returns when it is lost.
func (b *bells) connection() error {
	ctx, cancel := context.WithCancel(b.ctx)
	ps := b.client.Subscribe(ctx)
	stop := context.AfterFunc(ctx, func() { _ = ps.Close() })
	c := &bellConn{PubSub: ps, sent: make(map[string]*topic), unconfirmed: make(map[string]int)}
	lost := make(chan error, 1)
	go func() {
		defer close(lost)
		lost <- b.receive(ctx, c)
	}()
	err := b.serve(ctx, c, lost)
	cancel()
	if stop() {
		_ = ps.Close()
	}
	for range lost { // the reader ends when its connection is closed
	}
	b.lost()
	return err
}

// bellConn is one connection and what was sent on it.
type bellConn struct {
	*redis.PubSub
	sent  map[string]*topic // by channel; only serve uses it
	heard atomic.Bool       // since the last tick

	unconfirmed map[string]int // subscriptions sent and not confirmed, by channel; guarded by bells.mu
}

func (b *bells) serve(ctx context.Context, c *bellConn, lost <-chan error) error {
	tick := time.NewTicker(bellPing)
	defer tick.Stop()
	b.touch()
	pinged := false
	for {
		select {
		case <-b.changed:
			if err := b.adjust(ctx, c); err != nil {
				return err
			}
		case <-tick.C:
			if !c.heard.Swap(false) && pinged {
				return errSilent
			}
			pinged = true
			if err := c.Ping(ctx); err != nil {
				return err
			}
		case err := <-lost:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// adjust subscribes and unsubscribes what has changed since the last time.
func (b *bells) adjust(ctx context.Context, c *bellConn) error {
	var more, fewer []string
	b.mu.Lock()
	for channel, t := range b.topics {
		if c.sent[channel] != t {
			more = append(more, channel)
			c.sent[channel] = t
			c.unconfirmed[channel]++
		}
	}
	for channel := range c.sent {
		if b.topics[channel] == nil {
			fewer = append(fewer, channel)
			delete(c.sent, channel)
		}
	}
	b.mu.Unlock()
	if len(more) > 0 {
		if err := c.Subscribe(ctx, more...); err != nil {
			return err
		}
	}
	if len(fewer) > 0 {
		return c.Unsubscribe(ctx, fewer...)
	}
	return nil
}

// receive hands out what comes until the connection is lost.
func (b *bells) receive(ctx context.Context, c *bellConn) error {
	for {
		got, err := c.Receive(ctx)
		if err != nil {
			return err
		}
		c.heard.Store(true)
		switch m := got.(type) {
		case *redis.Subscription:
			if m.Kind == "subscribe" {
				b.confirm(c, m.Channel)
			}
		case *redis.Message:
			b.ring(m.Channel, m.Payload)
		}
	}
}

// confirm opens the way for those who wait for a channel, when its last subscription is confirmed.
func (b *bells) confirm(c *bellConn, channel string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c.unconfirmed[channel]--
	if c.unconfirmed[channel] > 0 {
		return
	}
	delete(c.unconfirmed, channel)
	if t := b.topics[channel]; t != nil && !closed(t.inForce) {
		close(t.inForce)
	}
}

func (b *bells) ring(channel, payload string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.topics[channel]
	if t == nil {
		return
	}
	for sub := range t.subs {
		select {
		case sub.ch <- store.Notification{Topic: b.keys.topic(channel), Payload: []byte(payload)}:
		default: // full: a bell may be lost
		}
	}
}

// lost notes that no subscription is in force any more.
func (b *bells) lost() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.topics {
		if closed(t.inForce) {
			t.inForce = make(chan struct{})
		}
	}
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
