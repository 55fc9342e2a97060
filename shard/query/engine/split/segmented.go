package split

import (
	"strconv"
	"strings"

	"cordwood/shard/query"
	"cordwood/shard/query/engine/sql"
)

// SegmentColumn is the name of the column with the number of a row's segment.
const SegmentColumn = "__segment"

// Segmented describes a statement for nodes that can run for each segment separately. The results
// of the segments, one after the other, are the result of the statement.
type Segmented struct {
	// Where is its condition, or nil. It uses the names of the table's columns.
	Where sql.Node
	// Columns are the groups that are columns, by their names.
	Columns []string
	// How is how the values of several segments are combined, for each column after the groups.
	How []query.How

	list, from string
	groups     int
	// weighted is list with sums of weights instead of counts. It is empty if an aggregate is
	// neither a count nor an extreme.
	weighted string
}

// WeightColumn is the name of the column with the number of rows that a row represents.
const WeightColumn = "__weight"

// partsOf is how the values of an aggregate in several segments are combined. The last step
// combines those that are Apart.
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
		b.columns[SegmentColumn] != "" || b.columns[WeightColumn] != "" {
		return nil
	}
	s := &Segmented{Where: b.where, from: b.from, groups: len(b.groups)}
	items, weighted := make([]string, len(b.items)), make([]string, len(b.items))
	for i, item := range b.items {
		if i >= s.groups {
			how, ok := partOf(item)
			if !ok {
				return nil
			}
			s.How = append(s.How, how)
		} else if key(item) != key(b.groups[i]) || hasAggregate(item) {
			return nil
		} else if name, bare := bareColumn(item); bare {
			s.Columns = append(s.Columns, name)
		}
		name := sql.Text(item, "alias")
		of, err := text(item)
		if err != nil || name == "" {
			return nil
		}
		items[i] = of + " AS " + sql.QuoteName(name)
		if i >= s.groups {
			weight, ok := weigh(item, of)
			if !ok {
				weighted = nil
			}
			of = weight
		}
		if weighted != nil {
			weighted[i] = of + " AS " + sql.QuoteName(name)
		}
	}
	if len(s.How) == 0 {
		return nil
	}
	s.list, s.weighted = strings.Join(items, ", "), strings.Join(weighted, ", ")
	return s
}

// weigh returns an aggregate over rows that each represent several rows, as text: a count becomes a
// sum of weights. of is the aggregate as text.
func weigh(item sql.Node, of string) (string, bool) {
	switch sql.LowerASCII(sql.Text(item, "function_name")) {
	case "min", "max", "bool_and", "bool_or":
		return of, true
	case "count", "count_star":
	default:
		return "", false
	}
	var conditions []string
	if f, ok := item["filter"].(sql.Node); ok {
		filter, err := text(f)
		if err != nil {
			return "", false
		}
		conditions = append(conditions, "("+filter+")")
	}
	for _, v := range sql.Args(item) {
		arg, _ := v.(sql.Node)
		if sql.Text(arg, "class") == "STAR" {
			return "", false
		}
		counted, err := text(arg)
		if err != nil {
			return "", false
		}
		conditions = append(conditions, "(("+counted+") IS NOT NULL)")
	}
	out := "sum(" + sql.QuoteName(WeightColumn) + ")"
	if len(conditions) > 0 {
		out += " FILTER (WHERE " + strings.Join(conditions, " AND ") + ")"
	}
	return "CAST(COALESCE(" + out + ", 0) AS BIGINT)", true
}

// WeightedText returns the statement over rows that each represent several rows. It returns "" if
// the statement has aggregates that are neither counts nor extremes.
func (s *Segmented) WeightedText() string {
	if s.weighted == "" {
		return ""
	}
	out := "SELECT " + s.weighted + " FROM " + s.from
	if s.Where != nil {
		where, err := text(s.Where)
		if err != nil {
			return ""
		}
		out += " WHERE (" + where + ")"
	}
	for i := range s.groups {
		if i == 0 {
			out += " GROUP BY 1"
		} else {
			out += ", " + strconv.Itoa(i+1)
		}
	}
	return out
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
