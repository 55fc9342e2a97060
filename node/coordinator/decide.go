package coordinator

import (
	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
)

// decide returns the next step of an operation. It depends only on its arguments, so a new leader continues where the
// previous one stopped.
//
// A new leader of the metadata group knows nothing about a node until the node reports. Because of such a node,
// decide ends no operation before the node reports or counts as down.
func decide(snap *snapshot.Snapshot, op *metapb.Operation) decision {
	d := decideKind(snap, op)
	if d.end == metapb.OperationState_OPERATION_STATE_FAILED {
		if silent := snap.Unheard(); len(silent) > 0 {
			return wait(op.Step, "the metadata group has a new leader: %s may still report", snap.Labels(silent))
		}
	}
	return d
}

func decideKind(snap *snapshot.Snapshot, op *metapb.Operation) decision {
	switch op.Kind {
	case operation.ShardAdd:
		return addShards(snap, op)
	case operation.ShardMove, operation.ReplicaRepair:
		return moveReplica(snap, op)
	case operation.ReplicaRebuild:
		return rebuildReplica(snap, op)
	case operation.ReplicaChange:
		return changeReplicas(snap, op)
	case operation.TableMove, operation.TablePartition:
		return moveTable(snap, op)
	case operation.ShardSplitHot:
		return splitHot(snap, op)
	case operation.NodeDrain, operation.NodeDecommission:
		return drainNode(snap, op)
	case operation.Rebalance:
		return rebalance(snap, op)
	case operation.ShardDrop:
		return dropShard(snap, op)
	case operation.ShardRemove:
		return removeShard(snap, op)
	}
	return failed(op.Step,
		"this program does not know operations of kind %q: start a program of the same version as the node that started "+
			"the operation", op.Kind)
}
