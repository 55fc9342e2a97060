package meta

import (
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// Before the log: nodes and sessions.

const maxRoles = 16

func prepareRegisterNode(r *metapb.RegisterNode) error {
	n := r.Node
	if n == nil {
		return errs.New(errs.InvalidArguments, "Register a node: no node is given")
	}
	if err := checkText("node id", n.Id, true); err != nil {
		return err
	}
	if len(n.Roles) > maxRoles {
		return errs.New(errs.InvalidArguments, "Register node %s: %d roles, at most %d are possible", n.Id, len(n.Roles), maxRoles)
	}
	for _, text := range append([]string{n.Name, n.RpcAddr, n.HttpAddr, n.Version, n.Zone}, n.Roles...) {
		if err := checkText("node attribute", text, false); err != nil {
			return err
		}
	}
	if n.MinProtocol > n.MaxProtocol {
		return errs.New(errs.InvalidArguments, "Register node %s: its protocol versions are %d to %d", n.Id, n.MinProtocol, n.MaxProtocol)
	}
	return nil
}

func prepareRegisterSession(r *metapb.RegisterSession) error {
	return checkText("node id", r.NodeId, true)
}

func prepareSetNodeState(s *metapb.SetNodeState) error {
	switch s.State {
	case metapb.NodeState_NODE_STATE_UP, metapb.NodeState_NODE_STATE_DRAINING, metapb.NodeState_NODE_STATE_DRAINED:
		return checkText("node id", s.NodeId, true)
	}
	return errs.New(errs.InvalidArguments, "Set the state of node %s: %s is no state that it can be given", s.NodeId, s.State)
}

func prepareRemoveNode(r *metapb.RemoveNode) error { return checkText("node id", r.NodeId, true) }
