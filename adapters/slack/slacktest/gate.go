package slacktest

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// gate is a listener that can be shut: connections break, new ones are refused. The port stays ours meanwhile, so that nobody else takes it.
type gate struct {
	net.Listener

	mu    sync.Mutex
	shut  bool
	conns map[*gateConn]bool
}

type gateConn struct {
	net.Conn
	gate *gate
}

func (c *gateConn) Close() error {
	c.gate.mu.Lock()
	delete(c.gate.conns, c)
	c.gate.mu.Unlock()
	return c.Conn.Close()
}

// loopback opens a gate on a TCP port of this machine.
func loopback() (*gate, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &gate{Listener: l, conns: map[*gateConn]bool{}}, nil
}

func (g *gate) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		conn := &gateConn{c, g}
		g.mu.Lock()
		open := !g.shut
		if open {
			g.conns[conn] = true
		}
		g.mu.Unlock()
		if open {
			return conn, nil
		}
		c.Close() //nolint:errcheck // nothing was said on it
	}
}

func (g *gate) set(shut bool) {
	g.mu.Lock()
	g.shut = shut
	var broken []*gateConn
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

// client makes connections through the gate only. While it is shut, dialing fails, as if nothing listened.
func (g *gate) client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			g.mu.Lock()
			shut := g.shut
			g.mu.Unlock()
			if shut {
				return nil, &net.OpError{Op: "dial", Net: network, Addr: g.Addr(), Err: errGone}
			}
			return (&net.Dialer{}).DialContext(ctx, "tcp", g.Addr().String())
		},
	}}
}
