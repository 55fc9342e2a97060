package coordinator

import (
	"fmt"
	"slices"
	"time"

	"cordwood/meta/placement"
	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// movable reports whether the writes of a table may go to another shard while its rows stay. This is not possible if
// the table merges rows, because rows with the same identity must be in one shard.
func movable(t *schema.Table) bool { return t.AppendMode() }

// takesRows reports whether an operation moves a table with its stored rows.
func takesRows(op *metapb.Operation, t *schema.Table) bool {
	return !movable(t) || op.GetTable().GetWithRows()
}

// The steps of table-move and table-partition.
const (
	stepPlace = "place" // other shards take the table's writes from the next epoch on
	stepSeal  = "seal"  // the former shards record that they no longer take them
)

// moveTable implements table-move and table-partition: other shards take a table's writes. Its rows stay where they
// are, and queries still find them, unless the table merges rows or the rows are moved too (see handOver).
func moveTable(snap *snapshot.Snapshot, op *metapb.Operation) decision {
	t := snap.Tables[op.TableId]
	if t == nil {
		if c := handedOver(snap, op); c != nil {
			return sealFinish(snap, op, c)
		}
		return failed("end", "%s no longer exists: it was dropped or truncated", snapshot.Subject(snap, op))
	}
	if takesRows(op, t) || t.Handoff != nil {
		return handOver(snap, op, t)
	}
	now := t.Writable()
	if !op.GetTable().GetBegun() {
		return beginMove(snap, op, t)
	}
	if now.Epoch == op.GetTable().Epoch {
		if op.Cancel {
			return cancelled("the writes of table %s.%s stay where they were", t.Database, t.Name)
		}
		if why := whyNeverThere(snap, op.ToShards); why != "" {
			return failed("end", "the writes of table %s.%s stay where they were: %s", t.Database, t.Name, why)
		}
		return call(stepPlace, fmt.Sprintf("%s the writes of table %s.%s", shardsTake(op.ToShards), t.Database, t.Name), &act{
			what: "place table", propose: command(snap, func(c *metapb.Command) {
				c.Op = &metapb.Command_PlaceTable{
					PlaceTable: &metapb.PlaceTable{TableId: t.ID, Epoch: now.Epoch, ShardIds: op.ToShards},
				}
			}),
		})
	}
	return sealFormer(snap, op, t)
}

// beginMove checks a move of a table and records the state before it.
func beginMove(snap *snapshot.Snapshot, op *metapb.Operation, t *schema.Table) decision {
	if op.Cancel {
		return cancelled("the writes of table %s.%s stay where they were", t.Database, t.Name)
	}
	to := op.ToShards
	if len(to) == 0 {
		n := int(op.GetTable().GetPartitions())
		if n < 1 {
			return failed("end", "neither shards nor a number of partitions were given")
		}
		keep := slices.DeleteFunc(t.Writable().Shards(), func(id uint32) bool { return snap.Shards[id].GetRetiring() })
		to = placement.Emptiest(snapshot.ShardLoads(snap), snapshot.TableLoads(snap), keep, n)
	}
	if why := refusePlace(snap, op, t, to); why != "" {
		if elects(snap, op, to) {
			return wait(stepPlace, "%s", why)
		}
		return failed("end", "%s", why)
	}
	if slices.Equal(to, t.Writable().Shards()) && (!takesRows(op, t) || len(t.Shards()) == len(to)) {
		return finished("%s the writes of table %s.%s already", shardsTake(to), t.Database, t.Name)
	}
	d := decision{step: stepPlace, reason: "begins", again: true, toShards: to}
	return d.remember(func(op *metapb.Operation) {
		p := operation.TableProgress(op)
		p.Begun, p.Epoch, p.Former = true, t.Writable().Epoch, t.Writable().Shards()
	})
}

// electionWait is the time that a new move waits for a leader of the target shard. A group has a
// leader within seconds if a majority of it is running.
const electionWait = 30 * time.Second

// elects reports whether one of the shards has no leader now, but may have one soon.
func elects(snap *snapshot.Snapshot, op *metapb.Operation, to []uint32) bool {
	if snap.Now.Sub(time.Unix(0, op.CreatedUnixNano)) > electionWait || whyNeverThere(snap, to) != "" {
		return false
	}
	return slices.ContainsFunc(to, func(id uint32) bool { return snap.Groups[id].Leader == "" })
}

// refusePlace returns the reason why shards cannot take the writes of a table, or an empty text.
func refusePlace(snap *snapshot.Snapshot, op *metapb.Operation, t *schema.Table, to []uint32) string {
	if len(to) == 0 {
		return fmt.Sprintf("no shard can take the writes of table %s.%s: none has a leader", t.Database, t.Name)
	}
	if why := whyNeverThere(snap, to); why != "" {
		return why
	}
	for i, id := range to {
		if slices.Contains(to[:i], id) {
			return fmt.Sprintf("shard %d is given twice", id)
		}
		if snap.Groups[id].Leader == "" {
			return "the writes cannot go there: " + snap.WhyLeaderless(snap.Shards[id])
		}
	}
	if v := snap.Status.GetClusterVersion(); !movable(t) && v < metapb.ProtocolHandoff {
		return fmt.Sprintf("table %s.%s merges rows with the same identity (append_mode is not true): "+
			"its rows can be moved or spread once the cluster uses protocol version %d; it uses %d now: upgrade all "+
			"nodes", t.Database,
			t.Name, metapb.ProtocolHandoff, v)
	} else if movable(t) && takesRows(op, t) && v < metapb.ProtocolHandoffAppend {
		return fmt.Sprintf("table %s.%s keeps all rows (append_mode is true): its rows can be moved once the cluster uses "+
			"protocol version %d; it uses %d now: upgrade all nodes, or move only its writes", t.Database, t.Name,
			metapb.ProtocolHandoffAppend, v)
	}
	return ""
}

// whyNeverThere returns which of the shards no longer takes tables, or an empty text.
func whyNeverThere(snap *snapshot.Snapshot, to []uint32) string {
	for _, id := range to {
		if snap.Shards[id] == nil {
			return fmt.Sprintf("there is no shard %d", id)
		}
		if snap.Shards[id].Retiring {
			return fmt.Sprintf("shard %d is being removed: choose another one", id)
		}
	}
	return ""
}

// sealFormer makes the former shards record that they no longer take the writes. After that, their
// logs get no more rows of the table.
func sealFormer(snap *snapshot.Snapshot, op *metapb.Operation, t *schema.Table) decision {
	sealed, takes := op.GetTable().GetSealed(), t.Writable().Shards()
	for _, id := range op.GetTable().GetFormer() {
		if slices.Contains(sealed, id) || slices.Contains(takes, id) || snap.Shards[id] == nil {
			continue
		}
		g := snap.Groups[id]
		if g.Leader == "" {
			return wait(stepSeal, "new writes go to %s; the former shard cannot record it: %s", shardNames(takes),
				snap.WhyLeaderless(snap.Shards[id]))
		}
		d := call(stepSeal, fmt.Sprintf("shard %d records that it no longer takes the writes", id), &act{
			what: "seal table", define: &defineAct{shard: id, leader: g.Leader, tableID: t.ID},
		})
		d.then = noteSealed(id)
		return d
	}
	return finished("%s the writes of table %s.%s", shardsTake(takes), t.Database, t.Name)
}
