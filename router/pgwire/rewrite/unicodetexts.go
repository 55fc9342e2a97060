package rewrite

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"cordwood/router/query/statement"
)

// unicodeText rewrites U&'d\0061ta', with or without UESCAPE: the engine has no such texts.
func (r *rewriter) unicodeText() bool {
	first, text := r.at(0), r.at(2)
	if !r.at(1).sym("&") || text.kind != statement.TokenText || r.at(1).at != first.at+1 || text.at != first.at+2 ||
		isMarker(text.val) {
		return false
	}
	escape, size := `\`, 3
	if mark := r.at(4); r.at(3).word("UESCAPE") && mark.kind == statement.TokenText {
		escape, size = mark.val, 5
		if len(escape) != 1 || strings.Contains(`+'" `, escape) || strings.Contains("0123456789abcdefABCDEF", escape) {
			r.err = &Error{State: "42601", Text: "invalid Unicode escape character", At: mark.at}
			return true
		}
	}
	decoded, bad := unescaped(text.val, escape[0])
	if bad >= 0 {
		r.err = &Error{
			State: "42601", At: text.at + 1 + bad,
			Text: "invalid Unicode escape in a text; escapes are " + escape + "XXXX and " + escape + "+XXXXXX",
		}
		return true
	}
	r.i += size
	r.push(tok{kind: statement.TokenText, pre: first.pre, text: quote(decoded), val: decoded, at: first.at})
	return true
}

// unescaped replaces the escapes of a text: four or, after +, six hexadecimal digits of a character. bad is the place
// of an invalid one, or -1.
func unescaped(text string, escape byte) (decoded string, bad int) {
	var b strings.Builder
	var high rune // the first half of a pair
	for i := 0; i < len(text); i++ {
		c := rune(-1)
		switch rest := text[i:]; {
		case rest[0] != escape:
		case len(rest) > 1 && rest[1] == escape:
			i++
		default:
			from, digits := 1, 4
			if len(rest) > 1 && rest[1] == '+' {
				from, digits = 2, 6
			}
			if len(rest) < from+digits {
				return "", i
			}
			n, err := strconv.ParseUint(rest[from:from+digits], 16, 32)
			if c = rune(n); err != nil || n == 0 || n > utf8.MaxRune {
				return "", i
			}
			i += from + digits - 1
		}
		switch {
		case high != 0:
			if c = utf16.DecodeRune(high, c); c == utf8.RuneError {
				return "", i
			}
			b.WriteRune(c)
			high = 0
		case c < 0:
			b.WriteByte(text[i])
		case utf16.IsSurrogate(c):
			high = c
		default:
			b.WriteRune(c)
		}
	}
	if high != 0 {
		return "", len(text)
	}
	return b.String(), -1
}
