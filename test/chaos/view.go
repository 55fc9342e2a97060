package chaos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"cordwood/node/rpcport"
	"cordwood/proto/metapb"
	"cordwood/proto/schemapb"
	"cordwood/test/cluster"
)

// status asks the leader of the metadata group, which it looks for.
func status(c *cluster.Cluster) (*metapb.StatusResponse, error) {
	err := errors.New("no node runs")
	for _, n := range c.Metas {
		if !n.Running() {
			continue
		}
		out := (*metapb.StatusResponse)(nil)
		if err = call(n, func(ctx context.Context, m metapb.MetaClient) (err error) {
			out, err = m.Status(ctx, &metapb.StatusRequest{})
			return err
		}); err == nil {
			return out, nil
		}
	}
	return nil, err
}

// call calls the metadata service of one node.
func call(n *cluster.Node, f func(ctx context.Context, m metapb.MetaClient) error) error {
	return calls(n, 5*time.Second, func(ctx context.Context, conn grpc.ClientConnInterface) error {
		return f(ctx, metapb.NewMetaClient(conn))
	})
}

// calls calls services of one node, as another node does, for so long at most.
func calls(
	n *cluster.Node, limit time.Duration, f func(ctx context.Context, conn grpc.ClientConnInterface) error,
) error {
	id, err := n.Identity()
	if err != nil {
		return err
	}
	dialer, err := n.Dialer("test")
	if err != nil {
		return err
	}
	me := rpcport.Member{ClusterID: id.ClusterID, NodeID: "test", Lowest: metapb.MinProtocol, Highest: metapb.MaxProtocol}
	conn, err := grpc.NewClient("passthrough:///"+n.RPC, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			conn, err := dialer.Dial(ctx, rpcport.Target{Addr: addr})
			if err != nil {
				return nil, err
			}
			if err := rpcport.Greet(ctx, conn, me, id.NodeID); err != nil {
				conn.Close()
				return nil, err
			}
			return conn, nil
		}))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // of a call that was made
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return f(ctx, conn)
}

// node returns the node with an id; nil if there is none.
func node(c *cluster.Cluster, id string) *cluster.Node {
	for _, n := range c.Nodes {
		if x, err := n.Identity(); err == nil && x.NodeID == id {
			return n
		}
	}
	return nil
}

// metaLeader returns the node that leads the metadata group.
func metaLeader(t testing.TB, c *cluster.Cluster) *cluster.Node {
	t.Helper()
	var leader *cluster.Node
	cluster.Eventually(t, 30*time.Second, func() error {
		s, err := status(c)
		if err != nil {
			return err
		}
		if leader = node(c, s.Leader); leader == nil {
			return fmt.Errorf("the leader %s of the metadata group is unknown", s.Leader)
		}
		return nil
	})
	return leader
}

// shardLeader returns the node that leads a shard, by its own report.
func shardLeader(t testing.TB, c *cluster.Cluster, shard uint32) *cluster.Node {
	t.Helper()
	var leader *cluster.Node
	cluster.Eventually(t, 30*time.Second, func() error {
		s, err := status(c)
		if err != nil {
			return err
		}
		for _, n := range s.Nodes {
			for _, r := range n.Report.GetReplicas() {
				if r.ShardId == shard && r.State == "Leader" && !n.Down {
					leader = node(c, n.Node.Id)
				}
			}
		}
		if leader == nil || !leader.Running() {
			return fmt.Errorf("no leader of shard %d", shard)
		}
		return nil
	})
	return leader
}

// anyStatus waits until the metadata group has a leader, and asks it.
func anyStatus(t testing.TB, c *cluster.Cluster) (out *metapb.StatusResponse) {
	t.Helper()
	cluster.Eventually(t, 30*time.Second, func() (err error) {
		out, err = status(c)
		return err
	})
	return out
}

// tables returns what the metadata group has of all tables.
func tables(t testing.TB, c *cluster.Cluster) (out []*schemapb.Table) {
	t.Helper()
	cluster.Eventually(t, 30*time.Second, func() error {
		s, err := status(c)
		if err != nil {
			return err
		}
		n := node(c, s.Leader)
		if n == nil {
			return fmt.Errorf("the leader %s of the metadata group is unknown", s.Leader)
		}
		out, err = tablesOf(n)
		return err
	})
	return out
}

