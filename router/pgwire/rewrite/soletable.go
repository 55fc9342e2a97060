package rewrite

import (
	"slices"
	"strings"
)

// SoleTable returns the table of a query that reads nothing else. The schema may be missing.
func SoleTable(text string) (schema, name string, ok bool) {
	toks := tokens(text)
	if len(toks) == 0 || !toks[0].word("SELECT") {
		return "", "", false
	}
	i := 1
	for i < len(toks) && !endsList(toks, i) {
		i += 1 + max(toks[i].match, 0)
	}
	if i+1 >= len(toks) || !toks[i].word("FROM") || !toks[i+1].isName() {
		return "", "", false
	}
	i++
	if name = toks[i].val; i+2 < len(toks) && toks[i+1].sym(".") && toks[i+2].isName() {
		schema, name, i = name, toks[i+2].val, i+2
	}
	if i++; i < len(toks) && toks[i].word("AS") {
		i++
	}
	if i < len(toks) && toks[i].isName() && !afterTable[strings.ToUpper(toks[i].val)] {
		i++
	}
	ends := i == len(toks) || toks[i].sym(";") || slices.ContainsFunc(afterSoleTable, toks[i].word)
	return schema, name, ends && !slices.ContainsFunc(toks, setOperator)
}

// afterSoleTable are the words that may follow the only table of a query.
var afterSoleTable = []string{"WHERE", "ORDER", "GROUP", "LIMIT", "OFFSET", "FETCH", "HAVING", "FOR"}

func setOperator(t tok) bool { return t.word("UNION") || t.word("EXCEPT") || t.word("INTERSECT") }
