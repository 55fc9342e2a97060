package store

import (
	"cmp"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"cordwood/shard/manifest"
	"cordwood/shard/memtable"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
)

// Tables is the visible state of this replica: the replicated state, the rows in memory, and the
// segments that have live rows. doc.go describes the contract of its lock.
type Tables struct {
	cfg     *Config
	metrics *Metrics
	// Flushed is the applied index of the manifest.
	Flushed atomic.Uint64
	// openedAt is when the shard was opened, by Config.Monotonic.
	openedAt time.Duration

	mu sync.RWMutex // guards everything below

	State  *rules.State
	ticked time.Duration // when State.Clock was set, by Config.Monotonic
	Mem    memtables
	segs   segmentLists
	cold   coldLists
	// coldMismatch is set while the last offload was refused because rows were missing or doubled.
	coldMismatch bool
	parts        databaseParts
	// Base is the applied index of the manifest at Open. Replayed entries up to it are skipped.
	Base                      uint64
	AppliedIndex, AppliedTerm uint64
	flushErr                  error         // error of the last flush
	flushFailing              time.Duration // since when flushes fail, by Config.Monotonic, if flushErr is set
	closing, closed           bool
	tails                     tails
	Ingested                  ingested
	sources                   copySources
	// Content is the index of the last entry that changed anything, or Base. Only the apply goroutine uses it.
	// frozenAt is its value at the last freeze.
	Content, frozenAt uint64
	// freezing, if set, is completed by the next Freeze.
	freezing *Freezing
	// logOnly is set before another replica is added: from then on all rows go through the log.
	logOnly bool
}

// memtables holds the rows in memory; Tables.mu guards it.
type memtables struct {
	Active *memtable.Memtable
	bytes  int64     // size of Active after the last entry
	since  time.Time // arrival of the first row in Active; zero if there is none
	last   time.Time // arrival of the last row in Active
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
	n := mt.Active.Rows()
	for _, f := range mt.frozen {
		n += f.mem.Rows()
	}
	return n
}

// segmentLists holds the visible segments. Tables.mu guards it. Lists are replaced and not changed,
// because Views share them.
type segmentLists struct {
	segmentDir string
	// live are the segments that the manifest lists, by id.
	live map[uint64]*LiveSegment
	// byTable are the segments with live rows of a table, in ascending order.
	byTable map[uint64][]*LiveSegment
	eras    map[uint64][]manifest.Era // as in the manifest
	// cuts are the orders at which cuts for object storage end, by table, and cutEnds those of all tables, as in the
	// manifest. Both are in ascending order.
	cuts    map[uint64][]uint64
	cutEnds []uint64
	// cutOrders are the cuts of a table, in ascending order of their numbers, as in the manifest.
	cutOrders map[uint64][]manifest.CutOrder
	// raw are the raw segments of a table, in ascending order.
	raw map[uint64][]*LiveSegment
	// loaded are raw segments that newSegment has not used yet.
	loaded map[uint64]loadedRaw
	// damaged are the segments that were found damaged at Open, by id.
	damaged map[uint64]*damage
	// removeSegment is called with the last reference to a segment that is no longer listed.
	removeSegment func(*LiveSegment)
}

func newTables(cfg *Config, m *Metrics, segmentDir string) *Tables {
	return &Tables{
		cfg: cfg, metrics: m, tails: tails{maxBytes: cfg.TailBytes, lost: m.tailsLost}, sources: copySources{},
		segs: segmentLists{
			segmentDir: segmentDir, live: map[uint64]*LiveSegment{}, byTable: map[uint64][]*LiveSegment{},
			raw: map[uint64][]*LiveSegment{}, loaded: map[uint64]loadedRaw{},
		},
	}
}

