package shard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hashicorp/raft"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"cordwood/proto/metapb"
	"cordwood/proto/turns"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/tier"
	"cordwood/shard/compaction"
	"cordwood/shard/install"
	"cordwood/shard/memtable"
	"cordwood/shard/replica"
	"cordwood/shard/replica/raftlog"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

// MaxWriteBytes is the maximum encoded size of the batches and definitions of one Write.
const MaxWriteBytes = replica.MaxEntryBytes - 64<<10

// Config configures a shard: what it keeps and where, its raft group, and the path of a write into
// it. Dir and NodeID are required.
type Config struct {
	store.Config

	// Settings of the raft group.

	// Incarnation distinguishes the groups of one shard id: it is incremented when the shard is
	// created again. The default value is 1.
	Incarnation uint32
	// Bootstrap creates the shard in an empty Dir, with the replicas listed in Founders.
	Bootstrap bool
	// Founders are the node ids of a new shard's replicas, NodeID among them; each of
	// them bootstraps with the same list. The default value is this node alone.
	Founders []string
	// Transport connects to the other replicas. It is nil if there are none.
	Transport raft.Transport
	// Peers connects to the shard service of a node, from which a replica that is too far behind
	// fetches the shard's state. It must not block. Required with Transport.
	Peers func(nodeID string) (grpc.ClientConnInterface, error)
	// Members lists the nodes on which the metadata place replicas of the shard. It must not block. A
	// new replica in an empty Dir asks them how far the group is. Required with Transport.
	Members func() []string
	// TrailingBytes is how many bytes of its log a shard with several replicas keeps for replicas that
	// are behind. The default value is 256 MiB.
	TrailingBytes int64
	// Fetch limits the rate at which all shards that share it fetch state. By default the shard has
	// its own limit of 100 MB a second.
	Fetch *install.Rate
	// Agreed returns a time that the clocks of a majority of the nodes have reached. If it succeeds,
	// the result of TTL is at most a minute old. If it fails, no rows expire. It must not block. If
	// it is nil, there are no other nodes.
	Agreed func(context.Context) (time.Time, error)
	// ClusterVersion is the protocol version that all nodes understand (package metapb). It must not
	// block. The default value returns the newest one.
	ClusterVersion func() uint32

	// Settings of the log.

	// LogStore, if set, opens the log; see replica.Config.Store.
	LogStore func() (raftlog.Store, error)
	// LogDeadline is how long one write to the log or the manifest may take before it
	// counts as failed. The default value is 10 s.
	LogDeadline time.Duration
	// DiskFull is called when a write to the log fails because the disk is full. The default does
	// nothing.
	DiskFull func(error)
	// heartbeat is raft's heartbeat timeout. trailing is the minimum number of entries that stay in
	// the log for followers. Zero values mean the replica's defaults.
	heartbeat time.Duration
	// commit is replica.Config.CommitTimeout; tests set it.
	commit   time.Duration
	trailing uint64
	// mergedBytes is handoff.Config.MergedBytes; tests set it.
	mergedBytes int64

	// TakeBytes is the minimum size, in memory, of a flush whose segments followers take from the leader. The default
	// value is 1 MiB. Writing fewer rows takes less time than fetching them.
	TakeBytes int64

	// Settings of the queue of writes before the log.

	// QueueBytes and QueueWrites limit the queue of writes that wait for the log; further writes
	// are refused as Busy. The default values are 64 MiB and 4096.
	QueueBytes  int64
	QueueWrites int
	// GroupBytes is the size up to which waiting writes are combined into one entry of the log. The
	// default value is 1 MiB.
	GroupBytes int
	// Places limits the writes that are decoded at a time, and divides them among databases. By default
	// the shard has its own; a node has one for all its work.
	Places *turns.Places
	// roomWait is how long a write waits for free memory, or for a place; tests set it.
	roomWait time.Duration

	// Tier is the object storage for old rows. If it is nil, all rows stay on the local disk.
	Tier *tier.Tier
	// holdLimit is how long a leader that flushes waits for the entries in flight, and then for its followers to freeze
	// their memtables. No write is proposed in this time. The default is 200 ms; tests set it.
	holdLimit time.Duration
	// atStep, if set, is called before each step of moving rows; tests set it.
	atStep func(step string)

	// Registerer registers the metrics, which are labelled with the shard. If it is nil, there are
	// no metrics.
	Registerer prometheus.Registerer
}

// bucket returns the object storage, or nil if there is none.
func (c *Config) bucket() bucket.Bucket {
	if c.Tier == nil {
		return nil
	}
	return c.Tier.Bucket
}

