// Package recovery makes the replica of a shard, or the member of the metadata group, in one data folder continue
// alone after most of the others were lost. It works on folders of stopped servers.
//
// It cannot know which rows the lost members had: it prints what it finds, and changes nothing unless the caller
// accepts the loss of data.
package recovery

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cordwood/meta"
	"cordwood/node"
	"cordwood/node/marks"
	"cordwood/node/registry"
	"cordwood/shard"
	"cordwood/shard/replica"
	"cordwood/shard/replica/raftlog"
)

// Config selects what to recover. DataDir and Group are required.
type Config struct {
	DataDir string
	// Group is the group to recover: "meta", or "shard/" and the number of a shard. "all" means every group that the
	// folder has a member of. "node" is for a data folder that the cluster refuses because it is older than the
	// cluster's record of it.
	Group string
	// Compare lists the available data folders of other members.
	Compare []string
	// Accept makes Run change the folder. Otherwise it only prints what it would do.
	Accept bool
	// Retire, for the metadata group, retires the member in DataDir instead of recovering it.
	Retire bool
	// OthersGone, for all groups, continues even if a process answers at the address of another member.
	OthersGone bool
	// Answers reports whether a process listens at the address of a node. The default function tries to connect.
	Answers func(addr string) bool
}

// ErrNotAccepted is returned when something could be done but Config.Accept is not set.
var ErrNotAccepted = errors.New("nothing was changed: give --accept-data-loss to do it")

// copyOf is the copy of the group in a folder.
type copyOf struct {
	folder, node string
	replica.Copy
	incarnation uint32
	unfinished  bool              // the last addresses of nodes that the folder has
	addrs       map[string]string // of nodes, the last ones that the folder has
}

// nodes returns nodes for display: their ids with their last addresses.
func (c *copyOf) nodes(ids []string) string {
	if len(ids) == 0 {
		return "none"
	}
	var out []string
	for _, id := range ids {
		switch addr := c.addrs[id]; {
		case id == c.node:
			out = append(out, "this one")
		case addr != "":
			out = append(out, fmt.Sprintf("%s (last at %s)", id, addr))
		default:
			out = append(out, id)
		}
	}
	return strings.Join(out, ", ")
}

func (c *copyOf) String() string {
	s := fmt.Sprintf("%s (node %s): entries up to %d, the last one of term %d; voters: %s; learners: %s", c.folder,
		c.node, c.LastIndex, c.LastTerm, c.nodes(c.Voters), c.nodes(c.Learners))
	if c.incarnation > 0 {
		s += fmt.Sprintf("; incarnation %d", c.incarnation)
	}
	return s
}

// newer reports whether c may have entries that d lacks.
func (c *copyOf) newer(d *copyOf) bool {
	if c.incarnation != d.incarnation {
		return c.incarnation > d.incarnation
	}
	return c.LastTerm > d.LastTerm || c.LastTerm == d.LastTerm && c.LastIndex > d.LastIndex
}

// Run prints to w what the folder contains and what would be lost. If Accept is set, it then recovers the group.
func Run(cfg Config, w io.Writer) error {
	id, isShard, err := parseGroup(cfg.Group)
	if err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	if err := cfg.checkFlags(); err != nil {
		return err
	}
	data, err := node.OpenOffline(cfg.DataDir)
	if err != nil {
		return err
	}
	defer func() { _ = data.Close() }() // this only unlocks the folder
	p := &printer{w: w}
	switch cfg.Group {
	case groupNode:
		return readmit(cfg, data, p)
	case groupAll:
		return recoverAll(cfg, data, p)
	}
	mine, err := look(data, id, isShard)
	if err != nil {
		return err
	}
	p.line("group %s of cluster %s", cfg.Group, data.ClusterID)
	p.line("  %s", mine)
	if cfg.Retire {
		return retire(cfg, data, isShard, p)
	}
	best := true
	for _, dir := range cfg.Compare {
		newer, err := compare(p, dir, data, mine, id, isShard)
		if err != nil {
			return err
		}
		best = best && !newer
	}
	warn(p, cfg, mine, best)
	if p.err != nil {
		return p.err
	}
	if !cfg.Accept {
		return ErrNotAccepted
	}
	if isShard {
		return recoverOneShard(data, id, mine, p)
	}
	return recoverOnlyMeta(data, p)
}

