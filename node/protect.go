package node

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cordwood/meta"
	"cordwood/meta/catalog"
	"cordwood/node/config"
	"cordwood/node/registry"
	"cordwood/node/rpcport"
	"cordwood/node/secret"
	"cordwood/proto/metapb"
)

// This file determines how nodes authenticate each other: by certificates in files, or by the cluster's secret. On
// one machine, or if the operator requests it, they do not.

// protection is how this node and others authenticate each other.
type protection struct {
	credentials rpcport.Credentials // nil without authentication
	secret      *secret.Source      // nil without a secret
	// kind is the kind of protection in the reported state of the cluster.
	kind metapb.Protection
}

// protect decides how nodes authenticate each other. In a cluster of only this node, it creates the secret.
func (n *node) protect(files settingsFiles) error {
	defer func() { n.protection.kind = n.kindOfProtection() }()
	if files.rpcTLS != nil {
		n.protection.credentials = rpcport.Files{Source: files.rpcTLS, ServerName: n.cfg.RPC.TLS.ServerName}
		return nil
	}
	file := n.cfg.SecretFile()
	if file == "" && !n.cfg.RPC.Insecure {
		others, err := n.hasOthers()
		if err != nil {
			return err
		}
		switch {
		case len(n.cfg.Cluster.Seeds) == 0 && !others:
			file = n.cfg.Path(secret.FileName)
			if err := secret.Make(file); err != nil {
				return err
			}
			n.log.Info("created the cluster's secret: nodes that are to join need a copy as "+
				"--cluster-secret-file", "file", file)
		case !config.Loopback(n.cfg.RPC.Addr):
			return &SettingsError{n.cfg.Unprotectable()}
		}
	}
	if file == "" {
		return nil
	}
	source, err := secret.Open(secret.Config{File: file, Node: n.data.nodeID, Logger: n.log})
	if err != nil {
		return &SettingsError{err}
	}
	if secret.ReadableByAll(file) {
		n.log.Warn("every account of this machine may read the cluster's secret: remove that permission "+
			"(chmod o-r)", "file", file)
	}
	n.protection.credentials, n.protection.secret = source, source
	n.reloads = append(n.reloads, reload{"the secret of the cluster", source.Reload})
	n.run("watching the secret of the cluster", source.Run)
	return nil
}

// hasOthers reports whether the node's cluster has other nodes, according to the metadata in the data folder.
func (n *membership) hasOthers() (bool, error) {
	other := func(id string) bool { return id != n.data.nodeID }
	cluster, founders := n.data.Cluster()
	if slices.ContainsFunc(founders, other) {
		return true, nil
	}
	if _, promised := n.data.Promise(); slices.ContainsFunc(promised, other) {
		return true, nil
	}
	for id := range registry.Kept(n.cfg.Path("PEERS")) {
		if cluster != "" && other(id) {
			return true, nil
		}
	}
	file := n.cfg.Path("meta", meta.StateFile)
	if !config.IsFile(file) {
		return false, nil
	}
	c, err := catalog.Open(file)
	if err != nil {
		return false, fmt.Errorf("read the metadata: %w", err)
	}
	var nodes []*metapb.Node
	err = c.View(func(tx *catalog.Tx) (err error) { nodes, err = tx.Nodes.All(); return err })
	if err = errors.Join(err, c.Close()); err != nil {
		return false, fmt.Errorf("read the metadata: %w", err)
	}
	return slices.ContainsFunc(nodes, func(m *metapb.Node) bool { return other(m.Id) }), nil
}

func (n *node) kindOfProtection() metapb.Protection {
	switch {
	case n.protection.credentials == nil && !config.Loopback(n.cfg.RPC.Addr):
		return metapb.Protection_PROTECTION_NONE
	case n.protection.credentials == nil:
		return metapb.Protection_PROTECTION_MACHINE
	case n.cfg.RPC.Insecure:
		return metapb.Protection_PROTECTION_OPTIONAL
	case n.protection.secret != nil:
		return metapb.Protection_PROTECTION_SECRET
	}
	return metapb.Protection_PROTECTION_CERTIFICATES
}

// warnUnprotected logs, at the start, which settings leave the node unprotected.
func (n *node) warnUnprotected() {
	p := n.protection.kind
	users := n.cfg.Users.Known()
	addr := n.port.Addr().String()
	switch {
	case p == metapb.Protection_PROTECTION_MACHINE && users:
		n.log.Warn("every account of this machine may call this node as another node of the cluster, without "+
			"authentication: "+config.HowToProtect, "rpc_addr", addr)
	case p == metapb.Protection_PROTECTION_MACHINE:
		n.log.Warn("every account of this machine may call this node as another node of the cluster: "+
			config.HowToProtect, "rpc_addr", addr)
	case p == metapb.Protection_PROTECTION_OPTIONAL:
		n.log.Warn("--rpc-insecure: anyone who can reach this address can call this node as another node of the cluster; "+
			"leave it out once all nodes have the secret or certificates", "rpc_addr", addr)
	case p == metapb.Protection_PROTECTION_NONE && users:
		n.log.Warn("--rpc-insecure: anyone who can reach this address can call this node as another node of the cluster, "+
			"without authentication: "+config.HowToProtect, "rpc_addr", addr)
	case p == metapb.Protection_PROTECTION_NONE:
		n.log.Warn("--rpc-insecure: anyone who can reach this address can call this node as another node of the cluster: "+
			config.HowToProtect, "rpc_addr", addr)
	}
}

// reload is a file that is read again on SIGHUP.
type reload struct {
	what string
	read func() error
}

// reloadFiles reads settings files again on each reload signal.
func (n *node) reloadFiles(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-n.proc.Reload:
		}
		for _, r := range n.reloads {
			if err := r.read(); err != nil {
				n.log.Error("cannot be read again; the previous content is used", "what", r.what, "error", err)
			}
		}
	}
}
