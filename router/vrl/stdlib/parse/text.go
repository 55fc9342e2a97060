package parse

import (
	"strconv"
	"strings"

	"cordwood/router/vrl/ascii"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// This file has parsers of simple texts: tokens, CSV, query strings and integers.

var parseTokens = &fn.Function{
	Name:  "parse_tokens",
	Group: fn.Parse,
	Doc: "Splits the text at spaces and tabs, like the common log format. Text in double quotes or brackets is one " +
		"token without these delimiters. If they are not closed, the rest of the text is one token. An empty token or a " +
		"dash becomes null.",
	Params:  []fn.Param{fn.ValueParam("The text to split.")},
	Returns: kind.ArrayAll(kind.String.OrNull()),
	Examples: []fn.Example{
		{
			Title:  "a log line",
			Source: `parse_tokens("10.1.1.1 - [today at 9] \"GET /\" 200")`,
			Result: `["10.1.1.1",null,"today at 9","GET /","200"]`,
		},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		s := v.Text()
		if !f.Reserve(2 * len(s)) {
			return value.Value{}, false
		}
		list := make([]value.Value, 0, 8)
		for s != "" {
			if !f.Reserve(roomOfValue) {
				return value.Value{}, false
			}
			var w string
			w, s = token(s)
			if w == "" || w == "-" {
				list = append(list, value.Value{})
			} else {
				list = append(list, value.NewString(w))
			}
			s = strings.TrimLeft(s, " \t")
		}
		return value.NewArray(list), true
	}},
}

// token returns the token at the start of s. A bracket or quote that does not close, and a blank at the start of the
// text, begin a token that is the rest of the text, as in the reference implementation.
func token(s string) (w, rest string) {
	closing := s[0]
	switch closing {
	case '[':
		closing = ']'
	case '"':
	default:
		end := strings.IndexAny(s, " \t[\"")
		if end <= 0 {
			return s, ""
		}
		return s[:end], s[end:]
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case closing:
			return s[1:i], s[i+1:]
		case '\\':
			if i++; i == len(s) || s[i] != closing && s[i] != '\\' {
				return s, ""
			}
		}
	}
	return s, ""
}

var parseCSV = &fn.Function{
	Name:  "parse_csv",
	Group: fn.Parse,
	Doc: "Parses the first record of a CSV text into an array of its fields. A field in double quotes may contain " +
		"delimiters and line ends, and a quote written twice.",
	Params: []fn.Param{
		fn.ValueParam("The CSV text."),
		{
			Name: "delimiter", Doc: "The separator of fields: one byte.", Kind: kind.String, Optional: true,
			Default: value.NewString(","),
		},
	},
	Returns:  kind.ArrayAll(kind.String),
	Fallible: true,
	Errors:   []string{"the delimiter is not one byte"},
	Examples: []fn.Example{
		{Title: "quotes", Source: `parse_csv!("a,\"b \"\"c\"\", d\"")`, Result: `["a","b \"c\", d"]`},
		{Title: "a delimiter", Source: `parse_csv!("a;b", delimiter: ";")`, Result: `["a","b"]`},
		{Title: "two characters", Source: `parse_csv!("a", delimiter: ";;")`, Fails: `delimiter must be a single character`},
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, v, delimiter value.Value) (value.Value, bool) {
		if delimiter.Len() != 1 {
			return f.Fail("delimiter must be a single character")
		}
		s := strings.TrimLeft(v.Str(), "\r\n")
		if !f.Reserve(3 * len(s)) {
			return value.Value{}, false
		}
		list := make([]value.Value, 0, 8)
		for more := s != ""; more; {
			if !f.Reserve(roomOfValue) {
				return value.Value{}, false
			}
			var x string
			x, s, more = csvField(s, delimiter.Str()[0])
			list = append(list, value.NewString(x))
		}
		return value.NewArray(list), true
	}},
}

// csvField parses the field at the start of s, and reports whether another one follows.
func csvField(s string, delimiter byte) (field, rest string, more bool) {
	if s != "" && s[0] == '"' && delimiter != '"' {
		return csvQuoted(s, delimiter)
	}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case delimiter:
			return s[:i], s[i+1:], true
		case '\n', '\r':
			return s[:i], "", false
		}
	}
	return s, "", false
}

// csvQuoted parses a field that starts with a quote, like csvField. Text after the closing quote is part of the field.
func csvQuoted(s string, delimiter byte) (field, rest string, more bool) {
	i := 1
	for i < len(s) && s[i] != '"' {
		i++
	}
	switch {
	case i >= len(s)-1:
		return s[1:i], "", false
	case s[i+1] == delimiter:
		return s[1:i], s[i+2:], true
	}
	b := append(make([]byte, 0, 2*i), s[1:i]...)
	for inside := true; i < len(s); i++ {
		c := s[i]
		switch {
		case inside && c == '"' && i+1 < len(s) && s[i+1] == '"':
			b = append(b, '"')
			i++
		case inside && c == '"':
			inside = false
		case inside:
			b = append(b, c)
		case c == delimiter:
			return fn.Unsafe(b), s[i+1:], true
		case c == '\n' || c == '\r':
			return fn.Unsafe(b), "", false
		default:
			b = append(b, c)
		}
	}
	return fn.Unsafe(b), "", false
}

