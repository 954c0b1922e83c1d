package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"paragents/store"
)

// Health proves that the store can be written, replicas included when store.min_replicas asks for them. Its error is one sentence, a
// Trouble where the state is known. It waits as long as ctx allows (5 s without a deadline) for what passes by itself.
func (s *Store) Health(ctx context.Context) error {
	_, err := s.Commit(ctx, store.Batch{Durable: true})
	if t := Trouble(""); errors.As(err, &t) {
		return t
	}
	return err
}

// Warnings says what about the server will lose state one day; the caller shows it at start and in its health page. A setting that the
// server does not show gives no warning.
func (s *Store) Warnings(ctx context.Context) []string {
	info, err := s.info(ctx, "memory", "persistence", "replication")
	if err != nil {
		return []string{fmt.Sprintf("the redis server cannot be examined: %v", err)}
	}
	var warnings []string
	warn := func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) }
	if policy := info["maxmemory_policy"]; policy != "" && policy != "noeviction" {
		warn("redis throws live state away when its memory is full (maxmemory-policy %s): set it to noeviction", policy)
	}
	save, saveErr := s.setting(ctx, "save")
	fsync, fsyncErr := s.setting(ctx, "appendfsync")
	switch aof := info["aof_enabled"]; {
	case aof == "0" && saveErr != nil:
		warn("redis has no append-only file, a crash may lose the newest state: set appendonly yes")
	case aof == "0" && save == "":
		warn("redis keeps nothing on disk, a restart loses everything: set appendonly yes and appendfsync always")
	case aof == "0":
		warn("redis writes to disk from time to time only (save %s), a crash loses what came after: set appendonly yes and appendfsync always", save)
	case aof == "1" && fsyncErr == nil && fsync != "always" && s.minReplicas == 0:
		warn("a crash of redis may lose what it confirmed in the last seconds (appendfsync %s): set appendfsync always or store.min_replicas", fsync)
	}
	replicas, err := strconv.Atoi(info["connected_slaves"])
	switch {
	case s.mode != single && s.minReplicas == 0:
		warn("a fail-over may lose the newest commits: set store.min_replicas to the number of replicas")
	case s.mode != single && err == nil && replicas > s.minReplicas:
		warn("redis has %[1]d replicas, and a fail-over may choose one that has not confirmed the newest commits: set store.min_replicas to %[1]d", replicas)
	case err == nil && replicas < s.minReplicas:
		warn("redis has %d replicas, store.min_replicas asks for %d: nothing that takes effect can be committed", replicas, s.minReplicas)
	}
	return warnings
}

// info reads sections of the server's INFO.
func (s *Store) info(ctx context.Context, sections ...string) (map[string]string, error) {
	text, err := ask(ctx, s, func(ctx context.Context) (string, error) {
		node, err := s.primary(ctx)
		if err != nil {
			return "", err
		}
		return node.Info(ctx, sections...).Result()
	})
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields, err
}

// setting reads one of the server's settings; many hosted servers do not allow that.
func (s *Store) setting(ctx context.Context, name string) (string, error) {
	settings, err := ask(ctx, s, func(ctx context.Context) (map[string]string, error) {
		node, err := s.primary(ctx)
		if err != nil {
			return nil, err
		}
		return node.ConfigGet(ctx, name).Result()
	})
	return settings[name], err
}

// checkServer proves that the server answers, lets us in and is new enough.
func (s *Store) checkServer(ctx context.Context) error {
	info, err := s.info(ctx, "server")
	if err != nil && !errors.Is(err, NoPermission) {
		return err
	}
	major, _, _ := strings.Cut(info["redis_version"], ".")
	if n, err := strconv.Atoi(major); err == nil && n < 7 {
		return fmt.Errorf("version %s: %w", info["redis_version"], TooOld)
	}
	_, err = s.Get(ctx)
	return err
}

// askSentinels proves that a Sentinel lets us in and knows the primary. It asks them itself, because only here a refused password is
// certainly the Sentinel's and not the data node's.
func askSentinels(ctx context.Context, t target, cfg Config, d *dialer) error {
	var faults []error
	for _, addr := range t.addrs {
		c := redis.NewSentinelClient(&redis.Options{
			Addr: addr, Dialer: d.dial, Username: cfg.SentinelUsername, Password: cfg.SentinelPassword,
			DialTimeout: dialTimeout, DialerRetries: 1, ReadTimeout: ioTimeout, ContextTimeoutEnabled: true, MaxRetries: -1,
			DisableIdentity: true, PoolSize: 1,
		})
		_, err := c.GetMasterAddrByName(ctx, t.primary).Result()
		_ = c.Close()
		if err == nil {
			return nil
		}
		faults = append(faults, fmt.Errorf("sentinel %s: %w", addr, err))
	}
	err := errors.Join(faults...)
	return fmt.Errorf("%w (%w)", sentinelTrouble(err), err)
}
