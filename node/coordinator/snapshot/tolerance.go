package snapshot

import (
	"fmt"
	"slices"

	"cordwood/proto/metapb"
)

// Tolerance returns how many voters of a group may fail before it stops; it is negative if it has stopped. Use it for
// decisions: a voter counts as long as its node is alive.
func (snap *Snapshot) Tolerance(voters []string) int {
	living := 0
	for _, id := range voters {
		if snap.Alive(id) && !snap.Unreachable(id) {
			living++
		}
	}
	return living - Majority(len(voters))
}

// ClusterTolerance returns how many more nodes may fail in the worst case, and what stops first; it is negative if
// something has stopped. Use it for display: starting shards, shards without rows, and nodes that have not reported
// yet do not count.
func ClusterTolerance(snap *Snapshot) (int, string) {
	lowest, what := max(snap.MetaTolerance("", snap.MetaPresent), 0), "the metadata group" // its leader has answered
	for _, s := range snap.Status.Shards {
		condition := snap.Condition(s)
		if condition == ConditionStarting || condition == ConditionUnknown || snap.Empty(s) {
			continue
		}
		left := shardTolerance(snap, s)
		if condition == ConditionNone {
			left = min(left, -1)
		} else {
			left = max(left, 0)
		}
		if left < lowest {
			lowest, what = left, fmt.Sprintf("shard %d", s.Id)
		}
	}
	return lowest, what
}

// shardTolerance returns how many voters of a shard may fail, assuming that the unknown ones work.
func shardTolerance(snap *Snapshot, s *metapb.Shard) int {
	voters := snap.voters(s)
	left := len(snap.ReadyVoters(s, voters)) - Majority(len(voters))
	for _, id := range snap.Unknown() {
		if slices.Contains(voters, id) {
			left++
		}
	}
	return left
}
