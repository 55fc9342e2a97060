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

// This file keeps the node out of the cluster if its data folder is older than the cluster's record
// of it, or if another copy of the folder is in use: see the package marks.

const (
	// markEvery is the interval between new marks of the data folder while the node runs. The marks identify older
	// copies of the folder.
	markEvery = 5 * time.Minute
	// askPatience is the time limit for answers of other nodes about the mark that they have.
	askPatience = time.Second
	// mostAsked limits the number of other nodes that are asked. Nodes with the role meta come first.
	mostAsked = 16
	// markPatience is the time limit of one try to register a mark while the node runs.
	markPatience = 10 * time.Second
)

// askOthers asks the nodes that this one knew before its start which mark of its data folder and which address of
// this node they have. It runs before the node opens any group in which it votes. The registration with the metadata
// comes later. Nodes that do not answer are skipped. If none answers, as when all nodes start together, only the
// metadata check the mark.
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

// errOldFolder is the refusal of a data folder that is older than the cluster's record of it.
type errOldFolder struct{ text string }

func (e errOldFolder) Error() string { return e.text }

// refusalPatience is the time for which a node that other nodes refused tries to report this to the metadata, so that
// the status of the cluster shows it.
const refusalPatience = 5 * time.Second

// reportRefusal registers the data folder with the metadata, which should refuse it, too, and record the refusal. It
// returns reason. It opens no group in which the node votes.
func (n *membership) reportRefusal(ctx context.Context, reason error) error {
	if old := (errOldFolder{}); !errors.As(reason, &old) {
		return reason
	}
	n.openMetaClient(nil)
	n.run("following the metadata", n.meta.Run)
	ctx, cancel := context.WithTimeout(ctx, refusalPatience)
	defer cancel()
	if n.meta.WaitReady(ctx) == nil {
		err := n.proposeSelf(ctx, func(string) {})
		n.log.Debug("reported the data folder to the metadata", "error", err)
	}
	return reason
}

// checkFolder returns an error if another node has a newer mark of this data folder, or if this node's id runs at
// another address.
func (n *membership) checkFolder(ctx context.Context, nodes []*metapb.Node) error {
	if err := n.checkMarks(nodes); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for _, m := range nodes {
		if m.Id != n.data.nodeID || m.RpcAddr == n.rpcAddr || m.RpcAddr == "" || slices.Contains(n.checkedAddrs, m.RpcAddr) {
			continue
		}
		n.checkedAddrs = append(n.checkedAddrs, m.RpcAddr)
		if n.discovery.Twin(ctx, m.RpcAddr) {
			return fmt.Errorf("node %s already runs at %s: this data folder, %s, is a copy of its data folder; a new node "+
				"needs an empty --data-dir", n.data.nodeID, m.RpcAddr, n.data.path)
		}
	}
	return nil
}

// checkMarks returns an error if one of the nodes is this node with a newer mark.
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

// followMarks gives the data folder a new mark every few minutes. It ends the process when the
// metadata have a mark that this folder does not have.
func (n *membership) followMarks(ctx context.Context) error {
	again := time.NewTicker(markPatience)
	defer again.Stop()
	drawn := time.Now()
	for {
		changed := n.meta.Changed()
		if err := n.checkMarks(n.meta.Nodes()); err != nil {
			n.endAtOnce("another copy of this data folder is in use, or this machine was restored to an earlier state; "+
				"ending at once", err)
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

// listed reports whether the metadata have this node, and whether they have a mark of it.
func (n *membership) listed() (listed, marked bool) {
	nodes := n.meta.Nodes()
	i := slices.IndexFunc(nodes, func(m *metapb.Node) bool { return m.Id == n.data.nodeID })
	return i >= 0, i >= 0 && nodes[i].Mark != nil
}

// newMark creates a new mark, unless the last one may not be registered yet, and registers it.
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

// finishReadmit marks replicas to be rebuilt from replicas on other nodes, after the operator readmitted an older
// data folder: they may lack entries that they acknowledged to other nodes. Replicas without a copy on another node
// continue as they are.
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
		if err := shard.MarkDiverged(dir, "this node's data folder went back in time, and the operator readmitted "+
			"it; this replica must be rebuilt from the others"); err != nil {
			return fmt.Errorf("mark the replica of shard %d to be rebuilt: %w", m.Id, err)
		}
		n.log.Warn("a replica of an older data folder is rebuilt from the others", "shard", m.Id)
	}
	return n.marks.SetReadmit(false)
}
