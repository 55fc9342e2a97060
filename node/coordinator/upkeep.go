package coordinator

import (
	"cmp"
	"fmt"
	"time"

	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
)

// forgetReplaced removes a node that has no replicas and has been silent for a while if another node with its name
// answers at its address. The new node was started there with an empty data folder, for example after a disk was
// lost, so the former node cannot return.
func forgetReplaced(snap *snapshot.Snapshot) *act {
	for _, n := range snap.Status.Nodes {
		id := n.GetNode().GetId()
		m := snap.Member(id) // a learner leaves the group when its node is removed
		if !n.Down || snap.SilentFor(id) < snap.Limits.GiveUpAfter || m != nil && m.Voter || len(shardsOn(snap, id)) > 0 ||
			snap.FindRunning(func(op *metapb.Operation) bool {
				return op.NodeId == id || op.FromNode == id || op.ToNode == id
			}) != nil {
			continue
		}
		if heir := snapshot.ReplacedBy(snap, n.Node); heir != "" {
			return &act{what: fmt.Sprintf("remove node %s: node %s has its name, %s, and its address, %s", id, heir, n.Node.Name,
				n.Node.RpcAddr), propose: command(snap, func(c *metapb.Command) {
				c.Op = &metapb.Command_RemoveNode{RemoveNode: &metapb.RemoveNode{NodeId: id}}
			})}
		}
	}
	return nil
}

// raiseVersion raises the version of the cluster to the highest version that all its nodes support, once they have
// supported it for a while.
func raiseVersion(snap *snapshot.Snapshot) *act {
	lowest := uint32(0)
	for _, n := range snap.Status.Nodes {
		known := cmp.Or(n.GetReport().GetMaxProtocol(), n.GetNode().GetMaxProtocol(), 1)
		if !snap.Alive(n.GetNode().GetId()) {
			return nil // the node may return with an older program
		}
		if lowest == 0 || known < lowest {
			lowest = known
		}
	}
	if lowest <= snap.Status.ClusterVersion || time.Duration(snap.Status.LeadingNanos) < snap.Limits.FinaliseAfter ||
		snap.StableFor < snap.Limits.FinaliseAfter {
		return nil
	}
	return &act{
		what: fmt.Sprintf("raise the version of the cluster to %d", lowest),
		propose: command(snap, func(c *metapb.Command) {
			c.Op = &metapb.Command_SetClusterVersion{SetClusterVersion: &metapb.SetClusterVersion{Version: lowest}}
		}),
	}
}

// When there are more than trimHistoryAt ended operations, all except the newest keepHistory are dropped.
const keepHistory, trimHistoryAt = 200, 250

func trimHistory(snap *snapshot.Snapshot) *act {
	ended := 0
	for _, op := range snap.Operations {
		if op.State != metapb.OperationState_OPERATION_STATE_RUNNING {
			ended++
		}
	}
	if ended < trimHistoryAt {
		return nil
	}
	return &act{what: "forget old operations", propose: command(snap, func(c *metapb.Command) {
		c.Op = &metapb.Command_DropOperations{DropOperations: &metapb.DropOperations{Keep: keepHistory}}
	})}
}
