// Package merge implements the rule by which rows of one identity become one, over column batches. A flush applies
// it to the rows of a memtable, and a compaction to the rows of segments. The query engine does the same in SQL.
// The comments of query.Merge and schema.DeletedColumnID describe the rule.
//
// It reads no files and does not sort: rows come in the order of a segment, so rows of one identity
// are neighbours, the latest last. Its functions keep no state and may be called concurrently.
package merge

import (
	"slices"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/segment"
)

// WithDeleted returns table with the hidden column schema.DeletedColumnID if a batch has it, and
// otherwise table itself.
func WithDeleted(table *schema.Table, batches []*column.Batch) *schema.Table {
	for _, b := range batches {
		if b.Column(schema.DeletedColumnID) != nil {
			return AddDeleted(table)
		}
	}
	return table
}

// AddDeleted returns table with the hidden column.
func AddDeleted(table *schema.Table) *schema.Table {
	t := *table
	t.Columns = append(slices.Clip(slices.Clone(table.Columns)), schema.DeletedColumn())
	return t.Index()
}

// Sorted merges rows, which must be in the order of segment.Sort, and returns one row for each
// identity. Joined rows are in batches that it adds. It may reuse the given slices.
func Sorted(table *schema.Table, mode query.Merge, batches []*column.Batch,
	rows []segment.RowRef,
) ([]*column.Batch, []segment.RowRef) {
	if mode == query.Append {
		return batches, rows
	}
	m := merger{id: NewIdentity(table, batches), batches: batches, deleted: deletedViews(batches), types: typesOf(table)}
	out := rows[:0]
	for from := 0; from < len(rows); {
		to := m.end(rows, from)
		last := rows[to-1]
		if mode == query.LastRow || to-from == 1 || m.isDeleted(last) {
			out = append(out, last)
		} else {
			out = append(out, m.join(rows[from:to]))
		}
		from = to
	}
	m.finish()
	return m.batches, out
}

// Mixed is like Sorted, for rows that were written with different merge modes. modes holds
// the mode of each batch; query.Era describes the rule. The result for an identity is complete only
// if no earlier rows of it exist.
func Mixed(table *schema.Table, modes []query.Merge, batches []*column.Batch,
	rows []segment.RowRef,
) ([]*column.Batch, []segment.RowRef) {
	m := merger{
		id:      NewIdentity(table, batches),
		batches: batches,
		deleted: deletedViews(batches),
		modes:   modes,
		types:   typesOf(table),
	}
	out := make([]segment.RowRef, 0, len(rows))
	for from := 0; from < len(rows); {
		to := m.end(rows, from)
		merged := rows[from:from]
		for _, r := range rows[from:to] { // first the rows that stay unchanged
			if modes[r.Batch] == query.Append {
				out = append(out, r)
			} else {
				merged = append(merged, r)
			}
		}
		switch n := len(merged); {
		case n == 1 || n > 1 && (m.isDeleted(merged[n-1]) || modes[merged[n-1].Batch] == query.LastRow):
			out = append(out, merged[n-1])
		case n > 1:
			out = append(out, m.join(merged))
		}
		from = to
	}
	m.finish()
	return m.batches, out
}

// typesOf returns the types of a table's columns, by id.
func typesOf(table *schema.Table) map[uint32]schema.Type {
	types := make(map[uint32]schema.Type, len(table.Columns))
	for i := range table.Columns {
		types[table.Columns[i].ID] = table.Columns[i].Type
	}
	return types
}

// end returns the end of the rows of one identity that begin at from.
func (m *merger) end(rows []segment.RowRef, from int) int {
	to := from + 1
	for to < len(rows) && m.id.Equal(rows[from], rows[to]) {
		to++
	}
	return to
}

// WithoutDeleted returns the rows that do not mark a deletion. It is for segments that have no
// older rows to delete. rows is reused.
func WithoutDeleted(batches []*column.Batch, rows []segment.RowRef) []segment.RowRef {
	m := merger{deleted: deletedViews(batches)}
	return slices.DeleteFunc(rows, m.isDeleted)
}

