package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/router/httpapi/clusterapi"
)

// stoppingNodes reports nodes that announced their stop.
func (d *diagnosis) stoppingNodes() {
	snap := d.snap
	for _, n := range snap.Status.Nodes {
		id := n.GetNode().GetId()
		switch {
		case n.Down || !snap.Stopping(id):
		case hasStopped(snap, id):
			d.add(warning, "start it again: no rows are lost; do not stop another node before",
				"node %s has stopped, as announced; it last reported %s ago", snap.Label(id), snapshot.Round(snap.SilentFor(id)))
		default:
			d.add(warning, "start it again once it has ended; do not stop another node before",
				"node %s is stopping: it counts as missing", snap.Label(id))
		}
	}
}

// hasStopped reports whether a node announced its stop and has been silent since.
func hasStopped(snap *snapshot.Snapshot, id string) bool {
	return snap.Stopping(id) && (snap.Silent(id) || !snap.Alive(id))
}

// drainedNodes reports drained nodes, and what the user can do with them.
func (d *diagnosis) drainedNodes() {
	for _, n := range d.snap.Status.Nodes {
		if n.GetNode().GetState() == metapb.NodeState_NODE_STATE_DRAINED && !n.Down && !d.snap.Stopping(n.Node.Id) {
			name := d.snap.Label(n.Node.Id)
			d.add(info, fmt.Sprintf("'cordwood node undrain %s' makes it active again; to remove it for good, run "+
				"'cordwood node decommission %s'", name, name), "node %s is drained: it has no replicas and gets none", name)
			d.offer(clusterapi.Action{Kind: operation.RequestUndrain, Node: name},
				clusterapi.Action{Kind: operation.NodeDecommission, Node: name})
		}
	}
}

// downNodes reports nodes that are down, and nodes that were refused.
func (d *diagnosis) downNodes() {
	snap := d.snap
	for _, n := range snap.Status.Nodes {
		if n.Refused != "" {
			d.add(warning, "see its log; docs/limits.md describes the rules for data folders that go back in time",
				"node %s was refused when it started: %s", snap.Label(n.GetNode().GetId()), n.Refused)
		}
		if n.Down {
			d.absentNode(n)
		}
	}
}

// absentNode reports a node that is down and has no replicas. For a node with replicas, downNode reports what happens
// to the replicas.
func (d *diagnosis) absentNode(n *metapb.NodeStatus) {
	snap, id := d.snap, n.GetNode().GetId()
	replicas := 0
	for _, s := range snap.Status.Shards {
		if slices.Contains(s.Replicas, id) {
			replicas++
		}
	}
	if snap.Emptied(id) {
		// The user who drained the node wanted to stop it, and may want it back.
		d.add(info, fmt.Sprintf("'cordwood node remove %s', if it will not come back", snap.Label(id)),
			"node %s has not answered for %s; it was drained and has no replicas", snap.Label(id),
			snapshot.Round(snap.SilentFor(id)))
		d.offer(clusterapi.Action{Kind: operation.RequestRemove, Node: snap.Label(id)})
		return
	}
	if heir := snapshot.ReplacedBy(snap, n.Node); heir != "" && replicas == 0 && !snap.Member(id).GetVoter() {
		d.add(info, "nothing: it is removed in a moment",
			"node %s does not answer and has no replicas; node %s has replaced it, with its name and address", id, heir)
		return
	}
	if replicas == 0 && snap.Member(id) == nil {
		word := "node"
		if slices.Equal(n.Node.GetRoles(), []string{"router"}) {
			word = "router"
		}
		d.add(warning, fmt.Sprintf("start it again; if it is gone for good, 'cordwood node remove %s'", snap.Label(id)),
			"%s %s has not answered for %s; it has no replicas", word, snap.Label(id), snapshot.Round(snap.SilentFor(id)))
		d.offer(clusterapi.Action{Kind: operation.RequestRemove, Node: snap.Label(id)})
		return
	}
	d.downNode(n, replicas)
}

