package store

import (
	"log/slog"
	"time"

	"cordwood/proto/schema"
	"cordwood/shard/compaction"
	"cordwood/shard/memtable"
	"cordwood/shard/vfs"
)

// The directories of a shard, below Config.Dir.
const (
	SegmentDirName = "segments"
	RaftDirName    = "raft"
	lostDirName    = "lost+found"
)

// Config configures a Store: which data of tables it keeps, where, and for how long.
type Config struct {
	ID uint32
	// Dir holds everything of the shard: MANIFEST, segments/, raft/, lost+found/, cold/. It is created if
	// it is missing.
	Dir string
	// NodeID is the persistent id of this node.
	NodeID string

	// Settings of memory and flushes.

	// FlushBytes is the size of a memtable at which it is flushed. The default value
	// is 64 MiB.
	FlushBytes int64
	// FlushLogBytes is the size of the log at which it is flushed. The default value
	// is 128 MiB.
	FlushLogBytes int64
	// FlushAge is the maximum time that a row stays in a memtable. The default value is 5 min.
	FlushAge time.Duration
	// FlushIdle is the time without new rows after which a memtable of at least an eighth of
	// FlushBytes is flushed. Its rows are then sorted and compressed while the shard is idle, and
	// queries read them faster afterwards. The default value is 5 s.
	FlushIdle time.Duration
	// MemoryLimit is the size of all memtables, including frozen ones, at which writes are refused
	// as Busy. The default value is four times FlushBytes.
	MemoryLimit int64
	// TailBytes is the maximum number of encoded bytes of rows that wait for one reader of a tail.
	// If more wait, the tail ends. The default value is 16 MiB.
	TailBytes int64
	// Pool allocates the memory of memtables. All shards of a process should share it. By default
	// the shard has its own pool.
	Pool *memtable.Pool
	// Budget limits the memtables of several shards together. Nil means no such limit.
	Budget *Budget

	// Settings of segments.

	// ShareBytes is the size in memory below which a table's rows are flushed to segments shared
	// with other tables. The default value is 8 MiB.
	ShareBytes int64
	// SplitBytes is the minimum size at which a compaction gives a table of shared segments its own
	// segment. The default value is 64 MiB.
	SplitBytes int64
	// Compaction limits the compactions of several shards together. By default the shard has its
	// own limit: half a CPU and 64 MiB a second.
	Compaction *compaction.Limiter
	// TTL returns the present ttl of a table. It is called for every table once every FlushAge. By
	// default, the ttl is the table's option.
	TTL func(*schema.Table) schema.TTL

	// Tiered reports whether old rows of a table go to object storage. Nil means that
	// there is no object storage.
	Tiered func(*schema.Table) bool

	// Clocks.

	// Now returns the time of the machine's clock; tests set it. The default value is time.Now.
	Now func() time.Time
	// Monotonic returns the time since some fixed moment, by a clock that cannot be set. The
	// default value is the monotonic clock of the process, or derived from Now if that is set.
	Monotonic func() time.Duration
	// Seen is the last known time of the node's clock from before this process started, or zero;
	// see clock.go.
	Seen time.Time

	// Files and disk space.

	// FS is the file system of the manifest and the segments. The log always uses the real file system. The
	// default value is vfs.OS.
	FS vfs.FS
	// Space returns how much space is free on the disk. It is called for every write. The default
	// value always returns SpaceOK.
	Space func() Space
	// Logger receives messages for operators. The default value discards them.
	Logger *slog.Logger
	// FailStop is called if the replica has failed permanently, or if a sync of the manifest or of
	// a directory has failed. The process should then exit without closing anything.
	FailStop func(error)
	// Crashed is whether the previous process with this data is known to have crashed by itself, and was not killed.
	Crashed bool
	// BeforeWrite, if set, is called before a table is written to a segment. Tests panic in it.
	BeforeWrite func(table uint64)
}
