package snapshot

import (
	"cmp"
	"slices"
	"time"

	"cordwood/meta/placement"
	"cordwood/node/coordinator/operation"
	"cordwood/proto/metapb"
)

// BalanceSpread is the difference between nodes above which replicas are moved without a request.
const BalanceSpread = 0.3

// PlanReplicas asks the planner which replicas should move.
func PlanReplicas(snap *Snapshot, limits placement.Limits) placement.Plan {
	return placement.Make(PlannerNodes(snap), PlannerShards(snap), limits)
}

// PlannerNodes returns the nodes in the planner's form.
func PlannerNodes(snap *Snapshot) []placement.Node {
	moves := map[string]int{}
	for _, op := range snap.Running() {
		if op.Kind == operation.ShardMove || op.Kind == operation.ReplicaRepair || op.Kind == operation.ReplicaRebuild {
			moves[op.FromNode]++
			moves[op.ToNode]++
		}
	}
	var out []placement.Node
	for _, n := range snap.Status.Nodes {
		id := n.GetNode().GetId()
		if !HoldsShards(n.Node) {
			continue
		}
		m := placement.Node{
			ID: id, Zone: n.Node.Zone, Capacity: n.GetReport().GetDiskCapacity(), Used: n.GetReport().GetDiskUsed(),
			Moves: moves[id],
		}
		switch {
		case snap.Lost(id) || n.Down && snap.Drained(id):
			m.State = placement.Down
		case snap.Drained(id):
			m.State = placement.Draining
		case snap.WhyNoReplicas(id) != "":
			m.State = placement.Away
		}
		if m.Capacity == 0 && m.State == placement.Up {
			m.Capacity = 1 << 50 // its disk could not be measured, but it should still get replicas
		}
		out = append(out, m)
	}
	return out
}

// PlannerShards returns the shards in the planner's form. Replicas that are being moved count at their targets;
// otherwise the planner would send a node more replicas until the first one has arrived.
func PlannerShards(snap *Snapshot) []placement.Shard {
	busy, moves := map[uint32]bool{}, map[uint32]*metapb.Operation{}
	for _, op := range snap.Running() {
		busy[op.ShardId] = true
		if op.Kind == operation.ShardMove || op.Kind == operation.ReplicaRepair {
			moves[op.ShardId] = op
		}
	}
	var out []placement.Shard
	for _, s := range snap.Status.Shards {
		replicas := s.Replicas
		if op := moves[s.Id]; op != nil && !op.Cancel && op.GetReplicas().GetUndo() == "" {
			replicas = slices.DeleteFunc(slices.Clone(replicas), func(id string) bool { return id == op.FromNode })
			if op.ToNode != "" && !slices.Contains(replicas, op.ToNode) {
				replicas = append(replicas, op.ToNode)
			}
		}
		out = append(out, placement.Shard{
			ID: s.Id, Want: Want(s), Replicas: replicas, Bytes: snap.Groups[s.Id].Bytes, Ingest: snap.Rates.Shard[s.Id],
			Busy: busy[s.Id] || len(s.Learners) > 0, Leaving: s.Retiring,
		})
	}
	return out
}

// ShardLoads returns, by id, the shards in the form of the planner of tables.
func ShardLoads(snap *Snapshot) []placement.ShardLoad {
	var out []placement.ShardLoad
	for _, s := range snap.Status.Shards {
		l := placement.ShardLoad{ID: s.Id, Node: snap.Groups[s.Id].Leader}
		l.Open = l.Node != "" && snap.WhyNoReplicas(l.Node) == "" && !s.Retiring
		if l.Node == "" && len(s.Replicas) > 0 {
			l.Node = s.Replicas[0]
		}
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b placement.ShardLoad) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// TableLoads returns, by id and shard, the tables in the form of the planner of tables.
func TableLoads(snap *Snapshot) []placement.TableLoad {
	busy := map[uint64]bool{}
	for _, op := range snap.Running() {
		busy[op.TableId] = true
	}
	var out []placement.TableLoad
	for _, t := range snap.Tables {
		w := t.Writable()
		shards := w.Shards()
		settled := snap.Now.Sub(time.Unix(0, w.Since)) >= snap.Limits.TableRest
		for _, id := range shards {
			out = append(out, placement.TableLoad{
				ID: t.ID, Shard: id, Rate: snap.Rates.Table[t.ID] / float64(len(shards)),
				Fixed: busy[t.ID] || len(shards) > 1 || !settled,
			})
		}
	}
	slices.SortFunc(out, func(a, b placement.TableLoad) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Shard, b.Shard))
	})
	return out
}
