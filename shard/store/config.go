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

// Config says what is kept of tables, where, and for how long.
type Config struct {
	ID uint32
	// Dir holds everything of the shard: MANIFEST, segments/, raft/, lost+found/. It
	// is made if missing.
	Dir string
	// NodeID is the persistent id of this node.
	NodeID string

	// Memory, and when it is flushed.

	// FlushBytes is the size of a memtable at which it is flushed. The default value
	// is 64 MiB.
	FlushBytes int64
	// FlushLogBytes is the size of the log at which it is flushed. The default value
	// is 128 MiB.
	FlushLogBytes int64
	// FlushAge is how long a row stays in a memtable at most. The default value is 5 min.
	FlushAge time.Duration
	// FlushIdle is how long no row may have come before a memtable of at least an eighth
	// of FlushBytes is flushed: what is there is sorted and compressed while nothing else
	// is to do, and queries read it faster from then on. The default value is 5 s.
	FlushIdle time.Duration
	// MemoryLimit is the size of all memtables, frozen ones included, from which on
	// writes are refused as Busy. The default value is four times FlushBytes.
	MemoryLimit int64
	// TailBytes is how many encoded bytes of rows wait for one reader of a tail; one that
	// is further behind loses its place. The default value is 16 MiB.
	TailBytes int64
	// Pool is where memtables get their memory; it should be shared by all shards of
	// a process. The default value is a pool of the shard's own.
	Pool *memtable.Pool
	// Budget bounds the memtables of several shards together. Nil: no such bound.
	Budget *Budget

	// Segments.

	// ShareBytes is the size in memory below which a table's rows share segments with
	// other tables' when they are flushed. The default value is 8 MiB.
	ShareBytes int64
	// SplitBytes is the smallest size at which a compaction gives a table of shared segments
	// one of its own. The default value is 64 MiB.
	SplitBytes int64
	// Compaction bounds the compactions of several shards together. The default value
	// is one of the shard's own, half a CPU and 64 MiB a second.
	Compaction *compaction.Limiter
	// TTL returns the ttl of a table that is in force now; it is asked for every table
	// once every FlushAge. By default only the table's option counts.
	TTL func(*schema.Table) schema.TTL

	// Time.

	// Now is the clock, which tests set. The default value is time.Now.
	Now func() time.Time
	// Monotonic reports how much time has passed since some moment, and is not set by anybody. The
	// default value is the monotonic clock of the process, or derived from Now if that is set.
	Monotonic func() time.Duration
	// Seen is what the clock of the node said last before this process, as far as that is
	// known; see clock.go.
	Seen time.Time

	// The machine.

	// FS holds the manifest and the segments; the log is on the real one. The default
	// value is vfs.OS.
	FS vfs.FS
	// Space says how much room there is on the disk. It is asked for every write. The
	// default value always says SpaceOK.
	Space func() Space
	// Logger takes what an operator should know. The default value discards it.
	Logger *slog.Logger
	// FailStop is called if the replica has failed permanently, or a sync of the manifest or of a
	// directory has failed; the process should exit without closing anything.
	FailStop func(error)
	// BeforeWrite, if set, is called for each table that is about to be written to a segment; tests
	// panic in it.
	BeforeWrite func(table uint64)
}
