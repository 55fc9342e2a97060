package coordinator

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cordwood/meta/placement"
	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/proto/shardpb"
)

// beingEmptied reports whether a running operation drains a node.
func beingEmptied(snap *snapshot.Snapshot, id string) bool {
	return snap.FindRunning(func(op *metapb.Operation) bool {
		return op.NodeId == id && (op.Kind == operation.NodeDrain || op.Kind == operation.NodeDecommission)
	}) != nil
}

// The steps of node-drain, node-decommission and rebalance.
const (
	stepMark    = "mark"    // the node gets no new replicas
	stepLeaders = "leaders" // other nodes become leaders of its shards
	stepMembers = "members" // the node leaves the metadata group
	stepForget  = "forget"  // the node is removed from the cluster
)

// drainNode implements node-drain and node-decommission. A drain for a restart moves only
// leadership; another drain moves all replicas. A decommission also removes the node from the
// metadata group, and from the cluster if it does not answer.
func drainNode(snap *snapshot.Snapshot, op *metapb.Operation) decision {
	n := snap.Nodes[op.NodeId]
	if n == nil {
		if op.Kind == operation.NodeDecommission && op.Step == stepForget {
			return finished("node %s has no replicas and was removed from the "+
				"cluster", cmp.Or(op.GetNode().GetName(), op.NodeId))
		}
		return failed("end", "there is no node %s", op.NodeId)
	}
	id := op.NodeId
	if op.GetNode().GetForRestart() {
		return drainForRestart(snap, op)
	}
	if op.Cancel {
		return undoDrain(snap, op, n.Node)
	}
	if n.Node.State != metapb.NodeState_NODE_STATE_DRAINING && n.Node.State != metapb.NodeState_NODE_STATE_DRAINED {
		return call(stepMark, fmt.Sprintf("node %s gets no new shards or tables", snap.Name(id)),
			setState(snap, id, metapb.NodeState_NODE_STATE_DRAINING)).remember(func(op *metapb.Operation) {
			operation.NodeProgress(op).Name = snap.Name(id)
		})
	}
	if d := moveLeaders(snap, op); d.do != nil {
		return d
	}
	if held := shardsOn(snap, id); len(held) > 0 {
		return emptyNode(snap, op, held)
	}
	if op.Kind == operation.NodeDecommission {
		if d, hit := leaveMeta(snap, op); hit {
			return d
		}
	}
	if n.Node.State != metapb.NodeState_NODE_STATE_DRAINED {
		return call(stepMark, fmt.Sprintf("node %s has no replicas", snap.Name(id)),
			setState(snap, id, metapb.NodeState_NODE_STATE_DRAINED))
	}
	return endDrain(snap, op, n.Down)
}

// endDrain ends the operation of a node without replicas, or removes the node from the cluster.
func endDrain(snap *snapshot.Snapshot, op *metapb.Operation, down bool) decision {
	id, total := op.NodeId, op.TotalBytes
	switch {
	case op.Kind == operation.NodeDrain:
		return finished("node %s has no replicas and gets none: 'cordwood node undrain %s' makes it active again",
			snap.Name(id), snap.Name(id)).copied(total, total)
	case snap.Alive(id):
		return finished("node %s has no replicas: stop it, then 'cordwood node remove %s'", snap.Name(id),
			snap.Name(id)).copied(total, total)
	case !down:
		return wait(stepForget, "node %s has not reported to this leader yet, and may be alive", snap.Name(id))
	}
	return forgetNode(snap, op)
}

func setState(snap *snapshot.Snapshot, id string, state metapb.NodeState) *act {
	return &act{what: "set node state", propose: command(snap, func(c *metapb.Command) {
		c.Op = &metapb.Command_SetNodeState{SetNodeState: &metapb.SetNodeState{NodeId: id, State: state}}
	})}
}

// shardsOn returns the shards that list a node. If the node answers, it also returns the shards whose files the node
// still has to delete.
func shardsOn(snap *snapshot.Snapshot, id string) []*metapb.Shard {
	var out []*metapb.Shard
	for _, s := range snap.Status.Shards {
		if slices.Contains(s.Replicas, id) || slices.Contains(s.Learners, id) ||
			snap.Alive(id) && slices.Contains(s.Removed, id) {
			out = append(out, s)
		}
	}
	return out
}

// moveLeaders transfers the leadership of the node's shards where another replica is ready.
func moveLeaders(snap *snapshot.Snapshot, op *metapb.Operation) decision {
	for _, s := range snap.Status.Shards {
		g := snap.Groups[s.Id]
		if g.Leader != op.NodeId || snap.FindRunning(func(o *metapb.Operation) bool { return o.ShardId == s.Id }) != nil {
			continue
		}
		if to := successor(snap, s, g, []string{op.NodeId}); to != "" {
			return call(stepLeaders, fmt.Sprintf("node %s becomes the leader of shard %d", snap.Name(to), s.Id),
				changeGroup(s, g, to, shardpb.ChangeReplicasRequest_CHANGE_LEAD))
		}
	}
	return decision{}
}

