package rewrite

import (
	"slices"
	"strconv"
	"strings"

	"cordwood/proto/lazyregexp"
	"cordwood/router/pgwire/value"
	"cordwood/router/query/statement"
)

// written is the kind of tokens that rules write.
const written = statement.TokenKind(100)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// engineTypes maps PostgreSQL's type names to the engine's, if they differ.
var engineTypes = map[string]string{
	"name": "VARCHAR", "bpchar": "VARCHAR", "char": "VARCHAR", "xid": "VARCHAR", "cid": "VARCHAR", "inet": "VARCHAR",
	"cidr": "VARCHAR", "macaddr": "VARCHAR", "oid": "BIGINT", "xid8": "BIGINT", "jsonb": "JSON",
	"bytea": "BLOB", "int2vector": "VARCHAR", "oidvector": "VARCHAR", "text": "VARCHAR", "int2": "SMALLINT",
	"int4": "INTEGER", "int8": "BIGINT", "float4": "FLOAT", "float8": "DOUBLE", "timestamptz": "TIMESTAMP",
	"timestamp": "TIMESTAMP", "citext": "VARCHAR", "unknown": "VARCHAR", "money": "DECIMAL(18,2)", "aclitem": "VARCHAR",
	"pg_node_tree": "VARCHAR", "sql_identifier": "VARCHAR", "character_data": "VARCHAR", "cardinal_number": "INTEGER",
	"yes_or_no": "VARCHAR", "information_schema.sql_identifier": "VARCHAR",
}

// nestedTypes are types of the engine that are written with other types in brackets. Their casts stay as they are.
var nestedTypes = map[string]bool{"map": true, "struct": true, "row": true, "union": true, "enum": true}

// castType is the target type of a cast, which follows :: or AS.
type castType struct {
	name  string // PostgreSQL's name of the type
	text  string // the engine's name of the type
	size  int    // number of tokens
	array bool
	// length is the number of characters at which the type cuts texts off, or 0.
	length int
	// number is true for numeric, and bare if its numbers of digits are missing.
	number, bare bool
}

// readType reads the type that starts n tokens ahead.
func (r *rewriter) readType(n int) (t castType, ok bool) {
	from := n
	for r.at(n).isName() && (r.at(n).val == "pg_catalog" || r.at(n).word("pg_catalog") ||
		r.at(n).word("information_schema")) && r.at(n+1).sym(".") {
		n += 2
	}
	head := r.at(n)
	if !head.isName() || r.at(n+1).sym("(") && nestedTypes[strings.ToLower(head.val)] {
		return t, false
	}
	t.name = strings.ToLower(head.val)
	t.text = head.text
	n++
	switch {
	case t.name == "character" && r.at(n).word("varying"):
		t.name, t.text, n = "varchar", "VARCHAR", n+1
	case t.name == "double" && r.at(n).word("precision"):
		t.name, t.text, n = "float8", "DOUBLE", n+1
	case t.name == "float" && head.kind == statement.TokenWord:
		t.name = r.floatType(n)
	}
	t.number = t.name == "numeric" || t.name == "decimal" || t.name == "dec"
	if r.at(n).sym("(") {
		end := r.closingBracket(n)
		if end < 0 {
			return t, false
		}
		switch {
		case t.number:
			t.text = r.numericType(n, end)
		case cutTypes[t.name]:
			t.length = r.lengthOf(n, end)
		}
		n = end + 1
	} else if t.number {
		t.bare, t.text = true, bareNumber
	} else if head.kind == statement.TokenWord && (t.name == "char" || t.name == "character") {
		t.length = 1
	}
	if (r.at(n).word("with") || r.at(n).word("without")) && r.at(n+1).word("time") && r.at(n+2).word("zone") {
		if t.name == "timestamp" && r.at(n).word("with") {
			t.name = "timestamptz"
		} else if t.name == "time" && r.at(n).word("with") {
			t.name, t.text = "timetz", "TIME WITH TIME ZONE"
		}
		n += 3
	}
	if text := engineTypes[t.name]; text != "" {
		t.text = text
	}
	for r.at(n).sym("[") && r.at(n+1).sym("]") {
		t.array = true
		t.text += "[]"
		n += 2
	}
	t.size = n - from
	return t, true
}

// floatType returns the name of the type that float means if the rest of its name is n tokens ahead. The engine's FLOAT
// has 32 bits.
func (r *rewriter) floatType(n int) string {
	if r.at(n).sym("(") && isFloat4(r.at(n+1)) {
		return "float4"
	}
	return "float8"
}

// isFloat4 reports whether float with this number of bits is float4.
func isFloat4(bits tok) bool {
	n, err := strconv.Atoi(bits.text)
	return err == nil && n <= 24
}

