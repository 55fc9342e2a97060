package coordinator

import (
	"fmt"
	"slices"
	"strings"

	"cordwood/meta/placement"
	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/proto/words"
)

// changeReplicas implements replica-change: a shard gets another number of replicas.
func changeReplicas(snap *snapshot.Snapshot, op *metapb.Operation) decision {
	s := snap.Shards[op.ShardId]
	if s == nil {
		return failed("end", "there is no shard %d", op.ShardId)
	}
	if op.Want < 1 || op.Want > 7 {
		return failed("end", "shard %d cannot have %d replicas: from 1 to 7 are possible", op.ShardId, op.Want)
	}
	if !op.GetReplicas().GetChosen() {
		if op.Cancel {
			return cancelled("shard %d was not changed", s.Id)
		}
		adds, drops, why := chooseReplicas(snap, s, int(op.Want))
		if why != "" {
			return failed("end", "%s", why)
		}
		d := decision{step: stepWant, reason: "choosing nodes", again: true}
		return d.remember(func(op *metapb.Operation) {
			p := operation.ReplicasProgress(op)
			p.Chosen, p.Was, p.Add, p.Drop = true, uint32(snapshot.Want(s)), adds, drops
		})
	}
	if s.Want != op.Want && op.GetReplicas().GetUndo() == "" && !op.Cancel {
		return call(stepWant, words.Say(op.Want, "replica is wanted", "replicas are wanted"),
			changeShard(snap, "change the wanted replicas", s, func(c *metapb.ChangeShard) {
				c.Change = &metapb.ChangeShard_Want{Want: op.Want}
			}))
	}
	d := reshape(snap, op, s.Id, op.GetReplicas().GetAdd(), op.GetReplicas().GetDrop())
	if d.end == metapb.OperationState_OPERATION_STATE_DONE {
		d.reason = fmt.Sprintf("shard %d has %s, on %s", s.Id, words.Count(len(s.Replicas), "replica"),
			snap.Names(s.Replicas))
	}
	return d
}

// afterHas strips the number of replicas from a reason of the planner.
func afterHas(reason string) string {
	if _, why, ok := strings.Cut(reason, "; "); ok && strings.HasPrefix(reason, "has ") {
		return why
	}
	return reason
}

// chooseReplicas asks the planner which nodes should get or lose a replica of a shard, so that it has n.
func chooseReplicas(snap *snapshot.Snapshot, s *metapb.Shard, n int) (adds, drops []string, why string) {
	nodes := snapshot.PlannerNodes(snap)
	for i := range nodes {
		nodes[i].Moves = 0 // the shard's own move does not count
	}
	shards := snapshot.PlannerShards(snap)
	for i := range shards {
		shards[i].Busy = shards[i].ID != s.Id
		if shards[i].ID == s.Id {
			shards[i].Want = n
		}
	}
	have := slices.Clone(s.Replicas)
	for len(have) != n {
		plan := placement.Make(nodes, shards, placement.Limits{NodeMoves: 16})
		i := slices.IndexFunc(plan.Moves, func(m placement.Move) bool {
			return m.Shard == s.Id && (m.From == "") != (m.To == "")
		})
		if i < 0 {
			for _, b := range plan.Blocked {
				if b.Shard == s.Id {
					return nil, nil, fmt.Sprintf("shard %d cannot have %s: %s", s.Id, words.Count(n, "replica"), afterHas(b.Reason))
				}
			}
			return nil, nil, fmt.Sprintf("shard %d cannot have %s now: nodes with replicas do not answer", s.Id,
				words.Count(n, "replica"))
		}
		m := plan.Moves[i]
		if m.To != "" {
			adds, have = append(adds, m.To), append(have, m.To)
		} else {
			drops = append(drops, m.From)
			have = slices.DeleteFunc(have, func(id string) bool { return id == m.From })
		}
		for j := range shards {
			if shards[j].ID == s.Id {
				shards[j].Replicas = slices.Clone(have)
			}
		}
	}
	return adds, drops, ""
}
