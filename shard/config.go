package shard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/shard/compaction"
	"cordwood/shard/install"
	"cordwood/shard/memtable"
	"cordwood/shard/replica"
	"cordwood/shard/replica/raftlog"
	"cordwood/shard/vfs"
)

// MaxWriteBytes is the most that the batches and definitions of one Write may have
// together, encoded.
const MaxWriteBytes = replica.MaxEntryBytes - 64<<10

// Config says what Open opens. Dir and NodeID are required.
type Config struct {
	ID uint32
	// Dir holds everything of the shard: MANIFEST, segments/, raft/, lost+found/. It
	// is made if missing.
	Dir string
	// NodeID is the persistent id of this node.
	NodeID string
	// Incarnation tells groups of one shard id apart: it grows when the shard was made
	// anew. The default value is 1.
	Incarnation uint32
	// Bootstrap makes an empty Dir a shard with the replicas that Founders names.
	Bootstrap bool
	// Founders are the node ids of a new shard's replicas, NodeID among them; each of
	// them bootstraps with the same list. The default value is this node alone.
	Founders []string
	// Transport reaches the other replicas. Nil: there are none.
	Transport raft.Transport
	// Peers connects to the shard service of a node, from which a replica that lacks too
	// much fetches the shard's state. It must not block. Required with Transport.
	Peers func(nodeID string) (grpc.ClientConnInterface, error)
	// TrailingBytes is how many bytes of its log a shard with several replicas keeps for
	// those that are behind. The default value is 256 MiB.
	TrailingBytes int64
	// Fetch bounds how fast state is fetched by all shards that share it. The default
	// value is one of the shard's own, 100 MB a second.
	Fetch *install.Rate

	// FlushBytes is the size of a memtable at which it is flushed. The default value
	// is 64 MiB.
	FlushBytes int64
	// FlushLogBytes is the size of the log at which it is flushed. The default value
	// is 128 MiB.
	FlushLogBytes int64
	// FlushAge is how long a row stays in a memtable at most. The default value is 5 min.
	FlushAge time.Duration
	// Now is the clock, which tests set. The default value is time.Now.
	Now func() time.Time
	// Monotonic tells how much time has passed since some moment, and is not set by anybody. The
	// default value is the monotonic clock of the process, or, if Now is set, goes by that.
	Monotonic func() time.Duration
	// FlushIdle is how long no row may have come before a memtable of at least an eighth
	// of FlushBytes is flushed: what is there is sorted and compressed while nothing else
	// is to do, and queries read it faster from then on. The default value is 5 s.
	FlushIdle time.Duration
	// MemoryLimit is the size of all memtables, frozen ones included, from which on
	// writes are refused as Busy. The default value is four times FlushBytes.
	MemoryLimit int64
	// QueueBytes and QueueWrites bound what waits to be put into the log; a write
	// beyond them is refused as Busy. The default values are 64 MiB and 4096.
	QueueBytes  int64
	QueueWrites int
	// GroupBytes is the size up to which waiting writes are joined into one entry of
	// the log. The default value is 1 MiB.
	GroupBytes int

	// TailBytes is how many encoded bytes of rows wait for one reader of a tail; one that
	// is further behind loses its place. The default value is 16 MiB.
	TailBytes int64

	// Pool is where memtables get their memory; it should be shared by all shards of
	// a process. The default value is a pool of the shard's own.
	Pool *memtable.Pool
	// Budget bounds the memtables of several shards together. Nil: no such bound.
	Budget *Budget

	// ShareBytes is the size in memory below which a table's rows share segments with
	// other tables' when they are flushed. The default value is 8 MiB.
	ShareBytes int64
	// SplitBytes is the size from which on a compaction gives a table of shared segments
	// one of its own. The default value is 64 MiB.
	SplitBytes int64
	// Compaction bounds the compactions of several shards together. The default value
	// is one of the shard's own, half a CPU and 64 MiB a second.
	Compaction *compaction.Limiter
	// TTL returns the ttl of a table that is in force now; it is asked for every table
	// once every FlushAge. The default value goes by the option of the table alone.
	TTL func(*schema.Table) schema.TTL
	// Agreed returns the time that the clocks of a majority of the nodes have come to, and vouches
	// that what TTL returns is at most a minute old. An error keeps rows from expiring. It must not
	// block. Nil: there are no other nodes.
	Agreed func(context.Context) (time.Time, error)
	// Seen is what the clock of the node said last before this process, as far as that is
	// known; see clock.go.
	Seen time.Time

	// ClusterVersion is the protocol version that all nodes understand (package metapb). It must not
	// block. The default value returns the newest one.
	ClusterVersion func() uint32

	// FS holds the manifest and the segments; the log is on the real one. The default
	// value is vfs.OS.
	FS vfs.FS
	// LogStore, if set, opens the log; see replica.Config.Store.
	LogStore func() (raftlog.Store, error)
	// Logger takes what an operator should know. The default value discards it.
	Logger *slog.Logger
	// Registerer takes the metrics, labelled with the shard. Nil: none are kept.
	Registerer prometheus.Registerer
	// FailStop is called if the replica failed for good, or a sync of the manifest or
	// of a directory did; the process should exit without closing anything.
	FailStop func(error)
	// LogDeadline is how long one write to the log or the manifest may take before it
	// counts as failed. The default value is 10 s.
	LogDeadline time.Duration
	// heartbeat is raft's heartbeat timeout, and trailing the least number of entries that
	// stay in the log for followers, if they are not the replica's default values.
	heartbeat time.Duration
	trailing  uint64
	// spoil is called for each table that is about to be written to a segment; tests panic in it.
	spoil func(table uint64)
	// roomWait is how long a write waits for room in memory; tests set it.
	roomWait time.Duration
	// Space says how much room there is on the disk. It is asked for every write. The
	// default value always says SpaceOK.
	Space func() Space
	// DiskFull is called when a write to the log finds no room. The default value does
	// nothing.
	DiskFull func(error)
}