// closingBracket returns the distance to the bracket that closes the bracket n tokens ahead, or -1 if there is none.
func (r *rewriter) closingBracket(n int) int {
	if match := r.at(n).match; match > 0 && r.i+n+match < len(r.in) {
		return n + match
	}
	return -1
}

// cast rewrites ::type.
func (r *rewriter) cast() bool {
	t, ok := r.readType(1)
	if !ok {
		return false
	}
	first, last := r.at(0), r.last()
	if !last.endsOperand() {
		return false
	}
	if r.textCast(t) {
		return true
	}
	var operand []tok
	r.dropBrackets()
	last = r.last()
	if integerNames[t.name] && !t.array && r.castElement(t) {
		return true
	}
	switch {
	case t.isReg(), t.length > 0:
		operand = r.operand()
	case last.kind == statement.TokenText, isMoment(last):
		operand = r.out[len(r.out)-1:]
	case t.number:
		operand = r.operand()
	case r.regNames[last.text] != "" && t.isText():
		operand = r.out[len(r.out)-1:]
	default: // nothing has to be known of it
		if t.name == "timestamptz" && isParameter(r.out[max(0, len(r.out)-2):]) {
			t.text = "TIMESTAMP_NS"
		}
		r.i += 1 + t.size
		r.pushCast(t, first.at)
		return true
	}
	operand = slices.Clone(operand)
	r.out = r.out[:len(r.out)-len(operand)]
	r.i += 1 + t.size
	r.write(operand, t, first)
	return true
}

// integerNames are the names of the types of integers.
var integerNames = map[string]bool{
	"int": true, "integer": true, "int2": true, "int4": true, "int8": true, "smallint": true, "bigint": true,
}

// castElement rewrites the cast in x -> $1::int: the number of an element. The engine takes such a cast for a mistake.
func (r *rewriter) castElement(t castType) bool {
	number := slices.Clone(r.operand())
	n := len(r.out) - len(number)
	if len(number) == 0 || n < 2 || !r.out[n-1].sym(">") || !r.out[n-2].sym("-") && !r.out[n-2].sym(">") {
		return false
	}
	if r.out[n-2].sym(">") && (n < 3 || !r.out[n-3].sym("-")) {
		return false
	}
	r.out = r.out[:n]
	r.i += 1 + t.size
	r.raw(number[0], "(CAST("+joined(number)+" AS "+t.text+") + 0)")
	return true
}

// dropBrackets removes the brackets around a text at the end of the output.
func (r *rewriter) dropBrackets() {
	n := len(r.out)
	if n < 3 || r.out[n-1].match != -2 || r.out[n-2].kind != statement.TokenText || n > 3 && r.out[n-4].calls() ||
		n > 3 && r.out[n-4].word("IN") {
		return
	}
	text := r.out[n-2]
	text.pre = r.out[n-3].pre
	r.out = r.out[:n-3]
	r.push(text)
}

// isReg reports whether values of the type are object names.
func (t castType) isReg() bool {
	return strings.HasPrefix(t.name, "reg")
}

// endsOperand reports whether an operand can end here.
func (t tok) endsOperand() bool {
	return t.closes() || t.isName() || t.kind == statement.TokenNumber || t.kind == statement.TokenText ||
		t.kind == written
}

// castCall rewrites CAST(x AS type).
func (r *rewriter) castCall() bool {
	if !r.at(1).sym("(") {
		return false
	}
	end := r.closingBracket(1)
	for n := end - 1; n > 2; n-- {
		if t := r.at(n); t.match < 0 {
			n += t.match // brackets may contain an AS of another call
			continue
		} else if !t.word("AS") {
			continue
		}
		t, ok := r.readType(n + 1)
		if !ok || n+1+t.size != end {
			return false
		}
		first := r.at(0)
		source := r.in[r.i+2 : r.i+n]
		inner := r.all(source)
		if len(inner) == 0 {
			return false
		}
		r.i += end + 1
		inner[0].pre = ""
		operand := inner
		if len(inner) > 1 {
			operand = append(append([]tok{{kind: written, text: "(", val: "(", at: first.at}}, inner...),
				tok{kind: written, text: ")", val: ")", at: first.at})
		}
		operand[0].pre = first.pre
		if t.isText() && !t.array && t.length == 0 && !isText(inner) {
			if text, ok := r.shownText(joined(operand), source, first.at); ok {
				r.raw(operand[0], text)
				return true
			}
		}
		r.write(operand, t, tok{at: first.at})
		return true
	}
	return false
}

