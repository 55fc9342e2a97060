package coordinator

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cordwood/meta/placement"
	"cordwood/proto/metapb"
	"cordwood/proto/shardpb"
)

// The steps of node-drain, node-decommission and rebalance.
const (
	stepMark    = "mark"    // the node takes nothing new
	stepLeaders = "leaders" // other nodes lead its shards
	stepParts   = "parts"   // operations that are parts of it run
	stepMembers = "members" // it leaves the metadata group
	stepForget  = "forget"  // the cluster forgets it
)

// drainNode is node-drain and node-decommission. A drain for a restart only moves leaders
// away; another one all replicas; a decommission takes the node out of the metadata group
// too, and out of the cluster if it does not answer.
func (p *picture) drainNode(op *metapb.Operation) decision {
	n := p.nodes[op.NodeId]
	if n == nil {
		if op.Kind == KindNodeDecommission && op.Step == stepForget {
			return finished("node %s holds nothing and is forgotten", cmp.Or(op.Notes[noteName], op.NodeId))
		}
		return failed("end", "there is no node %s", op.NodeId)
	}
	id := op.NodeId
	if op.Notes[noteMode] == modeRestart {
		return p.drainForRestart(op)
	}
	if op.Cancel {
		return p.undoDrain(op, n.Node)
	}
	if n.Node.State != metapb.NodeState_NODE_STATE_DRAINING && n.Node.State != metapb.NodeState_NODE_STATE_DRAINED {
		return call(stepMark, fmt.Sprintf("node %s takes nothing new", p.name(id)), p.setState(id, metapb.NodeState_NODE_STATE_DRAINING)).note(noteName, p.name(id))
	}
	if d := p.moveLeaders(op); d.do != nil {
		return d
	}
	if held := p.held(id); len(held) > 0 {
		return p.emptyNode(op, held)
	}
	if op.Kind == KindNodeDecommission {
		if d, hit := p.leaveMeta(op); hit {
			return d
		}
	}
	if n.Node.State != metapb.NodeState_NODE_STATE_DRAINED {
		return call(stepMark, fmt.Sprintf("node %s has no replicas", p.name(id)), p.setState(id, metapb.NodeState_NODE_STATE_DRAINED))
	}
	total := total(op)
	switch {
	case op.Kind == KindNodeDrain:
		return finished("node %s has no replicas and gets none: 'cordwood node undrain %s' lets it take part again", p.name(id), p.name(id)).progress(total, total)
	case p.alive(id):
		return finished("node %s holds nothing: stop it, then 'cordwood node remove %s'", p.name(id), p.name(id)).progress(total, total)
	case !n.Down:
		return wait(stepForget, "this leader has not heard of node %s yet: it may be alive", p.name(id))
	}
	return p.forgetNode(op)
}

func total(op *metapb.Operation) int64 { return op.TotalBytes }

func (p *picture) setState(id string, state metapb.NodeState) *act {
	return &act{what: "set node state", propose: p.command(func(c *metapb.Command) {
		c.Op = &metapb.Command_SetNodeState{SetNodeState: &metapb.SetNodeState{NodeId: id, State: state}}
	})}
}

// held are the shards that list a node; of one that answers, also those whose files it
// still has to remove.
func (p *picture) held(id string) []*metapb.Shard {
	var out []*metapb.Shard
	for _, s := range p.status.Shards {
		if slices.Contains(s.Replicas, id) || slices.Contains(s.Learners, id) || p.alive(id) && slices.Contains(s.Removed, id) {
			out = append(out, s)
		}
	}
	return out
}

// moveLeaders hands on what a node leads, where another replica is ready.
func (p *picture) moveLeaders(op *metapb.Operation) decision {
	for _, s := range p.status.Shards {
		g := p.groups[s.Id]
		if g.leader != op.NodeId || p.runs(func(o *metapb.Operation) bool { return o.ShardId == s.Id }) != nil {
			continue
		}
		if to := p.successor(s, g, []string{op.NodeId}); to != "" {
			return call(stepLeaders, fmt.Sprintf("node %s leads shard %d from now on", p.name(to), s.Id), changeGroup(s, g, to, shardpb.ChangeReplicasRequest_CHANGE_LEAD))
		}
	}
	return decision{}
}

