package statement

import (
	"cordwood/proto/errs"
)

// Parse parses all statements of src. It returns nothing unless all of them are well formed, as far as this package
// can check. The engine parses its own statements. A text with only white space and comments is an error.
func Parse(src string) ([]Statement, error) {
	pieces, err := split(src)
	if err != nil {
		return nil, err
	}
	if len(pieces) == 0 {
		return nil, errs.New(errs.InvalidSyntax, "the SQL text is empty: it contains no statement")
	}
	statements := make([]Statement, len(pieces))
	for i, p := range pieces {
		ps := &parser{cursor{src: src, end: p.to, lex: lexer{src: src[:p.to], pos: p.from}}}
		ps.advance()
		s := ps.statement(p)
		if ps.err != nil {
			return nil, ps.err
		}
		statements[i] = s
	}
	return statements, nil
}

// Texts returns the text of each statement of src, which Parse has accepted.
func Texts(src string) []string {
	pieces, err := split(src)
	if err != nil {
		return nil
	}
	texts := make([]string, len(pieces))
	for i, p := range pieces {
		texts[i] = src[p.from:p.to]
	}
	return texts
}

// parser reads one statement by recursive descent: a method for each statement, and for the clauses that only
// one has.
type parser struct{ cursor }
