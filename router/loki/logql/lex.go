package logql

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"cordwood/proto/errs"
)

type kind int

const (
	end kind = iota
	name
	text
	number // with its unit
	flag   // --strict
	sign
)

// token is a part of a query. value is the content of a string; for other tokens it is their text.
type token struct {
	kind  kind
	value string
	at    int
}

// word returns a name in lower case, or an empty string: words of the language may be written in both cases.
func (t token) word() string {
	if t.kind != name {
		return ""
	}
	return strings.ToLower(t.value)
}

func (t token) String() string {
	switch t.kind {
	case end:
		return "the end of the query"
	case text:
		return "string " + strconv.Quote(clip(t.value))
	}
	return strconv.Quote(clip(t.value))
}

func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// signs are the operators and brackets, the longer ones first.
var signs = []string{
	"|=", "|~", "|>", "!=", "!~", "!>", "=~", "==", ">=", "<=", "|", "{", "}", "(", ")", "[", "]", ",", "=", ">", "<",
	"+", "-", "*", "/", "%", "^", "@", ":",
}

// position returns the line and column of a byte offset in the query, both counted from 1.
func position(query string, at int) string {
	before := query[:min(at, len(query))]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("line %d, col %d", line, column)
}

// syntaxError returns an error with the position of a byte offset in the query.
func syntaxError(query string, at int, format string, args ...any) error {
	return errs.New(errs.InvalidSyntax, "parse error at %s: syntax error: %s", position(query, at),
		fmt.Sprintf(format, args...))
}

// unsupported returns the error for a part of LogQL that cordwood does not support.
func unsupported(query string, at int, format string, args ...any) error {
	return errs.New(errs.Unsupported, "parse error at %s: not supported: %s", position(query, at),
		fmt.Sprintf(format, args...))
}

// lex splits a query into tokens.
func lex(query string) ([]token, error) {
	var out []token
	for at := 0; at < len(query); {
		c := query[at]
		switch c {
		case ' ', '\t', '\n', '\r':
			at++
		case '#':
			if i := strings.IndexByte(query[at:], '\n'); i >= 0 {
				at += i
			} else {
				at = len(query)
			}
		default:
			t, n, err := next(query, at)
			if err != nil {
				return nil, err
			}
			t.at = at
			out = append(out, t)
			at += n
		}
	}
	return append(out, token{kind: end, at: len(query)}), nil
}

// next reads the token at a byte offset of the query, and returns its length.
func next(query string, at int) (token, int, error) {
	rest := query[at:]
	switch c := rest[0]; {
	case letter(c):
		n := span(rest, func(c byte) bool { return letter(c) || digit(c) })
		return token{kind: name, value: rest[:n]}, n, nil
	case digit(c) || c == '.' && len(rest) > 1 && digit(rest[1]):
		n := numberLength(rest)
		return token{kind: number, value: rest[:n]}, n, nil
	case c == '"' || c == '`':
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return token{}, 0, syntaxError(query, at, "unexpected %s: the string is not terminated, or has an invalid escape",
				strconv.Quote(clip(rest)))
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return token{}, 0, syntaxError(query, at, "unexpected %s: invalid string", clip(quoted))
		}
		if !utf8.ValidString(value) {
			return token{}, 0, syntaxError(query, at, "unexpected %s: the string is not valid UTF-8", clip(quoted))
		}
		if strings.IndexByte(value, 0) >= 0 {
			return token{}, 0, syntaxError(query, at, "unexpected %s: the string has a character 0, which cannot be "+
				"searched for", clip(quoted))
		}
		return token{kind: text, value: value}, len(quoted), nil
	case strings.HasPrefix(rest, "--") && len(rest) > 2 && letter(rest[2]):
		n := 2 + span(rest[2:], func(c byte) bool { return letter(c) || c == '-' })
		return token{kind: flag, value: rest[:n]}, n, nil
	}
	for _, s := range signs {
		if strings.HasPrefix(rest, s) {
			return token{kind: sign, value: s}, len(s), nil
		}
	}
	if rest[0] == '$' {
		return token{}, 0, syntaxError(query, at, "unexpected '$': Grafana replaces variables such as $__auto; elsewhere, "+
			"write the value, such as 5m")
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return token{}, 0, syntaxError(query, at, "unexpected %q", r)
}

// numberLength returns the length of a number with its unit at the start of s: 12.5, 1e-3, 250ms, 1h30m, 10KB.
func numberLength(s string) int {
	n := span(s, func(c byte) bool { return digit(c) || c == '.' })
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		m := n + 1
		if m < len(s) && (s[m] == '+' || s[m] == '-') {
			m++
		}
		if digits := span(s[m:], digit); digits > 0 {
			return m + digits
		}
	}
	return n + span(s[n:], func(c byte) bool {
		return letter(c) && c != '_' || digit(c) || c == '.' || c >= utf8.RuneSelf
	})
}

func span(s string, class func(byte) bool) int {
	for i := range len(s) {
		if !class(s[i]) {
			return i
		}
	}
	return len(s)
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }
