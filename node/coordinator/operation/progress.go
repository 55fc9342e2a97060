package operation

import "cordwood/proto/metapb"

// The progress of an operation is the data that its steps store in Operation.progress. Kinds with the same steps
// share one message. The getters of the record read it, as in op.GetTable().GetCopy(); they return zero values if
// nothing is stored.
//
// The functions below return the progress of a record for changing it. They create it if it is missing.

// ShardAddProgress returns the progress of a shard-add.
func ShardAddProgress(op *metapb.Operation) *metapb.ShardAddProgress {
	if op.GetShardAdd() == nil {
		op.Progress = &metapb.Operation_ShardAdd{ShardAdd: &metapb.ShardAddProgress{}}
	}
	return op.GetShardAdd()
}

// ReplicasProgress returns the progress of a change of the replicas of a shard.
func ReplicasProgress(op *metapb.Operation) *metapb.ReplicasProgress {
	if op.GetReplicas() == nil {
		op.Progress = &metapb.Operation_Replicas{Replicas: &metapb.ReplicasProgress{}}
	}
	return op.GetReplicas()
}

// ShardDropProgress returns the progress of a shard-drop.
func ShardDropProgress(op *metapb.Operation) *metapb.ShardDropProgress {
	if op.GetShardDrop() == nil {
		op.Progress = &metapb.Operation_ShardDrop{ShardDrop: &metapb.ShardDropProgress{}}
	}
	return op.GetShardDrop()
}

// ShardRemoveProgress returns the progress of a shard-remove.
func ShardRemoveProgress(op *metapb.Operation) *metapb.ShardRemoveProgress {
	if op.GetShardRemove() == nil {
		op.Progress = &metapb.Operation_ShardRemove{ShardRemove: &metapb.ShardRemoveProgress{}}
	}
	return op.GetShardRemove()
}

// TableProgress returns the progress of a table-move or table-partition.
func TableProgress(op *metapb.Operation) *metapb.TableProgress {
	if op.GetTable() == nil {
		op.Progress = &metapb.Operation_Table{Table: &metapb.TableProgress{}}
	}
	return op.GetTable()
}

// NodeProgress returns the progress of a node-drain or node-decommission.
func NodeProgress(op *metapb.Operation) *metapb.NodeProgress {
	if op.GetNode() == nil {
		op.Progress = &metapb.Operation_Node{Node: &metapb.NodeProgress{}}
	}
	return op.GetNode()
}

// RebalanceProgress returns the progress of a rebalance.
func RebalanceProgress(op *metapb.Operation) *metapb.RebalanceProgress {
	if op.GetRebalance() == nil {
		op.Progress = &metapb.Operation_Rebalance{Rebalance: &metapb.RebalanceProgress{}}
	}
	return op.GetRebalance()
}
