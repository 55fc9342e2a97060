package statement

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"cordwood/proto/errs"
)

// kind classifies a token.
type kind uint8

const (
	eof     kind = iota
	word         // a keyword or an unquoted name
	quoted       // "name" or `name`
	text         // 'text', e'text', $$text$$
	number       // 12, 1.5, 1e9, 0xff
	symbol       // other characters: one character, or ::
	comment      // only inside the lexer
	unknown      // a quote or comment that does not end
)

// token is one token of a statement. Its offsets are into the whole text.
type token struct {
	kind     kind
	from, to int
	// val is the decoded name or text; the token as written for the other kinds.
	val string
	// fault describes an escape in the text that the engine also refuses; empty if there is none.
	fault string
}

// is reports whether t is the keyword kw. kw is in upper case.
func (t token) is(kw string) bool { return t.kind == word && strings.EqualFold(t.val, kw) }

// sym reports whether t is the symbol s.
func (t token) sym(s string) bool { return t.kind == symbol && t.val == s }

// lexer splits a text into tokens. It follows the engine's rules for quotes and comments, so that both see the same
// end of a statement: e'…' has backslash escapes, $tag$…$tag$ has none, and block comments nest.
type lexer struct {
	src string
	pos int
}

// next returns the next token that is not a comment. An unterminated quote or block comment is an error, and so is
// an escape that the engine refuses.
func (l *lexer) next() (token, error) {
	for {
		t := l.scan()
		switch t.kind {
		case comment:
			continue
		case unknown:
			return t, syntaxError(l.src, t.from, "unterminated %s", t.val)
		}
		if t.fault != "" {
			return t, syntaxError(l.src, t.from, "%s", t.fault)
		}
		return t, nil
	}
}

// scan returns the next token, which may be a comment.
func (l *lexer) scan() token {
	l.skipSpace()
	from := l.pos
	if from >= len(l.src) {
		return token{kind: eof, from: from, to: from}
	}
	rest := l.src[from:]
	c := rest[0]
	switch {
	case strings.HasPrefix(rest, "--"):
		return l.lineComment(from)
	case strings.HasPrefix(rest, "/*"):
		return l.blockComment(from)
	case c == '\'':
		return l.quote(from, from, '\'', text, false)
	case c == '"' || c == '`':
		return l.quote(from, from, c, quoted, false)
	case c|0x20 == 'e' && strings.HasPrefix(rest[1:], "'"):
		return l.quote(from, from+1, '\'', text, true)
	case c == '$':
		if t, ok := l.dollar(from); ok {
			return t
		}
	case isDigit(c), c == '.' && len(rest) > 1 && isDigit(rest[1]):
		return l.number(from)
	case isNameStart(c):
		for l.pos < len(l.src) && isNamePart(l.src[l.pos]) {
			l.pos++
		}
		return l.token(word, from)
	}
	l.pos++
	if strings.HasPrefix(rest, "::") {
		l.pos++
	}
	return l.token(symbol, from)
}

// skipSpace skips to the next token.
func (l *lexer) skipSpace() {
	for l.pos < len(l.src) {
		r, size := utf8.DecodeRuneInString(l.src[l.pos:])
		if !unicode.IsSpace(r) && r != '\ufeff' {
			return
		}
		l.pos += size
	}
}

// lineComment reads to the end of the line. A carriage return ends the comment too, as in the engine.
func (l *lexer) lineComment(from int) token {
	if i := strings.IndexAny(l.src[from:], "\r\n"); i >= 0 {
		l.pos = from + i + 1
	} else {
		l.pos = len(l.src)
	}
	return l.token(comment, from)
}

func (l *lexer) token(k kind, from int) token {
	return token{kind: k, from: from, to: l.pos, val: l.src[from:l.pos]}
}

