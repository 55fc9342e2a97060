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

	"cordwood/proto/column"
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

// Shard is an open shard.
//
// Its goroutines: the replica's apply goroutine (state, active memtable), its snapshot
// goroutine (flush), the commit loop (queue), the flush loop and the compaction loop.
// Readers see their work through mu, which is never held across I/O.
type Shard struct {
	cfg        Config
	segmentDir string
	metrics    *metrics
	now        func() time.Time
	replica    *replica.Replica
	// base is the applied index that the manifest had at Open: what is replayed up
	// to it is skipped. The apply goroutine changes it, with mu held.
	base uint64
	// ahead is the index up to which the manifest may be ahead of the log.
	ahead uint64
	// foundDamaged are the segments that were found damaged at Open, by id.
	foundDamaged map[uint64]*damage
	// flushed is the applied index of the manifest.
	flushed atomic.Uint64
	// readers counts what reads the shard: open Views, and open Pinned of backups.
	readers atomic.Int64

	// Used by the apply goroutine alone.
	applyIDs     map[rules.BatchID]struct{}
	applyBatches []*column.Batch
	applyEncoded [][]byte // as they are in the log, beside applyBatches

	ids segmentIDs
	// lost is how many files are in lost+found.
	lost atomic.Int64
	// expiredMu is held while files of expired rows are looked through.
	expiredMu sync.Mutex

	// flushMu is held while frozen memtables are flushed; it is taken before commitMu.
	flushMu sync.Mutex
	// applyWaits is set while Apply waits for memory, and there is none to be had soon.
	applyWaits atomic.Bool
	// opened is closed when Open has sorted out the files: nothing is flushed before.
	opened chan struct{}

	// commitMu guards the manifest. Flush and compaction hold it while they commit; it
	// is taken before mu.
	commitMu       sync.Mutex
	manifest       *manifest.Manifest
	manifestBroken bool
	unsettled      []*unsettled // in the order in which they were begun
	generation     uint64       // how often the state of another replica was taken over
	unswept        bool         // the manifest lists garbage that sweep has removed

	// compactTurn holds a token of the one compaction that runs; it guards resting, which has
	// the segments that could not be compacted.
	compactTurn chan struct{}
	resting     map[uint64]time.Time
	compacting  atomic.Int64 // 1 while a compaction runs
	compactDebt atomic.Int64
	compactWake chan struct{}
	compactor   sync.WaitGroup
	compactStop func() // ends the compaction loop

	// flushing and compactions remember what the process before this one died over, by table
	// and by segment.
	flushing, compactions *deathbook

	// expiry is used by the flush loop alone.
	expiry expiryClock
	// pace bounds the times of the entries that this replica proposes.
	pace pace
	// openedAt is when the shard was opened, by Config.Monotonic.
	openedAt time.Duration

	// changing holds a token during a Change, which may wait for other nodes: one at a time.
	changing chan struct{}

	// mu guards everything below. It is held for moments only, and no other lock is
	// taken under it. The apply goroutine changes state and active under it, and
	// reads them without, because nobody else changes them.
	mu          sync.RWMutex
	state       *rules.State
	ticked      time.Duration // when, by Config.Monotonic, state.clock was set
	active      *memtable.Memtable
	activeBytes int64     // of active, as of the last entry
	activeSince time.Time // first row in active; zero if there is none
	activeLast  time.Time // last row in active
	frozen      []*frozen // oldest first
	// live are the segments that the manifest lists, by id; segments are those that
	// have live rows of a table, by rising order. The lists are replaced, not changed.
	live                      map[uint64]*liveSegment
	segments                  map[uint64][]*liveSegment
	eras                      map[uint64][]manifest.Era // of the manifest
	aside                     aside
	loaded                    map[uint64]loadedRaw // raw segments that newSegment has not made yet
	appliedIndex, appliedTerm uint64
	flushErr                  error         // of the last flush
	flushFailing              time.Duration // since when flushes fail, by Config.Monotonic, if flushErr is set
	closing, closed           bool
	tails                     tails
	ingested                  ingested
	handoffs                  map[uint64]*handoff // by the id of the copy
	// shared is set from before another replica is added.
	shared bool

	operations operations
	installer  *install.Installer
	highest    highest
	handing    sync.WaitGroup

	queue         *queue
	decoded       sync.Map                      // *byte, the first of an entry on its way, to []decoded
	promised      atomic.Int64                  // inflated bytes of the writes that are queued or on their way
	freed         atomic.Pointer[chan struct{}] // closed, and replaced, when a flush made room
	wake          chan string
	flushRequests chan chan error
	stop          chan struct{}
	committers    sync.WaitGroup
	watching      sync.WaitGroup
	flusher       sync.WaitGroup
	ending        atomic.Bool
	ended         chan struct{} // closed when Close is done; closeErr is set before
	closeErr      error
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
	s := &Shard{
		cfg: cfg, segmentDir: filepath.Join(cfg.Dir, segmentDirName), now: cfg.Now, applyIDs: map[rules.BatchID]struct{}{},
		live: map[uint64]*liveSegment{}, segments: map[uint64][]*liveSegment{}, queue: newQueue(cfg.ID, cfg.QueueBytes, cfg.QueueWrites),
		aside: aside{segments: map[uint64][]*liveSegment{}, retry: map[uint64]time.Time{}}, loaded: map[uint64]loadedRaw{},
		resting: map[uint64]time.Time{}, compactTurn: make(chan struct{}, 1), compactWake: make(chan struct{}, 1),
		changing: make(chan struct{}, 1), ended: make(chan struct{}), opened: make(chan struct{}),
		wake: make(chan string, 1), flushRequests: make(chan chan error), stop: make(chan struct{}),
	}
	freed := make(chan struct{})
	s.freed.Store(&freed)
	s.metrics = newMetrics(cfg, s)
	if err := s.open(); err != nil {
		s.metrics.unregister()
		if c, ok := cfg.Transport.(raft.WithClose); ok {
			err = errors.Join(err, c.Close()) // so that it can be tried again
		}
		return nil, fmt.Errorf("shard %d: open %s: %w", cfg.ID, cfg.Dir, err)
	}
	return s, nil
}

