package chaos

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cordwood/test/cluster"
)

// TestPortShut blocks the port of the node that leads a shard, and then of the node that leads the metadata, for all
// other nodes, while the node's own connections work. Others must take over, and the cluster must report the problem
// until the port is open again.
func TestPortShut(t *testing.T) {
	together(t)
	c := cluster.NewCluster(t, cluster.Spec{All: 3})
	gates := map[*cluster.Node]*cluster.Gate{}
	for _, n := range c.Nodes {
		gates[n] = n.Behind()
	}
	c.Seed()
	c.Start()
	opt := mixed
	opt.Routers = c.Routers
	l := Start(opt)
	l.Warm(t)
	for range rounds(1, 5) {
		for _, what := range []string{"shard 1", "the metadata"} {
			var x *cluster.Node
			if what == "shard 1" {
				x = shardLeader(t, c, 1)
			} else {
				x = node(c, anyStatus(t, c).Leader)
			}
			l.Fault("the port of %s, which leads %s, is blocked", x.Name, what)
			begin := time.Now()
			gates[x].Shut()
			cluster.Eventually(t, time.Minute, func() error { return leadsNothing(c, x) })
			t.Logf("%s, which led %s, leads nothing after %s", x.Name, what, time.Since(begin).Round(time.Millisecond))
			l.AwaitAcked(t, 500)
			cluster.Eventually(t, 30*time.Second, func() error {
				for _, n := range c.Nodes { // including the blocked node, whose own connections work
					if text := problems(n); !strings.Contains(text, x.Name+": its port") {
						return fmt.Errorf("%s does not report the port of %s: %s", n.Name, x.Name, text)
					}
				}
				return nil
			})
			gates[x].Open()
			cluster.Eventually(t, time.Minute, func() error {
				if text := problems(x); strings.Contains(text, "its port") {
					return fmt.Errorf("%s still reports: %s", x.Name, text)
				}
				return nil
			})
			l.AwaitAcked(t, 500)
		}
	}
	c.AwaitReady(time.Minute)
	end(t, c, l, 3)
	l.Report(t, 0, 6*time.Second)
}

// leadsNothing returns an error while a node leads a group, according to the reports of nodes. It asks the other
// nodes, because the node itself cannot be called.
func leadsNothing(c *cluster.Cluster, x *cluster.Node) error {
	others := &cluster.Cluster{}
	for _, n := range c.Metas {
		if n != x {
			others.Metas = append(others.Metas, n)
		}
	}
	s, err := status(others)
	if err != nil {
		return err
	}
	if node(c, s.Leader) == x {
		return fmt.Errorf("%s leads the metadata", x.Name)
	}
	for _, n := range s.Nodes {
		if n.Report == nil {
			return fmt.Errorf("%s has not reported yet", n.Node.Name)
		}
		for _, r := range n.Report.Replicas {
			if node(c, n.Node.Id) == x && r.State == "Leader" {
				return fmt.Errorf("%s leads shard %d", x.Name, r.ShardId)
			}
		}
	}
	return nil
}

// problems returns the problems of the cluster that a node reports.
func problems(n *cluster.Node) string {
	a, err := n.Do("GET", "/v1/cluster", nil)
	if err != nil {
		return err.Error()
	}
	return string(a.Body)
}
