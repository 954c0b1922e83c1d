package storetest

import (
	"paragents/store"
)

func versionCases() []examCase {
	return []examCase{
		{name: "absent", test: func(x *subject) {
			snap := x.get("doc/a", "doc/b")
			for _, doc := range snap.Docs {
				if doc.Version != 0 || doc.Value != nil || doc.Holder != "" {
					x.Fatalf("a document that does not exist: %+v", doc)
				}
			}
			if snap.Time.IsZero() || snap.Time.Nanosecond()%1e6 != 0 {
				x.Fatalf("time %v, want milliseconds", snap.Time)
			}
		}},
		{name: "no keys give the time", test: func(x *subject) {
			if x.get().Time.IsZero() {
				x.Fatal("no time")
			}
		}},
		{name: "order of keys", test: func(x *subject) {
			x.put("doc/a", "A")
			x.put("doc/b", "B")
			docs := x.get("doc/b", "doc/none", "doc/a", "doc/b").Docs
			equal(x, "values", []string{string(docs[0].Value), string(docs[1].Value), string(docs[2].Value), string(docs[3].Value)}, []string{"B", "", "A", "B"})
		}},
		{name: "rising over all documents", test: func(x *subject) {
			last := int64(0)
			for _, key := range []store.Key{"doc/a", "doc/b", "doc/a", "doc/c"} {
				v := x.put(key, "v")
				if v <= last {
					x.Fatalf("version %d after %d", v, last)
				}
				if got := x.get(key).Docs[0].Version; got != v {
					x.Fatalf("read version %d, committed %d", got, v)
				}
				last = v
			}
			x.commit(store.Batch{Delete: []store.Key{"doc/a"}})
			if v := x.put("doc/a", "again"); v <= last {
				x.Fatalf("version %d after a delete, before it %d", v, last)
			}
		}},
		{name: "one version a batch", test: func(x *subject) {
			r := x.commit(store.Batch{Put: []store.Put{{Key: "doc/a", Value: []byte("1")}, {Key: "doc/b", Value: []byte("2"), Holder: "me"}}})
			docs := x.get("doc/a", "doc/b").Docs
			equal(x, "versions", []int64{docs[0].Version, docs[1].Version}, []int64{r.Version, r.Version})
			equal(x, "holders", []string{docs[0].Holder, docs[1].Holder}, []string{"", "me"})
		}},
		{name: "expectations", test: func(x *subject) {
			create := store.Batch{Expect: []store.Expect{{Key: "doc/a"}}, Put: []store.Put{{Key: "doc/a", Value: []byte("1")}}}
			v := x.commit(create).Version
			x.refuse(create, store.ErrConflict)
			x.refuse(store.Batch{Expect: []store.Expect{{Key: "doc/a", Version: v + 1}}, Put: []store.Put{{Key: "doc/a", Value: []byte("2")}}}, store.ErrConflict)
			x.refuse(store.Batch{Expect: []store.Expect{{Key: "doc/none", Version: v}}}, store.ErrConflict)
			x.want("doc/a", "1")
			w := x.commit(store.Batch{Expect: []store.Expect{{Key: "doc/a", Version: v}}, Put: []store.Put{{Key: "doc/a", Value: []byte("3")}}}).Version
			x.refuse(store.Batch{Expect: []store.Expect{{Key: "doc/a", Version: v}}, Delete: []store.Key{"doc/a"}}, store.ErrConflict)
			x.commit(store.Batch{Expect: []store.Expect{{Key: "doc/a", Version: w}}, Delete: []store.Key{"doc/a"}})
			x.want("doc/a", "")
			x.commit(create)
		}},
		{name: "an expectation alone", test: func(x *subject) {
			v := x.put("doc/guard", "1")
			b := store.Batch{Expect: []store.Expect{{Key: "doc/guard", Version: v}}, Put: []store.Put{{Key: "doc/a", Value: []byte("x")}}}
			x.commit(b)
			x.put("doc/guard", "2")
			x.refuse(b, store.ErrConflict)
		}},
		{name: "empty and binary values", test: func(x *subject) {
			binary := "\x00\xff\r\n\"é"
			r := x.commit(store.Batch{Put: []store.Put{{Key: "doc/empty"}, {Key: "doc/é \x00{}*", Value: []byte(binary)}}})
			docs := x.get("doc/empty", "doc/é \x00{}*").Docs
			equal(x, "empty", docs[0].Version, r.Version)
			equal(x, "empty value", len(docs[0].Value), 0)
			equal(x, "binary", string(docs[1].Value), binary)
		}},
		{name: "deleting what is not there", test: func(x *subject) {
			x.commit(store.Batch{Delete: []store.Key{"doc/none"}, Remove: []store.Remove{{Index: "i", Member: "m"}}, Trim: []store.Trim{{Log: "l", Before: 5}}})
		}},
		{name: "whole or nothing", test: func(x *subject) {
			x.put("doc/a", "old")
			pos := x.commit(store.Batch{
				Insert: []store.Insert{{Index: "idx/i", Member: "kept", Score: 1}},
				Append: []store.Append{{Log: "log/l", Value: []byte("kept")}},
				Add:    []store.Add{{Key: "count/n", Delta: 1}},
			}).Positions[0]
			everything := store.Batch{
				Put:    []store.Put{{Key: "doc/b", Value: []byte("b")}},
				Delete: []store.Key{"doc/a"},
				Insert: []store.Insert{{Index: "idx/i", Member: "new", Score: 1}},
				Remove: []store.Remove{{Index: "idx/i", Member: "kept"}},
				Add:    []store.Add{{Key: "count/n", Delta: 1}},
				Append: []store.Append{{Log: "log/l", Value: []byte("new")}},
				Trim:   []store.Trim{{Log: "log/l", Before: pos + 1}},
			}
			unchanged := func() {
				x.Helper()
				x.want("doc/a", "old")
				x.want("doc/b", "")
				x.want("count/n", "1")
				equal(x, "index", x.scan("idx/i", store.Range{}).Entries, []store.Entry{{Member: "kept", Score: 1}})
				equal(x, "log", len(x.read("log/l", 0, 0)), 1)
			}
			conflict := everything
			conflict.Expect = []store.Expect{{Key: "doc/none"}, {Key: "doc/a", Version: 1 << 40}}
			x.refuse(conflict, store.ErrConflict)
			unchanged()
			fenced := everything
			fenced.Fence = &store.Fence{Key: "doc/a", Version: 1 << 40}
			x.refuse(fenced, store.ErrFenced)
			unchanged()
			notNumber := everything
			notNumber.Add = append([]store.Add{{Key: "count/m", Delta: 1}}, store.Add{Key: "doc/text", Delta: 1})
			x.put("doc/text", "no number")
			if _, err := x.store.Commit(x.ctx, notNumber); err == nil {
				x.Fatal("a batch that counts on a text was applied")
			}
			unchanged()
			x.want("count/m", "")
			x.commit(everything)
			x.want("doc/a", "")
			x.want("doc/b", "b")
			x.want("count/n", "2")
			equal(x, "index", x.scan("idx/i", store.Range{}).Entries, []store.Entry{{Member: "new", Score: 1}})
			equal(x, "log", string(x.read("log/l", 0, 0)[0].Value), "new")
		}},
		{name: "values belong to the caller", test: func(x *subject) {
			value := []byte("abc")
			x.commit(store.Batch{Put: []store.Put{{Key: "doc/a", Value: value}}, Append: []store.Append{{Log: "log/l", Value: value}}})
			value[0] = 'X'
			x.get("doc/a").Docs[0].Value[1] = 'X'
			x.read("log/l", 0, 0)[0].Value[1] = 'X'
			x.want("doc/a", "abc")
			equal(x, "record", string(x.read("log/l", 0, 0)[0].Value), "abc")
		}},
	}
}
