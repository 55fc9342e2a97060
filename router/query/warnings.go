package query

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"cordwood/proto/schema"
	"cordwood/proto/words"
	"cordwood/router/query/statement"
)

// Warnings describe unexpected effects of a statement.

// alterTableWarnings returns the warnings of ALTER TABLE.
func (d definer) alterTableWarnings(st *statement.AlterTable, database string) []string {
	t, err := d.writable(st.Name, database)
	switch {
	case err != nil:
		return nil
	case st.Add != nil && st.AddIfNotExists && t.Column(st.Add.Name) != nil:
		return typeWarnings(t, st.Add)
	case st.Add != nil:
		return defaultWarnings(t, st.Add)
	case st.Modify != nil:
		return indexWarnings(t, st.Modify)
	case t.AppendMode() && optionGiven(st.Set, schema.OptionMergeMode):
		return []string{fmt.Sprintf(noMerging, "table "+t.Database+"."+t.Name)}
	}
	own, of := t.Options[schema.OptionTTL], d.databaseTTL(t.Database)
	return slices.Concat(zeroWarnings(st.Set), expiryWarnings(d.ttl(t),
		schema.EffectiveTTL(changedTTL(own, st.Set, st.Unset), of), "table "+t.Database+"."+t.Name),
		sizeWarnings(t, st.Set))
}

// sizeWarnings warns that rows expire because of a max_size that is lower than before, or new.
func sizeWarnings(t *schema.Table, set []statement.Option) []string {
	if !optionGiven(set, schema.OptionMaxSize) {
		return nil
	}
	before := schema.MaxSize(t.Options)
	after := schema.MaxSize(map[string]string{schema.OptionMaxSize: optionOf(set, schema.OptionMaxSize)})
	if after == 0 || before != 0 && before <= after {
		return nil
	}
	return []string{fmt.Sprintf("if the files and objects of table %s.%s have more than %s, its oldest rows expire from "+
		"now on: no query shows them, and they are deleted soon", t.Database, t.Name, words.FormatBytes(after))}
}

// zeroWarnings warns that a ttl of 0, or an empty one, does not remove rows, and that local_for of 0 does not keep rows
// off local disks.
func zeroWarnings(options []statement.Option) (out []string) {
	for _, o := range options {
		value := strings.TrimSpace(o.Value)
		switch key := optionKey(o.Key); {
		case key == schema.OptionTTL && schema.ZeroTTL(o.Value):
			out = append(out, "ttl is "+cmp.Or(value, "empty")+": rows are kept forever")
		case key == schema.OptionLocalFor && value != "" && schema.ZeroTTL(o.Value):
			out = append(out, "local_for is "+value+": local files stay as long as their rows, as with forever")
		}
	}
	return out
}

// createDatabaseWarnings returns the warnings of CREATE DATABASE.
func (d definer) createDatabaseWarnings(st *statement.CreateDatabase, _ string) []string {
	if st.IfNotExists && d.checkDatabase(st.Database) == nil {
		return nil // and stays as it is
	}
	return zeroWarnings(st.Options)
}

// alterDatabaseWarnings returns the warnings of ALTER DATABASE.
func (d definer) alterDatabaseWarnings(st *statement.AlterDatabase, _ string) []string {
	own := d.databaseTTL(st.Database)
	return append(zeroWarnings(st.Set), expiryWarnings(schema.EffectiveTTL("", own),
		schema.EffectiveTTL("", changedTTL(own, st.Set, st.Unset)),
		"the tables of database "+st.Database+" without a ttl of their own")...)
}

// changedTTL returns the new value of the option ttl.
func changedTTL(text string, set []statement.Option, unset []string) string {
	for _, o := range set {
		if optionKey(o.Key) == schema.OptionTTL {
			text = o.Value
		}
	}
	if slices.ContainsFunc(unset, func(key string) bool { return optionKey(key) == schema.OptionTTL }) {
		return ""
	}
	return text
}

// noMerging is the warning about a merge_mode that has no effect.
const noMerging = "%s keeps all rows (append_mode='true'), so its merge_mode has no effect; " +
	"only a table that is created with append_mode='false' merges rows"

func optionGiven(list []statement.Option, name string) bool {
	return slices.ContainsFunc(list, func(o statement.Option) bool { return optionKey(o.Key) == name })
}

// optionOf returns the value of an option in a statement; "" if it is not set.
func optionOf(list []statement.Option, name string) (value string) {
	for _, o := range list {
		if optionKey(o.Key) == name {
			value = o.Value
		}
	}
	return value
}

