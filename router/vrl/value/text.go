package value

import (
	"math"
	"strconv"
	"time"
	"unicode/utf8"
	"unsafe"

	"cordwood/router/vrl/jsonscan"
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
func DecodeRune(s string) (rune, int) { return jsonscan.DecodeRune(s) }

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

// AppendFloat appends a float as JSON has it in the language: see jsonscan.AppendFloat.
func AppendFloat(dst []byte, f float64) []byte { return jsonscan.AppendFloat(dst, f) }

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
