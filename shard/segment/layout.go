package segment

import (
	"cordwood/proto/schema"
)

// ColumnsOf returns the columns that the file has of a table: those of its rows, under the
// names and types that the table gave them when the segment was written.
func (m *Meta) ColumnsOf(t *schema.Table) []Column {
	if !m.Shared() {
		return m.Columns
	}
	var out []Column
	for i := range t.Columns {
		if c := m.likely(&t.Columns[i]); c != nil {
			out = append(out, *c)
		}
	}
	for i := range m.Columns {
		if m.Columns[i].ID == schema.DeletedColumnID {
			out = append(out, m.Columns[i])
		}
	}
	return out
}

// likely is the column of a shared file that a table's column probably is: the one of the
// same name and type, else one that it may have been before it was renamed or widened.
func (m *Meta) likely(def *schema.Column) (found *Column) {
	for i := range m.Columns {
		c := &m.Columns[i]
		if c.ID != def.ID || c.Semantic != def.Semantic || c.Type.Widens(def.Type) == schema.WidensNever {
			continue
		}
		if c.Type == def.Type && c.TableName() == def.Name {
			return c
		}
		if found == nil {
			found = c
		}
	}
	return found
}
