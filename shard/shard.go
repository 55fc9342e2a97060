// Package shard is one shard: a replicated log of column batches, the rows that are
// applied from it, and the files that they are flushed to. DESIGN.md explains it.
//
// A shard is told everything: table definitions come with writes, and it never asks
// the metadata group. It runs no SQL (package query does) and does not find the
// shard of a table (the router does).
//
// Life cycle: Open reads the manifest, checks the segments and starts the replica,
// which replays the log behind the manifest's index in the background; WaitReady
// waits until that is done and this replica leads. Write, DropTable and ReadView are
// the work. Close flushes and stops every goroutine.
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

	"cordwood/shard/install"
	"cordwood/shard/manifest"
	"cordwood/shard/memtable"
	"cordwood/shard/replica"
	"cordwood/shard/rules"
)

// The directories of a shard, below Config.Dir.
const (
	segmentDirName = "segments"
	raftDirName    = "raft"
	lostDirName    = "lost+found"
)

// Shard is an open shard: the member of the raft group, and the parts that do its work. The
// concurrency of all of them is described once, at type tables.
//
// Its goroutines: the replica's apply goroutine (applier), its snapshot goroutine (flusher),
// the commit loop (writer), the flush loop (schedule), the compaction loop (compactor), and one
// that watches the disk.
type Shard struct {
	cfg        Config
	segmentDir string
	metrics    *metrics
	replica    *replica.Replica
	operations operations
	installer  *install.Installer
	// ahead is the index up to which the manifest may be ahead of the log.
	ahead uint64

	// What is there, and where it lies.
	tables *tables
	files  *segmentFiles
	ledger *ledger
	scrub  *scrubber

	// Before the log, after it, and in the background.
	writes    *writer
	applier   *applier
	clock     *timekeeper
	schedule  *schedule
	flusher   *flusher
	life      *lifetimes
	compactor *compactor
	handoffs  *handoffs

	// changing holds a token during a Change, which may wait for other nodes: one at a time.
	changing chan struct{}
	highest  highest

	// opened is closed when Open has sorted out the files: nothing is flushed before.
	opened   chan struct{}
	stop     chan struct{}
	watching sync.WaitGroup
	ending   ending
}

// ending has the first of several calls end the shard, and the others wait for it.
type ending struct {
	begun atomic.Bool
	ended chan struct{} // closed when the first call is done; err is set before
	err   error
}

// Open opens or creates the shard in cfg.Dir and starts it; a Transport is closed if that
// fails. It returns before the
// log is replayed; see WaitReady.
//
// A damaged manifest, and one that is older than the log reaches back, are errors that
// name the file. A segment that is missing or not as it was written is set aside.
// Files that an interrupted flush left are removed; segment files that nothing
// explains are moved to lost+found.
func Open(cfg Config) (*Shard, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("shard %d: config: %w", cfg.ID, err)
	}
	cfg = cfg.withDefaults()
	s := newShard(cfg)
	if err := s.open(); err != nil {
		s.metrics.unregister()
		if c, ok := cfg.Transport.(raft.WithClose); ok {
			err = errors.Join(err, c.Close()) // so that it can be tried again
		}
		return nil, fmt.Errorf("shard %d: open %s: %w", cfg.ID, cfg.Dir, err)
	}
	return s, nil
}

