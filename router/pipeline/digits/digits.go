// Package digits determines whether a number keeps the digits of the text that it was read from. A text
// may have more digits than a float keeps: everything in a pipeline that makes a number of a text
// decides by Kept alone whether the float is still the number of the text.
package digits

import (
	"math"
	"strconv"
	"strings"

	"cordwood/proto/schema"
)

// The significant digits of a decimal that every normal float of each type keeps, and the smallest
// of those floats.
const (
	float64Digits = 15
	float32Digits = 6
	minNormal64   = 0x1p-1022
	minNormal32   = 0x1p-126
)

// Kept reports whether f, which was read from text as a float of type t, has the digits of
// text: the shortest text that is read as f again, which queries show, is the same decimal number.
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

// significantDigits counts the digits of a decimal number from the first to the last that is not 0.
func significantDigits(text string) (n int) {
	zeros := 0 // after the last other digit
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

// Decimal is a number as its text has it: digits times ten to the power of Exponent. The digits
// neither begin nor end with 0; zero has no digits.
type Decimal struct {
	Negative bool
	Digits   string
	Exponent int
}

// Parse reads a text that strconv.ParseFloat reads as a decimal number. It returns false if the
// exponent is beyond the exponent of any number that a value can hold.
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

// Whole returns the integer of a decimal number without its fraction, and whether there was a
// fraction other than 0. It returns false if no int64 has the integer.
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
