package killtest

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// proxy is a bad network between the processes and a server: it can hold bytes back, swallow answers and cut connections.
type proxy struct {
	to       string
	listener net.Listener
	running  sync.WaitGroup

	mu     sync.Mutex
	closed bool
	links  map[*link]struct{}
	delay  time.Duration // of every piece, both ways
}

// link is one connection through the proxy.
type link struct {
	near, far net.Conn
	gone      chan struct{}
	once      sync.Once

	mu    sync.Mutex
	quiet bool // what the server says is lost
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{to: to, listener: l, links: map[*link]struct{}{}}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		_ = l.Close()
		p.each(func(k *link) { k.cut() })
		p.running.Wait()
	})
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", p.to)
		if err != nil { // the server is away: so is this connection
			_ = near.Close()
			continue
		}
		k := &link{near: near, far: far, gone: make(chan struct{})}
		p.mu.Lock()
		p.links[k] = struct{}{}
		closed := p.closed
		p.mu.Unlock()
		if closed {
			k.cut()
		}
		var both sync.WaitGroup
		both.Go(func() { p.pass(k, near, far, false) })
		both.Go(func() { p.pass(k, far, near, true) })
		p.running.Go(func() {
			both.Wait()
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.links, k)
		})
	}
}

// pass carries one direction of a link until it is cut.
func (p *proxy) pass(k *link, from io.Reader, to io.Writer, answers bool) {
	defer k.cut()
	piece := make([]byte, 32<<10)
	for {
		n, err := from.Read(piece)
		if err != nil {
			return
		}
		p.mu.Lock()
		delay := p.delay
		p.mu.Unlock()
		if delay > 0 {
			select {
			case <-k.gone:
				return
			case <-time.After(delay):
			}
		}
		k.mu.Lock()
		lost := answers && k.quiet
		k.mu.Unlock()
		if lost {
			continue
		}
		if _, err := to.Write(piece[:n]); err != nil {
			return
		}
	}
}

func (k *link) cut() {
	k.once.Do(func() {
		close(k.gone)
		_ = k.near.Close()
		_ = k.far.Close()
	})
}

func (p *proxy) each(do func(*link)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k := range p.links {
		do(k)
	}
}

// cut closes about half of the connections: calls lose their answers, and who listens for bells misses some.
func (p *proxy) cut(chance *rand.Rand) {
	p.each(func(k *link) {
		if chance.IntN(2) == 0 {
			k.cut()
		}
	})
}

// slow holds every piece back from now on; 0 ends that.
func (p *proxy) slow(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// hush swallows the answers on about half of the connections, until they are cut: what was asked there was done, and nobody knows.
func (p *proxy) hush(chance *rand.Rand) {
	p.each(func(k *link) {
		if chance.IntN(2) == 0 {
			k.mu.Lock()
			k.quiet = true
			k.mu.Unlock()
		}
	})
}

// heal ends what is wrong: quiet connections are cut.
func (p *proxy) heal() {
	p.slow(0)
	p.each(func(k *link) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.quiet {
			k.cut()
		}
	})
}
