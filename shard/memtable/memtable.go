// Package memtable holds the rows of a shard that are applied but not yet flushed: for each table a
// list of immutable column batches, whose values are in memory outside the Go heap.
//
// It knows nothing of the log, of indexes or of files, and it never reads a batch: a batch is
// linked by pointer, and readers read it in place.
//
// Life cycle: New creates an active memtable with one reference, which belongs to its owner.
// Batches are decoded into memory from Alloc, and the owner links them with Append. After freezing
// the memtable, the owner links no more batches. A reader takes a reference with Ref under the
// owner's lock, copies the lists that it needs, and releases the reference with Unref when it has
// finished. The last Unref returns the memory to the Pool; batches of the memtable must not be read
// after that.
//
// Concurrency: every holder of a reference may call Alloc, concurrently. The owner's lock guards
// Append, Drop, Batches and the counters. Any number of goroutines may read the results of Batches
// without it. Ref and Unref are atomic; Pool may be used concurrently.
package memtable

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"cordwood/proto/column"
	"cordwood/shard/query"
)

// Memtable is a set of applied batches by table.
type Memtable struct {
	alloc  sync.Mutex // guards arena
	arena  arena
	tables map[uint64]*table
	cuts   map[uint64][]Cut // by table
	rows   int64
	refs   atomic.Int64
}

type table struct {
	batches []*column.Batch
	rows    int64
	bytes   int64
}

// Cut marks a change of the merge mode of a table, or the end of the rows of a cut for object storage.
type Cut struct {
	// At is the number of the table's batches that were applied before the change.
	At int
	// Merge is the merge mode of the rows before the change.
	Merge query.Merge
	// Number is the number of the cut for object storage; 0 for a change of the merge mode.
	Number uint64
	// Last is the merge mode of the last row of the cut for object storage. It differs from Merge if the mode was changed
	// after that row.
	Last query.Merge
}

// New returns an empty memtable that takes its memory from pool, with one reference.
func New(pool *Pool) *Memtable {
	m := &Memtable{arena: arena{pool: pool}, tables: map[uint64]*table{}}
	m.refs.Store(1)
	return m
}

// Alloc returns n bytes, aligned to 8 bytes and not cleared, for a batch that Append links
// afterwards. They belong to the memtable even if the batch is never linked.
func (m *Memtable) Alloc(n int) ([]byte, error) {
	m.alloc.Lock()
	defer m.alloc.Unlock()
	return m.arena.alloc(n)
}

// Append links a batch whose Mem came from Alloc.
func (m *Memtable) Append(b *column.Batch) {
	t := m.tables[b.TableID]
	if t == nil {
		t = &table{}
		m.tables[b.TableID] = t
	}
	t.add(b)
	m.rows += int64(b.Rows)
}

// Cut records that rows of a table had the given merge mode up to now, and have another one from
// now on. If number is not 0, it records that the rows up to now are in the cut of that number instead.
func (m *Memtable) Cut(tableID uint64, merge query.Merge, number uint64) {
	if m.cuts == nil {
		m.cuts = map[uint64][]Cut{}
	}
	m.cuts[tableID] = append(m.cuts[tableID], Cut{len(m.Batches(tableID)), merge, number, merge})
}

// CutRows is like Cut for a cut for object storage whose last row has the merge mode last.
func (m *Memtable) CutRows(tableID uint64, merge, last query.Merge, number uint64) {
	m.Cut(tableID, merge, number)
	m.cuts[tableID][len(m.cuts[tableID])-1].Last = last
}

// Cuts returns the cuts of a table, the oldest first. The slice is immutable.
func (m *Memtable) Cuts(tableID uint64) []Cut { return slices.Clip(m.cuts[tableID]) }

// CutTables returns the ids of the tables that have cuts, ascending.
func (m *Memtable) CutTables() []uint64 { return slices.Sorted(maps.Keys(m.cuts)) }

// Drop unlinks all batches of a table. Their memory is freed together with the memtable's.
func (m *Memtable) Drop(tableID uint64) {
	delete(m.cuts, tableID)
	if t := m.tables[tableID]; t != nil {
		m.rows -= t.rows
		delete(m.tables, tableID)
	}
}

