package store

import (
	"errors"
	"fmt"
	"math"
	"time"
)

const (
	MaxName    = 1 << 10                   // bytes of a key, index, member, log, topic, holder or batch id
	MaxPayload = 4 << 10                   // bytes of a notification's payload
	MaxExpires = 10 * 365 * 24 * time.Hour // the longest Expires
	MaxCounter = int64(1)<<53 - 1          // the farthest from zero that a delta may be, and a counter is counted exactly
)

// Check returns why every store refuses the batch, whatever it holds: ErrTooLarge when it is over a limit, another error when it is not
// well formed. Every Commit begins with it.
func (b *Batch) Check() error {
	c := checker{written: make(map[Key]struct{}, len(b.Put)+len(b.Delete)+len(b.Add))}
	if n := len(b.Put) + len(b.Delete) + len(b.Insert) + len(b.Remove) + len(b.Add) + len(b.Append) + len(b.Trim) + len(b.Notify); n > MaxOps {
		return fmt.Errorf("check batch: %d operations, at most %d: %w", n, MaxOps, ErrTooLarge)
	}
	if n := len(b.Expect); n > MaxOps {
		return fmt.Errorf("check batch: %d expectations, at most %d: %w", n, MaxOps, ErrTooLarge)
	}
	if len(b.ID) > MaxName {
		c.fail("id", b.ID, ErrTooLarge)
	}
	if b.Fence != nil {
		c.name("fence", string(b.Fence.Key))
	}
	expected := make(map[Key]struct{}, len(b.Expect))
	for _, e := range b.Expect {
		c.name("expect", string(e.Key))
		if _, twice := expected[e.Key]; twice {
			c.fail("expect", string(e.Key), errTwice)
		}
		expected[e.Key] = struct{}{}
	}
	c.documents(b)
	c.entries(b)
	c.records(b)
	if c.err == nil && c.bytes > MaxBatch {
		c.err = fmt.Errorf("check batch: %d bytes of values, at most %d: %w", c.bytes, MaxBatch, ErrTooLarge)
	}
	return c.err
}

var (
	errTwice  = errors.New("named twice in one batch")
	errEmpty  = errors.New("empty name")
	errNumber = errors.New("score is not a finite number")
	errExpiry = errors.New("expiry is negative or too long")
)

// checker keeps the first fault and the bytes seen so far.
type checker struct {
	err     error
	bytes   int
	written map[Key]struct{}
}

func (c *checker) fail(what, name string, cause error) {
	if c.err == nil {
		c.err = fmt.Errorf("check %s %.80q: %w", what, name, cause)
	}
}

func (c *checker) name(what, name string) {
	switch {
	case name == "":
		c.fail(what, name, errEmpty)
	case len(name) > MaxName:
		c.fail(what, name, ErrTooLarge)
	}
}

func (c *checker) value(what, name string, value []byte) {
	if len(value) > MaxValue {
		c.fail(what, name, ErrTooLarge)
	}
	c.bytes += len(value)
}

// write notes that a document is written; one batch does that once.
func (c *checker) write(what string, key Key, expires time.Duration) {
	c.name(what, string(key))
	if _, twice := c.written[key]; twice {
		c.fail(what, string(key), errTwice)
	}
	c.written[key] = struct{}{}
	if expires < 0 || expires > MaxExpires {
		c.fail(what, string(key), errExpiry)
	}
}

func (c *checker) documents(b *Batch) {
	for _, p := range b.Put {
		c.write("put", p.Key, p.Expires)
		c.value("put", string(p.Key), p.Value)
		if len(p.Holder) > MaxName {
			c.fail("holder of", string(p.Key), ErrTooLarge)
		}
	}
	for _, key := range b.Delete {
		c.write("delete", key, 0)
	}
	for _, a := range b.Add {
		c.write("add", a.Key, a.Expires)
		if a.Delta > MaxCounter || a.Delta < -MaxCounter {
			c.fail("add", string(a.Key), ErrTooLarge)
		}
	}
}

func (c *checker) entries(b *Batch) {
	for _, i := range b.Insert {
		c.name("insert", string(i.Index))
		c.name("insert", i.Member)
		if math.IsNaN(i.Score) || math.IsInf(i.Score, 0) {
			c.fail("insert", i.Member, errNumber)
		}
	}
	for _, r := range b.Remove {
		c.name("remove", string(r.Index))
		c.name("remove", r.Member)
	}
}

func (c *checker) records(b *Batch) {
	for _, a := range b.Append {
		c.name("append", string(a.Log))
		c.value("append", string(a.Log), a.Value)
	}
	for _, t := range b.Trim {
		c.name("trim", string(t.Log))
	}
	for _, n := range b.Notify {
		c.name("notify", string(n.Topic))
		if len(n.Payload) > MaxPayload {
			c.fail("notify", string(n.Topic), ErrTooLarge)
		}
	}
}
