package value

import (
	"math"
	"strconv"
	"time"
	"unicode/utf8"
	"unsafe"
)

// Lossy returns s as valid UTF-8: s itself if it is, else a copy in which each maximal
// ill-formed subsequence is one U+FFFD.
func Lossy(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	n := 0
	for i := 0; i < len(s); {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = DecodeRune(s[i:])
		}
		n += utf8.RuneLen(r)
		i += size
	}
	b := AppendLossy(make([]byte, 0, n), s)
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// AppendLossy appends s to dst as Lossy would return it.
func AppendLossy(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			dst = append(dst, s[i])
			i++
			continue
		}
		r, n := DecodeRune(s[i:])
		dst = utf8.AppendRune(dst, r)
		i += n
	}
	return dst
}

// DecodeRune decodes the first code point of s, or U+FFFD and the length of the maximal
// ill-formed subsequence that s starts with (which may be more than one byte).
func DecodeRune(s string) (rune, int) {
	r, n := utf8.DecodeRuneInString(s)
	if r != utf8.RuneError || n != 1 {
		return r, n
	}
	lo, hi, need := byte(0x80), byte(0xBF), 0
	switch c := s[0]; {
	case c >= 0xC2 && c <= 0xDF:
		need = 1
	case c >= 0xE0 && c <= 0xEF:
		need = 2
		if c == 0xE0 {
			lo = 0xA0
		}
		if c == 0xED {
			hi = 0x9F
		}
	case c >= 0xF0 && c <= 0xF4:
		need = 3
		if c == 0xF0 {
			lo = 0x90
		}
		if c == 0xF4 {
			hi = 0x8F
		}
	}
	n = 1
	for n <= need && n < len(s) && s[n] >= lo && s[n] <= hi {
		lo, hi = 0x80, 0xBF
		n++
	}
	return utf8.RuneError, n
}

// AppendTime appends an instant as RFC 3339 with Z and as few of 0, 3, 6 or 9 digits of
// a fraction as say it exactly.
func AppendTime(dst []byte, t time.Time) []byte {
	t = t.UTC()
	layout := "2006-01-02T15:04:05Z"
	switch ns := t.Nanosecond(); {
	case ns == 0:
	case ns%1e6 == 0:
		layout = "2006-01-02T15:04:05.000Z"
	case ns%1e3 == 0:
		layout = "2006-01-02T15:04:05.000000Z"
	default:
		layout = "2006-01-02T15:04:05.000000000Z"
	}
	return t.AppendFormat(dst, layout)
}

// AppendFloat appends a float as JSON has it in the language: the shortest digits that
// read back alike, always with a fraction or an exponent, the latter from 1e16 on and
// below 1e-5. Infinities have no such form and become null.
func AppendFloat(dst []byte, f float64) []byte {
	if math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	abs := math.Abs(f)
	if abs != 0 && (abs < 1e-5 || abs >= 1e16) {
		start := len(dst)
		dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
		// strconv writes at least two digits of exponent, and its plus sign.
		for i := start; i < len(dst); i++ {
			if dst[i] != 'e' {
				continue
			}
			j := i + 1
			neg := dst[j] == '-'
			j++
			for j < len(dst)-1 && dst[j] == '0' {
				j++
			}
			digits := dst[j:]
			dst = dst[:i+1]
			if neg {
				dst = append(dst, '-')
			}
			dst = append(dst, digits...)
			break
		}
		return dst
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	for _, c := range dst[start:] {
		if c == '.' {
			return dst
		}
	}
	return append(dst, ".0"...)
}

// AppendPlainFloat appends a float as the language turns it to a string: shortest, never
// with an exponent, without a fraction if it is whole.
func AppendPlainFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 64)
}

func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			r, n := DecodeRune(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		}
		i++
	}
	return append(dst, '"')
}

// AppendDisplay appends v as messages show it: in the language's own notation.
func AppendDisplay(dst []byte, v Value) []byte {
	switch v.kind {
	case Null, Undefined:
		return append(dst, "null"...)
	case Bool:
		return strconv.AppendBool(dst, v.n != 0)
	case Int:
		return strconv.AppendInt(dst, int64(v.n), 10)
	case Float:
		return AppendPlainFloat(dst, v.Float())
	case String:
		return appendQuoted(dst, v.Str())
	case Timestamp:
		dst = append(dst, "t'"...)
		dst = AppendTime(dst, v.Time())
		return append(dst, '\'')
	case Regex:
		dst = append(dst, "r'"...)
		dst = append(dst, v.Regex().String()...)
		return append(dst, '\'')
	case Array:
		dst = append(dst, '[')
		for i, x := range v.items().list {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = AppendDisplay(dst, x)
		}
		return append(dst, ']')
	}
	list := v.fields().list
	if len(list) == 0 {
		return append(dst, "{ }"...)
	}
	dst = append(dst, "{ "...)
	for i := range list {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = appendQuoted(dst, list[i].Key)
		dst = append(dst, ": "...)
		dst = AppendDisplay(dst, list[i].Value)
	}
	return append(dst, " }"...)
}

// maxShown bounds what String shows, in values. What is shared is shown each time that
// it occurs, and a few values can share endlessly.
const maxShown = 1 << 12

// String returns v in the language's own notation; of a value of thousands of values
// only its kind.
func (v Value) String() string {
	if Size(v, maxShown) >= maxShown {
		return v.kind.String() + " (too large to show)"
	}
	return string(AppendDisplay(nil, v))
}

// TruncateFloat cuts off the fraction of x. What no integer holds becomes the nearest one.
func TruncateFloat(x float64) int64 {
	switch {
	case x >= math.MaxInt64:
		return math.MaxInt64
	case x <= math.MinInt64:
		return math.MinInt64
	}
	return int64(x)
}
