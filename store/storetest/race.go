package storetest

import (
	"errors"
	"fmt"
	"strconv"
	"sync"

	"paragents/store"
)

func raceCases() []examCase {
	return []examCase{
		{name: "two handles see one store", test: func(x *subject) {
			other := x.open()
			v := x.put("doc/a", "1")
			doc := getFrom(x, other, "doc/a").Docs[0]
			equal(x, "seen", fmt.Sprint(string(doc.Value), doc.Version), fmt.Sprint("1", v))
			w, err := other.Commit(x.ctx, store.Batch{Expect: []store.Expect{{Key: "doc/a", Version: v}}, Put: []store.Put{{Key: "doc/a", Value: []byte("2")}}})
			if err != nil || w.Version <= v {
				x.Fatalf("commit through the other handle: %+v, %v", w, err)
			}
			x.refuse(store.Batch{Expect: []store.Expect{{Key: "doc/a", Version: v}}}, store.ErrConflict)
			x.want("doc/a", "2")
			if err := other.Close(); err != nil {
				x.Fatal(err)
			}
			x.want("doc/a", "2")
		}},
		{name: "B047 one winner for each version", test: func(x *subject) {
			handles := []store.Store{x.store, x.open()}
			for round := range 25 {
				v := x.put("doc/a", "round")
				var winners sync.Map
				x.together(8, func(i int) {
					value := fmt.Sprint(round, ".", i)
					_, err := handles[i%2].Commit(x.ctx, store.Batch{Expect: []store.Expect{{Key: "doc/a", Version: v}}, Put: []store.Put{{Key: "doc/a", Value: []byte(value)}}})
					switch {
					case err == nil:
						winners.Store(value, true)
					case !errors.Is(err, store.ErrConflict):
						x.Errorf("racer %d: %v", i, err)
					}
				})
				var won []string
				winners.Range(func(k, _ any) bool { won = append(won, k.(string)); return true })
				if len(won) != 1 {
					x.Fatalf("round %d has winners %q", round, won)
				}
				x.want("doc/a", won[0])
			}
		}},
		{name: "B047 no update is lost", test: func(x *subject) {
			handles := []store.Store{x.store, x.open()}
			const workers, each = 6, 15
			x.together(workers, func(i int) {
				s := handles[i%2]
				for done := 0; done < each; {
					snap, err := s.Get(x.ctx, "doc/a")
					if err != nil {
						x.Errorf("worker %d: %v", i, err)
						return
					}
					doc := snap.Docs[0]
					n, _ := strconv.Atoi(string(doc.Value))
					_, err = s.Commit(x.ctx, store.Batch{
						Expect: []store.Expect{{Key: "doc/a", Version: doc.Version}},
						Put:    []store.Put{{Key: "doc/a", Value: []byte(strconv.Itoa(n + 1))}},
						Append: []store.Append{{Log: "log/l", Value: doc.Value}},
						Add:    []store.Add{{Key: "count/n", Delta: 1}},
					})
					switch {
					case err == nil:
						done++
					case !errors.Is(err, store.ErrConflict):
						x.Errorf("worker %d: %v", i, err)
						return
					}
				}
			})
			x.want("doc/a", strconv.Itoa(workers*each))
			x.want("count/n", strconv.Itoa(workers*each))
			for i, r := range x.read("log/l", 0, 0)[1:] {
				equal(x, "record", string(r.Value), strconv.Itoa(i+1))
			}
		}},
		{name: "one batch, committed by many at once", test: func(x *subject) {
			handles := []store.Store{x.store, x.open()}
			b := store.Batch{ID: "b1", Expect: []store.Expect{{Key: "doc/a"}}, Put: []store.Put{{Key: "doc/a", Value: []byte("v")}}, Add: []store.Add{{Key: "count/n", Delta: 1}}}
			results := make([]store.Result, 8)
			x.together(len(results), func(i int) {
				var err error
				if results[i], err = handles[i%2].Commit(x.ctx, b); err != nil {
					x.Errorf("committer %d: %v", i, err)
				}
			})
			firsts := 0
			for _, r := range results {
				if !r.Repeated {
					firsts++
				}
				equal(x, "version", r.Version, results[0].Version)
				equal(x, "counters", r.Counters, []int64{1})
			}
			equal(x, "first ones", firsts, 1)
		}},
		{name: "histories are linearizable", test: func(x *subject) {
			x.linearizable([]store.Store{x.store, x.open()}, 40, nil)
		}},
	}
}

// together runs n functions at once and waits for all.
func (x *subject) together(n int, f func(i int)) {
	x.Helper()
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
	if x.Failed() {
		x.FailNow()
	}
}
