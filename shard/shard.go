// Package shard implements a shard: a replicated log of column batches, the rows that are applied
// from it, and the files to which they are flushed. DESIGN.md explains it.
//
// A shard never asks the metadata group: table definitions come with writes. It runs no SQL
// (package query does) and does not find the shard of a table (the router does).
//
// Life cycle: Open reads the manifest, checks the segments and starts the replica, which replays
// the log after the manifest's index in the background. WaitReady waits until that is done and this
// replica leads. Write, DropTable and ReadView do the work. Close flushes and stops every
// goroutine.
//
// All methods of Shard may be called concurrently.
package shard

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/proto/metapb"
	"cordwood/proto/schemapb"
	"cordwood/shard/cold/states"
	"cordwood/shard/cold/tier"
	"cordwood/shard/handoff"
	"cordwood/shard/install"
	"cordwood/shard/replica"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

// Shard is an open shard: the member of the raft group, and the components that do its work.
// Package store describes the concurrency of all of them.
//
// Its goroutines: the replica's apply goroutine (applier), its snapshot goroutine (flusher), the
// commit loop (writer), the flush loop (schedule), the compaction loop (compactor), one that moves old
// rows to object storage (mover), and one that watches the disk.
type Shard struct {
	cfg        Config
	segmentDir string
	metrics    *store.Metrics
	replica    *replica.Replica
	operations store.Operations
	installer  *install.Installer
	// ahead is the index up to which the manifest may be ahead of the log.
	ahead uint64

	store *store.Store // the shard's state and files

	// The path of a write before the log and after it, and the background work.
	writes   *writer
	applier  *applier
	clock    *timekeeper
	schedule *schedule
	handoffs *handoff.Copies
	mover    *tier.Mover // nil if there is no object storage

	// changing holds a token during a Change. A Change may wait for other nodes, so a second one is
	// refused.
	changing chan struct{}
	highest  highest

	// opened is closed when Open has checked the files. Nothing is flushed before.
	opened   chan struct{}
	stop     chan struct{}
	watching sync.WaitGroup
	ending   ending
}

// ending closes the shard in the first of several calls; the others wait for the first.
type ending struct {
	begun atomic.Bool
	ended chan struct{} // closed when the first call is done; err is set before
	err   error
}

// Open opens or creates the shard in cfg.Dir and starts it. If that fails, it closes the Transport.
// It returns before the log is replayed; see WaitReady.
//
// If the manifest is damaged, or older than the oldest entry of the log, Open returns an error that
// contains the file's name. A missing or damaged segment is quarantined. Files of an interrupted
// flush are removed; other unknown segment files are moved to lost+found.
func Open(cfg Config) (*Shard, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("shard %d: config: %w", cfg.ID, err)
	}
	cfg = cfg.withDefaults()
	s := newShard(cfg)
	if err := s.open(); err != nil {
		s.metrics.Unregister()
		if c, ok := cfg.Transport.(raft.WithClose); ok {
			err = errors.Join(err, c.Close()) // so that opening can be tried again
		}
		return nil, fmt.Errorf("shard %d: open %s: %w", cfg.ID, cfg.Dir, err)
	}
	return s, nil
}

