package coordinator

import (
	"fmt"
	"slices"
	"time"

	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/proto/shardpb"
)

// rebuildReplica implements replica-rebuild: a replica with damaged files leaves its group, is
// deleted, and is created again on the same node from the other replicas. A single file cannot be
// fetched, because replicas have different files.
//
// The damaged replica is removed only while all other replicas are present and intact. Until then
// the operation waits and can be cancelled; after that it continues to its end.
func rebuildReplica(snap *snapshot.Snapshot, op *metapb.Operation) decision {
	s, node := snap.Shards[op.ShardId], op.FromNode
	if s == nil {
		return failed("end", "there is no shard %d", op.ShardId)
	}
	g := snap.Groups[s.Id]
	if op.GetReplicas().GetUndo() != "" {
		d := undoReshape(snap, op, s, g, []string{node}, nil)
		if d.end != metapb.OperationState_OPERATION_STATE_UNSPECIFIED {
			d = failed("end", "%s: shard %d has one replica less now, and gets another one when a node is available",
				op.GetReplicas().GetUndo(), s.Id)
		}
		return d
	}
	if !op.GetReplicas().GetLeft() {
		return withdraw(snap, op, s, g, node)
	}
	if snap.Nodes[node] == nil {
		return beginUndo(fmt.Sprintf("node %s was removed while shard %d was rebuilt there", snap.Name(node), s.Id))
	}
	if g.Leader == "" {
		return wait(orStep(op, stepOpen), "%s", snap.WhyLeaderless(s))
	}
	adds, coming := []string{node}, !slices.Contains(g.Voters, node)
	if d, hit := admit(snap, op, s, g, adds, coming); hit {
		return d
	}
	if d, hit := promote(snap, op, s, g, adds, nil, coming); hit {
		return d
	}
	return finished("the replica of shard %d on node %s was rebuilt from the others", s.Id,
		snap.Name(node)).copied(g.Bytes, g.Bytes)
}

// cancelAfter is the time after which a requested removal can no longer take effect. It is longer than a call and a
// report take.
const cancelAfter = 15 * time.Second

// withdraw removes the damaged replica from its group and its node.
func withdraw(snap *snapshot.Snapshot, op *metapb.Operation, s *metapb.Shard, g *snapshot.Group, node string) decision {
	listed := slices.Contains(s.Replicas, node)
	if listed && (g.Leader == "" || slices.Contains(g.Voters, node)) { // nothing is changed yet
		if op.Cancel && op.GetReplicas().GetLeaving() && (g.Leader == "" || snap.UnchangedFor[op.Id] < cancelAfter) {
			return wait(stepRemove, "it is cancelled if the replica on node %s has not left the group already", snap.Name(node))
		}
		if op.Cancel {
			return cancelled("it was cancelled: the replica of shard %d on node %s is as it was", s.Id, snap.Name(node))
		}
		why, never := snapshot.WhyKeepDamaged(snap, s, g, node)
		switch {
		case never:
			return failed("end", "%s", why)
		case why != "":
			return wait(orStep(op, stepRemove), "%s", why)
		case g.Leader == node:
			d, _ := leadAway(snap, s, g, []string{node})
			return d
		}
		return call(stepRemove, fmt.Sprintf("the replica on node %s leaves the group", snap.Name(node)),
			changeGroup(s, g, node, shardpb.ChangeReplicasRequest_CHANGE_REMOVE)).remember(func(op *metapb.Operation) {
			operation.ReplicasProgress(op).Leaving = true
		})
	}
	switch {
	case listed:
		return call(stepRecord, fmt.Sprintf("the metadata no longer list node %s", snap.Name(node)),
			changeShard(snap, "remove from the metadata", s, func(c *metapb.ChangeShard) {
				c.Change = &metapb.ChangeShard_Remove{Remove: node}
			}))
	case op.Step == "":
		return failed("end", "shard %d has no replica on node %s: its replicas are on %s", s.Id, snap.Name(node),
			snap.Names(s.Replicas))
	}
	if d, hit := waitForCleaning(snap, s, []string{node}); hit {
		return d
	}
	return decision{
		step:   stepClean,
		reason: fmt.Sprintf("node %s has removed its damaged replica", snap.Name(node)),
		again:  true,
	}.remember(func(op *metapb.Operation) { operation.ReplicasProgress(op).Left = true })
}

// rebuildsOn reports whether a replica of the node is being rebuilt, or was until a moment ago.
func rebuildsOn(snap *snapshot.Snapshot, node string) bool {
	return slices.ContainsFunc(snap.Operations, func(op *metapb.Operation) bool {
		if op.Kind != operation.ReplicaRebuild || op.FromNode != node {
			return false
		}
		switch op.State {
		case metapb.OperationState_OPERATION_STATE_RUNNING:
			return true
		case metapb.OperationState_OPERATION_STATE_FAILED, metapb.OperationState_OPERATION_STATE_CANCELLED:
			return snap.Now.Sub(operation.Ended(op)) < rebuildRest
		case metapb.OperationState_OPERATION_STATE_DONE:
			// The newest report may still be about the former replica.
			return snap.Now.Sub(operation.Ended(op)) < snap.Limits.DownAfter
		}
		return false
	})
}
