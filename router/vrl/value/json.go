package value

import (
	"strconv"
	"unicode/utf8"
)

// AppendJSON appends v as JSON without white space, the keys of objects in order.
// Timestamps become RFC 3339 texts, regular expressions their patterns, infinities null.
func AppendJSON(dst []byte, v Value) []byte {
	switch v.kind {
	case Null, Undefined:
		return append(dst, "null"...)
	case Bool:
		return strconv.AppendBool(dst, v.n != 0)
	case Int:
		return strconv.AppendInt(dst, int64(v.n), 10)
	case Float:
		return AppendFloat(dst, v.Float())
	case String:
		return AppendJSONString(dst, v.Str())
	case Timestamp:
		dst = append(dst, '"')
		dst = AppendTime(dst, v.Time())
		return append(dst, '"')
	case Regex:
		return AppendJSONString(dst, v.Regex().String())
	case Array:
		dst = append(dst, '[')
		for i, x := range v.items().list {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendJSON(dst, x)
		}
		return append(dst, ']')
	}
	dst = append(dst, '{')
	list := v.fields().list
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendJSONString(dst, list[i].Key)
		dst = append(dst, ':')
		dst = AppendJSON(dst, list[i].Value)
	}
	return append(dst, '}')
}

// AppendPrettyJSON is AppendJSON with a line for each element, indented by two spaces a level.
func AppendPrettyJSON(dst []byte, v Value) []byte { return appendPretty(dst, v, 0) }

func appendPretty(dst []byte, v Value, depth int) []byte {
	if v.Len() == 0 || v.kind != Array && v.kind != Object {
		return AppendJSON(dst, v)
	}
	if v.kind == Array {
		dst = append(dst, '[')
		for i, x := range v.items().list {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendPretty(newLine(dst, depth+1), x, depth+1)
		}
		return append(newLine(dst, depth), ']')
	}
	dst = append(dst, '{')
	list := v.fields().list
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendJSONString(newLine(dst, depth+1), list[i].Key)
		dst = append(dst, ": "...)
		dst = appendPretty(dst, list[i].Value, depth+1)
	}
	return append(newLine(dst, depth), '}')
}

func newLine(dst []byte, depth int) []byte {
	dst = append(dst, '\n')
	for range depth {
		dst = append(dst, "  "...)
	}
	return dst
}

const hexDigits = "0123456789abcdef"

// AppendJSONString appends s as a JSON string. Only what must be escaped is; ill-formed
// UTF-8 becomes U+FFFD.
func AppendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(dst, s[start:i]...)
				_, n = DecodeRune(s[i:])
				dst = utf8.AppendRune(dst, utf8.RuneError)
				start = i + n
			}
			i += n
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}
