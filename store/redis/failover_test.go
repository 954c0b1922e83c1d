package redis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"paragents/store"
	"paragents/store/redis"
	"paragents/store/redis/redistest"
	"paragents/store/storetest"
)

// plain is a deployment whose servers the exam leaves alone.
type plain struct{ backing backing }

func (p plain) Open(t *testing.T) store.Store { return p.backing.Open(t) }

// failOver commits durable batches, kills the primary in the middle, and then everything that was confirmed must be there, and a
// subscription must ring again.
func failOver(t *testing.T, cfg redis.Config, kill func()) {
	t.Helper()
	s := open(t, cfg)
	bell, err := s.Subscribe(t.Context(), "bell/a")
	if err != nil {
		t.Fatal(err)
	}
	var killed time.Time
	const total = 60
	for n := range total {
		if n == total/2 {
			killed = time.Now()
			kill()
		}
		b := store.Batch{
			ID: fmt.Sprint("batch", n), Durable: true,
			Add:    []store.Add{{Key: "count/n", Delta: 1}},
			Append: []store.Append{{Log: "log/l", Value: fmt.Append(nil, n)}},
		}
		_, err := s.Commit(t.Context(), b)
		for err != nil && time.Since(killed) < 15*time.Second {
			_, err = s.Commit(t.Context(), b)
		}
		if err != nil {
			t.Fatalf("batch %d: %v", n, err)
		}
		if n == total/2 {
			t.Logf("commits again after %v", time.Since(killed))
			if d := time.Since(killed); d > 10*time.Second {
				t.Errorf("commits again after %v, want at most 10 s", d)
			}
		}
	}
	if got := count(t, s); got != fmt.Sprint(total) {
		t.Errorf("%s batches of %d", got, total)
	}
	records, err := s.Read(t.Context(), "log/l", 0, 0)
	if err != nil || len(records) != total {
		t.Fatalf("%d records, %v", len(records), err)
	}
	for n, r := range records {
		if string(r.Value) != fmt.Sprint(n) {
			t.Errorf("record %d is %s", n, r.Value)
		}
	}
	for end := time.Now().Add(10 * time.Second); ; {
		if _, err := s.Commit(t.Context(), store.Batch{Notify: []store.Notify{{Topic: "bell/a"}}}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-bell:
			return
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(end) {
			t.Fatal("the subscription does not ring after the fail-over")
		}
	}
}

func TestExamSentinel(t *testing.T) {
	t.Parallel()
	group := redistest.Sentinel(t, 2, "")
	cfg := redis.Config{URL: group.URL, MinReplicas: 1}
	storetest.Run(t, func(*testing.T) storetest.Backing { return plain{newBacking(cfg, nil)} })
	t.Run("a replica that need not confirm may be chosen", func(t *testing.T) {
		if got := fmt.Sprint(open(t, cfg).Warnings(t.Context())); !strings.Contains(got, "set store.min_replicas to 2") {
			t.Errorf("warnings %q", got)
		}
		if got := fmt.Sprint(open(t, redis.Config{URL: group.URL, MinReplicas: 2}).Warnings(t.Context())); strings.Contains(got, "min_replicas") {
			t.Errorf("warnings %q", got)
		}
	})
	t.Run("fail-over", func(t *testing.T) {
		failOver(t, cfg, func() { group.Nodes[0].Kill(t) })
	})
}

func TestExamCluster(t *testing.T) {
	t.Parallel()
	group := redistest.Cluster(t)
	cfg := redis.Config{URL: group.URL, MinReplicas: 1}
	storetest.Run(t, func(*testing.T) storetest.Backing { return plain{newBacking(cfg, nil)} })
	t.Run("fail-over", func(t *testing.T) {
		slot := group.Nodes[0].Do(t, "cluster", "keyslot", "{paragents}").(int64)
		owner := 0
		for _, first := range []int64{5461, 10923} {
			if slot >= first {
				owner++
			}
		}
		failOver(t, cfg, func() {
			group.Nodes[owner].Kill(t)
			group.Nodes[owner+3].Promoted(t)
			group.Nodes[owner].Restart(t) // as the replica that a durable batch needs
		})
	})
}

// TestB075OldConnectionsAreDropped: the primary becomes a replica, closes nothing, and the name leads to another server.
func TestB075OldConnectionsAreDropped(t *testing.T) {
	old, next := redistest.Start(t), redistest.Start(t)
	w := new(wire)
	w.to.Store(&old.Addr)
	s := open(t, redis.Config{URL: "redis://redis.internal", Dial: w.dial})
	reads := make(chan error, 40)
	for range cap(reads) { // many connections
		go func() {
			_, err := s.Get(t.Context(), "doc/a")
			reads <- err
		}()
	}
	for range cap(reads) {
		if err := <-reads; err != nil {
			t.Fatal(err)
		}
	}
	w.to.Store(&next.Addr)
	old.Do(t, "replicaof", "127.0.0.1", next.Port())
	begin := time.Now()
	if _, err := s.Commit(t.Context(), store.Batch{Add: []store.Add{{Key: "count/n", Delta: 1}}}); err != nil {
		t.Fatal(err)
	}
	t.Logf("committed after %v", time.Since(begin))
	if n := next.Do(t, "exists", "{paragents}:doc:count/n"); n != int64(1) {
		t.Fatal("the commit did not reach the new primary")
	}
}

// TestB075ReadOnlyIsNotConfirmed: where only a replica answers, nothing is confirmed, refused by its old data, or unknown.
func TestB075ReadOnlyIsNotConfirmed(t *testing.T) {
	primary := redistest.Start(t)
	s := open(t, redis.Config{URL: primary.URL()})
	primary.Do(t, "replicaof", "127.0.0.1", "1")
	for _, b := range []store.Batch{{Put: []store.Put{{Key: "doc/a"}}}, {Expect: []store.Expect{{Key: "doc/a", Version: 7}}}} {
		_, err := s.Commit(within(t, 300*time.Millisecond), b)
		if !errors.Is(err, redis.ReadOnly) || errors.Is(err, store.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("commit to a replica: %v", err)
		}
	}
	primary.Do(t, "replicaof", "no", "one")
	if err := s.Health(t.Context()); err != nil {
		t.Fatalf("health when it is the primary again: %v", err)
	}
}

// TestRepeatWaitsForReplicasToo: WAIT is about what its own connection wrote, and the repeat comes on another one.
func TestRepeatWaitsForReplicasToo(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t)
	replica := redistest.Start(t, "--replicaof", "127.0.0.1 "+primary.Port())
	cfg := redis.Config{URL: primary.URL(), MinReplicas: 1}
	s, other := open(t, cfg), open(t, cfg)
	eventually(t, "the replica to confirm", func() bool { return s.Health(within(t, time.Second)) == nil })
	named := store.Batch{ID: "named", Durable: true, Put: []store.Put{{Key: "doc/a"}}}
	replica.Pause(t)
	for _, handle := range []*redis.Store{s, other} {
		if r, err := handle.Commit(within(t, time.Second), named); !errors.Is(err, store.ErrUnknown) || !errors.Is(err, redis.NotReplicated) {
			t.Fatalf("durable commit with a stopped replica: %+v, %v", r, err)
		}
	}
	replica.Continue(t)
	if r, err := other.Commit(t.Context(), named); err != nil || !r.Repeated {
		t.Fatalf("the same when it goes on: %+v, %v", r, err)
	}
}
