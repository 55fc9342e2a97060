package plan

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/sql"
	"cordwood/shard/segment"
)

// This file counts rows by the codes of a dictionary, for statements that read one column and do
// not depend on the order of rows, such as a count by status. For each value, DuckDB gets the same
// number of rows with a constant, as for the rows that bounds.go finds. The statement may also use
// the time if all rows of a row group give the same result.

const (
	// maxCounted is the maximum number of values by which rows are counted. Each is a part of
	// DuckDB's plan.
	maxCounted = 64
	// maxCountedBytes is the maximum length of such a text value.
	maxCountedBytes = 256
	// maxDivided is the maximum number of row groups of a segment that are divided, at the borders
	// of conditions. Counting the rows of more of them by runs takes longer than reading them.
	maxDivided = 2
)

// unorderedFunctions are functions that do not depend on the order of rows: aggregates, and
// functions that may be applied to them. None returns doubles, since the sum of doubles depends on
// the order.
var unorderedFunctions = map[string]bool{
	"count": true, "count_star": true, "sum": true, "min": true, "max": true, "avg": true,
	"+": true, "-": true, "*": true, "//": true, "%": true,
	"~~": true, "!~~": true, "lower": true, "upper": true, "length": true,
	"date_trunc": true, "datetrunc": true, "time_bucket": true,
}

// constantFunctions are the functions that return moments and intervals.
var constantFunctions = map[string]bool{
	"+": true, "-": true, "trunc": true, "now": true, "get_current_timestamp": true, "transaction_timestamp": true,
	"today": true, "current_date": true, "current_localtimestamp": true, "make_timestamp": true,
	"make_timestamp_ns": true, "make_timestamp_ms": true, "to_timestamp": true, "epoch_ms": true,
	"to_microseconds": true, "to_milliseconds": true, "to_seconds": true, "to_minutes": true, "to_hours": true,
	"to_days": true, "to_weeks": true, "to_months": true, "to_quarters": true, "to_years": true,
}

// isConstant reports whether an expression has the same value for all rows.
func isConstant(v any) bool {
	n, _ := v.(sql.Node)
	switch sql.Text(n, "class") {
	case "CONSTANT":
		return true
	case "CAST":
		return isConstant(n["child"])
	case "FUNCTION":
		return constantFunctions[sql.LowerASCII(sql.Text(n, "function_name"))] &&
			!slices.ContainsFunc(sql.Args(n), func(arg any) bool { return !isConstant(arg) })
	}
	return false
}

var aggregates = map[string]bool{"count": true, "count_star": true, "sum": true, "min": true, "max": true, "avg": true}

// unordered reports whether a query groups or aggregates the rows of one table and does not depend
// on their order.
func unordered(st *sql.Statement, n sql.Node) bool {
	if sql.Text(n, "type") != "SELECT_NODE" ||
		!sql.OnlyKeys(n, "aggregate_handling", "from_table", "modifiers", "select_list", "where_clause",
			"group_expressions", "group_sets", "having") ||
		sql.Text(n, "aggregate_handling") != "STANDARD_HANDLING" {
		return false
	}
	from, _ := n["from_table"].(sql.Node)
	if _, ok := st.Reference(from); !ok || !sql.OnlyKeys(from, "alias", "table_name", "schema_name", "catalog_name") {
		return false
	}
	calls := 0
	for _, key := range []string{"select_list", "where_clause", "group_expressions", "having"} {
		if n[key] != nil && !knownExpressions(n[key], &calls) {
			return false
		}
	}
	modifiers, _ := n["modifiers"].([]any)
	for _, m := range modifiers {
		m, _ := m.(sql.Node)
		if kind := sql.Text(m, "type"); kind != "ORDER_MODIFIER" && kind != "LIMIT_MODIFIER" {
			return false
		}
		orders, _ := m["orders"].([]any)
		for _, o := range orders {
			o, _ := o.(sql.Node)
			if !knownExpressions(o["expression"], &calls) {
				return false
			}
		}
	}
	return calls > 0
}