func (c Config) withDefaults() Config {
	c.Incarnation = cmp.Or(c.Incarnation, 1)
	c.FlushBytes = cmp.Or(c.FlushBytes, 64<<20)
	c.FlushLogBytes = cmp.Or(c.FlushLogBytes, 128<<20)
	c.FlushAge = cmp.Or(c.FlushAge, 5*time.Minute)
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
	c.QueueBytes = cmp.Or(c.QueueBytes, 64<<20)
	c.QueueWrites = cmp.Or(c.QueueWrites, 4096)
	c.GroupBytes = cmp.Or(c.GroupBytes, 1<<20)
	c.roomWait = cmp.Or(c.roomWait, defaultRoomWait)
	c.TailBytes = cmp.Or(c.TailBytes, 16<<20)
	c.LogDeadline = cmp.Or(c.LogDeadline, 10*time.Second)
	if c.Space == nil {
		c.Space = func() Space { return SpaceOK }
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
	fault(c.Dir == "", "Dir is empty")
	fault(c.NodeID == "", "NodeID is empty")
	fault(c.Transport != nil && c.Peers == nil, "Peers is nil, and there is a Transport")
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
	fault(c.TailBytes < 0, "TailBytes is %d, want a positive number", c.TailBytes)
	d := c.withDefaults()
	fault(c.MemoryLimit < 0 || d.MemoryLimit < d.FlushBytes, "MemoryLimit is %d, want at least FlushBytes, %d", c.MemoryLimit, d.FlushBytes)
	return errors.Join(faults...)
}

// Budget bounds the memtable memory of several shards together: beyond half of it
// the larger memtables are flushed, beyond all of it writes are refused. It may be
// used concurrently.
type Budget struct {
	limit  int64
	used   atomic.Int64
	shards atomic.Int64
}

// NewBudget returns a budget of limit bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Used is what the shards' memtables hold together, in bytes.
func (b *Budget) Used() int64 { return b.used.Load() }

// A nil Budget bounds nothing.

func (b *Budget) join(n int64) {
	if b != nil {
		b.shards.Add(n)
	}
}

func (b *Budget) add(bytes int64) {
	if b != nil {
		b.used.Add(bytes)
	}
}

func (b *Budget) exhausted() bool { return b != nil && b.used.Load() >= b.limit }

// share is the size from which on a memtable should be flushed: no bound while less
// than half of the budget is used, and half of an even share of what is used after
// that, so that the largest memtable is always above it.
func (b *Budget) share() int64 {
	if b == nil {
		return math.MaxInt64
	}
	used := b.used.Load()
	if used < b.limit/2 {
		return math.MaxInt64
	}
	return max(1, used/(2*max(1, b.shards.Load())))
}
