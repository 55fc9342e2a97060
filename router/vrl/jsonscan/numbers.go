package jsonscan

import (
	"math"
	"math/big"
	"strconv"
)

// NumberKind is the kind of a number.
type NumberKind uint8

const (
	// BadNumber is not a number, or is outside the range of float64: see NumberError.
	BadNumber NumberKind = iota
	// Int is an integer that fits into int64.
	Int
	// Float is a number with a fraction or an exponent, or an integer outside uint64 that a float64 represents
	// exactly.
	Float
	// Uint is an integer that fits into uint64 but not into int64.
	Uint
	// Inexact is an integer that neither int64, uint64 nor float64 represents exactly.
	Inexact
)

var pow10 = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// Number reads the number at pos and returns the position after it. i is set for Int and, as the bits of a uint64,
// for Uint. f is set for Float, and to the nearest float for Inexact. -0 is the integer 0. The caller must check
// that the next byte may follow a number.
func (t Text) Number(pos int) (next int, kind NumberKind, i int64, f float64) {
	src := t.src
	p, neg := pos, false
	if src[p] == '-' {
		neg = true
		p++
	}
	first := p
	var m uint64 // all digits; overflows after 19 of them, and is not used then
	c := src[p] - '0'
	if c > 9 {
		return p, BadNumber, 0, 0
	}
	m = uint64(c)
	p++
	if c != 0 {
		for c = src[p] - '0'; c <= 9; c = src[p] - '0' {
			m = m*10 + uint64(c)
			p++
		}
	} else if src[p]-'0' <= 9 {
		return p, BadNumber, 0, 0
	}
	digits := p - first
	if c := src[p]; c != '.' && c|0x20 != 'e' {
		if digits < 19 || digits == 19 && m <= math.MaxInt64 {
			if neg {
				return p, Int, -int64(m), 0
			}
			return p, Int, int64(m), 0
		}
		if neg && digits == 19 && m == 1<<63 {
			return p, Int, math.MinInt64, 0
		}
		return t.bigInteger(pos, p, digits)
	}
	return t.fraction(pos, p, digits, m, neg)
}

// fraction reads a fraction, an exponent or both at p, for the number that begins at from. m has the digits of its
// integer part. It overflows after 19 digits, and is not used then.
func (t Text) fraction(from, p, digits int, m uint64, neg bool) (next int, kind NumberKind, i int64, f float64) {
	src, exp := t.src, 0
	if src[p] == '.' {
		p++
		point := p
		for c := src[p] - '0'; c <= 9; c = src[p] - '0' {
			m = m*10 + uint64(c)
			p++
		}
		if p == point {
			return p, BadNumber, 0, 0
		}
		exp = point - p
		digits += p - point
	}
	if src[p]|0x20 == 'e' {
		e, next := t.exponent(p + 1)
		if p = next; e == noExponent {
			return p, BadNumber, 0, 0
		}
		exp += e
	}
	// If the mantissa is below 2^53 and the power of ten at most 22, both operands are exact. One multiplication or
	// division then rounds correctly (Clinger).
	if digits <= 19 && m <= 1<<53 && exp >= -22 && exp <= 22 {
		f = float64(m)
		if exp < 0 {
			f /= pow10[-exp]
		} else {
			f *= pow10[exp]
		}
		if neg {
			f = -f
		}
		return p, Float, 0, f
	}
	return t.slowFloat(from, p)
}

// noExponent is returned by exponent if there is no exponent.
const noExponent = math.MinInt

// exponent reads the exponent after the letter e. If it has more than four digits, its value does not matter: the
// number is 0 or out of range.
func (t Text) exponent(pos int) (e, next int) {
	src, p := t.src, pos
	neg := src[p] == '-'
	if neg || src[p] == '+' {
		p++
	}
	from := p
	for c := src[p] - '0'; c <= 9; c = src[p] - '0' {
		if e < 10000 {
			e = e*10 + int(c)
		}
		p++
	}
	if p == from {
		return noExponent, p
	}
	if neg {
		e = -e
	}
	return e, p
}

// FractionEnd returns the end of the fraction and exponent at s[pos:], after the integer part of a number. If
// digits are missing, ok is false, and end is where they are missing. It is for texts without Padding.
func FractionEnd[T string | []byte](s T, pos int) (end int, ok bool) {
	if pos < len(s) && s[pos] == '.' {
		from := pos + 1
		if pos = digitsEnd(s, from); pos == from {
			return pos, false
		}
	}
	if pos < len(s) && s[pos]|0x20 == 'e' {
		pos++
		if pos < len(s) && (s[pos] == '+' || s[pos] == '-') {
			pos++
		}
		from := pos
		if pos = digitsEnd(s, from); pos == from {
			return pos, false
		}
	}
	return pos, true
}

func digitsEnd[T string | []byte](s T, pos int) int {
	for pos < len(s) && s[pos]-'0' <= 9 {
		pos++
	}
	return pos
}

// bigInteger reads an integer that is outside int64.
func (t Text) bigInteger(from, to, digits int) (int, NumberKind, int64, float64) {
	if digits <= 20 {
		if u, err := strconv.ParseUint(string(t.src[from:to]), 10, 64); err == nil {
			return to, Uint, int64(u), 0
		}
	}
	_, kind, _, f := t.slowFloat(from, to)
	if kind == Float {
		// A float64 has at most 309 digits.
		if !IsExactly(string(t.src[from:to]), f) {
			kind = Inexact
		}
	}
	return to, kind, 0, f
}

// IsExactly reports whether f is exactly the integer in text.
func IsExactly(text string, f float64) bool {
	n, ok := new(big.Int).SetString(text, 10)
	g, accuracy := new(big.Float).SetFloat64(f).Int(nil)
	return ok && accuracy == big.Exact && g.Cmp(n) == 0
}

func (t Text) slowFloat(from, to int) (int, NumberKind, int64, float64) {
	f, err := strconv.ParseFloat(string(t.src[from:to]), 64)
	if err != nil {
		return to, BadNumber, 0, 0
	}
	return to, Float, 0, f
}

// NumberError returns the error for a value at pos that Number refused after reading up to next.
func (t Text) NumberError(pos, next int) *Error {
	p := pos
	if t.src[p] == '-' {
		p++
	}
	switch {
	case pos >= t.n:
		return t.Unexpected(pos, "a value")
	case p >= t.n || next >= t.n && t.src[t.n-1]-'0' > 9:
		return NewError(t.n, "unexpected end inside a number")
	case t.src[p]-'0' > 9:
		if p == pos {
			return t.Unexpected(pos, "a value")
		}
		return t.Unexpected(p, "a digit")
	case t.src[p] == '0' && t.src[p+1]-'0' <= 9:
		return NewError(p, "number with a leading zero")
	case t.src[next-1]-'0' > 9:
		return t.Unexpected(next, "a digit")
	}
	return NewError(pos, "number out of the range of a 64-bit float")
}

// Underflows reports whether a decimal number that was read as the float 0 is not zero. It is true for 1e-400 and
// false for 0.0e5.
func Underflows[T string | []byte](text T) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '1' && c <= '9':
			return true
		case c|0x20 == 'e':
			return false
		}
	}
	return false
}