func drainForRestart(snap *snapshot.Snapshot, op *metapb.Operation) decision {
	if op.Cancel {
		return cancelled("leaders stay where they are now")
	}
	if d := moveLeaders(snap, op); d.do != nil {
		return d
	}
	var waiting, alone []string
	for _, s := range snap.Status.Shards {
		if snap.Groups[s.Id].Leader != op.NodeId {
			continue
		}
		if len(snap.Groups[s.Id].Voters) == 1 {
			alone = append(alone, strconv.FormatUint(uint64(s.Id), 10))
		} else {
			waiting = append(waiting, strconv.FormatUint(uint64(s.Id), 10))
		}
	}
	if len(waiting) > 0 {
		return wait(stepLeaders, "no other replica is ready to lead shards %s", strings.Join(waiting, ", "))
	}
	if len(alone) > 0 {
		return finished("node %s may be restarted; shards %s have no other replica and cannot be written or read meanwhile",
			snap.Name(op.NodeId), strings.Join(alone, ", "))
	}
	return finished("node %s leads no shard and may be restarted", snap.Name(op.NodeId))
}

// emptyNode starts moves of the node's replicas; the planner limits how many run at a time.
func emptyNode(snap *snapshot.Snapshot, op *metapb.Operation, held []*metapb.Shard) decision {
	running, ended := snap.Parts(op.Id)
	left := int64(0)
	for _, s := range held {
		left += snap.Groups[s.Id].Bytes
	}
	total := max(op.TotalBytes, left)
	plan := snapshot.PlanReplicas(snap, placement.Limits{})
	var parts []*metapb.Operation
	for _, m := range plan.Moves {
		if m.From == op.NodeId {
			parts = append(parts, movePart(snap, op, m))
		}
	}
	if len(parts) > 0 {
		return startParts(stepParts, parts).copied(total-left, total)
	}
	if len(running) > 0 {
		for _, o := range running {
			left -= min(o.DoneBytes, left)
		}
		return waitForParts(snap, op, running, ended).copied(total-left, total)
	}
	return wait(stepParts, "%s", whyHeld(snap, op, held, plan)).copied(total-left, total)
}

// whyHeld returns the reason why a node still holds shards although no move is running.
func whyHeld(snap *snapshot.Snapshot, op *metapb.Operation, held []*metapb.Shard, plan placement.Plan) string {
	var why []string
	for _, s := range held {
		text := ""
		for _, b := range plan.Blocked {
			if b.Shard == s.Id {
				text = b.Reason
			}
		}
		switch {
		case snap.Groups[s.Id].Leader == "" && whyKeepShard(snap, s) == "":
			text = fmt.Sprintf("%s: start it again; if its data is lost for good, 'cordwood shard drop %d' gives "+
				"its rows up", snap.WhyLeaderless(s), s.Id)
		case text != "":
		case !slices.Contains(s.Replicas, op.NodeId) && slices.Contains(s.Removed, op.NodeId):
			text = "its files are being removed"
		case snap.Groups[s.Id].Leader == "":
			text = snap.WhyLeaderless(s)
		default:
			text = "waits for other operations"
			if o := snap.FindRunning(func(o *metapb.Operation) bool { return o.ShardId == s.Id }); o != nil {
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

func undoDrain(snap *snapshot.Snapshot, op *metapb.Operation, n *metapb.Node) decision {
	running, _ := snap.Parts(op.Id)
	if len(running) > 0 {
		return cancelParts(snap, running)
	}
	if n.State == metapb.NodeState_NODE_STATE_DRAINING || n.State == metapb.NodeState_NODE_STATE_DRAINED {
		return call(stepUndo, "the node is active again", setState(snap, n.Id, metapb.NodeState_NODE_STATE_UP))
	}
	return cancelled("node %s is active again; replicas that were moved stay where they are", snap.Name(n.Id))
}

// forgetNode removes a node that does not answer from the cluster.
func forgetNode(snap *snapshot.Snapshot, op *metapb.Operation) decision {
	return call(stepForget, fmt.Sprintf("node %s is removed from the cluster", snap.Name(op.NodeId)),
		&act{what: "remove node", propose: command(snap, func(c *metapb.Command) {
			c.Op = &metapb.Command_RemoveNode{RemoveNode: &metapb.RemoveNode{NodeId: op.NodeId}}
		})})
}
