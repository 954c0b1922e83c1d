package killtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"paragents/core/audit"
	"paragents/store/redis/redistest"
)

// trouble is something that goes wrong around the processes, and for how long; the rest of it is done by mend.
type trouble struct {
	name string
	long time.Duration
	make func()
	mend func()
}

// Three replicas on one Redis behind a bad network. At random a replica is killed and started again or stopped beyond its lease, Redis is restarted, connections are cut,
// answers and bells are lost, and everything is slow. People press their buttons at random moments, on whichever replica receives then.
func TestB045ChaosOnRedis(t *testing.T) {
	var server *redistest.Server
	var bad *proxy
	prompts := chaosPrompts(t)
	w := newWorld(t, crowd(prompts), 128, func(t *testing.T, _ string) storage {
		server = redistest.Start(t)
		bad = newProxy(t, server.Addr)
		where := inRedis(server.URL())
		where.url = "redis://" + bad.addr()
		return where
	})
	chance := rand.New(rand.NewPCG(w.seed, 3))
	w.chaos(chance, prompts, []trouble{
		{name: "restarts of redis", make: func() { server.Restart(t) }},
		{name: "cuts", make: func() { bad.cut(chance) }},
		{name: "losses of answers and bells", long: time.Second, make: func() { bad.hush(chance) }, mend: bad.heal},
		{name: "slow times", long: time.Second, make: func() { bad.slow(50 * time.Millisecond) }, mend: bad.heal},
	})
	w.page(server)
}

// chaosPrompts is how many prompts there are.
func chaosPrompts(t *testing.T) int {
	t.Helper()
	return number(t, "PARAGENTS_CHAOS", 60)
}

// crowd is how many people ask for that many prompts.
func crowd(prompts int) int { return 12 + prompts/60 }

// chaos lets people ask for a number of prompts while one thing after the other goes wrong, and then judges what became of them.
func (w *world) chaos(chance *rand.Rand, prompts int, troubles []trouble) {
	begin := time.Now()
	count := w.rage(chance, prompts, troubles)
	w.drain()
	took := time.Since(begin)
	w.quit()
	w.judge()
	w.sealed()
	w.t.Logf("%s, and: %s", took.Round(time.Second), strings.Trim(fmt.Sprint(count), "map[]"))
}

// rage starts three replicas, and lets things go wrong until all prompts were asked for. It returns how often what did.
func (w *world) rage(chance *rand.Rand, prompts int, troubles []trouble) map[string]int {
	for _, name := range []string{"A", "B", "C"} {
		w.start(name)
	}
	w.await("the processes to serve", func() bool {
		for _, r := range w.replicas {
			if r.said(`"msg":"serving"`, false) == 0 {
				return false
			}
		}
		return true
	})
	count := map[string]int{}
	var stopped *replica
	var until time.Time
	for w.posted() < prompts {
		w.bustle(time.Duration(100+chance.IntN(900))*time.Millisecond, prompts)
		if stopped != nil && time.Now().After(until) {
			stopped.resume()
			stopped = nil
		}
		switch n := chance.IntN(8); {
		case n < 3:
			r := w.replicas[chance.IntN(len(w.replicas))]
			if r == stopped {
				stopped = nil
			}
			r.kill()
			r.start()
		case n < 4 && stopped == nil:
			stopped, until = w.replicas[chance.IntN(len(w.replicas))], time.Now().Add(lease+time.Duration(chance.IntN(int(lease)/2)))
			stopped.pause()
		default:
			trouble := troubles[chance.IntN(len(troubles))]
			count[trouble.name]++
			trouble.make()
			if trouble.mend != nil {
				w.bustle(trouble.long/4+time.Duration(chance.IntN(int(trouble.long))), prompts)
				trouble.mend()
			}
		}
	}
	for stopped != nil && time.Now().Before(until) {
		w.bustle(100*time.Millisecond, prompts)
	}
	if stopped != nil {
		stopped.resume()
	}
	return count
}

func (w *world) posted() int {
	n := 0
	for _, p := range w.people {
		n += len(p.posted)
	}
	return n
}

// bustle passes some time in which everybody looks, and asks for more until there is enough.
func (w *world) bustle(d time.Duration, prompts int) {
	over := time.After(d)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		for _, p := range w.people {
			p.look()
			for len(p.posted)-len(p.ended) < outstanding && w.posted() < prompts {
				p.post(busy[p.choice.IntN(len(busy))])
			}
		}
		select {
		case <-over:
			return
		case <-tick.C:
		}
	}
}

// sealed checks that the audit log is what was sealed.
func (w *world) sealed() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	st, err := w.open(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	defer st.Close()
	report, err := audit.Verify(ctx, st)
	if err != nil || len(report.Problems) > 0 {
		w.t.Errorf("the audit log does not verify: %v %v", err, report.Problems)
	}
}
