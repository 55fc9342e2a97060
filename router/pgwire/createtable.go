package pgwire

import (
	"cordwood/proto/schema"
	"cordwood/router/query/statement"
)

// chooseTimeIndex makes the only column with times the time index of a new table, because programs that create tables
// in PostgreSQL know no time index. A table with several such columns must name one.
func (c *conn) chooseTimeIndex(st *statement.CreateTable) {
	if len(st.TimeIndex) > 0 {
		return
	}
	found := -1
	for i, col := range st.Columns {
		if col.TimeIndex {
			return
		}
		if t, err := schema.ParseType(col.Type); err != nil || t.UnitsPerSecond() == 0 {
			continue
		}
		if found >= 0 {
			return
		}
		found = i
	}
	if found < 0 {
		return
	}
	st.Columns[found].TimeIndex = true
	notice := failure("00000", "column %q is the time index of table %q", excerpt(st.Columns[found].Name),
		excerpt(st.Name.Table))
	notice.Severity = "NOTICE"
	c.notice(notice)
}