var parseQueryString = &fn.Function{
	Name:  "parse_query_string",
	Group: fn.Parse,
	Doc: "Parses the query of a URL, with or without its question mark. The values of a key that occurs several " +
		"times are put into an array.",
	Params:  []fn.Param{fn.ValueParam("The query.")},
	Returns: kind.ObjectAll(kind.Or(kind.String, kind.ArrayAll(kind.String))),
	Examples: []fn.Example{
		{Title: "a query", Source: `parse_query_string("?a=1&b=x+y&b=%26&c")`, Result: `{"a":"1","b":["x y","&"],"c":""}`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		s := strings.TrimPrefix(v.Str(), "?")
		if !f.Reserve(3 * len(s)) {
			return value.Value{}, false
		}
		list, ok := queryPairs(f, s)
		if !ok {
			return value.Value{}, false
		}
		return gather(list, appendTo), true
	}},
}

// queryPairs returns the decoded pairs of a query in order. It returns false if the budget is too small.
func queryPairs(f *fn.Frame, s string) ([]value.Field, bool) {
	var list []value.Field
	for s != "" {
		var pair string
		pair, s, _ = strings.Cut(s, "&")
		if pair == "" {
			continue
		}
		if !f.Reserve(roomOfField + len(pair)) {
			return nil, false
		}
		k, v, _ := strings.Cut(pair, "=")
		list = append(list, value.Field{Key: decodeForm(k), Value: value.NewString(decodeForm(v))})
	}
	return list, true
}

// decodeForm decodes a part of a query. A percent sign that does not start an escape stays unchanged.
func decodeForm(s string) string {
	if !strings.ContainsAny(s, "%+") {
		return value.Lossy(s)
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '+':
			b = append(b, ' ')
		case c == '%' && i+2 < len(s) && ascii.HexDigit(s[i+1]) >= 0 && ascii.HexDigit(s[i+2]) >= 0:
			b = append(b, byte(ascii.HexDigit(s[i+1])<<4|ascii.HexDigit(s[i+2])))
			i += 2
		default:
			b = append(b, c)
		}
	}
	return value.Lossy(fn.Unsafe(b))
}

var parseInt = &fn.Function{
	Name:  "parse_int",
	Group: fn.Parse,
	Doc: "Parses an integer. Without an argument for the base, the prefix of the text determines it: `0b` is " +
		"binary, `0o` or a leading zero octal, `0x` " +
		"hexadecimal, anything else decimal.",
	Params: []fn.Param{
		fn.ValueParam("The text."),
		{Name: "base", Doc: "The base, from 2 to 36. The text then has no prefix.", Kind: kind.Integer, Optional: true},
	},
	Returns:  kind.Integer,
	Fallible: true,
	Errors: []string{
		"the text is not an integer in the base, or does not fit 64 bits", "the base is not from 2 to 36",
	},
	Examples: []fn.Example{
		{Title: "decimal", Source: `parse_int!("-17")`, Result: `-17`},
		{Title: "a prefix", Source: `parse_int!("0xff")`, Result: `255`},
		{Title: "a base", Source: `parse_int!("zz", 36)`, Result: `1295`},
		{Title: "no integer", Source: `parse_int!("1.5")`, Fails: `could not parse integer`},
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, v, base value.Value) (value.Value, bool) {
		s, b := basePrefix(v.Str())
		if base.IsDefined() {
			if base.Int() < 2 || base.Int() > 36 {
				return f.Failf("invalid base %d: must be between 2 and 36 (inclusive)", base.Int())
			}
			s, b = v.Str(), int(base.Int())
		}
		i, err := strconv.ParseInt(s, b, 64)
		if err != nil {
			return f.Failf("could not parse integer: %v is not an integer of base %d that fits 64 bits", v, b)
		}
		return value.NewInt(i), true
	}},
}

// basePrefix removes the prefix for the base from s and keeps the sign.
func basePrefix(s string) (string, int) {
	sign := ""
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign = s[:1]
	}
	t := s[len(sign):]
	if len(t) < 2 || t[0] != '0' {
		return s, 10
	}
	base := 0
	switch t[1] {
	case 'b':
		base = 2
	case 'o':
		base = 8
	case 'x':
		base = 16
	default:
		return s, 8
	}
	if sign == "" {
		return t[2:], base
	}
	return sign + t[2:], base
}
