package meta

import (
	"context"
	"strings"

	"google.golang.org/grpc/peer"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// This file prepares commands about nodes and sessions.

const (
	maxRoles = 16
	// maxMarks is the maximum number of marks of its data folder that a node may report. Nodes keep
	// fewer.
	maxMarks = 256
)

func prepareRegisterNode(r *metapb.RegisterNode) error {
	n := r.Node
	if n == nil {
		return errs.New(errs.InvalidArguments, "Register a node: no node is given")
	}
	if err := checkText("node id", n.Id, true); err != nil {
		return err
	}
	if len(n.Roles) > maxRoles {
		return errs.New(errs.InvalidArguments, "Register node %s: %d roles, at most %d are possible", n.Id,
			len(n.Roles), maxRoles)
	}
	for _, text := range append([]string{n.Name, n.RpcAddr, n.HttpAddr, n.Version, n.Zone}, n.Roles...) {
		if err := checkText("node attribute", text, false); err != nil {
			return err
		}
	}
	if len(r.Earlier) > maxMarks {
		return errs.New(errs.InvalidArguments, "Register node %s: %d marks of its data folder, at most %d are possible",
			n.Id, len(r.Earlier), maxMarks)
	}
	if n.MinProtocol > n.MaxProtocol {
		return errs.New(errs.InvalidArguments, "Register node %s: its protocol versions are %d to %d", n.Id,
			n.MinProtocol, n.MaxProtocol)
	}
	return nil
}

// register registers a node through the log. If the node was unknown, the leader logs it, so that
// the log names every node of the cluster.
func (m *Meta) register(ctx context.Context, cmd *metapb.Command, n *metapb.Node) (*metapb.ProposeResponse, error) {
	known := false
	err := m.catalog.View(func(tx *catalog.Tx) error {
		had, err := tx.Nodes.Get(n.Id)
		known = had != nil
		return err
	})
	if err != nil {
		return nil, errs.Wrap(errs.StorageUnavailable, err, "look for node %s", n.Id)
	}
	resp, err := m.log(ctx, cmd)
	if err == nil {
		m.noteRefused(n.Id, resp.Result)
	}
	if err != nil || known || resp.Result.GetErrorCode() != 0 {
		return resp, err
	}
	from := ""
	if p, ok := peer.FromContext(ctx); ok && p.Addr.Network() == "tcp" { // otherwise it is this process
		from = p.Addr.String()
	}
	m.cfg.Logger.Info("node joined", "name", n.Name, "node", n.Id, "addr", n.RpcAddr,
		"roles", strings.Join(n.Roles, ","), "from", from)
	return resp, nil
}

// noteRefused records whether a node was refused, for the status of the cluster.
func (m *Meta) noteRefused(node string, r *metapb.Result) {
	text := ""
	if r.GetErrorCode() == uint32(errs.InvalidArguments) {
		text = r.ErrorMessage
		m.cfg.Logger.Warn("refused to register a node", "node", node, "reason", text)
		m.metrics.refused.Inc()
	}
	if term, err := m.leadTerm(); err == nil {
		m.reports.refuse(term, node, text)
	}
}

func prepareRegisterSession(r *metapb.RegisterSession) error {
	return checkText("node id", r.NodeId, true)
}

func prepareSetNodeState(s *metapb.SetNodeState) error {
	switch s.State {
	case metapb.NodeState_NODE_STATE_UP, metapb.NodeState_NODE_STATE_DRAINING, metapb.NodeState_NODE_STATE_DRAINED:
		return checkText("node id", s.NodeId, true)
	}
	return errs.New(errs.InvalidArguments, "Set the state of node %s: %s is not a state that a user can set", s.NodeId,
		s.State)
}

func prepareRemoveNode(r *metapb.RemoveNode) error { return checkText("node id", r.NodeId, true) }
