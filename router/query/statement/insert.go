package statement

import (
	"encoding/hex"
	"strings"

	"cordwood/proto/errs"
)

// maxInsertValues limits the number of values of one INSERT, which are parsed one by one.
const maxInsertValues = 1_000_000

// maxExpressions limits the number of values of one INSERT that the engine evaluates.
const maxExpressions = 1_000

// insert parses INTO t … VALUES … and INTO t … SELECT …. from is the offset of the statement.
func (p *parser) insert(from int) Statement {
	if p.tok.is("OR") || p.tok.is("OVERWRITE") || p.tok.is("IGNORE") {
		p.refuse("INSERT %s is not available; use INSERT INTO", p.tok.val)
	}
	p.expect("INTO")
	s := &Insert{Name: p.tableName()}
	if p.accept("AS") {
		s.Alias = p.name("another name for the table")
	}
	if p.tok.sym("(") && !p.atQuery() {
		s.Columns = p.names("a column name")
	}
	switch {
	case p.err != nil:
		return nil
	case p.tok.is("BY"):
		p.refuse("INSERT … BY NAME is not available; list the columns after the name of the table")
		return nil
	case p.atQuery():
		s.QueryAt = p.tok.from - from
		s.Query = p.insertQuery()
	case s.Columns == nil && p.accept("DEFAULT", "VALUES"):
		s.Columns, s.Values = []string{}, [][]Literal{nil}
	default:
		p.expect("VALUES")
		s.Values, s.Expressions = p.rows(len(s.Columns), from)
	}
	if p.accept("ON") {
		s.Conflict = p.conflict()
	}
	if p.accept("RETURNING") {
		s.Returning = p.returning()
		s.ReturningAt = p.prev.from - from
	}
	p.done()
	return s
}

// queryWords begin the query of an INSERT.
var queryWords = map[string]bool{"SELECT": true, "WITH": true, "FROM": true, "TABLE": true}

// atQuery reports whether the query of an INSERT begins at tok. It may be in parentheses.
func (p *parser) atQuery() bool {
	if p.tok.sym("(") {
		next := p.peek()
		return next.sym("(") || next.kind == word && (queryWords[strings.ToUpper(next.val)] || next.is("VALUES"))
	}
	return p.tok.kind == word && queryWords[strings.ToUpper(p.tok.val)]
}

// insertQuery reads the query of an INSERT up to ON CONFLICT, RETURNING or the end, and returns its text.
func (p *parser) insertQuery() string {
	from, to := p.tok.from, p.tok.to
	for depth := 0; p.err == nil && p.tok.kind != eof; p.advance() {
		switch {
		case p.tok.sym("("), p.tok.sym("["), p.tok.sym("{"):
			depth++
		case p.tok.sym(")"), p.tok.sym("]"), p.tok.sym("}"):
			depth--
		case depth == 0 && (p.tok.is("RETURNING") || p.atConflict()):
			return p.src[from:to]
		}
		to = p.tok.to
	}
	return p.src[from:to]
}

// atConflict reports whether the clause ON CONFLICT begins at tok. A join may have a condition ON conflict.
func (p *parser) atConflict() bool {
	if !p.tok.is("ON") || !p.peek().is("CONFLICT") {
		return false
	}
	l := p.lex
	if _, err := l.next(); err != nil {
		return false
	}
	t, err := l.next()
	return err == nil && (t.is("DO") || t.is("ON") || t.sym("("))
}

// rows parses (value, …), …. Each row must have as many values as there are columns; 0 means as many as the first
// row. from is the offset of the statement.
func (p *parser) rows(columns, from int) (rows [][]Literal, computed []Expression) {
	total := 0
	for p.err == nil {
		at := p.tok
		row, some := p.row()
		for _, e := range some {
			e.Row, e.At = len(rows), e.At-from
			computed = append(computed, e)
		}
		if len(computed) > maxExpressions {
			p.stop(errs.New(errs.InvalidArguments, "INSERT has more than %d values that are not literals; use "+
				"INSERT … SELECT, or send the values", maxExpressions))
		}
		if p.err != nil {
			return nil, nil
		}
		if columns == 0 {
			columns = len(row)
		}
		if len(row) != columns {
			p.stop(errs.New(errs.InvalidArguments, "INSERT: row %d has %d values for %d columns (%s)",
				len(rows)+1, len(row), columns, near(p.src, at)))
			return nil, nil
		}
		if total += len(row); total > maxInsertValues {
			p.stop(errs.New(errs.InvalidArguments, "INSERT has more than %d values; send rows in bulk to /v1/ingest",
				maxInsertValues))
			return nil, nil
		}
		rows = append(rows, row)
		if !p.acceptSym(",") || p.tok.kind == eof {
			break
		}
	}
	return rows, computed
}

