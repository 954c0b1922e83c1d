// Package gate is the network of the fakes of platforms: a listener that can be shut, as if the platform were not there.
package gate

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
)

// Gate is a listener that can be shut: connections break, new ones are refused. The port stays ours meanwhile, so that nobody else takes it.
type Gate struct {
	net.Listener
	dial func(ctx context.Context) (net.Conn, error)

	mu    sync.Mutex
	shut  bool
	conns map[*conn]bool
}

type conn struct {
	net.Conn
	gate *Gate
}

func (c *conn) Close() error {
	c.gate.mu.Lock()
	delete(c.gate.conns, c)
	c.gate.mu.Unlock()
	return c.Conn.Close()
}

// Loopback opens a gate on a TCP port of this machine.
func Loopback() (*Gate, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	dial := func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", l.Addr().String())
	}
	return &Gate{Listener: l, dial: dial, conns: map[*conn]bool{}}, nil
}

// Piped opens a gate on pipes in this process.
func Piped() (*Gate, error) {
	l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	return &Gate{Listener: l, dial: l.dial, conns: map[*conn]bool{}}, nil
}

// Accept implements net.Listener: what comes while the gate is shut is cut off.
func (g *Gate) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		held := &conn{c, g}
		g.mu.Lock()
		open := !g.shut
		if open {
			g.conns[held] = true
		}
		g.mu.Unlock()
		if open {
			return held, nil
		}
		c.Close() //nolint:errcheck // nothing was said on it
	}
}

// Shut breaks all connections and refuses new ones.
func (g *Gate) Shut() { g.set(true) }

// Open takes connections again.
func (g *Gate) Open() { g.set(false) }

func (g *Gate) set(shut bool) {
	g.mu.Lock()
	g.shut = shut
	var broken []*conn
	for c := range g.conns {
		if shut {
			broken = append(broken, c)
		}
	}
	g.mu.Unlock()
	for _, c := range broken {
		c.Close() //nolint:errcheck // it is meant to break
	}
}

// Client makes connections through the gate only. While it is shut, dialing fails, as if nothing listened.
func (g *Gate) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			g.mu.Lock()
			shut := g.shut
			g.mu.Unlock()
			if shut {
				return nil, &net.OpError{Op: "dial", Net: network, Addr: g.Addr(), Err: errRefused}
			}
			return g.dial(ctx)
		},
	}}
}

var errRefused = errors.New("connection refused")

type pipeListener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }

func (pipeAddr) String() string { return "localhost" }
