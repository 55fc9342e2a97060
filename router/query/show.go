package query

import (
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/query/statement"
)

// describer answers the statements that describe databases and tables.
type describer struct {
	names
	quotas Quotas // nil if nothing is limited
}

func (d describer) showDatabases(st *statement.ShowDatabases, _ string) (array.RecordReader, error) {
	var rows [][]string
	for _, name := range d.databaseNames() {
		if like(st.Like, name) {
			rows = append(rows, []string{name})
		}
	}
	return textRows([]string{"Database"}, page(rows, st.Page)), nil
}

// baseTable is the table type of a client's table, and systemView that of a system table.
const (
	baseTable  = "BASE TABLE"
	systemView = "SYSTEM VIEW"
)

func (d describer) showTables(st *statement.ShowTables, database string) (array.RecordReader, error) {
	if st.Database != "" {
		database = st.Database
	}
	if err := d.checkDatabase(database); err != nil {
		return nil, err
	}
	var rows [][]string
	skip := st.Page.Offset
	full := func() bool { return st.Page.Limited && uint64(len(rows)) >= st.Page.Limit }
	add := func(name, kind string) {
		switch {
		case !like(st.Like, name):
		case skip > 0:
			skip--
		case full():
		case st.Full:
			rows = append(rows, []string{name, kind})
		default:
			rows = append(rows, []string{name})
		}
	}
	if schema.ReservedDatabase(database) {
		d.addInternal(database, add)
	} else {
		tables := d.tables(database, true)
		if st.Like == nil { // each table is a row: a page costs its rows
			n := min(skip, uint64(len(tables)))
			tables, skip = tables[n:], skip-n
		}
		for _, t := range tables {
			if full() {
				break
			}
			add(t.Name, baseTable)
		}
	}
	if st.Full {
		return textRows([]string{"Tables", "Table_type"}, rows), nil
	}
	return textRows([]string{"Tables"}, rows), nil
}

// addInternal adds the tables of a database of the server that the caller may see, by name.
func (d describer) addInternal(database string, add func(name, kind string)) {
	kinds := map[string]string{}
	for _, t := range d.systemTables() {
		if strings.EqualFold(t.database, database) {
			kinds[t.name] = systemView
		}
	}
	if strings.EqualFold(database, schema.PrivateDatabase) {
		for _, t := range d.tables(schema.PrivateDatabase, true) {
			kinds[t.Name] = baseTable
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		add(name, kinds[name])
	}
}

// page is a part of a list.
func page(rows [][]string, p statement.Page) [][]string {
	rows = rows[min(p.Offset, uint64(len(rows))):]
	if p.Limited {
		rows = rows[:min(p.Limit, uint64(len(rows)))]
	}
	return rows
}

func (d describer) showCreateTable(st *statement.ShowCreateTable, database string) (array.RecordReader, error) {
	if st.Name.Database != "" {
		database = st.Name.Database
	}
	t, internal := d.internalTable(database, st.Name.Table)
	if schema.ReservedDatabase(database) && !internal {
		return nil, errs.New(errs.Unsupported, "%s.%s is a system table, which cannot be created by a statement; use "+
			"DESCRIBE",
			database, st.Name.Table)
	}
	var err error
	if internal {
		err = d.by().Require(reads(t.Database, t.Name))
	} else {
		t, err = d.readable(database, st.Name.Table)
	}
	if err != nil {
		return nil, err
	}
	return textRows([]string{"Table", "Create Table"}, [][]string{{t.Name, schema.CreateTableSQL(t)}}), nil
}

func (d describer) showCreateDatabase(st *statement.ShowCreateDatabase, _ string) (array.RecordReader, error) {
	if schema.ReservedDatabase(st.Database) {
		return nil, reserved(st.Database)
	}
	if err := d.checkDatabase(st.Database); err != nil {
		return nil, err
	}
	def, _ := d.meta.Database(st.Database)
	text := "CREATE DATABASE IF NOT EXISTS " + schema.QuoteIdent(def.GetName())
	if with := optionsText(schema.WithoutQuotas(def.GetOptions())); with != "" {
		text += " WITH (" + with + ")"
	}
	return textRows([]string{"Database", "Create Database"}, [][]string{{def.GetName(), text}}), nil
}

// optionsText lists options as WITH does, in alphabetical order.
func optionsText(options map[string]string) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(options)) {
		name := key
		if strings.Contains(key, ".") {
			name = schema.QuoteLiteral(key)
		}
		parts = append(parts, name+"="+schema.QuoteLiteral(options[key]))
	}
	return strings.Join(parts, ", ")
}

func (d describer) describe(st *statement.Describe, database string) (array.RecordReader, error) {
	if st.Name.Database != "" {
		database = st.Name.Database
	}
	var columns []schema.Column
	if t, ok := d.internalTable(database, st.Name.Table); ok {
		if err := d.by().Require(reads(t.Database, t.Name)); err != nil {
			return nil, err
		}
		columns = t.Columns
	} else if schema.ReservedDatabase(database) {
		t, err := d.systemTable(database, st.Name.Table)
		if err != nil {
			return nil, err
		}
		columns = t.schema().Columns
	} else {
		t, err := d.readable(database, st.Name.Table)
		if err != nil {
			return nil, err
		}
		columns = t.Columns
	}
	rows := make([][]string, len(columns))
	for i, c := range columns {
		rows[i] = []string{c.Name, c.Type.String(), columnKey(c), nullText(c), defaultText(c), c.Semantic.String()}
	}
	return textRows([]string{"Column", "Type", "Key", "Null", "Default", "Semantic Type"}, rows), nil
}

// columnKey returns PRI for columns that identify a row.
func columnKey(c schema.Column) string {
	if c.Semantic == schema.Tag || c.Semantic == schema.Timestamp {
		return "PRI"
	}
	return ""
}

func nullText(c schema.Column) string {
	if c.NotNull || c.Semantic == schema.Timestamp {
		return "NO"
	}
	return "YES"
}

func defaultText(c schema.Column) string {
	if c.Default == nil {
		return ""
	}
	return *c.Default
}

// like reports whether the name matches the LIKE pattern; nil matches everything.
func like(pattern *string, name string) bool { return pattern == nil || statement.Like(*pattern, name) }
