package split

import (
	"slices"
	"strings"

	"cordwood/shard/query"
	"cordwood/shard/query/engine/sql"
)

// Combine describes a last step that needs no engine: it combines values of groups, sorts the groups and returns the
// first ones. Columns are those of the partials, by their positions.
type Combine struct {
	Groups        int
	How           []query.How
	Columns       []int
	Orders        []query.Order
	Limited       bool
	Limit, Offset uint64
}

// combined is how the values of an aggregate on several nodes become its value over all rows.
var combined = map[string]query.How{
	"count": query.Sum, "count_star": query.Sum, "sum": query.Sum, "min": query.Least, "max": query.Greatest,
	"bool_and": query.Least, "bool_or": query.Greatest,
}

// countStar is the part that counts rows, as text.
const countStar = "count(*)"

// combine returns how the last step is done without the engine. It returns nil if that step does
// more than combine groups.
func (m *merging) combine() *Combine {
	if m.project || m.pairs != "" || m.sets != nil || m.having != nil || m.ranks || m.best != "" {
		return nil
	}
	out := &Combine{
		Groups: len(m.groups), How: make([]query.How, len(m.parts)), Limited: m.limited, Limit: m.limit, Offset: m.offset,
	}
	for _, item := range m.items {
		at, ok := m.columnOf(item, out)
		if !ok {
			return nil
		}
		out.Columns = append(out.Columns, at)
	}
	for _, o := range m.orders {
		at, ok := m.columnOf(o.by, out)
		if !ok {
			return nil
		}
		out.Orders = append(out.Orders, query.Order{
			Column: at, Descending: strings.HasPrefix(o.how, " DESC"), NullsFirst: strings.HasSuffix(o.how, "FIRST"),
		})
	}
	if slices.Contains(out.How, query.Apart) {
		return nil
	}
	return out
}

// columnOf returns the column of the partials that an expression of the last step combines, and records in out how
// it is combined. It returns false if the expression is more than a group or an aggregate.
func (m *merging) columnOf(n sql.Node, out *Combine) (at int, ok bool) {
	if g, ok := m.keys[key(n)]; ok {
		return g, true
	}
	how, ok := combined[sql.LowerASCII(sql.Text(n, "function_name"))]
	if !ok || !isAggregate(n) {
		return 0, false
	}
	s, err := text(n)
	if err != nil {
		return 0, false
	}
	i := slices.Index(m.parts, s)
	if i < 0 {
		return 0, false
	}
	out.How[i] = how
	return len(m.groups) + i, true
}
