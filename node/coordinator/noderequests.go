package coordinator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/proto/words"
	"cordwood/router/httpapi/clusterapi"
)

// findNode finds a node by its id or its name.
func findNode(snap *snapshot.Snapshot, text string) (string, error) {
	if snap.Nodes[text] != nil {
		return text, nil
	}
	var found, names []string
	for _, n := range snap.Status.Nodes {
		if n.GetNode().GetName() == text {
			found = append(found, n.Node.Id)
		}
		names = append(names, snap.Label(n.GetNode().GetId()))
	}
	slices.Sort(names)
	switch len(found) {
	case 0:
		return "", bad("there is no node %.80q: there are %s", text, snapshot.Few(names))
	case 1:
		return found[0], nil
	}
	return "", bad("%d nodes are called %q: give the id of one of them, %s", len(found), text, strings.Join(found, ", "))
}

// whyNotEmptied returns why a node cannot be drained in the present state of the cluster, or an
// empty text.
func whyNotEmptied(snap *snapshot.Snapshot, id string) string {
	others, zones := 0, map[string]bool{}
	for _, n := range snap.Status.Nodes {
		if other := n.GetNode().GetId(); other != id && snap.WhyNoReplicas(other) == "" && !beingEmptied(snap, other) {
			others++
			zones[n.Node.Zone] = true
		}
	}
	for _, s := range snap.Status.Shards {
		if !slices.Contains(s.Replicas, id) {
			continue
		}
		missing := snapshot.Want(s) - others
		switch fewer := others - (others+1)%2; { // numbers of replicas are odd
		case missing > 0 && fewer > 0:
			return fmt.Sprintf("node %s cannot be drained: shard %d wants %s, and without it %s can hold one: "+
				"add %s, or reduce its replicas with 'cordwood shard replicas %d %d'",
				snap.Label(id), s.Id, words.Count(snapshot.Want(s), "replica"), words.Count(others, "node"),
				words.Count(missing, "node"), s.Id, fewer)
		case missing > 0:
			return fmt.Sprintf("node %s cannot be drained: shard %d wants %s, and no other node can hold one: "+
				"add %s with the role shard", snap.Label(id), s.Id, words.Count(snapshot.Want(s), "replica"),
				words.Count(missing, "node"))
		}
	}
	return ""
}

func (a *Admin) undrain(ctx context.Context, snap *snapshot.Snapshot,
	r *clusterapi.Request,
) (*clusterapi.Answer, error) {
	id, err := findNode(snap, r.Node)
	if err != nil {
		return nil, err
	}
	if op := snap.FindRunning(func(o *metapb.Operation) bool {
		return o.NodeId == id && (o.Kind == operation.NodeDrain || o.Kind == operation.NodeDecommission)
	}); op != nil {
		return a.Cancel(ctx, op.Id)
	}
	if !snap.Drained(id) {
		return &clusterapi.Answer{Message: fmt.Sprintf("node %s is active: it is not drained", snap.Label(id))}, nil
	}
	if _, err := a.meta.Propose(ctx, setState(snap, id, metapb.NodeState_NODE_STATE_UP).propose); err != nil {
		return nil, err
	}
	return &clusterapi.Answer{
		Message: fmt.Sprintf("node %s is active again: new tables and shards may be placed on it; "+
			"'cordwood rebalance' moves replicas there", snap.Label(id)),
	}, nil
}

// mayBeForgotten returns an error if a node has replicas or may be running.
func mayBeForgotten(snap *snapshot.Snapshot, id string) error {
	label := snap.Label(id)
	for _, s := range snap.Status.Shards {
		if slices.Contains(s.Replicas, id) || slices.Contains(s.Learners, id) {
			return bad("node %s has a replica of shard %d: 'cordwood node decommission %s' moves it away first",
				label, s.Id, label)
		}
	}
	switch {
	case snap.Alive(id) && !snap.Nodes[id].GetReport().GetStopping():
		return bad("node %s answered a moment ago: stop its process, and try again %s after it has ended", label,
			snap.Limits.DownAfter)
	case slices.Contains(snap.Unheard(), id):
		return bad("node %s has not reported to the leader of the metadata group yet, and may be alive: try again in %s",
			label, snap.Limits.DownAfter)
	case beingEmptied(snap, id):
		return bad("node %s is being drained: wait until the operation has ended", label)
	}
	return nil
}

// removeNode removes a node that has no replicas and is not running.
func (a *Admin) removeNode(ctx context.Context, snap *snapshot.Snapshot,
	r *clusterapi.Request,
) (*clusterapi.Answer, error) {
	id, err := findNode(snap, r.Node)
	if err != nil {
		return nil, err
	}
	label := snap.Label(id)
	if err := mayBeForgotten(snap, id); err != nil {
		return nil, err
	}
	if m := snap.Member(id); m != nil {
		if why := whyMetaWeaker(snap, id); why != "" && !r.Force {
			return nil, bad("%s", why)
		}
		if m.Voter && !metaSafeWithout(snap, id) {
			return nil, bad("without node %s the metadata group would have no majority: bring its other voters back, "+
				"or add a node with the role meta", label)
		}
		if _, err := a.meta.ChangeMembers(ctx, id, metapb.ChangeMembersRequest_CHANGE_REMOVE); err != nil {
			return nil, err
		}
	}
	if _, err := a.meta.Propose(ctx, command(snap, func(c *metapb.Command) {
		c.Op = &metapb.Command_RemoveNode{RemoveNode: &metapb.RemoveNode{NodeId: id}}
	})); err != nil {
		return nil, err
	}
	return &clusterapi.Answer{
		Message: fmt.Sprintf("node %s was removed; it can come back only with an empty data folder", label),
	}, nil
}

func (a *Admin) pause(ctx context.Context, snap *snapshot.Snapshot, paused bool) (*clusterapi.Answer, error) {
	next := &metapb.Settings{}
	if s := snap.Status.Settings; s != nil {
		next = proto.CloneOf(s)
	}
	next.RebalancePaused = paused
	if _, err := a.meta.Propose(ctx, command(snap, func(c *metapb.Command) {
		c.Op = &metapb.Command_SetSettings{SetSettings: &metapb.SetSettings{Settings: next}}
	})); err != nil {
		return nil, err
	}
	if paused {
		return &clusterapi.Answer{
			Message: "rebalancing is paused: replicas and tables are not moved for balance; repairs, drains and " +
				"requested operations continue",
		}, nil
	}
	return &clusterapi.Answer{Message: "rebalancing continues"}, nil
}
