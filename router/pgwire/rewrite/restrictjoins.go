package rewrite

import (
	"slices"
	"strings"

	"cordwood/router/query/pgcatalog"
	"cordwood/router/query/statement"
)

// clauseEnds are the words that end FROM and WHERE.
var clauseEnds = []string{"WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "OFFSET", "FETCH", "WINDOW", "QUALIFY", "FOR"}

// blockOf reads the tables and conditions of a SELECT; nil: its form is another one.
func (r *rewriter) blockOf(toks []tok) *block {
	if !slices.ContainsFunc(toks, func(t tok) bool { return t.word("WHERE") || t.word("ON") }) {
		return nil
	}
	from, where, end := clauses(toks)
	if from < 0 {
		return nil
	}
	b := &block{known: map[ref][]int64{}}
	joins, ok := b.tables(toks[from+1 : where])
	if !ok {
		return nil
	}
	if where < end {
		r.conditions(b, toks[where+1:end], "")
	}
	for _, j := range joins {
		r.conditions(b, j.on, j.only)
	}
	b.spread()
	return b
}

// clauses returns the indexes of FROM, of WHERE, and of the end of WHERE. Without WHERE, the latter two are equal.
func clauses(toks []tok) (from, where, end int) {
	from, where, end = -1, -1, -1
	for i := 0; i < len(toks); i++ {
		t := toks[i]
		if t.match > 0 && i+t.match < len(toks) {
			i += t.match
			continue
		}
		if t.kind != statement.TokenWord {
			continue
		}
		up := strings.ToUpper(t.val)
		switch {
		case up == "FROM" && from < 0 && !toks[max(i-1, 0)].word("DISTINCT"):
			from = i
		case from < 0 || end >= 0 || toks[i-1].sym("."):
		case up == "WHERE" && where < 0:
			where = i
		case slices.Contains(clauseEnds, up):
			end = i
		}
	}
	if end < 0 {
		end = len(toks)
	}
	if where < 0 {
		where = end
	}
	return from, where, end
}

// join is a condition after ON. If only is not empty, the condition says something only about this table, because the
// join is an outer one.
type join struct {
	on   []tok
	only string
}

// otherJoins are the words before JOIN in joins of the engine in which conditions mean something else.
var otherJoins = map[string]bool{"SEMI": true, "ANTI": true, "ASOF": true, "POSITIONAL": true}

// tables reads the tables of FROM.
func (b *block) tables(toks []tok) (joins []join, ok bool) {
	for i, t := range toks {
		if otherJoins[strings.ToUpper(t.val)] && i+1 < len(toks) && toks[i+1].word("JOIN") {
			return nil, false
		}
	}
	left, expect := false, true
	for i := 0; i < len(toks); i++ {
		t := toks[i]
		switch {
		case t.word("RIGHT"), t.word("FULL"), t.word("LATERAL"), t.word("NATURAL"):
			return nil, false
		case t.word("LEFT"):
			left = true
		case t.sym(","):
			left, expect = false, true
		case t.word("JOIN"):
			expect = true
		case t.word("ON"):
			to := endOfJoin(toks, i+1)
			j := join{on: toks[i+1 : to]}
			if left {
				if len(b.items) == 0 {
					return nil, false
				}
				j.only = b.items[len(b.items)-1].alias
			}
			joins = append(joins, j)
			left, i = false, to-1
		case expect:
			if len(b.items) == maxTables {
				return nil, false
			}
			item, used := itemIn(toks[i:])
			b.items = append(b.items, item)
			i, expect = i+used-1, false
		}
	}
	return joins, true
}

// joinWords begin the next join. Some of them are also functions.
var joinWords = map[string]bool{
	"LEFT": true, "JOIN": true, "INNER": true, "CROSS": true, "RIGHT": true, "FULL": true, "NATURAL": true,
}

// endOfJoin returns the index after a condition that begins at i.
func endOfJoin(toks []tok, i int) int {
	for ; i < len(toks); i++ {
		t := toks[i]
		switch {
		case t.match > 0 && i+t.match < len(toks):
			i += t.match
		case t.sym(","), joinWords[strings.ToUpper(t.val)] && t.kind == statement.TokenWord &&
			(i+1 == len(toks) || !toks[i+1].sym("(")):
			return i
		}
	}
	return i
}

// itemIn reads a table of FROM with its alias, and returns the number of its tokens.
func itemIn(toks []tok) (item fromItem, used int) {
	switch {
	case toks[0].sym("(") && toks[0].match > 0 && toks[0].match < len(toks):
		used = toks[0].match + 1
	case toks[0].isName():
		used = 1
		for used+1 < len(toks) && toks[used].sym(".") {
			used += 2
		}
		item.alias = strings.ToLower(toks[used-1].val)
		if used == 1 || toks[0].word(pgcatalog.Database) {
			item.table = pgcatalog.Find(item.alias)
		}
		if used < len(toks) && toks[used].match > 0 && used+toks[used].match < len(toks) {
			item.table = nil // a function
			used += toks[used].match + 1
		}
	default:
		return item, 1
	}
	if used < len(toks) && toks[used].word("AS") {
		used++
	}
	if used < len(toks) && toks[used].isName() && !afterTable[strings.ToUpper(toks[used].val)] {
		item.alias = strings.ToLower(toks[used].val)
		used++
	}
	return item, used
}
