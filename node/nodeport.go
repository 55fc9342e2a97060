package node

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	"cordwood/node/discovery"
	"cordwood/node/registry"
	"cordwood/node/rpcport"
	"cordwood/proto/metapb"
	"cordwood/shard/replica/transport"
)

// openNodePort opens the port between nodes, on which other nodes may get the identity of this node.
func (n *node) openNodePort() error {
	port, err := rpcport.Listen(rpcport.Config{
		Addr: n.cfg.RPC.Addr, Credentials: n.protection.credentials, Insecure: n.cfg.RPC.Insecure, Logger: n.log,
		Timeout: handshakeTimeout,
	})
	if err != nil {
		return fmt.Errorf("listen for nodes: %w: choose another --rpc-addr, or stop what uses it", err)
	}
	n.port = port
	n.onStop("port between nodes", func(context.Context) error { return port.Close() })
	if n.protection.secret != nil {
		n.protection.secret.OnChange(port.Recheck)
	}
	n.httpAddr, n.rpcAddr = n.users.addr.String(), n.cfg.RPC.Advertise
	if n.rpcAddr == "" {
		n.rpcAddr = port.Addr().String()
	}
	if n.rpc, err = newRPCServer(n.traces.serverOptions(n.calls), n.traces.dialOptions()); err != nil {
		return err
	}
	dialer := rpcport.Dialer{Credentials: n.protection.credentials, Insecure: n.cfg.RPC.Insecure, Logger: n.log}
	n.nodes = registry.New(registry.Config{
		NodeID: n.data.nodeID, Local: n.rpc.conn, LocalTail: n.rpc.tails, Member: n.greeting, Dialer: dialer,
		File: n.cfg.Path("PEERS"), Options: append(connOptions(window), n.traces.dialOptions()...),
		TailOptions: append(connOptions(tailWindow), n.traces.dialOptions()...), Logger: n.log,
	})
	n.onStop("connections to other nodes", func(context.Context) error { return n.nodes.Close() })
	n.discovery = discovery.New(discovery.Config{
		NodeID: n.data.nodeID, Name: n.cfg.NodeName, Roles: n.cfg.Roles, Addr: n.rpcAddr, Process: n.process,
		Lowest: metapb.MinProtocol, Highest: metapb.MaxProtocol,
		Seeds: n.cfg.Cluster.Seeds, Expect: n.cfg.Cluster.MetaBootstrapExpect, ClusterID: n.cfg.Cluster.ID,
		State: n.data, Book: n.nodes, Dialer: dialer, NewID: newID, Waiting: n.wait, Logger: n.log,
	})
	n.onStop("connections to seeds", func(context.Context) error { return n.discovery.Close() })
	callers := grpc.NewServer(grpc.ConnectionTimeout(handshakeTimeout), grpc.MaxRecvMsgSize(1<<20),
		grpc.MaxConcurrentStreams(16))
	metapb.RegisterDiscoveryServer(callers, n.discovery)
	go func() { _ = callers.Serve(port.CallsWithoutGreeting()) }() // it ends when the port is closed, or by Stop
	n.onStop("answers to nodes without a cluster", func(context.Context) error { callers.Stop(); return nil })
	return nil
}

// openNetwork admits calls of the cluster's nodes to this node's services.
func (n *node) openNetwork() error {
	me := n.greeting()
	network, err := transport.New(transport.Config{
		ClusterID: me.ClusterID, NodeID: me.NodeID, Dial: n.nodes.DialRaft, Logger: n.log,
	})
	if err != nil {
		return err
	}
	n.network = network
	n.onStop("raft network", func(context.Context) error { return network.Close() })
	n.onStop("calls of nodes", n.rpc.close)
	return nil
}

// serveNodes starts to answer other nodes, and the roles of this node.
func (n *node) serveNodes() {
	n.rpc.serve(n.port.Calls())
	n.port.Join(n.greeting(), n.network.Serve)
	n.run("following the metadata", n.meta.Run)
	n.run("learning addresses", n.learnNodes)
	if len(n.cfg.Cluster.Seeds) > 0 {
		n.run("looking for nodes", n.discovery.Follow)
	}
}
