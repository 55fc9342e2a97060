package chaos

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"cordwood/test/cluster"
)

// TestLinearizable lets clients write single rows and read all of them through every node. Meanwhile, the leaders of
// the shard and of the metadata are stopped and continued, the network is cut, and disks are restored to an earlier
// state. The answers must be possible answers of a single table.
func TestLinearizable(t *testing.T) {
	t.Run("stopped", func(t *testing.T) {
		together(t)
		c := cluster.NewCluster(t, cluster.Spec{All: 3, Shards: 1})
		separateClocks(t, c)
		c.Start()
		g := newRegister(t, c.Nodes, 4, 5)
		r := dice(t)
		for i := range rounds(3, 20) {
			n := shardLeader(t, c, 1)
			if i%3 == 2 {
				n = metaLeader(t, c)
			}
			still := 1500*time.Millisecond + time.Duration(r.Int64N(int64(2500*time.Millisecond)))
			t.Logf("%s is suspended for %s", n.Name, still)
			n.Pause()
			<-time.After(still)
			n.Continue()
			g.progress(t)
		}
		c.AwaitReady(time.Minute)
		g.check(t)
	})
	t.Run("unreachable", func(t *testing.T) {
		together(t)
		c := cluster.NewCluster(t, cluster.Spec{All: 3, Shards: 1})
		gates := map[*cluster.Node]*cluster.Gate{}
		for _, n := range c.Nodes {
			gates[n] = n.Behind()
		}
		c.Seed()
		c.Start()
		g := newRegister(t, c.Nodes, 4, 5)
		for range rounds(2, 10) {
			n := shardLeader(t, c, 1)
			t.Logf("the port of %s is blocked", n.Name)
			gates[n].Shut()
			cluster.Eventually(t, time.Minute, func() error { return leadsNothing(c, n) })
			g.progress(t)
			gates[n].Open()
			g.progress(t)
		}
		c.AwaitReady(time.Minute)
		g.check(t)
	})
	t.Run("cut off", func(t *testing.T) {
		c := cluster.NewCluster(t, cluster.Spec{All: 3, Shards: 1})
		n := newNetwork(t, c)
		c.Start()
		g := newRegister(t, c.Nodes, 4, 5)
		for i := range rounds(2, 8) {
			leader := shardLeader(t, c, 1)
			var at int
			var ways [][2]int
			for k, node := range c.Nodes {
				if node == leader {
					at = k
				}
			}
			for k := range c.Nodes {
				if k != at {
					ways = append(ways, [2]int{at, k})
				}
			}
			t.Logf("%s is isolated", leader.Name)
			pairs(n.cut, ways...)
			if i%2 == 1 { // its process is stopped while others take over
				leader.Pause()
				<-time.After(3 * time.Second)
				leader.Continue()
			}
			g.progress(t)
			pairs(n.heal, ways...)
			g.progress(t)
		}
		c.AwaitReady(time.Minute)
		g.check(t)
	})
}

// separateClocks gives the nodes monotonic clocks that differ by days, if possible, because a node must not depend
// on another node's clock.
func separateClocks(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	command := func(ahead int) []string { return []string{"unshare", "--time", "--monotonic", fmt.Sprint(ahead)} }
	if out, err := exec.Command("unshare", append(command(1)[1:], "true")...).CombinedOutput(); err != nil {
		t.Logf("the monotonic clocks of all nodes are the same: no time namespaces: %v: %s", err, out)
		return
	}
	for i, n := range c.Nodes {
		n.By(command(i * 1000000)...)
	}
}

// TestSetBack replaces a node's folder with an earlier copy while the other nodes work. No acknowledged row may be
// lost, no read may return less than before, and all replicas must agree in the end. If the cluster detects the
// earlier copy, it refuses the folder, and the node comes back with an empty folder.
func TestSetBack(t *testing.T) {
	together(t)
	c, l := start(t, cluster.Spec{All: 3}, mixed)
	g := newRegister(t, c.Nodes, 2, 2)
	for i := range rounds(1, 10) {
		n := c.Nodes[i%3]
		n.Kill()
		kept := n.Dir + ".kept"
		if err := os.CopyFS(kept, os.DirFS(n.Dir)); err != nil {
			t.Fatal(err)
		}
		n.Launch()
		c.AwaitReady(time.Minute)
		l.AwaitAcked(t, 500)
		l.Fault("the folder of %s is replaced with an earlier copy", n.Name)
		n.Kill()
		shardLeader(t, c, 1)
		shardLeader(t, c, 2)
		l.AwaitAcked(t, 500) // written to the others alone, so that each of them has all rows
		g.progress(t)
		old, err := n.Identity()
		if err := errors.Join(err, os.RemoveAll(n.Dir), os.Rename(kept, n.Dir)); err != nil {
			t.Fatal(err)
		}
		if err := n.TryStart(cluster.Generous(time.Minute)); err != nil {
			if !strings.Contains(n.Log(), "is older than its last state in the cluster") {
				t.Fatal(err)
			}
			t.Logf("%s is refused, and starts with an empty folder", n.Name)
			if err := os.RemoveAll(n.Dir); err != nil {
				t.Fatal(err)
			}
			n.Launch()
			l.AwaitAcked(t, 500)
			run(t, c.Routers[(i+1)%3], operation{Kind: "node-decommission", Node: old.NodeID})
		}
		g.progress(t)
		c.AwaitReady(time.Minute)
		l.AwaitAcked(t, 500)
	}
	g.check(t)
	end(t, c, l, 3)
	l.Report(t, 0, 0)
}
