package coordinator

import (
	"fmt"

	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
)

// decision is the next step of an operation: at most one act, which runs after the step is stored.
type decision struct {
	step   string
	reason string
	// done and total are the progress in bytes. Both are 0 if it is unknown.
	done, total int64
	toShards    []uint32 // nil if unchanged
	// progress changes the progress in the record that is stored before the act. after does the
	// same for the record that is stored once the act has succeeded. If it is nil, the progress
	// stays unchanged.
	progress, then func(*metapb.Operation)
	do             *act
	// again means that the step needs no act: decide runs again after storing it.
	again bool
	// end, if set, is the state in which the operation ends.
	end metapb.OperationState
}

// act is one call. A call may be repeated after a crash. If it was made before, it succeeds or is refused because a
// version is outdated.
type act struct {
	what     string // for the log
	propose  *metapb.Command
	replicas *replicasAct
	define   *defineAct
	members  *metapb.ChangeMembersRequest
	handover *handoverAct
	// reads means that the call changes nothing, so no record is stored before it.
	reads bool
	// starts are operations to start. An operation that is refused because another one uses its shard or table is
	// skipped.
	starts []*metapb.Operation
}

type replicasAct struct {
	leader  string // the node that receives the request
	request *shardpb.ChangeReplicasRequest
}

// defineAct makes a shard apply the newest definition of a table.
type defineAct struct {
	shard   uint32
	leader  string
	tableID uint64
}

func wait(step, format string, args ...any) decision {
	return decision{step: step, reason: fmt.Sprintf(format, args...)}
}

func failed(step, format string, args ...any) decision {
	return decision{step: step, reason: fmt.Sprintf(format, args...), end: metapb.OperationState_OPERATION_STATE_FAILED}
}

func finished(format string, args ...any) decision {
	return decision{step: "end", reason: fmt.Sprintf(format, args...), end: metapb.OperationState_OPERATION_STATE_DONE}
}

func cancelled(format string, args ...any) decision {
	return decision{
		step:   "end",
		reason: fmt.Sprintf(format, args...),
		end:    metapb.OperationState_OPERATION_STATE_CANCELLED,
	}
}

func call(step, reason string, a *act) decision { return decision{step: step, reason: reason, do: a} }

// remember adds a change of the record's progress to the decision.
func (d decision) remember(change func(*metapb.Operation)) decision {
	before := d.progress
	d.progress = func(op *metapb.Operation) {
		if before != nil {
			before(op)
		}
		change(op)
	}
	return d
}

// copied sets the number of copied bytes and the total number of bytes.
func (d decision) copied(done, total int64) decision {
	d.done, d.total = done, total
	return d
}

// command returns a command for the metadata.
func command(snap *snapshot.Snapshot, set func(*metapb.Command)) *metapb.Command {
	c := &metapb.Command{TimeUnixNano: snap.Now.UnixNano()}
	set(c)
	return c
}

// putOperation stores a record in the format of the cluster's version.
func putOperation(snap *snapshot.Snapshot, op *metapb.Operation) *metapb.Command {
	put := &metapb.PutOperation{Operation: operation.Write(op, snap.Status.GetClusterVersion())}
	return command(snap, func(c *metapb.Command) { c.Op = &metapb.Command_PutOperation{PutOperation: put} })
}

func changeShard(snap *snapshot.Snapshot, what string, s *metapb.Shard, set func(*metapb.ChangeShard)) *act {
	change := &metapb.ChangeShard{ShardId: s.Id, Version: s.Version}
	set(change)
	return &act{
		what:    what,
		propose: command(snap, func(c *metapb.Command) { c.Op = &metapb.Command_ChangeShard{ChangeShard: change} }),
	}
}

// handoverAct asks nodes to copy a table, or to report their progress.
type handoverAct struct {
	table *schema.Table
	begin bool
	from  map[uint32]string // nodes, by shard
	nodes []*shardpb.ShardNodes
}

func orStep(op *metapb.Operation, otherwise string) string {
	if op.Step != "" {
		return op.Step
	}
	return otherwise
}

func changeGroup(s *metapb.Shard, g *snapshot.Group, node string, change shardpb.ChangeReplicasRequest_Change) *act {
	what := map[shardpb.ChangeReplicasRequest_Change]string{
		shardpb.ChangeReplicasRequest_CHANGE_ADD_LEARNER: "add learner to the group",
		shardpb.ChangeReplicasRequest_CHANGE_PROMOTE:     "promote in the group",
		shardpb.ChangeReplicasRequest_CHANGE_REMOVE:      "remove from the group",
		shardpb.ChangeReplicasRequest_CHANGE_LEAD:        "transfer leadership",
	}[change]
	return &act{
		what: what,
		replicas: &replicasAct{
			leader:  g.Leader,
			request: &shardpb.ChangeReplicasRequest{ShardId: s.Id, NodeId: node, Change: change},
		},
	}
}
