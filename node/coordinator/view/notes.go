package view

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"cordwood/meta/placement"
	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/router/httpapi/clusterapi"
)

// rebalanceLater reports when replicas will be moved to nodes with fewer replicas, unless a user starts the rebalance
// before. The set of nodes must be stable for a while first.
func (d *diagnosis) rebalanceLater() {
	snap := d.snap
	if snap.Status.GetSettings().GetRebalancePaused() || len(snap.Running()) > 0 ||
		slices.ContainsFunc(snap.Status.Nodes, func(n *metapb.NodeStatus) bool {
			id := n.GetNode().GetId()
			return snapshot.HoldsShards(n.Node) && !snap.Present(id) && !snap.Emptied(id) || n.Report == nil && !n.Down
		}) {
		return // the contents of a silent node are not known, and the waiting time starts when it returns
	}
	plan := snapshot.PlanReplicas(snap, placement.Limits{Spread: snapshot.BalanceSpread})
	if len(plan.Blocked) > 0 || len(plan.Moves) == 0 ||
		slices.ContainsFunc(plan.Moves, func(m placement.Move) bool { return m.From == "" || m.To == "" }) {
		return
	}
	since := snap.Now.Add(-min(snap.SinceLast(operation.Rebalance), time.Duration(snap.Status.LeadingNanos)))
	for _, n := range snap.Status.Nodes {
		if at := time.Unix(0, n.GetNode().GetRegisteredUnixNano()); at.After(since) {
			since = at
		}
	}
	if at := since.Add(snap.Limits.RebalanceRest); at.After(snap.Now) {
		d.add(info, "'cordwood rebalance' starts now",
			"at %s UTC, replicas begin to move to node %s, which holds less than others; later, if a node joins or leaves "+
				"before",
			at.UTC().Format(time.TimeOnly), snap.Label(plan.Moves[0].To))
		d.offer(clusterapi.Action{Kind: operation.Rebalance})
	}
}

// notes reports facts that are not faults but worth knowing.
func (d *diagnosis) notes() {
	snap := d.snap
	d.rebalanceLater()
	for _, n := range snap.Status.Nodes {
		if left := n.GetReport().GetLeftShards(); len(left) > 0 && !n.Down {
			var ids []string
			for _, id := range left {
				ids = append(ids, strconv.FormatUint(uint64(id), 10))
			}
			d.add(info, "the cluster never reads or deletes them; remove what is not needed from the folder "+
				"shards of its data folder",
				"node %s has folders of shards %s that the cluster does not use: it has placed these shards elsewhere, or "+
					"created them again",
				snap.Label(n.Node.GetId()), snapshot.Few(ids))
		}
	}
	if snap.Status.GetSettings().GetRebalancePaused() {
		d.add(info, "'cordwood cluster resume rebalance' resumes it",
			"rebalancing is paused: replicas and tables are not moved for balance")
		d.offer(clusterapi.Action{Kind: operation.RequestResume})
	}
	var alone []string
	nodes := 0
	for _, n := range snap.Status.Nodes {
		if snapshot.HoldsShards(n.Node) {
			nodes++
		}
	}
	for _, s := range snap.Status.Shards {
		if snapshot.Want(s) == 1 && !s.Retiring {
			alone = append(alone, strconv.FormatUint(uint64(s.Id), 10))
		}
	}
	if nodes >= 3 && len(alone) > 0 {
		words := "shard " + alone[0] + " has one replica"
		if len(alone) > 1 {
			words = "shards " + snapshot.Few(alone) + " have one replica each"
		}
		d.add(info, fmt.Sprintf("'cordwood shard replicas %s 3' creates two more", alone[0]),
			"%s: while its node is down, its rows can be neither written nor read", words)
	}
}
