// Package redis keeps the state of a deployment in Redis 7.0 or newer: a single server, one behind Sentinels, or a Cluster.
//
// Every call is one round trip: a script, or one command. A batch is applied by commit.lua, on the server's clock.
package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"paragents/store"
)

const (
	callLimit   = 5 * time.Second // for a call whose context has no deadline
	openLimit   = 8 * time.Second
	firstWait   = 10 * time.Millisecond // before a call is made again, doubled each time
	longestWait = 500 * time.Millisecond
)

// Config says where the state is.
type Config struct {
	// URL is redis://, rediss:// (TLS), redis+sentinel://host1,host2/primary/db or redis+cluster://host1,host2; before the hosts
	// user:password@, percent-encoded. With Sentinels these are the data nodes' credentials.
	URL string
	// SentinelUsername and SentinelPassword are the Sentinels' own; empty: none.
	SentinelUsername, SentinelPassword string
	// Prefix separates deployments that share a Redis; "" means paragents.
	Prefix string
	// MinReplicas is how many replicas must have confirmed a durable batch; 0: none.
	MinReplicas int
	// TLS is used with rediss; nil: the system's certificates.
	TLS *tls.Config
	// Logger gets lost and regained connections, at debug level also what go-redis says; nil: nothing. go-redis has one logger for the
	// whole process: the last Open sets it.
	Logger *slog.Logger
	// Dial makes the connections, without TLS; nil: net.Dialer. Tests cut connections here.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Store is a store.Store in Redis.
type Store struct {
	mode        mode
	client      redis.UniversalClient
	dialer      *dialer
	keys        keys
	minReplicas int
	logger      *slog.Logger
	scripts     scripts
	bells       *bells
	trips       atomic.Int64

	mu     sync.Mutex // guards closed, and that calls.Add comes before calls.Wait
	closed bool
	calls  sync.WaitGroup
}

var _ store.Store = (*Store)(nil)

// Open connects and proves that the store can be used. It waits up to 8 s for a server that is starting or failing over; a wrong setting
// is an error at once, which names the setting and never its value. The caller closes the store.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	t, err := parseURL(cfg.URL)
	if err != nil {
		return nil, err
	}
	if cfg.Prefix == "" {
		cfg.Prefix = "paragents"
	}
	if strings.ContainsAny(cfg.Prefix, "{}") || len(cfg.Prefix) > 64 {
		return nil, errors.New("check store.prefix: it holds a brace or is longer than 64 bytes")
	}
	if cfg.MinReplicas < 0 {
		return nil, errors.New("check store.min_replicas: it is negative")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	redis.SetLogger(libraryLog{cfg.Logger})
	s := &Store{
		mode:        t.mode,
		dialer:      newDialer(t, cfg),
		keys:        newKeys(cfg.Prefix),
		minReplicas: cfg.MinReplicas,
		logger:      cfg.Logger,
		scripts:     newScripts(),
	}
	s.client = newClient(t, cfg, s.dialer)
	s.client.AddHook(roundTrips{func() { s.trips.Add(1) }})
	s.bells = newBells(s.client, s.keys, s.logger)

	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	if t.mode == sentinel {
		err = s.retry(ctx, new(lastFault), func() error { return askSentinels(ctx, t, cfg, s.dialer) })
	}
	if err == nil {
		err = s.checkServer(ctx)
	}
	if err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("open store: %w", err)
	}
	return s, nil
}

// Close implements store.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.bells.close()
	err := s.client.Close()
	s.dialer.close() // ends the calls under way
	s.calls.Wait()
	return err
}

// RoundTrips counts the commands and pipelines sent so far.
func (s *Store) RoundTrips() int64 { return s.trips.Load() }

// begin notes a call; it fails when the store was closed. The call ends with s.calls.Done.
func (s *Store) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	s.calls.Add(1)
	return nil
}

// ask runs f, again while that may help, and returns when ctx ends, even if f does not: go-redis heeds deadlines, but no cancelling. f
// then ends by itself within ioTimeout.
func ask[T any](ctx context.Context, s *Store, f func(ctx context.Context) (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	if err := s.begin(); err != nil {
		return none, err
	}
	ctx, cancel := limited(ctx)
	type answer struct {
		value T
		err   error
	}
	var last lastFault
	done := make(chan answer, 1)
	go func() {
		defer s.calls.Done()
		defer cancel()
		var a answer
		a.err = s.retry(ctx, &last, func() (err error) {
			a.value, err = f(ctx)
			return err
		})
		done <- a
	}()
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
		select {
		case a := <-done: // both at once: the answer counts
			return a.value, a.err
		default:
			return none, last.with(ctx.Err())
		}
	}
}

// over says whether ctx has ended, or is about to.
func over(ctx context.Context) bool {
	deadline, has := ctx.Deadline()
	return ctx.Err() != nil || (has && !time.Now().Before(deadline))
}

// lastFault says what kept a call from succeeding until its context ended.
type lastFault struct {
	mu    sync.Mutex
	fault error
}

func (l *lastFault) set(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = err
}

func (l *lastFault) with(end error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault == nil {
		return end
	}
	return fmt.Errorf("%w: %w", end, l.fault)
}

func limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, callLimit)
}

// retry calls f until it succeeds, fails for good, or ctx ends.
func (s *Store) retry(ctx context.Context, last *lastFault, f func() error) error {
	wait, broken := firstWait, 0
	for {
		err := translate(f())
		if (errors.Is(err, ReadOnly) || errors.Is(err, Loading)) && s.dialer.drop() {
			s.logger.WarnContext(ctx, "dropped all redis connections", "cause", err)
		}
		if err == nil || !again(err) {
			return err
		}
		if !over(ctx) { // else it is only how the end shows
			last.set(err)
		}
		if lostConnection(err) && broken < poolSize && !over(ctx) {
			broken++ // it says nothing about the next one, and a restart has broken a pool full of them
			continue
		}
		select {
		case <-ctx.Done():
			return last.with(ctx.Err())
		case <-time.After(wait):
			wait = min(2*wait, longestWait)
		}
	}
}

// primary is the node that all keys of the deployment are on.
func (s *Store) primary(ctx context.Context) (*redis.Client, error) {
	if c, ok := s.client.(*redis.ClusterClient); ok {
		return c.MasterForKey(ctx, s.keys.counter())
	}
	return s.client.(*redis.Client), nil
}
