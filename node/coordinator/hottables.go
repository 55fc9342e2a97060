package coordinator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"cordwood/meta/placement"
	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/words"
)

// partitionTables gives tables the number of shards that their option partitions requests. A table
// with partitions=auto gets one more while it is hot.
func partitionTables(snap *snapshot.Snapshot) *act {
	if countRunning(snap, operation.TablePartition) >= maxTableMoves {
		return nil
	}
	open := 0
	for _, s := range snapshot.ShardLoads(snap) {
		if s.Open {
			open++
		}
	}
	for _, id := range slices.Sorted(maps.Keys(snap.Tables)) {
		t := snap.Tables[id]
		text := t.Options[schema.OptionPartitions]
		if text == "" || snap.FindRunning(func(op *metapb.Operation) bool { return op.TableId == id }) != nil {
			continue
		}
		have := len(t.Writable().Shards())
		target, reason := have, ""
		if text == schema.PartitionsAuto {
			if snap.HotFor[id] < snap.Limits.HotFor {
				continue
			}
			target = have + 1
			reason = fmt.Sprintf("ingests %.1f MiB/s, more than %s should", snap.Rates.Table[id]/(1<<20),
				words.Count(have, "shard"))
		} else if n, err := strconv.Atoi(text); err == nil {
			target = n
			reason = "the option partitions is " + text
		}
		if target = min(target, max(open, have)); target == have || target < 1 {
			continue
		}
		if recentlyFailed(snap, operation.TablePartition, id) {
			continue
		}
		return startOperation(snap, operation.TablePartition, reason, func(op *metapb.Operation) {
			op.TableId = id
			operation.TableProgress(op).Partitions = uint32(target)
		})
	}
	return nil
}

// recentlyFailed prevents failed operations from being started again and again.
func recentlyFailed(snap *snapshot.Snapshot, kind string, table uint64) bool {
	return slices.ContainsFunc(snap.Operations, func(op *metapb.Operation) bool {
		return op.Kind == kind && op.TableId == table && op.State != metapb.OperationState_OPERATION_STATE_RUNNING &&
			op.State != metapb.OperationState_OPERATION_STATE_DONE && snap.Now.Sub(operation.Ended(op)) < snap.Limits.TableRest
	})
}

// maxTableMoves is the number of tables that may be moved at a time without a request.
const maxTableMoves = 4

// spreadTables moves hot tables to shards with low ingest rates, such as the shards of new nodes.
func spreadTables(snap *snapshot.Snapshot) *act {
	if snap.Status.GetSettings().GetRebalancePaused() || countRunning(snap, operation.TableMove) > 0 ||
		countRunning(snap, operation.Rebalance) > 0 {
		return nil
	}
	for _, m := range placement.SpreadTables(snapshot.ShardLoads(snap), snapshot.TableLoads(snap),
		placement.TableLimits{Moves: 1}) {
		if recentlyFailed(snap, operation.TableMove, m.Table) {
			continue
		}
		return startOperation(snap, operation.TableMove, m.Reason, func(op *metapb.Operation) {
			op.TableId, op.ToShards = m.Table, []uint32{m.To}
		})
	}
	return nil
}

// splitHot moves tables off a shard until its ingest rate is about halved.
func splitHot(snap *snapshot.Snapshot, op *metapb.Operation) decision {
	if snap.Shards[op.ShardId] == nil {
		return failed("end", "there is no shard %d", op.ShardId)
	}
	running, ended := snap.Parts(op.Id)
	if len(running) > 0 {
		return waitForParts(snap, op, running, ended)
	}
	moves := len(ended)
	if op.Cancel {
		return cancelled("%s moved", words.Say(moves, "table was", "tables were"))
	}
	if moves > 0 {
		return finished("%s moved away from shard %d", words.Say(moves, "table was", "tables were"), op.ShardId)
	}
	if snap.MeasuredFor < measureFor {
		return wait("measure", "measuring the ingest rates of tables")
	}
	tables := snapshot.TableLoads(snap)
	total := 0.0
	for _, t := range tables {
		if t.Shard == op.ShardId {
			total += t.Rate
		}
	}
	chosen := hottest(tables, op.ShardId, total)
	if len(chosen) == 0 {
		return finished("nothing was moved: shard %d ingests %.1f MiB/s, and no table on it that can be moved ingests up "+
			"to half "+
			"of that; spread a single hot table with the option partitions", op.ShardId,
			total/(1<<20))
	}
	others := slices.DeleteFunc(snapshot.ShardLoads(snap), func(s placement.ShardLoad) bool { return s.ID == op.ShardId })
	targets := placement.Emptiest(others, tables, nil, len(others))
	if len(targets) == 0 {
		return failed("end", "there is no other shard: 'cordwood shard add' creates one")
	}
	var parts []*metapb.Operation
	for i, t := range chosen {
		parts = append(parts, part(op, operation.TableMove, func(o *metapb.Operation) {
			o.TableId, o.ToShards = t.ID, []uint32{targets[i%len(targets)]}
			o.Reason = fmt.Sprintf("ingests %.1f MiB/s of a hot shard", t.Rate/(1<<20))
		}))
	}
	return startParts(stepParts, parts)
}

// measureFor is the time that a leader measures the ingest rates of tables before it splits a
// shard.
const measureFor = 10 * time.Second

// maxSplit is the number of tables that one split may move.
const maxSplit = 64

// hottest returns tables of a shard that together have up to half of its ingest.
func hottest(tables []placement.TableLoad, shard uint32, total float64) []placement.TableLoad {
	var own, out []placement.TableLoad
	for _, t := range tables {
		if t.Shard == shard && !t.Fixed && t.Rate > 0 {
			own = append(own, t)
		}
	}
	slices.SortStableFunc(own, func(a, b placement.TableLoad) int { return cmp.Compare(b.Rate, a.Rate) })
	left := total / 2
	for _, t := range own {
		if t.Rate <= left*1.1 && len(out) < maxSplit {
			out = append(out, t)
			left -= t.Rate
		}
	}
	return out
}
