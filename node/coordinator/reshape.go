package coordinator

import (
	"fmt"
	"slices"
	"strings"

	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/proto/shardpb"
)

// The steps of a change of replicas.
const (
	stepOpen    = "open"    // a node opens a replica
	stepJoin    = "join"    // the group adds it as a learner
	stepPromote = "promote" // it becomes a voter
	stepRecord  = "record"  // the metadata record it
	stepLead    = "lead"    // another replica becomes the leader
	stepRemove  = "remove"  // a replica leaves the group
	stepClean   = "clean"   // it is removed from disk
	stepUndo    = "undo"
)

// moveReplica implements shard-move and replica-repair: it adds a replica, removes one, or both.
func moveReplica(snap *snapshot.Snapshot, op *metapb.Operation) decision {
	var adds, drops []string
	if op.ToNode != "" {
		adds = append(adds, op.ToNode)
	}
	if op.FromNode != "" {
		drops = append(drops, op.FromNode)
	}
	if op.Step == "" {
		if why := whyNoMove(snap, op.ShardId, op.FromNode, op.ToNode); why != "" {
			return failed("end", "%s", why)
		}
	}
	d := reshape(snap, op, op.ShardId, adds, drops)
	if d.end == metapb.OperationState_OPERATION_STATE_DONE {
		switch {
		case op.FromNode == "":
			d.reason = fmt.Sprintf("shard %d has a replica on node %s", op.ShardId, snap.Name(op.ToNode))
		case op.ToNode == "":
			d.reason = fmt.Sprintf("shard %d has no replica on node %s any more", op.ShardId, snap.Name(op.FromNode))
		default:
			d.reason = fmt.Sprintf("shard %d went from node %s to node %s", op.ShardId, snap.Name(op.FromNode),
				snap.Name(op.ToNode))
		}
	}
	return d
}

// whyNoMove returns the reason why a replica cannot be moved at all, or an empty text.
func whyNoMove(snap *snapshot.Snapshot, shard uint32, from, to string) string {
	s := snap.Shards[shard]
	switch {
	case s == nil:
		return fmt.Sprintf("there is no shard %d", shard)
	case from == "" && to == "" || from == to:
		return fmt.Sprintf("shard %d: the replica cannot move from node %s to node %s: give two different nodes",
			shard, snap.Name(from),
			snap.Name(to))
	case from != "" && !slices.Contains(s.Replicas, from):
		return fmt.Sprintf("shard %d has no replica on node %s: its replicas are on %s", shard, snap.Name(from),
			snap.Names(s.Replicas))
	case to != "" && slices.Contains(s.Replicas, to):
		return fmt.Sprintf("shard %d has a replica on node %s already", shard, snap.Name(to))
	case to == "" && len(s.Replicas) == 1:
		return fmt.Sprintf("shard %d has one replica, on node %s: it cannot be given up", shard, snap.Name(from))
	case to != "" && snap.WhyNoReplicas(to) != "":
		return snap.WhyNoReplicas(to)
	}
	return ""
}

// reshape adds replicas of a shard on the nodes in adds, and removes those on the nodes in drops. It derives the next
// step from the metadata and the group, so another coordinator may have made the earlier steps. reshape never leaves
// the group with fewer replicas than wanted, and never lowers its fault tolerance.
func reshape(snap *snapshot.Snapshot, op *metapb.Operation, shard uint32, adds, drops []string) decision {
	s := snap.Shards[shard]
	if s == nil {
		return failed("end", "there is no shard %d", shard)
	}
	g := snap.Groups[shard]
	if op.GetReplicas().GetUndo() != "" {
		return undoReshape(snap, op, s, g, adds, drops)
	}
	undoable := g.Leader == "" && !hasBegun(snap, s, adds, drops) ||
		g.Leader != "" && !slices.ContainsFunc(drops, func(id string) bool { return !slices.Contains(g.Voters, id) })
	if op.Cancel && undoable {
		return beginUndo("it was cancelled")
	}
	if g.Leader == "" {
		return wait(orStep(op, stepOpen), "%s", snap.WhyLeaderless(s))
	}
	if d, hit := admit(snap, op, s, g, adds, undoable); hit {
		return d
	}
	if d, hit := promote(snap, op, s, g, adds, drops, undoable); hit {
		return d
	}
	if d, hit := dismiss(snap, s, g, drops); hit {
		return d.copied(g.Bytes, g.Bytes)
	}
	return finished("").copied(g.Bytes, g.Bytes)
}

