package coordinator

import (
	"fmt"
	"slices"
	"time"

	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/proto/shardpb"
)

// balanceLeaders transfers the leadership of one shard if a node leads many more shards than another node with a
// replica of that shard. It ignores nodes that are about to restart.
func balanceLeaders(snap *snapshot.Snapshot) *act {
	led := snap.Led()
	var best *act
	bestGap := 1
	for _, s := range snap.Status.Shards {
		g := snap.Groups[s.Id]
		if g.Leader == "" || snap.FindRunning(func(op *metapb.Operation) bool { return op.ShardId == s.Id }) != nil {
			continue
		}
		to := successor(snap, s, g, []string{g.Leader})
		if to == "" || restarting(snap, to) || snap.Unfit(to, s) {
			continue
		}
		gap := rank(snap, g.Leader, led) - rank(snap, to, led)
		if snap.Nodes[g.Leader].GetReport().GetStopping() {
			gap += 1 << 20
		}
		if gap > bestGap {
			bestGap, best = gap, changeGroup(s, g, to, shardpb.ChangeReplicasRequest_CHANGE_LEAD)
		}
	}
	return best
}

// restartTime is the time for which a node that was drained for a restart becomes no leader.
const restartTime = 2 * time.Minute

func restarting(snap *snapshot.Snapshot, id string) bool {
	return slices.ContainsFunc(snap.Operations, func(op *metapb.Operation) bool {
		return op.NodeId == id && op.GetNode().GetForRestart() &&
			(op.EndedUnixNano == 0 || snap.Now.Sub(operation.Ended(op)) < restartTime)
	})
}

// leadSound transfers the leadership of a shard to a replica that is complete and can flush.
// Queries go only to the leader: one that lacks rows would refuse them, and one that cannot flush
// refuses writes.
func leadSound(snap *snapshot.Snapshot) *act {
	for _, s := range snap.Status.Shards {
		g := snap.Groups[s.Id]
		if g.Leader == "" || !snap.Unfit(g.Leader, s) {
			continue
		}
		if to := successor(snap, s, g, []string{g.Leader}); to != "" && !snap.Unfit(to, s) {
			return changeGroup(s, g, to, shardpb.ChangeReplicasRequest_CHANGE_LEAD)
		}
	}
	return nil
}

// leadAway makes another voter the leader of a shard.
func leadAway(snap *snapshot.Snapshot, s *metapb.Shard, g *snapshot.Group, from []string) (decision, bool) {
	to := successor(snap, s, g, from)
	if to == "" {
		return wait(stepLead, "no other replica of shard %d is ready to lead it", s.Id), true
	}
	return call(stepLead, fmt.Sprintf("node %s leads instead of node %s", snap.Name(to), snap.Name(g.Leader)),
		changeGroup(s, g, to, shardpb.ChangeReplicasRequest_CHANGE_LEAD)), true
}

// successor returns the voter that should lead, other than the nodes in not, or an empty text if
// none can.
func successor(snap *snapshot.Snapshot, s *metapb.Shard, g *snapshot.Group, not []string) string {
	led := snap.Led()
	best := ""
	for _, id := range slices.Sorted(slices.Values(g.Voters)) {
		n := snap.Nodes[id]
		if slices.Contains(not, id) || id == g.Leader || !snap.Alive(id) || snap.Unreachable(id) ||
			n.GetReport().GetStopping() || !snap.CaughtUp(s, g, id) {
			continue
		}
		if best == "" || standing(snap, id, s, led) < standing(snap, best, s, led) {
			best = id
		}
	}
	return best
}

// rank orders nodes: the lower the rank, the better the node is as a leader.
func rank(snap *snapshot.Snapshot, id string, led map[string]int) int {
	r := led[id]
	if snap.Drained(id) || snap.Nodes[id].GetReport().GetDiskFull() {
		r += 1 << 20
	}
	return r
}

// standing returns the rank of a node for one shard. Nodes that lack rows of the shard come last,
// after nodes that cannot flush it.
func standing(snap *snapshot.Snapshot, id string, s *metapb.Shard, led map[string]int) int {
	r := rank(snap, id, led)
	if snap.Damaged(id, s) {
		r += 1 << 22
	} else if snap.Unfit(id, s) {
		r += 1 << 21
	}
	return r
}
