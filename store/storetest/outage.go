package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paragents/store"
)

func outageCases() []examCase {
	return []examCase{
		{name: "what was committed survives a restart", needs: canRestart, test: func(x *subject) {
			r := x.commit(store.Batch{
				Put:    []store.Put{{Key: "doc/a", Value: []byte("v"), Holder: "me"}},
				Insert: []store.Insert{{Index: index, Member: "m", Score: 1.5}},
				Add:    []store.Add{{Key: "count/n", Delta: 4}},
				Append: []store.Append{{Log: "log/l", Value: []byte("r")}},
			})
			x.backing.(Restarter).Restart(x.T)
			doc := x.want("doc/a", "v")
			equal(x, "document", fmt.Sprint(doc.Version, doc.Holder), fmt.Sprint(r.Version, "me"))
			x.want("count/n", "4")
			equal(x, "index", x.scan(index, store.Range{}).Entries, []store.Entry{{Member: "m", Score: 1.5}})
			equal(x, "log", x.read("log/l", 0, 0), []store.Record{{Position: r.Positions[0], Value: []byte("r")}})
			if again := x.commit(store.Batch{Append: []store.Append{{Log: "log/l"}}}); again.Version <= r.Version || again.Positions[0] <= r.Positions[0] {
				x.Fatalf("after the restart %+v, before it %+v", again, r)
			}
		}},
		{name: "an expiry goes on over a restart", needs: canRestart, test: func(x *subject) {
			end := x.commit(store.Batch{Put: []store.Put{{Key: "doc/a", Value: []byte("v"), Expires: short}}}).Time.Add(short)
			x.backing.(Restarter).Restart(x.T)
			x.until("the document's end", func() bool {
				snap := x.get("doc/a")
				return snap.Docs[0].Version == 0 && !snap.Time.Before(end)
			})
		}},
		{name: "a commit waits for the store to come back", needs: canGoAway, test: func(x *subject) {
			back := x.backing.(Outage).Away(x.T)
			x.unreachable()
			b := store.Batch{ID: "b1", Add: []store.Add{{Key: "count/n", Delta: 1}}}
			type outcome struct {
				result store.Result
				err    error
			}
			done := make(chan outcome, 1)
			go func() {
				r, err := x.store.Commit(x.ctx, b)
				done <- outcome{r, err}
			}()
			x.unreachable()
			back()
			got, _ := within(x, "the commit", done)
			if got.err != nil && !errors.Is(got.err, store.ErrUnknown) {
				x.Fatalf("commit: %v", got.err)
			}
			again := x.commit(b)
			equal(x, "counters", again.Counters, []int64{1})
			if got.err == nil {
				equal(x, "repeat", fmt.Sprint(again.Repeated, again.Version), fmt.Sprint(true, got.result.Version))
			}
			x.want("count/n", "1")
		}},
		{name: "calls end with their context while it is away", needs: canGoAway, test: func(x *subject) {
			x.get()
			back := x.backing.(Outage).Away(x.T)
			defer back()
			for name, end := range map[string]func(context.Context) (context.Context, context.CancelFunc){
				"cancelled": func(ctx context.Context) (context.Context, context.CancelFunc) {
					ctx, cancel := context.WithCancel(ctx)
					time.AfterFunc(50*time.Millisecond, cancel)
					return ctx, cancel
				},
				"deadline": func(ctx context.Context) (context.Context, context.CancelFunc) {
					return context.WithTimeout(ctx, 50*time.Millisecond)
				},
			} {
				calls := map[string]func(context.Context) error{
					"get":       func(ctx context.Context) error { _, err := x.store.Get(ctx, "doc/a"); return err },
					"scan":      func(ctx context.Context) error { _, err := x.store.Scan(ctx, index, store.Range{}); return err },
					"read":      func(ctx context.Context) error { _, err := x.store.Read(ctx, "log/l", 0, 0); return err },
					"commit":    func(ctx context.Context) error { _, err := x.store.Commit(ctx, store.Batch{}); return err },
					"subscribe": func(ctx context.Context) error { _, err := x.store.Subscribe(ctx, "bell/new"); return err },
				}
				for call, f := range calls {
					ctx, cancel := end(x.ctx)
					begin := time.Now()
					err := f(ctx)
					cancel()
					if err == nil || time.Since(begin) > 2*time.Second {
						x.Fatalf("%s, context %s: error %v after %v", call, name, err, time.Since(begin))
					}
				}
			}
		}},
		{name: "each batch once over restarts", needs: canRestart, test: func(x *subject) {
			handles := []store.Store{x.store, x.open()}
			const workers, each = 4, 40
			progress := make(chan struct{}, workers*each)
			restarted := make(chan struct{})
			go func() {
				defer close(restarted)
				for range 2 {
					for range 20 {
						<-progress
					}
					x.backing.(Restarter).Restart(x.T)
				}
			}()
			x.together(workers, func(i int) {
				for n := range each {
					b := store.Batch{
						ID:     fmt.Sprintf("%d.%d", i, n),
						Add:    []store.Add{{Key: "count/n", Delta: 1}},
						Append: []store.Append{{Log: store.Log(fmt.Sprintf("log/%d", i)), Value: fmt.Append(nil, n)}},
					}
					_, err := handles[i%2].Commit(x.ctx, b)
					for err != nil && x.ctx.Err() == nil {
						_, err = handles[i%2].Commit(x.ctx, b)
					}
					if err != nil {
						x.Errorf("worker %d: %v", i, err)
					}
					progress <- struct{}{}
				}
			})
			within(x, "the restarts", restarted)
			x.want("count/n", fmt.Sprint(workers*each))
			for i := range workers {
				records := x.read(store.Log(fmt.Sprintf("log/%d", i)), 0, 0)
				equal(x, "records", len(records), each)
				for n, r := range records {
					equal(x, "record", string(r.Value), fmt.Sprint(n))
				}
			}
		}},
		{name: "histories over restarts are linearizable", needs: canRestart, test: func(x *subject) {
			x.linearizable([]store.Store{x.store, x.open()}, 30, func() { x.backing.(Restarter).Restart(x.T) })
		}},
	}
}

// unreachable proves that the store is away.
func (x *subject) unreachable() {
	x.Helper()
	ctx, cancel := context.WithTimeout(x.ctx, 100*time.Millisecond)
	defer cancel()
	if snap, err := x.store.Get(ctx); err == nil {
		x.Fatalf("the store is away and answers %+v", snap)
	}
}
