package redis_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"paragents/store"
	"paragents/store/redis"
	"paragents/store/redis/redistest"
)

// wire makes connections that can lose answers: what was sent arrives and is done, and then the connection breaks.
type wire struct {
	lose atomic.Int64                // answers of scripts still to be lost
	deaf atomic.Pointer[atomic.Bool] // shared by the connections made until it is replaced
	to   atomic.Pointer[string]      // where all connections lead, whatever address is asked for; nil: there
}

func (w *wire) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if to := w.to.Load(); to != nil {
		addr = *to
	}
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	w.deaf.CompareAndSwap(nil, new(atomic.Bool))
	return &wireConn{Conn: c, wire: w, deaf: w.deaf.Load()}, nil
}

type wireConn struct {
	net.Conn
	wire *wire
	deaf *atomic.Bool // what comes is thrown away
	cut  atomic.Bool
}

func (c *wireConn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("evalsha")) && c.wire.lose.Add(-1) >= 0 {
		c.cut.Store(true)
	}
	return c.Conn.Write(p)
}

func (c *wireConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	for c.deaf.Load() && err == nil {
		n, err = c.Conn.Read(p)
	}
	if c.cut.Load() {
		_ = c.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

func count(t *testing.T, s store.Store) string {
	t.Helper()
	snap, err := s.Get(t.Context(), "count/n")
	if err != nil {
		t.Fatal(err)
	}
	return string(snap.Docs[0].Value)
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestLostAnswers(t *testing.T) {
	server := redistest.Start(t)
	w := new(wire)
	s := open(t, redis.Config{URL: server.URL(), Dial: w.dial})
	add := store.Batch{Add: []store.Add{{Key: "count/n", Delta: 1}}}
	if _, err := s.Commit(t.Context(), add); err != nil { // the server learns the script
		t.Fatal(err)
	}

	w.lose.Store(3)
	if r, err := s.Commit(t.Context(), add); err != nil || r.Counters[0] != 2 || r.Repeated {
		t.Fatalf("commit whose answer was lost: %+v, %v", r, err)
	}
	if got := count(t, s); got != "2" {
		t.Fatalf("counter is %s after two commits", got)
	}

	named := add
	named.ID = "named"
	w.lose.Store(1 << 40)
	if _, err := s.Commit(within(t, 200*time.Millisecond), named); !errors.Is(err, store.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("commit without any answer: %v", err)
	}
	w.lose.Store(0)
	if r, err := s.Commit(t.Context(), named); err != nil || r.Counters[0] != 3 || !r.Repeated {
		t.Fatalf("the same again: %+v, %v", r, err)
	}
	if got := count(t, s); got != "3" {
		t.Fatalf("counter is %s after three commits", got)
	}
}

func TestCommitThatWasNotSentIsNotUnknown(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, redis.Config{URL: server.URL()})
	server.Kill(t)
	_, err := s.Commit(within(t, 200*time.Millisecond), store.Batch{Add: []store.Add{{Key: "count/n", Delta: 1}}})
	if errors.Is(err, store.ErrUnknown) || !errors.Is(err, redis.Unreachable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("commit to a dead server: %v", err)
	}
}

func TestCommitCancelledUnderWayIsUnknown(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, redis.Config{URL: server.URL()})
	named := store.Batch{ID: "named", Add: []store.Add{{Key: "count/n", Delta: 1}}}
	server.Pause(t)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	begin := time.Now()
	if _, err := s.Commit(ctx, named); !errors.Is(err, store.ErrUnknown) || !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled commit: %v", err)
	}
	if d := time.Since(begin); d > time.Second {
		t.Fatalf("a cancelled commit returned after %v", d)
	}
	server.Continue(t)
	if _, err := s.Commit(t.Context(), named); err != nil {
		t.Fatal(err)
	}
	if got := count(t, s); got != "1" {
		t.Fatalf("counter is %s", got)
	}
}

func TestCloseEndsCallsUnderWay(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, redis.Config{URL: server.URL()})
	server.Pause(t)
	done := make(chan error, 1)
	go func() {
		_, err := s.Get(context.Background(), "doc/a")
		done <- err
	}()
	time.AfterFunc(50*time.Millisecond, func() { _ = s.Close() })
	select {
	case err := <-done:
		if !errors.Is(err, store.ErrClosed) {
			t.Fatalf("get in a store that is closed: %v", err)
		}
	case <-time.After(3 * time.Second):
		t.Fatal("Close does not end a get")
	}
}

// TestB080SilentConnection: the connection of the subscriptions stays open and brings nothing any more.
func TestB080SilentConnection(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	w := new(wire)
	s, other := open(t, redis.Config{URL: server.URL(), Dial: w.dial}), open(t, redis.Config{URL: server.URL()})
	bell, err := s.Subscribe(t.Context(), "bell/a")
	if err != nil {
		t.Fatal(err)
	}
	w.deaf.Swap(new(atomic.Bool)).Store(true)
	eventually(t, "a bell through a new connection", func() bool {
		if _, err := other.Commit(t.Context(), store.Batch{Notify: []store.Notify{{Topic: "bell/a"}}}); err != nil {
			t.Fatal(err)
		}
		return len(bell) > 0
	})
}
