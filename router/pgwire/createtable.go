package pgwire

import (
	"cordwood/proto/schema"
	"cordwood/router/query/statement"
)

// chooseTimeIndex makes the only column with times the time index of a new table, because programs that create tables
// in PostgreSQL know no time index. A table with several such columns must name one. It returns the name of the column,
// or an empty string if it chose none.
func chooseTimeIndex(st *statement.CreateTable) string {
	if len(st.TimeIndex) > 0 {
		return ""
	}
	found := -1
	for i, col := range st.Columns {
		if col.TimeIndex {
			return ""
		}
		if t, err := schema.ParseType(col.Type); err != nil || t.UnitsPerSecond() == 0 {
			continue
		}
		if found >= 0 {
			return ""
		}
		found = i
	}
	if found < 0 {
		return ""
	}
	st.Columns[found].TimeIndex = true
	return st.Columns[found].Name
}

// timeIndexChosen is the notice about a time index that the client did not name.
func timeIndexChosen(column, table string) *Error {
	notice := failure("00000", "column %q is the time index of table %q", excerpt(column), excerpt(table))
	notice.Severity = "NOTICE"
	return notice
}
