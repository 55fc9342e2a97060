package rewrite

import (
	"slices"
	"strings"

	"cordwood/proto/lazyregexp"
	"cordwood/router/query/statement"
)

// Beside is the operand of an operator whose other operand is a parameter without a type.
type Beside struct {
	// Probe is the statement with a call in place of the operation. The engine refuses the call, and names the type of
	// the operand in its error (see ProbedType). Parameters in open are NULL in it.
	Probe string
	op    string
	// after is true if the parameter follows the operand.
	after bool
}

// The OIDs that only Beside.Type returns.
const (
	oidInt2        = 21
	oidFloat4      = 700
	oidDate        = 1082
	oidTimestampTZ = 1184
	oidInterval    = 1186
	oidNumeric     = 1700
)

// OperandBeside finds an operation of a parameter with another operand. open has the parameters without types.
func OperandBeside(text string, places []Place, number int, open map[int]bool) (b Beside, ok bool) {
	toks := tokens(text)
	for _, p := range places {
		if p.Number != number {
			continue
		}
		i, found := slices.BinarySearchFunc(toks, p.From, func(t tok, at int) int { return t.at - at })
		if !found || i+2 < len(toks) && toks[i+2].sym("::") { // its type is written
			continue
		}
		from, to := i, i+2
		var operand [2]int
		switch {
		case isArithmeticTok(toks, i-1) && !isArithmeticTok(toks, i-2) && !bindsTighter(toks, i):
			from = startOfOperand(toks, i-1)
			b.op, b.after, operand = toks[i-1].val, true, [2]int{from, i - 1}
		case isArithmeticTok(toks, i+2) && (i+3 >= len(toks) || toks[i+3].kind != statement.TokenSymbol ||
			toks[i+3].sym("(") || toks[i+3].sym("-")):
			to = endOfOperand(toks, i+3)
			b.op, operand = toks[i+2].val, [2]int{i + 3, to}
		default:
			continue
		}
		if operand[0] >= operand[1] {
			continue
		}
		begin, end := toks[from].at, toks[to-1].at+len(toks[to-1].text)
		var rest []Place
		for _, q := range places {
			if open[q.Number] && (q.From < begin || q.From >= end) {
				rest = append(rest, q)
			}
		}
		inner := text[toks[operand[0]].at : toks[operand[1]-1].at+len(toks[operand[1]-1].text)]
		b.Probe = probe(text, rest, begin, end, "epoch_ns("+inner+", 1, 1)")
		return b, true
	}
	return b, false
}

// probe writes a call in place of a part of a text, and NULL in place of parameters outside of that part.
func probe(text string, nulls []Place, begin, end int, call string) string {
	var b strings.Builder
	done, written := 0, false
	part := func(to int) {
		if !written && to > begin {
			b.WriteString(text[done:begin])
			b.WriteString(call)
			done, written = end, true
		}
		b.WriteString(text[done:to])
	}
	for _, p := range nulls {
		part(p.From)
		b.WriteString("NULL")
		done = p.To
	}
	part(len(text))
	return b.String()
}

// isArithmeticTok reports whether token i is an arithmetic operator of one character.
func isArithmeticTok(toks []tok, i int) bool {
	if i < 0 || i >= len(toks) || toks[i].kind != statement.TokenSymbol || !strings.Contains("+-*/%^", toks[i].val) {
		return false
	}
	return i+1 >= len(toks) || !toks[i+1].sym(">") // not -> of a document
}

// bindsTighter reports whether the operator after the parameter at i binds more tightly than the operator before it.
func bindsTighter(toks []tok, i int) bool {
	return additive(toks[i-1]) && isArithmeticTok(toks, i+2) && !additive(toks[i+2])
}

// startOfOperand returns the index of the first token of the operand that ends before the operator at i. Operations
// that are done before the operator belong to the operand.
func startOfOperand(toks []tok, i int) int {
	from := startOfPrimary(toks, i)
	for additive(toks[i]) && from > 1 && isArithmeticTok(toks, from-1) && !additive(toks[from-1]) {
		from = startOfPrimary(toks, from-1)
	}
	return from
}

