package statement

import (
	"slices"
	"strconv"
	"strings"
)

// Restrictions returns, for each table that a query only reads as (… FROM table WHERE column IN (1, 2)), these numbers
// by table and column. Names are in lower case. Rows with other numbers do not affect the answer.
func Restrictions(sql string) map[string]map[string][]int64 {
	toks := slices.DeleteFunc(Tokens(sql), func(t Token) bool { return t.Kind == TokenComment })
	out, free := map[string]map[string][]int64{}, map[string]bool{}
	for i, t := range toks {
		if t.Kind != TokenWord && t.Kind != TokenName {
			continue
		}
		if i > 0 && toks[i-1].Kind == TokenWord && strings.EqualFold(toks[i-1].Value, "AS") ||
			i+1 < len(toks) && toks[i+1].Kind == TokenSymbol && toks[i+1].Value == "." {
			continue // an alias, or before a column
		}
		name := strings.ToLower(t.Value)
		column, values := numbers(toks[i+1:])
		known := out[name]
		switch {
		case values == nil || known != nil && known[column] == nil:
			free[name] = true // other rows are read, too
		case known == nil:
			out[name] = map[string][]int64{column: values}
		default:
			known[column] = append(known[column], values...)
		}
	}
	for name := range free {
		delete(out, name)
	}
	return out
}

// numbers reads WHERE column IN (1, 2) at the end of a subquery.
func numbers(toks []Token) (column string, values []int64) {
	sym := func(i int, s string) bool {
		return i < len(toks) && toks[i].Kind == TokenSymbol && toks[i].Value == s
	}
	word := func(i int, w string) bool {
		return i < len(toks) && toks[i].Kind == TokenWord && strings.EqualFold(toks[i].Value, w)
	}
	if !word(0, "WHERE") || !word(2, "IN") || !sym(3, "(") || toks[1].Kind != TokenWord {
		return "", nil
	}
	for i := 4; i < len(toks); i += 2 {
		negative := sym(i, "-")
		if negative {
			i++
		}
		if i >= len(toks) || toks[i].Kind != TokenNumber {
			return "", nil
		}
		n, err := strconv.ParseInt(toks[i].Value, 10, 64)
		if err != nil {
			return "", nil
		}
		if negative {
			n = -n
		}
		values = append(values, n)
		if sym(i+1, ")") && sym(i+2, ")") {
			return strings.ToLower(toks[1].Value), values
		}
		if !sym(i+1, ",") {
			return "", nil
		}
	}
	return "", nil
}
