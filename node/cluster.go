package node

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"cordwood/meta"
	"cordwood/meta/catalog"
	"cordwood/meta/metaclient"
	"cordwood/node/config"
	"cordwood/node/discovery"
	"cordwood/node/host"
	"cordwood/node/marks"
	"cordwood/node/registry"
	"cordwood/node/rpcport"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// membership describes this node in its cluster: its identity, the other nodes that it knows, and its copy of the
// metadata.
type membership struct {
	*readiness
	data *dataDir
	// process is a random number that identifies this run of the process.
	process uint64
	// marks are the marks of the data folder.
	marks *marks.Folder
	// checkedAddrs lists the addresses at which no other process with this node's id was found at the start.
	checkedAddrs []string
	// rpcAddr is the address of this node for other nodes, httpAddr the one for users.
	rpcAddr, httpAddr string
	nodes             *registry.Registry
	discovery         *discovery.Discovery
	member            *meta.Meta // nil without the role meta
	meta              *metaclient.Client
	host              *host.Host // nil without the role shard
}

// newProcess returns a random number that identifies this run of the process.
func newProcess() uint64 { return rand.Uint64() | 1 }

// greeting returns the identity that this node sends with its calls to other nodes.
func (n *membership) greeting() rpcport.Member {
	cluster, _ := n.data.Cluster()
	return rpcport.Member{
		ClusterID: cluster, NodeID: n.data.nodeID, Lowest: metapb.MinProtocol, Highest: metapb.MaxProtocol,
	}
}

// findCluster waits until the node belongs to a cluster.
func (n *membership) findCluster(ctx context.Context) error {
	if err := n.adoptCluster(); err != nil {
		return err
	}
	return n.discovery.Find(ctx)
}

// adoptCluster records the cluster of the metadata in this folder, in case a crash or an earlier version did not
// record it.
func (n *membership) adoptCluster() error {
	if cluster, _ := n.data.Cluster(); cluster != "" {
		return nil
	}
	file := n.cfg.Path("meta", meta.StateFile)
	if _, err := os.Stat(file); err != nil {
		return nil // there is no metadata yet
	}
	c, err := catalog.Open(file)
	if err != nil {
		return fmt.Errorf("read the metadata: %w", err)
	}
	var cluster string
	err = c.View(func(tx *catalog.Tx) error { cluster = tx.ClusterID(); return nil })
	if err = errors.Join(err, c.Close()); err != nil {
		return fmt.Errorf("read the metadata: %w", err)
	}
	if cluster == "" {
		return nil
	}
	return n.data.SetCluster(cluster, []string{n.data.nodeID})
}

