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
	elements := valueElements(in)
	for r.i < len(r.in) && r.err == nil {
		for len(elements) > 0 && elements[0][0] < r.i {
			elements = elements[1:]
		}
		if len(elements) > 0 && elements[0][0] == r.i {
			if from, to := elements[0][0], elements[0][1]; !isLiteralValue(in[from:to]) {
				for _, t := range r.all(in[from:to]) {
					r.push(t)
				}
				r.i = to
				continue
			}
		}
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

// valueElements returns the ranges of tokens of the values in the rows after VALUES.
func valueElements(toks []tok) (list [][2]int) {
	i := 0
	for i < len(toks) && !toks[i].word("VALUES") {
		i += max(toks[i].match, 0) + 1
	}
	for i++; i < len(toks); i++ {
		row := toks[i]
		switch {
		case row.sym(","):
			continue
		case !row.sym("(") || row.match <= 0:
			return list
		}
		end, from := i+row.match, i+1
		for k := from; k <= end; k++ {
			if k == end || toks[k].sym(",") {
				if k > from {
					list = append(list, [2]int{from, k})
				}
				from = k + 1
			} else {
				k += max(toks[k].match, 0)
			}
		}
		i = end
	}
	return list
}

// isLiteralValue reports whether a value of INSERT is a literal, perhaps with casts and in parentheses. Others are
// expressions, which are rewritten like those of a query.
func isLiteralValue(toks []tok) bool {
	for {
		n := len(toks)
		switch {
		case n > 2 && toks[0].sym("(") && toks[0].match == n-1:
			toks = toks[1 : n-1]
		case firstCast(toks) > 0:
			at := firstCast(toks)
			if !isCastChain(toks[at:]) || isSpoken(toks[at+1], toks[at-1]) {
				return false
			}
			toks = toks[:at]
		case n > 1 && (toks[0].sym("-") || toks[0].sym("+")):
			return n == 2 && toks[1].kind == statement.TokenNumber
		case n == 2 && toks[0].sym("$"):
			return true
		case n == 1:
			t := toks[0]
			return t.kind == statement.TokenText || t.kind == statement.TokenNumber || literalWords[strings.ToUpper(t.val)]
		case n == 3 && literalWords[strings.ToUpper(toks[0].val)] && toks[1].sym("("):
			return true
		case n > 1 && toks[n-1].kind == statement.TokenText:
			return storedTypes[strings.ToUpper(toks[0].val)] && isTypedLiteral(toks) && !isSpoken(toks[0], toks[n-1]) ||
				n == 2 && toks[0].word("X")
		default:
			return false
		}
	}
}

// firstCast returns the index of the first :: outside of brackets, or -1 if there is none.
func firstCast(toks []tok) int {
	for i := 0; i < len(toks); i++ {
		if toks[i].sym("::") {
			return i
		}
		i += max(toks[i].match, 0)
	}
	return -1
}

// isCastChain reports whether tokens are casts, as in ::numeric(10,2)::text[].
func isCastChain(toks []tok) bool {
	for i := 0; i < len(toks); i++ {
		switch t := toks[i]; {
		case t.sym("::"):
			if i+1 == len(toks) || !toks[i+1].isName() {
				return false
			}
		case t.match > 0:
			i += t.match
		case !t.isName() && !t.sym(".") || isOperatorWord(t) && !typeWords[strings.ToUpper(t.val)]:
			return false
		}
	}
	return true
}

// isSpoken reports whether a text and a type are a word for a time, such as DATE 'today'.
func isSpoken(typ, text tok) bool {
	if text.kind != statement.TokenText {
		return false
	}
	_, spoken := castType{name: strings.ToLower(typ.val)}.spoken(text.val)
	return spoken
}

// literalWords are words that are values of INSERT, and storedTypes are types before literals.
var (
	literalWords = map[string]bool{
		"NULL": true, "TRUE": true, "FALSE": true, "DEFAULT": true, "NOW": true, "CURRENT_TIMESTAMP": true,
	}
	storedTypes = map[string]bool{
		"TIMESTAMP": true, "TIMESTAMPTZ": true, "DATE": true, "TIME": true, "JSON": true, "VARCHAR": true, "STRING": true,
	}
)

// ValueExpressions returns a query with the values of an INSERT that are not literals, each at its place in the
// statement, or "" if there are none.
func ValueExpressions(text string) string {
	toks := tokens(text)
	if len(toks) == 0 || !toks[0].word("INSERT") || queryOfInsert(toks) > 0 {
		return ""
	}
	var out []byte
	for _, e := range valueElements(toks) {
		first, last := toks[e[0]], toks[e[1]-1]
		if isLiteralValue(toks[e[0]:e[1]]) {
			continue
		}
		if out == nil {
			out = []byte(strings.Repeat(" ", len(text)))
			copy(out[toks[0].at:], "SELECT")
		} else {
			out[first.at-1] = ','
		}
		copy(out[first.at:], text[first.at:last.at+len(last.text)])
	}
	return string(out)
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
