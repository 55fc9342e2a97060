package pgwire

import (
	"slices"
	"strconv"
	"strings"

	"cordwood/proto/schema"
	"cordwood/router/query/statement"
)

// columnTypes are names of types that mean something else in PostgreSQL than over HTTP, or that are unknown there.
var columnTypes = map[string]string{
	"INT2": "SMALLINT", "INT4": "INT", "INT8": "BIGINT", "FLOAT4": "FLOAT", "FLOAT8": "DOUBLE", "FLOAT": "DOUBLE",
	"BPCHAR": "TEXT", "NAME": "TEXT", "CITEXT": "TEXT", "TIMESTAMP": "TIMESTAMP(6)",
}

// columnType returns the type for a name that a client of this protocol wrote.
func columnType(name string) string {
	upper := strings.ToUpper(name)
	if t := columnTypes[upper]; t != "" {
		return t
	}
	if strings.HasPrefix(upper, "CHARACTER") {
		return "TEXT"
	}
	return name
}

// unstorable are types of PostgreSQL that columns cannot have, with the reason and what to use.
var unstorable = map[string][2]string{
	"SERIAL": {"tables have no sequences", "use BIGINT, and give each row its number"},
	"NUMERIC": {
		"tables store no decimals", "use DOUBLE PRECISION, BIGINT for a multiple, or TEXT to keep all digits",
	},
	"DATE":     {"tables store no days", "use TIMESTAMP(0)"},
	"TIME":     {"tables store no times of day", "use TEXT"},
	"INTERVAL": {"tables store no intervals", "use BIGINT for a number of seconds, or TEXT"},
	"INET":     {"tables store no addresses", "use TEXT"},
	"BIT":      {"tables store no bit strings", "use TEXT"},
}

// sameUnstorable maps other names to the names in unstorable.
var sameUnstorable = map[string]string{
	"SERIAL2": "SERIAL", "SERIAL4": "SERIAL", "SERIAL8": "SERIAL", "SMALLSERIAL": "SERIAL", "BIGSERIAL": "SERIAL",
	"DECIMAL": "NUMERIC", "DEC": "NUMERIC", "MONEY": "NUMERIC", "TIMETZ": "TIME", "CIDR": "INET", "MACADDR": "INET",
	"VARBIT": "BIT",
}

// checkTypes returns an error if a new column has a type of PostgreSQL that columns cannot have.
func checkTypes(columns ...statement.ColumnDef) error {
	for _, col := range columns {
		name, _, _ := strings.Cut(strings.ToUpper(col.Type), "(")
		name, _, _ = strings.Cut(name, " ")
		why, known := unstorable[orElse(sameUnstorable[name], name)]
		if _, err := schema.ParseType(columnType(col.Type)); err != nil && known {
			return unsupported("column %q cannot have the type %s, because %s", excerpt(col.Name),
				strings.ToLower(excerpt(col.Type)), why[0]).withHint("%s", why[1])
		}
	}
	return nil
}

// storedAsText returns the columns of a new table, or the new column of a table, that get the type text although the
// client wrote uuid.
func storedAsText(st statement.Statement) (names []string) {
	var columns []statement.ColumnDef
	switch st := st.(type) {
	case *statement.CreateTable:
		columns = st.Columns
	case *statement.AlterTable:
		if st.Add != nil {
			columns = []statement.ColumnDef{*st.Add}
		}
	}
	for _, col := range columns {
		if strings.EqualFold(col.Type, "uuid") {
			names = append(names, col.Name)
		}
	}
	return names
}

// uuidsAreTexts is the notice about columns of the type uuid.
func uuidsAreTexts(names []string) *Error {
	for i, name := range names {
		names[i] = strconv.Quote(excerpt(name))
	}
	notice := failure("00000", "uuid is stored as text: %s", strings.Join(names, ", "))
	notice.Severity, notice.Hint = "NOTICE", "columns have no type uuid; cast a value by ::uuid"
	return notice
}

// define gives the types of new columns and the key of a new table PostgreSQL's meaning. It returns the column that it
// chose as the time index, or an empty string.
func define(st statement.Statement) (timeIndex string) {
	switch st := st.(type) {
	case *statement.CreateTable:
		for i := range st.Columns {
			st.Columns[i].Type = columnType(st.Columns[i].Type)
		}
		timeIndex = chooseTimeIndex(st)
		dropTimeFromKey(st)
	case *statement.AlterTable:
		if st.Add != nil {
			st.Add.Type = columnType(st.Add.Type)
		}
		if st.Modify != nil {
			st.Modify.Type = columnType(st.Modify.Type)
		}
	}
	return timeIndex
}

// dropTimeFromKey removes the time index from the primary key. It is always part of a row's identity, and the catalog
// shows it as the first column of the key.
func dropTimeFromKey(st *statement.CreateTable) {
	index := slices.Clone(st.TimeIndex)
	for _, col := range st.Columns {
		if col.TimeIndex {
			index = append(index, col.Name)
		}
	}
	if len(index) != 1 {
		return // the statement is invalid
	}
	for i := range st.Columns {
		if st.Columns[i].Name == index[0] {
			st.Columns[i].PrimaryKey = false
		}
	}
	st.PrimaryKey = slices.DeleteFunc(st.PrimaryKey, func(name string) bool { return name == index[0] })
}

// chooseTimeIndex makes the only column with times the time index of a new table, because programs that create tables
// in PostgreSQL know no time index. Of several such columns, it takes the only one in the primary key; without such a
// key, the statement must name one. It returns the name of the column, or an empty string if it chose none.
func chooseTimeIndex(st *statement.CreateTable) string {
	if len(st.TimeIndex) > 0 {
		return ""
	}
	found, inKey, times, keyed := -1, -1, 0, 0
	for i, col := range st.Columns {
		if col.TimeIndex {
			return ""
		}
		if t, err := schema.ParseType(col.Type); err != nil || t.UnitsPerSecond() == 0 {
			continue
		}
		found, times = i, times+1
		if col.PrimaryKey || slices.Contains(st.PrimaryKey, col.Name) {
			inKey, keyed = i, keyed+1
		}
	}
	switch {
	case times == 0 || times > 1 && keyed != 1:
		return ""
	case times > 1:
		found = inKey
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