// free releases the memory of all rows. Views keep theirs.
func (tb *Tables) free() {
	tb.Abandon()
	tb.mu.Lock()
	tb.cfg.Budget.Add(-tb.Mem.size())
	mems := []*memtable.Memtable{tb.Mem.Active}
	for _, f := range tb.Mem.frozen {
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

// show publishes the state and the segments of a manifest. Its raw segments must have been loaded.
func (tb *Tables) show(st *manifest.State, segments []segment.Meta) {
	tb.segs.learnEras(st.Merging)
	tb.learnCuts(st.CutOrders)
	tb.cold.setsChanged()
	for _, m := range segments {
		tb.addLive(m, time.Time{})
	}
	tb.AppliedIndex, tb.AppliedTerm, tb.Base = st.AppliedIndex, st.AppliedTerm, st.AppliedIndex
	tb.Content, tb.frozenAt = st.AppliedIndex, st.AppliedIndex
	tb.Flushed.Store(st.AppliedIndex)
}

// Applied returns the index of the last entry that was applied.
func (tb *Tables) Applied() uint64 {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.AppliedIndex
}

// RequireLog sets whether all rows have to go through the log, because there is another replica or
// will be one.
func (tb *Tables) RequireLog(required bool) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.logOnly = required
}

// Close ends the tails and makes new writes fail. Views can still be created.
func (tb *Tables) Close() {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.closing = true
	tb.tails.end(0, tailEnds(tb.cfg.ID))
}

// Abandon ends all reading: no more Views can be created.
func (tb *Tables) Abandon() {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.closed = true
}

// frozen is a memtable that takes no more rows, with the state after its last row was applied.
type frozen struct {
	mem         *memtable.Memtable
	rows        Range // what is in mem
	bytes       int64
	index, term uint64
	clock       int64
	defs        map[uint64]*rules.Definition // definitions of the tables that have rows here
	changes     rules.Changes                // changes since the previous freeze
	sessions    []manifest.Session
	keys        []manifest.Key
	cold        *manifest.Cold
	// offer, if set, offers the segments to followers. offeredBy, if set, is the leader that offers segments with
	// the same rows.
	offer     *Offer
	offeredBy string
}

// used returns the memory of all memtables, or the memory that a flush needs to sort their rows if
// that is more; mu must be held.
func (tb *Tables) used() int64 { return max(tb.Mem.size(), tb.Mem.rows()*rowBytes) }

// rowBytes is the memory of a row during a flush in addition to its values. Equal rows need almost
// no other memory, so a memtable could hold a billion of them.
const rowBytes = int64(unsafe.Sizeof(segment.RowRef{}))

// addLive adds a segment that the manifest lists to the tables that have live rows in it; mu must
// be held.
func (tb *Tables) addLive(m segment.Meta, flushed time.Time) {
	l := tb.segs.newSegment(m)
	l.flushed = flushed
	tb.segs.live[m.ID] = l
	if l.rows != nil {
		tb.addRaw(l)
		return
	}
	add := func(t segment.TableSpan) {
		if tb.State.Dead(t, m.Order) || m.Shared() && tb.State.Tables[t.TableID] == nil ||
			tb.joinedAway(t.TableID, m.Order) {
			return
		}
		list := tb.segs.byTable[t.TableID]
		if len(list) == 0 || list[len(list)-1].Order < m.Order {
			tb.segs.byTable[t.TableID] = append(list, l)
			return
		}
		at, _ := slices.BinarySearchFunc(list, m.Order, func(have *LiveSegment, order uint64) int {
			return cmp.Compare(have.Order, order)
		})
		tb.segs.byTable[t.TableID] = slices.Insert(slices.Clone(list), at, l)
	}
	if !m.Shared() {
		add(l.Span(m.TableID))
		return
	}
	for _, t := range m.Tables {
		add(t)
	}
}

func (sl *segmentLists) newSegment(m segment.Meta) *LiveSegment {
	l := &LiveSegment{Meta: m, Path: filepath.Join(sl.segmentDir, m.FileName()), gone: sl.removeSegment}
	l.refs.Store(1)
	l.Damage.Store(sl.damaged[m.ID])
	if r, ok := sl.loaded[m.ID]; ok {
		l.rows, l.reason, l.since = r.mem, r.reason, r.since
		delete(sl.loaded, m.ID)
	}
	return l
}

// hide removes segments from the list of a table; mu must be held.
func (sl *segmentLists) hide(tableID uint64, hide func(*LiveSegment) bool) {
	list := sl.byTable[tableID]
	if !slices.ContainsFunc(list, hide) {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(list), hide)
	if len(kept) == 0 {
		delete(sl.byTable, tableID)
		return
	}
	sl.byTable[tableID] = kept
}

// learnEras adopts the eras of the manifest; mu must be held.
func (sl *segmentLists) learnEras(list []manifest.Merging) {
	sl.eras = make(map[uint64][]manifest.Era, len(list))
	for _, m := range list {
		sl.eras[m.TableID] = m.Eras
	}
}

// damagedCount returns the number of quarantined segments; mu must be held.
func (sl *segmentLists) damagedCount() int {
	seen := map[uint64]bool{}
	for _, list := range sl.byTable {
		for _, l := range list {
			if l.Damage.Load() != nil {
				seen[l.ID] = true
			}
		}
	}
	return len(seen)
}
