package coordinator

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cordwood/proto/metapb"
	"cordwood/proto/shardpb"
)

// rebuild is replica-rebuild: a replica whose files are damaged leaves its group, is
// deleted, and comes back on the same node as a new one that takes everything over from
// the others. Replicas have different files, so a single file cannot be fetched.
//
// What the node has goes only while all other replicas are there and sound: until then the
// operation waits, and can be cancelled; after that it goes on to its end.
func (p *picture) rebuild(op *metapb.Operation) decision {
	s, node := p.shards[op.ShardId], op.FromNode
	if s == nil {
		return failed("end", "there is no shard %d", op.ShardId)
	}
	g := p.groups[s.Id]
	if op.Notes[noteUndo] != "" {
		d := p.undo(op, s, g, []string{node}, nil)
		if d.end != metapb.OperationState_OPERATION_STATE_UNSPECIFIED {
			d = failed("end", "%s: shard %d has one replica less now, and gets another where there is a node for it", op.Notes[noteUndo], s.Id)
		}
		return d
	}
	if op.Notes[noteLeft] == "" {
		return p.withdraw(op, s, g, node)
	}
	begin := func(why string) decision {
		return decision{step: stepUndo, reason: why, again: true}.note(noteUndo, why)
	}
	if p.nodes[node] == nil {
		return begin(fmt.Sprintf("node %s was removed while shard %d was rebuilt there", p.name(node), s.Id))
	}
	if g.leader == "" {
		return wait(orStep(op, stepOpen), "%s", p.leaderless(s))
	}
	adds, coming := []string{node}, !slices.Contains(g.voters, node)
	if d, hit := p.admit(op, s, g, adds, coming, begin); hit {
		return d
	}
	if d, hit := p.promote(op, s, g, adds, nil, coming, begin); hit {
		return d
	}
	return finished("the replica of shard %d on node %s was made anew from the others", s.Id, p.name(node)).progress(g.bytes, g.bytes)
}

// cancelAfter is for how long a removal that was asked for may still come about: longer
// than a call and a report take.
const cancelAfter = 15 * time.Second

// withdraw takes the damaged replica from its group and its node.
func (p *picture) withdraw(op *metapb.Operation, s *metapb.Shard, g *group, node string) decision {
	listed := slices.Contains(s.Replicas, node)
	if listed && (g.leader == "" || slices.Contains(g.voters, node)) { // nothing is changed yet
		if op.Cancel && op.Notes[noteLeaving] != "" && (g.leader == "" || p.unchanged[op.Id] < cancelAfter) {
			return wait(stepRemove, "it is cancelled, if the replica on node %s has not left the group already", p.name(node))
		}
		if op.Cancel {
			return cancelled("it was cancelled: the replica of shard %d on node %s is as it was", s.Id, p.name(node))
		}
		why, never := p.keepDamaged(s, g, node)
		switch {
		case never:
			return failed("end", "%s", why)
		case why != "":
			return wait(orStep(op, stepRemove), "%s", why)
		case g.leader == node:
			d, _ := p.leadAway(s, g, []string{node})
			return d
		}
		return call(stepRemove, fmt.Sprintf("the replica on node %s leaves the group", p.name(node)), changeGroup(s, g, node, shardpb.ChangeReplicasRequest_CHANGE_REMOVE)).note(noteLeaving, "true")
	}
	switch {
	case listed:
		return call(stepRecord, fmt.Sprintf("the metadata no longer list node %s", p.name(node)), p.changeShard("remove from the metadata", s, func(c *metapb.ChangeShard) {
			c.Change = &metapb.ChangeShard_Remove{Remove: node}
		}))
	case op.Step == "":
		return failed("end", "shard %d has no replica on node %s: it has some on %s", s.Id, p.name(node), p.names(s.Replicas))
	}
	if d, hit := p.cleaning(s, []string{node}); hit {
		return d
	}
	return decision{step: stepClean, reason: fmt.Sprintf("node %s has removed its damaged replica", p.name(node)), again: true}.note(noteLeft, "true")
}

