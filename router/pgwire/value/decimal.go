package value

import (
	"fmt"
	"strconv"
	"strings"

	"cordwood/proto/lazyregexp"
)

// maxDigits is the maximum number of digits of a decimal number in the engine. maxPoint bounds the exponent of a number
// before its zeros are written.
const (
	maxDigits = 38
	maxPoint  = 1 << 10
)

// Decimal returns a decimal number as an SQL literal that the engine reads with all its digits. It returns 22P02 for a
// text that is not a number, and 22003 for a number with more digits than the engine holds. NaN and infinity become
// doubles, which are the only numbers of the engine that can have these values.
func Decimal(text string) (string, error) {
	s := strings.TrimSpace(text)
	switch strings.ToLower(strings.TrimPrefix(s, "+")) {
	case "nan", "infinity", "-infinity", "inf", "-inf":
		return "CAST(" + quote(strings.TrimPrefix(s, "+")) + " AS DOUBLE)", nil
	}
	if !anyNumber.MatchString(s) {
		return "", invalidText("numeric", text)
	}
	digits, negative := strings.CutPrefix(strings.TrimPrefix(s, "+"), "-")
	digits, ok := withoutExponent(digits)
	if !ok {
		return "", tooManyDigits()
	}
	if negative {
		return "(-" + digits + ")", nil
	}
	return digits, nil
}

// tooManyDigits returns the error for a number that the engine cannot hold.
func tooManyDigits() error {
	return &Error{"22003", fmt.Sprintf("value out of range for type numeric: it has more than %d digits", maxDigits)}
}

// numericLiteral returns the literal for the value of a parameter. Whole numbers are integers, so that conditions on
// columns of integers exclude segments.
func numericLiteral(s string) (string, error) {
	literal, err := Decimal(s)
	if inner, ok := strings.CutSuffix(literal, ".)"); ok {
		return inner + ")", err
	}
	return strings.TrimSuffix(literal, "."), err
}

// withoutExponent writes a number without exponent and superfluous zeros. ok is false if it has too many digits.
func withoutExponent(s string) (digits string, ok bool) {
	exponent := 0
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		n, err := strconv.Atoi(s[at+1:])
		if err != nil || n > maxPoint || n < -maxPoint {
			return "", strings.Trim(s[:at], "0.") == ""
		}
		s, exponent = s[:at], n
	}
	whole, fraction, _ := strings.Cut(s, ".")
	switch { // move the point
	case exponent > 0:
		fraction += strings.Repeat("0", max(exponent-len(fraction), 0))
		whole, fraction = whole+fraction[:exponent], fraction[exponent:]
	case exponent < 0:
		whole = strings.Repeat("0", max(-exponent-len(whole), 0)) + whole
		at := len(whole) + exponent
		whole, fraction = whole[:at], whole[at:]+fraction
	}
	whole = strings.TrimLeft(whole, "0")
	if most := max(maxDigits-len(whole), 0); len(fraction) > most {
		if strings.Trim(fraction[most:], "0") != "" {
			return "", false
		}
		fraction = fraction[:most]
	}
	if len(whole) > maxDigits {
		return "", false
	}
	if whole == "" && len(fraction) < maxDigits {
		whole = "0"
	}
	return whole + "." + fraction, true // without the point it would be an integer
}

var decimalDigits = lazyregexp.New(`[0-9.]+`)

// decimalsOf returns the list type for the literals of an array of numbers, which holds all digits of each.
func decimalsOf(body string) (string, error) {
	if strings.Contains(body, "DOUBLE") {
		return "DOUBLE[]", nil
	}
	whole, fraction := 0, 0
	for _, number := range decimalDigits.FindAllString(body, -1) {
		before, after, _ := strings.Cut(number, ".")
		whole, fraction = max(whole, len(strings.TrimLeft(before, "0"))), max(fraction, len(after))
	}
	if whole+fraction > maxDigits {
		return "", tooManyDigits()
	}
	return fmt.Sprintf("DECIMAL(%d,%d)[]", max(whole+fraction, 1), fraction), nil
}

// FloatNumeric is the type numeric for values that the engine holds as doubles. PostgreSQL converts doubles to numeric
// with 15 digits.
var FloatNumeric = &Type{
	OID: Numeric.OID, Array: Numeric.Array, Len: -1, Mod: -1, Name: Numeric.Name, kind: kindNumeric, cast: "DOUBLE",
}

// appendFloatDigits appends a double with 15 digits and without an exponent.
func appendFloatDigits(dst []byte, v float64) []byte {
	text := strconv.FormatFloat(v, 'e', 14, 64)
	rounded, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return strconv.AppendFloat(dst, v, 'f', -1, 64)
	case rounded != rounded:
		return append(dst, "NaN"...)
	case rounded > 0 && rounded*0 != 0:
		return append(dst, "Infinity"...)
	case rounded*0 != 0:
		return append(dst, "-Infinity"...)
	}
	return strconv.AppendFloat(dst, rounded, 'f', -1, 64)
}
