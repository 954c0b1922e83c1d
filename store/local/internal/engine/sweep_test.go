package engine

import (
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"paragents/store"
)

func TestWhatExpiredIsCollected(t *testing.T) {
	const documents = 3000
	fill := func(t *testing.T, e *Engine) {
		for i := range documents / 100 {
			var b store.Batch
			for j := range 100 {
				b.Put = append(b.Put, store.Put{Key: store.Key(fmt.Sprint("event/", i, ".", j)), Value: []byte("v"), Expires: time.Hour, Holder: "me"})
			}
			b.ID = fmt.Sprint("batch", i)
			commit(t, e, b)
		}
		commit(t, e, put("doc/stays", "v"))
	}
	for name, collect := range map[string]func(t *testing.T, e *Engine){
		"in passing": func(t *testing.T, e *Engine) {
			for range documents/sweepFew + 1 {
				commit(t, e, put("doc/stays", "v"))
			}
		},
		"by the idle writer": func(t *testing.T, e *Engine) {
			time.Sleep(2 * sweepEvery)
			synctest.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			synctest.Test(t, func(t *testing.T) {
				e := open(t, config(path))
				fill(t, e)
				if n := sizes(t, e); n["docs"] != documents+1 || n["expiry"] != documents || n["leases"] != documents || n["batches"] != documents/100 {
					t.Fatalf("before their time: %v", n)
				}
				time.Sleep(time.Hour - time.Second) // the writer looks, and nothing is due but the batch ids
				synctest.Wait()
				if n := sizes(t, e); n["docs"] != documents+1 || n["batches"] != 0 || n["ages"] != 0 {
					t.Fatalf("just before their time: %v", n)
				}
				time.Sleep(2 * time.Second)
				collect(t, e)
				if n := sizes(t, e); n["docs"] != 1 || n["expiry"]+n["leases"] != 0 {
					t.Fatalf("after their time: %v", n)
				}
			})
		})
	}
}

func TestABatchIsRememberedForItsTime(t *testing.T) {
	path := newPath(t)
	synctest.Test(t, func(t *testing.T) {
		e := open(t, config(path))
		b := store.Batch{ID: "b1", Add: []store.Add{{Key: "count/n", Delta: 1}}}
		commit(t, e, b)
		time.Sleep(store.BatchKept)
		commit(t, e, put("doc/a", "v"))
		if r := commit(t, e, b); !r.Repeated || r.Counters[0] != 1 {
			t.Fatalf("after %v: %+v", store.BatchKept, r)
		}
	})
}

func TestAFileInUseDoesNotGrow(t *testing.T) {
	now := time.Now()
	c := config(newPath(t))
	c.Now = func() time.Time { return now }
	e := open(t, c)
	size := func() int64 {
		info, err := os.Stat(c.Path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	work := func() {
		for i := range 400 { // what a heartbeat, a claim, an answer and a bounded log leave
			now = now.Add(5 * time.Second)
			commit(t, e, store.Batch{
				ID:     fmt.Sprint(now.UnixNano()),
				Put:    []store.Put{{Key: "replica/r", Value: make([]byte, 200), Expires: 15 * time.Second, Holder: "me"}, {Key: store.Key(fmt.Sprint("event/", now.UnixNano())), Expires: time.Minute}},
				Insert: []store.Insert{{Index: "index/ready", Member: fmt.Sprint(i % 7), FromNow: true}},
				Append: []store.Append{{Log: "log/l", Value: make([]byte, 1000)}},
			})
			if i%20 == 0 {
				commit(t, e, store.Batch{Trim: []store.Trim{{Log: "log/l", Before: 1 << 62}}})
			}
		}
	}
	work()
	before := size()
	for range 3 {
		work()
	}
	if after := size(); after != before {
		t.Errorf("the file grew from %d to %d bytes", before, after)
	}
}
