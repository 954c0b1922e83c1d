package storetest

import (
	"time"

	"paragents/store"
)

func repeatCases() []examCase {
	batch := func(id string) store.Batch {
		return store.Batch{
			ID:     id,
			Expect: []store.Expect{{Key: "doc/a"}},
			Put:    []store.Put{{Key: "doc/a", Value: []byte("first")}},
			Insert: []store.Insert{{Index: "idx/i", Member: "m", FromNow: true}},
			Add:    []store.Add{{Key: "count/n", Delta: 1}, {Key: "count/m", Delta: 7}},
			Append: []store.Append{{Log: "log/l", Value: []byte("r1")}, {Log: "log/l", Value: []byte("r2")}},
		}
	}
	same := func(x *subject, first, second store.Result) {
		x.Helper()
		if first.Repeated || !second.Repeated {
			x.Fatalf("repeated: first %v, second %v", first.Repeated, second.Repeated)
		}
		second.Repeated = false
		equal(x, "time", second.Time.UnixMilli(), first.Time.UnixMilli())
		second.Time = first.Time
		equal(x, "result of the repeat", second, first)
	}
	once := func(x *subject) {
		x.Helper()
		x.want("count/n", "1")
		x.want("count/m", "7")
		equal(x, "records", len(x.read("log/l", 0, 0)), 2)
	}
	return []examCase{
		{name: "gives the first result", test: func(x *subject) {
			first := x.commit(batch("b1"))
			same(x, first, x.commit(batch("b1")))
			x.want("doc/a", "first")
			once(x)
		}},
		{name: "after other commits", test: func(x *subject) {
			first := x.commit(batch("b1"))
			x.put("doc/a", "other")
			x.commit(store.Batch{Delete: []store.Key{"count/x"}, Remove: []store.Remove{{Index: "idx/i", Member: "m"}}})
			same(x, first, x.commit(batch("b1")))
			x.want("doc/a", "other")
			equal(x, "index", x.scan("idx/i", store.Range{}).Total, 0)
			once(x)
		}},
		{name: "before fence and expectations", test: func(x *subject) {
			fence := store.Fence{Key: "claim/a", Holder: "me"}
			fence.Version = x.commit(store.Batch{Put: []store.Put{{Key: "claim/a", Holder: "me", Expires: time.Hour}}}).Version
			b := batch("b1")
			b.Fence = &fence
			first := x.commit(b)
			x.commit(store.Batch{Delete: []store.Key{"claim/a"}})
			same(x, first, x.commit(b))
			b.ID = "b2"
			x.refuse(b, store.ErrFenced)
		}},
		{name: "through another handle", test: func(x *subject) {
			first := x.commit(batch("b1"))
			x.store = x.open()
			same(x, first, x.commit(batch("b1")))
			once(x)
		}},
		{name: "after a restart", needs: canRestart, test: func(x *subject) {
			first := x.commit(batch("b1"))
			x.backing.(Restarter).Restart(x.T)
			same(x, first, x.commit(batch("b1")))
			once(x)
		}},
		{name: "a refused batch is decided again", test: func(x *subject) {
			v := x.put("doc/a", "in the way")
			x.refuse(batch("b1"), store.ErrConflict)
			x.commit(store.Batch{Expect: []store.Expect{{Key: "doc/a", Version: v}}, Delete: []store.Key{"doc/a"}})
			first := x.commit(batch("b1"))
			same(x, first, x.commit(batch("b1")))
			once(x)
		}},
		{name: "without an id nothing is a repeat", test: func(x *subject) {
			b := store.Batch{Add: []store.Add{{Key: "count/n", Delta: 1}}}
			for i := range int64(3) {
				r := x.commit(b)
				equal(x, "repeated", r.Repeated, false)
				equal(x, "counter", r.Counters[0], i+1)
			}
		}},
		{name: "durable", test: func(x *subject) {
			b := batch("b1")
			b.Durable = true
			first := x.commit(b)
			same(x, first, x.commit(b))
			once(x)
		}},
	}
}

func canRestart(b Backing) bool {
	_, can := b.(Restarter)
	return can
}

func canGoAway(b Backing) bool {
	_, can := b.(Outage)
	return can
}
