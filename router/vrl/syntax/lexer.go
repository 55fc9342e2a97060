package syntax

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"cordwood/router/vrl/diag"
	"cordwood/router/vrl/pattern"
	"cordwood/router/vrl/value"
)

// tokenKind is the kind of a token. Operators and brackets have the kind punct.
type tokenKind uint8

const (
	eof tokenKind = iota
	newline
	ident   // name, keyword or reserved word
	field   // name after the dot or percent sign of a path
	literal // number, raw string, regex, timestamp
	text    // "…" with its parts
	punct
	invalid // already reported
)

type token struct {
	kind  tokenKind
	span  diag.Span
	text  string // ident, field, punct
	value value.Value
	parts []Part // text
}

// keywords start or end expressions and cannot be variables.
var keywords = map[string]bool{
	"if": true, "else": true, "true": true, "false": true, "null": true, "abort": true, "return": true,
}

var reserved = words(`array bool boolean break continue do emit float for forall foreach all each any try
	undefined int integer iter object regex string traverse timestamp duration unless walk while loop`)

func words(list string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(list) {
		m[w] = true
	}
	return m
}

type lexer struct {
	src    string
	pos    int
	tokens []token
	report func(*diag.Diagnostic)

	patterns int // the memory of the regular expressions so far, in bytes
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isNameStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '@'
}
func isName(c byte) bool { return isNameStart(c) || isDigit(c) }

// operators, the longer ones first.
var operators = []string{
	"==", "!=", "<=", ">=", "||", "&&", "??", "|=", "->",
	"=", "<", ">", "|", "+", "-", "*", "/", "!", "&",
	"(", ")", "[", "]", "{", "}", ",", ";", ":", ".", "%", "?",
}

func (l *lexer) run() []token {
	for l.pos < len(l.src) {
		l.next()
	}
	l.add(token{kind: eof, span: diag.Span{Start: len(l.src), End: len(l.src)}})
	return l.tokens
}

func (l *lexer) add(t token) { l.tokens = append(l.tokens, t) }

func (l *lexer) at(i int) byte {
	if i < len(l.src) {
		return l.src[i]
	}
	return 0
}

// afterDot reports whether the previous token is the dot or percent sign of a path, with nothing in between.
func (l *lexer) afterDot() bool {
	if len(l.tokens) == 0 {
		return false
	}
	t := &l.tokens[len(l.tokens)-1]
	return t.kind == punct && t.span.End == l.pos && (t.text == "." || t.text == "%")
}

func (l *lexer) next() {
	start, c := l.pos, l.src[l.pos]
	switch {
	case c == '\n':
		l.pos++
		l.add(token{kind: newline, span: diag.Span{Start: start, End: l.pos}})
	case c == ' ' || c == '\t' || c == '\r':
		l.pos++
	case c == '#':
		for l.pos < len(l.src) && l.src[l.pos] != '\n' {
			l.pos++
		}
	case isName(c) && l.afterDot():
		l.name(field)
	case (c == 's' || c == 'r' || c == 't') && l.at(l.pos+1) == '\'':
		l.quoted(c)
	case isNameStart(c):
		l.name(ident)
	case isDigit(c), c == '-' && isDigit(l.at(l.pos+1)):
		l.number()
	case c == '"':
		l.str()
	default:
		for _, op := range operators {
			if strings.HasPrefix(l.src[l.pos:], op) {
				l.pos += len(op)
				l.add(token{kind: punct, span: diag.Span{Start: start, End: l.pos}, text: op})
				return
			}
		}
		r, n := utf8.DecodeRuneInString(l.src[l.pos:])
		l.pos += n
		s := diag.Span{Start: start, End: l.pos}
		l.report(diag.New(200, "invalid token", s, fmt.Sprintf("the character %q has no meaning here", r)))
		l.add(token{kind: invalid, span: s})
	}
}

func (l *lexer) name(k tokenKind) {
	start := l.pos
	for l.pos < len(l.src) && isName(l.src[l.pos]) {
		l.pos++
	}
	l.add(token{kind: k, span: diag.Span{Start: start, End: l.pos}, text: l.src[start:l.pos]})
}

func (l *lexer) number() {
	start := l.pos
	l.pos++
	digits := func() {
		for l.pos < len(l.src) && (isDigit(l.src[l.pos]) || l.src[l.pos] == '_') {
			l.pos++
		}
	}
	digits()
	isFloat := l.at(l.pos) == '.'
	if isFloat {
		l.pos++
		digits()
	}
	t := token{kind: literal, span: diag.Span{Start: start, End: l.pos}}
	raw := strings.ReplaceAll(l.src[start:l.pos], "_", "")
	if isName(l.at(l.pos)) {
		for isName(l.at(l.pos)) {
			l.pos++
		}
		t.span.End = l.pos
		l.report(diag.New(206, "invalid numeric literal", t.span, "numbers are written with decimal digits only").
			Note("exponents and other bases are not part of the language; write the number out, or use parse_float " +
				"or parse_int"))
		t.kind = invalid
	} else if isFloat {
		f, err := strconv.ParseFloat(raw, 64)
		if err != nil || math.IsInf(f, 0) {
			l.report(diag.New(206, "invalid numeric literal", t.span, "the number is too large for a 64-bit float"))
		}
		t.value = value.NewFloat(f)
	} else {
		i, err := strconv.ParseInt(raw, 10, 64)
		if err != nil {
			l.report(diag.New(206, "invalid numeric literal", t.span, "the number does not fit a 64-bit integer"))
		}
		t.value = value.NewInt(i)
	}
	l.add(t)
}

