package catalog

import (
	"strings"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

// Limits on what a client can make the metadata group store.
const (
	// MaxColumns is the maximum number of columns of a table.
	MaxColumns = 4096
	// MaxTables is the default maximum number of tables of a cluster.
	MaxTables = 100_000
	// MaxDatabases is the maximum number of databases of a cluster.
	MaxDatabases = 10_000
)

// CheckColumns checks columns of one table: names, types, at most MaxColumns, no name twice, and at
// most one time index, which must be a timestamp. all means that these are all columns of the
// table, so that the time index must be among them. SEMANTIC_UNSPECIFIED marks a field.
func CheckColumns(database, table string, columns []*schemapb.Column, all bool) error {
	name := schema.TableLabel(database, table)
	if len(columns) > MaxColumns {
		return tooManyColumns(database, table, len(columns))
	}
	seen := make(map[string]bool, len(columns))
	timeIndex := ""
	for _, c := range columns {
		if err := CheckColumn(c); err != nil {
			return err
		}
		if seen[c.Name] {
			return errs.New(errs.InvalidArguments, "Column `%s` of table `%s` is defined twice", short(c.Name), name)
		}
		seen[c.Name] = true
		if c.Semantic != schemapb.Semantic_SEMANTIC_TIMESTAMP {
			continue
		}
		if timeIndex != "" {
			return errs.New(errs.InvalidArguments,
				"Table `%s` has two time indexes, `%s` and `%s`; exactly one is needed", name, short(timeIndex), short(c.Name))
		}
		timeIndex = c.Name
	}
	if timeIndex == "" && all {
		return errs.New(errs.InvalidArguments,
			"Table `%s` has no time index; exactly one timestamp column must be the time index", name)
	}
	return nil
}

// CheckColumn checks a single column.
func CheckColumn(c *schemapb.Column) error {
	if err := schema.CheckColumnName(c.Name); err != nil {
		return err
	}
	t := schema.Type(c.Type)
	if c.Type < 0 || c.Type > 255 || !t.Valid() {
		return errs.New(errs.InvalidArguments, "Column `%s` has no valid type (%d)", short(c.Name), c.Type)
	}
	switch c.Semantic {
	case schemapb.Semantic_SEMANTIC_UNSPECIFIED, schemapb.Semantic_SEMANTIC_FIELD, schemapb.Semantic_SEMANTIC_TAG:
	case schemapb.Semantic_SEMANTIC_TIMESTAMP:
		if !t.IsTimestamp() {
			return errs.New(errs.InvalidArguments,
				"Column `%s` is the time index but has type %s; a timestamp type is needed", short(c.Name), t)
		}
	default:
		return errs.New(errs.InvalidArguments, "Column `%s` has no valid semantic type (%d)", short(c.Name), c.Semantic)
	}
	return nil
}

// NewTable returns a table at version 1 with the columns, which must have been checked: ids from 1,
// the time index never null. The caller sets id and placement.
func NewTable(
	database, name string, columns []*schemapb.Column, options map[string]string, unixNano int64,
) *schemapb.Table {
	t := &schemapb.Table{
		Database: database, Name: name, Version: 1, MinWriterVersion: 1, NextColumnId: 1,
		Options: options, CreatedUnixNano: unixNano,
	}
	for _, c := range columns {
		appendColumn(t, c)
	}
	return t
}

// appendColumn adds a copy of c with the next column id.
func appendColumn(t *schemapb.Table, c *schemapb.Column) *schemapb.Column {
	added := &schemapb.Column{
		Id: t.NextColumnId, Name: c.Name, Type: c.Type, Semantic: c.Semantic, NotNull: c.NotNull,
		DefaultValue: c.DefaultValue,
		Index:        c.Index,
	}
	switch added.Semantic {
	case schemapb.Semantic_SEMANTIC_UNSPECIFIED:
		added.Semantic = schemapb.Semantic_SEMANTIC_FIELD
	case schemapb.Semantic_SEMANTIC_TIMESTAMP:
		added.NotNull = true
	}
	added.WithinDouble = c.WithinDouble && mayMark(added)
	t.NextColumnId++
	t.Columns = append(t.Columns, added)
	return added
}

// Grow compares the table with the columns of a write. It adds the missing ones, nullable and after
// the others, and returns how many. If some disagree in type or role, it returns the conflicts, and
// the table must not be used. changed means that the columns of the table have changed. The caller
// must raise the version.
//
// If the cluster's version allows widening, columns of integers become Float64 according to the
// table's option on_type_conflict, and lose their mark WithinDouble if the write requires that.
func Grow(
	t *schemapb.Table, wanted []*schemapb.Column, widen bool,
) (added int, changed bool, conflicts []*metapb.Conflict) {
	byName := make(map[string]*schemapb.Column, len(t.Columns))
	var timeIndex *schemapb.Column
	for _, c := range t.Columns {
		byName[c.Name] = c
		if c.Semantic == schemapb.Semantic_SEMANTIC_TIMESTAMP {
			timeIndex = c
		}
	}
	for _, w := range wanted {
		have := byName[w.Name]
		if have == nil && w.Semantic == schemapb.Semantic_SEMANTIC_TIMESTAMP {
			have = timeIndex // a second time index is not possible
		}
		if have != nil {
			made, ok := columnForWrite(t, have, w, widen)
			switch {
			case !ok:
				conflicts = append(conflicts, &metapb.Conflict{
					Database: t.Database, Table: t.Name, Column: w.Name, Existing: have, Wanted: w,
				})
			case !proto.Equal(made, have):
				changed = true
				proto.Reset(have)
				proto.Merge(have, made)
			}
			continue
		}
		c := appendColumn(t, w)
		c.NotNull = false // existing rows have no value for it
		byName[c.Name] = c
		added++
	}
	return added, changed || added > 0, conflicts
}

// columnForWrite returns the table's column, widened if the write needs that. ok is false if the write does not fit.
func columnForWrite(t *schemapb.Table, have, want *schemapb.Column, widen bool) (made *schemapb.Column, ok bool) {
	if have.Name != want.Name || have.Semantic != semantic(want) {
		return nil, false
	}
	if !widen {
		return have, have.Type == want.Type
	}
	c, ok := schema.ColumnFromProto(have).For(schema.ColumnFromProto(want), schema.ConflictRuleOf(t.Options))
	return c.ToProto(), ok
}

// mayMark reports whether the column may have the mark WithinDouble: its default must not be an
// integer beyond ±2^53.
func mayMark(c *schemapb.Column) bool {
	column := schema.ColumnFromProto(c)
	return column.Marked() && column.ExactDefault()
}

func semantic(c *schemapb.Column) schemapb.Semantic {
	if c.Semantic == schemapb.Semantic_SEMANTIC_UNSPECIFIED {
		return schemapb.Semantic_SEMANTIC_FIELD
	}
	return c.Semantic
}

// ConflictText describes a conflict.
func ConflictText(c *metapb.Conflict) string {
	var s strings.Builder
	s.WriteString("column `" + short(c.Column) + "` of table `" + schema.TableLabel(c.Database, c.Table) + "`: ")
	have, want := schema.ColumnFromProto(c.Existing), schema.ColumnFromProto(c.Wanted)
	switch {
	case have.Name != want.Name:
		s.WriteString("the table's time index is `" + short(have.Name) + "`, a second time index is not possible")
	case have.Type != want.Type:
		s.WriteString("expected type " + have.Type.String() + ", given " + want.Type.String())
	default:
		s.WriteString("expected semantic type " + have.Semantic.String() + ", given " + want.Semantic.String())
	}
	return s.String()
}

func tooManyColumns(database, table string, n int) error {
	return errs.New(errs.InvalidArguments, "Table `%s` would have %d columns, at most %d are allowed; put variable "+
		"keys into one JSON column, or write to several tables",
		schema.TableLabel(database, table), n, MaxColumns)
}

// CheckColumnCount checks the number of columns of a table that has grown.
func CheckColumnCount(t *schemapb.Table) error {
	if len(t.Columns) > MaxColumns {
		return tooManyColumns(t.Database, t.Name, len(t.Columns))
	}
	return nil
}

// AddColumn adds a column for ALTER TABLE.
func AddColumn(t *schemapb.Table, c *schemapb.Column) error {
	if column(t, c.Name) >= 0 {
		return errs.New(errs.ColumnExists, "Column `%s` already exists in table `%s`", short(c.Name),
			schema.TableLabel(t.Database, t.Name))
	}
	if c.Semantic == schemapb.Semantic_SEMANTIC_TIMESTAMP {
		return errs.New(errs.InvalidArguments, "Column `%s` cannot be added as a time index: table `%s` already has one",
			short(c.Name), schema.TableLabel(t.Database, t.Name))
	}
	if c.NotNull && c.DefaultValue == nil {
		return errs.New(errs.InvalidArguments,
			"Column `%s` cannot be added as NOT NULL without a default: rows of table `%s` have no value for it",
			short(c.Name), schema.TableLabel(t.Database, t.Name))
	}
	appendColumn(t, c)
	return CheckColumnCount(t)
}

// DropColumn removes a field. From now on, batches with this column are refused. It also removes
// the column from the options message_column and loki_labels.
func DropColumn(t *schemapb.Table, name string) error {
	i := column(t, name)
	if i < 0 {
		return errs.New(errs.ColumnNotFound, "Column `%s` not found in table `%s`", short(name),
			schema.TableLabel(t.Database, t.Name))
	}
	switch t.Columns[i].Semantic {
	case schemapb.Semantic_SEMANTIC_TIMESTAMP:
		return errs.New(errs.InvalidArguments, "Column `%s` is the time index of table `%s` and cannot be dropped",
			short(name), schema.TableLabel(t.Database, t.Name))
	case schemapb.Semantic_SEMANTIC_TAG:
		return errs.New(errs.InvalidArguments,
			"Column `%s` is part of the primary key of table `%s` and cannot be dropped", short(name),
			schema.TableLabel(t.Database, t.Name))
	}
	t.Columns = append(t.Columns[:i:i], t.Columns[i+1:]...)
	if t.Options[schema.OptionMessageColumn] == name {
		delete(t.Options, schema.OptionMessageColumn)
	}
	dropLabel(t, name)
	t.MinWriterVersion = t.Version + 1
	return nil
}

func column(t *schemapb.Table, name string) int {
	for i, c := range t.Columns {
		if c.Name == name {
			return i
		}
	}
	return -1
}

// SetOptions sets normalised options and checks them together.
func SetOptions(t *schemapb.Table, options map[string]string) (changed bool, err error) {
	merged := make(map[string]string, len(t.Options)+len(options))
	for k, v := range t.Options {
		merged[k] = v
	}
	for k, v := range options {
		merged[k] = v
	}
	wasAppend := t.Options[schema.OptionAppendMode] == "true"
	if v, set := options[schema.OptionAppendMode]; set && wasAppend && v != "true" {
		return false,
			errs.New(errs.InvalidArguments, "append_mode of table `%s` cannot be changed from true to false: rows "+
				"would be merged that were kept apart", schema.TableLabel(t.Database, t.Name))
	}
	if merged[schema.OptionAppendMode] == "true" && merged[schema.OptionMergeMode] == schema.MergeLastNonNull {
		return false, errs.New(errs.InvalidArguments, "Invalid table options of table `%s`, merge_mode: "+
			"last_non_null with append_mode: true; only last_row is allowed with append mode",
			schema.TableLabel(t.Database, t.Name))
	}
	if err := schema.CheckIceberg(merged); err != nil {
		return false, err
	}
	if err := checkColumnOptions(t, options); err != nil {
		return false, err
	}
	changed = len(merged) != len(t.Options)
	for k, v := range merged {
		changed = changed || t.Options[k] != v
	}
	t.Options = merged
	return changed, nil
}

// CheckColumnOptions refuses a table whose option message_column does not name a text column, or whose option
// loki_labels does not name columns that can be labels.
func CheckColumnOptions(t *schemapb.Table) error { return checkColumnOptions(t, t.Options) }

func checkColumnOptions(t *schemapb.Table, options map[string]string) error {
	if name, set := options[schema.OptionMessageColumn]; set {
		if err := checkMessageColumn(t, name); err != nil {
			return err
		}
	}
	for _, name := range schema.LokiLabels(options) {
		if err := checkLabel(t, name); err != nil {
			return err
		}
	}
	return nil
}

// checkLabel refuses a column that cannot be a label: the time index, and JSON, whose members would have to be labels.
func checkLabel(t *schemapb.Table, name string) error {
	c, err := needColumn(t, name)
	if err != nil {
		return errs.New(errs.ColumnNotFound, "loki_labels: Column `%s` not found in table `%s`", short(name),
			schema.TableLabel(t.Database, t.Name))
	}
	if c.Semantic == schemapb.Semantic_SEMANTIC_TIMESTAMP || schema.Type(c.Type) == schema.JSON {
		return errs.New(errs.InvalidArguments, "loki_labels: Column `%s` of table `%s` is a %s and cannot be a label: name "+
			"columns of texts, numbers or booleans", short(name), schema.TableLabel(t.Database, t.Name), schema.Type(c.Type))
	}
	return nil
}

func checkMessageColumn(t *schemapb.Table, name string) error {
	c, err := needColumn(t, name)
	if err != nil {
		return errs.New(errs.ColumnNotFound, "message_column: Column `%s` not found in table `%s`", short(name),
			schema.TableLabel(t.Database, t.Name))
	}
	if schema.Type(c.Type) != schema.String {
		return errs.New(errs.InvalidArguments, "message_column: Column `%s` of table `%s` is a %s, but a String is needed",
			short(name), schema.TableLabel(t.Database, t.Name), schema.Type(c.Type))
	}
	return nil
}

// UnsetOptions resets options to their defaults.
func UnsetOptions(t *schemapb.Table, keys []string) (changed bool, err error) {
	for _, k := range keys {
		v, set := t.Options[k]
		if !set {
			continue
		}
		if k == schema.OptionAppendMode && v == "true" {
			return false, errs.New(errs.InvalidArguments, "append_mode of table `%s` cannot be changed from true to "+
				"false: rows would be merged that were kept apart", schema.TableLabel(t.Database, t.Name))
		}
		delete(t.Options, k)
		changed = true
	}
	return changed, nil
}

// short cuts client text for an error message.
func short(s string) string {
	const most = 80
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
