package sql

import (
	"cmp"
	"slices"
)

// Span is a part of a statement's text.
type Span struct{ From, To int }

// Contains reports whether a position is in the span.
func (s Span) Contains(at int) bool { return at >= s.From && at < s.To }

// Queries returns the queries in parentheses, without the parentheses, in the order in which they begin.
func Queries(sql string) []Span {
	var out []Span
	var open []int
	for i := 0; i < len(sql); {
		if end := skipQuoted(sql, i); end > i {
			i = end
			continue
		}
		switch sql[i] {
		case '(':
			open = append(open, i+1)
		case ')':
			if len(open) == 0 {
				return nil
			}
			from := open[len(open)-1]
			open = open[:len(open)-1]
			if w, _ := Word(sql, SkipSpace(sql, from)); w == "select" || w == "with" {
				out = append(out, Span{from, i})
			}
		}
		i++
	}
	slices.SortFunc(out, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	return out
}

// Operands returns the SELECTs that UNION, EXCEPT and INTERSECT combine at the top of a statement, without those in
// parentheses and without the ORDER BY and LIMIT of the whole. It returns nil if the statement has no such operator.
func Operands(sql string) []Span {
	var out []Span
	depth, from, combines := 0, -1, false
	end := func(at int) {
		if from >= 0 {
			out = append(out, Span{from, at})
		}
		from = -1
	}
	for i := 0; i < len(sql); {
		if end := skipQuoted(sql, i); end > i {
			i = end
			continue
		}
		w, next := Word(sql, i)
		if w == "" {
			switch sql[i] {
			case '(':
				depth++
			case ')':
				depth--
			}
			i++
			continue
		}
		if depth == 0 {
			switch w {
			case "select":
				if from < 0 {
					from = i
				}
			case "union", "except", "intersect":
				combines = true
				end(i)
			case "order", "limit", "offset", "fetch":
				end(i)
			}
		}
		i = next
	}
	end(len(sql))
	if !combines {
		return nil
	}
	return out
}

// Edited reports whether the engine runs an edited text in place of the statement's own.
func (st *Statement) Edited() bool { return len(st.texts)+len(st.Searches) > 0 }

// Replace returns a text with edits, which must be in order and must not overlap.
func Replace(sql string, edits []Edit) string { return applyEdits(sql, edits) }

// At returns the position of the reference in the statement's text.
func (ref TableRef) At() int { return ref.at }

// Distinct returns a query with DISTINCT, if it is a SELECT of rows without any clause behind its conditions. Otherwise
// it returns the query unchanged.
func Distinct(sql string, root Node, aggregates func(list any) bool) string {
	if Text(root, "type") != "SELECT_NODE" ||
		!OnlyKeys(root, "aggregate_handling", "from_table", "select_list", "where_clause") ||
		Text(root, "aggregate_handling") != "STANDARD_HANDLING" || aggregates(root["select_list"]) {
		return sql
	}
	w, end := Word(sql, SkipSpace(sql, 0))
	if w != "select" {
		return sql
	}
	return "SELECT DISTINCT" + sql[end:]
}