func isNameStart(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

func isNamePart(c byte) bool { return isNameStart(c) || c >= '0' && c <= '9' || c == '$' }

// quote reads from the quote character at open. A doubled quote character is one.
func (l *lexer) quote(from, open int, q byte, k kind, backslash bool) token {
	var val strings.Builder
	fault := ""
	for i := open + 1; i < len(l.src); i++ {
		c := l.src[i]
		switch {
		case c == q && i+1 < len(l.src) && l.src[i+1] == q:
			val.WriteByte(q)
			i++
		case c == q:
			l.pos = i + 1
			return token{kind: k, from: from, to: l.pos, val: val.String(), fault: fault}
		case c == '\\' && backslash && i+1 < len(l.src):
			b, n := unescape(l.src[i+1:])
			val.WriteByte(b)
			if wrong := escapeFault(l.src[i:i+1+n], b); wrong != "" {
				fault = wrong
			}
			i += n
		default:
			val.WriteByte(c)
		}
	}
	l.pos = len(l.src)
	what := "quoted text"
	if k == quoted {
		what = "quoted name"
	}
	return token{kind: unknown, from: from, to: l.pos, val: what}
}

// escapeFault describes what is wrong with an escape for the byte b; empty if nothing is wrong.
func escapeFault(escape string, b byte) string {
	switch {
	case escape == `\u` || escape == `\U`:
		return "the escape " + escape + " is not supported; write the character itself"
	case len(escape) > 1 && escape[1] < utf8.RuneSelf && (b == 0 || b >= utf8.RuneSelf):
		return "the escape " + escape + " is not an ASCII character; write the character itself"
	}
	return ""
}

// unescape returns the byte of an escape, and the length of the escape after its backslash: a letter, one to three
// octal digits, or x and one or two hexadecimal digits. Any other character stands for itself.
func unescape(s string) (b byte, length int) {
	switch s[0] {
	case 'n':
		return '\n', 1
	case 't':
		return '\t', 1
	case 'r':
		return '\r', 1
	case 'b':
		return '\b', 1
	case 'f':
		return '\f', 1
	case 'x':
		if v, n := digits(s[1:], 16, 2); n > 0 {
			return v, 1 + n
		}
	}
	if v, n := digits(s, 8, 3); n > 0 {
		return v, n
	}
	return s[0], 1
}

// digits reads up to most digits of a number in the given base, and returns the number and how many digits it
// read. If the number is too large for a byte, digits returns its low bits, as the engine does.
func digits(s string, base, most int) (v byte, n int) {
	for n < min(most, len(s)) {
		d, err := strconv.ParseUint(s[n:n+1], base, 8)
		if err != nil {
			break
		}
		v = v*byte(base) + byte(d)
		n++
	}
	return v, n
}

// dollar reads $tag$text$tag$; ok is false if no such quote begins at from.
func (l *lexer) dollar(from int) (t token, ok bool) {
	end := from + 1
	for end < len(l.src) && isNamePart(l.src[end]) && l.src[end] != '$' {
		end++
	}
	if end >= len(l.src) || l.src[end] != '$' || (end > from+1 && !isNameStart(l.src[from+1])) {
		return token{}, false
	}
	tag := l.src[from : end+1]
	n := strings.Index(l.src[end+1:], tag)
	if n < 0 {
		l.pos = len(l.src)
		return token{kind: unknown, from: from, to: l.pos, val: "text in " + tag}, true
	}
	body := l.src[end+1 : end+1+n]
	l.pos = end + 1 + n + len(tag)
	return token{kind: text, from: from, to: l.pos, val: body}, true
}

func (l *lexer) blockComment(from int) token {
	depth := 0
	for i := from; i+1 < len(l.src); i++ {
		switch l.src[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
			if depth == 0 {
				l.pos = i + 1
				return l.token(comment, from)
			}
		}
	}
	l.pos = len(l.src)
	return token{kind: unknown, from: from, to: l.pos, val: "comment"}
}

// number reads text that looks like a number, and letters directly after it. The caller checks whether it is a
// number.
func (l *lexer) number(from int) token {
	digit := isDigit
	if rest := l.src[from:]; len(rest) > 2 && rest[0] == '0' && rest[1]|0x20 == 'x' && isHex(rest[2]) {
		l.pos = from + 2
		digit = isHex
	}
	l.digits(digit)
	if hasExponent(l.src[l.pos:], digit) {
		l.pos += 2
		l.digits(digit)
	}
	// For the engine a name begins here. It may contain dollars.
	if l.pos < len(l.src) && isNameStart(l.src[l.pos]) {
		for l.pos < len(l.src) && isNamePart(l.src[l.pos]) && l.src[l.pos] < utf8.RuneSelf {
			l.pos++
		}
	}
	return l.token(number, from)
}

// hasExponent reports whether an exponent follows. If no digit follows a minus, it may start a comment.
func hasExponent(rest string, digit func(byte) bool) bool {
	if len(rest) < 2 || rest[0]|0x20 != 'e' {
		return false
	}
	return digit(rest[1]) || len(rest) > 2 && (rest[1] == '+' || rest[1] == '-') && digit(rest[2])
}

// digits reads digits, and points and underscores among them.
func (l *lexer) digits(digit func(byte) bool) {
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		if !digit(c) && c != '.' && (c != '_' || l.pos+1 == len(l.src) || !digit(l.src[l.pos+1])) {
			return
		}
		l.pos++
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

// syntaxError returns an error at offset pos of src.
func syntaxError(src string, pos int, format string, args ...any) error {
	line := 1 + strings.Count(src[:pos], "\n")
	column := 1 + utf8.RuneCountInString(src[strings.LastIndexByte(src[:pos], '\n')+1:pos])
	return errs.New(errs.InvalidSyntax, "syntax error at line %d, column %d: %s",
		line, column, fmt.Sprintf(format, args...))
}

// near returns the token at which a statement is faulty, for an error.
func near(src string, t token) string {
	if t.kind == eof {
		return "at the end of the statement"
	}
	s := src[t.from:t.to]
	if len(s) > 40 {
		s = strings.ToValidUTF8(s[:40], "") + "…"
	}
	return "near `" + s + "`"
}
