package coordinator

import (
	"time"

	"cordwood/meta/placement"
	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
)

// automatic returns the next call that the cluster makes without a request, or nil.
func automatic(snap *snapshot.Snapshot) *act {
	for _, rule := range []func(*snapshot.Snapshot) *act{
		initialShards, tendMeta, repairShards, rebuildReplicas, replaceStuck, dropCopies, shardsForNewNodes,
		partitionTables, spreadTables, leadSound,
		balanceReplicas, balanceLeaders, forgetReplaced, raiseVersion, trimHistory,
	} {
		if a := rule(snap); a != nil {
			return a
		}
	}
	return nil
}

// balanceReplicas starts a rebalance if the nodes have been uneven for long, nothing else is running, and the last
// rebalance ended long ago.
func balanceReplicas(snap *snapshot.Snapshot) *act {
	if snap.Status.GetSettings().GetRebalancePaused() || len(snap.Running()) > 0 ||
		snap.StableFor < snap.Limits.RebalanceRest ||
		snap.SinceLast(operation.Rebalance) < snap.Limits.RebalanceRest ||
		time.Duration(snap.Status.LeadingNanos) < snap.Limits.Settle {
		return nil
	}
	plan := snapshot.PlanReplicas(snap, placement.Limits{Spread: snapshot.BalanceSpread})
	if len(plan.Moves) == 0 || len(plan.Blocked) > 0 {
		return nil
	}
	return startOperation(snap, operation.Rebalance, snap.Relabel(plan.Moves[0].Reason), func(*metapb.Operation) {})
}
