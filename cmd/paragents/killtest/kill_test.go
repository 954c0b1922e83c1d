package killtest

import (
	"math/rand/v2"
	"testing"
	"time"
)

// One machine, no Redis: a process holds the file, another one uses it through the socket, and either is killed at any moment.
func TestB045KillsOnAFile(t *testing.T) {
	w := newWorld(t, 6, 128, onFile)
	w.storm(2, number(t, "PARAGENTS_KILLS", 24), 0)
	w.judge()
}

// Three replicas on one Redis; every eighth fault is a stop for longer than the lease.
func TestB045KillsOnRedis(t *testing.T) {
	w := newWorld(t, 16, 128, onRedis)
	w.storm(3, number(t, "PARAGENTS_KILLS", 16), 8)
	w.judge()
}

// storm kills processes at random moments, and starts them again at once. Every stops-th fault is a SIGSTOP beyond the lease instead; 0: none.
func (w *world) storm(replicas, kills, stops int) {
	for i := range replicas {
		w.start(string(rune('A' + i)))
	}
	w.await("the processes to serve", func() bool {
		for _, r := range w.replicas {
			if r.said(`"msg":"serving"`, false) == 0 {
				return false
			}
		}
		return true
	})
	chance := rand.New(rand.NewPCG(w.seed, 2))
	// Half of the kills come right after something that may not be done twice: a message was sent, the model was asked, a command had an effect.
	moments := []func() int{
		func() int { return len(w.platform.Calls("sendMessage")) },
		func() int { return len(w.model.Seen()) },
		func() int { return w.size("effects") },
	}
	var stopped *replica
	var until time.Time
	wake := func() {
		if stopped != nil {
			stopped.resume()
			stopped = nil
		}
	}
	w.live(time.Second)
	for n := 1; n <= kills; n++ {
		// Many moments are soon after a start, some are late.
		w.live(time.Duration(50+chance.IntN(200)+chance.IntN(2)*chance.IntN(1200)) * time.Millisecond)
		if stopped != nil && time.Now().After(until) {
			wake()
		}
		if chance.IntN(2) == 0 {
			w.aim(moments[chance.IntN(len(moments))])
		}
		r := w.victim(chance)
		switch {
		case r == stopped:
			r.kill()
			stopped = nil
			r.start()
		case stops > 0 && n%stops == 0 && stopped == nil:
			r.pause()
			stopped, until = r, time.Now().Add(lease+time.Duration(chance.IntN(int(lease)/2)))
		default:
			r.kill()
			r.start()
		}
	}
	for stopped != nil && time.Now().Before(until) {
		w.live(100 * time.Millisecond)
	}
	wake()
	w.drain()
	w.quit()
}

// victim is a random process; the one that receives what people write is spared mostly where its duty takes a lease to come back.
func (w *world) victim(chance *rand.Rand) *replica {
	r := w.replicas[chance.IntN(len(w.replicas))]
	if len(w.replicas) > 2 && r.said(`"duty":"receive/telegram"`, false) > 0 && chance.IntN(6) > 0 {
		return w.victim(chance)
	}
	return r
}

// aim waits, at most a second, until a count rises.
func (w *world) aim(count func() int) {
	over := time.After(time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for before := count(); count() == before; {
		select {
		case <-over:
			return
		case <-tick.C:
		}
	}
}
