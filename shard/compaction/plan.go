package compaction

import (
	"slices"

	"cordwood/proto/schema"
	"cordwood/shard/merge"
	"cordwood/shard/query"
	"cordwood/shard/segment"
)

// output is a file to be written.
type output struct {
	segment.Spec
	order uint64
	last  uint64          // the id of its last table
	w     *segment.Writer // open while the file is being written
	rows  int64           // the number of rows so far
}

// table returns the definition with which rows of a table are written.
func (o *output) table(t *Table) *schema.Table {
	for i := range o.Tables {
		if o.Tables[i].Table.ID == t.Def.ID {
			return o.Tables[i].Table
		}
	}
	return t.Def
}

// placed is a table and the file for its rows.
type placed struct {
	segment.TableColumns
	out *output
}

// plan returns the tables in the order in which they are written, with their files. Tables ascend,
// so that the inputs are read once, sequentially. A shared file may have to wait while a table gets
// its own file.
func (r *run) plan() (tables []placed) {
	ids := make([]uint64, 0, len(r.tables))
	for id, t := range r.tables {
		if t != nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	last := r.job.Inputs[len(r.job.Inputs)-1].Meta
	used := map[slot]struct{}{}
	var shared *output
	for _, id := range ids {
		t := r.tables[id]
		columns, slots, order := r.columns(id, t)
		of := segment.TableColumns{Table: t.Def, Columns: columns}
		if slices.Contains(columns, schema.DeletedColumnID) {
			of.Table = merge.AddDeleted(t.Def)
		}
		if !last.Shared() || t.Own {
			own := &output{Spec: segment.Spec{Tables: []segment.TableColumns{of}}, order: order, last: id}
			r.outputs = append(r.outputs, own)
			tables = append(tables, placed{of, own})
			continue
		}
		more := 0
		for _, s := range slots {
			if _, ok := used[s]; !ok {
				more++
			}
		}
		if shared == nil || len(used)+more > segment.MaxSlots {
			clear(used)
			shared = &output{Spec: segment.Spec{Shared: true}, order: last.Order}
			r.outputs = append(r.outputs, shared)
		}
		for _, s := range slots {
			used[s] = struct{}{}
		}
		shared.Tables, shared.last = append(shared.Tables, of), id
		tables = append(tables, placed{of, shared})
	}
	return tables
}

type slot struct {
	id       uint32
	name     string
	typ      schema.Type
	semantic schema.Semantic
}

// columns returns the columns of a table that the inputs have, and the highest order of the inputs
// that have the table.
func (r *run) columns(id uint64, t *Table) (columns []uint32, slots []slot, order uint64) {
	for _, in := range r.job.Inputs {
		m := in.Meta
		if !hasTable(m, id) {
			continue
		}
		order = m.Order
		for _, c := range m.ColumnsOf(t.Def, nil) { // any of several is correct, because ids identify columns
			def := byID(t.Def, c.ID)
			if c.ID == schema.DeletedColumnID && t.Merge != query.Append && !t.NoMarks {
				deleted := schema.DeletedColumn()
				def = &deleted
			}
			if def == nil || c.Type.Widens(def.Type) == schema.WidensNever || slices.Contains(columns, c.ID) {
				continue
			}
			columns = append(columns, c.ID)
			slots = append(slots, slot{c.ID, def.Name, def.Type, def.Semantic})
		}
	}
	for i := range t.Fill {
		if f := &t.Fill[i].Column; !slices.Contains(columns, f.ID) {
			columns = append(columns, f.ID)
			slots = append(slots, slot{f.ID, f.Name, f.Type, f.Semantic})
		}
	}
	return columns, slots, order
}

func byID(t *schema.Table, id uint32) *schema.Column {
	for i := range t.Columns {
		if t.Columns[i].ID == id {
			return &t.Columns[i]
		}
	}
	return nil
}

func hasTable(m *segment.Meta, id uint64) bool {
	if !m.Shared() {
		return m.TableID == id
	}
	_, ok := slices.BinarySearchFunc(m.Tables, id, func(t segment.TableSpan, id uint64) int {
		switch {
		case t.TableID < id:
			return -1
		case t.TableID > id:
			return 1
		}
		return 0
	})
	return ok
}

func tableIDs(m *segment.Meta) []uint64 {
	if !m.Shared() {
		return []uint64{m.TableID}
	}
	ids := make([]uint64, len(m.Tables))
	for i := range m.Tables {
		ids[i] = m.Tables[i].TableID
	}
	return ids
}
