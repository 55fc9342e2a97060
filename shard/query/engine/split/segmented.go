package split

import (
	"strconv"
	"strings"

	"cordwood/shard/query"
	"cordwood/shard/query/engine/sql"
)

// SegmentColumn is the name of the column with the number of a row's segment.
const SegmentColumn = "__segment"

// Segmented describes a statement for nodes that can be run for each segment separately. The
// results of the segments, one after the other, are the statement's result.
type Segmented struct {
	// Where is its condition, or nil. It uses the names of the table's columns.
	Where sql.Node
	// How says, for each column after the groups, how the values of several segments are combined.
	How []query.How

	list, from string
	groups     int
}

// partsOf says how the values of an aggregate in several segments are combined. The last step combines those that are
// Apart.
var partsOf = map[string]query.How{
	"count": query.Sum, "count_star": query.Sum, "count_if": query.Sum, "countif": query.Sum,
	"sum": query.Sum, "min": query.Least, "max": query.Greatest,
	"bool_and": query.Least, "bool_or": query.Greatest,
	"avg": query.Apart, "var_pop": query.Apart, "any_value": query.Apart, "product": query.Apart,
	"fsum": query.Apart, "kahan_sum": query.Apart, "sumkahan": query.Apart,
	"bit_and": query.Apart, "bit_or": query.Apart, "bit_xor": query.Apart,
	"arg_max": query.Apart, "argmax": query.Apart, "max_by": query.Apart,
	"arg_min": query.Apart, "argmin": query.Apart, "min_by": query.Apart,
}

// FindSegmented describes a statement for nodes. It returns nil if the statement does more than
// group and aggregate rows.
func FindSegmented(st *Statement) *Segmented {
	b, err := newBlock(st)
	if err != nil || b.sets != nil || b.all || b.having != nil || b.distinct || b.limited || b.offset > 0 ||
		len(b.orders) > 0 || b.usesNow || b.usesDay || b.star() || len(b.groups) > len(b.items) ||
		b.columns[SegmentColumn] != "" {
		return nil
	}
	s := &Segmented{Where: b.where, from: b.from, groups: len(b.groups)}
	items := make([]string, len(b.items))
	for i, item := range b.items {
		if i >= s.groups {
			how, ok := partOf(item)
			if !ok {
				return nil
			}
			s.How = append(s.How, how)
		} else if key(item) != key(b.groups[i]) || hasAggregate(item) {
			return nil
		}
		name := sql.Text(item, "alias")
		of, err := text(item)
		if err != nil || name == "" {
			return nil
		}
		items[i] = of + " AS " + sql.QuoteName(name)
	}
	if len(s.How) == 0 {
		return nil
	}
	s.list = strings.Join(items, ", ")
	return s
}

// partOf returns how the values of an aggregate in several segments are combined.
func partOf(item sql.Node) (how query.How, ok bool) {
	if !isAggregate(item) || hasAggregate(sql.Args(item)) {
		return 0, false
	}
	if distinct, _ := item["distinct"].(bool); distinct {
		return 0, false
	}
	if orders, _ := item["order_bys"].(sql.Node); !sql.OnlyKeys(orders) {
		return 0, false
	}
	how, ok = partsOf[sql.LowerASCII(sql.Text(item, "function_name"))]
	if len(sql.Args(item)) > 1 && how != query.Apart {
		return 0, false
	}
	return how, ok
}

// Groups returns the number of columns that are groups.
func (s *Segmented) Groups() int { return s.groups }

// Text returns the statement that computes a result for each segment, with other conditions instead of Where. The
// first column is the number of the segment.
func (s *Segmented) Text(conditions []sql.Node) (string, error) {
	var b strings.Builder
	b.WriteString("SELECT " + sql.QuoteName(SegmentColumn) + ` AS "__s", ` + s.list + " FROM " + s.from)
	for i, c := range conditions {
		of, err := text(c)
		if err != nil {
			return "", err
		}
		if i == 0 {
			b.WriteString(" WHERE (" + of + ")")
		} else {
			b.WriteString(" AND (" + of + ")")
		}
	}
	keys := []string{"1"}
	for i := range s.groups {
		keys = append(keys, strconv.Itoa(i+2))
	}
	b.WriteString(" GROUP BY " + strings.Join(keys, ", "))
	return b.String(), nil
}
