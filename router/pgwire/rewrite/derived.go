package rewrite

import (
	"cordwood/proto/schema"
	"cordwood/router/query/statement"
)

// nameColumns gives the columns of subqueries in FROM, and of WITH, the names that PostgreSQL gives them: the column of
// (SELECT count(*) FROM t) is count. The engine would name it count_star(), so that the query around it could not refer
// to it. Names of the select list of the statement itself are replaced in the answer.
func nameColumns(toks []tok) []tok {
	names := map[int]string{} // by the index of the last token of the expression
	for i := range toks {
		if !toks[i].sym("(") || toks[i].match <= 0 || !isDerived(toks, i) {
			continue
		}
		from := i + 1
		query := toks[from : i+toks[i].match]
		eachRange(query, func(begin, end int) {
			if item := itemOf(query[begin:end], 0); item.Name != unknown && !item.Star && item.unnamed {
				names[from+end-1] = item.Name
			}
		})
	}
	if len(names) == 0 {
		return toks
	}
	out := make([]tok, 0, len(toks)+2*len(names))
	for i, t := range toks {
		t.match = 0
		out = append(out, t)
		if name := names[i]; name != "" {
			out = append(out, tok{kind: statement.TokenWord, pre: " ", text: "AS", val: "AS", at: t.at},
				tok{kind: statement.TokenName, pre: " ", text: schema.QuoteIdent(name), val: name, at: t.at})
		}
	}
	matchBrackets(out)
	return out
}

// isDerived reports whether the bracket at i begins a subquery in FROM, or a query of WITH.
func isDerived(toks []tok, i int) bool {
	if i == 0 || i+1 == len(toks) || !toks[i+1].word("SELECT") && !toks[i+1].word("WITH") {
		return false
	}
	before := toks[i-1]
	return before.word("FROM") || before.word("JOIN") || before.word("LATERAL") || before.word("AS") ||
		before.word("MATERIALIZED") || before.sym(",")
}
