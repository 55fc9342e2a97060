package search

import (
	"math"
	"strconv"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/lazyregexp"
	"cordwood/proto/schema"
)

// equalities compiles values of a field that are all compared for equality. ok reports whether they are.
func equalities(t target, f field, values []value, negate bool) (e expr, ok bool) {
	if t.words && !f.exact || t.typ != schema.String || len(values) == 0 {
		return "", false
	}
	list := make([]string, 0, len(values))
	for _, v := range values {
		if v.form != plain && v.form != quoted && (!f.exact || v.form == regex) {
			return "", false
		}
		list = append(list, schema.QuoteLiteral(v.text))
	}
	return oneOf(t.expr, list, negate), true
}

func oneOf(column string, literals []string, negate bool) expr {
	if len(literals) == 1 {
		if negate {
			return expr("(" + column + " <> " + literals[0] + " OR " + column + " IS NULL)")
		}
		return expr(column + " = " + literals[0])
	}
	in := " IN (" + strings.Join(literals, ", ") + ")"
	if negate {
		return expr("(" + column + " NOT" + in + " OR " + column + " IS NULL)")
	}
	return expr(column + in)
}

// condition compiles one value of a field, or its negation.
func (t target) condition(f field, v value, negate bool) (expr, error) {
	if v.form == present {
		if negate {
			return expr(t.expr + " IS NULL"), nil
		}
		return expr(t.expr + " IS NOT NULL"), nil
	}
	switch {
	case t.typ == schema.String:
		return t.ofText(v, negate)
	case t.typ == schema.Binary:
		return "", wrong(v.span, "%s is binary: a search can only test whether it has a value, by %s:*",
			excerpt(f.name), excerpt(f.name))
	case v.form == pattern, v.form == regex:
		return t.asText(f, v, negate)
	case t.typ == schema.Boolean:
		return t.ofBoolean(f, v, negate)
	}
	literal := func(s string) (string, error) { return t.number(f, v, s) }
	if t.typ.IsTimestamp() {
		return t.ofTime(f, v, negate)
	}
	return t.ordered(v, literal, negate)
}

// ofText compiles a value for a text column.
func (t target) ofText(v value, negate bool) (expr, error) {
	switch {
	case v.form == compare || v.form == between:
		return t.orderedText(v, negate)
	case t.words:
		yes, err := word(t.expr, v)
		return leaf(yes, t.expr, negate), err
	case v.form == regex:
		yes, err := regexMatch(t.expr, v)
		return leaf(yes, t.expr, negate), err
	case v.form == pattern:
		return leaf(like(t.expr, v.text), t.expr, negate), nil
	}
	return oneOf(t.expr, []string{schema.QuoteLiteral(v.text)}, negate), nil
}

// orderedText compares a text: as a number if the value is a number, otherwise by characters.
func (t target) orderedText(v value, negate bool) (expr, error) {
	if isNumber(v.lower) && (v.form == compare || isNumber(v.upper)) {
		t.expr = "TRY_CAST(" + t.expr + " AS DOUBLE)"
		return t.ordered(v, func(s string) (string, error) { return strings.TrimPrefix(s, "+"), nil }, negate)
	}
	return t.ordered(v, func(s string) (string, error) { return schema.QuoteLiteral(s), nil }, negate)
}

// ordered compiles an equality, a comparison or a range. literal formats the values.
func (t target) ordered(v value, literal func(string) (string, error), negate bool) (expr, error) {
	switch v.form {
	case compare:
		bound, err := literal(v.lower)
		return leaf(t.expr+" "+v.op+" "+bound, t.expr, negate), err
	case between:
		lower, err := literal(v.lower)
		if err != nil {
			return "", err
		}
		upper, err := literal(v.upper)
		if err == nil && isSwapped(v) {
			err = swapped(v)
		}
		return leaf(t.expr+" BETWEEN "+lower+" AND "+upper, t.expr, negate), err
	}
	equal, err := literal(v.text)
	return oneOf(t.expr, []string{equal}, negate), err
}

// isSwapped reports whether the lower end of a range is above the upper end.
func isSwapped(v value) bool {
	if !isNumber(v.lower) || !isNumber(v.upper) {
		return v.lower > v.upper
	}
	lower, _ := strconv.ParseFloat(v.lower, 64)
	upper, _ := strconv.ParseFloat(v.upper, 64)
	return lower > upper
}

// swapped returns the error for a range that no value is in, which can only be a mistake.
func swapped(v value) error {
	msg := "the lower end of the range is above its upper end"
	other := v.upper + ".." + v.lower
	if strings.ContainsAny(other, " \t\n\"()") || excerpt(other) != other { // they were in quotes, or are long
		return wrong(v.span, "%s: swap the ends", msg)
	}
	return report(errs.InvalidSyntax, v.span, []string{other}, msg+"; did you mean "+other+"?")
}

// asText compiles a pattern or a regular expression for a value that is not a text.
func (t target) asText(f field, v value, negate bool) (expr, error) {
	if t.typ.IsTimestamp() {
		return "", wrong(v.span, "%s is a time: use a range such as "+
			"%s:2026-01-05..2026-01-06", excerpt(f.name), excerpt(f.name))
	}
	t.expr = "CAST(" + t.expr + " AS VARCHAR)"
	if v.form == regex {
		yes, err := regexMatch(t.expr, v)
		return leaf(yes, t.expr, negate), err
	}
	return leaf(like(t.expr, v.text), t.expr, negate), nil
}

func (t target) ofBoolean(f field, v value, negate bool) (expr, error) {
	if v.form != plain && v.form != quoted || !strings.EqualFold(v.text, "true") && !strings.EqualFold(v.text, "false") {
		return "", wrong(v.span, "%s is true or false: write %s:true or %s:false", excerpt(f.name), excerpt(f.name),
			excerpt(f.name))
	}
	return oneOf(t.expr, []string{strings.ToUpper(v.text)}, negate), nil
}

var numeral = lazyregexp.New(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// isNumber reports whether s is a number within the range of a double.
func isNumber(s string) bool {
	const most = 100
	if len(s) > most || !numeral.MatchString(s) {
		return false
	}
	n, err := strconv.ParseFloat(s, 64)
	return err == nil && !math.IsInf(n, 0)
}

func (t target) number(f field, v value, s string) (string, error) {
	float := ""
	switch t.typ {
	case schema.Float32:
		float = "FLOAT"
	case schema.Float64:
		float = "DOUBLE"
	}
	switch n := strings.TrimPrefix(s, "+"); {
	case float != "" && notFinite[strings.ToLower(n)]:
		return "CAST(" + schema.QuoteLiteral(n) + " AS " + float + ")", nil
	case !isNumber(s):
		return "", wrong(v.span, "%s is a number (%s), but %s is not", excerpt(f.name), t.typ, excerpt(s))
	case float == "FLOAT" && strings.ContainsAny(n, "eE") && fitsFloat32(n):
		// The engine takes a literal with an exponent as a DOUBLE, which is equal to few values of a FLOAT.
		return "CAST(" + n + " AS FLOAT)", nil
	default:
		return n, nil
	}
}

// notFinite has the texts of floats that are no numerals, in lower case.
var notFinite = map[string]bool{"nan": true, "infinity": true, "-infinity": true}

// fitsFloat32 reports whether a numeral is within the range of a FLOAT.
func fitsFloat32(s string) bool {
	n, err := strconv.ParseFloat(s, 32)
	return err == nil && !math.IsInf(n, 0)
}
