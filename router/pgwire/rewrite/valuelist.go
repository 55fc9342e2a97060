package rewrite

import (
	"strconv"
	"strings"

	"cordwood/router/query/statement"
)

// maxValueColumns limits the columns of VALUES that get names.
const maxValueColumns = 1_600

// valueList rewrites VALUES (…), (…) as a query whose columns have PostgreSQL's names: column1, column2 and so on.
func (r *rewriter) valueList() bool {
	if !r.beginsValues() {
		return false
	}
	columns, end := 1, 0
	for n := 1; r.at(n).sym("("); {
		match := r.at(n).match
		if match <= 0 {
			return false
		}
		if end == 0 {
			columns = r.listLength(n, n+match)
		}
		n += match + 1
		if end = n; !r.at(n).sym(",") {
			break
		}
		n++
	}
	if end == 0 || columns > maxValueColumns {
		return false
	}
	t := r.at(0)
	rows := r.all(r.in[r.i+1 : r.i+end])
	r.raw(t, "SELECT * FROM")
	r.push(tok{kind: written, pre: " ", text: "(", val: "(", at: t.at})
	t.pre = ""
	r.push(t)
	for _, row := range rows {
		r.push(row)
	}
	r.push(tok{kind: written, text: ")", val: ")", at: t.at})
	names := make([]string, columns)
	for i := range names {
		names[i] = "column" + strconv.Itoa(i+1)
	}
	r.raw(tok{pre: " ", at: t.at}, "AS cordwood_values("+strings.Join(names, ", ")+")")
	r.i += end
	return true
}

// beginsValues reports whether a query may begin here. VALUES may also be the name of a column.
func (r *rewriter) beginsValues() bool {
	if len(r.out) == 0 || !r.at(1).sym("(") {
		return r.at(1).sym("(")
	}
	last := r.last()
	switch {
	case last.sym("("):
		// Not the argument of a function.
		n := len(r.out)
		return n < 2 || r.out[n-2].kind != statement.TokenName && !isFunctionName(r.out[n-2])
	case last.word("ALL"), last.word("DISTINCT"):
		n := len(r.out)
		return n > 1 && isSetOperation(r.out[n-2])
	}
	return isSetOperation(last)
}

func isSetOperation(t tok) bool { return t.word("UNION") || t.word("EXCEPT") || t.word("INTERSECT") }

// isFunctionName reports whether a word before a bracket is the name of a function, and not a keyword.
func isFunctionName(t tok) bool {
	if t.kind != statement.TokenWord {
		return false
	}
	switch strings.ToUpper(t.val) {
	case "FROM", "JOIN", "AS", "IN", "EXISTS", "ANY", "ALL", "SOME", "LATERAL", "MATERIALIZED", "ARRAY", "SELECT", "UNION",
		"EXCEPT", "INTERSECT", "DISTINCT", "WHERE", "AND", "OR", "NOT", "ON":
		return false
	}
	return true
}

// listLength counts the elements between two brackets.
func (r *rewriter) listLength(from, to int) int {
	n := 1
	for i := from + 1; i < to; i++ {
		switch t := r.at(i); {
		case t.match > 0:
			i += t.match
		case t.sym(","):
			n++
		}
	}
	return n
}
