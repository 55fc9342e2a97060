package rewrite

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cordwood/proto/lazyregexp"
	"cordwood/router/pgwire/value"
	"cordwood/router/query/statement"
)

// PostgreSQL's numeric holds any number of digits after the point; a decimal type of the engine has a fixed number of
// them, and 38 digits in all. So the type of a cast depends on its operand: decimals stay as they are, integers get no
// digits after the point, and doubles stay doubles of 15 digits, which is what PostgreSQL keeps of them.
const (
	// bareNumber is the engine's type for operands whose types are not known.
	bareNumber = "DECIMAL(38,10)"
	// textNumber is the type for texts. 20 digits before the point are enough for integers of 64 bits.
	textNumber      = "DECIMAL(38,18)"
	textNumberScale = 18
	maxPrecision    = 38
)

// checkedTypes are the types for which a text is checked before it is cast, because the engine accepts more than
// PostgreSQL does, such as '2.5' for an integer.
var checkedTypes = map[string]*value.Type{
	"int": value.Int4, "integer": value.Int4, "int4": value.Int4, "int2": value.Int2, "smallint": value.Int2,
	"int8": value.Int8, "bigint": value.Int8, "float8": value.Float8, "float4": value.Float4, "real": value.Float4,
	"float": value.Float8,
}

// floats are the types of checkedTypes in which a number with an exponent can have a value.
var floats = map[string]bool{"float8": true, "float4": true, "real": true, "float": true}

// checked writes the literal for a text that is cast, or keeps the error about the text.
func (r *rewriter) checked(text tok, literal string, err error) bool {
	var bad *value.Error
	if errors.As(err, &bad) {
		r.err = &Error{State: bad.State, Text: bad.Text, At: text.at}
	} else {
		r.raw(text, literal)
	}
	return true
}

// numericType returns the engine's type for the numbers of digits in brackets.
func (r *rewriter) numericType(open, end int) string {
	var digits [2]int
	numbers := 0
	for n := open + 1; n < end; n++ {
		v, err := strconv.Atoi(r.at(n).text)
		if r.at(n).sym(",") && numbers == 1 {
			continue
		}
		if err != nil || numbers == len(digits) {
			r.err = &Error{State: "22023", Text: "invalid NUMERIC type modifier", At: r.at(n).at}
			return bareNumber
		}
		digits[numbers] = v
		numbers++
	}
	switch precision, scale := digits[0], digits[1]; {
	case precision < 1 || precision > 1000:
		r.err = &Error{
			State: "22023", Text: fmt.Sprintf("NUMERIC precision %d must be between 1 and 1000", precision),
			At: r.at(open - 1).at,
		}
	case scale > precision || scale > maxPrecision:
		r.err = &Error{
			State: "22023", Text: fmt.Sprintf("NUMERIC scale %d must be between 0 and precision %d", scale,
				min(precision, maxPrecision)), At: r.at(open - 1).at,
		}
	}
	return fmt.Sprintf("DECIMAL(%d,%d)", min(digits[0], maxPrecision), digits[1])
}

// typedNumber rewrites NUMERIC '…'.
func (r *rewriter) typedNumber() bool {
	t, ok := r.readType(0)
	if !ok || t.array || r.at(t.size).kind != statement.TokenText || isMarker(r.at(t.size).val) {
		return false
	}
	first, text := r.at(0), r.at(t.size)
	text.pre = first.pre
	r.i += t.size + 1
	r.write([]tok{text}, t, first)
	return true
}

// number rewrites a number that the engine would read as a double although it has more digits than one.
func (r *rewriter) number() bool {
	t := r.at(0)
	if t.text == "0" && r.afterFunctionColumn() {
		r.raw(t, "'-'")
		r.i++
		return true
	}
	digits := len(strings.Trim(t.text, "0."))
	exponent := strings.ContainsAny(t.text, "eE")
	if typ, ok := r.typeAfter(1); ok && !typ.array && exponent && checkedTypes[typ.name] != nil {
		_, err := value.Literal(checkedTypes[typ.name], value.FormatText, []byte(t.text))
		if bad := (*value.Error)(nil); floats[typ.name] && errors.As(err, &bad) {
			r.err = &Error{State: bad.State, Text: bad.Text, At: -1} // PostgreSQL has no position, either
			return true
		}
	}
	if strings.ContainsAny(t.text, "xX_") || digits <= maxPrecision-1 && !exponent || r.at(1).sym("::") &&
		strings.HasPrefix(strings.ToLower(r.at(2).text), "float") {
		return false
	}
	if exponent {
		v, err := strconv.ParseFloat(t.text, 64)
		mantissa, _, _ := strings.Cut(strings.ToLower(t.text), "e")
		if len(strings.Trim(mantissa, "0.")) <= 16 && err == nil && (v != 0 || strings.Trim(mantissa, "0.") == "") {
			return false
		}
	}
	literal, err := value.Decimal(t.text)
	if err == nil && !exponent && !strings.Contains(t.text, ".") {
		literal = strings.TrimSuffix(literal, ".")
	}
	r.checked(t, literal, err)
	r.i++
	return true
}

