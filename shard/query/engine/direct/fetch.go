package direct

import (
	"cmp"
	"slices"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/query/engine/plan"
	"cordwood/shard/segment"
)

// This file reads the columns of rows for a statement that is answered without DuckDB.

// gather reads some columns of some rows of a place.
func (d *Run) gather(out *Rows, pl *place, need []int, runs []segment.Run) (*column.Batch, bool) {
	columns, ok := d.Plan.PageColumns(pl.file.segment, need)
	if !ok {
		return nil, false
	}
	if pl.file.segment.Cold > 0 && !d.Plan.Prefetch(d.reads(pl, columns)) {
		return nil, false
	}
	b, err := pl.file.filters.Rows(pl.file, pl.group, columns, runs)
	if err != nil {
		// The row group is too large or damaged. DuckDB reads the file and reports the error.
		return nil, false
	}
	for i := range b.Cols {
		out.bytes += len(b.Cols[i].Data) + len(b.Cols[i].Codes) + len(b.Cols[i].Offsets)
	}
	return b, out.bytes <= maxDirectBytes
}

// reads returns what is read of a place.
func (d *Run) reads(pl *place, columns []segment.Column) plan.Columns {
	c := plan.Columns{Segment: pl.file.segment, Groups: []int{pl.group}}
	for i := range columns {
		c.Fields = append(c.Fields, columns[i].FieldID)
	}
	return c
}

// fetch reads the missing columns of the answer's rows. Afterwards the row numbers of hits are row
// numbers in the new batches.
func (d *Run) fetch(out *Rows) bool {
	// Read the rows of one row group together, even if they belong to several places.
	first := make(map[rowGroup]int)
	byPlace := make(map[int][]int) // indexes in hits
	for i := range out.hits {
		h := &out.hits[i]
		pl := out.places[h.place]
		if pl.complete {
			continue
		}
		switch {
		case pl.found:
			h.row = int32(pl.runs[h.row].First)
		case pl.runs != nil:
			h.row += int32(pl.runs[0].First)
		}
		at, ok := first[pl.rowGroup()]
		if !ok {
			at = h.place
			first[pl.rowGroup()] = at
		}
		h.place = at
		byPlace[at] = append(byPlace[at], i)
	}
	need := make([]int, 0, len(d.out))
	for _, c := range d.out {
		need = append(need, d.at(c.Column))
	}
	var all []plan.Columns
	for at := range byPlace {
		s := out.places[at].file.segment
		if columns, ok := d.Plan.PageColumns(s, need); ok && s.Cold > 0 {
			all = append(all, d.reads(out.places[at], columns))
		}
	}
	d.Plan.Prefetch(all...)
	for at, list := range byPlace {
		pl := out.places[at]
		slices.SortFunc(list, func(a, b int) int { return cmp.Compare(out.hits[a].row, out.hits[b].row) })
		var runs []segment.Run
		for n, i := range list {
			row := int(out.hits[i].row)
			out.hits[i].row = int32(n)
			if k := len(runs); k > 0 && runs[k-1].First+runs[k-1].Rows == row {
				runs[k-1].Rows++
			} else {
				runs = append(runs, segment.Run{First: row, Rows: 1})
			}
		}
		var ok bool
		if pl.batch, ok = d.gather(out, pl, need, runs); !ok {
			return false
		}
	}
	for _, c := range d.out {
		if !c.Type.IsBytes() {
			continue
		}
		var v *column.View
		for i, h := range out.hits {
			if i == 0 || h.place != out.hits[i-1].place {
				v = columnOf(out.places[h.place].batch, c.ID)
			}
			if v != nil {
				out.bytes += len(v.Bytes(int(h.row)))
			}
		}
	}
	return out.bytes <= maxDirectBytes
}

// sound reports whether the needed columns of a batch can be read.
func (d *Run) sound(b *column.Batch) bool {
	deleted := schema.DeletedColumn()
	if v := columnOf(b, deleted.ID); v != nil && plan.CheckView(v, deleted.Type, b.Rows) != nil {
		return false
	}
	for _, at := range d.columnsRead() {
		c := &d.Plan.View.Columns[at]
		if v := columnOf(b, c.ID); v != nil && plan.CheckView(v, c.Type, b.Rows) != nil {
			return false
		}
	}
	return true
}
