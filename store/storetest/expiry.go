package storetest

import (
	"time"

	"paragents/store"
)

const short = 40 * time.Millisecond

func expiryCases() []examCase {
	passing := func(key store.Key, expires time.Duration) store.Batch {
		return store.Batch{Put: []store.Put{{Key: key, Value: []byte("v"), Expires: expires, Holder: "me"}}}
	}
	return []examCase{
		{name: "on the store's clock", test: func(x *subject) {
			end := x.commit(passing("doc/a", short)).Time.Add(short)
			x.until("the document's end", func() bool {
				snap := x.get("doc/a")
				gone := snap.Docs[0].Version == 0
				if gone != !snap.Time.Before(end) {
					x.Fatalf("at %v, gone is %v, but the document ends at %v", snap.Time, gone, end)
				}
				return gone
			})
			x.want("doc/a", "")
		}},
		{name: "an expired document does not exist", test: func(x *subject) {
			v := x.commit(passing("doc/a", short)).Version
			x.until("the document's end", func() bool { return x.get("doc/a").Docs[0].Version == 0 })
			x.refuse(store.Batch{Expect: []store.Expect{{Key: "doc/a", Version: v}}}, store.ErrConflict)
			x.commit(store.Batch{Expect: []store.Expect{{Key: "doc/a"}}, Put: []store.Put{{Key: "doc/a", Value: []byte("new")}}})
			doc := x.want("doc/a", "new")
			equal(x, "holder", doc.Holder, "")
		}},
		{name: "less than a millisecond is not for ever", test: func(x *subject) {
			x.commit(passing("doc/a", 1))
			x.until("the document's end", func() bool { return x.get("doc/a").Docs[0].Version == 0 })
		}},
		{name: "a put replaces the expiry", test: func(x *subject) {
			x.commit(passing("doc/never", short))
			x.commit(passing("doc/later", short))
			end := x.commit(passing("doc/end", short)).Time.Add(short)
			x.commit(passing("doc/never", 0))
			x.commit(passing("doc/later", time.Hour))
			x.until("the first expiry", func() bool { return x.get().Time.After(end) })
			x.want("doc/end", "")
			x.want("doc/never", "v")
			x.want("doc/later", "v")
		}},
		{name: "a put after a delete has none", test: func(x *subject) {
			end := x.commit(passing("doc/a", short)).Time.Add(short)
			x.commit(store.Batch{Delete: []store.Key{"doc/a"}})
			x.put("doc/a", "stays")
			x.until("the first expiry", func() bool { return x.get().Time.After(end) })
			x.want("doc/a", "stays")
		}},
		{name: "a counter's expiry is set when it is created", test: func(x *subject) {
			add := store.Batch{Add: []store.Add{{Key: "count/n", Delta: 2, Expires: short}}}
			end := x.commit(add).Time.Add(short)
			for {
				r := x.commit(add)
				if !r.Time.Before(end) {
					equal(x, "the counter after its end", r.Counters[0], 2)
					break
				}
				if r.Counters[0] <= 2 {
					x.Fatalf("counter began again at %v, it ends at %v", r.Time, end)
				}
			}
		}},
		{name: "time goes on", test: func(x *subject) {
			first := x.get().Time
			r := x.commit(passing("doc/a", 0))
			last := x.scan("idx/none", store.Range{}).Time
			if r.Time.Before(first) || last.Before(r.Time) {
				x.Fatalf("times %v, %v, %v", first, r.Time, last)
			}
			equal(x, "milliseconds", r.Time.Nanosecond()%1e6, 0)
		}},
	}
}
