package chaos

import (
	"fmt"
	"os"
	"testing"
	"time"

	"cordwood/test/cluster"
)

// TestKillOne kills random nodes of three, one at a time, while rows are written.
func TestKillOne(t *testing.T) {
	together(t)
	r := dice(t)
	c, l := start(t, cluster.Spec{All: 3}, mixed)
	for range rounds(3, 60) {
		n := c.Nodes[r.IntN(3)]
		l.Fault("kill %s", n.Name)
		n.Kill()
		pause(r, time.Second, 3*time.Second)
		n.Launch()
		c.AwaitReady(time.Minute)
		l.AwaitAcked(t, 200)
		if long() {
			pause(r, time.Second, 2*time.Second)
		}
	}
	end(t, c, l, 3)
	l.Report(t, 3*time.Second, 10*time.Second)
}

// TestKillAll kills all nodes at once. All acknowledged rows must be on disk.
func TestKillAll(t *testing.T) {
	together(t)
	r := dice(t)
	c, l := start(t, cluster.Spec{All: 3}, mixed)
	for range rounds(2, 20) {
		l.Fault("kill all")
		c.Kill()
		pause(r, time.Millisecond, 500*time.Millisecond)
		begin := time.Now()
		for _, n := range c.Nodes {
			n.Launch()
		}
		c.AwaitReady(time.Minute)
		took := time.Since(begin).Round(time.Millisecond)
		t.Logf("ready after %s", took)
		if long() && took > 15*time.Second {
			t.Errorf("ready after %s, want at most 15 s", took)
		}
		l.AwaitAcked(t, 200)
	}
	end(t, c, l, 3)
	l.Report(t, 0, 0)
}

// TestWipedNode removes the disk of a node. The node returns as a new one. When the operator gives up the old node,
// its replicas must be rebuilt, and the new node must become a member of the metadata group if the old one was a
// member.
func TestWipedNode(t *testing.T) {
	together(t)
	t.Run("replicas only", func(t *testing.T) { wipe(t, cluster.Spec{Meta: 1, Shard: 3, Router: 1}) })
	t.Run("every role", func(t *testing.T) { wipe(t, cluster.Spec{All: 3}) })
}

func wipe(t *testing.T, spec cluster.Spec) {
	c, l := start(t, spec, mixed)
	n := c.Shards[1]
	old, err := n.Identity()
	if err != nil {
		t.Fatal(err)
	}
	voters := len(anyStatus(t, c).Members)
	l.Fault("wipe %s", n.Name)
	n.Kill()
	if err := os.RemoveAll(n.Dir); err != nil {
		t.Fatal(err)
	}
	n.Launch()
	l.AwaitAcked(t, 500)
	run(t, c.Routers[0], operation{Kind: "node-decommission", Node: old.NodeID})
	c.AwaitReady(time.Minute)
	end(t, c, l, 3)
	for _, shard := range anyStatus(t, c).Shards {
		for _, id := range shard.Replicas {
			if id == old.NodeID {
				t.Errorf("shard %d still counts on node %s, whose disk is gone", shard.Id, id)
			}
		}
	}
	cluster.Eventually(t, time.Minute, func() error {
		count := 0
		for _, m := range anyStatus(t, c).Members {
			if m.NodeId == old.NodeID {
				return fmt.Errorf("node %s, whose disk is gone, is still a member of the metadata group", m.NodeId)
			}
			if m.Voter {
				count++
			}
		}
		if count != voters {
			return fmt.Errorf("the metadata group has %d voters, want %d", count, voters)
		}
		return nil
	})
	l.Report(t, 0, 0)
}
