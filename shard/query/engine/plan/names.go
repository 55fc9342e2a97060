package plan

import (
	"fmt"
	"slices"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/sql"
)

// ExposedNames returns the names under which a statement sees the columns. The engine does not
// distinguish upper and lower case, so of two names that differ only in case the later one gets a
// suffix: columns A and a are seen as A and a_1.
func ExposedNames(columns []schema.Column) []string {
	taken := make(map[string]bool, len(columns))
	for _, c := range columns {
		taken[sql.LowerASCII(c.Name)] = false
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		name := strings.ReplaceAll(c.Name, "\x00", "\ufffd")
		if name == "" {
			name = "_"
		}
		key := sql.LowerASCII(name)
		for n := 1; taken[key]; n++ {
			candidate := fmt.Sprintf("%s_%d", name, n)
			if _, used := taken[sql.LowerASCII(candidate)]; !used {
				name, key = candidate, sql.LowerASCII(candidate)
			}
		}
		taken[key] = true
		names[i] = name
	}
	return names
}

// ShadowedNames returns the names of columns under which DuckDB knows them, by the columns' own
// names, for columns whose name differs only in case from an earlier column's name. It leaves out a
// name that is unambiguous in another table of the statement, because it is not certain which
// column the statement refers to.
func ShadowedNames(tables []*View) map[string]string {
	var shadowed map[string]string
	for _, v := range tables {
		for k, name := range v.Names {
			if own := v.Columns[k].Name; name != own {
				if shadowed == nil {
					shadowed = map[string]string{}
				}
				shadowed[own] = name
			}
		}
	}
	if shadowed == nil {
		return nil
	}
	for _, v := range tables {
		for k, name := range v.Names {
			if other, ok := shadowed[v.Columns[k].Name]; ok && other != name {
				delete(shadowed, v.Columns[k].Name)
			}
		}
	}
	return shadowed
}

// View is a table as a statement sees it.
type View struct {
	*query.Table
	// Names are the names under which DuckDB knows the columns.
	Names   []string
	Columns []schema.Column
}

// timeType returns the type of the table's time index.
func (v *View) timeType() schema.Type {
	if c := v.Schema.TimeIndex(); c != nil {
		return c.Type
	}
	return schema.TimestampNanosecond
}

// newTableView returns the view of t.
func newTableView(t *query.Table) (*View, error) {
	if t.Schema == nil || len(t.Schema.Columns) == 0 {
		return nil, errs.New(errs.Internal, "table %s.%s: the query has no schema for it", t.Database, t.Name)
	}
	if slices.ContainsFunc(t.Segments, func(s query.Segment) bool { return s.Ambiguous }) {
		own := *t // Cold removes columns of its segments
		own.Segments = slices.Clone(t.Segments)
		t = &own
	}
	return &View{Table: t, Columns: t.Schema.Columns, Names: ExposedNames(t.Schema.Columns)}, nil
}

const (
	// Year1 is the first second of year 1. DuckDB's timestamps of seconds and microseconds begin
	// long before.
	Year1 = -62135596800
	// Year9999 is the last second of year 9999.
	Year9999 = 253402300799
)

// since returns the condition that the time index of a row is at least before.
func (v *View) since(before int64) string {
	for i, c := range v.Columns {
		units := c.Type.UnitsPerSecond()
		if c.Semantic != schema.Timestamp || units == 0 {
			continue
		}
		if before/units < Year1 {
			return ""
		}
		var limit string
		switch c.Type {
		case schema.TimestampNanosecond:
			limit = fmt.Sprintf("make_timestamp_ns(%d)::TIMESTAMP_NS", before)
		case schema.TimestampMicrosecond:
			limit = fmt.Sprintf("make_timestamp(%d)", min(before, Year9999*units))
		case schema.TimestampMillisecond:
			limit = fmt.Sprintf("make_timestamp(%d)::TIMESTAMP_MS", 1000*min(before, Year9999*units))
		default:
			limit = fmt.Sprintf("make_timestamp(%d)::TIMESTAMP_S", 1000_000*min(before, Year9999))
		}
		return sql.QuoteName(v.Names[i]) + " >= " + limit
	}
	return ""
}