// writeNumber writes a cast to numeric. It reports false and writes nothing if the engine's own cast to the type is
// right.
func (r *rewriter) writeNumber(operand []tok, t castType, at int) bool {
	if len(operand) == 1 && !t.array && (operand[0].kind == statement.TokenNumber ||
		operand[0].kind == written && manyDigits.MatchString(operand[0].text)) {
		number, err := value.Decimal(operand[0].text)
		if t.bare {
			return r.checked(operand[0], number, err)
		}
		return false
	}
	if n := len(operand); n == 4 && operand[0].text == "(" && operand[n-1].text == ")" && isParameter(operand[1:n-1]) {
		return false
	}
	if isParameter(operand) || isText(operand) || len(operand) == 1 && isMarker(operand[0].val) {
		return false
	}
	if at == r.s.Probe && at > 0 {
		r.raw(operand[0], "epoch_ns("+joined(operand)+", 1, 1)")
		return true
	}
	typ, known := r.s.Operands[at]
	if !known {
		if at > 0 && !slices.Contains(r.casts, at) {
			r.casts = append(r.casts, at)
		}
		return false
	}
	text := castNumber(joined(operand), typ, t)
	if text != "" {
		r.raw(operand[0], text)
	}
	return text != ""
}

// manyDigits matches the texts that number writes for numbers with many digits.
var manyDigits = lazyregexp.New(`^[0-9]{38}$`)

// castNumber returns SQL that casts an operand of a type of the engine to numeric, or "" for the engine's own cast.
func castNumber(operand, typ string, t castType) string {
	elem, list := strings.CutSuffix(typ, "[]")
	if list != t.array {
		return ""
	}
	isFloat := elem == "DOUBLE" || elem == "FLOAT"
	switch {
	case isFloat && list:
		return "CAST(list_transform(" + operand + ", lambda cordwood_v: printf('" + floatDigits(elem) +
			"', cordwood_v)) AS " + t.text + ")"
	case isFloat && t.bare:
		return floatNumber(elem) + operand + ") AS DOUBLE)"
	case isFloat:
		return floatNumber(elem) + operand + ") AS " + t.text + ")"
	case !t.bare:
		return ""
	case strings.HasPrefix(elem, "DECIMAL("):
		return "(" + operand + ")"
	case wholeTypes[elem] != "":
		return "CAST(" + operand + " AS " + wholeTypes[elem] + strings.Repeat("[]", strings.Count(typ, "[]")) + ")"
	case list:
		return "CAST(" + operand + " AS " + textNumber + "[])"
	case elem == "VARCHAR" || elem == "STRING_LITERAL" || elem == "JSON":
		return textAsNumber("CAST(" + operand + " AS VARCHAR)")
	}
	return ""
}

// wholeTypes maps the engine's integers to decimals without digits after the point.
var wholeTypes = map[string]string{
	"TINYINT": "DECIMAL(20,0)", "SMALLINT": "DECIMAL(20,0)", "INTEGER": "DECIMAL(20,0)", "BIGINT": "DECIMAL(20,0)",
	"UTINYINT": "DECIMAL(20,0)", "USMALLINT": "DECIMAL(20,0)", "UINTEGER": "DECIMAL(20,0)", "UBIGINT": "DECIMAL(20,0)",
	"INTEGER_LITERAL": "DECIMAL(20,0)", "HUGEINT": "DECIMAL(38,0)", "UHUGEINT": "DECIMAL(38,0)",
	"BIGNUM": "DECIMAL(38,0)", `"NULL"`: "DECIMAL(38,0)",
}

// floatDigits returns the format with the digits that PostgreSQL keeps.
func floatDigits(typ string) string {
	if typ == "FLOAT" {
		return "%.6g"
	}
	return "%.15g"
}

// floatNumber returns the start of a cast of a float to numeric, up to its operand.
func floatNumber(typ string) string { return "CAST(printf('" + floatDigits(typ) + "', " }

