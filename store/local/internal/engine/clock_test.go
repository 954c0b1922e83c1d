package engine

import (
	"testing"
	"time"
)

func TestTheClock(t *testing.T) {
	start := time.UnixMilli(1_000_000)
	wall := start
	c := newClock(func() time.Time { return wall }, 0)
	for _, step := range []struct {
		name string
		wall time.Duration // where the wall clock goes, from start
		want time.Duration // what the clock then tells
	}{
		{"as the wall clock", 0, 0},
		{"goes on with it", 10 * time.Second, 10 * time.Second},
		{"is not set back", 4 * time.Second, 10 * time.Second},
		{"goes on at half speed", 6 * time.Second, 11 * time.Second},
		{"until", 10 * time.Second, 13 * time.Second},
		{"the wall clock has caught up", 16 * time.Second, 16 * time.Second},
		{"and leaps with it", time.Hour, time.Hour},
		{"in whole milliseconds", time.Hour + 1999*time.Microsecond, time.Hour + time.Millisecond},
	} {
		wall = start.Add(step.wall)
		if got := time.UnixMilli(c.now()).Sub(start); got != step.want {
			t.Fatalf("%s: %v, want %v", step.name, got, step.want)
		}
	}
}

func TestTheClockGoesOnWhereTheFileWas(t *testing.T) {
	c := config(newPath(t))
	late := time.UnixMilli(2_000_000)
	c.Now = func() time.Time { return late }
	e := open(t, c)
	commit(t, e, put("doc/a", "v"))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	c.Now = func() time.Time { return late.Add(-time.Hour) }
	e = open(t, c)
	if r := commit(t, e, put("doc/a", "v")); !r.Time.Equal(late) {
		t.Fatalf("the commit is of %v, the one before the reopening was of %v", r.Time, late)
	}
}