// Expire unlinks the batches of a table whose rows all have a time index below before. Lists that
// Batches returned stay as they are.
func (m *Memtable) Expire(tableID uint64, before int64) {
	t := m.tables[tableID]
	old := func(b *column.Batch) bool { return b.MaxTime < before }
	if t == nil || !slices.ContainsFunc(t.batches, old) {
		return
	}
	m.remove(tableID, func(i int) bool { return old(t.batches[i]) })
}

// CutIs tells what became of a cut for object storage by its number.
type CutIs struct {
	// Gone reports whether its rows are dead, Returned whether they belong to the next cut.
	Gone, Returned func(number uint64) bool
}

// RemoveCuts unlinks the batches of a table in cuts for object storage that are gone. after is the number of the first
// cut that ends in a later memtable; 0 if there is none. It returns the number of the cut that has the first batches; 0
// if they are in none.
func (m *Memtable) RemoveCuts(tableID, after uint64, is CutIs) (first uint64) {
	t := m.tables[tableID]
	cuts := slices.DeleteFunc(slices.Clone(m.cuts[tableID]), func(c Cut) bool {
		return c.Number == 0 || is.Returned(c.Number)
	})
	first = after
	if len(cuts) > 0 {
		first = cuts[0].Number
	}
	if t == nil {
		return first
	}
	of, some := make([]bool, len(t.batches)), false
	to, number := len(t.batches), after
	for i := len(cuts) - 1; i >= -1; i-- {
		from := 0
		if i >= 0 {
			from = cuts[i].At
		}
		if to > from && number > 0 && is.Gone(number) {
			some = true
			for k := from; k < to; k++ {
				of[k] = true
			}
		}
		if i >= 0 {
			to, number = from, cuts[i].Number
		}
	}
	if some {
		m.remove(tableID, func(i int) bool { return of[i] })
	}
	return first
}

// remove unlinks batches of a table.
func (m *Memtable) remove(tableID uint64, gone func(i int) bool) {
	t := m.tables[tableID]
	kept, at := &table{}, make([]int, len(t.batches)+1)
	for i, b := range t.batches {
		at[i] = len(kept.batches)
		if !gone(i) {
			kept.add(b)
		}
	}
	at[len(t.batches)] = len(kept.batches)
	if cuts := slices.Clone(m.cuts[tableID]); len(cuts) > 0 {
		for i := range cuts {
			cuts[i].At = at[cuts[i].At]
		}
		m.cuts[tableID] = cuts
	}
	m.rows += kept.rows - t.rows
	if kept.rows == 0 {
		delete(m.tables, tableID)
		return
	}
	m.tables[tableID] = kept
}

func (t *table) add(b *column.Batch) {
	t.batches = append(t.batches, b)
	t.rows += int64(b.Rows)
	t.bytes += int64(len(b.Mem))
}

// Batches returns the batches of a table in the order in which they were applied. The slice is
// immutable; its batches are valid as long as the caller's reference.
func (m *Memtable) Batches(tableID uint64) []*column.Batch {
	t := m.tables[tableID]
	if t == nil {
		return nil
	}
	return slices.Clip(t.batches)
}

// Tables returns the ids of the tables that have batches, ascending.
func (m *Memtable) Tables() []uint64 {
	ids := make([]uint64, 0, len(m.tables))
	for id := range m.tables {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Table returns the number of rows of a table and the bytes of their values.
func (m *Memtable) Table(tableID uint64) (rows, bytes int64) {
	if t := m.tables[tableID]; t != nil {
		return t.rows, t.bytes
	}
	return 0, 0
}

// Rows returns the number of rows of all tables.
func (m *Memtable) Rows() int64 { return m.rows }

// Empty reports whether no batch is linked.
func (m *Memtable) Empty() bool { return len(m.tables) == 0 }

// Bytes returns the memory that Alloc has allocated. It may be called concurrently.
func (m *Memtable) Bytes() int64 { return m.arena.used.Load() }

// Ref takes a reference. The caller must know that at least one exists.
func (m *Memtable) Ref() {
	if m.refs.Add(1) <= 1 {
		panic("memtable: reference taken after the last one was released")
	}
}

// Unref releases a reference. The last one frees the memory.
func (m *Memtable) Unref() {
	switch n := m.refs.Add(-1); {
	case n == 0:
		m.arena.release()
	case n < 0:
		panic("memtable: reference released twice")
	}
}
