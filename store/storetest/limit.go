package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"paragents/store"
)

func limitCases() []examCase {
	large := bytes.Repeat([]byte("x"), store.MaxValue)
	put := func(n int, value []byte) store.Batch {
		var b store.Batch
		for i := range n {
			b.Put = append(b.Put, store.Put{Key: store.Key(fmt.Sprintf("doc/%d", i)), Value: value})
		}
		return b
	}
	name := strings.Repeat("n", store.MaxName)
	return []examCase{
		{name: "values", test: func(x *subject) {
			b := put(3, large)
			b.Append = []store.Append{{Log: "log/l", Value: large}}
			x.commit(b)
			equal(x, "value", bytes.Equal(x.get("doc/2").Docs[0].Value, large), true)
			equal(x, "record", bytes.Equal(x.read("log/l", 0, 0)[0].Value, large), true)
			over := append([]byte("x"), large...)
			x.refuse(store.Batch{Put: []store.Put{{Key: "doc/a", Value: over}}}, store.ErrTooLarge)
			x.refuse(store.Batch{Put: []store.Put{{Key: "doc/a"}}, Append: []store.Append{{Log: "log/l", Value: over}}}, store.ErrTooLarge)
			b.Put = append(b.Put, store.Put{Key: "doc/a", Value: []byte("x")})
			x.refuse(b, store.ErrTooLarge)
			x.want("doc/a", "")
			equal(x, "records", len(x.read("log/l", 0, 0)), 1)
		}},
		{name: "operations", test: func(x *subject) {
			x.commit(put(store.MaxOps, []byte("v")))
			keys := make([]store.Key, store.MaxOps)
			for i := range keys {
				keys[i] = store.Key(fmt.Sprintf("doc/%d", i))
			}
			var expect []store.Expect
			for i, doc := range x.get(keys...).Docs {
				if string(doc.Value) != "v" {
					x.Fatalf("document %d is %+v", i, doc)
				}
				expect = append(expect, store.Expect{Key: keys[i], Version: doc.Version})
			}
			x.commit(store.Batch{Expect: expect, Delete: keys})
			x.want(keys[store.MaxOps-1], "")
			x.refuse(put(store.MaxOps+1, nil), store.ErrTooLarge)
			b := put(store.MaxOps, nil)
			b.Remove = []store.Remove{{Index: "idx/i", Member: "m"}}
			x.refuse(b, store.ErrTooLarge)
			if _, err := x.store.Get(x.ctx, append(keys, "doc/more")...); !errors.Is(err, store.ErrTooLarge) {
				x.Fatalf("get of too many: %v", err)
			}
		}},
		{name: "names", test: func(x *subject) {
			x.commit(store.Batch{
				ID:     name,
				Put:    []store.Put{{Key: store.Key(name), Holder: name, Value: []byte("v")}},
				Insert: []store.Insert{{Index: store.Index(name), Member: name}},
				Append: []store.Append{{Log: store.Log(name)}},
				Notify: []store.Notify{{Topic: store.Topic(name), Payload: make([]byte, store.MaxPayload)}},
			})
			equal(x, "holder", x.want(store.Key(name), "v").Holder, name)
			equal(x, "entries", x.scan(store.Index(name), store.Range{}).Entries, []store.Entry{{Member: name}})
			for _, b := range []store.Batch{
				{ID: name + "n"},
				{Put: []store.Put{{Key: store.Key(name + "n")}}},
				{Put: []store.Put{{Key: "doc/a", Holder: name + "n"}}},
				{Insert: []store.Insert{{Index: index, Member: name + "n"}}},
				{Notify: []store.Notify{{Topic: bell, Payload: make([]byte, store.MaxPayload+1)}}},
			} {
				x.refuse(b, store.ErrTooLarge)
			}
		}},
		{name: "badly formed batches", test: func(x *subject) {
			for _, b := range []store.Batch{
				{Put: []store.Put{{Key: "doc/a"}, {Key: "doc/a"}}},
				{Put: []store.Put{{Key: "doc/a"}}, Delete: []store.Key{"doc/a"}},
				{Put: []store.Put{{Key: "doc/a"}}, Add: []store.Add{{Key: "doc/a"}}},
				{Expect: []store.Expect{{Key: "doc/a"}, {Key: "doc/a"}}, Put: []store.Put{{Key: "doc/a"}}},
				{Put: []store.Put{{Key: ""}, {Key: "doc/a"}}},
				{Put: []store.Put{{Key: "doc/a", Expires: -1}}},
				{Put: []store.Put{{Key: "doc/a", Expires: store.MaxExpires + 1}}},
			} {
				if r, err := x.store.Commit(x.ctx, b); err == nil || errors.Is(err, store.ErrUnknown) {
					x.Fatalf("commit of %+v gave %+v, %v", b, r, err)
				}
				x.want("doc/a", "")
			}
		}},
		{name: "pages", test: func(x *subject) {
			var b store.Batch
			for i := range store.MaxScan + 5 {
				b.Insert = append(b.Insert, store.Insert{Index: index, Member: fmt.Sprint(i), Score: float64(i)})
				b.Append = append(b.Append, store.Append{Log: "log/l", Value: fmt.Append(nil, i)})
			}
			x.commit(b)
			for _, limit := range []int{0, store.MaxScan, store.MaxScan + 3} {
				p := x.scan(index, store.Range{Limit: limit})
				equal(x, "entries", len(p.Entries), store.MaxScan)
				equal(x, "total", p.Total, store.MaxScan+5)
				equal(x, "records", len(x.read("log/l", 0, limit)), store.MaxScan)
			}
		}},
		{name: "contexts that ended", test: func(x *subject) {
			ended, cancel := context.WithCancel(x.ctx)
			cancel()
			late, cancelLate := context.WithTimeout(x.ctx, time.Nanosecond)
			defer cancelLate()
			<-late.Done()
			for _, ctx := range []context.Context{ended, late} {
				for method, err := range x.callAll(ctx) {
					if !errors.Is(err, ctx.Err()) {
						x.Fatalf("%s in an ended context: %v", method, err)
					}
				}
			}
			x.want("doc/ended", "")
		}},
		{name: "a closed store", test: func(x *subject) {
			if err := x.store.Close(); err != nil {
				x.Fatal(err)
			}
			for method, err := range x.callAll(x.ctx) {
				if !errors.Is(err, store.ErrClosed) {
					x.Fatalf("%s of a closed store: %v", method, err)
				}
			}
			_ = x.store.Close()
			x.store = x.open()
			x.want("doc/ended", "")
		}},
	}
}

// callAll calls each method once and returns their errors.
func (x *subject) callAll(ctx context.Context) map[string]error {
	errs := make(map[string]error)
	_, errs["get"] = x.store.Get(ctx, "doc/ended")
	_, errs["commit"] = x.store.Commit(ctx, store.Batch{Put: []store.Put{{Key: "doc/ended", Value: []byte("v")}}})
	_, errs["scan"] = x.store.Scan(ctx, index, store.Range{})
	_, errs["read"] = x.store.Read(ctx, "log/l", 0, 0)
	_, errs["subscribe"] = x.store.Subscribe(ctx, bell)
	return errs
}
