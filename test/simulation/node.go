package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"cordwood/shard"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

const clusterID = "simulation"

// The ports of a node.
const (
	raftPort = "raft"
	grpcPort = "grpc"
)

// cluster is the common configuration of all nodes.
type cluster struct {
	net      *Network
	log      *slog.Logger
	mutant   Mutant
	founders []string // of the metadata group
	shards   int      // of a new cluster
	archives *archives
	objects  *objects // nil without object storage
	// failed is called when a process ends itself.
	failed func(*Node, error)
	// parts is the number of parts of queries that nodes ran.
	parts atomic.Int64

	mu       sync.Mutex
	metas    []string // nodes with the role meta
	flushers []*store.Flusher
}

// opened records a replica.
func (c *cluster) opened(s *shard.Shard) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flushers = append(c.flushers, s.Store().Flusher)
}

// flushAge is the age at which rows are written to segments. Only those that are may go to object storage.
func (c *cluster) flushAge() time.Duration {
	if c.objects != nil {
		return 5 * time.Second
	}
	return 20 * time.Second
}

// taken returns the number of segments that followers took from their leaders.
func (c *cluster) taken() (n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.flushers {
		n += f.Taken.Load()
	}
	return n
}

// metaNodes lists the nodes with the role meta.
func (c *cluster) metaNodes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.metas)
}

// Node is a node with its disk, which exists longer than its processes.
type Node struct {
	ID   string
	disk *vfs.Mem
	// dir is for files on a real disk: raft's snapshots, and the state of the metadata.
	dir     string
	cluster *cluster
	log     *slog.Logger
	made    time.Time
	// damaged means that bits of the disk were flipped.
	damaged atomic.Bool
	// wrong is the error of the node's clock.
	wrong atomic.Int64
	// shards and metas are the faults of the disks with the shards and with the metadata.
	shards, metas trouble
	// calls and loops are shut while the node is suspended. calls holds calls from others, and loops holds raft.
	calls, loops gate

	mu       sync.Mutex
	logs     map[string]*Log // by group
	created  map[uint32]bool // the shards that the node has created; a real node keeps them in the file IDENTITY
	hasMeta  bool            // for the metadata group, like created
	starting bool
	life     *process // nil while it is down
	last     *process // the newest process, which may still be ending
}

func newNode(id, dir string, c *cluster) *Node {
	n := &Node{
		ID: id, disk: vfs.NewMem(), dir: filepath.Join(dir, id), cluster: c, made: time.Now(),
		logs: map[string]*Log{}, created: map[uint32]bool{},
	}
	n.log = slog.New(holding{c.log.With("node", id).Handler(), &n.loops})
	return n
}

// now returns the time of the node's clock, which may be wrong. elapsed returns the time that has passed.
func (n *Node) now() time.Time         { return time.Now().Add(time.Duration(n.wrong.Load())).Round(0) }
func (n *Node) elapsed() time.Duration { return time.Since(n.made) }

// Up reports whether a process runs.
func (n *Node) Up() bool { return n.process() != nil }

func (n *Node) process() *process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.life
}

// shard returns the open shard of a group, or nil.
func (n *Node) shard(id uint32) *shard.Shard {
	p := n.process()
	if p == nil || p.host == nil {
		return nil
	}
	s, _ := p.host.Shard(id)
	return s
}

// store returns the disk of a group's log.
func (n *Node) store(group string) *Log {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.logs[group]
	if l == nil {
		l = n.newLog(group)
		n.logs[group] = l
	}
	return l
}

// newLog returns an empty log for a group.
func (n *Node) newLog(group string) *Log {
	l := NewLog()
	l.archive, l.trouble = n.cluster.archives.of(group), &n.shards
	if group == "meta" {
		l.trouble = &n.metas
	}
	l.losesWrites = n.cluster.mutant == FullLies
	if n.cluster.mutant == SkipSync && group != "meta" || n.cluster.mutant == SkipMetaSync && group == "meta" {
		l.Lazy = 3
	}
	return l
}

func (n *Node) shardDir() string { return filepath.Join(n.dir, "shards") }

// removeReplica removes the record of a replica that was removed.
func (n *Node) removeReplica(id uint32) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.created, id)
	delete(n.logs, groupName(id, 1))
	n.disk.RemoveAll(filepath.Join(n.shardDir(), fmt.Sprint(id)))
	return nil
}

// groupName returns the name of a shard's raft group.
func groupName(id, incarnation uint32) string { return fmt.Sprintf("shard/%d/%d", id, incarnation) }

// Start starts a process, unless one runs or is being started.
func (n *Node) Start() error {
	n.mu.Lock()
	if n.life != nil || n.starting {
		n.mu.Unlock()
		return nil
	}
	n.starting = true
	last := n.last
	n.mu.Unlock()
	if last != nil {
		<-last.over
	}
	p, err := newProcess(n)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.starting = false
	if err != nil {
		return fmt.Errorf("node %s: %w", n.ID, err)
	}
	n.life, n.last = p, p
	p.serve()
	return nil
}

// take removes and returns the running process, or nil. A suspended process continues, so that it can end.
func (n *Node) take() *process {
	n.resume()
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.life
	n.life = nil
	return p
}

// Crash simulates a power loss: data that was not synced is lost.
func (n *Node) Crash() {
	p := n.take()
	if p == nil {
		return
	}
	p.dead.Store(true)
	n.cluster.net.Down(n.ID)
	n.disk.Crash(0)
	n.mu.Lock()
	for _, l := range n.logs {
		l.Crash()
	}
	n.mu.Unlock()
	p.end()
	if n.cluster.mutant == LoseLog {
		n.wipe()
	}
}

// wipe empties the disk of a node that is down, except its id.
func (n *Node) wipe() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.logs, n.created, n.hasMeta = map[string]*Log{}, map[uint32]bool{}, false
	n.disk.RemoveAll(n.dir)
	_ = os.RemoveAll(n.dir) // remaining files would be found
}

// Stop ends the process as an operator does.
func (n *Node) Stop(ctx context.Context) error {
	p := n.take()
	if p == nil {
		return nil
	}
	err := p.stop(ctx)
	n.cluster.net.Down(n.ID)
	p.end()
	return err
}
