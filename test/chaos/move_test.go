package chaos

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cordwood/proto/schema"
	"cordwood/test/cluster"
)

// killLeaders kills the leader of the metadata group from time to time, until stop is called.
func killLeaders(t *testing.T, c *cluster.Cluster, l *Load, r *rand.Rand, rest time.Duration) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-quit:
				return
			case <-time.After(rest/2 + time.Duration(r.Int64N(int64(rest)))):
			}
			s, err := status(c)
			if err != nil {
				continue
			}
			n := node(c, s.Leader)
			if n == nil || !n.Running() {
				continue
			}
			l.Fault("kill %s, which leads the metadata group", n.Name)
			n.Kill()
			<-time.After(rest / 4)
			n.Launch()
		}
	}()
	return func() {
		close(quit)
		<-done
		t.Logf("%d times the metadata group lost its leader, or a move began", len(l.Gaps()))
	}
}

// TestReplicaMoves moves replicas between nodes, and cancels some moves, while rows are written,
// and while the metadata group loses its leader.
func TestReplicaMoves(t *testing.T) {
	together(t)
	r := dice(t)
	c, l := start(t, cluster.Spec{Meta: 3, Shard: 4, Router: 1, Shards: 2}, mixed)
	stop := killLeaders(t, c, l, rand.New(rand.NewPCG(r.Uint64(), 0)), 3*time.Second) //nolint:gosec // a test's choices
	failed := 0
	for i := range rounds(3, 100) {
		s := anyStatus(t, c)
		shard := s.Shards[r.IntN(len(s.Shards))]
		var to string
		for _, at := range r.Perm(len(c.Shards)) {
			if id, err := c.Shards[at].Identity(); err == nil && !slices.Contains(shard.Replicas, id.NodeID) {
				to = id.NodeID
				break
			}
		}
		from := shard.Replicas[r.IntN(len(shard.Replicas))]
		op := begin(t, c.Routers[0], operation{Kind: "shard-move", Shard: shard.Id, From: from, To: to})
		if op == nil {
			t.Fatal("the move is not listed as an operation")
		}
		cancelled := i%3 == 1
		if cancelled {
			pause(r, 0, 500*time.Millisecond)
			cancel(t, c.Routers[0], op)
		}
		op = await(t, c.Routers[0], op)
		if op.State != "done" && !cancelled {
			t.Logf("shard %d from %s to %s: %s at %s: %s", shard.Id, from, to, op.State, op.Step, op.Reason)
			failed++
		}
		l.AwaitAcked(t, 500)
	}
	stop()
	c.AwaitReady(time.Minute)
	if failed > rounds(3, 100)/2 {
		t.Errorf("%d of %d moves did not happen", failed, rounds(3, 100))
	}
	end(t, c, l, 3)
	l.Report(t, 0, 0)
}

// TestTableMoves moves tables between shards, some with their rows, and spreads one table over all shards, while rows
// are written and the metadata group loses its leader.
func TestTableMoves(t *testing.T) {
	together(t)
	r := dice(t)
	c, l := start(t, cluster.Spec{Meta: 3, Shard: 1, Router: 2, Shards: 3}, mixed)
	stop := killLeaders(t, c, l, rand.New(rand.NewPCG(r.Uint64(), 0)), 3*time.Second) //nolint:gosec // a test's choices
	for i := range rounds(8, 200) {
		name := TableName(i % 4)
		now := byName(t, c)[name].Placement
		rows := i%2 == i/4%2
		l.Fault("move %s, with rows: %t", name, rows)
		to := now[len(now)-1].ShardId%3 + 1
		run(t, c.Routers[i%2], operation{Kind: "table-move", Table: "public." + name, ToShards: []uint32{to}, WithRows: rows})
		if has := schema.FromProto(byName(t, c)[name]).Shards(); rows && !slices.Equal(has, []uint32{to}) {
			t.Errorf("table %s went to shard %d with its rows, but has rows in shards %v", name, to, has)
		}
		l.AwaitAcked(t, 500)
	}
	l.Fault("partition %s", TableName(0))
	run(t, c.Routers[0], operation{Kind: "table-partition", Table: "public." + TableName(0), Partitions: 3})
	l.AwaitAcked(t, 500)
	if p := byName(t, c)[TableName(0)].Placement; len(p[len(p)-1].MoreShards) != 2 {
		t.Errorf("table %s should have 3 partitions: %v", TableName(0), p)
	}
	stop()
	c.AwaitReady(time.Minute)
	end(t, c, l, 1)
	l.WantAnswers(t, "tables were moved")
	l.Report(t, 500*time.Millisecond, 3*time.Second)
}

// TestScale adds nodes under load, and then drains and removes nodes until the original number is left.
func TestScale(t *testing.T) {
	together(t)
	c, l := start(t, cluster.Spec{Meta: 1, Shard: 3, Router: 2, Shards: 2}, mixed)
	for range rounds(1, 3) {
		n := c.Add("shard")
		l.Fault("add %s", n.Name)
		n.Start()
		l.AwaitAcked(t, 200)
	}
	for i := range rounds(1, 3) {
		n := c.Shards[i]
		id, err := n.Identity()
		if err != nil {
			t.Fatal(err)
		}
		l.Fault("drain %s", n.Name)
		run(t, c.Routers[0], operation{Kind: "node-drain", Node: id.NodeID})
		for _, shard := range anyStatus(t, c).Shards {
			if slices.Contains(shard.Replicas, id.NodeID) {
				t.Errorf("shard %d has a replica on %s, which is drained", shard.Id, n.Name)
			}
		}
		l.AwaitAcked(t, 200)
		run(t, c.Routers[0], operation{Kind: "node-decommission", Node: id.NodeID})
		l.Fault("stop %s", n.Name)
		n.Kill()
		l.AwaitAcked(t, 200)
		run(t, c.Routers[0], operation{Kind: "node-remove", Node: id.NodeID})
		for _, x := range anyStatus(t, c).Nodes {
			if x.Node.Id == id.NodeID {
				t.Errorf("%s is still a node of the cluster, after it was removed", n.Name)
			}
		}
	}
	end(t, c, l, 3)
	l.Report(t, 0, 0)
	l.WantAnswers(t, "nodes were added and removed")
}
