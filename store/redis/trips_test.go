package redis_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"paragents/store"
	"paragents/store/redis"
	"paragents/store/redis/redistest"
)

// everything is a batch that uses each kind of operation, under a fence that put has made.
func everything(fence store.Fence, n int) store.Batch {
	return store.Batch{
		Fence:  &fence,
		Expect: []store.Expect{{Key: "doc/none"}},
		Put:    []store.Put{{Key: store.Key(fmt.Sprint("doc/", n)), Value: []byte(`{"state":"running"}`), Expires: time.Hour}},
		Delete: []store.Key{"doc/gone"},
		Insert: []store.Insert{{Index: "idx/ready", Member: fmt.Sprint(n), FromNow: true}},
		Remove: []store.Remove{{Index: "idx/ready", Member: fmt.Sprint(n - 1)}},
		Add:    []store.Add{{Key: "count/n", Delta: 1}},
		Append: []store.Append{{Log: "log/l", Value: []byte("record")}},
		Trim:   []store.Trim{{Log: "log/l", Before: 1}},
		Notify: []store.Notify{{Topic: "bell/a", Payload: []byte("hint")}},
	}
}

func put(t testing.TB, s store.Store, key store.Key, holder string) store.Fence {
	t.Helper()
	r, err := s.Commit(t.Context(), store.Batch{Put: []store.Put{{Key: key, Holder: holder, Expires: time.Hour}}})
	if err != nil {
		t.Fatal(err)
	}
	return store.Fence{Key: key, Version: r.Version, Holder: holder}
}

func TestEachCallIsOneRoundTrip(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, redis.Config{URL: server.URL()})
	fence := put(t, s, "claim/a", "me")
	ctx := t.Context()
	calls := map[string]func() error{
		"get":      func() error { _, err := s.Get(ctx, "claim/a", "doc/none", "doc/1"); return err },
		"get time": func() error { _, err := s.Get(ctx); return err },
		"commit":   func() error { _, err := s.Commit(ctx, everything(fence, 1)); return err },
		"durable":  func() error { _, err := s.Commit(ctx, store.Batch{Durable: true}); return err },
		"scan": func() error {
			_, err := s.Scan(ctx, "idx/ready", store.Range{After: &store.Entry{Member: "x", Score: 1}, Due: true, Limit: 32})
			return err
		},
		"read": func() error { _, err := s.Read(ctx, "log/l", 5, 10); return err },
	}
	for name, call := range calls {
		if err := call(); err != nil { // the server learns the script
			t.Fatalf("%s: %v", name, err)
		}
		before := s.RoundTrips()
		for range 3 {
			if err := call(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if trips := s.RoundTrips() - before; trips != 3 {
			t.Errorf("%s: 3 calls took %d round trips", name, trips)
		}
	}
}

// TestB078NothingIsLeft: what the core removes is gone, and what it does not know of expires.
func TestB078NothingIsLeft(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, redis.Config{URL: server.URL(), Prefix: "mine"})
	fence := put(t, s, "claim/a", "me")
	if _, err := s.Commit(t.Context(), everything(fence, 1)); err != nil {
		t.Fatal(err)
	}
	if n := len(server.Do(t, "keys", "{mine}:*").([]any)); n < 5 {
		t.Fatalf("only %d keys before tidying", n)
	}
	if _, err := s.Commit(t.Context(), store.Batch{
		ID:     "named",
		Delete: []store.Key{"claim/a", "doc/1", "count/n"},
		Remove: []store.Remove{{Index: "idx/ready", Member: "1"}},
		Trim:   []store.Trim{{Log: "log/l", Before: 1 << 40}},
	}); err != nil {
		t.Fatal(err)
	}
	for _, key := range server.Do(t, "keys", "*").([]any) {
		ttl := time.Duration(server.Do(t, "pttl", key).(int64)) * time.Millisecond
		switch name := key.(string); {
		case name == "{mine}:counter":
		case name == "{mine}:batch:named" && ttl > store.BatchKept-time.Minute && ttl <= store.BatchKept:
		case strings.HasPrefix(name, "{mine}:batch:") && ttl > 0 && ttl <= time.Minute:
		default:
			t.Errorf("left: %s, expires in %v", name, ttl)
		}
	}
}

func BenchmarkCommit(b *testing.B) {
	server := redistest.Start(b, "--appendfsync", "everysec")
	s := open(b, redis.Config{URL: server.URL()})
	fence := put(b, s, "claim/a", "me")
	var n atomic.Int64
	b.SetParallelism((64 + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0)) // 64 goroutines
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := s.Commit(context.Background(), everything(fence, int(n.Add(1)))); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
}
