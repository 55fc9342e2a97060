package coordinator

import (
	"slices"

	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/proto/shardpb"
)

// beginUndo makes an operation undo its changes, starting with the next step, because of why.
func beginUndo(why string) decision {
	d := decision{step: stepUndo, reason: why, again: true}
	return d.remember(func(op *metapb.Operation) { operation.ReplicasProgress(op).Undo = why })
}

// undoReshape undoes a change of replicas.
func undoReshape(snap *snapshot.Snapshot, op *metapb.Operation, s *metapb.Shard, g *snapshot.Group,
	adds, drops []string,
) decision {
	why := op.GetReplicas().GetUndo()
	if p := op.GetReplicas(); p.Chosen && s.Want != p.Was {
		return call(stepUndo, why, changeShard(snap, "restore the wanted replicas", s, func(c *metapb.ChangeShard) {
			c.Change = &metapb.ChangeShard_Want{Want: p.Was}
		}))
	}
	for _, id := range adds {
		listed := slices.Contains(s.Replicas, id) || slices.Contains(s.Learners, id)
		if listed && g.Leader == "" {
			return wait(stepUndo, "%s; undoing: %s", why, snap.WhyLeaderless(s))
		}
		if g.Leader == id {
			d, _ := leadAway(snap, s, g, adds)
			return d
		}
		if g.Leader != "" && g.Has(id) {
			if unsafe := whyMustStay(snap, s, g, id); unsafe != "" {
				return wait(stepUndo, "%s; undoing: %s", why, unsafe)
			}
			return call(stepUndo, why, changeGroup(s, g, id, shardpb.ChangeReplicasRequest_CHANGE_REMOVE))
		}
		if listed {
			return call(stepUndo, why, changeShard(snap, "remove from the metadata", s, func(c *metapb.ChangeShard) {
				c.Change = &metapb.ChangeShard_Remove{Remove: id}
			}))
		}
	}
	if d, hit := waitForCleaning(snap, s, adds); hit {
		return d
	}
	if op.Cancel {
		return cancelled("%s: shard %d is as it was before", why, s.Id)
	}
	return failed("end", "%s: shard %d is as it was before; try again", why, s.Id)
}