// newShard creates the components of a shard and connects them. A component calls those below it in
// this list directly, and those above it through functions.
func newShard(cfg Config) *Shard {
	s := &Shard{
		cfg: cfg, segmentDir: filepath.Join(cfg.Dir, store.SegmentDirName), changing: make(chan struct{}, 1),
		opened: make(chan struct{}), stop: make(chan struct{}), ending: ending{ended: make(chan struct{})},
	}
	c := &s.cfg
	s.metrics = store.NewMetrics(&c.Config, c.Registerer)
	s.store = store.New(&c.Config, s.metrics, &s.operations)
	s.schedule = &schedule{
		cfg: c, metrics: s.metrics, operations: &s.operations, tables: s.store.Tables,
		memory: &s.store.Memory, flusher: s.store.Flusher, files: s.store.Files, stop: s.stop,
		wake: make(chan string, 1), requests: make(chan chan error), freezes: make(chan freezeRequest),
	}
	s.clock = &timekeeper{
		cfg:            c,
		metrics:        s.metrics,
		tables:         s.store.Tables,
		life:           s.store.Expiry,
		wakeFlusherFor: s.schedule.wakeFlusherFor,
	}
	s.schedule.clock = s.clock
	s.writes = newWriter(&writer{
		cfg: c, metrics: s.metrics, tables: s.store.Tables, memory: &s.store.Memory, definitions: &s.store.Definitions,
		clock: s.clock, stop: s.stop,
		wakeFlusher: s.schedule.wakeFlusher, wakeFlusherFor: s.schedule.wakeFlusherFor,
	})
	s.schedule.hold = s.writes.hold
	s.applier = &applier{
		cfg: c, metrics: s.metrics, tables: s.store.Tables, files: s.store.Files, flusher: s.store.Flusher,
		decoded: &s.writes.decoded,
		opened:  s.opened, stop: s.stop, wakeFlusher: s.schedule.wakeFlusher, ids: map[rules.BatchID]struct{}{},
	}
	s.handoffs = handoff.New(handoff.Config{
		ShardID: c.ID, Segments: segment.Config{FS: c.FS, Dir: s.segmentDir}, Peers: c.Peers, Rate: c.Fetch,
		Bucket: c.bucket(), Dir: c.Dir, Store: s.store, Operations: &s.operations, Flush: s.schedule.flush,
		Room: func() bool { return c.Space() == store.SpaceOK }, MergedBytes: c.mergedBytes, Logger: c.Logger,
	})
	if s.mover = s.newMover(); s.mover != nil {
		s.metrics.Gauge("cordwood_cold_upload_lag_seconds", "For how long rows have waited that should go to object "+
			"storage, on the leader of the shard; 0 if none wait.", func() float64 { return s.mover.UploadLag().Seconds() })
		s.metrics.Gauge("cordwood_cold_state_lag_seconds", "For how long the state of the shard in object storage has been "+
			"outdated, on the leader of the shard; 0 if it is not.", func() float64 { return s.mover.StateLag().Seconds() })
		s.metrics.Gauge("cordwood_cold_log_lag_seconds", "For how long entries of the log have waited that should go to "+
			"object storage, on the leader of the shard; 0 if none wait.", func() float64 { return s.mover.LogLag().Seconds() })
		s.metrics.Gauge("cordwood_cold_log_gap", "1 if the log in object storage lacks entries whose rows are in no object, "+
			"on the leader of the shard.", func() float64 {
			if s.mover.LogGap() {
				return 1
			}
			return 0
		})
	}
	s.store.Gauges(s.metrics)
	s.metrics.Gauge("cordwood_shard_queue_bytes", "Bytes of writes that wait for the log.",
		func() float64 { return float64(s.writes.queue.size()) })
	return s
}

// newMover returns what moves old rows to object storage, or nil if there is none.
func (s *Shard) newMover() *tier.Mover {
	c := &s.cfg
	if c.Tier == nil {
		return nil
	}
	return tier.New(tier.Config{
		ShardID: c.ID, Incarnation: c.Incarnation, Tier: c.Tier, Dir: c.Dir, FS: c.FS, Store: s.store,
		Operations: &s.operations, Compaction: c.Compaction, SplitBytes: c.SplitBytes,
		Allowed:             func() bool { return c.ClusterVersion() >= metapb.ProtocolCold },
		JoinsAllowed:        func() bool { return c.ClusterVersion() >= metapb.ProtocolJoins },
		IcebergJoinsAllowed: func() bool { return c.ClusterVersion() >= metapb.ProtocolIcebergJoins },
		MergingAllowed:      func() bool { return c.ClusterVersion() >= metapb.ProtocolColdMerging },
		Leads: func() (uint64, <-chan struct{}) {
			changed := s.replica.LeadsChanged()
			return s.replica.LeadsInTerm(), changed
		},
		Barrier:   func(ctx context.Context) error { _, err := s.ReadBarrier(ctx); return err },
		Alone:     s.alone,
		HandOver:  func(ctx context.Context) error { return s.StepDown(ctx) },
		LogBounds: func() (uint64, uint64, error) { return s.replica.LogBounds() },
		Committed: s.committed, LogBytesAfter: func(index uint64) int64 { return s.replica.LogBytesAfter(index) },
		Flush: s.schedule.flush, Propose: s.propose, Room: func() bool { return c.Space() == store.SpaceOK },
		Clock: func() time.Time { return time.Unix(0, s.clock.entryTime()) },
		Now:   c.Now, Monotonic: c.Monotonic, Logger: c.Logger, At: c.atStep,
	})
}

