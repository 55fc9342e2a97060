package statement

import "strings"

// beforeSecrets are the words and names of options before the secrets of a statement.
var beforeSecrets = map[string]bool{
	"PASSWORD": true, "OLD": true, "SECRET": true, "TOKEN": true, "ACCESS_KEY": true, "SECRET_KEY": true,
}

// HideSecrets returns a statement, or the beginning of one, whose passwords and other secrets are replaced by '…'. It
// sees the same texts and comments as the parser.
func HideSecrets(src string) string {
	var out strings.Builder
	l, kept, hides := lexer{src: src}, 0, false
	for {
		t := l.scan()
		switch {
		case t.kind == eof:
			out.WriteString(src[kept:])
			return out.String()
		case t.kind == comment, hides && t.sym("="):
			continue
		case hides && (t.kind == text || t.kind == unknown):
			out.WriteString(src[kept:t.from] + "'…'")
			kept = t.to
		}
		hides = t.kind <= text && beforeSecrets[strings.ToUpper(t.val)]
	}
}

// WithoutComments returns a statement without its comments, and with one space for each gap between its words. It
// returns at least the first most bytes of the result, if there are as many.
func WithoutComments(src string, most int) string {
	var out strings.Builder
	l, end := lexer{src: src}, 0
	for out.Len() <= most {
		t := l.scan()
		switch t.kind {
		case eof:
			return out.String()
		case comment:
			continue
		}
		if out.Len() > 0 && t.from > end {
			out.WriteByte(' ')
		}
		out.WriteString(src[t.from:t.to])
		end = t.to
	}
	return out.String()
}
