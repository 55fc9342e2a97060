package coordinator

import (
	"fmt"
	"slices"

	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
)

// initialShards creates the shards of a new cluster once all seeds have joined. If the seeds are unknown, it waits
// until no other node has joined for a moment.
func initialShards(snap *snapshot.Snapshot) *act {
	set := snap.Status.GetSettings()
	if set.GetInitialShards() == 0 {
		return nil
	}
	if snap.FindRunning(func(op *metapb.Operation) bool { return op.Kind == operation.ShardAdd }) != nil {
		return nil
	}
	if slices.ContainsFunc(snap.Operations, func(op *metapb.Operation) bool {
		return op.GetShardAdd().GetInitial() && op.State == metapb.OperationState_OPERATION_STATE_CANCELLED
	}) {
		next := &metapb.Settings{Replication: set.Replication, RebalancePaused: set.RebalancePaused}
		return &act{what: "create no more initial shards", propose: command(snap, func(c *metapb.Command) {
			c.Op = &metapb.Command_SetSettings{SetSettings: &metapb.SetSettings{Settings: next}}
		})}
	}
	replicas := int(max(set.Replication, 1))
	if _, why := snapshot.Homes(snap, replicas, ""); why != "" || snap.StableFor < snap.Limits.Settle && !snap.Gathered {
		return nil
	}
	return startOperation(snap, operation.ShardAdd, "the first shards of the cluster", func(op *metapb.Operation) {
		op.Want = uint32(replicas)
		p := operation.ShardAddProgress(op)
		p.Count, p.Initial = set.InitialShards, true
	})
}

// shardsForNewNodes creates shards for a node that has joined and holds none, so that new tables and hot tables are
// written there at once. It stops at a few shards for each node. After that, and for a node that was drained before,
// replicas are moved to the node instead.
func shardsForNewNodes(snap *snapshot.Snapshot) *act {
	if snap.Status.GetSettings().GetInitialShards() > 0 || len(snap.Shards) == 0 || snap.StableFor < snap.Limits.Settle {
		return nil
	}
	if snap.FindRunning(func(op *metapb.Operation) bool {
		return op.Kind == operation.ShardAdd || op.Kind == operation.Rebalance
	}) != nil {
		return nil
	}
	holding := map[string]bool{}
	for _, s := range snap.Status.Shards {
		for _, id := range slices.Concat(s.Replicas, s.Learners) {
			holding[id] = true
		}
	}
	for _, n := range snap.Status.Nodes {
		id := n.GetNode().GetId()
		if holding[id] || snap.WhyNoReplicas(id) != "" || !cameLater(snap, n.Node) || rebuildsOn(snap, id) {
			continue
		}
		others := max(len(holding), 1)
		per := (len(snap.Shards) + others - 1) / others
		count := min(per, snap.Limits.ShardsPerNode, snap.Limits.ShardsPerNode*nodesForShards(snap)-len(snap.Shards))
		if a := fillNode(snap, n.Node, count); a != nil {
			return a
		}
	}
	return nil
}

// nodesForShards counts the nodes that may hold shards.
func nodesForShards(snap *snapshot.Snapshot) (n int) {
	for _, node := range snap.Status.Nodes {
		if snapshot.HoldsShards(node.Node) {
			n++
		}
	}
	return n
}

// fillNode starts work for a node without shards: count new shards, or if count is 0, moves of
// replicas.
func fillNode(snap *snapshot.Snapshot, n *metapb.Node, count int) *act {
	if count > 0 && !wasDrained(snap, n.Id) && !shardsReduced(snap, n) {
		return startOperation(snap, operation.ShardAdd, fmt.Sprintf("node %s has joined", snap.Name(n.Id)),
			func(op *metapb.Operation) {
				op.ToNode = n.Id
				operation.ShardAddProgress(op).Count = uint32(count)
			})
	}
	if snap.Status.GetSettings().GetRebalancePaused() || snap.SinceLast(operation.Rebalance) < snap.Limits.RebalanceRest {
		return nil
	}
	return startOperation(snap, operation.Rebalance, fmt.Sprintf("node %s holds no shard", snap.Name(n.Id)),
		func(*metapb.Operation) {})
}

// cameLater reports whether a node joined after the first shards had been created. The number of
// first shards is the operator's choice and may be lower than the number of nodes.
func cameLater(snap *snapshot.Snapshot, n *metapb.Node) bool {
	for _, op := range snap.Operations {
		if op.GetShardAdd().GetInitial() && op.EndedUnixNano > 0 && n.RegisteredUnixNano <= op.EndedUnixNano {
			return false
		}
	}
	return true
}

// shardsReduced reports whether a shard is being retired, or was retired since a node joined. Users who reduce the
// number of shards want no new ones.
func shardsReduced(snap *snapshot.Snapshot, n *metapb.Node) bool {
	return slices.ContainsFunc(snap.Operations, func(op *metapb.Operation) bool {
		return op.Kind == operation.ShardRemove && op.CreatedUnixNano >= n.RegisteredUnixNano &&
			(op.State == metapb.OperationState_OPERATION_STATE_RUNNING || op.State == metapb.OperationState_OPERATION_STATE_DONE)
	})
}

// wasDrained reports whether a node was drained before.
func wasDrained(snap *snapshot.Snapshot, id string) bool {
	return slices.ContainsFunc(snap.Operations, func(op *metapb.Operation) bool {
		return op.NodeId == id && op.Kind == operation.NodeDrain
	})
}
