package coordinator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
)

// The steps of table-move and table-partition of a table that moves to other shards together with
// its stored rows: a table that merges rows, or any table if the request demands it. The present
// shards are all shards that have rows of the table; some may no longer take writes.
//
// begin    the metadata list a copy of the table, on the new shards
// copy     the present shards copy the rows into it, and follow the writes
// close    once they have caught up, no shard takes writes; the writes wait
// seal     the present shards learn from their logs that the table is closed
// last     they copy the writes up to that point
// finish   the copy becomes the table
// tell     the new shards learn from their logs that they have all rows
// undo     the copy is given up, and the present shards take writes again
const (
	stepBegin  = "begin"
	stepClose  = "close"
	stepLast   = "last"
	stepFinish = "finish"
	stepTell   = "tell"
)

const (
	// maxCopies limits how often the rows of a table are copied from the start.
	maxCopies = 5
	// closedFor is the maximum time for which writes wait. After that the present shards accept them again, and the
	// copy restarts.
	closedFor = 6 * time.Second
	// askWait is the time for which one request waits until the copy is complete.
	askWait = time.Second
)

// handOver decides the next step of a move of a table with its rows, from the state of the table,
// the answers of the copying nodes, and the record of which nodes were asked to copy.
func handOver(snap *snapshot.Snapshot, op *metapb.Operation, t *schema.Table) decision {
	if d, ok := prepareCopy(snap, op, t); ok {
		return d
	}
	p, d, ok := progressOf(snap, op, t)
	if ok {
		return d
	}
	h, name, closed := t.Handoff, t.Database+"."+t.Name, t.Writable().Closed
	switch {
	case p.complete && closed:
		return call(stepFinish, fmt.Sprintf("%s the rows of table %s and %s its writes", shardsHave(h.Shards), name,
			takeOf(h.Shards)), placeTable(snap, "finish the handoff of", t, metapb.PlaceTable_STEP_FINISH)).
			copied(p.done, p.total)
	case closed && snap.ClosedFor[t.ID] > closedFor:
		return giveUp(snap, op, t,
			fmt.Sprintf("writes waited for %s, and the copy was not complete %s", closedFor, p.waits))
	case closed:
		if d, ok := sealClosed(snap, op, t); ok {
			return d.copied(p.done, p.total)
		}
	case !p.behind:
		return call(stepClose, fmt.Sprintf("writes of table %s wait while the last of its rows are copied", name),
			placeTable(snap, "close", t, metapb.PlaceTable_STEP_CLOSE)).copied(p.done, p.total)
	}
	step, reason := operation.StepCopy, fmt.Sprintf("the rows of table %s are copied to %s", name, shardNames(h.Shards))
	if closed {
		step = stepLast
	}
	if p.waits != "" {
		reason += "; waits: " + p.waits
	}
	d = call(step, reason, &act{
		what:     "ask how far the copy is",
		reads:    true,
		handover: &handoverAct{table: t, from: op.GetTable().Copiers, nodes: shardNodes(snap, h.Shards)},
	})
	return d.copied(p.done, p.total)
}

// prepareCopy returns the next step while the metadata do not list the copy of this operation. If the operation was
// cancelled or became impossible, it ends the operation.
func prepareCopy(snap *snapshot.Snapshot, op *metapb.Operation, t *schema.Table) (decision, bool) {
	h, name := t.Handoff, t.Database+"."+t.Name
	switch {
	case !op.GetTable().GetBegun() && h != nil:
		return giveUp(snap, op, t, "another operation left a copy behind"), true
	case !op.GetTable().GetBegun():
		return beginMove(snap, op, t), true
	case !takesRows(op, t): // it keeps all rows now, so moveTable takes over
		d := giveUp(snap, op, t, "the table does not merge rows any more")
		return d.remember(func(op *metapb.Operation) { operation.TableProgress(op).Begun = false }), true
	case op.Cancel && h != nil:
		return giveUp(snap, op, t, "it was cancelled"), true
	case op.Cancel:
		return cancelled("the rows of table %s stay where they were", name), true
	case h == nil || !slices.Equal(h.Shards, op.ToShards):
		return beginCopy(snap, op, t), true
	case op.GetTable().Copy != h.ID:
		d := decision{step: stepBegin, reason: "begins", again: true}.remember(forgetCopiers)
		return d.remember(func(op *metapb.Operation) { operation.TableProgress(op).Copy = h.ID }), true
	}
	for _, id := range slices.Sorted(maps.Keys(h.Incarnations)) {
		if snap.Shards[id].GetIncarnation() != h.Incarnations[id] { // the metadata would refuse to finish it
			return giveUp(snap, op, t,
				fmt.Sprintf("shard %d was recovered or created again since the copy was started, and may have lost "+
					"rows", id)), true
		}
	}
	return decision{}, false
}

