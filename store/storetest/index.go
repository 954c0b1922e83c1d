package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"paragents/store"
)

const index store.Index = "idx/i"

func indexCases() []examCase {
	return []examCase{
		{name: "ordered by score, then by member", test: func(x *subject) {
			insert(x, e("b", 1), e("a", 2), e("c", 1), e("a\x00", 1), e("é", 1), e("B", 1), e("z", -1.5), e("_", 1))
			equal(x, "entries", x.scan(index, store.Range{}).Entries,
				[]store.Entry{e("z", -1.5), e("B", 1), e("_", 1), e("a\x00", 1), e("b", 1), e("c", 1), e("é", 1), e("a", 2)})
			after := e("Z", 1)
			equal(x, "bytes are compared", x.scan(index, store.Range{After: &after, Limit: 2}).Entries, []store.Entry{e("_", 1), e("a\x00", 1)})
			after = e("a", 1)
			equal(x, "the shorter comes first", x.scan(index, store.Range{After: &after, Limit: 1}).Entries, []store.Entry{e("a\x00", 1)})
		}},
		{name: "empty", test: func(x *subject) {
			p := x.scan("idx/none", store.Range{After: &store.Entry{Member: "x"}})
			if len(p.Entries) != 0 || p.Total != 0 || p.Time.IsZero() {
				x.Fatalf("page of an empty index: %+v", p)
			}
		}},
		{name: "moving and removing", test: func(x *subject) {
			insert(x, e("a", 1), e("b", 2))
			insert(x, e("a", 3))
			equal(x, "entries", x.scan(index, store.Range{}).Entries, []store.Entry{e("b", 2), e("a", 3)})
			x.commit(store.Batch{Remove: []store.Remove{{Index: index, Member: "b"}, {Index: "idx/other", Member: "a"}}})
			p := x.scan(index, store.Range{})
			equal(x, "entries", p.Entries, []store.Entry{e("a", 3)})
			equal(x, "total", p.Total, 1)
			x.commit(store.Batch{Insert: []store.Insert{{Index: index, Member: "c"}}, Remove: []store.Remove{{Index: index, Member: "c"}, {Index: index, Member: "a"}}})
			equal(x, "total", x.scan(index, store.Range{}).Total, 0)
		}},
		{name: "scores are kept exactly", test: func(x *subject) {
			scores := []float64{-1e300, -0.1, 0, 1.0 / 3, 1790000000123, 1<<53 - 1, 1e300}
			var want []store.Entry
			for i, s := range scores {
				want = append(want, e(fmt.Sprint(i), s))
			}
			insert(x, want...)
			equal(x, "entries", x.scan(index, store.Range{}).Entries, want)
		}},
		{name: "total, limit, after", test: func(x *subject) {
			insert(x, e("a", 1), e("b", 1), e("d", 1), e("e", 2), e("f", 3))
			for _, c := range []struct {
				name string
				r    store.Range
				want string
			}{
				{"all", store.Range{}, "abdef"},
				{"limit", store.Range{Limit: 2}, "ab"},
				{"after a tie", store.Range{After: &store.Entry{Member: "a", Score: 1}}, "bdef"},
				{"after one that is gone, among ties", store.Range{After: &store.Entry{Member: "c", Score: 1}}, "def"},
				{"after one that is gone, before the ties", store.Range{After: &store.Entry{Member: "A", Score: 1}}, "abdef"},
				{"after one that is gone, behind the ties", store.Range{After: &store.Entry{Member: "x", Score: 1}}, "ef"},
				{"after a score that is gone", store.Range{After: &store.Entry{Member: "a", Score: 2.5}}, "f"},
				{"after one that moved", store.Range{After: &store.Entry{Member: "f", Score: 1}}, "ef"},
				{"after the last", store.Range{After: &store.Entry{Member: "f", Score: 3}}, ""},
				{"before the first", store.Range{After: &store.Entry{Member: "", Score: 0}}, "abdef"},
				{"after and limit", store.Range{After: &store.Entry{Member: "b", Score: 1}, Limit: 2}, "de"},
				{"reverse", store.Range{Reverse: true}, "fedba"},
				{"reverse, limit", store.Range{Reverse: true, Limit: 2}, "fe"},
				{"reverse after", store.Range{Reverse: true, After: &store.Entry{Member: "d", Score: 1}}, "ba"},
				{"reverse after one that is gone", store.Range{Reverse: true, After: &store.Entry{Member: "c", Score: 1}}, "ba"},
				{"reverse after the first", store.Range{Reverse: true, After: &store.Entry{Member: "a", Score: 1}}, ""},
				{"reverse after a score that is gone", store.Range{Reverse: true, After: &store.Entry{Member: "z", Score: 2.5}, Limit: 1}, "e"},
			} {
				p := x.scan(index, c.r)
				equal(x, c.name, members(p.Entries), c.want)
				equal(x, c.name+": total", p.Total, 5)
			}
		}},
		{name: "due", test: func(x *subject) {
			r := x.commit(store.Batch{Insert: []store.Insert{
				{Index: index, Member: "now", FromNow: true},
				{Index: index, Member: "soon", Score: 40, FromNow: true},
				{Index: index, Member: "late", Score: 3.6e6, FromNow: true},
				{Index: index, Member: "past", Score: -1000, FromNow: true},
			}})
			now := float64(r.Time.UnixMilli())
			equal(x, "entries", x.scan(index, store.Range{}).Entries, []store.Entry{e("past", now-1000), e("now", now), e("soon", now+40), e("late", now+3.6e6)})
			x.until("the entry to be due", func() bool {
				p := x.scan(index, store.Range{Due: true})
				equal(x, "total", p.Total, 4)
				due := float64(p.Time.UnixMilli()) >= now+40
				equal(x, "due", len(p.Entries), map[bool]int{false: 2, true: 3}[due])
				return due
			})
			equal(x, "due, reverse", x.scan(index, store.Range{Due: true, Reverse: true, Limit: 1}).Entries, []store.Entry{e("soon", now+40)})
			equal(x, "due, after", x.scan(index, store.Range{Due: true, After: &store.Entry{Member: "now", Score: now}}).Entries, []store.Entry{e("soon", now+40)})
			equal(x, "due, reverse, after what is not due", len(x.scan(index, store.Range{Due: true, Reverse: true, After: &store.Entry{Member: "zz", Score: now + 4e6}}).Entries), 3)
		}},
		{name: "paging against a model", test: func(x *subject) {
			seed := rand.Uint64()
			x.Logf("seed %d", seed)
			rnd := rand.New(rand.NewPCG(seed, 0))
			var all []store.Entry
			for i := range 300 {
				all = append(all, e(fmt.Sprintf("%c%d", 'a'+rnd.IntN(3), i), float64(rnd.IntN(4))))
			}
			insert(x, all...)
			slices.SortFunc(all, func(a, b store.Entry) int {
				if a.Score != b.Score {
					return int(a.Score - b.Score)
				}
				return strings.Compare(a.Member, b.Member)
			})
			for _, reverse := range []bool{false, true} {
				var got []store.Entry
				r := store.Range{Limit: 1 + rnd.IntN(40), Reverse: reverse}
				for {
					p := x.scan(index, r)
					if len(p.Entries) == 0 {
						break
					}
					got = append(got, p.Entries...)
					r.After = &got[len(got)-1]
				}
				equal(x, fmt.Sprintf("reverse %v, limit %d", reverse, r.Limit), got, all)
				slices.Reverse(all)
			}
		}},
	}
}

func e(member string, score float64) store.Entry { return store.Entry{Member: member, Score: score} }

func insert(x *subject, entries ...store.Entry) {
	x.Helper()
	var b store.Batch
	for _, e := range entries {
		b.Insert = append(b.Insert, store.Insert{Index: index, Member: e.Member, Score: e.Score})
	}
	x.commit(b)
}

func members(entries []store.Entry) string {
	var s strings.Builder
	for _, e := range entries {
		s.WriteString(e.Member)
	}
	return s.String()
}
