package engine

import (
	"fmt"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/shard/query"
)

// exposedNames returns the names under which a statement sees the columns. The engine
// does not tell upper from lower case, so of two names that differ only in case the
// later one gets a suffix: columns A and a are seen as A and a_1.
func exposedNames(columns []schema.Column) []string {
	taken := make(map[string]bool, len(columns))
	for _, c := range columns {
		taken[lowerASCII(c.Name)] = false
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		name := strings.ReplaceAll(c.Name, "\x00", "\ufffd")
		if name == "" {
			name = "_"
		}
		key := lowerASCII(name)
		for n := 1; taken[key]; n++ {
			candidate := fmt.Sprintf("%s_%d", name, n)
			if _, used := taken[lowerASCII(candidate)]; !used {
				name, key = candidate, lowerASCII(candidate)
			}
		}
		taken[key] = true
		names[i] = name
	}
	return names
}

// shadowedNames returns, by its own name, the name that the engine knows a column
// under whose name differs only in case from an earlier one's. A name that another of
// the tables has unshadowed is left out: it cannot be told whose is meant.
func shadowedNames(tables []*tableView) map[string]string {
	var shadowed map[string]string
	for _, v := range tables {
		for k, name := range v.names {
			if own := v.columns[k].Name; name != own {
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
		for k, name := range v.names {
			if other, ok := shadowed[v.columns[k].Name]; ok && other != name {
				delete(shadowed, v.columns[k].Name)
			}
		}
	}
	return shadowed
}

// tableView is a table as a statement sees it.
type tableView struct {
	*query.Table
	// names are those that the engine knows the columns under.
	names   []string
	columns []schema.Column
}

// timeType is the type of the table's time index.
func (v *tableView) timeType() schema.Type {
	if c := v.Schema.TimeIndex(); c != nil {
		return c.Type
	}
	return schema.TimestampNanosecond
}

// newTableView returns the view of t.
func newTableView(t *query.Table) (*tableView, error) {
	if t.Schema == nil || len(t.Schema.Columns) == 0 {
		return nil, errs.New(errs.Internal, "table %s.%s: query without a schema", t.Database, t.Name)
	}
	return &tableView{Table: t, columns: t.Schema.Columns, names: exposedNames(t.Schema.Columns)}, nil
}

// The engine's timestamps of second and microsecond begin long before the year 1.
const year1, year9999 = -62135596800, 253402300799

// since is the condition that a row's time index is at least before.
func (v *tableView) since(before int64) string {
	for i, c := range v.columns {
		units := c.Type.UnitsPerSecond()
		if c.Semantic != schema.Timestamp || units == 0 {
			continue
		}
		if before/units < year1 {
			return ""
		}
		var limit string
		switch c.Type {
		case schema.TimestampNanosecond:
			limit = fmt.Sprintf("make_timestamp_ns(%d)::TIMESTAMP_NS", before)
		case schema.TimestampMicrosecond:
			limit = fmt.Sprintf("make_timestamp(%d)", min(before, year9999*units))
		case schema.TimestampMillisecond:
			limit = fmt.Sprintf("make_timestamp(%d)::TIMESTAMP_MS", 1000*min(before, year9999*units))
		default:
			limit = fmt.Sprintf("make_timestamp(%d)::TIMESTAMP_S", 1000_000*min(before, year9999))
		}
		return quoteName(v.names[i]) + " >= " + limit
	}
	return ""
}
