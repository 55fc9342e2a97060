package value

import (
	"strconv"

	"cordwood/router/vrl/jsonscan"
)

// AppendJSON appends v as JSON without white space. The keys of objects are sorted. Timestamps become RFC 3339
// texts, regular expressions their patterns, and infinities null.
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
	o := v.fields()
	for i := range o.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendJSONString(dst, o.Key(i))
		dst = append(dst, ':')
		dst = AppendJSON(dst, o.PeekAt(i))
	}
	return append(dst, '}')
}

// AppendPrettyJSON is AppendJSON with a line for each element, indented by two spaces for each level.
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
	o := v.fields()
	for i := range o.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendJSONString(newLine(dst, depth+1), o.Key(i))
		dst = append(dst, ": "...)
		dst = appendPretty(dst, o.PeekAt(i), depth+1)
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

// AppendJSONString appends s as a JSON string with as few escapes as possible. Invalid UTF-8 becomes U+FFFD.
func AppendJSONString(dst []byte, s string) []byte { return jsonscan.AppendQuoted(dst, s) }
