package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"cordwood/node/config"
	"cordwood/proto/metapb"
	"cordwood/shard"
)

// This file keeps a data folder out of the cluster that is older than the cluster knows it, or if
// another copy of it is in use: see the package marks.

const (
	// markEvery is how often the data folder gets a new mark while the node runs: an older copy of the
	// folder is recognised by it.
	markEvery = 5 * time.Minute
	// askPatience is how long other nodes have to say which mark they know.
	askPatience = time.Second
	// mostAsked is how many other nodes are asked, nodes with the role meta first.
	mostAsked = 16
	// markPatience bounds one try to register a mark while the node runs.
	markPatience = 10 * time.Second
)

// askOthers asks the nodes that this one knows from before which mark of its data folder they know,
// and where they know this node. It comes before anything that votes is opened: what the metadata
// say at the registration comes after that. Nodes that do not answer are left out. If none answers, as
// when all start together, only the metadata check the mark.
func (n *membership) askOthers(ctx context.Context) error {
	cluster, _ := n.data.Cluster()
	var addrs []string
	for _, m := range n.nodes.Known() {
		switch {
		case m.Id == n.data.nodeID:
		case slices.Contains(m.Roles, config.RoleMeta):
			addrs = slices.Insert(addrs, 0, m.RpcAddr)
		default:
			addrs = append(addrs, m.RpcAddr)
		}
	}
	addrs = addrs[:min(len(addrs), mostAsked)]
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	return n.checkFolder(ctx, n.discovery.Self(ctx, cluster, addrs))
}

// errOldFolder is why a data folder is refused that is older than the cluster knows it.
type errOldFolder struct{ text string }

func (e errOldFolder) Error() string { return e.text }

// tellPatience is how long a node that other nodes have refused tries to report that to the
// metadata, whose status shows it.
const tellPatience = 5 * time.Second

// tellRefused has the metadata refuse the node too, if it is for its folder that others have, and
// returns their reason. It opens nothing that votes.
func (n *membership) tellRefused(ctx context.Context, reason error) error {
	if old := (errOldFolder{}); !errors.As(reason, &old) {
		return reason
	}
	n.openMetaClient()
	n.run("following the metadata", n.meta.Run)
	ctx, cancel := context.WithTimeout(ctx, tellPatience)
	defer cancel()
	if n.meta.WaitReady(ctx) == nil {
		err := n.proposeSelf(ctx, func(string) {})
		n.log.Debug("the metadata were told of the data folder", "error", err)
	}
	return reason
}

// checkFolder refuses the data folder if one of the nodes, as others know them, is this one with a
// newer mark, or runs elsewhere with this one's id.
func (n *membership) checkFolder(ctx context.Context, nodes []*metapb.Node) error {
	if err := n.checkMarks(nodes); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for _, m := range nodes {
		if m.Id != n.data.nodeID || m.RpcAddr == n.rpcAddr || m.RpcAddr == "" || slices.Contains(n.twinless, m.RpcAddr) {
			continue
		}
		n.twinless = append(n.twinless, m.RpcAddr)
		if n.discovery.Twin(ctx, m.RpcAddr) {
			return fmt.Errorf("node %s already runs at %s: this data folder, %s, is a copy of that one's; a new node "+
				"needs an empty --data-dir", n.data.nodeID, m.RpcAddr, n.data.path)
		}
	}
	return nil
}

// checkMarks refuses the data folder if one of the nodes is this one with a newer mark.
func (n *membership) checkMarks(nodes []*metapb.Node) error {
	mark, earlier := n.marks.Current()
	if n.marks.Readmit() {
		return nil
	}
	for _, m := range nodes {
		if m.Id == n.data.nodeID && m.Mark.Refuses(mark, earlier) {
			first := append(earlier, mark)[0]
			return errOldFolder{metapb.RefusedFolder(n.data.nodeID, first, m.Mark)}
		}
	}
	return nil
}

// followMarks gives the data folder a new mark every few minutes, and ends the process when the
// metadata have one that this folder does not know.
func (n *membership) followMarks(ctx context.Context) error {
	again := time.NewTicker(markPatience)
	defer again.Stop()
	drawn := time.Now()
	for {
		changed := n.meta.Changed()
		if err := n.checkMarks(n.meta.Nodes()); err != nil {
			n.endAtOnce("another copy of this data folder is in use, or this machine went back in time; ending at once", err)
		}
		if listed, marked := n.listed(); listed && n.meta.ClusterVersion() >= metapb.ProtocolMarks &&
			(!marked || time.Since(drawn) > markEvery) {
			if err := n.newMark(ctx); err == nil {
				drawn = time.Now()
			} else if ctx.Err() == nil {
				n.log.Debug("a mark of the data folder is not registered yet", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-again.C:
		}
	}
}

// listed reports whether the metadata have this node, and a mark of it.
func (n *membership) listed() (listed, marked bool) {
	nodes := n.meta.Nodes()
	i := slices.IndexFunc(nodes, func(m *metapb.Node) bool { return m.Id == n.data.nodeID })
	return i >= 0, i >= 0 && nodes[i].Mark != nil
}

// newMark draws a mark, unless the last one is not known to be registered, and registers it.
func (n *membership) newMark(ctx context.Context) error {
	if _, earlier := n.marks.Current(); len(earlier) == 0 {
		if err := n.marks.Draw(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, markPatience)
	defer cancel()
	return n.proposeSelf(ctx, func(string) {})
}

// finishReadmit has the replicas made anew that the cluster also has elsewhere, once an older data
// folder was let in because the operator wanted it: they may hold less than they announced to the
// others. Replicas that are nowhere else continue as they are.
func (n *membership) finishReadmit() error {
	if !n.marks.Readmit() {
		return nil
	}
	for _, m := range n.meta.Shards() {
		members := slices.Concat(m.Replicas, m.Learners)
		dir := n.cfg.Path("shards", strconv.FormatUint(uint64(m.Id), 10))
		if have, _, err := shard.FolderIncarnation(dir); !slices.Contains(members, n.data.nodeID) ||
			len(members) == 1 || err == nil && have == 0 {
			continue
		}
		if err := shard.MarkDiverged(dir, "the data folder of this node went back in time, and the operator let it "+
			"in; this replica has to be made anew from the others"); err != nil {
			return fmt.Errorf("mark the replica of shard %d, which is to be made anew: %w", m.Id, err)
		}
		n.log.Warn("a replica of an older data folder is made anew from the others", "shard", m.Id)
	}
	return n.marks.SetReadmit(false)
}
