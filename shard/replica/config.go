package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/hashicorp/raft"
	"github.com/prometheus/client_golang/prometheus"

	"cordwood/shard/replica/raftlog"
	"cordwood/shard/replica/raftlogger"
)

// MaxEntryBytes is the maximum size of an entry in every format of the log.
const MaxEntryBytes = 32 << 20

// stuckAfter is how long one write of the log may take before a leader stops sending heartbeats, so
// that another member takes over.
const stuckAfter = 2 * time.Second

// Config describes the member that Open opens. Group, NodeID, Dir and FSM are required.
type Config struct {
	// Group identifies the raft group in metrics, logs and errors, such as meta or shard-3.
	Group string
	// NodeID is the persistent id of this node; it is both the raft server id and
	// its address, so that a changed network address changes no raft configuration.
	NodeID string
	// Dir holds the log (Dir/log) and the snapshots (Dir/snapshots). It is created if it is
	// missing.
	Dir string
	// Log is the format of the log. The default value is raftlog.WAL.
	Log raftlog.Kind
	// Store, if set, opens the log instead. Tests use it for a log that loses what was not synced.
	Store func() (raftlog.Store, error)
	// FSM is the state machine.
	FSM FSM
	// Bootstrap creates a group in an empty Dir, with Founders as its voters. It has no effect if
	// Dir already holds a group.
	Bootstrap bool
	// Founders are the node ids of a new group's voters, including NodeID. Each of them bootstraps
	// with the same list. The default value is this node alone.
	Founders []string
	// Transport connects to the other members. Its LocalAddr must be NodeID. Replica.Close closes
	// it if it has a method Close. Nil means that there are no other members. If it has a method
	// LostPeers, as in package transport, this method returns the record of lost nodes.
	Transport raft.Transport
	// Progress asks the leader how far the group is. A member that is created in an empty Dir without
	// Bootstrap answers no requests until it has succeeded; see joining. If it is nil, the caller
	// makes sure that no member is removed and added again with an empty Dir.
	Progress func(context.Context) (Progress, error)
	// Logger receives the log records of the replica and of raft; most of raft's lines have level
	// debug. The default value discards.
	Logger *slog.Logger
	// Registerer registers the metrics, labelled with the group. If it is nil, they are not
	// exported.
	Registerer prometheus.Registerer
	// FailStop is called once, in a separate goroutine, when the replica has failed. The process
	// should exit without closing anything.
	FailStop func(error)

	// HeartbeatTimeout and ElectionTimeout are raft's settings. The default value is 200 ms without
	// a transport and 1 s with one.
	HeartbeatTimeout time.Duration
	ElectionTimeout  time.Duration
	// CommitTimeout is how often an idle leader sends followers its commit index. The default value is
	// 1 s.
	CommitTimeout time.Duration
	// EnqueueTimeout is how long a proposal may wait in raft's queue before it is refused as Busy.
	// The default value is 2 s.
	EnqueueTimeout time.Duration
	// DiskFull is called repeatedly while a write to the log waits for disk space. It must not
	// block. The default value does nothing.
	DiskFull func(error)
	// AppendDeadline is how long one append with its fsync may take before the replica counts as
	// failed. Waiting for disk space does not count. The default value is 10 s.
	AppendDeadline time.Duration
	// MaxAppendEntries is the maximum number of entries in one append and in one batch of applies.
	// The default value is 16.
	MaxAppendEntries int
	// SnapshotEvery is the number of entries after which the replica takes a snapshot by itself; it
	// checks every few minutes. With the default value, 0, only Snapshot takes snapshots.
	SnapshotEvery uint64
	// TrailingLogs is the minimum number of entries before a snapshot's index that stay in the log
	// while the group has other members. The default value is 1 without a transport and 256 with
	// one. In a group with only this node, one entry stays.
	TrailingLogs uint64
	// TrailingBytes limits the bytes of the entries before a snapshot's index that stay in the log
	// while the group has other members, unless TrailingLogs requires more. A member that lacks no
	// more than these entries catches up from the log alone. The default value is 256 MiB.
	TrailingBytes int64
	// KeepLog, if set, returns the first entry that somebody still wants to read with Committed, or 0. The entries from
	// there on stay in the log, up to TrailingBytes, also in a group with only this node. It must not block.
	KeepLog func() uint64
	// MaxEntryBytes is the maximum size of an entry that Propose accepts. The default value is the
	// constant MaxEntryBytes, which is also the highest permitted value.
	MaxEntryBytes int
	// SegmentBytes is the size of a segment file of a WAL. The default value is
	// raftlog.DefaultSegmentBytes.
	SegmentBytes int
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.FailStop == nil {
		c.FailStop = func(error) {}
	}
	beat, trail := 200*time.Millisecond, uint64(1)
	if c.Transport != nil {
		beat, trail = time.Second, 256
	}
	c.HeartbeatTimeout = cmp.Or(c.HeartbeatTimeout, beat)
	c.ElectionTimeout = cmp.Or(c.ElectionTimeout, c.HeartbeatTimeout)
	c.CommitTimeout = cmp.Or(c.CommitTimeout, time.Second)
	c.EnqueueTimeout = cmp.Or(c.EnqueueTimeout, 2*time.Second)
	c.AppendDeadline = cmp.Or(c.AppendDeadline, 10*time.Second)
	c.MaxAppendEntries = cmp.Or(c.MaxAppendEntries, 16)
	c.TrailingLogs = cmp.Or(c.TrailingLogs, trail)
	c.TrailingBytes = cmp.Or(c.TrailingBytes, 256<<20)
	if len(c.Founders) == 0 {
		c.Founders = []string{c.NodeID}
	}
	c.MaxEntryBytes = cmp.Or(c.MaxEntryBytes, MaxEntryBytes)
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
	fault(c.Group == "", "Group is empty")
	fault(c.NodeID == "", "NodeID is empty")
	fault(c.Dir == "", "Dir is empty")
	fault(c.FSM == nil, "FSM is nil")
	fault(c.Log != raftlog.WAL && c.Log != raftlog.Bolt, "Log is %d, want WAL or Bolt", c.Log)
	fault(len(c.Founders) > 0 && !slices.Contains(c.Founders, c.NodeID), "Founders are %v, which do not include NodeID "+
		"%s",
		c.Founders, c.NodeID)
	fault(len(c.Founders) > 1 && c.Transport == nil, "Founders are %v, but there is no Transport to reach them",
		c.Founders)
	fault(c.TrailingBytes < 0, "TrailingBytes is %d, want a positive number", c.TrailingBytes)
	fault(c.MaxEntryBytes < 0 || c.MaxEntryBytes > MaxEntryBytes, "MaxEntryBytes is %d, want 1 to %d", c.MaxEntryBytes,
		MaxEntryBytes)
	fault(c.MaxAppendEntries < 0 || c.MaxAppendEntries > 1024, "MaxAppendEntries is %d, want 1 to 1024",
		c.MaxAppendEntries)
	fault(c.Transport != nil && c.NodeID != "" && string(c.Transport.LocalAddr()) != c.NodeID,
		"Transport's local address is not NodeID")
	return errors.Join(faults...)
}

// lostPeers returns the record of lost nodes.
func (c Config) lostPeers() *raftlogger.Peers {
	if t, ok := c.Transport.(interface{ LostPeers() *raftlogger.Peers }); ok {
		return t.LostPeers()
	}
	return raftlogger.NewPeers()
}

func raftConfig(cfg Config) *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(cfg.NodeID)
	c.HeartbeatTimeout = cfg.HeartbeatTimeout
	c.ElectionTimeout = cfg.ElectionTimeout
	c.LeaderLeaseTimeout = cfg.HeartbeatTimeout
	c.CommitTimeout = cfg.CommitTimeout
	c.MaxAppendEntries = cfg.MaxAppendEntries
	c.BatchApplyCh = true
	c.TrailingLogs = cfg.TrailingLogs
	c.NoSnapshotRestoreOnStart = true
	c.NoLegacyTelemetry = true
	c.SnapshotThreshold = math.MaxUint64 // see takeRegularly
	c.SnapshotInterval = 24 * time.Hour
	return c
}
