package coordinator

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cordwood/proto/metapb"
	"cordwood/proto/shardpb"
)

// The steps of a change of replicas.
const (
	stepOpen    = "open"    // a node is told to open a replica
	stepJoin    = "join"    // the group takes it in as a learner
	stepCopy    = "copy"    // it takes over the state
	stepPromote = "promote" // it votes
	stepRecord  = "record"  // the metadata take note
	stepLead    = "lead"    // another replica becomes the leader
	stepRemove  = "remove"  // a replica leaves the group
	stepClean   = "clean"   // it is removed from disk
	stepUndo    = "undo"
)

// moveReplica is shard-move and replica-repair: a replica that is added, removed, or both.
func (p *picture) moveReplica(op *metapb.Operation) decision {
	var adds, drops []string
	if op.ToNode != "" {
		adds = append(adds, op.ToNode)
	}
	if op.FromNode != "" {
		drops = append(drops, op.FromNode)
	}
	if op.Step == "" {
		if why := p.refuseMove(op.ShardId, op.FromNode, op.ToNode); why != "" {
			return failed("end", "%s", why)
		}
	}
	d := p.reshape(op, op.ShardId, adds, drops)
	if d.end == metapb.OperationState_OPERATION_STATE_DONE {
		switch {
		case op.FromNode == "":
			d.reason = fmt.Sprintf("shard %d has a replica on node %s", op.ShardId, p.name(op.ToNode))
		case op.ToNode == "":
			d.reason = fmt.Sprintf("shard %d has no replica on node %s any more", op.ShardId, p.name(op.FromNode))
		default:
			d.reason = fmt.Sprintf("shard %d went from node %s to node %s", op.ShardId, p.name(op.FromNode), p.name(op.ToNode))
		}
	}
	return d
}

// refuseMove says why a replica cannot be moved at all; empty: it can.
func (p *picture) refuseMove(shard uint32, from, to string) string {
	s := p.shards[shard]
	switch {
	case s == nil:
		return fmt.Sprintf("there is no shard %d", shard)
	case from == "" && to == "" || from == to:
		return fmt.Sprintf("shard %d: the replica is to move from node %s to node %s: name two nodes", shard, p.name(from), p.name(to))
	case from != "" && !slices.Contains(s.Replicas, from):
		return fmt.Sprintf("shard %d has no replica on node %s: it has some on %s", shard, p.name(from), p.names(s.Replicas))
	case to != "" && slices.Contains(s.Replicas, to):
		return fmt.Sprintf("shard %d has a replica on node %s already", shard, p.name(to))
	case to == "" && len(s.Replicas) == 1:
		return fmt.Sprintf("shard %d has one replica, on node %s: it cannot be given up", shard, p.name(from))
	case to != "" && p.takes(to) != "":
		return p.takes(to)
	}
	return ""
}

func (p *picture) names(ids []string) string {
	var out []string
	for _, id := range ids {
		out = append(out, p.name(id))
	}
	return strings.Join(out, ", ")
}

// reshape gives the nodes in adds a replica of a shard and takes theirs from those in
// drops. Which step comes next is read off the metadata and the group, so that it does
// not matter who made the steps before. A group never has fewer replicas than it is to
// have, nor tolerates fewer failures, because of it.
func (p *picture) reshape(op *metapb.Operation, shard uint32, adds, drops []string) decision {
	s := p.shards[shard]
	if s == nil {
		return failed("end", "there is no shard %d", shard)
	}
	g := p.groups[shard]
	if op.Notes[noteUndo] != "" {
		return p.undo(op, s, g, adds, drops)
	}
	undoable := g.leader == "" && !p.begun(s, adds, drops) || g.leader != "" && !slices.ContainsFunc(drops, func(id string) bool { return !slices.Contains(g.voters, id) })
	begin := func(why string) decision {
		return decision{step: stepUndo, reason: why, again: true}.note(noteUndo, why)
	}
	if op.Cancel && undoable {
		return begin("it was cancelled")
	}
	if g.leader == "" {
		return wait(orStep(op, stepOpen), "%s", p.leaderless(s))
	}
	if d, hit := p.admit(op, s, g, adds, undoable, begin); hit {
		return d
	}
	if d, hit := p.promote(op, s, g, adds, drops, undoable, begin); hit {
		return d
	}
	if d, hit := p.dismiss(s, g, drops); hit {
		return d.progress(g.bytes, g.bytes)
	}
	return finished("").progress(g.bytes, g.bytes)
}