// expiryWarnings describes the effect of a changed ttl on stored rows.
func expiryWarnings(before, after schema.TTL, of string) []string {
	const sometime = 1_000_000_000 // any moment does
	limit, expire := after.ExpiredBefore(time.Unix(sometime, 0), schema.TimestampSecond)
	old, did := before.ExpiredBefore(time.Unix(sometime, 0), schema.TimestampSecond)
	switch {
	case after.Instant && !before.Instant:
		return []string{
			fmt.Sprintf("new rows of %s are discarded from now on (ttl 'instant'); stored rows stay",
				of),
		}
	case expire && (!did || old < limit):
		return []string{
			fmt.Sprintf("rows of %s that are older than %s have expired: no query shows them, and they are deleted soon", of,
				after),
		}
	case did && (!expire || limit < old) && !after.Instant:
		return []string{
			fmt.Sprintf("rows of %s that are older than %s had expired: those that have been deleted do not return, "+
				"the others are shown again", of, before),
		}
	}
	return nil
}

// createTableWarnings returns the warnings of CREATE TABLE.
func (d definer) createTableWarnings(table *statement.CreateTable, database string) []string {
	if table.IfNotExists {
		if _, err := d.writable(table.Name, database); err == nil {
			return nil // and stays as it is
		}
	}
	return append(zeroWarnings(table.Options), d.mergeWarnings(table, database)...)
}

// mergeWarnings warns that a table merges rows although its definition does not say so, and that it merges all rows
// with the same time if it has no primary key.
func (d definer) mergeWarnings(table *statement.CreateTable, database string) []string {
	columns, err := tableColumns(table)
	if optionGiven(table.Options, schema.OptionMergeMode) && d.appends(table, database) {
		return []string{fmt.Sprintf(noMerging, "the table")}
	}
	if err != nil {
		return nil
	}
	if !slices.ContainsFunc(columns, func(c schema.Column) bool { return c.Semantic == schema.Tag }) {
		if d.appends(table, database) {
			return nil
		}
		return []string{schema.NoKeyWarning("the table", optionOf(table.Options, schema.OptionMergeMode))}
	}
	if optionGiven(table.Options, schema.OptionAppendMode) || optionGiven(table.Options, schema.OptionMergeMode) {
		return nil
	}
	return []string{
		"the table merges rows: of rows with the same primary key and time it shows the last one; " +
			"WITH (append_mode='true') keeps all rows",
	}
}

// appends reports whether the table that a statement makes keeps all rows.
func (d definer) appends(st *statement.CreateTable, database string) bool {
	cmd, err := d.createTable(st, database)
	return err == nil && cmd.GetCreateTable().GetTable().GetOptions()[schema.OptionAppendMode] == "true"
}

// typeWarnings warns that a column in ADD COLUMN IF NOT EXISTS exists with another type.
func typeWarnings(t *schema.Table, def *statement.ColumnDef) []string {
	have := t.Column(def.Name)
	if typ, err := schema.ParseType(def.Type); err != nil || typ == have.Type {
		return nil
	}
	return []string{fmt.Sprintf("column %s of table %s.%s exists already, with the type %s: it was not changed",
		def.Name, t.Database, t.Name, have.Type)}
}

// defaultWarnings warns that existing rows do not get the default of a new column.
func defaultWarnings(t *schema.Table, def *statement.ColumnDef) []string {
	c, err := addedColumn(t, def)
	if err != nil || c.Default == nil || c.NotNull {
		return nil
	}
	why := "it may be NULL"
	if !showsDefault(&c, def) {
		why = "a tag, a TIMESTAMP and a BINARY cannot show another value"
	}
	return []string{fmt.Sprintf("existing rows of table %s.%s are null in column %s, not %s: %s",
		t.Database, t.Name, c.Name, def.Default.SQL(), why)}
}

// indexWarnings warns that an index replaces one of another kind.
func indexWarnings(t *schema.Table, m *statement.ModifyColumn) []string {
	c := t.Column(m.Name)
	if c == nil || c.Index == nil || m.SetIndex == nil {
		return nil
	}
	if kind, ok := schema.ParseIndexKind(m.SetIndex.Kind); ok && kind != c.Index.Kind {
		return []string{
			fmt.Sprintf("column %s of table %s.%s had a %s index, which the %s index replaces: "+
				"a column has one index", c.Name, t.Database, t.Name, c.Index.Kind, kind),
		}
	}
	return nil
}
