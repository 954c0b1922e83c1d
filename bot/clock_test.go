package bot_test

import (
	"testing"
	"testing/synctest"
	"time"
)

// virtual is the clock of a synctest bubble.
type virtual struct{}

// longest is how long anything may go on by itself.
const longest = 5 * time.Minute

func (virtual) settle(w *world, _ int) {
	w.t.Helper()
	for end := time.Now().Add(longest); ; {
		time.Sleep(time.Second)
		synctest.Wait()
		if w.quiet() {
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("it still goes on after %s", longest)
		}
	}
}

func (virtual) wait(_ *world, d time.Duration, _ int) {
	time.Sleep(d)
	synctest.Wait()
}

func (virtual) lease() time.Duration { return 15 * time.Second }

// real is the clock on the wall: whatever is waited for is an event.
type real struct{ beat time.Duration }

func (real) settle(w *world, lines int) {
	w.t.Helper()
	until(w.t, func() bool { return w.chat.waiting() >= lines && w.quiet() })
	w.replica.desk.Flush(limit)
}

func (real) wait(w *world, _ time.Duration, lines int) {
	w.t.Helper()
	until(w.t, func() bool { return w.chat.waiting() >= lines })
}

func (r real) lease() time.Duration { return r.beat }

// limit ends every wait of a test for something that comes soon.
const limit = 20 * time.Second

// until waits for an event, and returns when it does not come: what was expected and is missing shows then.
func until(t testing.TB, done func() bool) bool {
	t.Helper()
	end := time.After(limit)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-end:
			return false
		}
	}
	return true
}

// eventually is until for what has to come.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	if !until(t, done) {
		t.Fatalf("waited %s in vain for: %s", limit, what)
	}
}
