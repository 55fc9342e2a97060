package meta

import (
	"unicode/utf8"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// Before the log: the cluster, its nodes and sessions.

const (
	// maxShards is the most shards of a cluster that is bootstrapped on one node.
	maxShards = 256
	maxIDLen  = 256
	maxRoles  = 16
)

func prepareBootstrap(b *metapb.Bootstrap) error {
	if err := checkText("cluster id", b.ClusterId, true); err != nil {
		return err
	}
	if err := checkText("node id", b.NodeId, true); err != nil {
		return err
	}
	if b.Shards < 1 || b.Shards > maxShards {
		return errs.New(errs.InvalidArguments, "Bootstrap with %d shards: 1 to %d are possible", b.Shards, maxShards)
	}
	return nil
}

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
	for _, text := range append([]string{n.Name, n.RpcAddr, n.HttpAddr, n.Version}, n.Roles...) {
		if err := checkText("node attribute", text, false); err != nil {
			return err
		}
	}
	return nil
}

func prepareRegisterSession(r *metapb.RegisterSession) error {
	return checkText("node id", r.NodeId, true)
}

func checkText(what, text string, required bool) error {
	switch {
	case required && text == "":
		return errs.New(errs.InvalidArguments, "The %s is empty", what)
	case len(text) > maxIDLen:
		return errs.New(errs.InvalidArguments, "The %s has %d bytes, at most %d are possible", what, len(text), maxIDLen)
	case !utf8.ValidString(text):
		return errs.New(errs.InvalidArguments, "The %s is not valid UTF-8", what)
	}
	return nil
}
