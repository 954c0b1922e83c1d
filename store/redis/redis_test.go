package redis_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"paragents/store"
	"paragents/store/redis"
	"paragents/store/redis/redistest"
	"paragents/store/storetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.init.0.func1"))
}

// prefixes keeps tests that share a server apart.
var prefixes atomic.Int64

// backing is a deployment of its own on a server that tests share one after the other.
type backing struct {
	cfg    redis.Config
	server *redistest.Server
}

func newBacking(cfg redis.Config, server *redistest.Server) backing {
	cfg.Prefix = fmt.Sprintf("test%d", prefixes.Add(1))
	return backing{cfg, server}
}

func (b backing) Open(t *testing.T) store.Store {
	t.Helper()
	return open(t, b.cfg)
}

func (b backing) Restart(t *testing.T) { b.server.Restart(t) }

func (b backing) Away(t *testing.T) (back func()) {
	b.server.Pause(t)
	return func() { b.server.Continue(t) }
}

func open(t testing.TB, cfg redis.Config) *redis.Store {
	t.Helper()
	s, err := redis.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestExamSingle(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	storetest.Run(t, func(*testing.T) storetest.Backing {
		return newBacking(redis.Config{URL: server.URL()}, server)
	})
}