func (s *Shard) manifestConfig() manifest.Config {
	return manifest.Config{FS: s.cfg.FS, Dir: s.cfg.Dir, ShardID: s.cfg.ID}
}

func (s *Shard) open() (err error) {
	if err := s.cfg.checkIncarnation(); err != nil {
		return err
	}
	if err := s.cfg.FS.MkdirAll(s.segmentDir); err != nil {
		return err
	}
	s.flushing = openDeathbook(filepath.Join(s.cfg.Dir, FlushingFile), s.cfg.Logger)
	s.compactions = openDeathbook(filepath.Join(s.cfg.Dir, CompactingFile), s.cfg.Logger)
	if s.manifest, err = manifest.Open(s.manifestConfig()); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.manifest.Close())
		}
	}()
	st := s.manifest.State()
	if n := s.manifest.TornBytes(); n > 0 {
		s.cfg.Logger.Info("left out an edit of the manifest that was not finished", "bytes", n)
	}
	if s.state, err = rules.NewState(s.cfg.ID, st); err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	for i := range st.Segments {
		m := st.Segments[i]
		if err := s.checkSegment(&m); err != nil {
			return err
		}
		if m.Raw && s.foundDamaged[m.ID] == nil {
			if s.loaded[m.ID], err = s.loadRaw(&m); err != nil {
				delete(s.loaded, m.ID)
				return err
			}
		}
		s.addLive(m)
	}
	s.learnEras(st.Merging)
	s.installer = install.New(install.Config{
		ShardID: s.cfg.ID, Incarnation: s.cfg.Incarnation, NodeID: s.cfg.NodeID, Dir: s.cfg.Dir, FS: s.cfg.FS,
		Peers: s.cfg.Peers, Rate: s.cfg.Fetch, IDs: &s.ids, Begin: s.operations.begin, Logger: s.cfg.Logger,
		Full: func() bool { return s.cfg.Space() == SpaceFull },
	})
	s.openedAt = s.cfg.Monotonic()
	s.ticked = s.openedAt
	s.ids.next = max(st.NextSegmentID, 1)
	s.base = st.AppliedIndex
	s.flushed.Store(st.AppliedIndex)
	s.appliedIndex, s.appliedTerm = st.AppliedIndex, st.AppliedTerm
	s.active = memtable.New(s.cfg.Pool)
	if err := s.metrics.register(); err != nil {
		return err
	}
	s.cfg.Budget.join(1)
	defer func() {
		if err != nil {
			s.cfg.Budget.join(-1)
			s.cfg.Budget.add(-s.activeBytes)
			s.active.Unref()
			for _, l := range s.live {
				if l.rows != nil {
					l.rows.Unref()
				}
			}
		}
	}()

	if s.ahead, err = s.installer.Open(s.base); err != nil {
		return err
	}
	s.replica, err = replica.Open(replica.Config{
		Group: fmt.Sprintf("shard-%d", s.cfg.ID), NodeID: s.cfg.NodeID, Dir: filepath.Join(s.cfg.Dir, raftDirName),
		Store: s.cfg.LogStore, FSM: fsm{s}, Bootstrap: s.cfg.Bootstrap, Founders: s.cfg.Founders, Transport: s.cfg.Transport, Logger: s.cfg.Logger, Registerer: s.cfg.Registerer, FailStop: s.cfg.FailStop,
		AppendDeadline: s.cfg.LogDeadline, DiskFull: s.cfg.DiskFull,
		TrailingBytes: s.cfg.TrailingBytes, TrailingLogs: s.cfg.trailing, HeartbeatTimeout: s.cfg.heartbeat,
	})
	if err != nil {
		return err
	}
	// The replica vouches that the log continues the manifest, so what the manifest
	// does not list is dead. Nothing is flushed before the files are sorted out.
	s.commitMu.Lock()
	st = s.manifest.State() // Open may have taken over another one
	s.commitMu.Unlock()
	if err := s.sweep(st); err != nil {
		close(s.stop) // Apply may wait
		return errors.Join(err, s.replica.Close())
	}
	close(s.opened)
	s.committers.Add(1)
	go s.commitLoop()
	s.watching.Add(1)
	go s.watchDisk()
	s.flusher.Add(1)
	go s.flushLoop()
	compacting, stopCompacting := context.WithCancel(context.Background())
	s.compactor.Add(1)
	go s.compactLoop(compacting)
	s.compactStop = func() { stopCompacting(); s.compactor.Wait() }
	s.wakeCompactor()
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

