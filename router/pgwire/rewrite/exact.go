package rewrite

import (
	"fmt"
	"strconv"
	"strings"

	"cordwood/proto/lazyregexp"
	"cordwood/router/query/statement"
)

// Rules for what the engine accepts, but with another result than PostgreSQL.

// descending adds NULLS FIRST to DESC, where PostgreSQL sorts nulls before all values.
func (r *rewriter) descending() bool {
	if r.last().word("AS") {
		return false
	}
	t := r.at(0)
	r.push(t)
	r.i++
	if !r.at(0).word("NULLS") {
		r.raw(tok{pre: " ", at: t.at}, "NULLS FIRST")
	}
	return true
}

// ties refuses FETCH FIRST n ROWS WITH TIES.
func (r *rewriter) ties() bool {
	if !r.last().word("WITH") {
		return false
	}
	return r.refuse("WITH TIES is not supported; write SELECT … FROM (SELECT *, rank() OVER (ORDER BY x) AS r "+
		"FROM …) WHERE r <= n", 0)
}

// cutText writes a cast to varchar(n) or char(n), which cuts the text off. It reports false for other types.
func (r *rewriter) cutText(operand []tok, t castType) bool {
	if t.length == 0 || len(operand) == 0 {
		return false
	}
	if t.array {
		if isText(operand) || strings.Count(t.text, "[]") > 1 {
			return false
		}
		r.raw(operand[0], fmt.Sprintf("list_transform(%s, lambda cordwood_v: left(CAST(cordwood_v AS VARCHAR), %d))",
			joined(operand), t.length))
		return true
	}
	r.raw(operand[0], fmt.Sprintf("left(CAST(%s AS VARCHAR), %d)", joined(operand), t.length))
	return true
}