// begun tells whether the metadata show that a change has begun.
func (p *picture) begun(s *metapb.Shard, adds, drops []string) bool {
	for _, id := range adds {
		if slices.Contains(s.Replicas, id) || slices.Contains(s.Learners, id) {
			return true
		}
	}
	return slices.ContainsFunc(drops, func(id string) bool { return !slices.Contains(s.Replicas, id) })
}

func orStep(op *metapb.Operation, otherwise string) string {
	if op.Step != "" {
		return op.Step
	}
	return otherwise
}

// leaderless says why a shard has no leader.
func (p *picture) leaderless(s *metapb.Shard) string {
	var away []string
	for _, id := range s.Replicas {
		if !p.alive(id) {
			away = append(away, p.name(id))
		}
	}
	if len(away) == 0 {
		return fmt.Sprintf("shard %d has no leader yet", s.Id)
	}
	return fmt.Sprintf("shard %d has no leader: %d of its %d replicas do not answer, on %s", s.Id, len(away), len(s.Replicas), strings.Join(away, ", "))
}

// admit brings the new replicas to where they only lack the vote.
func (p *picture) admit(op *metapb.Operation, s *metapb.Shard, g *group, adds []string, undoable bool, begin func(string) decision) (decision, bool) {
	for _, id := range adds {
		if slices.Contains(g.voters, id) {
			continue
		}
		if !p.alive(id) {
			if undoable && (p.nodes[id] == nil || p.silent(id) >= p.cfg.GiveUpAfter) {
				return begin(fmt.Sprintf("node %s went away while it took over shard %d", p.name(id), s.Id)), true
			}
			return wait(orStep(op, stepOpen), "node %s, which is to get the replica, does not answer", p.name(id)), true
		}
		switch {
		case p.leaving(id) && undoable && !g.has(id):
			return begin(fmt.Sprintf("node %s is drained, and takes no replica", p.name(id))), true
		case slices.Contains(s.Removed, id):
			return wait(stepOpen, "node %s still removes its former replica of shard %d", p.name(id), s.Id), true
		case !slices.Contains(s.Learners, id) && !slices.Contains(s.Replicas, id):
			return call(stepOpen, fmt.Sprintf("node %s opens a replica", p.name(id)), p.changeShard("add learner to the metadata", s, func(c *metapb.ChangeShard) {
				c.Change = &metapb.ChangeShard_AddLearner{AddLearner: id}
			})), true
		}
	}
	for _, id := range adds {
		if g.has(id) {
			continue
		}
		if p.replica(id, s) == nil {
			return wait(stepJoin, "node %s has not opened its replica yet", p.name(id)), true
		}
		return call(stepJoin, fmt.Sprintf("the replica on node %s joins as a learner", p.name(id)), changeGroup(s, g, id, shardpb.ChangeReplicasRequest_CHANGE_ADD_LEARNER)), true
	}
	return p.copying(op, s, g, adds)
}

// copying waits until the learners have caught up.
func (p *picture) copying(op *metapb.Operation, s *metapb.Shard, g *group, adds []string) (decision, bool) {
	var behind []string
	done, total := int64(0), int64(0)
	for _, id := range adds {
		if slices.Contains(g.voters, id) {
			continue
		}
		r := p.replica(id, s)
		size := max(r.GetInstallTotalBytes(), g.bytes)
		total += size
		if !p.caughtUp(s, g, id) {
			behind = append(behind, fmt.Sprintf("node %s is %s", p.name(id), lagWords(r, g)))
			done += min(r.GetInstallDoneBytes(), size)
			continue
		}
		done += size
	}
	if len(behind) == 0 {
		return decision{}, false
	}
	d := wait(stepCopy, "%s", strings.Join(behind, "; ")).progress(done, total)
	if op.Notes[noteCopying] == "" {
		d = d.note(noteCopying, strconv.FormatInt(p.now.UnixNano(), 10))
	}
	return d, true
}

func lagWords(r *metapb.ReplicaReport, g *group) string {
	switch {
	case r == nil:
		return "not heard of"
	case r.State == stateFailed:
		return "failed: see the log of its node"
	case r.InstallTotalBytes > 0 && r.InstallDoneBytes < r.InstallTotalBytes:
		return "copying segments"
	case g.last > r.AppliedIndex:
		return "catching up with the log"
	}
	return "catching up"
}

