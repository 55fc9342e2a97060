package shard

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/memtable"
	"cordwood/shard/query"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// liveSegment is a segment that is in the manifest, or was: its file goes with the
// last reference. The shard has one while the manifest lists it, every View one.
type liveSegment struct {
	segment.Meta
	path string
	refs atomic.Int64
	// damage, if set, is why the segment is not read; see quarantine.go.
	damage atomic.Pointer[damage]
	// verified is when the whole file was last found sound, in Unix nanoseconds.
	verified atomic.Int64
	// groups are its row groups, layouts what its tables have, once somebody had to know them.
	groups  atomic.Pointer[[]segment.Group]
	layouts atomic.Pointer[segment.Layouts]
	// current is the version of the table by which it was last found to have all indexes.
	current atomic.Uint32
	// rows are those of a raw segment, reason is why it is one, and since is when it was
	// written, in Unix nanoseconds (0: not known).
	rows   *memtable.Memtable
	reason string
	since  int64
	// expired tells that its rows have; it is set when the manifest does not list it any more.
	expired bool
	// gone is called with the last reference, if the manifest does not list it any more.
	gone func(*liveSegment)
}

func (sl *segmentLists) newSegment(m segment.Meta) *liveSegment {
	l := &liveSegment{Meta: m, path: filepath.Join(sl.segmentDir, m.FileName()), gone: sl.removeSegment}
	l.refs.Store(1)
	l.damage.Store(sl.damaged[m.ID])
	if r, ok := sl.loaded[m.ID]; ok {
		l.rows, l.reason, l.since = r.mem, r.reason, r.since
		delete(sl.loaded, m.ID)
	}
	return l
}

func (l *liveSegment) unref() {
	if l.refs.Add(-1) == 0 {
		if l.rows != nil {
			l.rows.Unref()
		}
		l.gone(l)
	}
}

// span is what the segment has of a table.
func (l *liveSegment) span(tableID uint64) segment.TableSpan {
	if !l.Shared() {
		return segment.TableSpan{TableID: l.TableID, Rows: l.Rows, MinTime: l.MinTime, MaxTime: l.MaxTime}
	}
	i, ok := slices.BinarySearchFunc(l.Tables, tableID, func(t segment.TableSpan, id uint64) int { return cmp.Compare(t.TableID, id) })
	if !ok {
		return segment.TableSpan{TableID: tableID}
	}
	return l.Tables[i]
}

// layoutsOf reads what the tables of a shared segment have, once. It returns nil if the file does
// not tell: the query that reads the rows reports why. A file that is damaged stays so, and is not
// read again; one that could not be opened or read is.
func (l *liveSegment) layoutsOf(fsys vfs.FS) segment.Layouts {
	if have := l.layouts.Load(); have != nil {
		return *have
	}
	read, err := segment.ReadLayouts(fsys, l.path)
	corrupt := (*segment.ErrCorrupt)(nil)
	if err != nil && !errors.As(err, &corrupt) {
		return nil
	}
	l.layouts.Store(&read)
	return read
}

// bytes is about what the rows of a table take in the file.
func (l *liveSegment) bytes(tableID uint64) int64 {
	if !l.Shared() {
		return l.Bytes
	}
	return int64(float64(l.Bytes) * float64(l.span(tableID).Rows) / float64(max(l.Rows, 1)))
}

// addLive makes a segment that the manifest lists one of the tables that have live
// rows in it; mu is held.
func (tb *tables) addLive(m segment.Meta) {
	l := tb.segs.newSegment(m)
	tb.segs.live[m.ID] = l
	if l.rows != nil {
		tb.addAside(l)
		return
	}
	add := func(t segment.TableSpan) {
		if tb.state.Dead(t, m.Order) || m.Shared() && tb.state.Tables[t.TableID] == nil {
			return
		}
		list := tb.segs.byTable[t.TableID]
		if len(list) == 0 || list[len(list)-1].Order < m.Order {
			tb.segs.byTable[t.TableID] = append(list, l)
			return
		}
		at, _ := slices.BinarySearchFunc(list, m.Order, func(have *liveSegment, order uint64) int { return cmp.Compare(have.Order, order) })
		tb.segs.byTable[t.TableID] = slices.Insert(slices.Clone(list), at, l)
	}
	if !m.Shared() {
		add(l.span(m.TableID))
		return
	}
	for _, t := range m.Tables {
		add(t)
	}
}

