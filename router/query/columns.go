package query

import (
	"slices"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/query/statement"
)

// timeIndexOf returns the position of the time index among the columns of a table. index has the column names in
// TIME INDEX clauses, and at the positions of all columns.
func timeIndexOf(st *statement.CreateTable, index []string, at map[string]int) (int, error) {
	switch {
	case len(index) == 0:
		return 0, errs.New(errs.InvalidArguments, "CREATE TABLE %s: a table needs a time index; add TIME INDEX (column) "+
			"for one of its TIMESTAMP columns", st.Name.Table)
	case len(index) > 1:
		return 0, errs.New(errs.InvalidArguments, "CREATE TABLE %s: a table has exactly one time index, not %s",
			st.Name.Table, strings.Join(index, " and "))
	}
	i, ok := at[index[0]]
	if !ok {
		return 0, errs.New(errs.ColumnNotFound, "CREATE TABLE %s: TIME INDEX names the column %q, which is not defined",
			st.Name.Table, index[0])
	}
	return i, nil
}

// tableColumns checks the columns and clauses of CREATE TABLE against each other.
func tableColumns(st *statement.CreateTable) ([]schema.Column, error) {
	bad := func(format string, args ...any) error { return badTable(st, format, args...) }
	columns := make([]schema.Column, 0, len(st.Columns))
	at := make(map[string]int, len(st.Columns))
	index := st.TimeIndex
	keys := slices.Clone(st.PrimaryKey)
	inline := 0
	for i, def := range st.Columns {
		if _, twice := at[def.Name]; twice {
			return nil, errs.New(errs.ColumnExists, "CREATE TABLE %s: column %q is defined twice", st.Name.Table, def.Name)
		}
		at[def.Name] = i
		c, err := newColumn(&def)
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
		if def.TimeIndex {
			index = append(index, def.Name)
		}
		if def.PrimaryKey {
			inline++
			keys = append(keys, def.Name)
		}
	}
	if inline > 1 || inline == 1 && len(st.PrimaryKey) > 0 {
		return nil,
			bad("PRIMARY KEY is given more than once; write one clause for all columns of the key: PRIMARY KEY (a, b)")
	}
	i, err := timeIndexOf(st, index, at)
	if err != nil {
		return nil, err
	}
	c := &columns[i]
	switch {
	case !c.Type.IsTimestamp():
		return nil, bad("the time index %q is of type %s; it must be a TIMESTAMP", c.Name, c.Type)
	case st.Columns[i].Null:
		return nil, bad("the time index %q cannot be NULL", c.Name)
	}
	c.Semantic, c.NotNull = schema.Timestamp, true
	return columns, setTags(st, columns, keys, at)
}

// setTags makes the columns of the primary key tags. at has the indexes of the columns by their names.
func setTags(st *statement.CreateTable, columns []schema.Column, keys []string, at map[string]int) error {
	for _, key := range keys {
		i, ok := at[key]
		if !ok {
			return errs.New(errs.ColumnNotFound, "CREATE TABLE %s: PRIMARY KEY names the column %q, which is not defined",
				st.Name.Table, key)
		}
		switch columns[i].Semantic {
		case schema.Timestamp:
			return badTable(st, "%q is the time index, which is always part of a row's identity; leave it out of PRIMARY KEY",
				key)
		case schema.Tag:
			return badTable(st, "PRIMARY KEY names %q twice", key)
		}
		columns[i].Semantic = schema.Tag
	}
	return nil
}

// badTable returns the error of columns or clauses that a table cannot have.
func badTable(st *statement.CreateTable, format string, args ...any) error {
	return errs.New(errs.InvalidArguments, "CREATE TABLE "+st.Name.Table+": "+format, args...)
}

// newColumn checks a column definition and returns the column.
func newColumn(def *statement.ColumnDef) (schema.Column, error) {
	if err := schema.CheckColumnName(def.Name); err != nil {
		return schema.Column{}, err
	}
	typ, err := schema.ParseType(def.Type)
	if err != nil {
		return schema.Column{}, errs.Wrap(errs.InvalidSyntax, err, "column %q", def.Name)
	}
	if def.Null && def.NotNull {
		return schema.Column{}, errs.New(errs.InvalidSyntax, "column %q: NULL and NOT NULL exclude each other", def.Name)
	}
	c := schema.Column{Name: def.Name, Type: typ, Semantic: schema.Field, NotNull: def.NotNull}
	if def.NotNull && def.Default != nil && def.Default.Kind == statement.Null {
		return schema.Column{}, errs.New(errs.InvalidArguments, "column %q: NOT NULL and DEFAULT NULL exclude each other",
			def.Name)
	}
	if def.Default != nil && def.Default.Kind != statement.Null {
		text, err := defaultLiteral(*def.Default, typ)
		if err != nil {
			return schema.Column{}, errs.Wrap(errs.InvalidArguments, err, "column %q: DEFAULT %s", def.Name, def.Default.SQL())
		}
		c.Default = &text
	}
	if def.Index != nil {
		if c.Index, err = newIndex(def.Index, typ); err != nil {
			return schema.Column{}, errs.Wrap(errs.InvalidArguments, err, "column %q", def.Name)
		}
	}
	return c, nil
}

// newIndex returns the index for a column of type t.
func newIndex(def *statement.IndexDef, t schema.Type) (*schema.Index, error) {
	kind, ok := schema.ParseIndexKind(def.Kind)
	if !ok {
		return nil, errs.New(errs.InvalidSyntax, "%s INDEX is not known", def.Kind)
	}
	options := make(map[string]string, len(def.Options))
	for _, o := range def.Options {
		key := strings.ToLower(o.Key)
		if _, twice := options[key]; twice {
			return nil, errs.New(errs.InvalidArguments, "option %s is given twice", key)
		}
		options[key] = o.Value
	}
	return schema.NewIndex(kind, t, options)
}
