package rewrite

import (
	"strings"

	"cordwood/router/query/statement"
)

// maxNameDepth is the maximum nesting depth to which the name of a column is searched.
const maxNameDepth = 32

// folded returns a name in lower case, unless it is quoted, as PostgreSQL does.
func folded(t tok) string {
	if t.kind == statement.TokenWord {
		return strings.ToLower(t.val)
	}
	return t.val
}

// The strengths of names. PostgreSQL uses them to choose between the name of an expression and the name of its operand.
const (
	unnamed = iota
	weak    // the name of a type, or of CASE
	strong  // the name of a column or a function
)

// isOperatorWord reports whether a word may stand between operands.
func isOperatorWord(t tok) bool {
	if t.kind != statement.TokenWord {
		return false
	}
	switch strings.ToUpper(t.val) {
	case "AND", "OR", "NOT", "IS", "IN", "LIKE", "ILIKE", "BETWEEN", "NULL", "TRUE", "FALSE", "ZONE", "TIME", "AT",
		"COLLATE", "ESCAPE", "SIMILAR", "TO", "PRECISION", "VARYING", "ISNULL", "NOTNULL", "OVERLAPS":
		return true
	}
	return false
}

// isConstant reports whether a word may end an expression, although it may also stand between operands.
func isConstant(t tok) bool {
	return t.word("TRUE") || t.word("FALSE") || t.word("NULL") || t.word("ISNULL") || t.word("NOTNULL")
}

// unknown is PostgreSQL's name for columns that have no other.
const unknown = "?column?"

// nameOf returns the name of an expression without an alias, its column if it is just one, and the strength of the
// name.
func nameOf(toks []tok, deep int) (name, column string, strength int) {
	n := len(toks)
	if deep++; deep > maxNameDepth || n == 0 {
		return unknown, "", unnamed
	}
	if castAt := lastCast(toks); castAt >= 0 {
		if inner, _, s := nameOf(toks[:castAt], deep); s == strong {
			return inner, "", strong
		}
		return castName(toks[castAt+1:]), "", weak
	}
	if open := n - 1 + toks[n-1].match; toks[n-1].sym("]") && open > 0 && open < n-1 && !toks[open-1].word("ARRAY") &&
		isOperand(toks[:open]) { // an element
		inner, _, s := nameOf(toks[:open], deep)
		return inner, "", s
	}
	if at, sum := lowestOperator(toks); at > 0 && sum == 0 {
		return "timezone", "", strong
	}
	if n > 3 && toks[n-1].sym(")") && toks[n-1].match < 0 && toks[max(n-2+toks[n-1].match, 0)].word("OVERLAPS") {
		return "overlaps", "", strong
	}
	if isTypedLiteral(toks) {
		return castName(toks), "", weak
	}
	if toks[0].isName() {
		if name, column, strength := nameOfWord(toks, deep); strength != unnamed {
			return name, column, strength
		}
	}
	if toks[0].sym("(") && closingIndex(toks, 0) == n-1 {
		if n > 2 && (toks[1].word("SELECT") || toks[1].word("WITH")) {
			if items := itemsOf(toks[1:n-1], deep); len(items) == 1 && items[0].Name != "" {
				return items[0].Name, "", strong
			}
			return unknown, "", unnamed
		}
		return nameOf(toks[1:n-1], deep)
	}
	return unknown, "", unnamed
}

// isTypedLiteral reports whether an expression is a type before a literal, perhaps with the unit of an interval after
// it.
func isTypedLiteral(toks []tok) bool {
	n := len(toks)
	if n > 2 && toks[n-2].kind == statement.TokenText && toks[0].word("INTERVAL") {
		n--
	}
	if n < 2 || toks[n-1].kind != statement.TokenText || !literalTypes[strings.ToLower(toks[0].val)] {
		return false
	}
	for _, t := range toks[1 : n-1] {
		if !t.isName() && t.kind != statement.TokenNumber && !t.sym("(") && !t.sym(")") && !t.sym(",") {
			return false
		}
	}
	return true
}

// nameOfWord does the same as nameOf for an expression that starts with a word.
func nameOfWord(toks []tok, deep int) (name, column string, strength int) {
	n, k := len(toks), 1
	for k+1 < n && toks[k].sym(".") && toks[k+1].isName() {
		k += 2
	}
	switch {
	case k == n:
		return wordName(toks, k)
	case toks[k].sym("(") && closingIndex(toks, k) == n-1, toks[k].sym("(") && overAt(toks, closingIndex(toks, k)+1):
		if k == 1 && toks[0].word("trim") && k+1 < n {
			return trimName(toks[k+1]), "", strong
		}
		if name := callName(toks[k-1]); name != "" {
			return name, "", strong
		}
		return nameOfCast(toks[k+1:n-1], deep)
	case toks[k].sym("[") && toks[0].word("ARRAY") && closingIndex(toks, k) == n-1:
		return "array", "", strong
	case toks[0].word("CASE") && toks[n-1].word("END"):
		if at := elseAt(toks); at > 0 {
			if inner, _, s := nameOf(toks[at+1:n-1], deep); s == strong {
				return inner, "", strong
			}
		}
		return "case", "", weak
	}
	return unknown, "", unnamed
}