// committed returns committed entries for the log in object storage.
func (s *Shard) committed(from uint64, maxBytes int) ([]states.LogEntry, error) {
	list, err := s.replica.Committed(from, maxBytes)
	entries := make([]states.LogEntry, len(list))
	for i, e := range list {
		entries[i] = states.LogEntry(e)
	}
	return entries, err
}

// alone reports whether this replica is the only voter.
func (s *Shard) alone() bool {
	voters := 0
	for _, m := range s.replica.Stats().Members {
		if m.Voter {
			voters++
		}
	}
	return voters <= 1
}

// propose puts an entry about object storage into the log. refused is why the rules refused it.
func (s *Shard) propose(ctx context.Context, e *rules.Entry) (refused, err error) {
	e.Time = s.clock.entryTime()
	applied, err := s.replica.Propose(ctx, rules.AppendEntry(nil, e))
	if err != nil {
		return nil, err
	}
	refused, _ = applied.Result.(error)
	return refused, nil
}

// join gives the components the replica before any of them may use it.
func (s *Shard) join(r *replica.Replica) {
	s.replica, s.writes.replica, s.clock.replica, s.schedule.replica = r, r, r, r
}

func (s *Shard) open() (err error) {
	if err := s.cfg.checkIncarnation(); err != nil {
		return err
	}
	s.installer = install.New(install.Config{
		ShardID: s.cfg.ID, Incarnation: s.cfg.Incarnation, NodeID: s.cfg.NodeID, Dir: s.cfg.Dir, FS: s.cfg.FS,
		Peers: s.cfg.Peers, Rate: s.cfg.Fetch, IDs: &s.store.Files.IDs, Begin: s.operations.Begin, Logger: s.cfg.Logger,
		Full: func() bool { return s.cfg.Space() == store.SpaceFull }, Objects: s.cfg.Tier != nil,
	})
	s.schedule.installer = s.installer
	s.store.Connect(s.installer, s.writes.notifyFreed)
	if s.cfg.Transport != nil {
		s.store.TakeWith(s.fetchFlushed)
	}
	if _, err = s.store.Open(); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.store.Close())
		}
	}()
	if err := s.metrics.Register(); err != nil {
		return err
	}
	if s.ahead, err = s.installer.Open(s.store.Tables.Base); err != nil {
		return err
	}
	var progress func(context.Context) (replica.Progress, error)
	if s.cfg.Transport != nil {
		progress = s.askProgress
	}
	var keepLog func() uint64
	if s.mover != nil {
		keepLog = s.mover.KeepLog
	}
	member, err := replica.Open(replica.Config{
		Group: fmt.Sprintf("shard-%d", s.cfg.ID), NodeID: s.cfg.NodeID, Dir: filepath.Join(s.cfg.Dir, store.RaftDirName),
		Store: s.cfg.LogStore, FSM: fsm{s}, Bootstrap: s.cfg.Bootstrap, Founders: s.cfg.Founders, Transport: s.cfg.Transport,
		Progress: progress,
		Logger:   s.cfg.Logger, Registerer: s.cfg.Registerer, FailStop: s.cfg.FailStop,
		AppendDeadline: s.cfg.LogDeadline, DiskFull: s.cfg.DiskFull,
		TrailingBytes: s.cfg.TrailingBytes, TrailingLogs: s.cfg.trailing, HeartbeatTimeout: s.cfg.heartbeat,
		CommitTimeout: s.cfg.commit,
		KeepLog:       keepLog,
	})
	if err != nil {
		return err
	}
	s.join(member)
	// The replica guarantees that the log continues the manifest, so files that the manifest does
	// not list are dead. Nothing is flushed before the files are checked.
	err = s.store.Sweep()
	for _, name := range []string{tier.DirName, handoff.DirName} {
		err = errors.Join(err, vfs.RemoveFiles(s.cfg.FS, filepath.Join(s.cfg.Dir, name)))
	}
	if err != nil {
		close(s.stop) // Apply may wait
		return errors.Join(err, s.replica.Close())
	}
	close(s.opened)
	s.writes.committers.Go(s.writes.commitLoop)
	s.watching.Go(s.watchDisk)
	s.schedule.loops.Go(s.schedule.loop)
	s.store.Compactor.Start()
	if s.mover != nil {
		s.mover.Start()
	}
	return nil
}