// newShard makes the parts of a shard and connects them. Calls go down this list; what is
// above is told by functions.
func newShard(cfg Config) *Shard {
	s := &Shard{
		cfg: cfg, segmentDir: filepath.Join(cfg.Dir, segmentDirName), changing: make(chan struct{}, 1),
		opened: make(chan struct{}), stop: make(chan struct{}), ending: ending{ended: make(chan struct{})},
	}
	c, dir := &s.cfg, s.segmentDir
	s.metrics = newMetrics(c)
	s.tables = newTables(c, s.metrics, dir)
	s.files = &segmentFiles{cfg: c, segmentDir: dir, tables: s.tables}
	s.tables.segs.removeSegment = s.files.removeSegment
	s.ledger = &ledger{cfg: c, segmentDir: dir, metrics: s.metrics, tables: s.tables, files: s.files}
	s.scrub = &scrubber{cfg: c, segmentDir: dir, tables: s.tables}
	s.life = &lifetimes{cfg: c, tables: s.tables}
	s.flusher = &flusher{
		cfg: c, segmentDir: dir, metrics: s.metrics, tables: s.tables, files: s.files, ledger: s.ledger,
		retry: map[uint64]time.Time{},
	}
	s.compactor = newCompactor(&compactor{
		cfg: c, segmentDir: dir, metrics: s.metrics, operations: &s.operations,
		tables: s.tables, files: s.files, ledger: s.ledger, scrub: s.scrub, life: s.life,
	})
	s.schedule = &schedule{
		cfg: c, metrics: s.metrics, operations: &s.operations, tables: s.tables, files: s.files, stop: s.stop,
		wake: make(chan string, 1), requests: make(chan chan error),
	}
	s.clock = &timekeeper{cfg: c, metrics: s.metrics, tables: s.tables, life: s.life, wakeFlusherFor: s.schedule.wakeFlusherFor}
	s.schedule.clock = s.clock
	s.writes = newWriter(&writer{
		cfg: c, metrics: s.metrics, tables: s.tables, clock: s.clock, stop: s.stop,
		wakeFlusher: s.schedule.wakeFlusher, wakeFlusherFor: s.schedule.wakeFlusherFor,
	})
	s.ledger.tellFreed, s.ledger.wakeCompactor = s.writes.tellFreed, s.compactor.wakeCompactor
	s.applier = &applier{
		cfg: c, metrics: s.metrics, tables: s.tables, files: s.files, flusher: s.flusher, decoded: &s.writes.decoded,
		opened: s.opened, stop: s.stop, wakeFlusher: s.schedule.wakeFlusher, ids: map[rules.BatchID]struct{}{},
	}
	s.handoffs = &handoffs{
		cfg: c, segmentDir: dir, operations: &s.operations, tables: s.tables, ledger: s.ledger, scrub: s.scrub,
		flush: s.schedule.flush, wakeCompactor: s.compactor.wakeCompactor,
	}
	s.metrics.observe(s)
	return s
}

// join gives the parts the replica, before any of them may use it.
func (s *Shard) join(r *replica.Replica) {
	s.replica, s.writes.replica, s.clock.replica, s.schedule.replica = r, r, r, r
}