// checkFlags returns an error for flags that the group does not support.
func (cfg *Config) checkFlags() error {
	switch {
	case cfg.Group == groupNode && (cfg.Retire || len(cfg.Compare) > 0):
		return errors.New("recover: --retire and --compare are not for --group node")
	case cfg.Group == groupAll && cfg.Retire:
		return errors.New("recover: --retire is for --group meta; --group all retires the member by itself if " +
			"a folder of --compare has the recovered metadata")
	case cfg.Group != groupAll && cfg.OthersGone:
		return errors.New("recover: --others-are-gone is for --group all, the only group that looks for running members")
	}
	return nil
}

// recoverOneShard recovers a shard, and prints the next steps.
func recoverOneShard(data *node.Offline, id uint32, mine *copyOf, p *printer) error {
	if err := recoverShard(data, id, p); err != nil {
		return err
	}
	p.line("Start the node: it reports to the metadata, and the cluster creates the missing replicas. Nodes rename the "+
		"folders "+
		"of replicas of incarnation %d when they return.", mine.incarnation)
	return p.err
}

// recoverOnlyMeta recovers the metadata alone, and prints the next steps.
func recoverOnlyMeta(data *node.Offline, p *printer) error {
	if err := recoverMeta(data, p); err != nil {
		return err
	}
	p.line("Before any other node that was a member is started again, run on it:")
	p.line("  cordwood recover --group meta --retire --accept-data-loss --data-dir FOLDER")
	p.line("Otherwise those members could continue as a separate metadata group. Then start this node first.")
	p.line("Members whose folders are lost stay listed as down. A node that is started with an empty folder at the " +
		"address, and with the name, of a former node replaces it: the cluster removes the former node a minute later. " +
		"Remove other nodes with 'cordwood node remove NODE'.")
	return p.err
}

// recoverShard makes the replica in a folder the only one of its shard.
func recoverShard(data *node.Offline, id uint32, p *printer) error {
	r, err := shard.Recover(shardDir(data, id), id, data.NodeID)
	if err != nil {
		return err
	}
	p.line("done: node %s has the only replica of shard %d, incarnation %d instead of %d.", data.NodeID, id,
		r.Incarnation, r.Before)
	return p.err
}

// recoverMeta makes the member in a folder the only one of the metadata group.
func recoverMeta(data *node.Offline, p *printer) error {
	raised, err := meta.Recover(metaDir(data), data.NodeID, time.Now())
	if err != nil {
		return err
	}
	p.line("done: node %s is the only member of the metadata group.", data.NodeID)
	if !raised {
		p.line("NOTE: the cluster uses a protocol version in which new ids may equal ids that the lost " +
			"members assigned. Tables that are created now may get ids of tables that this copy does not have: raise the " +
			"version soon, by running new programs everywhere.")
	}
	return p.err
}

func metaDir(data *node.Offline) string { return filepath.Join(data.Path, "meta") }

func shardDir(data *node.Offline, id uint32) string {
	return filepath.Join(data.Path, "shards", strconv.FormatUint(uint64(id), 10))
}

// CheckGroup returns an error unless a Config.Group is valid.
func CheckGroup(group string) error {
	_, _, err := parseGroup(group)
	return err
}

func parseGroup(group string) (id uint32, isShard bool, err error) {
	if group == groupMeta || group == groupNode || group == groupAll {
		return 0, false, nil
	}
	number, ok := strings.CutPrefix(group, "shard/")
	n, perr := strconv.ParseUint(number, 10, 32)
	if !ok || perr != nil {
		return 0, false, fmt.Errorf("%q is not a group: want all, meta, shard/ and a number as in shard/7, or node", group)
	}
	return uint32(n), true, nil
}

// look reads the copy of the group in a folder.
func look(data *node.Offline, id uint32, isShard bool) (*copyOf, error) {
	c := &copyOf{folder: data.Path, node: data.NodeID, addrs: registry.Kept(filepath.Join(data.Path, "PEERS"))}
	if !isShard {
		var err error
		c.Copy, err = replica.Peek(metaDir(data), raftlog.Bolt)
		return c, err
	}
	r, err := shard.PeekCopy(shardDir(data, id), id)
	c.Copy, c.incarnation, c.unfinished = r.Copy, r.Before, r.Unfinished
	c.LastIndex = max(c.LastIndex, r.StateIndex)
	return c, err
}

