// Package storetest is the exam of every store: what store.Store promises, and that two implementations cannot be told apart.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"paragents/store"
)

// limit ends every wait of the exam.
const limit = 30 * time.Second

// Backing is the data that one subtest works on; it is empty when the subtest begins.
type Backing interface {
	// Open returns a further handle on the same data. The exam closes it.
	Open(t *testing.T) store.Store
}

// Restarter is a Backing with something behind it that can die: Restart kills it at once and starts it again with what it had kept.
// It returns when it was started; handles reach it again by themselves.
type Restarter interface {
	Restart(t *testing.T)
}

// Outage is a Backing that can go away and come back with all its data: between Away and back nothing answers.
type Outage interface {
	Away(t *testing.T) (back func())
}

// Owned is a Backing that one process owns: when the last handle is closed and one is opened again, documents with a Holder and an
// expiry are gone.
type Owned interface {
	Owned()
}

// Run examines a store. open is called once a subtest, and gives each its own, empty data.
func Run(t *testing.T, open func(t *testing.T) Backing) {
	t.Helper()
	topics := []struct {
		name  string
		cases []examCase
	}{
		{"version", versionCases()},
		{"fence", fenceCases()},
		{"expiry", expiryCases()},
		{"counter", counterCases()},
		{"index", indexCases()},
		{"log", logCases()},
		{"repeat", repeatCases()},
		{"notify", notifyCases()},
		{"limit", limitCases()},
		{"race", raceCases()},
		{"outage", outageCases()},
	}
	for _, topic := range topics {
		t.Run(topic.name, func(t *testing.T) {
			for _, c := range topic.cases {
				t.Run(c.name, func(t *testing.T) {
					backing := open(t)
					if c.needs != nil && !c.needs(backing) {
						t.Logf("this store has nothing behind it that could do that")
						return
					}
					c.test(newSubject(t, backing))
				})
			}
		})
	}
}

// examCase is one subtest. needs says whether a backing can be asked that at all; nil: each can.
type examCase struct {
	name  string
	test  func(*subject)
	needs func(Backing) bool
}

// subject is what a subtest works on: a backing, one open handle, and a context that ends with the exam's limit.
type subject struct {
	*testing.T
	ctx     context.Context
	backing Backing
	store   store.Store
}

func newSubject(t *testing.T, backing Backing) *subject {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	x := &subject{T: t, ctx: ctx, backing: backing}
	x.store = x.open()
	return x
}

// open gives a further handle, closed at the end of the subtest.
func (x *subject) open() store.Store {
	x.Helper()
	s := x.backing.Open(x.T)
	x.Cleanup(func() { _ = s.Close() })
	return s
}

// commit applies a batch that must be applied.
func (x *subject) commit(b store.Batch) store.Result {
	x.Helper()
	r, err := x.store.Commit(x.ctx, b)
	if err != nil {
		x.Fatalf("commit: %v", err)
	}
	return r
}

// refuse commits a batch that must be refused for the reason.
func (x *subject) refuse(b store.Batch, reason error) {
	x.Helper()
	r, err := x.store.Commit(x.ctx, b)
	if !errors.Is(err, reason) {
		x.Fatalf("commit gave %+v, %v; want error %q", r, err, reason)
	}
}

// put writes a document and returns its version.
func (x *subject) put(key store.Key, value string) int64 {
	x.Helper()
	return x.commit(store.Batch{Put: []store.Put{{Key: key, Value: []byte(value)}}}).Version
}

func (x *subject) get(keys ...store.Key) store.Snapshot {
	x.Helper()
	return getFrom(x, x.store, keys...)
}

func getFrom(x *subject, s store.Store, keys ...store.Key) store.Snapshot {
	x.Helper()
	snap, err := s.Get(x.ctx, keys...)
	if err != nil {
		x.Fatalf("get %q: %v", keys, err)
	}
	if len(snap.Docs) != len(keys) {
		x.Fatalf("get %q: %d documents", keys, len(snap.Docs))
	}
	return snap
}

// want compares a document's value; "" means that it must not exist.
func (x *subject) want(key store.Key, value string) store.Doc {
	x.Helper()
	doc := x.get(key).Docs[0]
	if got := string(doc.Value); got != value || (value == "" && (doc.Version != 0 || doc.Holder != "")) {
		x.Fatalf("document %q is %q (version %d, holder %q), want %q", key, got, doc.Version, doc.Holder, value)
	}
	return doc
}

func (x *subject) scan(index store.Index, r store.Range) store.Page {
	x.Helper()
	p, err := x.store.Scan(x.ctx, index, r)
	if err != nil {
		x.Fatalf("scan %q: %v", index, err)
	}
	return p
}

func (x *subject) read(log store.Log, from int64, limit int) []store.Record {
	x.Helper()
	rs, err := x.store.Read(x.ctx, log, from, limit)
	if err != nil {
		x.Fatalf("read %q: %v", log, err)
	}
	return rs
}

// until asks again and again until done says so; the store's own answers are the only clock.
func (x *subject) until(what string, done func() bool) {
	x.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-x.ctx.Done():
			x.Fatalf("waited %v in vain for: %s", limit, what)
		case <-tick.C:
		}
	}
}

// within returns what a channel gives, or fails after the exam's limit.
func within[T any](x *subject, what string, ch <-chan T) (T, bool) {
	x.Helper()
	select {
	case v, ok := <-ch:
		return v, ok
	case <-x.ctx.Done():
		x.Fatalf("waited %v in vain for: %s", limit, what)
	}
	var none T
	return none, false
}

func equal[T any](x *subject, what string, got, want T) {
	x.Helper()
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
		x.Fatalf("%s: got %s, want %s", what, g, w)
	}
}