// downNode reports a node that is down and still has replicas.
func (d *diagnosis) downNode(n *metapb.NodeStatus, replicas int) {
	snap, id := d.snap, n.Node.Id
	silent := "has not answered for " + snapshot.Round(snap.SilentFor(id))
	next, blocked := d.replacement(id, replicas)
	decommission := fmt.Sprintf("'cordwood node decommission %s'", snap.Label(id))
	actions := []clusterapi.Action{{Kind: operation.NodeDecommission, Node: snap.Label(id)}}
	if blocked { // a decommission would be refused for the same reason
		decommission = "add a node, then " + decommission
		actions = []clusterapi.Action{addNode}
	}
	advice := "start it again; if it is lost for good, " + decommission
	if hasStopped(snap, id) {
		silent = "stopped, as announced, " + snapshot.Round(snap.SilentFor(id)) + " ago"
	} else {
		advice += networkAsCause(snap, id)
	}
	if op := snap.FindRunning(func(o *metapb.Operation) bool {
		return o.Kind == operation.NodeDecommission && o.NodeId == id
	}); op != nil {
		next = fmt.Sprintf("; operation %d (%s) removes it from the cluster", op.Id, op.Kind)
		advice, actions = "nothing, while the operation makes progress; the list of operations shows what it waits for", nil
	}
	d.add(warning, advice, "node %s %s%s", snap.Label(id), silent, next)
	d.offer(actions...)
}

// replacement describes when the replicas of a node that is down are replaced, or why they are not. It is empty if
// there is no other replica to copy from, which another line reports. blocked means that no node can take them.
func (d *diagnosis) replacement(id string, replicas int) (text string, blocked bool) {
	snap, reasons, why, copies := d.snap, blockedRepairs(d.snap), "", 0
	for _, s := range snap.Status.Shards {
		if len(s.Replicas) < 2 || !slices.Contains(s.Replicas, id) {
			continue
		}
		copies++
		if why == "" {
			why = strings.TrimPrefix(reasons[s.Id], fmt.Sprintf("node %s is down; ", snap.Label(id)))
		}
	}
	its := "its replica is"
	if replicas > 1 {
		its = fmt.Sprintf("its %d replicas are", replicas)
	}
	switch left := snap.Limits.ReplaceAfter - snap.SilentFor(id); {
	case copies == 0:
		return "", false
	case why != "":
		return fmt.Sprintf("; %s not replaced: %s", its, why), true
	case left > 0:
		return fmt.Sprintf("; %s replaced in %s if another replica is left", its, snapshot.Round(left)), false
	}
	return fmt.Sprintf("; %s being replaced if another replica is left", its), false
}

// networkAsCause returns another possible cause if the leader of the metadata group gets no reports from
// a node that others may reach.
func networkAsCause(snap *snapshot.Snapshot, id string) string {
	if leader := snap.Status.GetLeader(); leader != "" && leader != id {
		return fmt.Sprintf("; if it runs, check the network between it and node %s, which leads the metadata group and gets "+
			"no reports from it", snap.Label(leader))
	}
	return ""
}

// unheardNodes reports nodes that have not reported to a new leader of the metadata group yet.
func (d *diagnosis) unheardNodes() {
	if ids := d.snap.Unknown(); len(ids) > 0 {
		d.add(info, "ask again in a few seconds", "the state of these nodes is not known yet: %s; "+
			"they have not reported to the leader of the metadata group, which has led for %s",
			d.snap.Labels(ids), snapshot.Round(time.Duration(d.snap.Status.LeadingNanos)))
	}
}

// silentNodes reports nodes that will soon count as down.
func (d *diagnosis) silentNodes() {
	snap := d.snap
	for _, n := range snap.Status.Nodes {
		if id := n.GetNode().GetId(); snap.Silent(id) && !snap.Stopping(id) {
			d.add(warning, "check whether it runs; shards that only it holds do not answer meanwhile",
				"node %s last reported %s ago; after %s it counts as down", snap.Label(id), snapshot.Round(snap.SilentFor(id)),
				snap.Limits.DownAfter)
		}
	}
}
