package rewrite

import (
	"strconv"
	"strings"

	"cordwood/router/query/statement"
)

// Item is an expression of a select list.
type Item struct {
	// Name is the column name in PostgreSQL. It is empty if the name is unknown, as for a star.
	Name string
	// Column is the name of the column if the expression is just a column.
	Column string
	// unnamed is true if the expression has no alias, and is not just a column.
	unnamed bool
	// Null is true if the value is always null.
	Null bool
	// Star is true if the item stands for any number of columns.
	Star bool
	// Local is true if the value is a timestamp without time zone.
	Local bool
	// Numeric is true if the expression is a cast to numeric without the numbers of digits.
	Numeric bool
	// Sized is true if the expression is a cast to a type with numbers, such as numeric(10,2).
	Sized bool
	// Array is true if the expression is a cast to an array or ARRAY[…].
	Array bool
	// Collected is the name of the column that the expression collects by array_agg.
	Collected string
}

// Items returns the select list of a statement, or nil if it cannot be determined.
func Items(text string) []Item { return itemsOf(tokens(text), 0) }

func itemsOf(toks []tok, deep int) (items []Item) {
	eachItem(toks, func(item []tok) { items = append(items, itemOf(item, deep)) })
	return items
}

// ParameterItems returns the numbers of the parameters that are whole expressions of the select list of a query, by
// their index in the list.
func ParameterItems(text string) map[int]int {
	found, at := map[int]int{}, 0
	eachItem(tokens(text), func(item []tok) {
		if len(item) == 2 && item[0].sym("$") {
			if n, err := strconv.Atoi(item[1].val); err == nil {
				found[at] = n
			}
		}
		at++
	})
	return found
}

// eachItem calls f with the tokens of each item of the select list of a query.
func eachItem(toks []tok, f func(item []tok)) {
	eachRange(toks, func(from, to int) { f(toks[from:to]) })
}

// eachRange calls f with the range of the tokens of each item of the select list of a query.
func eachRange(toks []tok, f func(from, to int)) {
	begin := selectAt(toks)
	if begin < 0 {
		return
	}
	if toks[min(begin, len(toks)-1)].word("ALL") {
		begin++
	}
	if begin < len(toks) && toks[begin].word("DISTINCT") {
		if begin++; begin < len(toks) && toks[begin].word("ON") {
			return
		}
	}
	depth, from := 0, begin
	for i := begin; i <= len(toks); i++ {
		end := i == len(toks)
		if !end {
			t := toks[i]
			switch {
			case t.sym("(") || t.sym("["):
				depth++
			case t.sym(")") || t.sym("]"):
				depth--
			}
			end = depth < 0 || depth == 0 && endsList(toks, i)
			if !end && (depth != 0 || !t.sym(",")) {
				continue
			}
		}
		if i > from {
			f(from, i)
		}
		if end {
			return
		}
		from = i + 1
	}
}

// endsList reports whether a word ends a select list. The FROM of EXTRACT and similar functions is within parentheses.
func endsList(toks []tok, i int) bool {
	if toks[i].kind != statement.TokenWord || i > 0 && toks[i-1].sym(".") {
		return false
	}
	switch strings.ToUpper(toks[i].val) {
	case "FROM", "WHERE", "GROUP", "ORDER", "LIMIT", "UNION", "EXCEPT", "INTERSECT", "HAVING", "WINDOW", "OFFSET", "FETCH":
		return i == 0 || !toks[i-1].word("DISTINCT") && !toks[i-1].word("AS") && !toks[i-1].word("WITHIN")
	}
	return false
}

// selectAt returns the index after the SELECT of the statement, or -1 if there is none.
func selectAt(toks []tok) int {
	depth := 0
	for i, t := range toks {
		switch {
		case i == 0 && t.word("SELECT"):
			return 1
		case i == 0 && !t.word("WITH"):
			return -1
		case t.sym("("):
			depth++
		case t.sym(")"):
			depth--
		case depth == 0 && t.word("SELECT"):
			return i + 1
		}
	}
	return -1
}

// itemOf returns the item of an expression, with the name that PostgreSQL gives it.
func itemOf(toks []tok, deep int) Item {
	var item Item
	if n := len(toks); n > 1 && toks[n-1].isName() && !endsExpression(toks) {
		before := toks[n-2]
		if before.word("AS") || !before.sym(".") && !before.sym("::") && before.kind != statement.TokenSymbol &&
			(before.isName() && (!isOperatorWord(before) || isConstant(before) || lastCast(toks[:n-1]) >= 0) ||
				before.kind == statement.TokenText || before.kind == statement.TokenNumber) || before.sym(")") || before.sym("]") {
			if before.word("AS") || !strings.EqualFold(toks[n-1].val, "END") && !isOperatorWord(toks[n-1]) {
				item.Name = folded(toks[n-1])
				toks = toks[:n-1]
				if len(toks) > 1 && before.word("AS") {
					toks = toks[:len(toks)-1]
				}
				item.is(toks)
				_, item.Column, _ = nameOf(toks, deep)
				return item
			}
		}
	}
	item.is(toks)
	if len(toks) > 0 && toks[len(toks)-1].sym("*") && (len(toks) == 1 || toks[len(toks)-2].sym(".")) ||
		toks[0].sym("*") {
		item.Star = true
		return item
	}
	item.Name, item.Column, _ = nameOf(toks, deep)
	item.unnamed = item.Column == ""
	return item
}

// endsExpression reports whether the last word belongs to the expression and is not an alias: the name of a window, or
// the unit of an interval.
func endsExpression(toks []tok) bool {
	n := len(toks)
	if toks[n-2].word("OVER") {
		return true
	}
	return n > 2 && toks[n-2].kind == statement.TokenText && toks[n-3].word("INTERVAL") &&
		engineUnits[strings.ToLower(toks[n-1].val)]
}

// is determines what kind of expression the item has.
func (item *Item) is(toks []tok) {
	item.Local, item.Null, item.Numeric, item.Array = isLocal(toks), isNull(toks), isNumeric(toks), isArray(toks)
	n := len(toks)
	item.Sized = n > 2 && toks[n-1].sym(")") && (lastCast(toks) >= 0 || toks[0].word("CAST") && toks[n-2].sym(")")) ||
		n > 2 && toks[n-1].kind == statement.TokenText && toks[n-2].sym(")") && isNumericWord(toks[0])
	item.Collected = collected(toks)
}

// collected returns the name of the column in array_agg(column) or array_agg(column ORDER BY …).
func collected(toks []tok) string {
	if len(toks) < 4 || !toks[0].word("array_agg") || closingIndex(toks, 1) != len(toks)-1 {
		return ""
	}
	end := 2
	for toks[end].isName() && toks[end+1].sym(".") {
		end += 2
	}
	if !toks[end].isName() || !toks[end+1].sym(")") && !toks[end+1].word("ORDER") {
		return ""
	}
	return folded(toks[end])
}

// isArray reports whether an expression is ARRAY[…] or x::type[].
func isArray(toks []tok) bool {
	n := len(toks)
	if n > 2 && toks[0].word("ARRAY") && closingIndex(toks, 1) == n-1 {
		return true
	}
	return n > 3 && toks[n-1].sym("]") && toks[n-2].sym("[") && lastCast(toks) >= 0
}

// isNull reports whether an expression is NULL.
func isNull(toks []tok) bool { return len(toks) == 1 && toks[0].word("NULL") }