// ID returns the shard's number.
func (s *Shard) ID() uint32 { return s.cfg.ID }

// NodeID returns the id of the replica's node.
func (s *Shard) NodeID() string { return s.cfg.NodeID }

// WaitReady waits until the log is replayed and this replica leads. From then on ReadView has every
// acknowledged row and Write works. It also returns if the replica follows a leader and has applied
// everything that was committed when it first heard from that leader.
func (s *Shard) WaitReady(ctx context.Context) error {
	if err := s.replica.WaitReady(ctx); err != nil {
		return fmt.Errorf("shard %d: %w", s.cfg.ID, err)
	}
	return nil
}

// Ready reports whether WaitReady would return at once.
func (s *Shard) Ready() bool { return s.replica.Ready() }

// Close refuses new writes, waits for running ones, flushes, and stops every goroutine. If rows
// could not be flushed, the error contains the reason; they are safe in the log. Views stay usable.
// A second call waits for the first, until its ctx ends, and returns the same result.
func (s *Shard) Close(ctx context.Context) error {
	return s.ending.do(ctx, s.cfg.ID, func() error { return s.close(ctx) })
}

// do calls end unless another call has. In that case it waits until that call is done.
func (e *ending) do(ctx context.Context, shard uint32, end func() error) error {
	if e.begun.CompareAndSwap(false, true) {
		e.err = end()
		close(e.ended)
		return e.err
	}
	select {
	case <-e.ended:
		return e.err
	case <-ctx.Done():
		return fmt.Errorf("shard %d: close: it is being closed already: %w", shard, ctx.Err())
	}
}

func (s *Shard) close(ctx context.Context) error {
	s.store.Tables.Close()
	s.store.Flusher.Hurry()
	if s.mover != nil {
		s.mover.Close()
	}
	s.writes.queue.close()
	s.writes.committers.Wait()

	var err error
	if s.store.Memory.Unflushed() && s.replica.Err() == nil {
		if ferr := s.Flush(ctx); ferr != nil {
			err = fmt.Errorf("shard %d: close: the last rows are in the log, not in segments: %w", s.cfg.ID, ferr)
		}
	}
	s.installer.Close()
	s.handoffs.Close()
	close(s.stop)
	s.watching.Wait()
	s.schedule.loops.Wait()
	s.store.Compactor.StopLoop()
	err = errors.Join(err, s.replica.Close())

	err = errors.Join(err, s.store.Close())
	s.metrics.Unregister()
	return err
}

