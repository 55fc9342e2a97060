package engine

import (
	"fmt"
	"strings"

	"cordwood/proto/column"
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
func shadowedNames(views []*view) map[string]string {
	var shadowed map[string]string
	for _, v := range views {
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
	for _, v := range views {
		for k, name := range v.names {
			if other, ok := shadowed[v.columns[k].Name]; ok && other != name {
				delete(shadowed, v.columns[k].Name)
			}
		}
	}
	return shadowed
}

// lowerASCII folds names as the engine does.
func lowerASCII(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 'A' && s[i] <= 'Z' {
			b := []byte(s)
			for k := i; k < len(b); k++ {
				if b[k] >= 'A' && b[k] <= 'Z' {
					b[k] |= 0x20
				}
			}
			return string(b)
		}
	}
	return s
}

// view makes a table readable: segments by read_parquet, batches by cordwood_scan.
type view struct {
	names   []string
	columns []schema.Column
	rel     *relation // nil: no batches
	files   []string
	// expired is the condition that hides expired rows, or empty.
	expired string
}

// newView prepares the view of t. The caller releases it after the query.
func newView(t *query.Table) (*view, error) {
	if t.Schema == nil || len(t.Schema.Columns) == 0 {
		return nil, errs.New(errs.Internal, "table %s.%s: query without a schema", t.Database, t.Name)
	}
	v := &view{columns: t.Schema.Columns, names: exposedNames(t.Schema.Columns)}
	hide := false
	for _, s := range t.Segments {
		if t.ExpiredBefore != nil && s.MaxTime < *t.ExpiredBefore {
			continue
		}
		hide = hide || t.ExpiredBefore != nil && s.MinTime < *t.ExpiredBefore
		v.files = append(v.files, s.Path)
	}
	var live []*column.Batch
	for _, b := range t.Batches {
		if b.Rows == 0 || t.ExpiredBefore != nil && b.MaxTime < *t.ExpiredBefore {
			continue
		}
		hide = hide || t.ExpiredBefore != nil && b.MinTime < *t.ExpiredBefore
		live = append(live, b)
	}
	if hide {
		v.expired = v.notExpired(*t.ExpiredBefore)
	}
	if len(live) == 0 && len(v.files) > 0 {
		return v, nil
	}
	rel, err := lend(v.names, v.columns, live)
	if err != nil {
		return nil, errs.Wrap(errs.Internal, err, "table %s.%s", t.Database, t.Name)
	}
	v.rel = rel
	return v, nil
}

func (v *view) release() {
	if v.rel != nil {
		v.rel.release()
		v.rel = nil
	}
}

// notExpired is the condition that a row's time index is at least before.
func (v *view) notExpired(before int64) string {
	for i, c := range v.columns {
		units := c.Type.UnitsPerSecond()
		if c.Semantic != schema.Timestamp || units == 0 {
			continue
		}
		// The engine's timestamps of second and microsecond begin long before the year 1.
		const year1, year9999 = -62135596800, 253402300799
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

// sql is the statement that creates the view under the given name.
func (v *view) sql(schemaName, name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE VIEW %s.%s AS ", quoteName(schemaName), quoteName(name))
	if len(v.files) > 0 {
		v.selectFrom(&b, true)
		b.WriteString("read_parquet(" + quoteList(v.files) + ", hive_partitioning = false, schema = MAP {")
		for i, c := range v.columns {
			if i > 0 {
				b.WriteString(", ")
			}
			// By field id: a file may lack the column, or have it under an older name.
			fmt.Fprintf(&b, "%d: {name: %s, type: '%s', default_value: NULL}", c.ID, quoteText(v.names[i]), duckTypes[c.Type].sql)
		}
		b.WriteString("})")
		v.where(&b)
	}
	if v.rel != nil {
		if len(v.files) > 0 {
			b.WriteString(" UNION ALL ")
		}
		v.selectFrom(&b, false)
		fmt.Fprintf(&b, "cordwood_scan(%d::UBIGINT)", v.rel.id())
		v.where(&b)
	}
	return b.String()
}

func (v *view) selectFrom(b *strings.Builder, parquet bool) {
	b.WriteString("SELECT ")
	for i, c := range v.columns {
		if i > 0 {
			b.WriteString(", ")
		}
		name := quoteName(v.names[i])
		if parquet && c.Type == schema.JSON {
			name = "cordwood_json(" + name + ") AS " + name
		}
		b.WriteString(name)
	}
	b.WriteString(" FROM ")
}

func (v *view) where(b *strings.Builder) {
	if v.expired != "" {
		b.WriteString(" WHERE " + v.expired)
	}
}