// memoryLocked is the memory of all memtables; mu is held.
func (s *Shard) memoryLocked() int64 {
	n := s.activeBytes
	for _, f := range s.frozen {
		n += f.bytes
	}
	return n
}

// rowsLocked is the number of rows of all memtables; mu is held.
func (s *Shard) rowsLocked() int64 {
	n := s.active.Rows()
	for _, f := range s.frozen {
		n += f.mem.Rows()
	}
	return n
}

// Close refuses new writes, lets those under way finish, flushes, and stops every
// goroutine. Rows that could not be flushed are safe in the log; the error says why.
// Views stay usable. A second call waits for the first, as long as its ctx lets it, and
// returns what it returned.
func (s *Shard) Close(ctx context.Context) error {
	return s.end(ctx, func() error { return s.close(ctx) })
}

// end has the first call of several do what ends the shard, and the others wait for it.
func (s *Shard) end(ctx context.Context, do func() error) error {
	if s.ending.CompareAndSwap(false, true) {
		s.closeErr = do()
		close(s.ended)
		return s.closeErr
	}
	select {
	case <-s.ended:
		return s.closeErr
	case <-ctx.Done():
		return fmt.Errorf("shard %d: close: it is being closed already: %w", s.cfg.ID, ctx.Err())
	}
}

func (s *Shard) close(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	s.endTails(0, tailEnds(s.cfg.ID))
	s.mu.Unlock()
	s.queue.close()
	s.committers.Wait()

	var err error
	s.mu.RLock()
	unflushed := s.appliedIndex > s.flushed.Load() || !s.active.Empty()
	s.mu.RUnlock()
	if unflushed && s.replica.Err() == nil {
		if ferr := s.Flush(ctx); ferr != nil {
			err = fmt.Errorf("shard %d: close: the last rows are in the log, not in segments: %w", s.cfg.ID, ferr)
		}
	}
	s.installer.Close()
	s.endHandoffs()
	close(s.stop)
	s.watching.Wait()
	s.flusher.Wait()
	s.compactStop()
	err = errors.Join(err, s.replica.Close())

	s.mu.Lock()
	s.closed = true
	s.cfg.Budget.add(-s.memoryLocked())
	mems := []*memtable.Memtable{s.active}
	for _, f := range s.frozen {
		mems = append(mems, f.mem)
	}
	for _, l := range s.live {
		if l.rows != nil {
			mems = append(mems, l.rows)
		}
	}
	s.mu.Unlock()
	for _, m := range mems {
		m.Unref()
	}
	s.cfg.Budget.join(-1)
	s.metrics.unregister()
	return errors.Join(err, s.manifest.Close())
}