// maxLag is up to how many entries behind a learner may be promoted.
const maxLag = 1000

// caughtUp tells whether a replica may vote.
func (p *picture) caughtUp(s *metapb.Shard, g *group, id string) bool {
	r := p.replica(id, s)
	return r != nil && r.CaughtUp && r.State != stateInstalling && r.State != stateFailed && r.AppliedIndex+maxLag >= g.last
}

// promote has the new replicas vote, all of them when all are ready, and undoes that if a
// shard of one replica is left with two for too long: both would have to live.
func (p *picture) promote(op *metapb.Operation, s *metapb.Shard, g *group, adds, drops []string, undoable bool, begin func(string) decision) (decision, bool) {
	single := len(drops) > 0 && len(g.voters) <= 2 && len(adds) == 1
	for _, id := range adds {
		if slices.Contains(g.voters, id) {
			continue
		}
		d := call(stepPromote, fmt.Sprintf("the replica on node %s votes", p.name(id)), changeGroup(s, g, id, shardpb.ChangeReplicasRequest_CHANGE_PROMOTE))
		if single && op.Notes[notePromoted] == "" {
			d = d.note(notePromoted, strconv.FormatInt(p.now.UnixNano(), 10))
		}
		return d.progress(g.bytes, g.bytes), true
	}
	if single && undoable && p.paired[op.Id] > p.cfg.PairLimit {
		return begin(fmt.Sprintf("the replica on node %s could not be given up within %v, and two voters must not stay", p.name(drops[0]), p.cfg.PairLimit)), true
	}
	for _, id := range adds {
		if !slices.Contains(s.Replicas, id) {
			return call(stepRecord, fmt.Sprintf("the metadata list node %s", p.name(id)), p.changeShard("promote in the metadata", s, func(c *metapb.ChangeShard) {
				c.Change = &metapb.ChangeShard_Promote{Promote: id}
			})).progress(g.bytes, g.bytes), true
		}
	}
	return decision{}, false
}

// dismiss takes replicas from nodes that are to have none.
func (p *picture) dismiss(s *metapb.Shard, g *group, drops []string) (decision, bool) {
	if slices.Contains(drops, g.leader) {
		return p.leadAway(s, g, drops)
	}
	for _, id := range drops {
		if g.has(id) {
			if why := p.unsafe(s, g, id); why != "" {
				return wait(stepRemove, "%s", why), true
			}
			return call(stepRemove, fmt.Sprintf("the replica on node %s leaves the group", p.name(id)), changeGroup(s, g, id, shardpb.ChangeReplicasRequest_CHANGE_REMOVE)), true
		}
		if slices.Contains(s.Replicas, id) || slices.Contains(s.Learners, id) {
			return call(stepRecord, fmt.Sprintf("the metadata no longer list node %s", p.name(id)), p.changeShard("remove from the metadata", s, func(c *metapb.ChangeShard) {
				c.Change = &metapb.ChangeShard_Remove{Remove: id}
			})), true
		}
	}
	return p.cleaning(s, drops)
}

// cleaning waits until nodes that answer have removed their former replicas; the others
// will when they come back.
func (p *picture) cleaning(s *metapb.Shard, nodes []string) (decision, bool) {
	for _, id := range nodes {
		if slices.Contains(s.Removed, id) && p.alive(id) {
			return wait(stepClean, "node %s removes its former replica from disk", p.name(id)), true
		}
	}
	return decision{}, false
}

// leadAway has another voter lead.
func (p *picture) leadAway(s *metapb.Shard, g *group, from []string) (decision, bool) {
	to := p.successor(s, g, from)
	if to == "" {
		return wait(stepLead, "no other replica of shard %d is ready to lead it", s.Id), true
	}
	return call(stepLead, fmt.Sprintf("node %s leads instead of node %s", p.name(to), p.name(g.leader)), changeGroup(s, g, to, shardpb.ChangeReplicasRequest_CHANGE_LEAD)), true
}

