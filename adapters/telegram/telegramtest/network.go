package telegramtest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
)

// network is how a server is reached.
type network interface {
	listen() (net.Listener, error) // again after the last listener was closed
	addr() string
	client() *http.Client
}

// loopback is a TCP port of this machine, the same one each time.
type loopback struct {
	mu    sync.Mutex
	port  string
	httpc http.Client
}

func (l *loopback) listen() (net.Listener, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.port == "" {
		l.port = "127.0.0.1:0"
		l.httpc.Transport = &http.Transport{}
	}
	ln, err := net.Listen("tcp", l.port)
	if err == nil {
		l.port = ln.Addr().String()
	}
	return ln, err
}

func (l *loopback) addr() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.port
}

func (l *loopback) client() *http.Client { return &l.httpc }

// piped is a network of pipes in this process.
type piped struct {
	mu    sync.Mutex
	open  *pipeListener
	httpc http.Client
}

func (p *piped) listen() (net.Listener, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.httpc.Transport == nil {
		p.httpc.Transport = &http.Transport{DialContext: p.dial}
	}
	p.open = &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	return p.open, nil
}

func (p *piped) addr() string { return "localhost" }

func (p *piped) client() *http.Client { return &p.httpc }

func (p *piped) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	p.mu.Lock()
	l := p.open
	p.mu.Unlock()
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: errors.New("connection refused")}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type pipeListener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
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