// compare describes the copy in another folder, and reports whether it may have more entries.
func compare(
	p *printer, dir string, data *node.Offline, mine *copyOf, id uint32, isShard bool,
) (newer bool, err error) {
	other, err := node.OpenOffline(dir)
	if err != nil {
		return false, err
	}
	defer func() { _ = other.Close() }()
	if other.ClusterID != data.ClusterID {
		return false, fmt.Errorf("data folder %s belongs to cluster %s, not to cluster %s", dir, other.ClusterID,
			data.ClusterID)
	}
	c, err := look(other, id, isShard)
	if err != nil {
		p.line("  %s (node %s): it cannot be read: %v", dir, other.NodeID, err)
		return false, nil
	}
	p.line("  %s", c)
	return c.newer(mine), nil
}

// warn prints what is lost.
func warn(p *printer, cfg Config, mine *copyOf, best bool) {
	var others []string
	for _, v := range mine.Voters {
		if v != mine.node {
			others = append(others, v)
		}
	}
	if len(others) == 0 && slices.Contains(mine.Voters, mine.node) {
		p.line("NOTE: node %s is the only voter already: it needs no other node, start it instead.", mine.node)
	}
	p.line("WARNING: the group continues with this copy alone. Rows that were acknowledged and are only on other "+
		"voters are "+
		"lost: %s. Entries of this log that were never acknowledged take effect.", mine.nodes(others))
	if !best {
		p.line("WARNING: another given folder has more entries than this one: recover that folder instead.")
	}
	if len(cfg.Compare) < len(others) {
		p.line("NOTE: %d of %d other voters were compared; use --compare FOLDER to compare more.", len(cfg.Compare),
			len(others))
	}
	p.line("Try to start enough of the other nodes first: with a majority of the voters nothing is lost.")
}

// These are the values of Config.Group other than shards: the metadata group, every group that the folder has a
// member of, and the folder itself.
const (
	groupMeta = "meta"
	groupAll  = "all"
	groupNode = "node"
)

// readmit readmits a data folder that is older than the cluster's record of it.
func readmit(cfg Config, data *node.Offline, p *printer) error {
	f, err := marks.Open(data.Path)
	if err != nil {
		return err
	}
	p.line("data folder %s of node %s, cluster %s", data.Path, data.NodeID, data.ClusterID)
	p.line("WARNING: the node continues with this folder, although the cluster may have a newer one on record: " +
		"start that folder " +
		"one " +
		"instead if it still exists. Of shards that have no other replica, everything newer than this folder is lost. " +
		"Replicas that also exist on other nodes are rebuilt from those; for them, an empty folder is as good.")
	if data.Meta {
		p.line("NOTE: the node is a member of the metadata group. Start it only while the other members are up: " +
			"until it has caught up with them, its vote could elect a leader that lacks commands.")
	}
	if p.err != nil {
		return p.err
	}
	if !cfg.Accept {
		return ErrNotAccepted
	}
	if err := f.SetReadmit(true); err != nil {
		return err
	}
	p.line("done: start the node. The folder of a removed node is still refused.")
	return p.err
}

// retire retires a member of the metadata group.
func retire(cfg Config, data *node.Offline, isShard bool, p *printer) error {
	if isShard {
		return errors.New("--retire is for the metadata group: the server itself renames the folders of replicas " +
			"of a recovered shard")
	}
	p.line("WARNING: this node's member of the metadata group is retired; the node starts without it, and the " +
		"recovered group may make it a member again.")
	if !cfg.Accept {
		return errors.Join(p.err, ErrNotAccepted)
	}
	return retireMember(data, p)
}

// retireMember retires the member of the metadata group in a folder.
func retireMember(data *node.Offline, p *printer) error {
	aside, err := data.RetireMeta(time.Now())
	if err != nil {
		return fmt.Errorf("retire the member of the metadata group in %s: %w", data.Path, err)
	}
	p.line("done: the folder of the member of the metadata group is now %s.", aside)
	return p.err
}

// printer writes lines and keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}