// hasBegun reports whether the metadata show that a change has started.
func hasBegun(snap *snapshot.Snapshot, s *metapb.Shard, adds, drops []string) bool {
	for _, id := range adds {
		if slices.Contains(s.Replicas, id) || slices.Contains(s.Learners, id) {
			return true
		}
	}
	return slices.ContainsFunc(drops, func(id string) bool { return !slices.Contains(s.Replicas, id) })
}

// admit adds the new replicas as learners and waits until they are caught up.
func admit(snap *snapshot.Snapshot, op *metapb.Operation, s *metapb.Shard, g *snapshot.Group, adds []string,
	undoable bool,
) (decision, bool) {
	for _, id := range adds {
		if slices.Contains(g.Voters, id) {
			continue
		}
		if !snap.Alive(id) {
			if undoable && (snap.Nodes[id] == nil || snap.SilentFor(id) >= snap.Limits.GiveUpAfter) {
				return beginUndo(fmt.Sprintf("node %s went down while it copied shard %d", snap.Name(id), s.Id)), true
			}
			return wait(orStep(op, stepOpen), "node %s, the target of the replica, does not answer", snap.Name(id)), true
		}
		switch {
		case snap.Drained(id) && undoable && !g.Has(id):
			return beginUndo(fmt.Sprintf("node %s is drained, and gets no replica", snap.Name(id))), true
		case slices.Contains(s.Removed, id):
			return wait(stepOpen, "node %s is still removing its former replica of shard %d", snap.Name(id), s.Id), true
		case !slices.Contains(s.Learners, id) && !slices.Contains(s.Replicas, id):
			return call(stepOpen, fmt.Sprintf("node %s opens a replica", snap.Name(id)),
				changeShard(snap, "add learner to the metadata", s, func(c *metapb.ChangeShard) {
					c.Change = &metapb.ChangeShard_AddLearner{AddLearner: id}
				})), true
		}
	}
	if d, ok := joinGroup(snap, s, g, adds); ok {
		return d, true
	}
	return waitForCopy(snap, op, s, g, adds)
}

// joinGroup adds the first open replica that is not in the group as a learner.
func joinGroup(snap *snapshot.Snapshot, s *metapb.Shard, g *snapshot.Group, adds []string) (decision, bool) {
	for _, id := range adds {
		if g.Has(id) {
			continue
		}
		if snap.Replica(id, s) == nil {
			return wait(stepJoin, "node %s has not opened its replica yet", snap.Name(id)), true
		}
		return call(stepJoin, fmt.Sprintf("the replica on node %s joins as a learner", snap.Name(id)),
			changeGroup(s, g, id, shardpb.ChangeReplicasRequest_CHANGE_ADD_LEARNER)), true
	}
	return decision{}, false
}

// waitForCopy waits until the learners have caught up.
func waitForCopy(snap *snapshot.Snapshot, op *metapb.Operation, s *metapb.Shard, g *snapshot.Group,
	adds []string,
) (decision, bool) {
	var behind []string
	done, total := int64(0), int64(0)
	for _, id := range adds {
		if slices.Contains(g.Voters, id) {
			continue
		}
		r := snap.Replica(id, s)
		size := max(r.GetInstallTotalBytes(), g.Bytes)
		total += size
		if !snap.CaughtUp(s, g, id) {
			behind = append(behind, fmt.Sprintf("node %s is %s", snap.Name(id), snapshot.LagWords(r, g)))
			done += min(r.GetInstallDoneBytes(), size)
			continue
		}
		done += size
	}
	if len(behind) == 0 {
		return decision{}, false
	}
	d := wait(operation.StepCopy, "%s", strings.Join(behind, "; ")).copied(done, total)
	if op.GetReplicas().GetCopyingUnixNano() == 0 {
		d = d.remember(func(op *metapb.Operation) { operation.ReplicasProgress(op).CopyingUnixNano = snap.Now.UnixNano() })
	}
	return d, true
}