// keepDamaged says why a damaged replica has to stay for now; empty: it may go. What it
// has may be the last copy of something, so each of the others must have all. never: that
// does not change by waiting.
func (p *picture) keepDamaged(s *metapb.Shard, g *group, node string) (why string, never bool) {
	rest := slices.DeleteFunc(slices.Clone(s.Replicas), func(id string) bool { return id == node })
	switch {
	case len(rest) == 0:
		return fmt.Sprintf("shard %d has one replica, on node %s: there is none to make it from; restore what is damaged from a backup", s.Id, p.name(node)), true
	case p.leaving(node):
		return fmt.Sprintf("node %s is drained: its replica goes away with that", p.name(node)), true
	case !p.alive(node):
		return fmt.Sprintf("node %s does not answer", p.name(node)), false
	case p.nodes[node].GetReport().GetStopping() || p.nodes[node].GetReport().GetDiskFull():
		return p.takes(node), false
	case g.leader == "":
		return p.leaderless(s), false
	case len(g.learners) > 0 || !slices.Equal(sortedIDs(g.voters), sortedIDs(s.Replicas)):
		return fmt.Sprintf("the members of shard %d change: the metadata list %s, the group has %s", s.Id, p.names(s.Replicas), p.names(g.voters)), false
	}
	var lacking []string
	for _, id := range rest {
		r := p.replica(id, s)
		switch {
		case !p.alive(id) || r == nil:
			lacking = append(lacking, fmt.Sprintf("node %s does not answer", p.name(id)))
		case p.nodes[id].GetReport().GetStopping():
			lacking = append(lacking, fmt.Sprintf("node %s is stopping", p.name(id)))
		case p.damaged(id, s):
			lacking = append(lacking, fmt.Sprintf("the replica on node %s is damaged, too: restore the files that it names", p.name(id)))
		case !p.caughtUp(s, g, id) && id != g.leader:
			lacking = append(lacking, fmt.Sprintf("the replica on node %s is %s", p.name(id), lagWords(r, g)))
		}
	}
	if len(lacking) > 0 {
		return fmt.Sprintf("the replica of shard %d on node %s stays until all others are there and sound: %s", s.Id, p.name(node), strings.Join(lacking, "; ")), false
	}
	return "", false
}

func sortedIDs(ids []string) []string { return slices.Sorted(slices.Values(ids)) }

// damaged tells whether rows are missing from a replica because its files are damaged.
func (p *picture) damaged(node string, s *metapb.Shard) bool {
	r := p.replica(node, s)
	return r.GetDamagedSegments() > 0 || r.GetFilesDamaged()
}

// Rebuilds are few at a time: each copies a whole replica.
const (
	maxRebuilds = 4
	// rebuildRest is how long after a rebuild that failed the next one of the same replica
	// is begun.
	rebuildRest = time.Minute
)

// rebuildReplicas makes replicas anew whose files are damaged, if the others have all.
func (p *picture) rebuildReplicas() *act {
	if p.count(KindReplicaRebuild) >= maxRebuilds {
		return nil
	}
	for _, s := range p.status.Shards {
		if len(s.Learners) > 0 || p.runs(func(op *metapb.Operation) bool { return op.ShardId == s.Id }) != nil {
			continue
		}
		for _, id := range s.Replicas {
			if !p.damaged(id, s) || p.rebuildsOn(id) {
				continue
			}
			if why, _ := p.keepDamaged(s, p.groups[s.Id], id); why != "" {
				continue
			}
			return p.starting(KindReplicaRebuild, p.damageWords(id, s), func(op *metapb.Operation) {
				op.ShardId, op.FromNode, op.ToNode, op.TotalBytes = s.Id, id, id, p.groups[s.Id].bytes
			})
		}
	}
	return nil
}

// rebuildsOn tells whether a replica of the node is being made anew, or that ended a
// moment ago.
func (p *picture) rebuildsOn(node string) bool {
	return slices.ContainsFunc(p.status.Operations, func(op *metapb.Operation) bool {
		if op.Kind != KindReplicaRebuild || op.FromNode != node {
			return false
		}
		switch op.State {
		case metapb.OperationState_OPERATION_STATE_RUNNING:
			return true
		case metapb.OperationState_OPERATION_STATE_FAILED, metapb.OperationState_OPERATION_STATE_CANCELLED:
			return p.now.Sub(endTime(op)) < rebuildRest
		case metapb.OperationState_OPERATION_STATE_DONE:
			// The newest report may still be of the replica of before.
			return p.now.Sub(endTime(op)) < p.cfg.DownAfter
		}
		return false
	})
}

// damageWords says what is damaged of a replica.
func (p *picture) damageWords(node string, s *metapb.Shard) string {
	r := p.replica(node, s)
	if r.GetDamagedSegments() == 0 {
		return fmt.Sprintf("the replica on node %s does not open: %s", p.name(node), r.GetReason())
	}
	var words []string
	for _, d := range r.Damaged {
		words = append(words, fmt.Sprintf("%s (%d rows)", d.File, d.Rows))
	}
	if more := int(r.DamagedSegments) - len(words); more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%d damaged files on node %s: %s", r.DamagedSegments, p.name(node), few(words))
}

// leadSound has a replica lead that lacks nothing and can flush: queries go to the leader alone,
// and one that misses rows could only refuse them; one that cannot flush refuses writes.
func (p *picture) leadSound() *act {
	for _, s := range p.status.Shards {
		g := p.groups[s.Id]
		if g.leader == "" || !p.unfit(g.leader, s) {
			continue
		}
		if to := p.successor(s, g, []string{g.leader}); to != "" && !p.unfit(to, s) {
			return changeGroup(s, g, to, shardpb.ChangeReplicasRequest_CHANGE_LEAD)
		}
	}
	return nil
}
