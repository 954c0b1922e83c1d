//go:build chaos

package killtest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"paragents/store/redis/redistest"
)

// Behind Sentinels, with store.min_replicas 1: the primary is killed again and again, and what was acknowledged is there after each fail-over. There is one replica, so that the one
// that is chosen has confirmed everything: of two, Sentinels may choose the other one, when the old primary comes back before all know of the new one.
func TestB075ChaosOverSentinel(t *testing.T) {
	var g *redistest.Group
	w := newWorld(t, crowd(chaosPrompts(t)), 128, func(t *testing.T, _ string) storage {
		g = redistest.Sentinel(t, 1, "")
		where := inRedis(g.URL)
		where.minReplicas = 1
		return where
	})
	w.failOvers(g)
}

// On a Cluster of three primaries with a replica each, the same.
func TestB075ChaosOnCluster(t *testing.T) {
	var g *redistest.Group
	w := newWorld(t, crowd(chaosPrompts(t)), 128, func(t *testing.T, _ string) storage {
		g = redistest.Cluster(t)
		where := inRedis(g.URL)
		where.minReplicas = 1
		return where
	})
	w.failOvers(g)
}

// The same without store.min_replicas: a fail-over may lose what had not reached the replica. How much is printed; what comes after it is answered all the same.
func TestB075ChaosOnClusterThatMayLose(t *testing.T) {
	var g *redistest.Group
	w := newWorld(t, 12, 128, func(t *testing.T, _ string) storage {
		g = redistest.Cluster(t)
		return inRedis(g.URL)
	})
	chance := rand.New(rand.NewPCG(w.seed, 4))
	prompts := min(chaosPrompts(t), 200)
	count := w.rage(chance, prompts, []trouble{w.failOver(chance, prompts, g)})
	for limit := time.Now().Add(patience / 3); time.Now().Before(limit) && w.lost() > 0; {
		w.bustle(100*time.Millisecond, 0)
	}
	lost := w.lost()
	last := map[*person]string{}
	for _, p := range w.people {
		last[p] = p.post("plain")
	}
	w.await("an answer to everybody", func() bool {
		for p, token := range last {
			if p.look(); !slices.Contains(p.answers, token) {
				return false
			}
		}
		return true
	})
	w.quit()
	t.Logf("without store.min_replicas: %d of %d prompts lost in %d fail-overs; what everybody asked after them was answered", lost, prompts, count["fail-overs"])
}

// lost is how many prompts have no end that their people know of.
func (w *world) lost() (n int) {
	for _, p := range w.people {
		n += len(p.posted) - len(p.ended)
	}
	return n
}

// failOvers is a chaos in which the primary that has the state dies.
func (w *world) failOvers(g *redistest.Group) {
	chance := rand.New(rand.NewPCG(w.seed, 4))
	prompts := chaosPrompts(w.t)
	w.chaos(chance, prompts, []trouble{w.failOver(chance, prompts, g)})
}

// failOver kills the primary, waits for another one, and brings the old one back. It does so only while the replica is in step and all Sentinels know both: killed before, nobody may
// follow, and Sentinels try for ever. Work goes on for some seconds after it: Sentinels take ten to tell an old primary whom to follow, in which nothing is confirmed, and without
// a time between there would be nothing but that.
func (w *world) failOver(chance *rand.Rand, prompts int, g *redistest.Group) trouble {
	return trouble{name: "fail-overs", make: func() {
		var old *redistest.Server
		w.meanwhile("a primary with its replica in step", prompts, func() bool {
			old = w.primary(g.Nodes, nil)
			return old != nil && says(old, "state=online") && !slices.ContainsFunc(g.Sentinels, func(s *redistest.Server) bool {
				return !says(s, "status=ok,address="+old.Addr+",slaves=1,sentinels=3")
			})
		})
		old.Kill(w.t)
		w.meanwhile("a fail-over", prompts, func() bool { return w.primary(g.Nodes, old) != nil })
		w.bustle(time.Duration(chance.IntN(1000))*time.Millisecond, prompts)
		old.Restart(w.t)
		w.meanwhile("the old primary to follow, or to lead again", prompts, func() bool {
			return says(old, "role:slave", "master_link_status:up") || says(old, "role:master", "state=online")
		})
		w.bustle(time.Duration(5+chance.IntN(10))*time.Second, prompts)
	}}
}

// primary is the node other than one that has the state and may change it; nil while there is none.
func (w *world) primary(nodes []*redistest.Server, other *redistest.Server) *redistest.Server {
	for _, n := range nodes {
		if n != other && says(n, "role:master", "db0:keys=") {
			return n
		}
	}
	return nil
}

// meanwhile lets people go on until something is so.
func (w *world) meanwhile(what string, prompts int, so func() bool) {
	w.t.Helper()
	for limit := time.Now().Add(patience); !so(); w.bustle(100*time.Millisecond, prompts) {
		if time.Now().After(limit) {
			w.t.Fatalf("waited %s in vain for %s", patience, what)
		}
	}
}

// says reports whether a node answers, with all of the words.
func says(n *redistest.Server, words ...string) bool {
	info := n.Info()
	for _, word := range words {
		if !strings.Contains(info, word) {
			return false
		}
	}
	return true
}