func additive(t tok) bool { return t.sym("+") || t.sym("-") }

// startOfPrimary returns the index of the first token of an operand without operators that ends before i.
func startOfPrimary(toks []tok, i int) int {
	for i > 0 {
		t := toks[i-1]
		switch {
		case t.closes():
			if t.match == 0 {
				return i
			}
			i += t.match - 1
			if i > 0 && (t.sym("]") || toks[i-1].calls()) {
				continue // an element, or a call
			}
			if i > 0 && toks[i-1].sym("::") {
				i--
				continue
			}
			return i
		case t.isName() || t.kind == statement.TokenNumber || t.kind == statement.TokenText:
			if t.isName() && (isOperatorWord(t) || notCalled[strings.ToUpper(t.val)]) {
				return i
			}
			i--
			switch {
			case i > 0 && (toks[i-1].sym(".") || toks[i-1].sym("::")):
				i--
			case i > 0 && t.kind == statement.TokenText && literalTypes[strings.ToLower(toks[i-1].val)]:
				return i - 1
			default:
				if i > 0 && toks[i-1].sym("$") {
					i--
				}
				return i
			}
		default:
			return i
		}
	}
	return i
}

// endOfOperand returns the index after the operand that starts at i.
func endOfOperand(toks []tok, i int) int {
	op := toks[i-1]
	to := endOfPrimary(toks, i)
	for additive(op) && to+1 < len(toks) && isArithmeticTok(toks, to) && !additive(toks[to]) {
		to = endOfPrimary(toks, to+1)
	}
	return to
}

// endOfPrimary returns the index after an operand without operators that starts at i.
func endOfPrimary(toks []tok, i int) int {
	at := func(k int) tok {
		if k < len(toks) {
			return toks[k]
		}
		return tok{kind: statement.TokenComment}
	}
	if at(i).sym("-") {
		i++
	}
	switch {
	case at(i).kind == statement.TokenWord && at(i+1).kind == statement.TokenText &&
		literalTypes[strings.ToLower(at(i).val)]:
		i += 2
	case at(i).isName():
		for i++; at(i).sym(".") && at(i+1).isName(); i += 2 {
		}
	case at(i).kind == statement.TokenNumber, at(i).kind == statement.TokenText:
		i++
	case at(i).sym("$"):
		i += 2
	case !at(i).sym("("):
		return i
	}
	for {
		switch t := at(i); {
		case t.opens() && t.match > 0:
			i += t.match + 1
		case t.sym("::") && at(i+1).isName():
			for i += 2; at(i).sym(".") && at(i+1).isName(); i += 2 {
			}
		default:
			return i
		}
	}
}

// operandOIDs maps the engine's types to the OIDs of parameters that are calculated with their values.
var operandOIDs = map[string]uint32{
	"TINYINT": oidInt2, "SMALLINT": oidInt2, "UTINYINT": oidInt2, "INTEGER": oidInt4, "USMALLINT": oidInt4,
	"INTEGER_LITERAL": oidInt4, "BIGINT": oidInt8, "UINTEGER": oidInt8, "UBIGINT": oidNumeric, "HUGEINT": oidNumeric,
	"UHUGEINT": oidNumeric, "BIGNUM": oidNumeric, "FLOAT": oidFloat4, "DOUBLE": oidFloat8, "DATE": oidDate,
	"INTERVAL": oidInterval, "TIMESTAMP": oidTimestampTZ, "TIMESTAMP_S": oidTimestampTZ, "TIMESTAMP_MS": oidTimestampTZ,
	"TIMESTAMP_NS": oidTimestampTZ, "TIMESTAMP WITH TIME ZONE": oidTimestampTZ, "TIME": oidInterval,
}

