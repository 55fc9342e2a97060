package pipeline

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"cordwood/proto/schema"
)

// A text of a number may have more digits than a float keeps. Whoever converts one decides by
// keepsDigits alone whether the float is still the number of the text.

// The significant digits of a decimal that every normal float of each type keeps, and the smallest
// of those floats.
const (
	float64Digits = 15
	float32Digits = 6
	minNormal64   = 0x1p-1022
	minNormal32   = 0x1p-126
)

// keepsDigits reports whether f, which was read from text as a float of type t, has the digits of
// text: the shortest text that is read as f again, which queries show, is the same decimal number.
func keepsDigits(text string, f float64, t schema.Type) bool {
	always, smallest, bits := float64Digits, minNormal64, 64
	if t == schema.Float32 {
		always, smallest, bits = float32Digits, minNormal32, 32
	}
	if math.Abs(f) >= smallest && significantDigits(text) <= always {
		return true
	}
	given, ok := decimalOf(text)
	if !ok {
		return false
	}
	var room [32]byte
	kept, ok := decimalOf(string(strconv.AppendFloat(room[:0], f, 'e', -1, bits)))
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

// maxNumber bounds the text of a number; no longer one says more.
const maxNumber = 400

// numberOf reads a text that is a number as JSON has it, and that a number of ours is without loss:
// an integer of 64 bits, or a double whose shortest text has the same digits.
func numberOf(b []byte) (v cell, ok bool) {
	if !isNumber(b) {
		return v, false
	}
	given, ok := decimalOf(string(b))
	if !ok {
		return v, false
	}
	if given.digits != "" && given.exponent >= 0 && len(given.digits)+given.exponent <= len("18446744073709551615") {
		s := given.digits + strings.Repeat("0", given.exponent)
		if given.negative {
			s = "-" + s
		}
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return cell{kind: kindInt, i: i}, true
		}
		if u, err := strconv.ParseUint(s, 10, 64); err == nil {
			return cell{kind: kindUint, i: int64(u)}, true
		}
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || !keepsDigits(string(b), f, schema.Float64) {
		return v, false
	}
	if f == 0 && !given.negative {
		return cell{kind: kindInt}, true
	}
	return cell{kind: kindFloat, f: f}, true
}

// decimal is a number as its text has it: digits times ten to the power of exponent. The digits
// neither begin nor end with 0; those of zero are none.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

// decimalOf reads a text that strconv.ParseFloat reads as a decimal number. It returns false if the
// exponent is beyond what any number of ours has.
func decimalOf(s string) (d decimal, ok bool) {
	s, d.negative = strings.CutPrefix(s, "-")
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
	d.exponent = int(exponent) - len(fraction)
	d.digits = strings.TrimLeft(whole+fraction, "0")
	for strings.HasSuffix(d.digits, "0") {
		d.digits = d.digits[:len(d.digits)-1]
		d.exponent++
	}
	if d.digits == "" {
		d.exponent = 0
	}
	return d, true
}

// isNumber reports whether b is a number as JSON writes it.
func isNumber(b []byte) bool {
	digits := func() (n int) {
		for n < len(b) && b[n] >= '0' && b[n] <= '9' {
			n++
		}
		b = b[n:]
		return n
	}
	if len(b) > maxNumber {
		return false
	}
	b = bytes.TrimPrefix(b, []byte("-"))
	zero := len(b) > 0 && b[0] == '0'
	if n := digits(); n == 0 || zero && n > 1 {
		return false
	}
	if len(b) > 0 && b[0] == '.' {
		if b = b[1:]; digits() == 0 {
			return false
		}
	}
	if len(b) > 0 && (b[0] == 'e' || b[0] == 'E') {
		if b = b[1:]; len(b) > 0 && (b[0] == '+' || b[0] == '-') {
			b = b[1:]
		}
		if digits() == 0 {
			return false
		}
	}
	return len(b) == 0
}
