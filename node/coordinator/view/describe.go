package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/router/httpapi/clusterapi"
)

// DescribeAlone describes the cluster from the copy of the metadata on one node, self, while no leader of the
// metadata group answers.
func DescribeAlone(snap *snapshot.Snapshot, self string, err error) *clusterapi.Status {
	out := Describe(snap)
	for i := range out.Shards {
		out.Shards[i].State = "unknown"
	}
	out.Health, out.FailureTolerance, out.LimitedBy, out.UnderReplicated = healthBroken, -1, "the metadata group", 0
	out.Problems = []clusterapi.Problem{{
		Severity: critical,
		Text: fmt.Sprintf("no leader of the metadata group answers. Rows are still written and read where their shards "+
			"work. Tables cannot be created or changed. What is shown is the last state that this node received. The "+
			"error was: %s", snap.Spell(err.Error())),
		Advice: adviseLeaderless(snap, self),
	}}
	return out
}

// adviseLeaderless returns what to do on node self while no leader of the metadata group answers.
func adviseLeaderless(snap *snapshot.Snapshot, self string) string {
	var others []string
	for _, n := range snap.Status.Nodes {
		if snapshot.InMeta(n.Node) && n.Node.GetId() != self {
			others = append(others, n.Node.GetId())
		}
	}
	if len(others) == 0 {
		return "no other node has the role meta: check the log of this node, and whether its disk is full or slow"
	}
	return fmt.Sprintf("check which of the other nodes with the role meta (%s) run, and start the stopped ones. More "+
		"than half of the voters must answer. If they are lost for good, see 'cordwood recover --help'", snap.Labels(others))
}

// Describe lists the nodes, shards and running operations of the cluster.
func Describe(snap *snapshot.Snapshot) *clusterapi.Status {
	out := &clusterapi.Status{
		ClusterID: snap.Status.ClusterId, Version: snap.Status.ClusterVersion,
		Replication:     max(snap.Status.GetSettings().GetReplication(), 1),
		RebalancePaused: snap.Status.GetSettings().GetRebalancePaused(),
		Nodes:           []clusterapi.Node{}, Shards: []clusterapi.Shard{}, Operations: []clusterapi.Operation{},
		UnknownNodes: []string{},
	}
	if snap.Status.Leader != "" {
		out.Leader = snap.Label(snap.Status.Leader)
	}
	out.FailureTolerance, out.LimitedBy = snapshot.ClusterTolerance(snap)
	led := snap.Led()
	for _, n := range snap.Status.Nodes {
		out.Nodes = append(out.Nodes, describeNode(snap, n, led))
	}
	slices.SortFunc(out.Nodes, func(a, b clusterapi.Node) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
	for _, s := range snap.Status.Shards {
		d := describeShard(snap, s)
		if d.State != snapshot.ConditionStarting && d.State != snapshot.ConditionUnknown &&
			!snap.Empty(s) && len(snap.LivingReplicas(s)) < snapshot.Want(s) {
			out.UnderReplicated++
		}
		out.Shards = append(out.Shards, d)
	}
	slices.SortFunc(out.Shards, func(a, b clusterapi.Shard) int { return cmp.Compare(a.ID, b.ID) })
	for _, op := range snap.Running() {
		out.Operations = append(out.Operations, Operation(snap, op))
	}
	for _, id := range snap.Unknown() {
		out.UnknownNodes = append(out.UnknownNodes, snap.Label(id))
	}
	out.RowsAside = listAside(snap)
	out.ObjectStorage = objectStorageOf(snap)
	return out
}

// nodeState returns the state of a node in one or two words.
func nodeState(snap *snapshot.Snapshot, n *metapb.NodeStatus) string {
	id := n.GetNode().GetId()
	switch {
	case n.Down:
		return "down"
	case snap.Silent(id) && snap.Stopping(id):
		return "stopped"
	case snap.Silent(id):
		return "silent"
	case snap.Unreachable(id):
		return "unreachable"
	case snap.Stopping(id):
		return "stopping"
	case n.Node.GetState() == metapb.NodeState_NODE_STATE_DRAINING:
		return "draining"
	case n.Node.GetState() == metapb.NodeState_NODE_STATE_DRAINED:
		return "drained"
	case snap.Joining(id):
		return "starting"
	case n.Report == nil:
		return "unknown"
	}
	return "up"
}

func describeNode(snap *snapshot.Snapshot, n *metapb.NodeStatus, led map[string]int) clusterapi.Node {
	id := n.GetNode().GetId()
	out := clusterapi.Node{
		ID: id, Name: n.Node.GetName(), Zone: n.Node.GetZone(), Roles: n.Node.GetRoles(), State: nodeState(snap, n),
		SilentSeconds: time.Duration(n.SilentNanos).Seconds(), RPCAddr: n.Node.GetRpcAddr(), HTTPAddr: n.Node.GetHttpAddr(),
		Version: cmp.Or(n.GetReport().GetVersion(), n.Node.GetVersion()), Leads: led[id],
		DiskUsed: n.GetReport().GetDiskUsed(), DiskCapacity: n.GetReport().GetDiskCapacity(),
	}
	for _, s := range snap.Status.Shards {
		if slices.Contains(s.Replicas, id) || slices.Contains(s.Learners, id) {
			out.Replicas++
			if r := snap.Replica(id, s); r != nil {
				out.Bytes += r.SegmentBytes + r.MemtableBytes + r.LogBytes
			}
		}
	}
	if m := snap.Member(id); m != nil {
		switch {
		case snap.Status.Leader == id:
			out.Meta = "leader"
		case m.Voter:
			out.Meta = "voter"
		default:
			out.Meta = "learner"
		}
	}
	return out
}

// shardState returns the state of a shard as a text. unready is the number of its voters that
// cannot serve.
func shardState(snap *snapshot.Snapshot, s *metapb.Shard, unready int) string {
	switch condition := snap.Condition(s); {
	case snap.Empty(s):
		return "retiring"
	case condition == snapshot.ConditionNone && snap.Groups[s.Id].Leader != "":
		return "leader silent"
	case condition != snapshot.ConditionLed:
		return condition
	case len(snap.LivingReplicas(s)) < snapshot.Want(s):
		return "under-replicated"
	case unready > 0:
		return "catching up"
	case s.Retiring:
		return "retiring"
	case snap.FindRunning(func(op *metapb.Operation) bool { return op.ShardId == s.Id }) != nil:
		return "moving"
	}
	return "ok"
}

func describeShard(snap *snapshot.Snapshot, s *metapb.Shard) clusterapi.Shard {
	g := snap.Groups[s.Id]
	out := clusterapi.Shard{
		ID: s.Id, Want: snapshot.Want(s), Term: g.Term, Index: g.Last, Bytes: g.Bytes, Replicas: []string{},
		Learners: []string{}, Unready: []string{},
	}
	for _, id := range s.Replicas {
		out.Replicas = append(out.Replicas, snap.Label(id))
		if r := snap.Replica(id, s); r != nil && snap.Alive(id) && !r.CaughtUp && g.Applied > r.AppliedIndex {
			out.Lag = max(out.Lag, g.Applied-r.AppliedIndex)
		}
		if snap.WhyUnready(id, s) != "" {
			out.Unready = append(out.Unready, snap.Label(id))
		}
	}
	for _, id := range s.Learners {
		out.Learners = append(out.Learners, snap.Label(id))
	}
	out.State = shardState(snap, s, len(out.Unready))
	if g.Leader != "" {
		out.Leader = snap.Label(g.Leader)
	}
	return out
}