// textAsNumber casts a text to textNumber, and fails if the text has more digits after the point than the type.
func textAsNumber(text string) string {
	number := "CAST(" + text + " AS " + textNumber + ")"
	return fmt.Sprintf(`CASE WHEN regexp_matches(%[1]s, '\.[0-9]{%[3]d}[0-9]*[1-9]') OR `+
		`regexp_matches(%[1]s, '[eE]') AND CAST(%[1]s AS DOUBLE) <> CAST(%[2]s AS DOUBLE) `+
		`THEN error('numeric field overflow: a text has more than %[3]d digits after the point; cast it to `+
		`numeric(38, n) with enough digits, or to float8') ELSE %[2]s END`,
		text, number, textNumberScale)
}

// round rewrites round(x) for a float: PostgreSQL rounds 2.5 to 2, but a numeric 2.5 to 3 as the engine does.
func round(r *rewriter, args []string) (string, bool) {
	if len(args) != 1 {
		return roundNumber(r, args)
	}
	at := r.at(0).at
	if _, err := strconv.ParseFloat(args[0], 64); err == nil || at == 0 || isFloatNumber(args[0]) {
		return "", false
	}
	if at == r.s.Probe {
		return "epoch_ns(" + args[0] + ", 1, 1)", true
	}
	typ, known := r.s.Operands[at]
	if !known && !slices.Contains(r.casts, at) {
		r.casts = append(r.casts, at)
	}
	if typ != "DOUBLE" && typ != "FLOAT" {
		return "", false
	}
	return fmt.Sprintf("CASE WHEN abs((%[1]s) - trunc(%[1]s)) = 0.5 THEN 2 * round((%[1]s) / 2) ELSE round(%[1]s) END",
		args[0]), true
}

// roundNumber rewrites round(x::numeric, n) for a double: it rounds the decimal digits and not the double.
func roundNumber(_ *rewriter, args []string) (string, bool) {
	if len(args) != 2 {
		return "", false
	}
	n, err := strconv.Atoi(strings.TrimSpace(args[1]))
	if err != nil || !isFloatNumber(args[0]) || n < 0 || n > textNumberScale {
		return "", false
	}
	inner := strings.TrimSuffix(args[0], ") AS DOUBLE)")
	return fmt.Sprintf("%s) AS DECIMAL(38,%d))", inner, n), true
}

// isFloatNumber reports whether an expression is a cast of a float to numeric, which is a double of the engine.
func isFloatNumber(text string) bool {
	return strings.HasSuffix(text, ") AS DOUBLE)") &&
		(strings.HasPrefix(text, floatNumber("DOUBLE")) || strings.HasPrefix(text, floatNumber("FLOAT")))
}

var probed = lazyregexp.New(`argument types 'epoch_ns\((.*), INTEGER_LITERAL, INTEGER_LITERAL\)'`)

// ProbedType returns the type of an operand in the engine's error about a probe, or "" if the error is another.
func ProbedType(text string) string {
	if m := probed.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// isNumeric reports whether an expression is x::numeric, CAST(x AS numeric) or numeric 'x'.
func isNumeric(toks []tok) bool {
	n := len(toks)
	switch {
	case n == 2 && toks[1].kind == statement.TokenText:
		return isNumericWord(toks[0])
	case n > 3 && numericCalls[strings.ToLower(toks[0].val)] && closingIndex(toks, 1) == n-1:
		return isNumeric(firstArgument(toks[2 : n-1]))
	case n > 4 && toks[0].word("CAST") && closingIndex(toks, 1) == n-1:
		return isNumericWord(toks[n-2]) && (toks[n-3].word("AS") || toks[n-3].sym("."))
	}
	at := lastCast(toks)
	return at >= 0 && isNumericWord(toks[n-1]) && (at == n-2 || at == n-4 && toks[n-2].sym("."))
}

// numericCalls are functions that return a numeric value for one.
var numericCalls = map[string]bool{
	"sum": true, "avg": true, "min": true, "max": true, "abs": true, "round": true, "trunc": true, "ceil": true,
	"floor": true, "coalesce": true,
}

func firstArgument(toks []tok) []tok {
	for i := 0; i < len(toks); i++ {
		if toks[i].match > 0 {
			i += toks[i].match
		} else if toks[i].sym(",") {
			return toks[:i]
		}
	}
	return toks
}

func isNumericWord(t tok) bool { return t.word("numeric") || t.word("decimal") || t.word("dec") }