// copyProgress is how many rows of a table the present shards have copied.
type copyProgress struct {
	done, total int64  // bytes
	behind      bool   // a shard has not yet copied what it had when the copy was started
	complete    bool   // every shard has copied all rows
	waits       string // why the first waiting shard waits
}

// progressOf combines the answers of the nodes that copy the rows of t. If one of these nodes has to be asked first,
// or failed, progressOf returns a decision.
func progressOf(snap *snapshot.Snapshot, op *metapb.Operation, t *schema.Table) (copyProgress, decision, bool) {
	p := copyProgress{complete: true}
	answers := snap.Copies[t.Handoff.ID]
	for _, id := range t.Shards() {
		node := op.GetTable().Copiers[id]
		if node == "" {
			return p, askToCopy(snap, op, t, id), true
		}
		if !snap.Alive(node) && !slices.Contains(snap.Unheard(), node) {
			return p, giveUp(snap, op, t,
				fmt.Sprintf("node %s, which copied the rows of shard %d, does not answer", snap.Name(node), id)), true
		}
		a := answers[id]
		if a.HandOverResponse == nil || a.Node != node {
			p.behind, p.complete = true, false
			continue
		}
		switch {
		case a.Unknown:
			return p, giveUp(snap, op, t,
				fmt.Sprintf("node %s, which copied the rows of shard %d, has been restarted", snap.Name(node), id)), true
		case a.Error != "":
			return p, giveUp(snap, op, t, fmt.Sprintf("shard %d: %s", id, a.Error)), true
		}
		p.done, p.total = p.done+a.DoneBytes, p.total+a.TotalBytes
		p.behind, p.complete = p.behind || !a.CaughtUp, p.complete && a.Complete
		p.waits = cmp.Or(p.waits, a.Waits)
	}
	return p, decision{}, false
}

// handedOver returns the table whose rows an operation has moved.
func handedOver(snap *snapshot.Snapshot, op *metapb.Operation) *schema.Table {
	return snap.Tables[op.GetTable().GetCopy()]
}

// sealFinish writes the end of the move to the logs of the new shards. A replica whose log has this entry has all rows;
// until then only the leader may be read. Writes carry the same note, so nothing waits for a shard without a leader.
func sealFinish(snap *snapshot.Snapshot, op *metapb.Operation, t *schema.Table) decision {
	shards := t.Writable().Shards()
	for _, id := range shards {
		g := snap.Groups[id]
		if slices.Contains(op.GetTable().GetTold(), id) || g == nil || g.Leader == "" {
			continue
		}
		d := call(stepTell, fmt.Sprintf("shard %d records that it has all rows", id), &act{
			what: "define table", define: &defineAct{shard: id, leader: g.Leader, tableID: t.ID},
		})
		d.then = func(op *metapb.Operation) {
			p := operation.TableProgress(op)
			p.Told = append(p.Told, id)
		}
		return d
	}
	return finished("%s the rows of table %s.%s and %s its writes", shardsHave(shards), t.Database, t.Name, takeOf(shards))
}

// placeTable returns the act that applies a step of a move in the metadata.
func placeTable(snap *snapshot.Snapshot, what string, t *schema.Table, step metapb.PlaceTable_Step) *act {
	c := &metapb.PlaceTable{TableId: t.ID, Epoch: t.Writable().Epoch, Step: step}
	if t.Handoff != nil {
		c.HandoffId = t.Handoff.ID
	}
	return &act{
		what:    what + " table",
		propose: command(snap, func(cmd *metapb.Command) { cmd.Op = &metapb.Command_PlaceTable{PlaceTable: c} }),
	}
}

// dropCopies drops copies that belong to no operation, because writes must not wait for them.
func dropCopies(snap *snapshot.Snapshot) *act {
	for _, id := range slices.Sorted(maps.Keys(snap.Tables)) {
		if t := snap.Tables[id]; t.Handoff != nil &&
			snap.FindRunning(func(op *metapb.Operation) bool { return op.TableId == id }) == nil {
			return placeTable(snap, "cancel the handoff of", t, metapb.PlaceTable_STEP_GIVE_UP)
		}
	}
	return nil
}

