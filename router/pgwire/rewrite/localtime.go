package rewrite

import (
	"strings"

	"cordwood/router/pgwire/value"
	"cordwood/router/query/statement"
)

// In PostgreSQL, AT TIME ZONE has two meanings: of a timestamptz, it returns the local time in the zone, and of a
// timestamp, it takes the time for a local time of the zone. The engine decides by its own types, which differ: columns
// and literals are times without a zone in the engine, although clients see them as timestamptz. So the meaning is
// decided here, by the form of the expression.

// isLocal reports whether clients see an expression as timestamp, without time zone. A cast of an expression to
// timestamp is not seen as one, because drivers would take its UTC time for a time of their own zone.
func isLocal(toks []tok) bool { return local(toks, false, 0) }

// local reports whether an expression is a timestamp. casts is true if casts of expressions to timestamp are. In other
// cases, the expression is a timestamptz, or no time.
func local(toks []tok, casts bool, deep int) bool {
	n := len(toks)
	if deep++; n == 0 || deep > maxNameDepth {
		return false
	}
	if toks[0].sym("(") && closingIndex(toks, 0) == n-1 {
		if inner := toks[1 : n-1]; len(inner) > 0 && !inner[0].word("SELECT") && !inner[0].word("WITH") {
			return local(inner, casts, deep)
		}
		return false
	}
	at, sum := lowestOperator(toks)
	switch {
	case sum > 0:
		return local(toks[:sum], casts, deep) || local(toks[sum+1:], casts, deep)
	case sum < 0:
		return false
	case at > 0:
		return !local(toks[:at], true, deep)
	}
	if c := lastCast(toks); c > 0 {
		return isTimestamp(toks[c+1:]) && (casts || castsLiteral(toks[:c], deep))
	}
	if n > 2 && toks[0].word("PG_CATALOG") && toks[1].sym(".") {
		toks, n = toks[2:], n-2
	}
	switch {
	case toks[0].word("LOCALTIMESTAMP"):
		return true
	case toks[n-1].kind == statement.TokenText:
		return isTimestamp(toks[:n-1])
	case n > 3 && toks[1].sym("(") && closingIndex(toks, 1) == n-1:
		return localCall(toks, casts, deep)
	}
	return false
}

// castsLiteral reports whether a cast to timestamp of the expression is a timestamp for clients, too.
func castsLiteral(toks []tok, deep int) bool {
	for len(toks) > 2 && toks[0].sym("(") && closingIndex(toks, 0) == len(toks)-1 {
		toks = toks[1 : len(toks)-1]
	}
	return len(toks) == 1 && toks[0].kind == statement.TokenText && !isMarker(toks[0].val) || local(toks, false, deep)
}

// localCall does the same as local for a call of a function.
func localCall(toks []tok, casts bool, deep int) bool {
	n := len(toks)
	name := strings.ToLower(toks[0].val)
	if name == "cast" {
		for i := n - 2; i > 2; i-- {
			if toks[i].match < 0 {
				i += toks[i].match
			} else if toks[i].word("AS") {
				return isTimestamp(toks[i+1:n-1]) && (casts || castsLiteral(toks[2:i], deep))
			}
		}
		return false
	}
	args := splitArguments(toks[2 : n-1])
	switch name {
	case "timezone":
		return len(args) == 2 && !local(args[1], true, deep)
	case "date_trunc", "date_bin", "time_bucket":
		return len(args) == 2 && local(args[1], casts, deep) || len(args) == 3 && name != "date_trunc" &&
			local(args[1], casts, deep)
	case "min", "max", "coalesce", "greatest", "least", "nullif", "any_value", "first", "last":
		for _, arg := range args {
			if local(arg, casts, deep) {
				return true
			}
		}
	}
	return false
}

// splitArguments splits the tokens between the brackets of a call at its commas.
func splitArguments(toks []tok) (args [][]tok) {
	from := 0
	for i := 0; i <= len(toks); i++ {
		switch {
		case i == len(toks) || toks[i].sym(","):
			args = append(args, toks[from:i])
			from = i + 1
		case toks[i].match > 0:
			i += toks[i].match
		}
	}
	return args
}

// lowestOperator returns the place of the last AT TIME ZONE outside of brackets, or 0, and the place of a + or -
// between operands, or 0. sum is negative if there is another operator, so that the expression is no time.
func lowestOperator(toks []tok) (at, sum int) {
	for i := 0; i < len(toks); i++ {
		switch t := toks[i]; {
		case t.match > 0:
			i += t.match
		case t.word("AT") && i+2 < len(toks) && toks[i+1].word("TIME") && toks[i+2].word("ZONE"):
			at = i
			i += 2
		case (t.sym("+") || t.sym("-")) && i > 0 && toks[i-1].endsOperand():
			sum = i
		case t.kind == statement.TokenSymbol && !t.sym("::") && !t.sym(".") && !t.sym("$") && !t.sym("+") && !t.sym("-"),
			t.kind == statement.TokenWord && (t.word("AND") || t.word("OR") || t.word("IS") || t.word("IN") ||
				t.word("BETWEEN") || t.word("CASE") || t.word("LIKE") || t.word("OVER")):
			return 0, -1
		}
	}
	return at, sum
}

// isTimestamp reports whether tokens are the name of the type timestamp, without time zone.
func isTimestamp(toks []tok) bool {
	if len(toks) > 2 && toks[0].word("PG_CATALOG") && toks[1].sym(".") {
		toks = toks[2:]
	}
	if len(toks) == 0 ||
		!toks[0].word("TIMESTAMP") && (toks[0].kind != statement.TokenName || toks[0].val != "timestamp") {
		return false
	}
	toks = toks[1:]
	if len(toks) > 0 && toks[0].match == 2 {
		toks = toks[3:]
	}
	return len(toks) == 0 || startsWith(toks, []string{"WITHOUT", "TIME", "ZONE"}) && len(toks) == 3
}

