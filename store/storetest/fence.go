package storetest

import (
	"time"

	"paragents/store"
)

func fenceCases() []examCase {
	write := []store.Put{{Key: "doc/work", Value: []byte("done")}}
	claim := func(x *subject, holder string, expires time.Duration) int64 {
		x.Helper()
		return x.commit(store.Batch{Put: []store.Put{{Key: "claim/a", Value: []byte("c"), Holder: holder, Expires: expires}}}).Version
	}
	return []examCase{
		{name: "B079 version and holder are both compared", test: func(x *subject) {
			v := claim(x, "me", 0)
			for _, f := range []store.Fence{
				{Key: "claim/a", Version: v, Holder: "you"},
				{Key: "claim/a", Version: v, Holder: ""},
				{Key: "claim/a", Version: v + 1, Holder: "me"},
				{Key: "claim/a", Version: v - 1, Holder: "me"},
				{Key: "claim/a", Version: 0, Holder: "me"},
				{Key: "claim/none", Version: v, Holder: "me"},
			} {
				x.refuse(store.Batch{Fence: &f, Put: write}, store.ErrFenced)
			}
			x.want("doc/work", "")
			x.commit(store.Batch{Fence: &store.Fence{Key: "claim/a", Version: v, Holder: "me"}, Put: write})
			x.want("doc/work", "done")
		}},
		{name: "B079 a fence without a document never holds", test: func(x *subject) {
			x.refuse(store.Batch{Fence: &store.Fence{Key: "claim/none"}, Put: write}, store.ErrFenced)
		}},
		{name: "before the expectations", test: func(x *subject) {
			x.refuse(store.Batch{Fence: &store.Fence{Key: "claim/a", Version: 1, Holder: "me"}, Expect: []store.Expect{{Key: "doc/a", Version: 9}}}, store.ErrFenced)
		}},
		{name: "B079 a claim that ran out does not hold", test: func(x *subject) {
			v := claim(x, "me", 20*time.Millisecond)
			x.until("the claim's end", func() bool { return x.get("claim/a").Docs[0].Version == 0 })
			x.refuse(store.Batch{Fence: &store.Fence{Key: "claim/a", Version: v, Holder: "me"}, Put: write}, store.ErrFenced)
		}},
		{name: "B079 renewing under the fence", test: func(x *subject) {
			v := claim(x, "me", time.Minute)
			renew := store.Batch{
				Fence: &store.Fence{Key: "claim/a", Version: v, Holder: "me"},
				Put:   []store.Put{{Key: "claim/a", Value: []byte("renewed"), Holder: "me", Expires: time.Minute}},
			}
			x.commit(renew)
			x.refuse(renew, store.ErrFenced)
			x.want("claim/a", "renewed")
		}},
		{name: "giving up under the fence", test: func(x *subject) {
			f := &store.Fence{Key: "claim/a", Version: claim(x, "me", time.Minute), Holder: "me"}
			x.commit(store.Batch{Fence: f, Delete: []store.Key{"claim/a"}})
			x.want("claim/a", "")
			x.refuse(store.Batch{Fence: f, Put: write}, store.ErrFenced)
		}},
		{name: "what a reopened store keeps", test: func(x *subject) {
			x.commit(store.Batch{Put: []store.Put{
				{Key: "claim/leased", Value: []byte("1"), Holder: "me", Expires: time.Hour},
				{Key: "claim/held", Value: []byte("2"), Holder: "me"},
				{Key: "doc/passing", Value: []byte("3"), Expires: time.Hour},
			}})
			if err := x.store.Close(); err != nil {
				x.Fatal(err)
			}
			x.store = x.open()
			x.want("claim/held", "2")
			x.want("doc/passing", "3")
			if _, owned := x.backing.(Owned); owned {
				x.want("claim/leased", "")
			} else {
				x.want("claim/leased", "1")
			}
		}},
	}
}
