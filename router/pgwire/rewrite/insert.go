package rewrite

import (
	"slices"
	"strings"

	"cordwood/router/pgwire/value"
	"cordwood/router/query/statement"
)

// defining has the first words of statements that only cordwood has. These statements are not rewritten.
var defining = map[string]bool{
	"CREATE": true, "ALTER": true, "DROP": true, "SHOW": true, "DESC": true, "DESCRIBE": true, "TRUNCATE": true,
	"KILL": true,
}

// insert rewrites an INSERT. Literals and queries follow different rules.
func (r *rewriter) insert(toks []tok) []tok {
	list := returningAt(toks)
	var out []tok
	if from := queryOfInsert(toks[:list]); from > 0 {
		to := from + conflictAt(toks[from:list])
		out = slices.Concat(toks[:from], r.all(withoutLocks(toks[from:to])), toks[to:list])
	} else {
		out = r.values(toks[:list])
	}
	if r.err == nil {
		out = append(out, r.all(toks[list:])...)
	}
	return out
}

// queryOfInsert returns the index of the first token of the query of an INSERT, or 0 if it has none.
func queryOfInsert(toks []tok) int {
	for i := 2; i < len(toks); i++ {
		switch t := toks[i]; {
		case t.sym("("):
			next := i + 1
			for next < len(toks) && toks[next].sym("(") {
				next++
			}
			if next < len(toks) && (beginsQuery(toks[next]) || toks[next].word("VALUES")) {
				return i
			}
			i += t.match
		case t.word("VALUES"), t.word("DEFAULT"):
			return 0
		case beginsQuery(t) && !toks[i-1].sym(".") && !toks[i-1].word("INTO"):
			return i
		}
	}
	return 0
}

func beginsQuery(t tok) bool {
	return t.word("SELECT") || t.word("WITH") || t.word("FROM") || t.word("TABLE")
}

// conflictAt returns the index of ON CONFLICT after a query, or the number of tokens.
func conflictAt(toks []tok) int {
	for i := 0; i+2 < len(toks); i++ {
		if toks[i].match > 0 {
			i += toks[i].match
			continue
		}
		after := toks[i+2]
		if toks[i].word("ON") && toks[i+1].word("CONFLICT") && (after.word("DO") || after.word("ON") || after.sym("(")) {
			return i
		}
	}
	return len(toks)
}

// values rewrites an INSERT of literals: it removes casts after them, types before them, and parentheses around them.
func (r *rewriter) values(in []tok) []tok {
	r.in, r.i, r.out = in, 0, nil
	for r.i < len(r.in) {
		t := r.at(0)
		switch {
		case t.sym("::"):
			typ, ok := r.readType(1)
			if !ok {
				r.push(t)
				r.i++
				continue
			}
			r.i += 1 + typ.size
			r.valueOf(typ.name)
		case t.kind == statement.TokenWord && r.typedLiteral():
		case t.sym(")") && r.unwrap():
		default:
			r.push(t)
			r.i++
		}
	}
	return r.out
}

// returningAt returns the index of RETURNING in an INSERT, or the number of tokens.
func returningAt(toks []tok) int {
	for i := 0; i < len(toks); i++ {
		if toks[i].match > 0 {
			i += toks[i].match
		}
		if i > 0 && toks[i].word("RETURNING") && !toks[i-1].sym(".") && !toks[i-1].word("INTO") {
			return i
		}
	}
	return len(toks)
}

// Returning returns a query with the list after RETURNING in an INSERT, or "" if there is none. The list has the same
// place in both texts, unless it is too far from the beginning.
func Returning(text string) string {
	toks := tokens(text)
	if len(toks) < 3 || !toks[0].word("INSERT") {
		return ""
	}
	list := returningAt(toks) + 1
	if list >= len(toks) {
		return ""
	}
	end := 2
	for ; end < list && (toks[end].isName() || toks[end].sym(".")); end++ {
		if toks[end].word("VALUES") || toks[end].word("DEFAULT") {
			break
		}
	}
	from, at := toks[2].at, toks[list].at
	space := 1
	if at <= maxPadding {
		space = at - len("SELECT")
	}
	return "SELECT" + strings.Repeat(" ", space) + text[at:] + "\nFROM " + strings.TrimSpace(text[from:toks[end].at])
}

// maxPadding is the largest distance of RETURNING from the beginning of a statement, in bytes, with which the text of
// Returning keeps places.
const maxPadding = 16 << 10

// unwrap removes the brackets around a literal. The brackets of a row stay: they are not inside other brackets.
func (r *rewriter) unwrap() bool {
	up := r.here().up
	if up < 0 || r.out[up].where.outer == nil || r.out[up].where.outer.up < 0 {
		return false
	}
	inner := slices.Clone(r.out[up+1:])
	if n := len(inner); n == 0 || n > 2 || n == 2 && !inner[0].sym("-") || inner[n-1].kind == statement.TokenSymbol {
		return false
	}
	inner[0].pre = r.out[up].pre
	r.out = r.out[:up]
	for _, t := range inner {
		r.push(t)
	}
	r.i++
	return true
}

// valueOf rewrites the literal at the end of the output for a cast to a type.
func (r *rewriter) valueOf(typ string) {
	n := len(r.out) - 1
	if n < 0 || r.out[n].kind != statement.TokenText {
		return
	}
	f := value.ByOID(map[string]uint32{"timestamptz": 1184, "timestamp": 1114, "bytea": 17, "bool": 16}[typ])
	if f == nil {
		return
	}
	if v, err := value.Store(f, value.FormatText, []byte(r.out[n].val)); err == nil {
		r.out[n].text = v.SQL()
	}
}

// typedLiteral removes the type before a literal, as in TIMESTAMP '…'.
func (r *rewriter) typedLiteral() bool {
	switch strings.ToUpper(r.at(0).val) {
	case "TIMESTAMP", "TIMESTAMPTZ", "DATE", "TIME":
	default:
		return false
	}
	typ, ok := r.readType(0)
	if !ok || r.at(typ.size).kind != statement.TokenText {
		return false
	}
	t := r.at(typ.size)
	t.pre = r.at(0).pre
	r.push(t)
	r.i += typ.size + 1
	r.valueOf(typ.name)
	return true
}
