package meta

import (
	"slices"
	"time"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// This file applies commands about nodes and sessions.

// applyRegisterNode stores a node's report about itself. It keeps the time of its first registration, and its state,
// such as draining.
func applyRegisterNode(tx *catalog.Tx, r *metapb.RegisterNode, now int64, c *change) (*metapb.Result, error) {
	n := r.Node
	had, err := tx.Nodes.Get(n.Id)
	if err != nil {
		return nil, err
	}
	if tx.Nodes.WasRemoved(n.Id) {
		return nil, errs.New(errs.InvalidArguments, "Node %s was removed from cluster %s; to let the machine take "+
			"part again, start it with an empty data folder", n.Id, tx.ClusterID())
	}
	if had == nil && tx.Nodes.Count() >= catalog.MaxNodes {
		return nil, errs.New(errs.InvalidArguments,
			"Node %s cannot be registered: there are %d, the maximum; remove nodes that are lost", n.Id,
			catalog.MaxNodes)
	}
	if v := tx.ClusterVersion(); knows(n) < v || n.MinProtocol > v {
		return nil, errs.New(errs.InvalidArguments, "Node %s understands protocol versions %d to %d, and cluster %s "+
			"uses version %d; start a program that supports it",
			n.Id, max(n.MinProtocol, 1), knows(n), tx.ClusterID(), v)
	}
	if tx.Nodes.Count() > 1 { // otherwise the metadata is in the same folder
		if err := checkFolder(had, r); err != nil {
			return nil, err
		}
	}
	n.RegisteredUnixNano, n.State = now, metapb.NodeState_NODE_STATE_UNSPECIFIED
	if had != nil {
		n.RegisteredUnixNano, n.State = had.RegisteredUnixNano, had.State
	}
	if err := tx.Nodes.Put(n); err != nil {
		return nil, err
	}
	c.Nodes = []*metapb.Node{n}
	return &metapb.Result{ClusterId: tx.ClusterID()}, nil
}

// checkFolder refuses a node whose data folder is an older copy of the one that was registered
// last, or another copy of the same. See metapb.FolderMark.
func checkFolder(had *metapb.Node, r *metapb.RegisterNode) error {
	known, mark := had.GetMark(), r.Node.Mark
	switch {
	case known == nil, r.Readmit && mark != nil:
		return nil
	case mark == nil:
		return errs.New(errs.ShardNotReady,
			"Node %s did not report the mark of its data folder, because its copy of the metadata is behind; try again",
			r.Node.Id).WithRetryAfter(time.Second)
	case known.Refuses(mark, r.Earlier):
		first := mark
		if len(r.Earlier) > 0 {
			first = r.Earlier[0]
		}
		return errs.New(errs.InvalidArguments, "%s", metapb.RefusedFolder(r.Node.Id, first, known))
	}
	return nil
}

// knows returns the newest protocol version that a node supports. Nodes of the first version do not report one.
func knows(n *metapb.Node) uint32 { return max(n.MaxProtocol, 1) }

// applyRegisterSession assigns the next session id.
func applyRegisterSession(tx *catalog.Tx) (*metapb.Result, error) {
	id, err := tx.NextSessionID()
	return &metapb.Result{SessionId: id, ClusterId: tx.ClusterID()}, err
}

func applySetNodeState(tx *catalog.Tx, s *metapb.SetNodeState, c *change) (*metapb.Result, error) {
	n, err := needNode(tx, s.NodeId)
	if err != nil {
		return nil, err
	}
	if s.State == metapb.NodeState_NODE_STATE_DRAINED {
		if err := checkUnused(tx, n.Id, "is not drained"); err != nil {
			return nil, err
		}
	}
	if n.State == s.State {
		return &metapb.Result{}, nil
	}
	n.State = s.State
	c.Nodes = []*metapb.Node{n}
	return &metapb.Result{}, tx.Nodes.Put(n)
}

// applyRemoveNode removes a node that has no replica. Its id is never used again, so that it cannot
// come back with the data on its disk. A repeated command changes nothing.
func applyRemoveNode(tx *catalog.Tx, r *metapb.RemoveNode, now int64, c *change) (*metapb.Result, error) {
	if tx.Nodes.WasRemoved(r.NodeId) {
		return &metapb.Result{}, nil
	}
	if _, err := needNode(tx, r.NodeId); err != nil {
		return nil, err
	}
	if err := checkUnused(tx, r.NodeId, "cannot be removed"); err != nil {
		return nil, err
	}
	shards, err := tx.Shards.All()
	if err != nil {
		return nil, err
	}
	for _, s := range shards { // the data on its disk is no longer used
		at := slices.Index(s.Removed, r.NodeId)
		if at < 0 {
			continue
		}
		s.Removed = slices.Delete(s.Removed, at, at+1)
		s.Version++
		if err := tx.Shards.Put(s); err != nil {
			return nil, err
		}
		c.Shards = append(c.Shards, s)
	}
	if err := forgetRetired(tx, r.NodeId, c); err != nil {
		return nil, err
	}
	c.DroppedNodes = []string{r.NodeId}
	return &metapb.Result{}, tx.Nodes.Remove(r.NodeId, c.Index, now)
}

func needNode(tx *catalog.Tx, id string) (*metapb.Node, error) {
	n, err := tx.Nodes.Get(id)
	if err == nil && n == nil {
		err = errs.New(errs.InvalidArguments, "Node %s is not known to the cluster", id)
	}
	return n, err
}

// checkUnused returns an error if a shard has a replica on the node.
func checkUnused(tx *catalog.Tx, node, what string) error {
	shards, err := tx.Shards.All()
	if err != nil {
		return err
	}
	count, first := 0, uint32(0)
	for _, s := range shards {
		if slices.Contains(s.Replicas, node) || slices.Contains(s.Learners, node) {
			if count == 0 {
				first = s.Id
			}
			count++
		}
	}
	if count > 0 {
		return errs.New(errs.InvalidArguments,
			"Node %s %s: it has replicas of %d shards, shard %d the first of them; drain it first", node, what, count, first)
	}
	return nil
}
