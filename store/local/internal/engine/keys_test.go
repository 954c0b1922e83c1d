package engine

import (
	"bytes"
	"cmp"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"paragents/store"
)

func TestOrderKeysSortAsEntriesDo(t *testing.T) {
	name := rapid.SampledFrom([]string{"a", "b", "aa", "a\x00", "\xff\xff", "index/long"})
	score := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -1, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64}))
	rapid.Check(t, func(t *rapid.T) {
		index := store.Index(name.Draw(t, "index"))
		s1, s2 := score.Draw(t, "score"), score.Draw(t, "score")
		m1, m2 := name.Draw(t, "member"), name.Draw(t, "member")
		want := cmp.Or(cmp.Compare(s1, s2), cmp.Compare(m1, m2))
		k1, k2 := orderKey(index, s1, m1), orderKey(index, s2, m2)
		if got := bytes.Compare(k1, k2); got != want {
			t.Fatalf("(%v %q) and (%v %q) compare as %d, want %d", s1, m1, s2, m2, got, want)
		}
		prefix := prefixed(string(index), 0)
		if end := successor(prefix); !bytes.HasPrefix(k1, prefix) || bytes.Compare(k1, end) >= 0 {
			t.Fatalf("key %x is not between %x and %x", k1, prefix, end)
		}
		if e, err := parseOrder(k1[len(prefix):]); err != nil || e.Score != s1 || e.Member != m1 {
			t.Fatalf("(%v %q) reads back as %+v, %v", s1, m1, e, err)
		}
		if other := store.Index(name.Draw(t, "other index")); other != index && bytes.HasPrefix(orderKey(other, s2, m2), prefix) {
			t.Fatalf("index %q lies within %q", other, index)
		}
	})
}

func TestDocumentsAndResultsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := document{
			version: rapid.Int64().Draw(t, "version"), expires: rapid.Int64().Draw(t, "expires"),
			holder: rapid.StringN(0, 20, store.MaxName).Draw(t, "holder"), value: rapid.SliceOf(rapid.Byte()).Draw(t, "value"),
		}
		got, err := parseDocument(d.encode())
		if err != nil || got.version != d.version || got.expires != d.expires || got.holder != d.holder || !bytes.Equal(got.value, d.value) {
			t.Fatalf("%+v reads back as %+v, %v", d, got, err)
		}
		numbers := rapid.SliceOfN(rapid.Int64(), 0, 5)
		r := store.Result{
			Time: time.UnixMilli(rapid.Int64Range(0, 1<<45).Draw(t, "time")), Version: rapid.Int64().Draw(t, "version"),
			Counters: numbers.Draw(t, "counters"), Positions: numbers.Draw(t, "positions"),
		}
		encoded := encodeResult(r)
		back, err := parseResult(encoded)
		if err != nil || !bytes.Equal(encodeResult(back), encoded) || !back.Time.Equal(r.Time) || len(back.Positions) != len(r.Positions) {
			t.Fatalf("%+v reads back as %+v, %v", r, back, err)
		}
	})
}

// FuzzRecords: whatever a damaged file holds, reading it is an error and not a panic.
func FuzzRecords(f *testing.F) {
	f.Add(document{version: 1, holder: "me", value: []byte("v")}.encode())
	f.Add(encodeResult(store.Result{Time: time.UnixMilli(1), Counters: []int64{1, -1}, Positions: []int64{7}}))
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		if d, err := parseDocument(b); err == nil && b != nil && !bytes.Equal(d.encode(), b) {
			t.Errorf("%x is read as %+v", b, d)
		}
		if r, err := parseResult(b); err == nil && len(r.Counters)+len(r.Positions) > 2*store.MaxOps {
			t.Errorf("%x is read as %d numbers", b, len(r.Counters)+len(r.Positions))
		}
		if e, err := parseOrder(b); err == nil && len(e.Member) != len(b)-8 {
			t.Errorf("%x is read as %+v", b, e)
		}
		if _, name, err := parseTimed(b); err == nil && len(name) != len(b)-8 {
			t.Errorf("%x is read as %q", b, name)
		}
	})
}
