package query

import (
	"encoding/binary"
	"slices"
	"strings"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/query/statement"
)

// checkConflict returns an error unless the table stores rows exactly as ON CONFLICT demands. A table that keeps every
// row has no conflicts. A table that merges rows replaces older rows by newer ones, without reading the older ones.
func checkConflict(t *schema.Table, st *statement.Insert, rows *column.Builder) error {
	c := st.Conflict
	if c == nil {
		return nil
	}
	if named := c.Target != nil || c.Constraint != ""; named && !namesKey(t, c) {
		if t.AppendMode() {
			return errs.New(errs.InvalidArguments, "no unique key matches ON CONFLICT: the table keeps every row, also with "+
				"equal keys; write ON CONFLICT DO NOTHING without columns, or make a table with append_mode='false'")
		}
		return errs.New(errs.InvalidArguments, "no unique key matches ON CONFLICT: the key of the table is (%s)",
			strings.Join(keyColumns(t), ", "))
	}
	switch {
	case t.AppendMode():
		return nil
	case c.Set == nil:
		return errs.New(errs.Unsupported, "ON CONFLICT DO NOTHING is not available for a table that merges rows, because "+
			"INSERT does not read the older row; use DO UPDATE to replace it, or a table with append_mode='true' to keep both")
	}
	if err := checkReplaced(t, c, rows); err != nil {
		return err
	}
	return checkDistinct(t, rows)
}

// namesKey reports whether ON CONFLICT names the key of a table that merges rows.
func namesKey(t *schema.Table, c *statement.Conflict) bool {
	if t.AppendMode() {
		return false
	}
	if c.Constraint != "" {
		return len(t.Tags()) > 0 && c.Constraint == t.Name+"_pkey" // the name in PostgreSQL's catalog
	}
	key, target := keyColumns(t), slices.Clone(c.Target)
	slices.Sort(key)
	slices.Sort(target)
	return slices.Equal(key, slices.Compact(target))
}

// keyColumns returns the columns of the key: the tags and the time index.
func keyColumns(t *schema.Table) []string {
	var names []string
	for _, c := range t.Tags() {
		names = append(names, c.Name)
	}
	return append(names, t.TimeIndex().Name)
}

// checkReplaced checks that DO UPDATE leaves the new row, as the table does. With merge_mode='last_non_null', a null
// leaves the older value.
func checkReplaced(t *schema.Table, c *statement.Conflict, rows *column.Builder) error {
	for _, name := range c.Set {
		if t.Column(name) == nil {
			return findNoColumn(t, name, true)
		}
	}
	stored := make(map[uint32]*column.Col, len(rows.Cols()))
	for _, col := range rows.Cols() {
		stored[col.ID] = col
	}
	var missing []string
	for _, column := range t.Columns {
		col, set := stored[column.ID], slices.Contains(c.Set, column.Name)
		switch {
		case column.Semantic != schema.Field:
		case t.MergeMode() == schema.MergeLastRow:
			if !set {
				missing = append(missing, column.Name)
			}
		case set && (col == nil || col.Nulls() > 0):
			return errs.New(errs.Unsupported, "ON CONFLICT DO UPDATE cannot set column %q to null, because the table has "+
				"merge_mode='last_non_null' and keeps the older value; leave out the column", column.Name)
		case !set && col != nil && col.Nulls() < rows.Rows():
			missing = append(missing, column.Name)
		}
	}
	if missing != nil {
		return errs.New(errs.Unsupported, "ON CONFLICT DO UPDATE must set all columns outside of the key, because the new "+
			"row replaces the older one; add %s = EXCLUDED.%[1]s", missing[0])
	}
	return nil
}

// checkDistinct checks that no two rows have the same key, because the second one would replace the first.
func checkDistinct(t *schema.Table, rows *column.Builder) error {
	var key []*column.Col
	for _, col := range rows.Cols() {
		if t.Column(col.Name).Semantic != schema.Field {
			key = append(key, col)
		}
	}
	seen := make(map[string]int, rows.Rows())
	var buf []byte
	for row := range rows.Rows() {
		buf = buf[:0]
		for _, col := range key {
			switch {
			case col.IsNull(row):
				buf = append(buf, 0)
			case col.Type.IsBytes():
				v := col.Bytes(row)
				buf = append(binary.AppendUvarint(append(buf, 1), uint64(len(v))), v...)
			default:
				buf = binary.AppendVarint(append(buf, 1), col.Int(row))
			}
		}
		if before, again := seen[string(buf)]; again {
			return errs.New(errs.InvalidArguments, "ON CONFLICT DO UPDATE cannot store a row twice: rows %d and %d have "+
				"the same key; send them in separate statements", before+1, row+1)
		}
		seen[string(buf)] = row
	}
	return nil
}
