package storetest

import (
	"fmt"
	"math"

	"paragents/store"
)

func logCases() []examCase {
	const log store.Log = "log/l"
	write := func(x *subject, values ...string) []int64 {
		x.Helper()
		var b store.Batch
		for _, v := range values {
			b.Append = append(b.Append, store.Append{Log: log, Value: []byte(v)})
		}
		return x.commit(b).Positions
	}
	values := func(records []store.Record) string {
		s := ""
		for _, r := range records {
			s += string(r.Value)
		}
		return s
	}
	return []examCase{
		{name: "positions rise", test: func(x *subject) {
			positions := append(write(x, "a", "b"), write(x, "c")...)
			x.commit(store.Batch{Append: []store.Append{{Log: "log/other", Value: []byte("x")}}})
			positions = append(positions, write(x, "d")...)
			records := x.read(log, 0, 0)
			equal(x, "values", values(records), "abcd")
			for i, r := range records {
				equal(x, "position", r.Position, positions[i])
				if r.Position <= 0 || (i > 0 && r.Position <= positions[i-1]) {
					x.Fatalf("positions %v", positions)
				}
			}
		}},
		{name: "two logs in one batch", test: func(x *subject) {
			r := x.commit(store.Batch{Append: []store.Append{{Log: log, Value: []byte("a")}, {Log: "log/m", Value: []byte("b")}, {Log: log, Value: nil}}})
			equal(x, "positions", len(r.Positions), 3)
			equal(x, "records", x.read(log, 0, 0), []store.Record{{Position: r.Positions[0], Value: []byte("a")}, {Position: r.Positions[2], Value: []byte{}}})
			equal(x, "records", x.read("log/m", 0, 0), []store.Record{{Position: r.Positions[1], Value: []byte("b")}})
		}},
		{name: "reading from a position", test: func(x *subject) {
			p := write(x, "a", "b", "c", "d")
			for _, c := range []struct {
				from  int64
				limit int
				want  string
			}{
				{0, 0, "abcd"}, {math.MinInt64, 0, "abcd"}, {p[1], 0, "bcd"}, {p[1], 2, "bc"}, {p[1] + 1, 1, "c"}, {p[3], 0, "d"}, {p[3] + 1, 0, ""}, {math.MaxInt64, 0, ""},
			} {
				equal(x, fmt.Sprintf("from %d, limit %d", c.from, c.limit), values(x.read(log, c.from, c.limit)), c.want)
			}
			equal(x, "no log", len(x.read("log/none", 0, 0)), 0)
		}},
		{name: "trim", test: func(x *subject) {
			p := write(x, "a", "b", "c", "d")
			trim := func(before int64) { x.commit(store.Batch{Trim: []store.Trim{{Log: log, Before: before}}}) }
			trim(math.MinInt64)
			trim(p[0])
			equal(x, "values", values(x.read(log, 0, 0)), "abcd")
			trim(p[2])
			equal(x, "values", values(x.read(log, 0, 0)), "cd")
			equal(x, "from what is gone", values(x.read(log, p[0], 1)), "c")
			trim(p[3] + 1)
			equal(x, "values", values(x.read(log, 0, 0)), "")
			if again := write(x, "e")[0]; again <= p[3] {
				x.Fatalf("position %d after %d", again, p[3])
			}
		}},
		{name: "trim all", test: func(x *subject) {
			p := write(x, "a", "b")
			x.commit(store.Batch{Trim: []store.Trim{{Log: log, Before: math.MaxInt64}}})
			equal(x, "records", len(x.read(log, 0, 0)), 0)
			again := write(x, "c")
			if again[0] <= p[1] {
				x.Fatalf("position %d after %d", again[0], p[1])
			}
			equal(x, "values", values(x.read(log, 0, 0)), "c")
		}},
		{name: "append, then trim", test: func(x *subject) {
			write(x, "a")
			x.commit(store.Batch{Append: []store.Append{{Log: log, Value: []byte("b")}}, Trim: []store.Trim{{Log: log, Before: math.MaxInt64}}})
			equal(x, "records", len(x.read(log, 0, 0)), 0)
		}},
		{name: "long", test: func(x *subject) {
			var want, got string
			for i := range 30 {
				var parts []string
				for j := range 50 {
					parts = append(parts, fmt.Sprintf("%d.%d ", i, j))
				}
				for _, p := range parts {
					want += p
				}
				write(x, parts...)
			}
			next := int64(0)
			for {
				records := x.read(log, next, 101)
				if len(records) == 0 {
					break
				}
				got += values(records)
				next = records[len(records)-1].Position + 1
			}
			equal(x, "values", got, want)
		}},
	}
}