func (s *Shard) open() (err error) {
	if err := s.cfg.checkIncarnation(); err != nil {
		return err
	}
	if err := s.cfg.FS.MkdirAll(s.segmentDir); err != nil {
		return err
	}
	s.flusher.book = openDeathbook(filepath.Join(s.cfg.Dir, FlushingFile), s.cfg.Logger)
	s.compactor.book = openDeathbook(filepath.Join(s.cfg.Dir, CompactingFile), s.cfg.Logger)
	if s.ledger.manifest, err = manifest.Open(s.ledger.manifestConfig()); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.ledger.manifest.Close())
		}
	}()
	st := s.ledger.manifest.State()
	if n := s.ledger.manifest.TornBytes(); n > 0 {
		s.cfg.Logger.Info("left out an edit of the manifest that was not finished", "bytes", n)
	}
	if s.tables.state, err = rules.NewState(s.cfg.ID, st); err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	for i := range st.Segments {
		m := st.Segments[i]
		if err := s.scrub.checkSegment(&m); err != nil {
			return err
		}
		if m.Raw && s.tables.segs.damaged[m.ID] == nil {
			if s.tables.segs.loaded[m.ID], err = s.files.loadRaw(&m); err != nil {
				delete(s.tables.segs.loaded, m.ID)
				return err
			}
		}
	}
	s.tables.show(st, st.Segments)
	s.installer = install.New(install.Config{
		ShardID: s.cfg.ID, Incarnation: s.cfg.Incarnation, NodeID: s.cfg.NodeID, Dir: s.cfg.Dir, FS: s.cfg.FS,
		Peers: s.cfg.Peers, Rate: s.cfg.Fetch, IDs: &s.files.ids, Begin: s.operations.begin, Logger: s.cfg.Logger,
		Full: func() bool { return s.cfg.Space() == SpaceFull },
	})
	s.ledger.installer, s.schedule.installer = s.installer, s.installer
	s.tables.openedAt = s.cfg.Monotonic()
	s.tables.ticked = s.tables.openedAt
	s.files.ids.next = max(st.NextSegmentID, 1)
	s.tables.mem.active = memtable.New(s.cfg.Pool)
	if err := s.metrics.register(); err != nil {
		return err
	}
	s.cfg.Budget.join(1)
	defer func() {
		if err != nil {
			s.cfg.Budget.join(-1)
			s.cfg.Budget.add(-s.tables.mem.bytes)
			s.tables.mem.active.Unref()
			for _, l := range s.tables.segs.live {
				if l.rows != nil {
					l.rows.Unref()
				}
			}
		}
	}()

	if s.ahead, err = s.installer.Open(s.tables.base); err != nil {
		return err
	}
	member, err := replica.Open(replica.Config{
		Group: fmt.Sprintf("shard-%d", s.cfg.ID), NodeID: s.cfg.NodeID, Dir: filepath.Join(s.cfg.Dir, raftDirName),
		Store: s.cfg.LogStore, FSM: fsm{s}, Bootstrap: s.cfg.Bootstrap, Founders: s.cfg.Founders, Transport: s.cfg.Transport, Logger: s.cfg.Logger, Registerer: s.cfg.Registerer, FailStop: s.cfg.FailStop,
		AppendDeadline: s.cfg.LogDeadline, DiskFull: s.cfg.DiskFull,
		TrailingBytes: s.cfg.TrailingBytes, TrailingLogs: s.cfg.trailing, HeartbeatTimeout: s.cfg.heartbeat,
	})
	if err != nil {
		return err
	}
	s.join(member)
	// The replica vouches that the log continues the manifest, so what the manifest
	// does not list is dead. Nothing is flushed before the files are sorted out.
	st = s.ledger.state() // Open may have taken over another one
	if err := s.files.sweep(st); err != nil {
		close(s.stop) // Apply may wait
		return errors.Join(err, s.replica.Close())
	}
	s.ledger.unswept = len(st.Garbage) > 0
	close(s.opened)
	s.writes.committers.Go(s.writes.commitLoop)
	s.watching.Go(s.watchDisk)
	s.schedule.loops.Go(s.schedule.loop)
	s.compactor.start()
	return nil
}

// ID is the shard's number.
func (s *Shard) ID() uint32 { return s.cfg.ID }

// WaitReady waits until the log is replayed and this replica leads, from when on
// ReadView has every acknowledged row and Write works; or until it follows a leader and
// has applied what was committed when that told it first.
func (s *Shard) WaitReady(ctx context.Context) error {
	if err := s.replica.WaitReady(ctx); err != nil {
		return fmt.Errorf("shard %d: %w", s.cfg.ID, err)
	}
	return nil
}

// Ready reports whether WaitReady would return at once.
func (s *Shard) Ready() bool { return s.replica.Ready() }

// Close refuses new writes, lets those under way finish, flushes, and stops every
// goroutine. Rows that could not be flushed are safe in the log; the error says why.
// Views stay usable. A second call waits for the first, as long as its ctx lets it, and
// returns what it returned.
func (s *Shard) Close(ctx context.Context) error {
	return s.ending.do(ctx, s.cfg.ID, func() error { return s.close(ctx) })
}

// do calls end, unless another call has: then it waits until that is done.
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
	s.tables.close()
	s.writes.queue.close()
	s.writes.committers.Wait()

	var err error
	if s.tables.unflushed() && s.replica.Err() == nil {
		if ferr := s.Flush(ctx); ferr != nil {
			err = fmt.Errorf("shard %d: close: the last rows are in the log, not in segments: %w", s.cfg.ID, ferr)
		}
	}
	s.installer.Close()
	s.handoffs.close()
	close(s.stop)
	s.watching.Wait()
	s.schedule.loops.Wait()
	s.compactor.stopLoop()
	err = errors.Join(err, s.replica.Close())

	s.tables.free()
	s.cfg.Budget.join(-1)
	s.metrics.unregister()
	return errors.Join(err, s.ledger.manifest.Close())
}
