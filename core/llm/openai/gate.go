package openai

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// firstWait is the wait after the first failure; it doubles with each further one.
const firstWait = time.Second

// backoff is the wait after so many failures in a row: exponential up to limit, the upper half of it by chance.
func backoff(failures int, limit time.Duration) time.Duration {
	d := limit
	if n := failures - 1; n < 20 {
		d = min(limit, firstWait<<n)
	}
	return d/2 + rand.N(d/2+1)
}

// sleep waits for d and reports whether the context lasted so long.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// gate holds back the requests to one provider while that is in trouble. When the wait is over, one request goes ahead as a probe; the
// others follow, spread over a moment, as soon as the provider was heard.
type gate struct {
	name string // of the provider

	mu      sync.Mutex
	round   int // counts failures: what began in an earlier round says nothing about now
	streak  int // failures since the provider was last heard
	until   time.Time
	probing bool
	last    *failure
	changed chan struct{} // closed at each change, and replaced
}

// pass is the permission for one request.
type pass struct {
	g     *gate
	round int
	probe bool
	heard bool // the provider answered with more than an error
}

func (g *gate) failures() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.streak
}

// enter waits until a request may be sent. seen is how many failures of other requests it waited through: they count as its own, and at
// left of them, or when a wait would be longer than maxWait, it gives up. maxWait 0: it does not wait at all.
func (g *gate) enter(ctx context.Context, left int, maxWait time.Duration, t *telling) (p *pass, seen int, fail *failure) {
	told, waited := -1, false
	g.mu.Lock()
	defer g.mu.Unlock()
	for arrived := g.round; ; {
		wait := time.Until(g.until)
		seen = g.round - arrived
		switch {
		case g.streak == 0 && waited:
			waited = false // everybody was let go in this moment: not all at once
			g.unlocked(func() { sleep(ctx, rand.N(firstWait)) })
			continue
		case ctx.Err() != nil && g.last != nil:
			return nil, seen, g.last
		case g.streak == 0, !g.probing && wait <= 0:
			g.probing = g.streak > 0
			return &pass{g: g, round: g.round, probe: g.probing}, seen, nil
		case maxWait == 0, seen >= left:
			return nil, seen, g.last.with(fmt.Sprintf("gave up after %d failures", g.streak))
		case wait > maxWait:
			return nil, seen, g.last.with(fmt.Sprintf("asks for a pause of %s", wait.Round(time.Second)))
		}
		waited = true
		changed, round, why := g.changed, g.round, g.last.text
		g.unlocked(func() {
			var over <-chan time.Time // nil: the wait is for the probe
			if wait > 0 {
				over = time.After(wait)
				if told != round {
					told = round
					t.wait(g.name+" "+why, wait)
				}
			}
			select {
			case <-ctx.Done():
			case <-changed:
			case <-over:
			}
		})
	}
}

// unlocked runs f without the lock that the caller holds.
func (g *gate) unlocked(f func()) {
	g.mu.Unlock()
	defer g.mu.Lock()
	f()
}

// set changes the gate and wakes who waits.
func (g *gate) set(change func()) {
	change()
	close(g.changed)
	g.changed = make(chan struct{})
}

// hear says that the provider answers: the gate is open.
func (p *pass) hear() {
	if p.heard {
		return
	}
	p.heard = true
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	if p.round == p.g.round && p.g.streak > 0 {
		p.g.set(func() { p.g.streak, p.g.probing = 0, false })
	}
}

// fail says that the provider cannot answer now: the gate is closed for a while. Of requests that fail together the first counts; the
// others can only make the wait longer, by what the provider told them.
func (p *pass) fail(f *failure, tries int, limit time.Duration) {
	g := p.g
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if p.round != g.round {
		if until := now.Add(f.after); g.streak > 0 && until.After(g.until) {
			g.set(func() { g.until, g.last = until, f })
		}
		return
	}
	g.set(func() {
		g.round++
		g.streak++
		g.probing = false
		g.last = f
		g.until = now.Add(max(f.after, backoff(max(tries, g.streak), limit)))
	})
}

// leave gives the pass back when the request was ended from our side and nothing was learned.
func (p *pass) leave() {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	if p.probe && !p.heard && p.round == p.g.round {
		p.g.set(func() { p.g.probing = false })
	}
}
