package state

import (
	"sync"
	"time"
)

// Clock is the store's time between two answers of the store: the last one seen, plus what passed here since on a clock that never
// jumps. It is for what is written down and shown; deadlines are decided by the store.
type Clock struct {
	mu   sync.Mutex
	seen time.Time // the store's
	at   time.Time // ours, monotonic
}

// Observe notes a time that the store gave.
func (c *Clock) Observe(t time.Time) {
	if t.IsZero() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); c.seen.IsZero() || t.After(c.seen.Add(now.Sub(c.at))) || c.seen.Add(now.Sub(c.at)).Sub(t) > time.Second {
		c.seen, c.at = t, now
	}
}

// Now is the store's time, or this machine's before the first answer. Milliseconds, UTC.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen.IsZero() {
		return time.Now().UTC().Truncate(time.Millisecond)
	}
	return c.seen.Add(time.Since(c.at)).UTC().Truncate(time.Millisecond)
}