// quoted reads s'…', r'…' and t'…'.
func (l *lexer) quoted(c byte) {
	start := l.pos
	i := start + 2
	for i < len(l.src) && l.src[i] != '\'' {
		if l.src[i] == '\\' {
			i++
		}
		i++
	}
	if i >= len(l.src) {
		l.pos = len(l.src)
		l.report(diag.New(208, "invalid literal", diag.Span{Start: start, End: start + 1},
			"the closing ' of this literal is missing"))
		l.add(token{kind: invalid, span: diag.Span{Start: start, End: l.pos}})
		return
	}
	raw := l.src[start+2 : i]
	l.pos = i + 1
	t := token{kind: literal, span: diag.Span{Start: start, End: l.pos}}
	switch c {
	case 's':
		t.value = value.NewString(raw)
	case 'r':
		t.value = value.NewRegex(l.regex(strings.ReplaceAll(raw, `\'`, "'"), t.span))
	default:
		at, err := parseTimestamp(raw)
		if err != nil {
			l.report(diag.New(601, "invalid timestamp", t.span,
				"expected a date, a time and an offset, such as t'2021-02-03T04:05:06Z'"))
		}
		t.value = value.NewTimestamp(at)
	}
	l.add(t)
}

// regex compiles a pattern. If the patterns exceed the limit of a program, this is reported once.
func (l *lexer) regex(source string, span diag.Span) *pattern.Regex {
	if l.patterns <= pattern.MaxTotal {
		re, err := pattern.Compile(source)
		if err == nil {
			if l.patterns += re.Size(); l.patterns <= pattern.MaxTotal {
				return re
			}
			err = pattern.ErrTotal
		} else {
			l.patterns += pattern.RefusedSize
		}
		l.report(diag.New(101, "invalid regular expression", span, err.Error()))
	}
	re, _ := pattern.Compile("")
	return re
}

func parseTimestamp(s string) (time.Time, error) {
	b := []byte(strings.TrimSpace(s))
	if len(b) > 10 && (b[10] == ' ' || b[10] == 't') {
		b[10] = 'T'
	}
	if n := len(b); n > 0 && b[n-1] == 'z' {
		b[n-1] = 'Z'
	}
	return time.Parse(time.RFC3339Nano, string(b))
}

// str reads "…".
func (l *lexer) str() {
	start := l.pos
	l.pos++
	var parts []Part
	var b strings.Builder
	from := l.pos
	flush := func() {
		if b.Len() > 0 {
			parts = append(parts, Part{Text: b.String(), Span: diag.Span{Start: from, End: l.pos}})
			b.Reset()
		}
	}
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		switch {
		case c == '"':
			flush()
			l.pos++
			l.add(token{kind: text, span: diag.Span{Start: start, End: l.pos}, parts: parts, text: l.src[start+1 : l.pos-1]})
			return
		case c == '\\':
			l.escape(&b)
		case c == '{' && l.at(l.pos+1) == '{':
			end := strings.Index(l.src[l.pos:], "}}")
			if quote := strings.IndexByte(l.src[l.pos:], '"'); end < 0 || quote >= 0 && quote < end {
				b.WriteString("{{")
				l.pos += 2
				continue
			}
			flush()
			s := diag.Span{Start: l.pos, End: l.pos + end + 2}
			parts = append(parts, Part{Name: strings.TrimSpace(l.src[l.pos+2 : l.pos+end]), IsName: true, Span: s})
			l.pos = s.End
			from = l.pos
		default:
			b.WriteByte(c)
			l.pos++
		}
	}
	l.report(diag.New(207, "invalid string literal", diag.Span{Start: start, End: start + 1},
		"the closing \" of this string is missing"))
	l.add(token{kind: invalid, span: diag.Span{Start: start, End: l.pos}})
}

var simpleEscapes = map[byte]byte{
	'\\': '\\', '"': '"', '\'': '\'', 'n': '\n', 'r': '\r', 't': '\t', '0': 0, '{': '{', '}': '}',
}

// escape reads an escape sequence of a string.
func (l *lexer) escape(b *strings.Builder) {
	at := l.pos
	l.pos++
	if l.pos >= len(l.src) {
		return
	}
	c := l.src[l.pos]
	if e, ok := simpleEscapes[c]; ok {
		b.WriteByte(e)
		l.pos++
		// Both braces of \{{ and \}} are literal.
		if (c == '{' || c == '}') && l.at(l.pos) == c {
			b.WriteByte(c)
			l.pos++
		}
		return
	}
	switch c {
	case '\r', '\n':
		for l.pos < len(l.src) && strings.IndexByte(" \t\r\n", l.src[l.pos]) >= 0 {
			l.pos++
		}
		return
	case 'u':
		i := l.pos + 1
		if l.at(i) == '{' {
			j := i + 1
			for j < len(l.src) && strings.IndexByte("0123456789abcdefABCDEF", l.src[j]) >= 0 {
				j++
			}
			n, err := strconv.ParseUint(l.src[i+1:j], 16, 32)
			if l.at(j) == '}' && err == nil && j-i <= 7 && n <= utf8.MaxRune && utf8.ValidRune(rune(n)) {
				b.WriteRune(rune(n))
				l.pos = j + 1
				return
			}
		}
		l.report(diag.New(211, "invalid unicode escape", diag.Span{Start: at, End: l.pos + 1},
			`expected \u{…} with 1 to 6 hexadecimal digits of a code point`))
		l.pos++
		return
	}
	r, n := utf8.DecodeRuneInString(l.src[l.pos:])
	l.report(diag.New(209, fmt.Sprintf(`invalid escape character: \%c`, r), diag.Span{Start: l.pos, End: l.pos + n},
		"invalid escape character: "+string(r)).
		Note(`a backslash itself is written \\; in s'…' backslashes have no special meaning`))
	l.pos += n
}
