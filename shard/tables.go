package shard

import (
	"sync"
	"sync/atomic"
	"time"

	"cordwood/shard/manifest"
	"cordwood/shard/memtable"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
)

// tables is what this replica shows: the replicated state, the rows in memory, and the
// segments that have rows. It holds the concurrency of a shard. This is the contract.
//
// Locks, in the order in which they are taken. A goroutine that holds one takes only those
// below it:
//
//	compactor.turn   the one compaction that runs; guards compactor.resting
//	flusher.mu       the one flush that writes frozen memtables
//	ledger.mu        the manifest, the edits that were begun, the generation. It is held while
//	                 an edit is written to disk, never while segments are written
//	tables.mu        everything in tables, memtables and segmentLists
//
// Below tables.mu there are only locks that guard a few fields, and under which no other
// lock is taken: segmentIDs.mu, queue.mu, pace.mu, deathbook.mu, operations.mu and handoff.mu.
//
// What tables.mu promises: it is held for moments, never across I/O, a call to another node, or
// a wait. A View copies slice headers under it and takes references; it needs no lock after that.
// So the lists of segments are replaced, never changed in place, and batches are only appended.
//
// What may be read without tables.mu: the apply goroutine of the replica alone changes state,
// memtables.active, appliedIndex, appliedTerm and base, and holds tables.mu while it does. So it
// reads these without a lock. The exceptions are under the lock, too: rows that do not go
// through the log (linkUnlogged), which add to the active memtable and to the sessions of unlogged
// batches, and nothing else. Everybody else reads under RLock.
//
// How a change comes to be seen: Apply links all batches of an entry under one lock. A flush or a
// compaction writes its segments without a lock, commits its edit under ledger.mu, and only
// then, with ledger.mu still held, shows the segments under tables.mu (ledger.publish), in the place
// of the frozen memtables or of the segments that they replace. takeOver does the same with the
// state of another replica, and counts ledger.generation up: an edit that was made for an earlier
// generation is given up.
//
// Who frees: memtables and segments are counted by reference. tables has one reference while it
// shows them, each View, Pinned or compaction has its own. The last one gives the memory back,
// or removes the file if the manifest does not list it any more.
type tables struct {
	cfg     *Config
	metrics *metrics
	// readers counts what reads the shard: open Views, and open Pinned of backups.
	readers atomic.Int64
	// flushed is the applied index of the manifest.
	flushed atomic.Uint64
	// openedAt is when the shard was opened, by Config.Monotonic.
	openedAt time.Duration

	mu sync.RWMutex // guards everything below

	state  *rules.State
	ticked time.Duration // when, by Config.Monotonic, state.Clock was set
	mem    memtables
	segs   segmentLists
	// base is the applied index that the manifest had at Open: what is replayed up
	// to it is skipped.
	base                      uint64
	appliedIndex, appliedTerm uint64
	flushErr                  error         // of the last flush
	flushFailing              time.Duration // since when flushes fail, by Config.Monotonic, if flushErr is set
	closing, closed           bool
	tails                     tails
	ingested                  ingested
	holds                     map[*hold]struct{}
	// shared is set from before another replica is added.
	shared bool
}

// memtables are the rows in memory; tables.mu guards them.
type memtables struct {
	active *memtable.Memtable
	bytes  int64     // of active, as of the last entry
	since  time.Time // first row in active; zero if there is none
	last   time.Time // last row in active
	frozen []*frozen // oldest first
}

// size returns the memory of all memtables.
func (mt *memtables) size() int64 {
	n := mt.bytes
	for _, f := range mt.frozen {
		n += f.bytes
	}
	return n
}

// rows returns the number of rows of all memtables.
func (mt *memtables) rows() int64 {
	n := mt.active.Rows()
	for _, f := range mt.frozen {
		n += f.mem.Rows()
	}
	return n
}

// segmentLists are the segments that are shown; tables.mu guards them. The lists are
// replaced, not changed, because Views share them.
type segmentLists struct {
	segmentDir string
	// live are the segments that the manifest lists, by id.
	live map[uint64]*liveSegment
	// byTable are the segments that have live rows of a table, by rising order.
	byTable map[uint64][]*liveSegment
	eras    map[uint64][]manifest.Era // of the manifest
	// aside are the raw segments of a table, by rising order.
	aside map[uint64][]*liveSegment
	// loaded are raw segments that newSegment has not made yet.
	loaded map[uint64]loadedRaw
	// damaged are the segments that were found damaged at Open, by id.
	damaged map[uint64]*damage
	// removeSegment is called with the last reference to a segment that is not listed any more.
	removeSegment func(*liveSegment)
}

func newTables(cfg *Config, m *metrics, segmentDir string) *tables {
	return &tables{cfg: cfg, metrics: m, segs: segmentLists{
		segmentDir: segmentDir, live: map[uint64]*liveSegment{}, byTable: map[uint64][]*liveSegment{},
		aside: map[uint64][]*liveSegment{}, loaded: map[uint64]loadedRaw{},
	}}
}

// free gives up the memory of all rows. Views keep theirs.
func (tb *tables) free() {
	tb.mu.Lock()
	tb.closed = true
	tb.cfg.Budget.add(-tb.mem.size())
	mems := []*memtable.Memtable{tb.mem.active}
	for _, f := range tb.mem.frozen {
		mems = append(mems, f.mem)
	}
	for _, l := range tb.segs.live {
		if l.rows != nil {
			mems = append(mems, l.rows)
		}
	}
	tb.mu.Unlock()
	for _, m := range mems {
		m.Unref()
	}
}

// show shows the state and the segments of a manifest; raw segments are loaded already.
func (tb *tables) show(st *manifest.State, segments []segment.Meta) {
	tb.segs.learnEras(st.Merging)
	for _, m := range segments {
		tb.addLive(m)
	}
	tb.appliedIndex, tb.appliedTerm, tb.base = st.AppliedIndex, st.AppliedTerm, st.AppliedIndex
	tb.flushed.Store(st.AppliedIndex)
}