// knownExpressions reports whether expressions consist of parts that do not depend on the order of
// rows. calls counts the calls of aggregates.
func knownExpressions(v any, calls *int) bool {
	switch v := v.(type) {
	case []any:
		return !slices.ContainsFunc(v, func(child any) bool { return !knownExpressions(child, calls) })
	case sql.Node:
		switch sql.Text(v, "class") {
		case "COLUMN_REF":
			return true
		case "CONSTANT":
			value, _ := v["value"].(sql.Node)
			return !isDouble(value["type"])
		case "FUNCTION":
			name := sql.LowerASCII(sql.Text(v, "function_name"))
			if constantFunctions[name] && isConstant(v) {
				return true
			}
			if aggregates[name] {
				*calls++
			}
			order, _ := v["order_bys"].(sql.Node)
			return unorderedFunctions[name] && (order == nil || sql.OnlyKeys(order)) &&
				knownExpressions(v["children"], calls) && (v["filter"] == nil || knownExpressions(v["filter"], calls))
		case "CAST":
			return !isDouble(v["cast_type"]) && knownExpressions(v["child"], calls)
		case "OPERATOR", "CONJUNCTION":
			return knownExpressions(v["children"], calls)
		case "COMPARISON":
			return knownExpressions(v["left"], calls) && knownExpressions(v["right"], calls)
		case "BETWEEN":
			return knownExpressions(v["input"], calls) && knownExpressions(v["lower"], calls) && knownExpressions(v["upper"],
				calls)
		}
		return false
	}
	return v == nil
}

// isDouble reports whether a type is a floating-point type.
func isDouble(v any) bool {
	kind, _ := v.(sql.Node)
	id := sql.Text(kind, "id")
	return id == "DOUBLE" || id == "FLOAT"
}

// countByCodes removes segments and row groups from the source if their rows can be counted by the
// values of the only column that the statement reads besides the time index. The statement may use
// the time index in conditions that all rows of the part meet.
func countByCodes(ctx context.Context, p *Plan, s *Source) error {
	index := p.View.Schema.TimeIndex()
	if !p.shape.unordered || p.View.Merges() || index == nil || !p.timesOnly {
		return nil
	}
	column := s.onlyBeside(index)
	if column == nil {
		return nil
	}
	var units []alikeRows
	for i := range s.Plain {
		list, err := p.countsOf(ctx, s, i, index, column)
		if err != nil {
			return err
		}
		units = append(units, list...)
	}
	var counted []countedRows
	for _, list := range p.join(countedUnits(units), index.Type) {
		totals := make(map[string]int64)
		for _, u := range list {
			for literal, n := range u.counts {
				totals[literal] += n
			}
		}
		for literal, n := range totals {
			counted = append(counted, countedRows{literal: literal, at: list[0].min, rows: n})
		}
		if len(counted) > maxCounted {
			return nil
		}
	}
	slices.SortFunc(counted, func(a, b countedRows) int {
		return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.literal, b.literal))
	})
	s.counted = counted
	s.take(units)
	return nil
}

// MayCount reports whether the statement reads only columns by which rows may be counted: the time index, by bounds,
// and perhaps one other column, by codes.
func (p *Plan) MayCount() bool {
	if !p.timesOnly {
		return false
	}
	s := &Source{View: p.View, need: p.Need(false)}
	return len(s.need) == 1 || p.shape.unordered && s.onlyBeside(p.View.Schema.TimeIndex()) != nil
}

// onlyBeside returns the only column that the source reads besides the time index. It returns nil
// if there are several, or if the values cannot be counted.
func (s *Source) onlyBeside(index *schema.Column) (only *schema.Column) {
	for _, at := range s.need {
		switch c := &s.Columns[at]; {
		case c.ID == index.ID:
		case only != nil:
			return nil
		default:
			only = c
		}
	}
	if only == nil || !only.Type.IsInteger() && only.Type != schema.String {
		return nil
	}
	if _, fills := Fill(only); fills {
		return nil
	}
	return only
}