// successor is the voter that should lead if those in not may not; empty: nobody can.
func (p *picture) successor(s *metapb.Shard, g *group, not []string) string {
	led := p.led()
	best := ""
	for _, id := range slices.Sorted(slices.Values(g.voters)) {
		n := p.nodes[id]
		if slices.Contains(not, id) || id == g.leader || !p.alive(id) || p.unreachable(id) || n.GetReport().GetStopping() || !p.caughtUp(s, g, id) {
			continue
		}
		if best == "" || p.standing(id, s, led) < p.standing(best, s, led) {
			best = id
		}
	}
	return best
}

// rank orders nodes by how little they should lead.
func (p *picture) rank(id string, led map[string]int) int {
	r := led[id]
	if p.leaving(id) || p.nodes[id].GetReport().GetDiskFull() {
		r += 1 << 20
	}
	return r
}

// standing is the rank of a node for one shard: whoever misses rows of it comes last, and whoever
// cannot flush it before them.
func (p *picture) standing(id string, s *metapb.Shard, led map[string]int) int {
	r := p.rank(id, led)
	if p.damaged(id, s) {
		r += 1 << 22
	} else if p.unfit(id, s) {
		r += 1 << 21
	}
	return r
}

// unsafe says why a voter must stay for now; empty: it may go.
func (p *picture) unsafe(s *metapb.Shard, g *group, id string) string {
	rest := slices.DeleteFunc(slices.Clone(g.voters), func(v string) bool { return v == id })
	if len(rest) == len(g.voters) {
		return "" // a learner
	}
	if len(rest) == 0 {
		return fmt.Sprintf("it is the last replica of shard %d", s.Id)
	}
	aim := want(s) - majority(want(s))
	if left := p.tolerance(rest); left < min(p.tolerance(g.voters), aim) || left < 0 {
		return fmt.Sprintf("without node %s shard %d would tolerate too little: of the others, on %s, not enough answer", p.name(id), s.Id, p.names(rest))
	}
	return ""
}

// undo takes back what a change of replicas has begun.
func (p *picture) undo(op *metapb.Operation, s *metapb.Shard, g *group, adds, drops []string) decision {
	why := op.Notes[noteUndo]
	if was, err := strconv.ParseUint(op.Notes[noteWas], 10, 32); err == nil && s.Want != uint32(was) {
		return call(stepUndo, why, p.changeShard("restore the wanted replicas", s, func(c *metapb.ChangeShard) {
			c.Change = &metapb.ChangeShard_Want{Want: uint32(was)}
		}))
	}
	for _, id := range adds {
		listed := slices.Contains(s.Replicas, id) || slices.Contains(s.Learners, id)
		if listed && g.leader == "" {
			return wait(stepUndo, "%s; to be undone: %s", why, p.leaderless(s))
		}
		if g.leader == id {
			d, _ := p.leadAway(s, g, adds)
			return d
		}
		if g.leader != "" && g.has(id) {
			if unsafe := p.unsafe(s, g, id); unsafe != "" {
				return wait(stepUndo, "%s; to be undone: %s", why, unsafe)
			}
			return call(stepUndo, why, changeGroup(s, g, id, shardpb.ChangeReplicasRequest_CHANGE_REMOVE))
		}
		if listed {
			return call(stepUndo, why, p.changeShard("remove from the metadata", s, func(c *metapb.ChangeShard) {
				c.Change = &metapb.ChangeShard_Remove{Remove: id}
			}))
		}
	}
	if d, hit := p.cleaning(s, adds); hit {
		return d
	}
	if op.Cancel {
		return cancelled("%s: shard %d is as it was before", why, s.Id)
	}
	return failed("end", "%s: shard %d is as it was before; try again", why, s.Id)
}

func changeGroup(s *metapb.Shard, g *group, node string, change shardpb.ChangeReplicasRequest_Change) *act {
	what := map[shardpb.ChangeReplicasRequest_Change]string{
		shardpb.ChangeReplicasRequest_CHANGE_ADD_LEARNER: "add learner to the group",
		shardpb.ChangeReplicasRequest_CHANGE_PROMOTE:     "promote in the group",
		shardpb.ChangeReplicasRequest_CHANGE_REMOVE:      "remove from the group",
		shardpb.ChangeReplicasRequest_CHANGE_LEAD:        "hand leadership on",
	}[change]
	return &act{what: what, replicas: &replicasAct{leader: g.leader, request: &shardpb.ChangeReplicasRequest{ShardId: s.Id, NodeId: node, Change: change}}}
}