func (c Config) withDefaults() Config {
	c.Incarnation = cmp.Or(c.Incarnation, 1)
	c.FlushBytes = cmp.Or(c.FlushBytes, 64<<20)
	c.FlushLogBytes = cmp.Or(c.FlushLogBytes, 128<<20)
	c.FlushAge = cmp.Or(c.FlushAge, 5*time.Minute)
	c.holdLimit = cmp.Or(c.holdLimit, 200*time.Millisecond)
	if c.Monotonic == nil && c.Now != nil {
		now, first := c.Now, c.Now()
		c.Monotonic = func() time.Duration { return now().Sub(first) }
	}
	if c.Monotonic == nil {
		first := time.Now()
		c.Monotonic = func() time.Duration { return time.Since(first) }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.FlushIdle = cmp.Or(c.FlushIdle, 5*time.Second)
	c.ShareBytes = cmp.Or(c.ShareBytes, 8<<20)
	c.SplitBytes = cmp.Or(c.SplitBytes, 64<<20)
	c.MemoryLimit = cmp.Or(c.MemoryLimit, 4*c.FlushBytes)
	c.TakeBytes = cmp.Or(c.TakeBytes, 1<<20)
	c.QueueBytes = cmp.Or(c.QueueBytes, 64<<20)
	c.QueueWrites = cmp.Or(c.QueueWrites, 4096)
	c.GroupBytes = cmp.Or(c.GroupBytes, 1<<20)
	c.roomWait = cmp.Or(c.roomWait, defaultRoomWait)
	c.TailBytes = cmp.Or(c.TailBytes, 16<<20)
	c.LogDeadline = cmp.Or(c.LogDeadline, 10*time.Second)
	if c.Places == nil {
		c.Places = turns.NewPlaces()
	}
	if c.Tier = c.Tier.WithDefaults(); c.Tier != nil {
		c.Tiered = c.Tier.Moves
	}
	if c.Space == nil {
		c.Space = func() store.Space { return store.SpaceOK }
	}
	if c.ClusterVersion == nil {
		c.ClusterVersion = func() uint32 { return metapb.MaxProtocol }
	}
	if c.Pool == nil {
		c.Pool = &memtable.Pool{}
	}
	if c.Compaction == nil {
		c.Compaction = compaction.NewLimiter(0.5, 64<<20)
	}
	if c.Fetch == nil {
		c.Fetch = install.NewRate(100e6)
	}
	if c.FS == nil {
		c.FS = vfs.OS
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Logger = c.Logger.With("shard", c.ID)
	c.FS = c.guarded(c.FS)
	return c
}

// Validate reports everything that is wrong with c.
func (c Config) Validate() error {
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	fault(c.Dir == "", "Dir is empty; set the folder of the shard")
	fault(c.NodeID == "", "NodeID is empty; set the id of this node")
	fault(c.Transport != nil && c.Peers == nil, "Peers is nil, but Transport is set; set both or neither")
	fault(c.Transport != nil && c.Members == nil, "Members is nil, but Transport is set; set both or neither")
	fault(c.FlushBytes < 0, "FlushBytes is %d, want a positive number", c.FlushBytes)
	fault(c.FlushLogBytes < 0, "FlushLogBytes is %d, want a positive number", c.FlushLogBytes)
	fault(c.FlushAge < 0, "FlushAge is %s, want a positive duration", c.FlushAge)
	fault(c.FlushIdle < 0, "FlushIdle is %s, want a positive duration", c.FlushIdle)
	fault(c.ShareBytes < 0, "ShareBytes is %d, want a positive number", c.ShareBytes)
	fault(c.SplitBytes < 0, "SplitBytes is %d, want a positive number", c.SplitBytes)
	fault(c.QueueBytes < 0, "QueueBytes is %d, want a positive number", c.QueueBytes)
	fault(c.TrailingBytes < 0, "TrailingBytes is %d, want a positive number", c.TrailingBytes)
	fault(c.QueueWrites < 0, "QueueWrites is %d, want a positive number", c.QueueWrites)
	fault(c.GroupBytes < 0 || c.GroupBytes > MaxWriteBytes, "GroupBytes is %d, want 1 to %d", c.GroupBytes, MaxWriteBytes)
	if err := c.Tier.Validate(); err != nil {
		faults = append(faults, err)
	}
	fault(c.TailBytes < 0, "TailBytes is %d, want a positive number", c.TailBytes)
	d := c.withDefaults()
	fault(c.MemoryLimit < 0 || d.MemoryLimit < d.FlushBytes, "MemoryLimit is %d, want at least FlushBytes, %d",
		c.MemoryLimit, d.FlushBytes)
	return errors.Join(faults...)
}

// A nil Budget sets no limit.
