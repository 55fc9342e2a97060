package query

import "cordwood/proto/schema"

// CountRows returns the number of rows of a table, if the numbers of rows in its segments and batches determine it:
// none of them is hidden, or has to be merged with others.
func CountRows(t *Table) (rows int64, ok bool) {
	if t.Merges() {
		return 0, false
	}
	for i := range t.Segments {
		s := &t.Segments[i]
		if s.Damaged != "" || t.ExpiredBefore != nil && s.MinTime < *t.ExpiredBefore {
			return 0, false
		}
		for k := range s.Columns {
			if s.Columns[k].ID == schema.DeletedColumnID {
				return 0, false
			}
		}
		rows += s.Rows
	}
	for _, b := range t.Batches {
		if b.Column(schema.DeletedColumnID) != nil || t.ExpiredBefore != nil && b.MinTime < *t.ExpiredBefore {
			return 0, false
		}
		rows += int64(b.Rows)
	}
	return rows, true
}
