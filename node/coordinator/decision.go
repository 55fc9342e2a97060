package coordinator

import (
	"cmp"
	"fmt"
	"maps"
	"time"

	"cordwood/proto/metapb"
	"cordwood/proto/shardpb"
)

// The kinds of operations.
const (
	KindShardAdd         = "shard-add"
	KindShardMove        = "shard-move"
	KindShardSplitHot    = "shard-split-hot"
	KindTableMove        = "table-move"
	KindTablePartition   = "table-partition"
	KindNodeDrain        = "node-drain"
	KindNodeDecommission = "node-decommission"
	KindReplicaRepair    = "replica-repair"
	KindReplicaRebuild   = "replica-rebuild"
	KindReplicaChange    = "replica-change"
	KindRebalance        = "rebalance"
	KindShardDrop        = "shard-drop"
)

// The notes that operations keep.
const (
	noteUndo     = "undo"     // why what was begun is undone
	noteBase     = "base"     // the last shard before shard-add made one
	noteCount    = "count"    // shards or partitions that are asked for
	noteMode     = "mode"     // of a drain: modeRestart
	notePromoted = "promoted" // when the second voter of a shard of one replica came, Unix ns
	noteCopying  = "copying"  // when the copy began, Unix ns
	noteLeaving  = "leaving"  // a damaged replica was told to leave its group
	noteLeft     = "left"     // a damaged replica is gone from its node
	noteAdd      = "add"      // nodes that get a replica, with commas
	noteDrop     = "drop"     // nodes that lose theirs
	noteWas      = "was"      // replicas that were wanted before
	noteEpoch    = "epoch"    // of the table before it was placed
	noteOld      = "old"      // shards that took the table's writes before
	noteSealed   = "sealed"   // those that know that they no longer do
	noteRows     = "rows"     // the table takes its stored rows along although it keeps them all
	noteCopy     = "copy"     // id of the copy of a table that takes its rows along
	noteCopies   = "copies"   // how often one was begun
	noteCopiers  = "copiers"  // nodes that were asked to copy, by shard
	noteWhy      = "why"      // the last one was given up
	noteTold     = "told"     // shards that know that they have all of the copy
	noteMoves    = "moves"    // parts begun so far
	noteFailed   = "failed"   // parts that did not come to their end
	noteName     = "name"     // of a node or a table that may be gone at the end
	noteInitial  = "initial"  // the shards of a new cluster
	// The shard that is given up. It is not the record's own, since another operation may wait
	// for that shard in vain, and would keep this one from being begun.
	noteShard = "shard"
	noteLoss  = "loss" // what is given up, in words

	modeRestart = "restart"
)

// byCluster is who asks for operations that nobody asked for.
const byCluster = "cluster"

// decision is what an operation does next: at most one act, after its step was stored.
type decision struct {
	step   string
	reason string
	// How far it is, in bytes; 0 of 0: not known.
	done, total int64
	notes       map[string]string // to be changed; an empty text removes
	toShards    []uint32          // nil: as they are
	do          *act
	// then are notes to be changed once the act succeeded.
	then map[string]string
	// again says that the step's record is all there is to do now: decide anew.
	again bool
	// end, if set, is how the operation ends.
	end metapb.OperationState
}

// act is one call. Each may be made again after a crash: what is done already succeeds,
// or is refused because of a version that is no longer right.
type act struct {
	what     string // for the log
	propose  *metapb.Command
	replicas *replicasAct
	define   *defineAct
	members  *metapb.ChangeMembersRequest
	handover *handoverAct
	// reads tells that the call changes nothing: it needs no record.
	reads bool
	// starts are operations to begin. One that is refused, as something else is done with
	// its shard or table, is left out.
	starts []*metapb.Operation
}

type replicasAct struct {
	leader  string // who is asked
	request *shardpb.ChangeReplicasRequest
}

// defineAct has a shard take over the newest definition of a table.
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
	return decision{step: "end", reason: fmt.Sprintf(format, args...), end: metapb.OperationState_OPERATION_STATE_CANCELLED}
}

func call(step, reason string, a *act) decision { return decision{step: step, reason: reason, do: a} }

// note adds a note to a decision.
func (d decision) note(key, value string) decision {
	d.notes = maps.Clone(d.notes)
	if d.notes == nil {
		d.notes = map[string]string{}
	}
	d.notes[key] = value
	return d
}

func (d decision) progress(done, total int64) decision {
	d.done, d.total = done, total
	return d
}

// decide says what an operation does next. It is a function of its arguments alone: the
// leader that comes after another one goes on where that was.
//
// A leader that is new to the metadata group knows nothing of nodes until they report: it
// gives nothing up on their account before that, or before they count as down.
func decide(p *picture, op *metapb.Operation) decision {
	d := p.next(op)
	if d.end == metapb.OperationState_OPERATION_STATE_FAILED {
		if silent := p.unheard(); len(silent) > 0 {
			return wait(op.Step, "the leader of the metadata group is new: %s may still report to it", p.labels(silent))
		}
	}
	return d
}

func (p *picture) next(op *metapb.Operation) decision {
	switch op.Kind {
	case KindShardAdd:
		return p.addShards(op)
	case KindShardMove, KindReplicaRepair:
		return p.moveReplica(op)
	case KindReplicaRebuild:
		return p.rebuild(op)
	case KindReplicaChange:
		return p.changeReplicas(op)
	case KindTableMove, KindTablePartition:
		return p.moveTable(op)
	case KindShardSplitHot:
		return p.splitHot(op)
	case KindNodeDrain, KindNodeDecommission:
		return p.drainNode(op)
	case KindRebalance:
		return p.rebalance(op)
	case KindShardDrop:
		return p.dropShard(op)
	}
	return failed(op.Step, "this program does not know operations of kind %q: start one of the same version as the node that began it", op.Kind)
}

// command wraps an operation of the metadata.
func (p *picture) command(set func(*metapb.Command)) *metapb.Command {
	c := &metapb.Command{TimeUnixNano: p.now.UnixNano()}
	set(c)
	return c
}

func (p *picture) changeShard(what string, s *metapb.Shard, set func(*metapb.ChangeShard)) *act {
	change := &metapb.ChangeShard{ShardId: s.Id, Version: s.Version}
	set(change)
	return &act{what: what, propose: p.command(func(c *metapb.Command) { c.Op = &metapb.Command_ChangeShard{ChangeShard: change} })}
}

// part makes an operation that is a part of another one.
func part(of *metapb.Operation, kind string, set func(*metapb.Operation)) *metapb.Operation {
	op := &metapb.Operation{Kind: kind, Parent: of.GetId(), RequestedBy: cmp.Or(of.GetRequestedBy(), byCluster)}
	set(op)
	return op
}

// endTime is when an operation ended.
func endTime(op *metapb.Operation) time.Time { return time.Unix(0, op.EndedUnixNano) }
