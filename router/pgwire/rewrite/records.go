package rewrite

import (
	"strconv"
	"strings"

	"cordwood/router/query/statement"
)

// In PostgreSQL, the fields of ROW(a, b) are called f1 and f2. The engine gives them no names. Only values get the
// names: the engine compares records by the places of their fields, and refuses to compare some that have names.

// isValue reports whether an expression that starts here and ends n tokens ahead is a value of a select list, or the
// argument of a function that converts it to JSON.
func (r *rewriter) isValue(n int) bool {
	if !r.inSelectList() && !r.toJSON() {
		return false
	}
	next := r.at(n + 1)
	return next.kind == statement.TokenComment || next.sym(",") || next.sym(")") || next.word("FROM") || next.word("AS")
}

// toJSON reports whether the argument of a function that converts a value to JSON starts here.
func (r *rewriter) toJSON() bool {
	n := len(r.out)
	if n == 0 && r.converting {
		return true
	}
	return n > 1 && r.out[n-1].sym("(") && jsonFunctions[strings.ToLower(r.out[n-2].val)]
}

// jsonFunctions are the functions that convert their argument to JSON.
var jsonFunctions = map[string]bool{"row_to_json": true, "to_json": true, "to_jsonb": true}

// bareRow rewrites (a, b) in a select list.
func (r *rewriter) bareRow() bool {
	end := r.closingBracket(0)
	if end < 0 || !r.isValue(end) || r.at(1).word("SELECT") || r.at(1).word("WITH") {
		return false
	}
	for n := 1; n < end; n++ {
		if r.at(n).sym(",") {
			return r.row(0, end)
		}
		n += max(r.at(n).match, 0)
	}
	return false
}

// row writes a record with named fields for the expressions between the brackets that are from and end tokens ahead.
func (r *rewriter) row(from, end int) bool {
	args := r.arguments(from+1, end)
	if r.err != nil {
		return true
	}
	if len(args) == 0 {
		return false
	}
	for i, arg := range args {
		args[i] = "f" + strconv.Itoa(i+1) + " := " + arg
	}
	r.raw(r.at(0), "struct_pack("+strings.Join(args, ", ")+")")
	r.i += end + 1
	return true
}
