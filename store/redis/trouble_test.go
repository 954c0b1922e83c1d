package redis_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"paragents/store"
	"paragents/store/redis"
	"paragents/store/redis/redistest"
)

const secret = "geheim42"

// withPassword puts credentials into a store.url.
func withPassword(url, credentials string) string {
	scheme, rest, _ := strings.Cut(url, "://")
	return scheme + "://" + credentials + "@" + rest
}

// refused opens a store that must not open, within 10 s and with the trouble, and without showing the password anywhere.
func refused(t *testing.T, cfg redis.Config, want redis.Trouble) {
	t.Helper()
	var log bytes.Buffer
	cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	begin := time.Now()
	s, err := redis.Open(t.Context(), cfg)
	if err == nil {
		_ = s.Close()
		t.Fatalf("opened, want: %s", want)
	}
	if !errors.Is(err, want) || time.Since(begin) > 10*time.Second {
		t.Errorf("open: %v after %v, want: %s", err, time.Since(begin), want)
	}
	if strings.Contains(err.Error()+log.String(), secret) {
		t.Errorf("the password is shown: %v\n%s", err, log.String())
	}
}

func TestB076PasswordOfTheServer(t *testing.T) {
	server := redistest.Start(t, "--requirepass", secret)
	refused(t, redis.Config{URL: server.URL()}, redis.NoPassword)
	refused(t, redis.Config{URL: withPassword(server.URL(), ":"+secret+"x")}, redis.WrongPassword)
	refused(t, redis.Config{URL: withPassword(server.URL(), "nobody:"+secret)}, redis.WrongPassword)
	s := open(t, redis.Config{URL: withPassword(server.URL(), ":"+secret)})
	if err := s.Health(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestB076PasswordChangedWhileRunning(t *testing.T) {
	server := redistest.Start(t)
	server.Do(t, "acl", "setuser", "bot", "on", ">"+secret, "~*", "&*", "+@all")
	s := open(t, redis.Config{URL: withPassword(server.URL(), "bot:"+secret)})
	server.Do(t, "acl", "setuser", "bot", "resetpass", ">other")
	server.Do(t, "client", "kill", "user", "bot")
	eventually(t, "the refused password to show", func() bool {
		return errors.Is(s.Health(within(t, time.Second)), redis.WrongPassword)
	})
	server.Do(t, "acl", "setuser", "bot", "resetpass", ">"+secret)
	eventually(t, "health when the password is right again", func() bool { return s.Health(within(t, time.Second)) == nil })
}

func TestB076SentinelsHaveTheirOwnPassword(t *testing.T) {
	t.Parallel()
	group := redistest.Sentinel(t, 2, secret, "--requirepass", "data"+secret)
	url := withPassword(group.URL, ":data"+secret)
	refused(t, redis.Config{URL: url}, redis.SentinelPassword)
	refused(t, redis.Config{URL: url, SentinelPassword: "data" + secret}, redis.SentinelPassword)
	refused(t, redis.Config{URL: group.URL, SentinelPassword: secret}, redis.NoPassword)
	refused(t, redis.Config{URL: withPassword(group.URL, ":"+secret), SentinelPassword: secret}, redis.WrongPassword)
	refused(t, redis.Config{URL: strings.TrimSuffix(url, redistest.PrimaryName) + "other", SentinelPassword: secret}, redis.UnknownPrimary)
	s := open(t, redis.Config{URL: url, SentinelPassword: secret})
	if err := s.Health(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestOpenWithoutAServer(t *testing.T) {
	server := redistest.Start(t)
	server.Kill(t)
	ctx := within(t, 300*time.Millisecond)
	if _, err := redis.Open(ctx, redis.Config{URL: server.URL()}); !errors.Is(err, redis.Unreachable) {
		t.Fatalf("open without a server: %v", err)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args []string
		want redis.Trouble
	}{
		{"replica", []string{"replicaof", "127.0.0.1", "1"}, redis.ReadOnly},
		{"too few replicas", []string{"config", "set", "min-replicas-to-write", "1"}, redis.TooFewReplicas},
		{"memory", []string{"config", "set", "maxmemory", "1"}, redis.OutOfMemory},
		{"permission", []string{"acl", "setuser", "default", "-publish", "-evalsha"}, redis.NoPermission},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := redistest.Start(t)
			s := open(t, redis.Config{URL: server.URL()})
			if err := s.Health(t.Context()); err != nil {
				t.Fatalf("health of a good server: %v", err)
			}
			args := make([]any, len(c.args))
			for i, arg := range c.args {
				args[i] = arg
			}
			server.Do(t, args...)
			if err := s.Health(within(t, 300*time.Millisecond)); err != c.want {
				t.Errorf("health: %v, want: %v", err, c.want)
			}
		})
	}
	t.Run("replicas that have to confirm", func(t *testing.T) {
		server := redistest.Start(t)
		s := open(t, redis.Config{URL: server.URL(), MinReplicas: 1})
		if err := s.Health(within(t, time.Second)); err != redis.NotReplicated {
			t.Errorf("health: %v", err)
		}
		_, err := s.Commit(within(t, time.Second), store.Batch{ID: "named", Durable: true, Put: []store.Put{{Key: "doc/a"}}})
		if !errors.Is(err, store.ErrUnknown) || !errors.Is(err, redis.NotReplicated) {
			t.Errorf("durable commit without a replica: %v", err)
		}
		if _, err := s.Commit(t.Context(), store.Batch{Put: []store.Put{{Key: "doc/b"}}}); err != nil {
			t.Errorf("commit that need not be durable: %v", err)
		}
		redistest.Start(t, "--replicaof", "127.0.0.1 "+server.Port())
		eventually(t, "the replica to confirm", func() bool { return s.Health(within(t, time.Second)) == nil })
		r, err := s.Commit(t.Context(), store.Batch{ID: "named", Durable: true, Put: []store.Put{{Key: "doc/a"}}})
		if err != nil || !r.Repeated {
			t.Errorf("the durable commit again: %+v, %v", r, err)
		}
	})
}

// TestB075LoadingIsWaitedFor: a server that is still reading its file answers LOADING for about two seconds.
func TestB075LoadingIsWaitedFor(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--key-load-delay", "300")
	s := open(t, redis.Config{URL: server.URL()})
	for range 5 {
		var b store.Batch
		for i := range 1000 {
			b.Put = append(b.Put, store.Put{Key: store.Key(fmt.Sprint("doc/", i))})
		}
		if _, err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	restarted := make(chan struct{})
	server.Kill(t)
	go func() {
		defer close(restarted)
		server.Restart(t)
	}()
	eventually(t, "loading to show", func() bool {
		return errors.Is(s.Health(within(t, 2*time.Second)), redis.Loading)
	})
	if _, err := s.Commit(within(t, 15*time.Second), store.Batch{Put: []store.Put{{Key: "doc/a"}}}); err != nil {
		t.Fatalf("commit while redis loads: %v", err)
	}
	<-restarted
}

// TestB077FullMemory: what does not fit is refused whole and never confirmed, and room can still be made.
func TestB077FullMemory(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--maxmemory", "6mb", "--maxmemory-policy", "noeviction")
	s := open(t, redis.Config{URL: server.URL()})
	value := bytes.Repeat([]byte("x"), 200_000)
	var confirmed []store.Key
	for n := 0; ; n++ {
		key := store.Key(fmt.Sprint("doc/", n))
		_, err := s.Commit(t.Context(), store.Batch{Put: []store.Put{{Key: key, Value: value}}, Add: []store.Add{{Key: "count/n", Delta: 1}}})
		if err != nil {
			if !errors.Is(err, redis.OutOfMemory) || errors.Is(err, store.ErrUnknown) {
				t.Fatalf("commit %d: %v", n, err)
			}
			break
		}
		confirmed = append(confirmed, key)
	}
	if got := count(t, s); got != fmt.Sprint(len(confirmed)) || len(confirmed) == 0 {
		t.Fatalf("counter is %s, confirmed %d", got, len(confirmed))
	}
	snap, err := s.Get(t.Context(), confirmed...)
	if err != nil {
		t.Fatal(err)
	}
	for i, doc := range snap.Docs {
		if !bytes.Equal(doc.Value, value) {
			t.Errorf("%s is not there", confirmed[i])
		}
	}
	server.Do(t, "config", "set", "maxmemory", "1")
	if _, err := s.Commit(t.Context(), store.Batch{Delete: confirmed}); err != nil {
		t.Fatalf("delete in a full store: %v", err)
	}
	server.Do(t, "config", "set", "maxmemory", "6mb")
	if err := s.Health(t.Context()); err != nil {
		t.Fatalf("health after making room: %v", err)
	}
}

func TestB077Warnings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		args        []string
		minReplicas int
		want        []string // a part of each warning
	}{
		{name: "good", args: []string{"--maxmemory-policy", "noeviction"}},
		{name: "eviction", args: []string{"--maxmemory-policy", "volatile-lru"}, want: []string{"volatile-lru"}},
		{name: "each second", args: []string{"--appendfsync", "everysec"}, want: []string{"appendfsync everysec"}},
		{name: "nothing on disk", args: []string{"--appendonly", "no"}, want: []string{"nothing on disk"}},
		{name: "snapshots", args: []string{"--appendonly", "no", "--save", "60 1"}, want: []string{"from time to time"}},
		{name: "replicas", minReplicas: 2, want: []string{"0 replicas"}},
		{name: "evicting and forgetting", args: []string{"--appendonly", "no", "--maxmemory-policy", "allkeys-lru"}, want: []string{"allkeys-lru", "nothing on disk"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := redistest.Start(t, c.args...)
			s := open(t, redis.Config{URL: server.URL(), MinReplicas: c.minReplicas})
			got := s.Warnings(t.Context())
			ok := len(got) == len(c.want)
			for i := range min(len(got), len(c.want)) {
				ok = ok && strings.Contains(got[i], c.want[i])
			}
			if !ok {
				t.Errorf("warnings %q, want ones about %q", got, c.want)
			}
		})
	}
}

// eventually asks until done says so.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain for: %s", what)
		case <-tick.C:
		}
	}
}