// deletedViews returns the hidden column by batch, or nil if no batch has it.
func deletedViews(batches []*column.Batch) []*column.View {
	views := make([]*column.View, len(batches))
	found := false
	for i, b := range batches {
		views[i] = b.Column(schema.DeletedColumnID)
		found = found || views[i] != nil
	}
	if !found {
		return nil
	}
	return views
}

// maxJoined is the maximum number of rows of a batch of joined rows, and maxJoinedBytes its
// approximate maximum size.
const (
	maxJoined      = 8192
	maxJoinedBytes = 32 << 20
)

// merger joins rows by query.LastNonNull.
type merger struct {
	id      *Identity
	batches []*column.Batch
	deleted []*column.View
	// modes, if not nil, holds the merge modes of the batches.
	modes []query.Merge

	// types maps the ids of the table's columns to their types.
	types map[uint32]schema.Type

	joined  column.Builder
	rows    int // number of rows in joined
	columns map[uint32]*column.Col
	at      uint32 // the index of the batch that joined becomes
}

// mark returns the hidden column of a row; known is false if the column is null. A row that
// replaces all rows before it counts as marked.
func (m *merger) mark(r segment.RowRef) (deleted, known bool) {
	replaces := m.modes != nil && m.modes[r.Batch] == query.LastRow
	if m.deleted == nil {
		return false, replaces
	}
	v := m.deleted[r.Batch]
	if v == nil || v.IsNull(int(r.Row)) {
		return false, replaces
	}
	return v.Int(int(r.Row)) != 0, true
}

func (m *merger) isDeleted(r segment.RowRef) bool {
	deleted, _ := m.mark(r)
	return deleted
}

// join joins several rows of one identity into one. The last of them is not a deletion.
func (m *merger) join(rows []segment.RowRef) segment.RowRef {
	// Only values since the latest marked row count. A deletion has no values.
	begins, after := false, false // begins: at a marked row; after: after a deletion
	for i := len(rows) - 1; i >= 0 && !begins; i-- {
		if after, begins = m.mark(rows[i]); begins {
			rows = rows[i:]
		}
	}
	if after {
		rows = rows[1:]
	}
	if len(rows) == 1 && !after {
		return rows[0]
	}
	if m.columns == nil {
		m.columns, m.at = map[uint32]*column.Col{}, uint32(len(m.batches))
	}
	for i := len(rows) - 1; i >= 0; i-- {
		b := m.batches[rows[i].Batch]
		for j := range b.Cols {
			v := &b.Cols[j]
			if v.ID == schema.DeletedColumnID || v.IsNull(int(rows[i].Row)) {
				continue
			}
			c := m.columns[v.ID]
			if c == nil {
				// The other rows may have the column in another type that widens to the table's
				// type.
				t := m.types[v.ID]
				if v.Type.Widens(t) == schema.WidensNever {
					continue
				}
				c = m.joined.Add(schema.Column{ID: v.ID, Type: t, Semantic: schema.Field})
				m.columns[v.ID] = c
			}
			if !c.Has(m.rows) && v.Type.Widens(c.Type) != schema.WidensNever {
				c.SetFrom(m.rows, v, int(rows[i].Row))
			}
		}
	}
	if begins {
		c := m.columns[schema.DeletedColumnID]
		if c == nil {
			c = m.joined.Add(schema.DeletedColumn())
			m.columns[schema.DeletedColumnID] = c
		}
		c.SetInt(m.rows, 0)
	}
	ref := segment.RowRef{Time: rows[0].Time, Batch: m.at, Row: uint32(m.rows)}
	m.joined.EndRow()
	if m.rows++; m.rows == maxJoined || m.joined.ByteSize() > maxJoinedBytes {
		m.finish()
	}
	return ref
}

// finish makes a batch of the joined rows.
func (m *merger) finish() {
	if m.rows == 0 {
		return
	}
	m.joined.Finish()
	b, err := column.Decode(m.joined.Encode(nil, column.Header{}), nil)
	if err != nil {
		panic("merge: a batch that was just encoded cannot be decoded: " + err.Error())
	}
	m.batches = append(m.batches[:len(m.batches):len(m.batches)], b)
	m.joined.Reset()
	m.columns, m.rows = nil, 0
}