// hide takes segments out of the list of a table; mu is held.
func (sl *segmentLists) hide(tableID uint64, hide func(*liveSegment) bool) {
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

// Segment is a segment of a View.
type Segment struct {
	segment.Meta
	// Span is what the file has of the table: all of it, unless it is shared.
	Span segment.TableSpan
	// Path is the file's name.
	Path string
	// Damaged is why the file must not be read, if it is set: its rows are missing.
	Damaged string
	// layouts tells which columns of a shared file are whose.
	layouts func() segment.Layouts
}

func (l *liveSegment) damaged() string {
	if d := l.damage.Load(); d != nil {
		return d.reason
	}
	return ""
}

// View is the rows of some tables at one index of the log. It does not change, and
// what it refers to stays in place until Close: files are not removed, memory is
// not freed. Its methods may be called concurrently.
type View struct {
	fsys     vfs.FS
	index    uint64
	segments map[uint64][]*liveSegment
	batches  map[uint64][]*column.Batch
	merging  map[uint64]merging
	mems     []*memtable.Memtable
	readers  *atomic.Int64 // of the shard; Close subtracts the View
	once     sync.Once
}

// ReadView returns a View of the given tables. It has all rows that were
// acknowledged before the call, and of every write all rows or none. It is nil if
// the shard is closed.
//
// Close must be called soon: the View holds memory and files.
func (s *Shard) ReadView(tableIDs ...uint64) *View { return s.tables.readView(tableIDs...) }

func (tb *tables) readView(tableIDs ...uint64) *View {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.readViewLocked(tableIDs...)
}

// gone reports whether one of the tables was dropped here, as far as is remembered: its
// rows may be somewhere else by another id, so a view that was taken before the call may be
// all that there is, or may have nothing.
func (tb *tables) gone(tableIDs ...uint64) error {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	for _, id := range tableIDs {
		if _, gone := tb.state.Dropped[id]; gone {
			return tableGone(tb.cfg.ID, id)
		}
	}
	return nil
}

// outdated reports whether the shard knows a newer definition of one of the tables than the
// given one. Who was cut off from the metadata may hold one by which the newest rows are looked
// for where they no longer go, or without columns that were added.
func (tb *tables) outdated(tables []*schemapb.Table) error {
	epochs := make([]uint32, len(tables))
	for i, t := range tables {
		epochs[i] = schema.FromProto(t).Writable().Epoch
	}
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	for i, t := range tables {
		epoch := epochs[i]
		if d := tb.state.Tables[t.Id]; d != nil && (d.Version > t.Version || d.Writable().Epoch > epoch) {
			return errs.New(errs.TableUnavailable, "shard %d: table %s.%s was changed (version %d, epoch %d) after what the query knows of it (version %d, epoch %d)",
				tb.cfg.ID, t.Database, t.Name, d.Version, d.Writable().Epoch, t.Version, epoch).WithReason(errs.SchemaStale)
		}
	}
	return nil
}

// readViewLocked is readView with mu held.
func (tb *tables) readViewLocked(tableIDs ...uint64) *View {
	v := &View{fsys: tb.cfg.FS, segments: make(map[uint64][]*liveSegment, len(tableIDs)), batches: make(map[uint64][]*column.Batch, len(tableIDs)), merging: make(map[uint64]merging, len(tableIDs))}
	if tb.closed {
		return nil
	}
	v.index, v.readers = tb.appliedIndex, &tb.readers
	v.readers.Add(1)
	for i, id := range tableIDs {
		if containsID(tableIDs[:i], id) {
			continue
		}
		for _, mem := range tb.segs.asideMems(id) {
			v.take(mem, tableIDs[i:i+1])
		}
	}
	for _, f := range tb.mem.frozen {
		v.take(f.mem, tableIDs)
	}
	v.take(tb.mem.active, tableIDs)
	for _, id := range tableIDs {
		if _, ok := v.segments[id]; ok {
			continue
		}
		list := tb.segs.byTable[id]
		for _, l := range list {
			l.refs.Add(1)
		}
		v.segments[id] = list[:len(list):len(list)]
		if d := tb.state.Tables[id]; d != nil {
			v.merging[id] = merging{d.Merge, tb.erasOf(id), d.Table}
		}
	}
	return v
}

// take adds what a memtable has of the tables, with a reference if it has anything.
func (v *View) take(m *memtable.Memtable, tableIDs []uint64) {
	held := false
	for i, id := range tableIDs {
		if containsID(tableIDs[:i], id) {
			continue
		}
		list := m.Batches(id)
		if len(list) == 0 {
			continue
		}
		if v.batches[id] == nil {
			v.batches[id] = list
		} else {
			v.batches[id] = append(v.batches[id], list...) // clipped, so this copies
		}
		held = true
	}
	if held {
		m.Ref()
		v.mems = append(v.mems, m)
	}
}

func containsID(ids []uint64, id uint64) bool {
	for _, have := range ids {
		if have == id {
			return true
		}
	}
	return false
}

// AppliedIndex is the index of the log that the View shows.
func (v *View) AppliedIndex() uint64 { return v.index }

// Segments returns the segments of a table by rising Order.
func (v *View) Segments(tableID uint64) []Segment {
	list := v.segments[tableID]
	out := make([]Segment, len(list))
	for i, l := range list {
		out[i] = Segment{
			Meta: l.Meta, Span: l.span(tableID), Path: l.path, Damaged: l.damaged(),
			layouts: func() segment.Layouts { return l.layoutsOf(v.fsys) },
		}
	}
	return out
}

// Batches returns the rows of a table that are in no segment yet, in the order of
// their application.
func (v *View) Batches(tableID uint64) []*column.Batch { return v.batches[tableID] }

// merging is how the rows of a table merge, by the definition that the shard has.
type merging struct {
	now  query.Merge
	eras query.Eras
	def  *schema.Table
}

// Widened returns a definition of a table in which columns have the type that they have in
// that of the shard, if it is newer and has wider ones: the rows may have values of it.
func (v *View) Widened(table *schema.Table) *schema.Table {
	if newest := v.merging[table.ID].def; newest != nil && newest.Version > table.Version {
		return widened(table, newest)
	}
	return table
}

// widened returns a definition of a table with the types of another one where these are
// wider.
func widened(table, newest *schema.Table) *schema.Table {
	types := make(map[uint32]schema.Type, len(newest.Columns))
	for i := range newest.Columns {
		types[newest.Columns[i].ID] = newest.Columns[i].Type
	}
	out := table
	for i := range table.Columns {
		have := table.Columns[i].Type
		if wider := types[table.Columns[i].ID]; wider != have && have.Widens(wider) != schema.WidensNever {
			if out == table {
				c := *table
				c.Columns = slices.Clone(table.Columns)
				out = c.Index()
			}
			out.Columns[i].Type = wider
		}
	}
	return out
}

// Merging tells how the rows of a table merge, and those that were written before it
// came to be so; false if the shard does not know the table, and so has no rows of it.
func (v *View) Merging(tableID uint64) (now query.Merge, eras query.Eras, known bool) {
	m, ok := v.merging[tableID]
	return m.now, m.eras, ok
}

// Close gives back what the View held. It may be called twice.
func (v *View) Close() {
	v.once.Do(func() {
		for _, m := range v.mems {
			m.Unref()
		}
		for _, list := range v.segments {
			for _, l := range list {
				l.unref()
			}
		}
		v.readers.Add(-1)
	})
}