// learnNodes copies the addresses of nodes from the metadata.
func (n *membership) learnNodes(ctx context.Context) error {
	if n.meta.WaitReady(ctx) != nil {
		return nil // ctx ended
	}
	for {
		changed := n.meta.Changed()
		n.nodes.Learn(n.meta.Nodes())
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

// enter waits for the metadata, creates the cluster in it if this node founds the cluster, and registers this node.
func (n *membership) enter(ctx context.Context) error {
	if err := n.awaitMeta(ctx); err != nil {
		return err
	}
	cluster, founders := n.data.Cluster()
	if n.meta.ClusterID() == "" {
		if len(founders) == 0 {
			n.wait("the founders of the cluster to create it")
			for changed := n.meta.Changed(); n.meta.ClusterID() == ""; changed = n.meta.Changed() {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-changed:
				}
			}
		} else if err := n.propose(ctx, "create the cluster",
			&metapb.Command{Op: &metapb.Command_Bootstrap{Bootstrap: n.bootstrap(cluster)}}); err != nil {
			return err
		}
	}
	if id := n.meta.ClusterID(); id != "" && id != cluster {
		return fmt.Errorf("data folder %s belongs to cluster %s, but its metadata belong to %s: it holds files of two "+
			"clusters; restore it from a backup", n.data.path, cluster, id)
	}
	if err := n.checkFolder(ctx, n.meta.Nodes()); err != nil {
		return err
	}
	if err := n.register(ctx); err != nil {
		return err
	}
	if err := n.finishReadmit(); err != nil {
		return err
	}
	if have := len(n.meta.Shards()); have > 0 && have != n.cfg.Cluster.Shards {
		n.log.Info("the cluster keeps the number of shards that it was created with", "shards", have,
			"setting", n.cfg.Cluster.Shards)
	}
	return nil
}

// registerPatience is the time for which a node that the cluster knows waits until it is registered again. After that
// it serves anyway.
const registerPatience = 3 * time.Second

// register registers this node with the metadata. If the metadata already have the node with its roles, it waits at
// most as long as an election takes. While most of their voters are down, rows can still be written and read, because
// this node sends its address with each call to another node.
func (n *membership) register(ctx context.Context) error {
	if n.marks.Readmit() || !n.registered() {
		return n.proposeSelf(ctx, n.waitLogged)
	}
	try, cancel := context.WithTimeout(ctx, registerPatience)
	defer cancel()
	err := n.proposeSelf(try, n.waitLogged)
	if err == nil || try.Err() == nil || ctx.Err() != nil {
		return err
	}
	n.log.Warn("the metadata group has no leader; this node serves with its previous registration, and registers later",
		"error", err)
	n.run("registering this node", func(ctx context.Context) error {
		err := n.proposeSelf(ctx, func(string) {})
		if err == nil {
			n.log.Info("this node is registered")
		}
		return err
	})
	return nil
}

// proposeSelf proposes the registration of this node, with the mark of its data folder, until the
// metadata accept or refuse it.
func (n *membership) proposeSelf(ctx context.Context, tell func(string)) error {
	var mark *metapb.FolderMark
	err := n.proposeBuilt(ctx, "register this node", func() *metapb.Command {
		r := &metapb.RegisterNode{Node: &metapb.Node{
			Id: n.data.nodeID, Name: n.cfg.NodeName, RpcAddr: n.rpcAddr, HttpAddr: n.httpAddr,
			Roles: n.cfg.Roles, Version: n.proc.Version.Version, Zone: n.cfg.Place(),
			MinProtocol: metapb.MinProtocol, MaxProtocol: metapb.MaxProtocol,
		}}
		if mark = nil; n.meta.ClusterVersion() >= metapb.ProtocolMarks {
			mark, r.Earlier = n.marks.Current()
			r.Node.Mark, r.Readmit = mark, n.marks.Readmit()
		}
		return &metapb.Command{Op: &metapb.Command_RegisterNode{RegisterNode: r}}
	}, tell)
	if err != nil || mark == nil {
		return err
	}
	return n.marks.Registered(mark)
}

// registered reports whether this node's copy of the metadata contains the node with its roles, in a cluster format
// that this program supports.
func (n *membership) registered() bool {
	return slices.ContainsFunc(n.meta.Nodes(), func(m *metapb.Node) bool {
		return m.Id == n.data.nodeID &&
			slices.Equal(slices.Sorted(slices.Values(m.Roles)), slices.Sorted(slices.Values(n.cfg.Roles)))
	}) && n.meta.ClusterVersion() >= metapb.MinProtocol && n.meta.ClusterVersion() <= metapb.MaxProtocol
}

// bootstrap returns the command that creates the cluster. It includes the shards if this node is the whole cluster
// for now. Otherwise they are created when enough nodes have joined.
func (n *membership) bootstrap(cluster string) *metapb.Bootstrap {
	b := &metapb.Bootstrap{
		ClusterId: cluster, Shards: uint32(n.cfg.Cluster.Shards), Replication: uint32(n.cfg.Cluster.Replication),
	}
	if len(n.cfg.Cluster.Seeds) == 0 && n.cfg.Has(config.RoleShard) {
		b.NodeId = n.data.nodeID
	}
	return b
}

// awaitMeta waits for the first state of the metadata. It logs what it waits for.
func (n *membership) awaitMeta(ctx context.Context) error {
	ready := make(chan error, 1)
	go func() { ready <- n.meta.WaitReady(ctx) }()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ready:
			if err != nil {
				return fmt.Errorf("wait for the first state of the metadata: %w", err)
			}
			return nil
		case err := <-n.failed:
			return err
		case <-tick.C:
			n.waitLogged(n.whyNoMeta())
		}
	}
}

// whyNoMeta describes why the metadata are not available yet.
func (n *membership) whyNoMeta() string {
	text := "a member of the metadata group to answer"
	if n.member != nil {
		if s := n.member.Stats(); len(s.Members) > 0 {
			var voters []string
			for _, m := range s.Members {
				if m.Voter && m.NodeID != n.data.nodeID {
					voters = append(voters, strings.Join(append([]string{m.NodeID}, n.nodes.Addrs(m.NodeID)...), " "))
				}
			}
			text = "the metadata group to have a leader"
			if len(voters) > 0 {
				text += "; a majority of its voters must be up: this one, " + strings.Join(voters, ", ")
			}
		}
	}
	if silent := n.discovery.Silent(); len(silent) > 0 {
		text += "; no answer from " + strings.Join(silent, ", ")
	}
	return text
}

// propose proposes a command to the metadata group, and retries it while that may help.
func (n *membership) propose(ctx context.Context, what string, cmd *metapb.Command) error {
	return n.proposeBuilt(ctx, what, func() *metapb.Command { return cmd }, n.waitLogged)
}

// proposeBuilt is propose for a command that is built again for each try. It logs what it waits for.
func (n *membership) proposeBuilt(
	ctx context.Context, what string, newCommand func() *metapb.Command, tell func(string),
) error {
	for {
		cmd := newCommand()
		cmd.TimeUnixNano = time.Now().UnixNano()
		_, err := n.meta.Propose(ctx, cmd)
		if err == nil {
			return nil
		}
		if e := errs.From(err); ctx.Err() != nil || e.Reason == "" && e.Status() < 500 {
			return fmt.Errorf("%s: %w", what, err)
		}
		tell(fmt.Sprintf("the metadata group to %s: %v", what, err))
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, err)
		case err := <-n.failed:
			return err
		case <-time.After(time.Second):
		}
	}
}
