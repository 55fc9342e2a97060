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

// status finds the leader of the metadata group and requests its status.
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

// calls calls services of one node, like another node, with a time limit.
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
	defer func() { _ = conn.Close() }() // the call has ended
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return f(ctx, conn)
}

// node returns the node with an id, or nil.
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

// shardLeader returns the node that leads a shard, according to the node's own report.
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

// anyStatus waits until the metadata group has a leader, and requests its status.
func anyStatus(t testing.TB, c *cluster.Cluster) (out *metapb.StatusResponse) {
	t.Helper()
	cluster.Eventually(t, 30*time.Second, func() (err error) {
		out, err = status(c)
		return err
	})
	return out
}

// tables returns all tables of the metadata group.
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

// byName returns the tables by their names.
func byName(t testing.TB, c *cluster.Cluster) map[string]*schemapb.Table {
	t.Helper()
	out := map[string]*schemapb.Table{}
	for _, table := range tables(t, c) {
		out[table.Name] = table
	}
	return out
}

// tablesOf returns all tables that a member of the metadata group has.
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

// checkReplicas waits until all replicas of every shard have applied the leader's last entry and none is missing. The
// load must have ended.
func checkReplicas(t testing.TB, c *cluster.Cluster, replicas int) {
	t.Helper()
	cluster.Eventually(t, time.Minute, func() error {
		s, err := status(c)
		if err != nil {
			return err
		}
		for _, shard := range s.Shards {
			var seen []string
			applied, last := map[uint64]bool{}, map[uint64]bool{} // some entries are not applied
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

// checkPlacement checks the placement history of each table. Epochs must be consecutive, except for handoffs, and
// each must contain existing shards, none twice.
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
		return []string{"it has no placement"}
	}
	for i, p := range table.Placement {
		if i > 0 && !follows(table.Placement[i-1], p) {
			wrong = append(wrong, "its epochs do not follow one another")
		}
		if i > 0 && p.SinceUnixNano < table.Placement[i-1].SinceUnixNano-int64(time.Minute) {
			wrong = append(wrong, "an epoch began before the previous one")
		}
		seen := map[uint32]bool{}
		for _, id := range append([]uint32{p.ShardId}, p.MoreShards...) {
			if !known[id] {
				wrong = append(wrong, fmt.Sprintf("there is no shard %d", id))
			}
			if seen[id] {
				wrong = append(wrong, fmt.Sprintf("shard %d is listed twice", id))
			}
			seen[id] = true
		}
	}
	return wrong
}

// follows reports whether p can be the next epoch of a table after before. Each handoff takes two epochs. In the
// first one, the table was closed. The second one remains, with the former shards if the handoff was given up, and
// with the new shards if it was finished.
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
