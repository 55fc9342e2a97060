package statement

import (
	"strconv"
	"strings"

	"cordwood/proto/errs"
)

// Parse reads every statement of src. Nothing is returned unless all of them are
// well formed, as far as it can be told here: the engine parses its own.
// A text of nothing but space and comments is an error.
func Parse(src string) ([]Statement, error) {
	pieces, err := split(src)
	if err != nil {
		return nil, err
	}
	if len(pieces) == 0 {
		return nil, errs.New(errs.InvalidSyntax, "the SQL text is empty: it holds no statement")
	}
	statements := make([]Statement, len(pieces))
	for i, p := range pieces {
		ps := &parser{src: src, end: p.to, lex: lexer{src: src[:p.to], pos: p.from}}
		ps.advance()
		s := ps.statement(p)
		if ps.err != nil {
			return nil, ps.err
		}
		statements[i] = s
	}
	return statements, nil
}

// Texts returns the text of each statement of src, which Parse has read.
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

// parser reads one statement by recursive descent. The first error sticks: after
// it every method does nothing and tok is the end.
type parser struct {
	src  string
	end  int
	lex  lexer
	tok  token
	prev token
	err  error
}

func (p *parser) advance() {
	p.prev = p.tok
	t, err := p.lex.next()
	if err != nil {
		p.stop(err)
		return
	}
	p.tok = t
}

func (p *parser) stop(err error) {
	if p.err == nil {
		p.err = err
	}
	p.lex.pos = len(p.lex.src)
	p.tok = token{kind: eof, from: p.end, to: p.end}
}

// expected stops with an error that names what should stand where tok is.
func (p *parser) expected(what string) {
	p.stop(syntaxError(p.src, p.tok.from, "expected %s %s", what, near(p.src, p.tok)))
}

// accept takes the keywords, if they all follow one another here.
func (p *parser) accept(keywords ...string) bool {
	save := *p
	for _, kw := range keywords {
		if !p.tok.is(kw) {
			*p = save
			return false
		}
		p.advance()
		if p.err != nil {
			return false
		}
	}
	return true
}

func (p *parser) acceptSym(s string) bool {
	if !p.tok.sym(s) {
		return false
	}
	p.advance()
	return p.err == nil
}

func (p *parser) expect(keywords ...string) {
	if !p.accept(keywords...) {
		p.expected(strings.Join(keywords, " "))
	}
}

func (p *parser) expectSym(s string) {
	if !p.acceptSym(s) {
		p.expected("`" + s + "`")
	}
}

// done requires the end of the statement.
func (p *parser) done() {
	if p.err == nil && p.tok.kind != eof {
		p.expected("the end of the statement")
	}
}

// refuse stops because the statement is understood but not to be run.
func (p *parser) refuse(format string, args ...any) {
	p.stop(errs.New(errs.Unsupported, format, args...))
}

// name reads one name.
func (p *parser) name(what string) string {
	if p.tok.kind != word && p.tok.kind != quoted {
		p.expected(what)
		return ""
	}
	if p.tok.val == "" {
		p.stop(syntaxError(p.src, p.tok.from, "%s is empty", what))
		return ""
	}
	val := p.tok.val
	p.advance()
	return val
}

// catalog is the one catalog that names may be qualified with.
const catalog = "svc"

// tableName reads [[catalog.]database.]table.
func (p *parser) tableName() Name {
	at := p.tok
	parts := []string{p.name("a table name")}
	for p.err == nil && p.acceptSym(".") {
		parts = append(parts, p.name("a name after `.`"))
	}
	switch {
	case p.err != nil:
	case len(parts) == 1:
		return Name{Table: parts[0]}
	case len(parts) == 2:
		return Name{Database: parts[0], Table: parts[1]}
	case len(parts) == 3 && parts[0] == catalog:
		return Name{Database: parts[1], Table: parts[2]}
	default:
		p.stop(syntaxError(p.src, at.from, "a table is named as `table` or `database.table`, not %s",
			near(p.src, token{kind: word, from: at.from, to: p.prev.to})))
	}
	return Name{}
}

// names reads (a, b, …).
func (p *parser) names(what string) []string {
	var names []string
	p.expectSym("(")
	for p.err == nil {
		names = append(names, p.name(what))
		if p.acceptSym(")") {
			break
		}
		if !p.acceptSym(",") {
			p.expected("`,` or `)`")
		}
	}
	return names
}

// textLiteral reads 'text'.
func (p *parser) textLiteral(what string) string {
	if p.tok.kind != text {
		p.expected(what)
		return ""
	}
	val := p.tok.val
	p.advance()
	return val
}

func (p *parser) like() *string {
	if !p.accept("LIKE") {
		return nil
	}
	pattern := p.textLiteral("a quoted pattern after LIKE")
	return &pattern
}

// page reads LIMIT n and OFFSET n, in either order.
func (p *parser) page() (page Page) {
	for range 2 {
		switch {
		case !page.Limited && p.accept("LIMIT"):
			page.Limit, page.Limited = p.wholeNumber("LIMIT"), true
		case p.accept("OFFSET"):
			page.Offset = p.wholeNumber("OFFSET")
		}
	}
	return page
}

func (p *parser) wholeNumber(after string) uint64 {
	n, err := strconv.ParseUint(p.tok.val, 10, 63)
	if p.tok.kind != number || err != nil {
		p.expected("a whole number of rows after " + after)
		return 0
	}
	p.advance()
	return n
}

func (p *parser) ifNotExists() bool { return p.accept("IF", "NOT", "EXISTS") }

func (p *parser) ifExists() bool { return p.accept("IF", "EXISTS") }