// promote makes the new replicas voters, all at once when all are ready. If a shard of one replica has two voters for
// too long, promote undoes that, since both must be alive for writes.
func promote(snap *snapshot.Snapshot, op *metapb.Operation, s *metapb.Shard, g *snapshot.Group, adds, drops []string,
	undoable bool,
) (decision, bool) {
	single := len(drops) > 0 && len(g.Voters) <= 2 && len(adds) == 1
	for _, id := range adds {
		if slices.Contains(g.Voters, id) {
			continue
		}
		d := call(stepPromote, fmt.Sprintf("the replica on node %s becomes a voter", snap.Name(id)),
			changeGroup(s, g, id, shardpb.ChangeReplicasRequest_CHANGE_PROMOTE))
		if single && op.GetReplicas().GetPromotedUnixNano() == 0 {
			d = d.remember(func(op *metapb.Operation) { operation.ReplicasProgress(op).PromotedUnixNano = snap.Now.UnixNano() })
		}
		return d.copied(g.Bytes, g.Bytes), true
	}
	if single && undoable && snap.PairedFor[op.Id] > snap.Limits.PairLimit {
		return beginUndo(fmt.Sprintf("the replica on node %s could not be removed within %v, and a shard of one replica "+
			"must not keep two voters",
			snap.Name(drops[0]), snap.Limits.PairLimit)), true
	}
	for _, id := range adds {
		if !slices.Contains(s.Replicas, id) {
			return call(stepRecord, fmt.Sprintf("the metadata list node %s", snap.Name(id)),
				changeShard(snap, "promote in the metadata", s, func(c *metapb.ChangeShard) {
					c.Change = &metapb.ChangeShard_Promote{Promote: id}
				})).copied(g.Bytes, g.Bytes), true
		}
	}
	return decision{}, false
}

// dismiss removes replicas from nodes that should not have one.
func dismiss(snap *snapshot.Snapshot, s *metapb.Shard, g *snapshot.Group, drops []string) (decision, bool) {
	if slices.Contains(drops, g.Leader) {
		return leadAway(snap, s, g, drops)
	}
	for _, id := range drops {
		if g.Has(id) {
			if why := whyMustStay(snap, s, g, id); why != "" {
				return wait(stepRemove, "%s", why), true
			}
			return call(stepRemove, fmt.Sprintf("the replica on node %s leaves the group", snap.Name(id)),
				changeGroup(s, g, id, shardpb.ChangeReplicasRequest_CHANGE_REMOVE)), true
		}
		if slices.Contains(s.Replicas, id) || slices.Contains(s.Learners, id) {
			return call(stepRecord, fmt.Sprintf("the metadata no longer list node %s", snap.Name(id)),
				changeShard(snap, "remove from the metadata", s, func(c *metapb.ChangeShard) {
					c.Change = &metapb.ChangeShard_Remove{Remove: id}
				})), true
		}
	}
	return waitForCleaning(snap, s, drops)
}

// waitForCleaning waits until the nodes that answer have deleted their former replicas. Nodes that
// are down delete theirs when they return.
func waitForCleaning(snap *snapshot.Snapshot, s *metapb.Shard, nodes []string) (decision, bool) {
	for _, id := range nodes {
		if slices.Contains(s.Removed, id) && snap.Alive(id) {
			return wait(stepClean, "node %s removes its former replica from disk", snap.Name(id)), true
		}
	}
	return decision{}, false
}

// whyMustStay returns the reason why a voter must stay for now, or an empty text.
func whyMustStay(snap *snapshot.Snapshot, s *metapb.Shard, g *snapshot.Group, id string) string {
	rest := slices.DeleteFunc(slices.Clone(g.Voters), func(v string) bool { return v == id })
	if len(rest) == len(g.Voters) {
		return "" // it is a learner
	}
	if len(rest) == 0 {
		return fmt.Sprintf("it is the last replica of shard %d", s.Id)
	}
	aim := snapshot.Want(s) - snapshot.Majority(snapshot.Want(s))
	if left := snap.Tolerance(rest); left < min(snap.Tolerance(g.Voters), aim) || left < 0 {
		return fmt.Sprintf("without node %s shard %d would tolerate too few failures: not enough of the others, on %s, "+
			"answer",
			snap.Name(id), s.Id, snap.Names(rest))
	}
	return ""
}
