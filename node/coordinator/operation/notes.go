package operation

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/metapb"
)

// Before protocol version 9 an operation's progress was stored as named texts (notes), in Operation.notes. Nodes with
// older programs may lead the metadata group as long as the cluster uses such a version. Until then records are
// written as notes, and read in both forms. Kinds that are newer than version 9 have no notes. This file can be
// removed once metapb.MinProtocol is 9.

const (
	noteUndo     = "undo"
	noteBase     = "base"
	noteCount    = "count"
	noteMode     = "mode"
	notePromoted = "promoted"
	noteCopying  = "copying"
	noteLeaving  = "leaving"
	noteLeft     = "left"
	noteAdd      = "add"
	noteDrop     = "drop"
	noteWas      = "was"
	noteEpoch    = "epoch"
	noteOld      = "old"
	noteSealed   = "sealed"
	noteRows     = "rows"
	noteCopy     = "copy"
	noteCopies   = "copies"
	noteCopiers  = "copiers"
	noteWhy      = "why"
	noteTold     = "told"
	noteMoves    = "moves"
	noteName     = "name"
	noteInitial  = "initial"
	noteShard    = "shard"
	noteLoss     = "loss"

	restart = "restart" // the value of noteMode
	yes     = "true"
)

// Read returns a record of the metadata with typed progress. It does not change op.
func Read(op *metapb.Operation) *metapb.Operation {
	if len(op.GetNotes()) == 0 {
		return op
	}
	op = proto.CloneOf(op)
	if op.Progress == nil {
		setProgress(op, op.Notes)
	}
	op.Notes = nil
	return op
}

// Write returns a record in the form for a cluster's protocol version. It does not change op.
func Write(op *metapb.Operation, version uint32) *metapb.Operation {
	if version >= metapb.ProtocolProgress || op.GetProgress() == nil {
		return op
	}
	op = proto.CloneOf(op)
	op.Notes = notes(op)
	op.Progress = nil
	return op
}

func setProgress(op *metapb.Operation, n map[string]string) {
	switch op.Kind {
	case ShardAdd:
		op.Progress = &metapb.Operation_ShardAdd{ShardAdd: &metapb.ShardAddProgress{
			Count: number(n[noteCount]), Initial: n[noteInitial] != "", Begun: n[noteBase] != "", Base: number(n[noteBase]),
		}}
	case ShardMove, ReplicaRepair, ReplicaChange, ReplicaRebuild:
		op.Progress = &metapb.Operation_Replicas{Replicas: &metapb.ReplicasProgress{
			Undo: n[noteUndo], CopyingUnixNano: nanos(n[noteCopying]), PromotedUnixNano: nanos(n[notePromoted]),
			Chosen: n[noteWas] != "", Was: number(n[noteWas]), Add: list(n[noteAdd]), Drop: list(n[noteDrop]),
			Leaving: n[noteLeaving] != "", Left: n[noteLeft] != "",
		}}
	case ShardDrop:
		op.Progress = &metapb.Operation_ShardDrop{ShardDrop: &metapb.ShardDropProgress{
			ShardId: number(n[noteShard]), Incarnation: number(n[noteWas]), Loss: n[noteLoss],
		}}
	case TableMove, TablePartition:
		op.Progress = &metapb.Operation_Table{Table: &metapb.TableProgress{
			Name: n[noteName], Partitions: number(n[noteCount]), WithRows: n[noteRows] != "",
			Begun: n[noteEpoch] != "", Epoch: number(n[noteEpoch]), Former: numbers(n[noteOld]), Sealed: numbers(n[noteSealed]),
			Copy: id(n[noteCopy]), Copies: number(n[noteCopies]), Copiers: copiers(n[noteCopiers]), Why: n[noteWhy],
			Told: numbers(n[noteTold]),
		}}
	case NodeDrain, NodeDecommission:
		op.Progress = &metapb.Operation_Node{
			Node: &metapb.NodeProgress{Name: n[noteName], ForRestart: n[noteMode] == restart},
		}
	case Rebalance:
		op.Progress = &metapb.Operation_Rebalance{Rebalance: &metapb.RebalanceProgress{Parts: number(n[noteMoves])}}
	}
}

