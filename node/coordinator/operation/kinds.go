// Package operation defines the kinds of operations of the cluster, and reads and writes their
// records in the metadata. Package coordinator decides what operations do.
package operation

import (
	"time"

	"cordwood/proto/metapb"
)

// The kinds of operations.
const (
	ShardAdd         = "shard-add"
	ShardMove        = "shard-move"
	ShardSplitHot    = "shard-split-hot"
	ShardDrop        = "shard-drop"
	ShardRemove      = "shard-remove"
	TableMove        = "table-move"
	TablePartition   = "table-partition"
	NodeDrain        = "node-drain"
	NodeDecommission = "node-decommission"
	ReplicaRepair    = "replica-repair"
	ReplicaRebuild   = "replica-rebuild"
	ReplicaChange    = "replica-change"
	Rebalance        = "rebalance"
)

// Kinds lists all kinds.
var Kinds = []string{
	ShardAdd, ShardMove, ShardSplitHot, ShardDrop, ShardRemove, TableMove, TablePartition, NodeDrain,
	NodeDecommission, ReplicaRepair, ReplicaRebuild, ReplicaChange, Rebalance,
}

// These requests are executed at once or change an operation. They are not operations themselves.
const (
	RequestUndrain = "node-undrain"
	RequestRemove  = "node-remove"
	RequestPause   = "rebalance-pause"
	RequestResume  = "rebalance-resume"
)

// ByCluster is the requester of operations that the cluster starts by itself.
const ByCluster = "cluster"

// StepCopy is the step that copies rows. Its duration depends on the amount of data.
const StepCopy = "copy"

// StateName returns the state of an operation as users see it.
func StateName(s metapb.OperationState) string {
	switch s {
	case metapb.OperationState_OPERATION_STATE_RUNNING:
		return "running"
	case metapb.OperationState_OPERATION_STATE_DONE:
		return "done"
	case metapb.OperationState_OPERATION_STATE_CANCELLED:
		return "cancelled"
	case metapb.OperationState_OPERATION_STATE_FAILED:
		return "failed"
	}
	return "unknown"
}

// Ended returns when an operation ended.
func Ended(op *metapb.Operation) time.Time { return time.Unix(0, op.EndedUnixNano) }

// About returns the id of the shard that an operation is about, or 0.
func About(op *metapb.Operation) uint32 {
	switch op.Kind {
	case ShardDrop:
		return op.GetShardDrop().GetShardId()
	case ShardRemove:
		return op.GetShardRemove().GetShardId()
	}
	return op.ShardId
}
