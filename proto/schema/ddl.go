package schema

import (
	"maps"
	"slices"
	"strings"
)

// CreateTableSQL returns the statement that creates a table like t, as SHOW CREATE TABLE
// prints it: columns in schema order, the time index, the primary key of the tags,
// and the options in alphabetical order.
//
//	CREATE TABLE IF NOT EXISTS "d_table_2436" (
//	  "time" TIMESTAMP(9) NOT NULL,
//	  "id" STRING NULL,
//	  TIME INDEX ("time")
//	) ENGINE=mito WITH (append_mode='true', ttl='1day')
//
// A table that merges rows always shows append_mode and merge_mode. The comment of tables
// that a write created is left out. A column's default is printed as it was given. t need
// not be indexed.
func CreateTableSQL(t *Table) string {
	var s strings.Builder
	s.WriteString("CREATE TABLE IF NOT EXISTS " + QuoteIdent(t.Name) + " (\n")
	for i, c := range t.Columns {
		if i > 0 {
			s.WriteString(",\n")
		}
		s.WriteString("  " + ColumnSQL(c))
	}
	if c := t.TimeIndex(); c != nil {
		s.WriteString(",\n  TIME INDEX (" + QuoteIdent(c.Name) + ")")
	}
	if tags := t.Tags(); len(tags) > 0 {
		names := make([]string, len(tags))
		for i, c := range tags {
			names[i] = QuoteIdent(c.Name)
		}
		s.WriteString(",\n  PRIMARY KEY (" + strings.Join(names, ", ") + ")")
	}
	s.WriteString("\n) ENGINE=mito")
	if with := optionsSQL(shownOptions(t)); with != "" {
		s.WriteString(" WITH (" + with + ")")
	}
	return s.String()
}

// ColumnSQL returns a column's definition in CREATE TABLE.
func ColumnSQL(c Column) string {
	s := QuoteIdent(c.Name) + " " + c.Type.SQL()
	if c.NotNull || c.Semantic == Timestamp {
		s += " NOT NULL"
	} else {
		s += " NULL"
	}
	if c.Default != nil {
		s += " DEFAULT " + *c.Default
	}
	if c.Index != nil {
		s += " " + c.Index.SQL()
	}
	return s
}

// shownOptions returns the options of t, and the default options of a table that merges rows.
func shownOptions(t *Table) map[string]string {
	if t.AppendMode() {
		return t.Options
	}
	shown := map[string]string{OptionAppendMode: "false", OptionMergeMode: t.MergeMode()}
	maps.Copy(shown, t.Options)
	return shown
}

func optionsSQL(options map[string]string) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(options)) {
		// How the table was created is not one of its properties.
		if key == OptionAutoCreateTable || key == OptionComment && options[key] == CreatedOnInsertion {
			continue
		}
		name := key
		if leading(key, isPlainOption) != len(key) || key == "" {
			name = QuoteLiteral(key)
		}
		parts = append(parts, name+"="+QuoteLiteral(options[key]))
	}
	return strings.Join(parts, ", ")
}

func isPlainOption(c byte) bool { return isLetter(c) || c == '_' }
