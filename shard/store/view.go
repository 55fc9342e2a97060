package store

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/memtable"
	"cordwood/shard/query"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// Segment is a segment of a View.
type Segment struct {
	segment.Meta
	// Span describes the table's rows in the file: all rows, unless the file is shared.
	Span segment.TableSpan
	// Path is the path of the file.
	Path string
	// Damaged, if not empty, is the reason why the file must not be read. Its rows are then
	// missing.
	Damaged string
	// Layouts returns which columns of a shared file belong to which table.
	Layouts func() segment.Layouts
}

// View is the rows of some tables at one index of the log. It is immutable. Until Close, the files
// and the memory that it refers to stay. Its methods may be called concurrently.
type View struct {
	fsys    vfs.FS
	index   uint64
	tables  []viewedTable // each once
	mems    []*memtable.Memtable
	readers *atomic.Int64 // the shard's counter; Close subtracts the View
	once    sync.Once
}

// viewedTable is the rows of a table in a View.
type viewedTable struct {
	id       uint64
	segments []*LiveSegment
	cold     []ColdObject
	batches  []*column.Batch
	merging  merging
	known    bool // the shard has a definition of the table
}

// of returns a table of the View, or an empty one. Views have few tables, mostly one.
func (v *View) of(tableID uint64) *viewedTable {
	for i := range v.tables {
		if v.tables[i].id == tableID {
			return &v.tables[i]
		}
	}
	return &viewedTable{}
}

// Readers creates the readers of rows: views, tails, pins for backups, and copies to other shards.
type Readers struct {
	tables *Tables
	// Open counts the open Views and Pinned.
	Open atomic.Int64
}

// View returns a View of the given tables; see Shard.ReadView.
func (rd *Readers) View(tableIDs ...uint64) *View {
	rd.tables.mu.RLock()
	defer rd.tables.mu.RUnlock()
	return rd.viewLocked(tableIDs...)
}

// viewLocked is like View, with Tables.mu held.
func (rd *Readers) viewLocked(tableIDs ...uint64) *View {
	tb := rd.tables
	if tb.closed {
		return nil
	}
	v := &View{fsys: tb.cfg.FS, index: tb.AppliedIndex, readers: &rd.Open, tables: make([]viewedTable, 0, len(tableIDs))}
	v.readers.Add(1)
	for _, id := range tableIDs {
		if slices.ContainsFunc(v.tables, func(t viewedTable) bool { return t.id == id }) {
			continue
		}
		t := viewedTable{id: id}
		for _, mem := range tb.segs.rawMemtables(id) {
			v.take(mem, &t)
		}
		for _, f := range tb.Mem.frozen {
			v.take(f.mem, &t)
		}
		v.take(tb.Mem.Active, &t)
		list := tb.segs.byTable[id]
		for _, l := range list {
			l.refs.Add(1)
		}
		t.segments = list[:len(list):len(list)]
		t.cold = tb.coldOf(id)
		if d := tb.State.Tables[id]; d != nil {
			t.merging, t.known = merging{d.Merge, tb.erasOf(id), d.Table}, true
		}
		v.tables = append(v.tables, t)
	}
	return v
}

// take adds the rows of a table in a memtable, with a reference if there are any.
func (v *View) take(m *memtable.Memtable, t *viewedTable) {
	list := m.Batches(t.id)
	if len(list) == 0 {
		return
	}
	if t.batches == nil {
		t.batches = list
	} else {
		t.batches = append(t.batches, list...) // the list is clipped, so append copies it
	}
	if !slices.Contains(v.mems, m) {
		m.Ref()
		v.mems = append(v.mems, m)
	}
}

// AppliedIndex returns the index of the log at which the View was taken.
func (v *View) AppliedIndex() uint64 { return v.index }

// Segments returns the segments of a table in ascending order of Order.
func (v *View) Segments(tableID uint64) []Segment {
	list := v.of(tableID).segments
	out := make([]Segment, len(list))
	for i, l := range list {
		out[i] = Segment{
			Meta: l.Meta, Span: l.Span(tableID), Path: l.Path, Damaged: l.damaged(),
			Layouts: func() segment.Layouts { return l.layoutsOf(v.fsys) },
		}
	}
	return out
}

// Cold returns the objects in object storage with the rows of a table that are neither in segments nor in memory. The
// list must not be changed. Objects are not deleted while a View may need them; see ../cold/DESIGN.md.
func (v *View) Cold(tableID uint64) []ColdObject { return v.of(tableID).cold }

// Batches returns the rows of a table that are not in a segment yet, in the order in which they
// were applied.
func (v *View) Batches(tableID uint64) []*column.Batch { return v.of(tableID).batches }

// merging is the merge mode of a table's rows according to the shard's definition.
type merging struct {
	now  query.Merge
	eras query.Eras
	def  *schema.Table
}

// Widened returns a definition of a table with the column types of the shard's definition, if that
// is newer and has wider types: the rows may have values of these types.
func (v *View) Widened(table *schema.Table) *schema.Table {
	if newest := v.of(table.ID).merging.def; newest != nil && newest.Version > table.Version {
		return Widened(table, newest)
	}
	return table
}

// Widened returns the definition of a table with the types of newest where these are wider.
func Widened(table, newest *schema.Table) *schema.Table {
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

// Merging returns the merge mode of a table's rows, and the modes of older rows. It returns false
// if the shard does not know the table, and so has no rows of it.
func (v *View) Merging(tableID uint64) (now query.Merge, eras query.Eras, known bool) {
	t := v.of(tableID)
	return t.merging.now, t.merging.eras, t.known
}

// Stored identifies the rows of a table in a View all of whose rows are in segments and objects. It stays comparable
// after the View was closed.
type Stored struct {
	segments []*LiveSegment
	cold     []ColdObject
	merging  merging
}

// Stored returns what identifies the rows of a table. It returns false if rows are in memory, or if a segment must not
// be read.
func (v *View) Stored(tableID uint64) (Stored, bool) {
	t := v.of(tableID)
	if len(t.batches) > 0 || slices.ContainsFunc(t.segments, func(l *LiveSegment) bool { return l.damaged() != "" }) {
		return Stored{}, false
	}
	return Stored{t.segments, t.cold, t.merging}, true
}

// Same reports whether both are the same rows of one table, which the shard defines and merges in the same way.
func (s Stored) Same(as Stored) bool {
	a, b := &s.merging, &as.merging
	return slices.Equal(s.segments, as.segments) && slices.EqualFunc(s.cold, as.cold, ColdObject.same) &&
		a.now == b.now && a.def == b.def && slices.Equal(a.eras, b.eras)
}

// Segments returns the number of segments and objects.
func (s Stored) Segments() int { return len(s.segments) + len(s.cold) }

// Oldest returns the smallest time of the rows of a table, or the largest possible time if there are none.
func (s Stored) Oldest(tableID uint64) int64 {
	oldest := int64(math.MaxInt64)
	for _, l := range s.segments {
		if span := l.Span(tableID); span.Rows > 0 {
			oldest = min(oldest, span.MinTime)
		}
	}
	for i := range s.cold {
		oldest = min(oldest, s.cold[i].Span.MinTime)
	}
	return oldest
}

// Close releases the memory and files of the View. It may be called twice.
func (v *View) Close() {
	v.once.Do(func() {
		for _, m := range v.mems {
			m.Unref()
		}
		for i := range v.tables {
			for _, l := range v.tables[i].segments {
				l.Unref()
			}
		}
		v.readers.Add(-1)
	})
}