// notes returns the progress of an operation as notes, without empty ones.
func notes(op *metapb.Operation) map[string]string {
	n := map[string]string{}
	switch p := op.Progress.(type) {
	case *metapb.Operation_ShardAdd:
		n[noteCount], n[noteInitial], n[noteBase] = textOf(p.ShardAdd.Count), yesIf(p.ShardAdd.Initial),
			textIf(p.ShardAdd.Begun, p.ShardAdd.Base)
	case *metapb.Operation_Replicas:
		r := p.Replicas
		n[noteUndo], n[noteCopying], n[notePromoted] = r.Undo, textOf(r.CopyingUnixNano), textOf(r.PromotedUnixNano)
		n[noteWas], n[noteAdd], n[noteDrop] = textIf(r.Chosen, r.Was), strings.Join(r.Add, ","), strings.Join(r.Drop, ",")
		n[noteLeaving], n[noteLeft] = yesIf(r.Leaving), yesIf(r.Left)
	case *metapb.Operation_ShardDrop:
		n[noteShard], n[noteWas], n[noteLoss] = textOf(p.ShardDrop.ShardId), textOf(p.ShardDrop.Incarnation), p.ShardDrop.Loss
	case *metapb.Operation_Table:
		t := p.Table
		n[noteName], n[noteCount], n[noteRows] = t.Name, textOf(t.Partitions), yesIf(t.WithRows)
		n[noteEpoch], n[noteOld], n[noteSealed] = textIf(t.Begun, t.Epoch), join(t.Former), join(t.Sealed)
		n[noteCopy], n[noteCopies], n[noteCopiers] = textOf(t.Copy), textOf(t.Copies), joinCopiers(t.Copiers)
		n[noteWhy], n[noteTold] = t.Why, join(t.Told)
	case *metapb.Operation_Node:
		n[noteName] = p.Node.Name
		if p.Node.ForRestart {
			n[noteMode] = restart
		}
	case *metapb.Operation_Rebalance:
		n[noteMoves] = textOf(p.Rebalance.Parts)
	}
	maps.DeleteFunc(n, func(_, text string) bool { return text == "" })
	return n
}

// The parsers return 0 for a missing note, and for any text that textOf did not write.

func number(text string) uint32 {
	n, _ := strconv.ParseUint(text, 10, 32)
	return uint32(n) //nolint:gosec // of 32 bits
}

func id(text string) uint64 {
	n, _ := strconv.ParseUint(text, 10, 64)
	return n
}

func nanos(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

func numbers(text string) (out []uint32) {
	for _, t := range list(text) {
		out = append(out, number(t))
	}
	return out
}

// copiers reads nodes by shard, such as "1=a,4=b".
func copiers(text string) map[uint32]string {
	var out map[uint32]string
	for _, t := range list(text) {
		if out == nil {
			out = map[uint32]string{}
		}
		shard, node, _ := strings.Cut(t, "=")
		out[number(shard)] = node
	}
	return out
}

func textOf[N uint32 | uint64 | int64](n N) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// textIf returns an optional number as text if it is set.
func textIf(set bool, n uint32) string {
	if !set {
		return ""
	}
	return fmt.Sprint(n)
}

func yesIf(set bool) string {
	if set {
		return yes
	}
	return ""
}

func join(ids []uint32) string {
	var out []string
	for _, id := range ids {
		out = append(out, textOf(id))
	}
	return strings.Join(out, ",")
}

func joinCopiers(nodes map[uint32]string) string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(nodes)) {
		out = append(out, fmt.Sprintf("%d=%s", id, nodes[id]))
	}
	return strings.Join(out, ",")
}
