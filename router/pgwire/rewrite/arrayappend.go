package rewrite

import (
	"slices"
	"strings"

	"cordwood/router/query/statement"
)

// In PostgreSQL, || also joins an array and an element. The engine has functions for it.

// arrayCalls are the beginnings of texts that rules write for arrays.
var arrayCalls = []string{"list_append(", "list_prepend(", "string_to_array(", "array_append(", "array_agg("}

// isArrayExpr reports whether the form of an expression shows that its value is an array.
func isArrayExpr(toks []tok) bool {
	n := len(toks)
	switch {
	case n == 0:
		return false
	case n == 1:
		text := toks[0].text
		return toks[0].kind == written && (strings.HasPrefix(text, "CAST([") && strings.HasSuffix(text, "[])") ||
			slices.ContainsFunc(arrayCalls, func(call string) bool { return strings.HasPrefix(text, call) }))
	case n > 2 && toks[n-2].sym("::"):
		return strings.HasSuffix(toks[n-1].text, "[]")
	case toks[0].word("ARRAY") && toks[1].sym("["):
		return enclosed(toks, 1)
	case n > 4 && toks[n-1].sym("]") && toks[n-2].sym("["):
		return slices.ContainsFunc(toks, func(t tok) bool { return t.sym("::") })
	}
	return toks[0].isName() && toks[1].sym("(") && enclosed(toks, 1) &&
		slices.Contains(arrayCalls, strings.ToLower(toks[0].val)+"(")
}

// enclosed reports whether the bracket at i encloses the rest of an expression. Of the pairs that were written, only
// closing brackets know the other one.
func enclosed(toks []tok, i int) bool {
	n := len(toks) - 1 - i
	return n > 0 && (toks[i].match == n || toks[len(toks)-1].match == -n)
}

// isNumberExpr reports whether an expression is a number that the client wrote.
func isNumberExpr(toks []tok) bool {
	if len(toks) == 2 && toks[0].sym("-") {
		toks = toks[1:]
	}
	return len(toks) == 1 && toks[0].kind == statement.TokenNumber
}

// arrayElement rewrites array || element and element || array. typ is the type of the left operand, if it was asked
// for. end is the distance to the end of the right operand.
func (r *rewriter) arrayElement(left, right []tok, typ string, end int) bool {
	leftArray, rightArray := isArrayExpr(left) || strings.HasSuffix(typ, "[]"), isArrayExpr(right)
	switch {
	case leftArray == rightArray, isText(left), isText(right), len(right) == 1 && right[0].word("NULL"),
		isParameter(left), isParameter(right), isMarker(right[0].val), isMarker(left[0].val):
		return false
	case leftArray && !isNumberExpr(right):
		at := right[0].at
		if at == r.s.Probe {
			r.raw(r.at(0), "|| epoch_ns("+joined(r.all(right))+", 1, 1)")
			r.i += end
			return true
		}
		of, known := r.s.Operands[at]
		if !known && len(r.casts) <= maxUnknown {
			r.casts = append(r.casts, at)
		}
		if of == "" || strings.HasSuffix(of, "]") || of == `"NULL"` {
			return false
		}
	case rightArray && !isNumberExpr(left) && (typ == "" || typ == `"NULL"`):
		return false
	}
	first, call := left[0], "list_append("
	r.out = r.out[:len(r.out)-len(left)]
	one, other := joined(left), joined(r.all(right))
	if rightArray {
		call = "list_prepend("
	}
	r.raw(first, call+one+", "+other+")")
	r.i += end
	return true
}