// beginCopy records a new copy in the metadata, unless the copy was tried too often.
func beginCopy(snap *snapshot.Snapshot, op *metapb.Operation, t *schema.Table) decision {
	if t.Writable().Closed {
		return giveUp(snap, op, t, "the copy is not the one that this operation started")
	}
	tries := op.GetTable().GetCopies()
	if tries >= maxCopies {
		if t.Handoff != nil {
			return giveUp(snap, op, t, cmp.Or(op.GetTable().GetWhy(), "the copy failed too often"))
		}
		return failed("end", "the rows of table %s.%s stay where they were: they were copied %d times, and failed each "+
			"time; the last error: %s", t.Database, t.Name, tries, cmp.Or(op.GetTable().GetWhy(), "not known"))
	}
	if why := whyNeverThere(snap, op.ToShards); why != "" {
		if t.Handoff != nil {
			return giveUp(snap, op, t, why)
		}
		return failed("end", "the rows of table %s.%s stay where they were: %s", t.Database, t.Name, why)
	}
	if why := refusePlace(snap, op, t, op.ToShards); why != "" {
		return wait(stepBegin, "%s", why)
	}
	a := placeTable(snap, "start the handoff", t, metapb.PlaceTable_STEP_BEGIN)
	place := a.propose.GetPlaceTable()
	place.HandoffId, place.ShardIds = 0, op.ToShards
	d := call(stepBegin, fmt.Sprintf("a copy of table %s.%s is made on %s", t.Database, t.Name, shardNames(op.ToShards)),
		a)
	return d.remember(forgetCopiers).remember(func(op *metapb.Operation) {
		p := operation.TableProgress(op)
		p.Copies, p.Copy = tries+1, 0
	})
}

// forgetCopiers clears the record of what the shards of a table did for the last copy, because a new one starts.
func forgetCopiers(op *metapb.Operation) {
	p := operation.TableProgress(op)
	p.Copiers, p.Sealed = nil, nil
}

// giveUp drops the copy. If writes waited, the present shards accept them again.
func giveUp(snap *snapshot.Snapshot, op *metapb.Operation, t *schema.Table, why string) decision {
	if t.Handoff == nil {
		return wait(stepUndo, "the copy is given up: %s", why)
	}
	d := call(stepUndo, "the copy is given up: "+why,
		placeTable(snap, "cancel the handoff of", t, metapb.PlaceTable_STEP_GIVE_UP))
	return d.remember(forgetCopiers).remember(func(op *metapb.Operation) {
		operation.TableProgress(op).Why = strings.ToValidUTF8(why[:min(len(why), 500)], "")
	})
}

// askToCopy makes the leader of a shard copy its rows. The node is recorded first, and only one node is asked,
// because a second one would interfere with the first one.
func askToCopy(snap *snapshot.Snapshot, op *metapb.Operation, t *schema.Table, shard uint32) decision {
	if t.Writable().Closed {
		return giveUp(snap, op, t, fmt.Sprintf("no node copied the rows of shard %d", shard))
	}
	s, g := snap.Shards[shard], snap.Groups[shard]
	if g == nil || g.Leader == "" {
		return wait(operation.StepCopy, "the rows of shard %d cannot be copied: %s", shard, snap.WhyLeaderless(s))
	}
	d := call(operation.StepCopy, fmt.Sprintf("shard %d copies its rows to %s", shard, shardNames(t.Handoff.Shards)), &act{
		what: "copy the rows of a table", handover: &handoverAct{
			table: t,
			begin: true,
			from:  map[uint32]string{shard: g.Leader},
			nodes: shardNodes(snap, t.Handoff.Shards),
		},
	})
	return d.remember(func(op *metapb.Operation) {
		p := operation.TableProgress(op)
		if p.Copiers == nil {
			p.Copiers = map[uint32]string{}
		}
		p.Copiers[shard] = g.Leader
	})
}

// sealClosed closes the table in the logs of the present shards. ok is false if all of them have recorded it.
func sealClosed(snap *snapshot.Snapshot, op *metapb.Operation, t *schema.Table) (d decision, ok bool) {
	for _, id := range t.Shards() {
		if slices.Contains(op.GetTable().GetSealed(), id) {
			continue
		}
		g := snap.Groups[id]
		if g == nil || g.Leader == "" {
			return wait(stepSeal, "shard %d cannot record that the table is closed: %s", id,
				snap.WhyLeaderless(snap.Shards[id])), true
		}
		d = call(stepSeal, fmt.Sprintf("shard %d records that the table is closed", id), &act{
			what: "seal table", define: &defineAct{shard: id, leader: g.Leader, tableID: t.ID},
		})
		d.then = noteSealed(id)
		return d, true
	}
	return d, false
}

// noteSealed records that a shard has recorded that it no longer takes a table's writes.
func noteSealed(id uint32) func(*metapb.Operation) {
	return func(op *metapb.Operation) {
		p := operation.TableProgress(op)
		p.Sealed = append(p.Sealed, id)
	}
}

// shardNodes returns the nodes of shards, their leaders first.
func shardNodes(snap *snapshot.Snapshot, ids []uint32) (out []*shardpb.ShardNodes) {
	for _, id := range ids {
		n := &shardpb.ShardNodes{ShardId: id}
		if g := snap.Groups[id]; g != nil && g.Leader != "" {
			n.NodeIds = append(n.NodeIds, g.Leader)
		}
		for _, r := range snap.Shards[id].GetReplicas() {
			if !slices.Contains(n.NodeIds, r) {
				n.NodeIds = append(n.NodeIds, r)
			}
		}
		out = append(out, n)
	}
	return out
}