// Type returns the OID of the parameter's type, where the operand has a type of the engine: the same type, with
// PostgreSQL's exceptions. It returns 0 if the type does not tell.
func (b Beside) Type(engine string) uint32 {
	oid := operandOIDs[engine]
	if strings.HasPrefix(engine, "DECIMAL") {
		oid = oidNumeric
	}
	switch {
	case b.op == "^" && oid != oidNumeric && oid != 0:
		return oidFloat8
	case oid == oidInterval && (b.op == "*" || b.op == "/"):
		return oidFloat8
	case oid == oidTimestampTZ && b.op == "+":
		return oidInterval
	case oid == oidDate && b.op == "+":
		return oidInt4 // PostgreSQL cannot choose
	}
	return oid
}

// boundNumber matches the literal of a parameter with a whole number.
var boundNumber = lazyregexp.New(`^CAST\(\(?(-?[0-9]+)\)? AS (?:SMALLINT|INTEGER|BIGINT)\)$`)

// plainNumbers returns arguments with bare numbers in place of the values of parameters: the engine takes some numbers
// only as literals.
func plainNumbers(args []string) []string {
	out := slices.Clone(args)
	for i, arg := range args {
		if m := boundNumber.FindStringSubmatch(strings.TrimSpace(arg)); m != nil {
			out[i] = m[1]
		}
	}
	return out
}

// isOpen reports whether an argument is a parameter of a statement that is only described.
func isOpen(arg string) bool {
	list := statement.Tokens(arg)
	return len(list) > 0 && (list[0].Value == "$" || isMarker(list[0].Value))
}

// functionOIDs are the types of parameters that are the first argument of functions for several types of numbers.
// PostgreSQL prefers floats. With a second argument, some functions take only numeric.
var functionOIDs = map[string][2]uint32{
	"abs": {oidFloat8}, "ceil": {oidFloat8}, "ceiling": {oidFloat8}, "floor": {oidFloat8}, "sqrt": {oidFloat8},
	"exp": {oidFloat8}, "ln": {oidFloat8}, "sign": {oidFloat8}, "cbrt": {oidFloat8}, "round": {oidFloat8, oidNumeric},
	"trunc": {oidFloat8, oidNumeric}, "log": {oidFloat8, oidNumeric}, "power": {oidFloat8, oidFloat8},
}

// maxCallTokens is the maximum number of tokens from the name of a function to a parameter whose type follows from the
// function.
const maxCallTokens = 64

// callAround returns the function of whose arguments token i is one, and the index of the argument.
func callAround(toks []statement.Token, i int) (name string, index int) {
	depth := 0
	for k := i - 1; k > 0 && k > i-maxCallTokens; k-- {
		if toks[k].Kind != statement.TokenSymbol {
			continue
		}
		switch toks[k].Value {
		case ")", "]":
			depth++
		case ",":
			if depth == 0 {
				index++
			}
		case "(", "[":
			if depth--; depth < 0 {
				return strings.ToLower(toks[k-1].Value), index
			}
		}
	}
	return "", 0
}

// argumentOID returns the type of the parameter whose $ is token i, if it is an argument of a function for numbers, or
// the length of a text, and 0 otherwise.
func argumentOID(toks []statement.Token, i int) uint32 {
	if name, at := callAround(toks, i); at == 1 {
		switch name {
		case "generate_series":
			return numberType(toks[i-2])
		case "lpad", "rpad", "repeat", "left", "right":
			return oidInt4
		}
	}
	if name, at := callAround(toks, i); name == "make_interval" {
		if at == 6 || i > 3 && toks[i-1].Value == ">" && strings.EqualFold(toks[i-3].Value, "secs") {
			return oidFloat8
		}
		return oidInt4
	}
	if i < 2 || i+2 >= len(toks) || toks[i-1].Value != "(" || toks[i-2].Kind != statement.TokenWord {
		return 0
	}
	name := strings.ToLower(toks[i-2].Value)
	if name == "generate_series" && i+3 < len(toks) && toks[i+3].Kind == statement.TokenNumber {
		return numberType(toks[i+3])
	}
	oids := functionOIDs[name]
	switch toks[i+2].Value {
	case ")":
		return oids[0]
	case ",":
		return oids[1]
	}
	return 0
}