func (p *picture) drainForRestart(op *metapb.Operation) decision {
	if op.Cancel {
		return cancelled("leaders stay where they are now")
	}
	if d := p.moveLeaders(op); d.do != nil {
		return d
	}
	var waiting, alone []string
	for _, s := range p.status.Shards {
		if p.groups[s.Id].leader != op.NodeId {
			continue
		}
		if len(p.groups[s.Id].voters) == 1 {
			alone = append(alone, strconv.FormatUint(uint64(s.Id), 10))
		} else {
			waiting = append(waiting, strconv.FormatUint(uint64(s.Id), 10))
		}
	}
	if len(waiting) > 0 {
		return wait(stepLeaders, "no other replica is ready to lead shards %s", strings.Join(waiting, ", "))
	}
	if len(alone) > 0 {
		return finished("node %s may be restarted; shards %s have no other replica and cannot be written or read meanwhile", p.name(op.NodeId), strings.Join(alone, ", "))
	}
	return finished("node %s leads nothing and may be restarted", p.name(op.NodeId))
}

// emptyNode starts moves of what a node holds, as many at a time as the planner allows.
func (p *picture) emptyNode(op *metapb.Operation, held []*metapb.Shard) decision {
	running, ended := p.children(op.Id)
	left := int64(0)
	for _, s := range held {
		left += p.groups[s.Id].bytes
	}
	total := max(op.TotalBytes, left)
	plan := placement.Make(p.placementNodes(), p.placementShards(), placement.Limits{})
	var parts []*metapb.Operation
	for _, m := range plan.Moves {
		if m.From == op.NodeId {
			parts = append(parts, p.movePart(op, m))
		}
	}
	if len(parts) > 0 {
		return p.begin(op, stepParts, parts).progress(total-left, total)
	}
	if len(running) > 0 {
		for _, o := range running {
			left -= min(o.DoneBytes, left)
		}
		return p.waitFor(op, running, ended).progress(total-left, total)
	}
	return wait(stepParts, "%s", p.whyHeld(op, held, plan)).progress(total-left, total)
}

// whyHeld says why a node still holds shards although nothing moves.
func (p *picture) whyHeld(op *metapb.Operation, held []*metapb.Shard, plan placement.Plan) string {
	var why []string
	for _, s := range held {
		text := ""
		for _, b := range plan.Blocked {
			if b.Shard == s.Id {
				text = b.Reason
			}
		}
		switch {
		case p.groups[s.Id].leader == "" && p.keepLost(s) == "":
			text = fmt.Sprintf("%s: start it again; if what is there is lost for good, 'cordwood shard drop %d' gives its rows up", p.leaderless(s), s.Id)
		case text != "":
		case !slices.Contains(s.Replicas, op.NodeId) && slices.Contains(s.Removed, op.NodeId):
			text = "its files are being removed"
		case p.groups[s.Id].leader == "":
			text = p.leaderless(s)
		default:
			text = "waits for other operations"
			if o := p.runs(func(o *metapb.Operation) bool { return o.ShardId == s.Id }); o != nil {
				text = fmt.Sprintf("operation %d (%s) has to end first", o.Id, o.Kind)
			}
		}
		why = append(why, fmt.Sprintf("shard %d: %s", s.Id, text))
	}
	if len(why) > 3 {
		why = append(why[:3], fmt.Sprintf("and %d more shards", len(why)-3))
	}
	return strings.Join(why, "; ")
}

