package redistest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Group is several servers that belong together.
type Group struct {
	URL       string    // a store.url of the group
	Nodes     []*Server // data nodes; the first is the primary, or serves the slots that a test begins with
	Sentinels []*Server
}

// PrimaryName is what Sentinels call the primary.
const PrimaryName = "main"

// Sentinel starts a primary, replicas of it and three Sentinels, which notice a dead primary after half a second. args are further options
// of the data nodes; sentinelPassword may be empty.
func Sentinel(t testing.TB, replicas int, sentinelPassword string, args ...string) *Group {
	t.Helper()
	g := &Group{Nodes: []*Server{Start(t, args...)}}
	primary := g.Nodes[0]
	for range replicas {
		g.Nodes = append(g.Nodes, Start(t, append(args[:len(args):len(args)], "--replicaof", "127.0.0.1 "+primary.Port(), "--masterauth", primary.password)...))
	}
	var addrs []string
	for range 3 {
		s := prepare(t)
		conf := fmt.Sprintf("sentinel monitor %[1]s 127.0.0.1 %[2]s 2\nsentinel down-after-milliseconds %[1]s 500\nsentinel failover-timeout %[1]s 3000\n", PrimaryName, primary.Port())
		if primary.password != "" {
			conf += fmt.Sprintf("sentinel auth-pass %s %s\n", PrimaryName, primary.password)
		}
		if s.password = sentinelPassword; sentinelPassword != "" {
			conf += fmt.Sprintf("requirepass %[1]s\nsentinel sentinel-pass %[1]s\n", sentinelPassword)
		}
		file := filepath.Join(s.dir, "sentinel.conf")
		if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
			t.Fatal(err)
		}
		s.args = []string{file, "--sentinel"}
		s.run(t)
		g.Sentinels = append(g.Sentinels, s)
		addrs = append(addrs, s.Addr)
	}
	for _, s := range g.Nodes[1:] {
		s.inStep(t)
	}
	for _, s := range g.Sentinels {
		wait(t, "the sentinels to know each other and the replicas", func() bool {
			state := fmt.Sprint(s.Do(t, "info", "sentinel"))
			return strings.Contains(state, "status=ok") && strings.Contains(state, fmt.Sprintf("slaves=%d,sentinels=3", replicas))
		})
	}
	g.URL = "redis+sentinel://" + strings.Join(addrs, ",") + "/" + PrimaryName
	return g
}

// Cluster starts a Cluster of three primaries that share all slots, each with one replica: node 3 follows node 0, and so on. A dead
// primary is noticed after a second.
func Cluster(t testing.TB) *Group {
	t.Helper()
	g := new(Group)
	var addrs, buses []string
	for range 6 {
		bus := freePort(t)
		g.Nodes = append(g.Nodes, Start(t, "--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-node-timeout", "1000", "--cluster-replica-validity-factor", "0"))
		buses = append(buses, bus)
	}
	slots := [][2]int{{0, 5460}, {5461, 10922}, {10923, 16383}}
	for i, s := range g.Nodes {
		addrs = append(addrs, s.Addr)
		s.Do(t, "cluster", "set-config-epoch", i+1)
		if i < len(slots) {
			s.Do(t, "cluster", "addslotsrange", slots[i][0], slots[i][1])
		}
		host, port, _ := net.SplitHostPort(g.Nodes[0].Addr)
		if i > 0 {
			s.Do(t, "cluster", "meet", host, port, buses[0])
		}
	}
	for _, s := range g.Nodes {
		wait(t, "the nodes to know each other", func() bool {
			return strings.Contains(fmt.Sprint(s.Do(t, "cluster", "info")), "cluster_known_nodes:6")
		})
	}
	for i, s := range g.Nodes[3:] {
		s.Do(t, "cluster", "replicate", g.Nodes[i].Do(t, "cluster", "myid"))
	}
	for i, s := range g.Nodes {
		wait(t, "the cluster to serve all slots", func() bool {
			return strings.Contains(fmt.Sprint(s.Do(t, "cluster", "info")), "cluster_state:ok")
		})
		if i >= 3 {
			s.inStep(t)
		}
	}
	g.URL = "redis+cluster://" + strings.Join(addrs, ",")
	return g
}

func (s *Server) inStep(t testing.TB) {
	t.Helper()
	wait(t, "the replica to be in step", func() bool {
		return strings.Contains(fmt.Sprint(s.Do(t, "info", "replication")), "master_link_status:up")
	})
}

// Promoted waits until a replica has become a primary.
func (s *Server) Promoted(t testing.TB) {
	t.Helper()
	wait(t, "the replica to be promoted", func() bool {
		return strings.Contains(fmt.Sprint(s.Do(t, "info", "replication")), "role:master")
	})
}
