package storetest

import (
	"fmt"

	"paragents/store"
)

func counterCases() []examCase {
	return []examCase{
		{name: "begins at zero", test: func(x *subject) {
			r := x.commit(store.Batch{Add: []store.Add{{Key: "count/a", Delta: 5}, {Key: "count/b", Delta: -3}, {Key: "count/c"}}})
			equal(x, "counters", r.Counters, []int64{5, -3, 0})
			r = x.commit(store.Batch{Add: []store.Add{{Key: "count/b", Delta: 3}, {Key: "count/a", Delta: 1}}})
			equal(x, "counters", r.Counters, []int64{0, 6})
			x.want("count/a", "6")
			x.want("count/b", "0")
		}},
		{name: "is a document", test: func(x *subject) {
			r := x.commit(store.Batch{Add: []store.Add{{Key: "count/a", Delta: 1}}})
			equal(x, "version", x.get("count/a").Docs[0].Version, r.Version)
			x.commit(store.Batch{Expect: []store.Expect{{Key: "count/a", Version: r.Version}}, Add: []store.Add{{Key: "count/a", Delta: 1}}})
			x.refuse(store.Batch{Expect: []store.Expect{{Key: "count/a", Version: r.Version}}, Add: []store.Add{{Key: "count/a", Delta: 1}}}, store.ErrConflict)
			x.put("count/a", "41")
			equal(x, "counters", x.commit(store.Batch{Add: []store.Add{{Key: "count/a", Delta: 1}}}).Counters, []int64{42})
			x.commit(store.Batch{Delete: []store.Key{"count/a"}})
			equal(x, "counters", x.commit(store.Batch{Add: []store.Add{{Key: "count/a", Delta: 1}}}).Counters, []int64{1})
		}},
		{name: "large", test: func(x *subject) {
			most := store.MaxCounter
			equal(x, "counters", x.commit(store.Batch{Add: []store.Add{{Key: "count/a", Delta: most}, {Key: "count/b", Delta: -most}}}).Counters, []int64{most, -most})
			equal(x, "counters", x.commit(store.Batch{Add: []store.Add{{Key: "count/a", Delta: -1}, {Key: "count/b", Delta: 1}}}).Counters, []int64{most - 1, 1 - most})
			x.want("count/a", fmt.Sprint(most-1))
			x.refuse(store.Batch{Add: []store.Add{{Key: "count/a", Delta: 2}}}, store.ErrTooLarge)
			x.refuse(store.Batch{Add: []store.Add{{Key: "count/b", Delta: -2}}}, store.ErrTooLarge)
			x.want("count/a", fmt.Sprint(most-1))
		}},
		{name: "not a number", test: func(x *subject) {
			for i, text := range []string{"", "x", "1.5", "0x10", " 1", "1e3", "99999999999999999999", "+-1"} {
				key := store.Key(fmt.Sprintf("doc/%d", i))
				x.put(key, text)
				if r, err := x.store.Commit(x.ctx, store.Batch{Add: []store.Add{{Key: key, Delta: 1}}}); err == nil {
					x.Fatalf("counted on %q: %+v", text, r)
				}
				equal(x, "value", string(x.get(key).Docs[0].Value), text)
			}
		}},
	}
}