// operand returns the tokens at the end of the output that a cast applies to.
func (r *rewriter) operand() []tok {
	i, casts := len(r.out), 0
	for i > 0 {
		switch t := r.out[i-1]; {
		case t.kind == written && i > 1 && r.out[i-2].sym("::"):
			if casts++; casts > maxCasts { // each cast may copy the operand with the casts before it
				r.err = tooComplex()
			}
			i -= 2
			continue
		case t.closes():
			open := t.sym("]")
			i = max(0, i-1+t.match)
			if t.match == 0 {
				i = 0
			}
			if i > 0 && (open || r.out[i-1].calls()) {
				continue
			}
			return r.out[i:]
		case t.isName() || t.kind == statement.TokenNumber || t.kind == statement.TokenText || t.kind == written:
			i--
			for i > 1 && r.out[i-1].sym(".") && r.out[i-2].isName() {
				i -= 2
			}
			if i > 0 && r.out[i-1].sym("$") {
				i--
			}
			return r.out[i:]
		default:
			return r.out[i:]
		}
	}
	return r.out[i:]
}

// notCalled are words before parentheses that are not functions.
var notCalled = map[string]bool{
	"IN": true, "AND": true, "OR": true, "NOT": true, "WHERE": true, "ON": true, "SELECT": true, "FROM": true,
	"WHEN": true, "THEN": true, "ELSE": true, "AS": true, "BY": true, "HAVING": true, "CASE": true, "JOIN": true,
	"LIKE": true, "BETWEEN": true, "IS": true, "DISTINCT": true, "VALUES": true, "UNION": true, "LIMIT": true,
}

// listLiteral converts a text such as {a,b} to a list.
func listLiteral(text string) (string, bool) {
	literal, err := value.Literal(value.ArrayOf(value.Text), value.FormatText, []byte(text))
	if err != nil || !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return "", false
	}
	list := strings.TrimPrefix(literal, "CAST(")
	return list[:strings.LastIndex(list, " AS VARCHAR")], true
}

// listType returns the engine's type for a list literal that is cast to an array. In PostgreSQL, the type does not say
// how many dimensions an array has.
func listType(list, typ string) string {
	depth := len(list) - len(strings.TrimLeft(list, "["))
	return strings.TrimRight(typ, "[]") + strings.Repeat("[]", max(depth, 1))
}

var numbersOnly = lazyregexp.New(`^\{-?[0-9]+(,-?[0-9]+)*\}$`)

// literal rewrites a text that is compared with a list, and texts after U&, B and X.
func (r *rewriter) literal() bool {
	t := r.at(0)
	if r.at(1).sym("::") || !strings.HasPrefix(t.val, "{") {
		return false
	}
	last := r.last()
	if numbersOnly.MatchString(t.val) && (last.sym("=") || last.sym(">")) {
		r.raw(t, "["+strings.Trim(t.val, "{}")+"]")
		r.i++
		return true
	}
	return false
}

// quantified rewrites x = ANY(list) and x <> ALL(list), which the engine does not support in outer joins.
func (r *rewriter) quantified() bool {
	if !r.at(1).sym("(") {
		return false
	}
	end := r.closingBracket(1)
	if end < 0 || r.at(2).word("SELECT") || r.at(2).word("WITH") || r.at(2).word("VALUES") || r.at(2).sym("$") {
		return false
	}
	if r.last().word("LIKE") || r.last().word("ILIKE") {
		return r.quantifiedPattern(end)
	}
	all := r.at(0).word("ALL")
	saved := len(r.out)
	not := false
	switch {
	case !all && r.last().sym("="):
		r.out = r.out[:len(r.out)-1]
	case all && r.last().sym(">") && len(r.out) > 1 && r.out[len(r.out)-2].sym("<"):
		r.out, not = r.out[:len(r.out)-2], true
	default:
		return false
	}
	operand := r.operand()
	if len(operand) == 0 {
		r.out = r.out[:saved]
		return false
	}
	text := joined(operand)
	r.out = r.out[:len(r.out)-len(operand)]
	inner := r.in[r.i+2 : r.i+end]
	for n := len(inner); n == 3 && inner[0].sym("(") && inner[2].sym(")") || n > 3 && inner[0].sym("(") && inner[1].kind ==
		statement.TokenText && inner[2].sym("::") && inner[n-1].sym(")"); n = len(inner) {
		inner = inner[1 : n-1]
	}
	list := ""
	if len(inner) == 1 && inner[0].kind == statement.TokenText {
		list, _ = listLiteral(inner[0].val)
	}
	var call string
	if list != "" && list != "[]" && !strings.HasPrefix(list, "[[") { // texts, which IN reads as values of x's type
		call = "(" + text + " IN (" + list[1:len(list)-1] + "))"
	} else {
		if list == "" {
			list = joined(r.all(inner))
		}
		call = "list_contains(" + list + ", " + text + ")"
	}
	if not {
		call = "(NOT " + call + ")"
	}
	r.raw(operand[0], call)
	r.i += end + 1
	return true
}