// operandBefore returns the index of the first token of the operand that ends before the token i.
func operandBefore(toks []tok, i int) int {
	for i > 0 {
		i = primaryBefore(toks, i)
		switch {
		case i > 0 && toks[i-1].sym("::"):
			i--
		case i > 3 && toks[i-1].word("ZONE") && toks[i-2].word("TIME") && toks[i-3].word("AT"):
			i -= 3
		default:
			return i
		}
	}
	return i
}

// primaryBefore does the same without casts and AT TIME ZONE. It may return the type of a cast.
func primaryBefore(toks []tok, i int) int {
	switch t := toks[i-1]; {
	case t.closes() && t.match < 0:
		if i += t.match - 1; i > 0 && (t.sym("]") || toks[i-1].calls()) {
			return primaryBefore(toks, i)
		}
		return i
	case t.word("ZONE") && i > 3 && (toks[i-3].word("WITH") || toks[i-3].word("WITHOUT")):
		return primaryBefore(toks, i-3) // a type
	case t.kind == statement.TokenText && i > 1:
		if from := primaryBefore(toks, i-1); from < i-1 && momentTypes[strings.ToUpper(toks[from].val)] {
			return from
		}
	}
	i--
	for i > 1 && toks[i-1].sym(".") && toks[i-2].isName() {
		i -= 2
	}
	if i > 0 && toks[i-1].sym("$") {
		i--
	}
	return i
}

// momentTypes are the types before a literal that AT TIME ZONE may follow.
var momentTypes = map[string]bool{"TIMESTAMP": true, "TIMESTAMPTZ": true, "DATE": true, "TIME": true, "TIMETZ": true}

// atTimeZone rewrites x AT TIME ZONE z, whose operand x is at the end of the output.
func (r *rewriter) atTimeZone() bool {
	end := r.zoneEnd(3)
	if !r.at(1).word("TIME") || !r.at(2).word("ZONE") || end < 0 || !r.last().endsOperand() {
		return false
	}
	source := r.in[operandBefore(r.in, r.i):r.i]
	operand := r.operand()
	if len(operand) == 0 || isTimeOfDay(source) {
		return false
	}
	first, x := operand[0], joined(operand)
	if isText(operand) {
		literal, err := value.MomentLiteral(first.val)
		if err != nil {
			return r.checked(first, "", err)
		}
		x = literal
	}
	r.out = r.out[:len(r.out)-len(operand)]
	zone := joined(r.all(r.in[r.i+3 : r.i+end]))
	r.raw(first, zoned(zone, x, local(source, true, 0)))
	r.i += end
	return true
}

// zoneEnd returns the distance to the end of the name of a zone, or -1 if there is none.
func (r *rewriter) zoneEnd(n int) int {
	switch t := r.at(n); {
	case t.sym("$"):
		n += 2
	case t.sym("("):
		if n = r.closingBracket(n) + 1; n == 0 {
			return -1
		}
	case t.word("INTERVAL"), !t.isName() && t.kind != statement.TokenText && t.kind != written:
		return -1
	default:
		for n++; r.at(n).sym(".") && r.at(n+1).isName(); n += 2 {
		}
		if r.at(n).sym("(") && r.at(n-1).isName() {
			if n = r.closingBracket(n) + 1; n == 0 {
				return -1
			}
		}
	}
	for r.at(n).sym("::") {
		t, ok := r.readType(n + 1)
		if !ok {
			return -1
		}
		n += 1 + t.size
	}
	if r.i+n > len(r.in) {
		return -1
	}
	return n
}

// isTimeOfDay reports whether an expression is a time of day, whose zone the engine changes as PostgreSQL does.
func isTimeOfDay(toks []tok) bool {
	c := lastCast(toks)
	for _, typ := range [][]tok{toks[:1], toks[c+1:]} {
		if len(toks) > 1 && len(typ) > 0 && (typ[0].word("TIME") || typ[0].word("TIMETZ")) {
			return true
		}
	}
	return false
}

// zoned returns SQL for x AT TIME ZONE zone. isLocal is true if x is a timestamp and not a timestamptz.
func zoned(zone, x string, isLocal bool) string {
	x = "CAST(" + x + " AS TIMESTAMP)"
	name, _ := literalOf(zone)
	switch utc := strings.EqualFold(name, "UTC"); {
	case utc: // the engine's times are in UTC
		return x
	case isLocal:
		return "timezone('UTC', timezone(" + zone + ", " + x + "))"
	}
	return "timezone(" + zone + ", timezone('UTC', " + x + "))"
}

// timezone rewrites timezone(zone, x), which is x AT TIME ZONE zone.
func timezone(r *rewriter, args []string) (string, bool) {
	source := r.sourceArguments()
	if len(args) != 2 || len(source) != 2 || len(source[1]) == 0 || isTimeOfDay(source[1]) {
		return "", false
	}
	return zoned(args[0], momentOf(args[1]), local(source[1], true, 0)), true
}

// sourceArguments returns the arguments of the next call as they were written. The name may have a schema.
func (r *rewriter) sourceArguments() [][]tok {
	open := 1
	if r.at(1).sym(".") {
		open = 3
	}
	end := r.closingBracket(open)
	if end < 0 {
		return nil
	}
	return splitArguments(r.in[r.i+open+1 : r.i+end])
}
