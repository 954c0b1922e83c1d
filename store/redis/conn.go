package redis

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	dialTimeout = 3 * time.Second
	ioTimeout   = 5 * time.Second // for one answer
	poolSize    = 32              // connections to one node
)

// newClient makes the client that the target asks for. It does not connect yet. It never repeats a command by itself: see Store.retry.
func newClient(t target, cfg Config, d *dialer) redis.UniversalClient {
	opts := &redis.UniversalOptions{
		Addrs:                 t.addrs,
		DB:                    t.db,
		Username:              t.username,
		Password:              t.password,
		SentinelUsername:      cfg.SentinelUsername,
		SentinelPassword:      cfg.SentinelPassword,
		MasterName:            t.primary,
		Dialer:                d.dial,
		DialTimeout:           dialTimeout,
		DialerRetries:         1,
		ReadTimeout:           ioTimeout,
		WriteTimeout:          ioTimeout,
		ContextTimeoutEnabled: true,
		MaxRetries:            -1,
		PoolSize:              poolSize,
		PoolTimeout:           ioTimeout,
		ConnMaxIdleTime:       5 * time.Minute,
		DisableIdentity:       true, // Redis 7.0 does not know the command
	}
	off := &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	switch t.mode {
	case sentinel:
		return redis.NewFailoverClient(opts.Failover())
	case cluster:
		o := opts.Cluster()
		o.MaintNotificationsConfig = off
		o.ClusterStateReloadInterval = 2 * time.Second // with the default of a minute a fail-over is noticed that late
		o.DisableRoutingPolicies = true                // all our commands have one slot
		return redis.NewClusterClient(o)
	default:
		o := opts.Simple()
		o.MaintNotificationsConfig = off
		return redis.NewClient(o)
	}
}

// dialer makes all connections of a Store and can drop them all, so that the next call asks anew who the primary is.
type dialer struct {
	raw func(ctx context.Context, network, addr string) (net.Conn, error)
	tls *tls.Config // nil: none

	mu      sync.Mutex
	open    map[*conn]struct{}
	dropped time.Time
}

// conn is a connection that its dialer knows of until it is closed.
type conn struct {
	net.Conn
	dialer *dialer
}

// checkedConn lets the pool see, before it uses an idle connection, that the server has closed it.
type checkedConn struct {
	*conn
	syscall.Conn
}

func newDialer(t target, cfg Config) *dialer {
	d := &dialer{raw: cfg.Dial, open: make(map[*conn]struct{})}
	if d.raw == nil {
		d.raw = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}).DialContext
	}
	if t.tls {
		d.tls = cfg.TLS.Clone()
		if d.tls == nil {
			d.tls = &tls.Config{MinVersion: tls.VersionTLS12}
		}
	}
	return d
}

func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	raw, err := d.raw(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, dialer: d}
	d.mu.Lock()
	d.open[c] = struct{}{}
	d.mu.Unlock()
	if d.tls == nil {
		if s, ok := raw.(syscall.Conn); ok {
			return checkedConn{c, s}, nil
		}
		return c, nil
	}
	settings := d.tls.Clone()
	if settings.ServerName == "" {
		settings.ServerName, _, _ = net.SplitHostPort(addr)
	}
	secure := tls.Client(c, settings)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return secure, nil
}

// drop closes all connections, at most once a second because many calls see the same trouble, and says whether it did. Calls under way
// fail and are made again.
func (d *dialer) drop() bool {
	d.mu.Lock()
	if time.Since(d.dropped) < time.Second {
		d.mu.Unlock()
		return false
	}
	d.dropped = time.Now()
	d.mu.Unlock()
	d.close()
	return true
}

// close closes all connections.
func (d *dialer) close() {
	d.mu.Lock()
	conns := make([]*conn, 0, len(d.open))
	for c := range d.open {
		conns = append(conns, c)
	}
	d.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
	}
}

func (c *conn) Close() error {
	c.dialer.mu.Lock()
	delete(c.dialer.open, c)
	c.dialer.mu.Unlock()
	return c.Conn.Close()
}

// roundTrips counts what is sent through a client: a command or a pipeline is one.
type roundTrips struct{ count func() }

func (r roundTrips) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r roundTrips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		r.count()
		return next(ctx, cmd)
	}
}

func (r roundTrips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		r.count()
		return next(ctx, cmds)
	}
}

// libraryLog turns go-redis' own lines into debug records: what matters in them also comes as an error.
type libraryLog struct{ logger *slog.Logger }

func (l libraryLog) Printf(ctx context.Context, format string, args ...any) {
	if l.logger.Enabled(ctx, slog.LevelDebug) {
		l.logger.DebugContext(ctx, "go-redis", "text", fmt.Sprintf(format, args...))
	}
}
