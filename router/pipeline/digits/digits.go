// Package digits determines whether a number keeps all digits of the text from which it was parsed, because a text
// may have more digits than a float can keep. All code in a pipeline that parses numbers uses Kept for this
// decision.
package digits

import (
	"math"
	"strconv"
	"strings"

	"cordwood/proto/schema"
)

// The number of significant decimal digits that every normal float of each type keeps, and the smallest normal
// float.
const (
	float64Digits = 15
	float32Digits = 6
	minNormal64   = 0x1p-1022
	minNormal32   = 0x1p-126
)

// Kept reports whether f, which was parsed from text as a float of type t, keeps the digits of text. It does if the
// shortest text for f, which is what queries show, is the same decimal number.
func Kept(text string, f float64, t schema.Type) bool {
	always, smallest, bits := float64Digits, minNormal64, 64
	if t == schema.Float32 {
		always, smallest, bits = float32Digits, minNormal32, 32
	}
	if math.Abs(f) >= smallest && significantDigits(text) <= always {
		return true
	}
	given, ok := Parse(text)
	if !ok {
		return false
	}
	var room [32]byte
	kept, ok := Parse(string(strconv.AppendFloat(room[:0], f, 'e', -1, bits)))
	return ok && kept == given
}

// significantDigits counts the digits of a decimal number from the first to the last nonzero digit.
func significantDigits(text string) (n int) {
	zeros := 0 // after the last nonzero digit
	for i := 0; i < len(text) && text[i]|0x20 != 'e'; i++ {
		switch c := text[i]; {
		case c == '0':
			zeros++
		case c > '0' && c <= '9':
			if n > 0 {
				n += zeros
			}
			n, zeros = n+1, 0
		}
	}
	return n
}

// Decimal is a decimal number: digits times ten to the power of Exponent. The digits neither start nor end with 0.
// Zero has no digits.
type Decimal struct {
	Negative bool
	Digits   string
	Exponent int
}

// Parse parses a text that strconv.ParseFloat accepts as a decimal number. It returns false if the exponent is
// larger than that of any valid number.
func Parse(s string) (d Decimal, ok bool) {
	s, d.Negative = strings.CutPrefix(strings.ReplaceAll(s, "_", ""), "-")
	s = strings.TrimPrefix(s, "+")
	mantissa, power := s, "0"
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, power = s[:i], s[i+1:]
	}
	exponent, err := strconv.ParseInt(power, 10, 16)
	if err != nil {
		return d, false
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	d.Exponent = int(exponent) - len(fraction)
	d.Digits = strings.TrimLeft(whole+fraction, "0")
	for strings.HasSuffix(d.Digits, "0") {
		d.Digits = d.Digits[:len(d.Digits)-1]
		d.Exponent++
	}
	if d.Digits == "" {
		d.Exponent = 0
	}
	return d, true
}

// Whole returns the integer part of a decimal number, and whether its fraction is not 0. It returns false if the
// integer does not fit into int64.
func (d Decimal) Whole() (n int64, fraction, ok bool) {
	whole := d.Digits
	switch length := len(d.Digits) + d.Exponent; {
	case d.Digits == "":
		return 0, false, true
	case length <= 0:
		return 0, true, true
	case length > len("9223372036854775808"):
		return 0, false, false
	case d.Exponent < 0:
		whole, fraction = d.Digits[:length], true
	default:
		whole += strings.Repeat("0", d.Exponent)
	}
	if d.Negative {
		whole = "-" + whole
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	return n, fraction, err == nil
}
