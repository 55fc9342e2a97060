package statement

import "cordwood/proto/errs"

// maxStatements bounds how many statements one text may hold.
const maxStatements = 1000

// piece is one statement of a text: src[from:to], without its semicolon.
type piece struct{ from, to int }

// split cuts src at the semicolons that stand outside quotes and comments. Pieces
// of nothing but space and comments are left out.
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
				return nil, errs.New(errs.InvalidArguments, "the text holds more than %d statements; send them in several requests", maxStatements)
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
