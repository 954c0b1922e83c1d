//go:build chaos

package killtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"paragents/store/redis/redistest"
)

// Behind Sentinels, with store.min_replicas 1: the primary is killed again and again, and what was acknowledged is there after each fail-over.
func TestB075ChaosOverSentinel(t *testing.T) {
	var g *redistest.Group
	w := newWorld(t, crowd(chaosPrompts(t)), 128, func(t *testing.T, _ string) storage {
		g = redistest.Sentinel(t, "")
		where := inRedis(g.URL)
		where.minReplicas = 1
		return where
	})
	w.failOvers(g.Nodes)
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
	w.failOvers(g.Nodes)
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
	count := w.rage(chance, prompts, []trouble{w.failOver(chance, prompts, g.Nodes)})
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
func (w *world) failOvers(nodes []*redistest.Server) {
	chance := rand.New(rand.NewPCG(w.seed, 4))
	prompts := chaosPrompts(w.t)
	w.chaos(chance, prompts, []trouble{w.failOver(chance, prompts, nodes)})
}

// failOver kills the primary, waits for another one, and brings the old one back.
func (w *world) failOver(chance *rand.Rand, prompts int, nodes []*redistest.Server) trouble {
	return trouble{name: "fail-overs", make: func() {
		old := w.primary(nodes)
		old.Kill(w.t)
		var follower *redistest.Server
		w.meanwhile("a fail-over", prompts, func() bool {
			for _, n := range nodes {
				if n != old && role(w.t, n) == "master" && fmt.Sprint(n.Do(w.t, "dbsize")) != "0" {
					follower = n
				}
			}
			return follower != nil
		})
		w.bustle(time.Duration(chance.IntN(1000))*time.Millisecond, prompts)
		old.Restart(w.t)
		w.meanwhile("the old primary to follow", prompts, func() bool { return role(w.t, old) == "slave" && inStep(w.t, old) })
	}}
}

// primary is the node that has the state and may change it.
func (w *world) primary(nodes []*redistest.Server) *redistest.Server {
	w.t.Helper()
	for _, n := range nodes {
		if role(w.t, n) == "master" && fmt.Sprint(n.Do(w.t, "dbsize")) != "0" {
			return n
		}
	}
	w.t.Fatal("no node is the primary")
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

func role(t *testing.T, n *redistest.Server) string {
	t.Helper()
	_, rest, _ := strings.Cut(fmt.Sprint(n.Do(t, "info", "replication")), "role:")
	word, _, _ := strings.Cut(rest, "\r")
	return word
}

func inStep(t *testing.T, n *redistest.Server) bool {
	t.Helper()
	return strings.Contains(fmt.Sprint(n.Do(t, "info", "replication")), "master_link_status:up")
}