// lengthOf returns the number of characters in brackets, or 0.
func (r *rewriter) lengthOf(open, end int) int {
	if end != open+2 {
		return 0
	}
	n, err := strconv.Atoi(r.at(open + 1).text)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// cutTypes are the types whose casts cut texts off at a length.
var cutTypes = map[string]bool{"varchar": true, "char": true, "character": true, "bpchar": true}

// withBytes matches texts that PostgreSQL reads as bytes: the engine reads them in another form.
var withBytes = lazyregexp.New(`^\\x([0-9a-fA-F]{2})*$`)

// comparedBytes rewrites a text such as '\x00ff' that is compared with bytes.
func (r *rewriter) comparedBytes() bool {
	t := r.at(0)
	n := len(r.out)
	for n > 0 && (r.out[n-1].sym("=") || r.out[n-1].sym("<") || r.out[n-1].sym(">") || r.out[n-1].sym("!")) {
		n--
	}
	if !withBytes.MatchString(t.val) || r.at(1).sym("::") || n == len(r.out) || n == 0 || !r.out[n-1].endsOperand() {
		return false
	}
	operator := append([]tok{}, r.out[n:]...)
	r.out = r.out[:n]
	left := r.operand()
	known := isBytes(joined(left))
	typ := "BLOB"
	if !known {
		probing := t.at == r.s.Probe
		var ok bool
		if typ, ok = r.operandType(left); !ok && probing {
			r.out = r.out[:len(r.out)-1] // the text, which follows the operator
		}
	}
	for _, o := range operator {
		r.push(o)
	}
	if typ != "BLOB" {
		if r.s.Probe == t.at && t.at > 0 {
			r.push(t)
			return true
		}
		return false
	}
	r.raw(t, "from_hex("+quote(t.val[2:])+")")
	r.i++
	return true
}

// quantifiedPattern rewrites x LIKE ANY (ARRAY[…]) with literal patterns: the engine has it for no list.
func (r *rewriter) quantifiedPattern(end int) bool {
	words := len(r.out) - 1
	like := strings.ToUpper(r.out[words].val)
	if words > 0 && r.out[words-1].word("NOT") {
		words--
		like = "NOT " + like
	}
	inner := r.in[r.i+2 : r.i+end]
	for len(inner) > 2 && inner[0].sym("(") && inner[0].match == len(inner)-1 {
		inner = inner[1 : len(inner)-1]
	}
	var patterns []string
	switch {
	case len(inner) > 0 && inner[0].kind == statement.TokenText && !isMarker(inner[0].val) &&
		(len(inner) == 1 || inner[1].sym("::")):
		list, _, ok := r.textsOf(inner[0])
		if !ok {
			return r.refusePatterns()
		}
		patterns = list
	case len(inner) > 2 && inner[0].word("ARRAY") && inner[1].sym("["):
		for k := 2; k < 1+inner[1].match; k += 2 {
			if inner[k].kind != statement.TokenText || isMarker(inner[k].val) || !inner[k+1].sym(",") && !inner[k+1].sym("]") {
				return r.refusePatterns()
			}
			patterns = append(patterns, inner[k].val)
		}
	default:
		return r.refusePatterns()
	}
	r.out = r.out[:words]
	operand := r.operand()
	if len(operand) == 0 || len(patterns) == 0 {
		return r.refusePatterns()
	}
	text := joined(operand)
	r.out = r.out[:len(r.out)-len(operand)]
	terms := make([]string, len(patterns))
	for i, p := range patterns {
		terms[i] = text + " " + like + " " + quote(p)
		if strings.Contains(p, `\`) {
			terms[i] += ` ESCAPE '\'`
		}
	}
	join := " OR "
	if r.at(0).word("ALL") {
		join = " AND "
	}
	r.raw(operand[0], "("+strings.Join(terms, join)+")")
	r.i += end + 1
	return true
}

// textsOf returns the elements of an array in a text.
func (r *rewriter) textsOf(t tok) (list []string, size int, ok bool) {
	saved, i := r.in, r.i
	r.in, r.i = []tok{t}, 0
	list, size, ok = r.keys(0)
	r.in, r.i = saved, i
	return list, size, ok
}

func (r *rewriter) refusePatterns() bool {
	return r.refuse("LIKE ANY and LIKE ALL need literal patterns, such as ARRAY['a%', 'b%'], at most "+itoa(maxKeys)+
		" in a text; write x LIKE p OR x LIKE q", 0)
}

// shortSubstring returns substring(x, from [, size]) with a literal start before the first character. The engine counts
// it from the end.
func shortSubstring(args []string) (string, bool) {
	if len(args) == 1 {
		args = splitWords(args[0], "FROM", "FOR")
	}
	if len(args) < 2 || len(args) > 3 {
		return "", false
	}
	from, err := strconv.Atoi(strings.ReplaceAll(strings.Trim(plainNumbers(args)[1], "() "), " ", ""))
	if err != nil || from >= 1 {
		return "", false
	}
	if len(args) == 2 {
		return "substring(" + args[0] + ", 1)", true
	}
	return fmt.Sprintf("substring(%s, 1, greatest((%s) - %d, 0))", args[0], args[2], 1-from), true
}

// cardinality counts the elements of all dimensions.
const cardinality = "CASE WHEN contains(typeof(%1), '[][][]') THEN CAST(len(%1) * " +
	"json_array_length(to_json(%1), '$[0]') * json_array_length(to_json(%1), '$[0][0]') AS INTEGER) " +
	"WHEN contains(typeof(%1), '[][]') THEN CAST(len(%1) * " +
	"coalesce(json_array_length(to_json(%1), '$[0]'), 1) AS INTEGER) ELSE CAST(len(%1) AS INTEGER) END"

// arrayLength rewrites array_length. An array without elements has no length.
func arrayLength(_ *rewriter, args []string) (string, bool) {
	if len(args) != 2 {
		return "", false
	}
	path := ""
	switch strings.TrimSpace(args[1]) {
	case "1":
		return "CAST(nullif(len(" + args[0] + "), 0) AS INTEGER)", true
	case "2":
		path = "$[0]"
	case "3":
		path = "$[0][0]"
	default:
		return "", false
	}
	return fmt.Sprintf("CAST(nullif(json_array_length(to_json(%s), '%s'), 0) AS INTEGER)", args[0], path), true
}

// digest rewrites the digest of bytes, which is bytes in PostgreSQL. That of a text stays the engine's.
func digest(name string) expand {
	return func(_ *rewriter, args []string) (string, bool) {
		if len(args) != 1 || !isBytes(args[0]) {
			return "", false
		}
		return "from_hex(" + name + "(" + args[0] + "))", true
	}
}

// replacedPattern rewrites regexp_replace, in whose replacement \& is the whole match.
func replacedPattern(r *rewriter, args []string) (string, bool) {
	if len(args) > 2 {
		if text, ok := literalOf(args[2]); ok && strings.Contains(text, `\&`) {
			args[2] = quote(strings.ReplaceAll(text, `\&`, `\0`))
		}
	}
	return withPattern(renamed("regexp_replace"))(r, args)
}

// jsonLists are the aggregates that collect values in a document. The engine's macros for them take neither ORDER BY
// nor FILTER.
var jsonLists = map[string]bool{"json_agg": true, "jsonb_agg": true}

// objectLists are those that collect keys and values in an object.
var objectLists = map[string]bool{"json_object_agg": true, "jsonb_object_agg": true}

// jsonList writes the call of a function of jsonLists whose arguments end n tokens ahead, with FILTER and OVER (…).
// It returns how many tokens it replaces.
func (r *rewriter) jsonList(args []string, end int) (text string, size int) {
	clauses, size := r.clausesAfter(end)
	return "to_json(list(" + strings.Join(args, ", ") + ")" + clauses + ")", size
}