// movePart is a move of a plan as an operation.
func (p *picture) movePart(op *metapb.Operation, m placement.Move) *metapb.Operation {
	kind := KindShardMove
	if m.From == "" || m.To == "" || !p.alive(m.From) {
		kind = KindReplicaRepair
	}
	return part(op, kind, func(o *metapb.Operation) {
		o.ShardId, o.FromNode, o.ToNode, o.TotalBytes, o.Reason = m.Shard, m.From, m.To, m.Bytes, p.relabel(m.Reason)
	})
}

// begin starts parts of an operation and counts them.
func (p *picture) begin(op *metapb.Operation, step string, parts []*metapb.Operation) decision {
	begun, _ := strconv.Atoi(op.Notes[noteMoves])
	what := "1 part begins"
	if len(parts) != 1 {
		what = fmt.Sprintf("%d parts begin", len(parts))
	}
	d := call(step, what, &act{what: "start parts", starts: parts})
	return d.note(noteMoves, strconv.Itoa(begun+len(parts)))
}

// waitFor is the decision of an operation whose parts run.
func (p *picture) waitFor(op *metapb.Operation, running, ended []*metapb.Operation) decision {
	var words []string
	for _, o := range running {
		words = append(words, fmt.Sprintf("%d (%s: %s)", o.Id, subject(p, o), o.Step))
	}
	if len(words) > 4 {
		words = append(words[:4], fmt.Sprintf("and %d more", len(words)-4))
	}
	return wait(stepParts, "%s ended, %d under way: %s", plural(len(ended), "part"), len(running), strings.Join(words, ", "))
}

// subject is what an operation is about, in words.
func subject(p *picture, o *metapb.Operation) string {
	switch {
	case o.TableId != 0:
		if t := p.tables[o.TableId]; t != nil {
			return "table " + t.Database + "." + t.Name
		}
		if name := o.Notes[noteName]; name != "" {
			return "table " + name // its rows have moved under another id, or it was dropped
		}
		return fmt.Sprintf("table %d", o.TableId)
	case about(o) != 0:
		return fmt.Sprintf("shard %d", about(o))
	case o.NodeId != "" && p.nodes[o.NodeId] == nil:
		return "node " + cmp.Or(o.Notes[noteName], o.NodeId)
	case o.NodeId != "":
		return "node " + p.name(o.NodeId)
	}
	if o.ToNode != "" {
		return "for node " + p.name(o.ToNode)
	}
	return "cluster"
}

// cancelParts has the running parts of an operation cancelled, one by one.
func (p *picture) cancelParts(running []*metapb.Operation) decision {
	for _, o := range running {
		if !o.Cancel {
			return call(stepUndo, fmt.Sprintf("operation %d is cancelled", o.Id), &act{what: "cancel part", propose: p.cancel(o)})
		}
	}
	return wait(stepUndo, "%s under way, being cancelled", plural(len(running), "part"))
}

func (p *picture) cancel(op *metapb.Operation) *metapb.Command {
	return p.command(func(c *metapb.Command) { c.Op = cancelCommand(op, p.now.UnixNano()) })
}

func (p *picture) undoDrain(op *metapb.Operation, n *metapb.Node) decision {
	running, _ := p.children(op.Id)
	if len(running) > 0 {
		return p.cancelParts(running)
	}
	if n.State == metapb.NodeState_NODE_STATE_DRAINING || n.State == metapb.NodeState_NODE_STATE_DRAINED {
		return call(stepUndo, "the node takes part again", p.setState(n.Id, metapb.NodeState_NODE_STATE_UP))
	}
	return cancelled("node %s takes part again; what was moved stays where it is", p.name(n.Id))
}