// row parses (value, …).
func (p *parser) row() (row []Literal, computed []Expression) {
	p.expectSym("(")
	for p.err == nil {
		at := p.tok.from
		l := p.value()
		if l.Kind == Computed {
			computed = append(computed, Expression{Index: len(row), Text: l.Text, At: at})
			l.Text = ""
		}
		row = append(row, l)
		if p.acceptSym(")") {
			break
		}
		if !p.acceptSym(",") {
			p.expected("`,` or `)`")
		}
	}
	return row, computed
}

// value parses a literal or an expression, which ends at the next comma or closing parenthesis.
func (p *parser) value() Literal {
	begin := *p
	l := p.literal()
	if p.err == nil && (p.tok.sym(",") || p.tok.sym(")")) {
		return l
	}
	failed := *p
	if begin.tok.is("X") && begin.peek().kind == text {
		return l
	}
	*p = begin
	from, to, depth := p.tok.from, p.tok.from, 0
	for ; p.err == nil && p.tok.kind != eof; p.advance() {
		switch {
		case p.tok.sym("("), p.tok.sym("["), p.tok.sym("{"):
			depth++
		case depth == 0 && to > from && (p.tok.sym(",") || p.tok.sym(")")):
			return Literal{Kind: Computed, Text: p.src[from:to]}
		case depth == 0 && p.tok.sym(","), p.tok.sym(";"):
			*p = failed
			return l
		case p.tok.sym(")"), p.tok.sym("]"), p.tok.sym("}"):
			depth--
		}
		if to = p.tok.to; depth < 0 {
			break
		}
	}
	*p = failed
	return l
}

// literal parses a value. A type before or after a text, as in TIMESTAMP '…' and '…'::timestamp, is accepted and
// ignored, because the column determines the type.
func (p *parser) literal() Literal {
	l := p.bareLiteral()
	for p.err == nil && p.acceptSym("::") {
		p.columnType()
	}
	return l
}

func (p *parser) bareLiteral() Literal {
	switch {
	case p.tok.kind == text:
		l := Literal{Kind: Text, Text: p.tok.val}
		p.advance()
		return l
	case p.tok.kind == number:
		l := Literal{Kind: Number, Text: p.tok.val}
		p.advance()
		return l
	case p.tok.sym("-"), p.tok.sym("+"):
		sign := ""
		if p.tok.sym("-") {
			sign = "-"
		}
		p.advance()
		if p.tok.kind != number {
			p.expected("a number")
			return Literal{}
		}
		l := Literal{Kind: Number, Text: sign + p.tok.val}
		p.advance()
		return l
	case p.accept("NULL"):
		return Literal{}
	case p.accept("TRUE"):
		return Literal{Kind: Bool, Text: "true"}
	case p.accept("FALSE"):
		return Literal{Kind: Bool, Text: "false"}
	case p.accept("DEFAULT"):
		return Literal{Kind: Default}
	case p.accept("NOW"), p.accept("CURRENT_TIMESTAMP"):
		if p.acceptSym("(") {
			p.expectSym(")")
		}
		return Literal{Kind: Now}
	case p.tok.kind == word && p.peek().kind == text:
		return p.typedLiteral()
	}
	p.expected("a value: a literal or an expression")
	return Literal{}
}

// typedLiteral parses x'00ff', or TYPE 'text'.
func (p *parser) typedLiteral() Literal {
	at := p.tok
	p.advance()
	val := p.textLiteral("a quoted text")
	switch {
	case at.is("X"):
		b, err := hex.DecodeString(val)
		if err != nil {
			p.stop(syntaxError(p.src, at.from, "x'…' must contain pairs of hexadecimal digits, not %s", near(p.src, p.prev)))
		}
		return Literal{Kind: Bytes, Text: string(b)}
	case at.is("TIMESTAMP"), at.is("TIMESTAMPTZ"), at.is("DATE"), at.is("DATETIME"), at.is("JSON"), at.is("VARCHAR"),
		at.is("STRING"):
		return Literal{Kind: Text, Text: val}
	}
	p.stop(syntaxError(p.src, at.from, "expected a literal value %s", near(p.src, at)))
	return Literal{}
}

// ParseLiteral parses a single literal, such as the stored text of a DEFAULT.
func ParseLiteral(src string) (Literal, error) {
	p := &parser{cursor{src: src, end: len(src), lex: lexer{src: src}}}
	p.advance()
	l := p.literal()
	p.done()
	return l, p.err
}
