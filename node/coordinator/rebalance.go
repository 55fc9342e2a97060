package coordinator

import (
	"cmp"

	"cordwood/meta/placement"
	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/proto/words"
)

// maxRebalance is the maximum number of parts of one rebalance. A rebalance normally ends long
// before, because each move lowers the imbalance that the planners measure.
const maxRebalance = 1000

// rebalance executes the plans for replicas, then the plans for hot tables, until they are empty.
func rebalance(snap *snapshot.Snapshot, op *metapb.Operation) decision {
	running, ended := snap.Parts(op.Id)
	if op.Cancel {
		if len(running) > 0 {
			return cancelParts(snap, running)
		}
		return cancelled("replicas and tables that were moved stay where they are; parts that were started: "+
			"%d", op.GetRebalance().GetParts())
	}
	if snap.Status.GetSettings().GetRebalancePaused() {
		return wait(stepParts,
			"rebalancing is paused: 'cordwood cluster resume rebalance' lets it continue; %s still running",
			words.Count(len(running), "part"))
	}
	begun := int(op.GetRebalance().GetParts())
	even := ""
	if begun < maxRebalance {
		plan := snapshot.PlanReplicas(snap, placement.Limits{})
		even = snap.Relabel(plan.Even)
		var parts []*metapb.Operation
		for _, m := range plan.Moves {
			parts = append(parts, movePart(snap, op, m))
		}
		if len(running) == 0 && len(parts) == 0 {
			parts = tableParts(snap, op)
		}
		if len(parts) > 0 {
			return startParts(stepParts, parts).remember(func(op *metapb.Operation) {
				operation.RebalanceProgress(op).Parts += uint32(len(parts))
			})
		}
		if len(running) == 0 && len(plan.Blocked) > 0 {
			b := plan.Blocked[0]
			return failed("end", "moved %s, and the rest cannot be moved: shard %d: %s",
				words.Say(len(ended), "replica or table", "replicas or tables"), b.Shard, snap.Relabel(b.Reason))
		}
	}
	if len(running) > 0 {
		return waitForParts(snap, op, running, ended)
	}
	if begun == 0 {
		return finished("nothing was moved, and no table is so hot that another shard should take it: %s", even)
	}
	return finished("moved %s; %s", words.Say(begun, "replica or table", "replicas or tables"),
		cmp.Or(even, "that is the maximum of one rebalance; start another one"))
}

func tableParts(snap *snapshot.Snapshot, op *metapb.Operation) []*metapb.Operation {
	var parts []*metapb.Operation
	for _, m := range placement.SpreadTables(snapshot.ShardLoads(snap), snapshot.TableLoads(snap),
		placement.TableLimits{}) {
		parts = append(parts, part(op, operation.TableMove, func(o *metapb.Operation) {
			o.TableId, o.ToShards, o.Reason = m.Table, []uint32{m.To}, m.Reason
		}))
	}
	return parts
}