// ReadView returns a View of the given tables. It has all rows that were
// acknowledged before the call, and of every write all rows or none. It is nil if
// the shard is closed.
//
// Close must be called soon: the View holds memory and files.
func (s *Shard) ReadView(tableIDs ...uint64) *store.View { return s.store.Readers.View(tableIDs...) }

// Tail starts to follow a table. Rows applied before are in the View of the tail; rows applied
// later are returned by Next.
//
// The queue of a tail is bounded. If rows arrive faster than Next is called, the tail ends. The
// limit is Config.TailBytes for a tail, and four times that for all tails of the shard. A tail
// never delays a write.
func (s *Shard) Tail(tableID uint64) (*store.Tail, error) { return s.store.Readers.Tail(tableID) }

// Store returns the store of the shard. Callers must only read it.
func (s *Shard) Store() *store.Store { return s.store }

// Replica returns the member of the raft group. Callers must only read it.
func (s *Shard) Replica() *replica.Replica { return s.replica }

// Compact merges segments until there is nothing left to merge.
func (s *Shard) Compact(ctx context.Context) error { return s.store.Compactor.Run(ctx) }

// Flush makes all applied rows durable in segments and cuts the log.
func (s *Shard) Flush(ctx context.Context) error { return s.schedule.flush(ctx) }

// Verify reads the segments of the given tables, or of all tables, completely, and quarantines
// damaged segments. pace, if not nil, is called before each read of n bytes. It may wait, or end
// the work with an error. Verify returns the number of damaged segments.
func (s *Shard) Verify(tables []uint64, pace func(n int) error) (damaged int, err error) {
	return s.store.Scrub.Verify(tables, 0, pace)
}

// Handoffs returns the copies that the shard makes of its tables in other shards.
func (s *Shard) Handoffs() *handoff.Copies { return s.handoffs }

// Write appends batches, all or none of them. When it returns an index, every row is on disk on a
// majority of the replicas and in every later ReadView. Batches that had been appended before are
// skipped, and count as appended.
//
// If need is not empty, nothing was appended, because the shard lacks the definitions of those
// tables. The caller then repeats the write with the definitions in tables.
//
// An error has a Reason (see package errs). With NotLeader, Busy, WrongEpoch, SchemaStale, BadBatch
// and TableGone nothing was appended. With OutcomeUnknown the batches may have been appended, or
// may be later; the caller can send them again unchanged.
//
// Write does not use batches and tables after it has returned.
func (s *Shard) Write(ctx context.Context, batches [][]byte,
	tables []*schemapb.Table,
) (index uint64, need []uint64, err error) {
	return s.writes.write(ctx, batches, tables)
}

// Pin flushes the shard and pins the segments that it then has. They contain all rows that were
// acknowledged before the call, and possibly some later ones.
func (s *Shard) Pin(ctx context.Context) (*store.Pinned, error) {
	if err := s.Flush(ctx); err != nil {
		return nil, err
	}
	return s.store.Readers.Pin()
}

// PinState flushes the shard and pins its durable state: Segments holds the segments of State, and
// Index is the index of State. With leaveOut it has no segments whose rows are in object storage.
func (s *Shard) PinState(ctx context.Context, leaveOut bool) (*store.Pinned, error) {
	if err := s.Flush(ctx); err != nil {
		return nil, err
	}
	return s.store.Ledger.Pin(leaveOut)
}

// ExpireBefore makes rows before times expire that were written before the call. Only the leader can.
func (s *Shard) ExpireBefore(ctx context.Context, cutoffs []rules.Cutoff) error {
	if _, err := s.ReadBarrier(ctx); err != nil {
		return err
	}
	return s.clock.expireBefore(ctx, cutoffs)
}

// MakeRoom frees disk space: it removes the kept files of expired rows, and makes the shard flush
// soon, after which the log can be cut.
func (s *Shard) MakeRoom() {
	s.store.Files.SweepExpired()
	if s.store.Tables.Applied() > s.store.Tables.Flushed.Load() {
		s.schedule.wakeFlusherFor(flushSpace)
	}
}
