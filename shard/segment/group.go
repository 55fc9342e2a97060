package segment

import (
	"slices"
	"sync"
	"sync/atomic"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/segment/parquet"
)

// scratches is a pool of memory in which columns are gathered, reused from file to file.
var scratches = sync.Pool{New: func() any { return new(gathered) }}

// longTexts keeps one gathered that had long texts. The garbage collector empties scratches between
// two flushes of a busy shard, and new memory for the texts of a row group costs a page fault for
// every 4 KiB.
var longTexts atomic.Pointer[gathered]

// minLongTexts is the minimum memory of a gathered that is kept in longTexts.
const minLongTexts = 4 << 20

// newScratch returns memory in which columns are gathered one after another.
func newScratch() *gathered {
	if g := longTexts.Swap(nil); g != nil {
		return g
	}
	return scratches.Get().(*gathered)
}

// keepScratch keeps the memory for the next file.
func keepScratch(g *gathered) {
	if n := g.footprint(); n > maxScratchBytes || n >= minLongTexts && longTexts.CompareAndSwap(nil, g) {
		return
	}
	scratches.Put(g)
}

// release gives memory back to the pools.
func (w *Writer) release() {
	w.w.Release()
	if w.scratch != nil {
		keepScratch(w.scratch)
	}
	for _, c := range w.cols {
		if g := c.staged; g != nil && g.footprint() <= maxScratchBytes {
			scratches.Put(g)
		}
	}
	w.scratch, w.cols = nil, nil
}

// maxScratchBytes is the maximum memory of a gathered that is kept.
const maxScratchBytes = 32 << 20

// open writes the start of the file.
func (w *Writer) open() {
	var columns []parquet.Column
	add := func(c *fileColumn, def *schema.Column) {
		w.cols = append(w.cols, c)
		columns = append(columns, c.parquet(def))
	}
	if w.spec.Shared {
		add(&fileColumn{Column: Column{Name: TableColumn, FieldID: TableFieldID, Type: schema.Uint64}, required: true}, nil)
	}
	for i, c := range w.meta.Columns {
		def := w.slots.defs[i]
		add(&fileColumn{Column: c, required: w.slots.required[i], fulltext: newFulltext(def), bloom: bloomBits(def) > 0}, def)
	}
	w.scratch = newScratch()
	w.w = parquet.NewWriter(w.out, columns, w.sorting(), w.cfg.Level)
}

// bind connects the columns to batches of a table.
func (w *Writer) bind(ts *tableSlots, batches []*column.Batch) {
	cols := w.cols
	if w.spec.Shared {
		cols[0].views = cols[0].views[:0]
		id := &column.View{Type: schema.Uint64, Encoding: column.Fixed, Base: int64(ts.table.ID)}
		for range batches {
			cols[0].views = append(cols[0].views, id)
		}
		cols = cols[1:]
	}
	for _, c := range cols {
		if cap(c.views) < len(batches) {
			c.views = make([]*column.View, len(batches))
		}
		c.views = c.views[:len(batches)]
		clear(c.views)
		if c.Type.IsBytes() {
			c.longest = slices.Grow(c.longest[:0], len(batches))[:len(batches)]
			for i := range c.longest {
				c.longest[i] = -1
			}
		}
	}
	for i, b := range batches {
		for j := range b.Cols {
			v := &b.Cols[j]
			if at, ok := ts.byID[v.ID]; ok && v.Nulls < v.Rows && v.Type.Widens(cols[at].Type) != schema.WidensNever {
				cols[at].views[i] = v
			}
		}
	}
}

// group writes a row group from the staged values, or column by column from the values of the
// current runs.
func (w *Writer) group(rows int, staged bool) error {
	w.w.BeginGroup(rows)
	for _, c := range w.cols {
		g := c.staged
		if !staged {
			g = w.scratch
			g.reset(c.plain, rows)
			g.add(c.Type, c.views, w.runs)
		}
		g.finish()
		c.plain = c.Type.IsBytes() && g.plain && len(g.Ends) >= 4096
		if c.fulltext != nil {
			c.fulltext.group(&g.Values)
		}
		if err := w.w.WriteColumn(&g.Values); err != nil {
			return err
		}
	}
	w.rows, w.weight, w.endAt = 0, 0, 0
	return nil
}
