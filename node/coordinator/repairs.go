package coordinator

import (
	"fmt"
	"time"

	"cordwood/meta/placement"
	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
)

// maxRepairs is the number of repairs that may run at a time, besides the limit for each node.
const maxRepairs = 16

// repairShards replaces the replicas of nodes that have been silent for long, and adds missing
// replicas, for shards that still work.
func repairShards(snap *snapshot.Snapshot) *act {
	if countRunning(snap, operation.ReplicaRepair) >= maxRepairs {
		return nil
	}
	plan := snapshot.PlanReplicas(snap, placement.Limits{})
	for _, m := range plan.Moves {
		g := snap.Groups[m.Shard]
		repair := m.From == "" || m.To == "" || snap.Lost(m.From)
		if !repair || g.Leader == "" || m.From != "" && m.To != "" && beingEmptied(snap, m.From) {
			continue
		}
		return startOperation(snap, operation.ReplicaRepair, snap.Relabel(m.Reason), func(op *metapb.Operation) {
			op.ShardId, op.FromNode, op.ToNode, op.TotalBytes = m.Shard, m.From, m.To, m.Bytes
		})
	}
	return nil
}

// replaceStuck moves a replica to another node if its flushes have failed for ReplaceAfter.
func replaceStuck(snap *snapshot.Snapshot) *act {
	if countRunning(snap, operation.ReplicaRepair) >= maxRepairs {
		return nil
	}
	for _, s := range snap.Status.Shards {
		g := snap.Groups[s.Id]
		if g.Leader == "" || len(s.Learners) > 0 ||
			snap.FindRunning(func(op *metapb.Operation) bool { return op.ShardId == s.Id }) != nil {
			continue
		}
		for _, id := range s.Replicas {
			why, since := snap.CannotFlush(id, s)
			if why == "" || since < snap.Limits.ReplaceAfter || id == g.Leader && len(s.Replicas) > 1 || snap.Drained(id) {
				continue
			}
			to := snapshot.HomeBeside(snap, s, id)
			if to == "" || whyNoMove(snap, s.Id, id, to) != "" {
				continue
			}
			return startOperation(snap, operation.ReplicaRepair, fmt.Sprintf("node %s could not flush it for %s: %s",
				snap.Name(id), snapshot.Round(since), why), func(op *metapb.Operation) {
				op.ShardId, op.FromNode, op.ToNode, op.TotalBytes = s.Id, id, to, g.Bytes
			})
		}
	}
	return nil
}

// The number of concurrent rebuilds is limited, since each copies a whole replica.
const (
	maxRebuilds = 4
	// rebuildRest is the minimum time between a failed rebuild of a replica and the next.
	rebuildRest = time.Minute
)

// rebuildReplicas rebuilds replicas with damaged files if the other replicas are complete.
func rebuildReplicas(snap *snapshot.Snapshot) *act {
	if countRunning(snap, operation.ReplicaRebuild) >= maxRebuilds {
		return nil
	}
	for _, s := range snap.Status.Shards {
		if len(s.Learners) > 0 || snap.FindRunning(func(op *metapb.Operation) bool { return op.ShardId == s.Id }) != nil {
			continue
		}
		for _, id := range s.Replicas {
			if !snap.Damaged(id, s) || rebuildsOn(snap, id) {
				continue
			}
			if why, _ := snapshot.WhyKeepDamaged(snap, s, snap.Groups[s.Id], id); why != "" {
				continue
			}
			return startOperation(snap, operation.ReplicaRebuild, snapshot.DamageWords(snap, id, s), func(op *metapb.Operation) {
				op.ShardId, op.FromNode, op.ToNode, op.TotalBytes = s.Id, id, id, snap.Groups[s.Id].Bytes
			})
		}
	}
	return nil
}
