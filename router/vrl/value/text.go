package value

import (
	"math"
	"strconv"
	"time"
	"unicode/utf8"
	"unsafe"

	"cordwood/router/vrl/jsonscan"
)

// Lossy returns s as valid UTF-8. If s is valid, it returns s itself, otherwise a copy in which each maximal
// ill-formed subsequence is replaced by one U+FFFD.
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

// DecodeRune decodes the first code point of s. If s starts with invalid UTF-8, it returns U+FFFD and the length of
// the maximal ill-formed subsequence, which may be more than one byte.
func DecodeRune(s string) (rune, int) { return jsonscan.DecodeRune(s) }

// AppendTime appends an instant in RFC 3339 with Z. The fraction has 0, 3, 6 or 9 digits, as few as possible.
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

// AppendFloat appends a float in the language's JSON form: see jsonscan.AppendFloat.
func AppendFloat(dst []byte, f float64) []byte { return jsonscan.AppendFloat(dst, f) }

// AppendPlainFloat appends a float in the language's string form: as short as possible, without an exponent, and
// without a fraction if it is whole.
func AppendPlainFloat(dst []byte, f float64) []byte {
	const exact = 1 << 53
	if i := int64(f); f > -exact && f < exact && float64(i) == f && i != 0 { // -0 has a sign
		return strconv.AppendInt(dst, i, 10)
	}
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

// AppendDisplay appends v in the language's own notation, for messages.
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
	o := v.fields()
	if o.Len() == 0 {
		return append(dst, "{ }"...)
	}
	dst = append(dst, "{ "...)
	for i := range o.Len() {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = appendQuoted(dst, o.Key(i))
		dst = append(dst, ": "...)
		dst = AppendDisplay(dst, o.PeekAt(i))
	}
	return append(dst, " }"...)
}

// maxShown limits how many values String shows. A shared value is shown each time that it occurs, so a few values
// could be shown without end.
const maxShown = 1 << 12

// String returns v in the language's own notation. For a value that contains thousands of values, it returns only
// the kind.
func (v Value) String() string {
	if Size(v, maxShown) >= maxShown {
		return v.kind.String() + " (too large to show)"
	}
	return string(AppendDisplay(nil, v))
}

// TruncateFloat drops the fraction of x. A float outside the range of integers becomes the nearest integer.
func TruncateFloat(x float64) int64 {
	switch {
	case x >= math.MaxInt64:
		return math.MaxInt64
	case x <= math.MinInt64:
		return math.MinInt64
	}
	return int64(x)
}
