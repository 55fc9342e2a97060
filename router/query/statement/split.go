package statement

import (
	"strings"

	"cordwood/proto/errs"
)

// maxStatements limits the statements of one text.
const maxStatements = 1000

// piece is one statement of a text: src[from:to], without its semicolon.
type piece struct{ from, to int }

// split splits src at semicolons outside quotes and comments. Pieces with only white space and comments are left
// out.
func split(src string) ([]piece, error) {
	l := lexer{src: src}
	var pieces []piece
	from, last := -1, 0
	for {
		t, err := l.next()
		if err != nil {
			return nil, err
		}
		end := t.kind == eof || t.sym(";")
		if end && from >= 0 {
			if len(pieces) == maxStatements {
				return nil, errs.New(errs.InvalidArguments,
					"the text has more than %d statements; send them in several requests", maxStatements)
			}
			pieces = append(pieces, piece{from, last})
			from = -1
		}
		if t.kind == eof {
			return pieces, nil
		}
		if !end {
			if from < 0 {
				from = t.from
			}
			last = t.to
		}
	}
}

// Cut returns the first statement of a text, without its semicolon, and the rest. Semicolons in quotes and comments
// do not end a statement. If there is no semicolon, complete is false, and the whole text is the statement. An
// unterminated quote or comment extends to the end of the text.
func Cut(text string) (statement, rest string, complete bool) {
	l := lexer{src: text}
	for {
		t := l.scan()
		if t.kind == eof {
			return text, "", false
		}
		if t.sym(";") {
			return text[:t.from], text[t.to:], true
		}
	}
}

// IsBlank reports whether a statement has only white space and comments.
func IsBlank(statement string) bool {
	l := lexer{src: statement}
	for {
		switch t := l.scan(); {
		case t.kind == eof:
			return true
		case t.kind == unknown && strings.HasPrefix(statement[t.from:], "/*"):
			// a comment that does not end yet
		case t.kind != comment:
			return false
		}
	}
}
