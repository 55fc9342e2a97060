package snapshot

import (
	"fmt"
	"slices"

	"cordwood/proto/metapb"
)

// HoldsShards reports whether a node has the role shard.
func HoldsShards(n *metapb.Node) bool { return slices.Contains(n.GetRoles(), "shard") }

// InMeta reports whether a node has the role meta.
func InMeta(n *metapb.Node) bool { return slices.Contains(n.GetRoles(), "meta") }

// WhyNoReplicas returns the reason why a node must not get replicas, or an empty text.
func (snap *Snapshot) WhyNoReplicas(id string) string {
	n := snap.Nodes[id]
	switch {
	case n == nil:
		return fmt.Sprintf("there is no node %s", id)
	case !HoldsShards(n.Node):
		return fmt.Sprintf("node %s does not hold shards: its roles are %v", snap.Name(id), n.Node.Roles)
	case snap.Drained(id):
		return fmt.Sprintf("node %s is drained: 'cordwood node undrain %s' makes it active again", snap.Name(id),
			snap.Name(id))
	case !snap.Alive(id):
		return fmt.Sprintf("node %s does not answer", snap.Name(id))
	case snap.Stopping(id):
		return fmt.Sprintf("node %s is stopping", snap.Name(id))
	case n.GetReport().GetDiskFull():
		return fmt.Sprintf("the disk of node %s is full", snap.Name(id))
	case snap.Unreachable(id):
		return fmt.Sprintf("node %s cannot be reached by others", snap.Name(id))
	case slices.ContainsFunc(n.GetReport().GetReplicas(), func(r *metapb.ReplicaReport) bool {
		return snap.failsToFlush(id, r)
	}):
		return fmt.Sprintf("node %s cannot write segments", snap.Name(id))
	}
	return ""
}

// Drained reports whether a node has moved its replicas to others, or is doing so.
func (snap *Snapshot) Drained(id string) bool {
	state := snap.Nodes[id].GetNode().GetState()
	return state == metapb.NodeState_NODE_STATE_DRAINING || state == metapb.NodeState_NODE_STATE_DRAINED
}

// Emptied reports whether a node was drained and nothing needs it any more.
func (snap *Snapshot) Emptied(id string) bool {
	return snap.Drained(id) && snap.Member(id) == nil &&
		!slices.ContainsFunc(snap.Status.Shards, func(s *metapb.Shard) bool { return slices.Contains(s.Replicas, id) })
}

// ReplacedBy returns a node that answers, was registered after n, and has the same name and address: it
// was started in place of n with an empty data folder. It returns an empty text if there is no such
// node.
func ReplacedBy(snap *Snapshot, n *metapb.Node) string {
	for _, status := range snap.Status.Nodes {
		other := status.GetNode()
		same := other.GetName() == n.GetName() && other.GetRpcAddr() == n.GetRpcAddr() && n.GetRpcAddr() != ""
		later := other.GetRegisteredUnixNano() > n.GetRegisteredUnixNano()
		if other.GetId() != n.GetId() && same && later && status.Report != nil && snap.Alive(other.GetId()) {
			return other.Id
		}
	}
	return ""
}