// byName is tables by their names.
func byName(t testing.TB, c *cluster.Cluster) map[string]*schemapb.Table {
	t.Helper()
	out := map[string]*schemapb.Table{}
	for _, table := range tables(t, c) {
		out[table.Name] = table
	}
	return out
}

// tablesOf returns what a member of the metadata group has of all tables.
func tablesOf(n *cluster.Node) (out []*schemapb.Table, err error) {
	err = call(n, func(ctx context.Context, m metapb.MetaClient) error {
		stream, err := m.Watch(ctx, &metapb.WatchRequest{})
		if err != nil {
			return err
		}
		for {
			change, err := stream.Recv()
			if err != nil {
				return err
			}
			out = append(out, change.Tables...)
			if !change.Partial {
				return nil
			}
		}
	})
	return out, err
}

// checkReplicas waits until all replicas of every shard have applied the same entry of the
// log, which is the leader's last one, and none is missing. The load must have ended.
func checkReplicas(t testing.TB, c *cluster.Cluster, replicas int) {
	t.Helper()
	cluster.Eventually(t, time.Minute, func() error {
		s, err := status(c)
		if err != nil {
			return err
		}
		for _, shard := range s.Shards {
			var seen []string
			applied, last := map[uint64]bool{}, map[uint64]bool{} // not every entry is one to apply
			for _, n := range s.Nodes {
				for _, r := range n.Report.GetReplicas() {
					if r.ShardId != shard.Id || !slices.Contains(shard.Replicas, n.Node.Id) {
						continue
					}
					applied[r.AppliedIndex], last[r.LastIndex] = true, true
					seen = append(seen, fmt.Sprintf("%s %s applied %d of %d", n.Node.Name, r.State, r.AppliedIndex, r.LastIndex))
				}
			}
			if len(seen) != replicas || len(applied) != 1 || len(last) != 1 || len(shard.Replicas) != replicas ||
				len(shard.Learners) != 0 {
				return fmt.Errorf("shard %d (replicas %v, learners %v): %s; want %d replicas at one index",
					shard.Id, shard.Replicas, shard.Learners, strings.Join(seen, ", "), replicas)
			}
		}
		return nil
	})
}

// checkPlacement looks at the history of where each table's rows went: epochs follow one
// another, without a gap except handoffs, and each names shards that exist, none twice.
func checkPlacement(t testing.TB, c *cluster.Cluster) {
	t.Helper()
	s := anyStatus(t, c)
	for _, table := range tables(t, c) {
		for _, w := range placementFaults(table, s.Shards) {
			t.Errorf("table %s: %s: %v", table.Name, w, table.Placement)
		}
	}
}

func placementFaults(table *schemapb.Table, shards []*metapb.Shard) (wrong []string) {
	known := map[uint32]bool{}
	for _, s := range shards {
		known[s.Id] = true
	}
	if len(table.Placement) == 0 {
		return []string{"it has no place"}
	}
	for i, p := range table.Placement {
		if i > 0 && !follows(table.Placement[i-1], p) {
			wrong = append(wrong, "its epochs do not follow one another")
		}
		if i > 0 && p.SinceUnixNano < table.Placement[i-1].SinceUnixNano-int64(time.Minute) {
			wrong = append(wrong, "an epoch began before the one before it")
		}
		seen := map[uint32]bool{}
		for _, id := range append([]uint32{p.ShardId}, p.MoreShards...) {
			if !known[id] {
				wrong = append(wrong, fmt.Sprintf("there is no shard %d", id))
			}
			if seen[id] {
				wrong = append(wrong, fmt.Sprintf("shard %d is there twice", id))
			}
			seen[id] = true
		}
	}
	return wrong
}

// follows reports whether a table's epoch may be the next one after another. Each handoff takes
// two, in the first of which the table was closed, and leaves the second: one that was given
// up, where the rows were, and one that came to its end, where they went.
func follows(before, p *schemapb.Placement) bool {
	gap := int64(p.Epoch) - int64(before.Epoch)
	switch {
	case gap < 1 || before.Closed || p.Handed && !before.Handed:
		return false
	case before.Handed && !p.Handed:
		return gap%2 == 0
	case before.Handed: // by the same handoff, or by two
		return true
	default:
		return gap%2 == 1
	}
}
