package engine

import (
	"sync"
	"time"
)

// clock is the wall clock made monotonic. While the wall clock is behind what was told already (it was set back, or the file comes from
// a time when it was ahead) it goes on at half speed until the wall clock has caught up: it never stands still, and never stays wrong.
type clock struct {
	source func() time.Time

	mu   sync.Mutex
	read time.Time // the last reading of source
	told int64     // the last time told, in ns since the epoch
}

// newClock returns a clock that tells no time before floor (ms since the epoch).
func newClock(source func() time.Time, floor int64) *clock {
	return &clock{source: source, read: source(), told: time.UnixMilli(floor).UnixNano()}
}

// now is the time in milliseconds since the epoch.
func (c *clock) now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.source()
	if passed := t.Sub(c.read); passed > 0 {
		c.told += int64(passed / 2)
	}
	c.read = t
	c.told = max(c.told, t.UnixNano())
	return c.told / int64(time.Millisecond)
}