// nameOfCast returns the name of the expression in the brackets of CAST.
func nameOfCast(toks []tok, deep int) (name, column string, strength int) {
	for i := len(toks) - 1; i > 0; i-- {
		switch t := toks[i]; {
		case t.match < 0:
			i += t.match
		case t.word("AS"):
			if inner, _, s := nameOf(toks[:i], deep); s == strong {
				return inner, "", strong
			}
			return castName(toks[i+1:]), "", weak
		}
	}
	return unknown, "", unnamed
}

// elseAt returns the index of the ELSE of a CASE, or -1 if it has none.
func elseAt(toks []tok) int {
	cases := 0
	for i := len(toks) - 1; i >= 0; i-- {
		switch t := toks[i]; {
		case t.match < 0:
			i += t.match
		case t.word("END"):
			cases++
		case t.word("CASE"):
			cases--
		case t.word("ELSE") && cases == 1:
			return i
		}
	}
	return -1
}

// wordName returns the name for an expression that starts with a word: a column, or a keyword.
func wordName(toks []tok, k int) (name, column string, strength int) {
	last := toks[k-1]
	if k == 1 && last.kind == statement.TokenWord {
		switch strings.ToLower(last.val) {
		case "true", "false", "null":
			return unknown, "", unnamed
		}
	}
	return last.val, last.val, strong
}

// callName returns the name of a function call, which is the name of the function.
func callName(t tok) string {
	name := strings.ToLower(t.val)
	switch name {
	case "cast", "try_cast":
		return ""
	case "extract", "date_part":
		return name
	}
	return name
}

// trimName returns the name of a call of TRIM, which is a call of another function in PostgreSQL. t is the first word
// in the brackets.
func trimName(t tok) string {
	switch {
	case t.word("LEADING"):
		return "ltrim"
	case t.word("TRAILING"):
		return "rtrim"
	}
	return "btrim"
}

// overAt reports whether OVER, FILTER or WITHIN GROUP follows a call.
func overAt(toks []tok, i int) bool {
	return i > 0 && i < len(toks) && (toks[i].word("OVER") || toks[i].word("FILTER") || toks[i].word("WITHIN"))
}

// closingIndex returns the index of the bracket that closes the bracket at i, or -1 if there is none.
func closingIndex(toks []tok, i int) int {
	if match := toks[i].match; match > 0 && i+match < len(toks) {
		return i + match
	}
	return -1
}

// lastCast returns the index of the :: at the end of the expression, or -1 if it does not end with a cast.
func lastCast(toks []tok) int {
	if len(toks) > 0 && toks[len(toks)-1].word("END") {
		return -1 // of a CASE
	}
	for i := len(toks) - 1; i > 0; i-- {
		switch t := toks[i]; {
		case t.match < 0:
			i += t.match
		case t.sym("::"):
			if !isOperand(toks[:i]) {
				return -1
			}
			return i
		case t.kind == statement.TokenSymbol && !t.sym("."):
			return -1
		case t.kind != statement.TokenSymbol && !t.isName() && t.kind != statement.TokenNumber:
			return -1
		case isOperatorWord(t) && !typeWords[strings.ToUpper(t.val)]:
			return -1
		}
	}
	return -1
}

// typeWords are the words of isOperatorWord that may be part of the name of a type.
var typeWords = map[string]bool{"TIME": true, "ZONE": true, "PRECISION": true, "VARYING": true}

// isOperand reports whether an expression has no operator besides casts, so that a cast after it applies to all of it.
func isOperand(toks []tok) bool {
	n := len(toks)
	if n == 1 || n > 1 && toks[0].word("CASE") && toks[n-1].word("END") {
		return true
	}
	for i := n - 1; i >= 0; i-- {
		switch t := toks[i]; {
		case t.match < 0:
			i += t.match
		case t.kind == statement.TokenSymbol && !t.sym(".") && !t.sym("::") && !t.sym("$"), isOperatorWord(t):
			return false
		}
	}
	return true
}

// literalTypes are the types that may stand before a literal.
var literalTypes = map[string]bool{
	"numeric": true, "decimal": true, "dec": true, "int2": true, "int4": true, "int8": true, "int": true, "integer": true,
	"bigint": true, "smallint": true, "float": true, "float4": true, "float8": true, "real": true, "double": true,
	"date": true, "time": true, "timetz": true, "timestamp": true, "timestamptz": true, "interval": true, "bool": true,
	"boolean": true, "text": true, "varchar": true, "uuid": true, "json": true, "jsonb": true, "bytea": true,
}

// castNames maps type names to PostgreSQL's names in pg_type.
var castNames = map[string]string{
	"int": "int4", "integer": "int4", "bigint": "int8", "smallint": "int2", "boolean": "bool", "double": "float8",
	"float": "float8", "real": "float4", "decimal": "numeric", "dec": "numeric", "character": "bpchar", "string": "text",
}

func castName(toks []tok) string {
	for len(toks) > 2 && toks[1].sym(".") {
		toks = toks[2:]
	}
	if len(toks) == 0 {
		return "?column?"
	}
	name := strings.ToLower(toks[0].val)
	if name == "character" && len(toks) > 1 && toks[1].word("varying") {
		return "varchar"
	}
	if n := len(toks); (name == "timestamp" || name == "time") && n > 3 && toks[n-3].word("with") {
		return name + "tz"
	}
	if name == "float" && len(toks) > 2 && toks[1].sym("(") && isFloat4(toks[2]) {
		return "float4"
	}
	if known := castNames[name]; known != "" {
		return known
	}
	return name
}