// leaveMeta takes a node out of the metadata group, once another member has taken its
// place if there is one that can.
func (p *picture) leaveMeta(op *metapb.Operation) (decision, bool) {
	for _, m := range p.status.Members {
		if m.NodeId != op.NodeId {
			continue
		}
		if p.status.Leader == op.NodeId {
			to := p.metaSuccessor(op.NodeId)
			if to == "" {
				return wait(stepMembers, "node %s leads the metadata group, and no other voter is there to take over: add a node with the role meta", p.name(op.NodeId)), true
			}
			return call(stepMembers, fmt.Sprintf("node %s leads the metadata group", p.name(to)), changeMembers(to, metapb.ChangeMembersRequest_CHANGE_LEAD)), true
		}
		if m.Voter {
			if p.metaCandidate() != "" && len(p.metaVoters())%2 == 1 {
				return wait(stepMembers, "another node has to become a voter of the metadata group first"), true
			}
			if !p.metaSafeWithout(op.NodeId) {
				return wait(stepMembers, "without node %s the metadata group would have no majority: bring its other members back, or add a node with the role meta", p.name(op.NodeId)), true
			}
		}
		return call(stepMembers, fmt.Sprintf("node %s leaves the metadata group", p.name(op.NodeId)), changeMembers(op.NodeId, metapb.ChangeMembersRequest_CHANGE_REMOVE)), true
	}
	return decision{}, false
}

// forgetNode takes a node that does not answer out of the cluster.
func (p *picture) forgetNode(op *metapb.Operation) decision {
	return call(stepForget, fmt.Sprintf("the cluster forgets node %s", p.name(op.NodeId)), &act{what: "remove node", propose: p.command(func(c *metapb.Command) {
		c.Op = &metapb.Command_RemoveNode{RemoveNode: &metapb.RemoveNode{NodeId: op.NodeId}}
	})})
}

// maxRebalance bounds the parts of one rebalance. It ends long before: each move lowers
// what the planners measure.
const maxRebalance = 1000

// rebalance follows the plans of replicas, then those of hot tables, until they are empty.
func (p *picture) rebalance(op *metapb.Operation) decision {
	running, ended := p.children(op.Id)
	if op.Cancel {
		if len(running) > 0 {
			return p.cancelParts(running)
		}
		return cancelled("what was moved stays where it is; parts that were begun: %s", orZero(op.Notes[noteMoves]))
	}
	if p.status.GetSettings().GetRebalancePaused() {
		return wait(stepParts, "rebalancing is paused: 'cordwood cluster resume rebalance' lets it go on; %s under way still", plural(len(running), "part"))
	}
	begun, _ := strconv.Atoi(op.Notes[noteMoves])
	even := ""
	if begun < maxRebalance {
		plan := placement.Make(p.placementNodes(), p.placementShards(), placement.Limits{})
		even = p.relabel(plan.Even)
		var parts []*metapb.Operation
		for _, m := range plan.Moves {
			parts = append(parts, p.movePart(op, m))
		}
		if len(running) == 0 && len(parts) == 0 {
			parts = p.tableParts(op)
		}
		if len(parts) > 0 && (len(running) == 0 || op.Notes[noteFailed] == "") {
			return p.begin(op, stepParts, parts)
		}
		if len(running) == 0 && len(plan.Blocked) > 0 {
			b := plan.Blocked[0]
			return failed("end", "moved %s, and the rest cannot be: shard %d: %s", plural(len(ended), "replica or table"), b.Shard, p.relabel(b.Reason))
		}
	}
	if len(running) > 0 {
		return p.waitFor(op, running, ended)
	}
	if begun == 0 {
		return finished("nothing was moved, and no table is so hot that another shard should take it: %s", even)
	}
	return finished("moved %s: %s", plural(begun, "replica or table"), cmp.Or(even, "one rebalance moves no more; begin another one"))
}

func (p *picture) tableParts(op *metapb.Operation) []*metapb.Operation {
	var parts []*metapb.Operation
	for _, m := range placement.SpreadTables(p.shardLoads(), p.tableLoads(), placement.TableLimits{}) {
		parts = append(parts, part(op, KindTableMove, func(o *metapb.Operation) {
			o.TableId, o.ToShards, o.Reason = m.Table, []uint32{m.To}, m.Reason
		}))
	}
	return parts
}

func orZero(n string) string {
	if n == "" {
		return "0"
	}
	return n
}
