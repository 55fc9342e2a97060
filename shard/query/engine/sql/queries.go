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

// Operands returns the queries that UNION, EXCEPT and INTERSECT combine at the top of a statement, without parentheses
// around them, and without the ORDER BY and LIMIT of the whole. It returns nil if the statement has no such operator.
func Operands(sql string) []Span {
	o := operands{sql: sql, from: -1, open: -1, next: true}
	for i := 0; i < len(sql); {
		if end := skipQuoted(sql, i); end > i {
			i = end
			continue
		}
		w, next := Word(sql, i)
		if w == "" {
			o.sign(i)
			i++
			continue
		}
		if o.depth == 0 {
			o.word(w, i)
		}
		i = next
	}
	o.end(len(sql))
	if !o.combines {
		return nil
	}
	return o.out
}

// operands is the state of Operands.
type operands struct {
	sql   string
	out   []Span
	depth int
	// from is where an operand without parentheses began, and open where one in parentheses did; -1 if there is none.
	from, open int
	// next means that an operand may begin here.
	next     bool
	combines bool
}

// end ends an operand without parentheses.
func (o *operands) end(at int) {
	if o.from >= 0 {
		o.out = append(o.out, Span{o.from, at})
	}
	o.from = -1
}

// sign reads a parenthesis.
func (o *operands) sign(at int) {
	switch o.sql[at] {
	case '(':
		if w, _ := Word(o.sql, SkipSpace(o.sql, at+1)); o.depth == 0 && o.next && (w == "select" || w == "with") {
			o.open = at + 1
		}
		o.depth, o.next = o.depth+1, false
	case ')':
		if o.depth--; o.depth == 0 && o.open >= 0 {
			o.out = append(o.out, Span{o.open, at})
			o.open = -1
		}
	}
}

// word reads a word outside of parentheses.
func (o *operands) word(w string, at int) {
	switch w {
	case "select":
		if o.from < 0 {
			o.from = at
		}
	case "union", "except", "intersect":
		o.combines, o.next = true, true
		o.end(at)
		return
	case "all", "distinct", "by", "name":
		return // behind the operator
	case "order", "limit", "offset", "fetch":
		o.end(at)
	}
	o.next = false
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