func explainCodes(_ *Plan, s *Source) string {
	n := int64(0)
	for _, counted := range s.counted {
		n += counted.rows
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %d rows counted by the codes of their values", n)
}

// countsOf counts the rows of a part by the literals of their values. It counts the whole part, or
// the row groups whose rows are the same to the statement except for these values. It returns
// nothing if that is not possible. Its only error is the error of ctx.
func (p *Plan) countsOf(ctx context.Context, s *Source, i int, index, c *schema.Column) ([]alikeRows, error) {
	part := &s.Plain[i]
	if part.Segment == nil || part.Segment.Shared || part.Groups != nil {
		return nil, nil
	}
	columns, ok := p.PageColumns(part.Segment, s.need)
	if !ok || slices.ContainsFunc(columns, func(c segment.Column) bool { return c.ID == schema.DeletedColumnID }) {
		return nil, nil
	}
	at := slices.IndexFunc(columns, func(have segment.Column) bool { return have.ID == c.ID })
	filters := p.FiltersOf(part.Segment)
	if at < 0 || filters == nil {
		return nil, nil
	}
	units := p.alikeIn(s, i, index, maxDivided)
	if len(units) == 0 {
		return nil, nil
	}
	lists, err := p.countUnits(ctx, part.Segment, filters, units, columns[at])
	if lists == nil {
		return nil, err
	}
	for k := range units {
		u := &units[k]
		if u.counts = countsIn(lists[k], c, columns[at].Type); u.counts == nil || sum(u.counts) != u.rows {
			return nil, nil
		}
	}
	return units, nil
}

// countsIn adds up the row counts of all row groups for each value, written as a literal. It returns
// nil if a value cannot be written as a literal.
func countsIn(lists [][]segment.Count, c *schema.Column, t schema.Type) map[string]int64 {
	out := make(map[string]int64)
	for _, list := range lists {
		for _, count := range list {
			literal, ok := literalOf(c, t, count.Value)
			if !ok {
				return nil
			}
			out[literal] += count.Rows
		}
	}
	return out
}

func sum(counts map[string]int64) (n int64) {
	for _, rows := range counts {
		n += rows
	}
	return n
}

// counting holds the rows of a row group that are counted for a unit.
type counting struct {
	unit, group int
	pieces      []segment.Run // nil: all of the row group
}

// countUnits counts the rows of each unit of a file by the values of a column, in one list for each
// row group. It returns nil if that is not possible. Its only error is the error of ctx.
func (p *Plan) countUnits(ctx context.Context, s *query.Segment, filters *segment.Filters, units []alikeRows,
	c segment.Column,
) ([][][]segment.Count, error) {
	var todo []counting
	for k, u := range units {
		switch {
		case u.whole:
			for g := range filters.Groups {
				todo = append(todo, counting{unit: k, group: g})
			}
		case u.rows > 0:
			todo = append(todo, counting{unit: k, group: u.group, pieces: u.pieces})
		}
	}
	if s.Cold > 0 {
		groups := make([]int, len(todo))
		for i := range todo {
			groups[i] = todo[i].group
		}
		if !p.Prefetch(Columns{Segment: s, Groups: groups, Fields: []uint32{c.FieldID}}) {
			return nil, nil
		}
	}
	file, err := p.Open(s, filters)
	if err != nil {
		return nil, nil
	}
	defer file.Close()
	lists := make([][]segment.Count, len(todo))
	var next, failed atomic.Int64
	var wg sync.WaitGroup
	for range min(p.Threads, runtime.GOMAXPROCS(0), len(lists)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(lists) && failed.Load() == 0 && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				// The values are not codes, or the file is damaged. DuckDB reads the file.
				var err error
				if todo[i].pieces == nil {
					lists[i], err = filters.Counts(file, todo[i].group, c, maxCounted)
				} else {
					lists[i], err = filters.CountsOf(file, todo[i].group, c, todo[i].pieces, maxCounted)
				}
				if err != nil {
					failed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if failed.Load() > 0 {
		return nil, nil
	}
	out := make([][][]segment.Count, len(units))
	for i, of := range todo {
		out[of.unit] = append(out[of.unit], lists[i])
	}
	return out, nil
}

// literalOf returns a column's value as an SQL literal. t is the type of the value in the file.
func literalOf(c *schema.Column, t schema.Type, value []byte) (string, bool) {
	kind := "::" + EngineTypes[c.Type].SQL
	switch {
	case value == nil:
		return "NULL" + kind, true
	case c.Type == schema.String:
		return sql.QuoteText(string(value)) + kind, len(value) <= maxCountedBytes && !slices.Contains(value, 0)
	}
	n := binary.LittleEndian.Uint64(value)
	switch t {
	case schema.Uint8, schema.Uint16, schema.Uint32:
		return fmt.Sprintf("%d%s", uint32(n), kind), true
	case schema.Uint64:
		return fmt.Sprintf("%d%s", n, kind), true
	}
	return fmt.Sprintf("(%d)%s", int64(n), kind), true
}
