package statement

import (
	"strconv"
	"strings"

	"cordwood/proto/errs"
)

// cursor reads the tokens of one statement, and parses common parts: names, lists, literals, options. After the
// first error every method does nothing, and tok is the end.
type cursor struct {
	src  string
	end  int
	lex  lexer
	tok  token
	prev token
	err  error
	// secret is set from a password on: what follows may be a part of it, so errors do not repeat it.
	secret bool
}

func (p *cursor) advance() {
	p.prev = p.tok
	t, err := p.lex.next()
	if err != nil {
		p.stop(err)
		return
	}
	p.tok = t
}

func (p *cursor) stop(err error) {
	if p.err == nil {
		p.err = err
	}
	p.lex.pos = len(p.lex.src)
	p.tok = token{kind: eof, from: p.end, to: p.end}
}

// expected reports an error that says what was expected at tok.
func (p *cursor) expected(what string) {
	where := near(p.src, p.tok)
	if p.secret && p.tok.kind != eof {
		where = "near '…'"
	}
	p.stop(syntaxError(p.src, p.tok.from, "expected %s %s", what, where))
}

// accept consumes the keywords if all of them follow.
func (p *cursor) accept(keywords ...string) bool {
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

func (p *cursor) acceptSym(s string) bool {
	if !p.tok.sym(s) {
		return false
	}
	p.advance()
	return p.err == nil
}

func (p *cursor) expect(keywords ...string) {
	if !p.accept(keywords...) {
		p.expected(strings.Join(keywords, " "))
	}
}

func (p *cursor) expectSym(s string) {
	if !p.acceptSym(s) {
		p.expected("`" + s + "`")
	}
}

// done requires the end of the statement.
func (p *cursor) done() {
	if p.err == nil && p.tok.kind != eof {
		p.expected("the end of the statement")
	}
}

// refuse stops because the statement is understood but must not be run.
func (p *cursor) refuse(format string, args ...any) {
	p.stop(errs.New(errs.Unsupported, format, args...))
}

// name parses one name.
func (p *cursor) name(what string) string {
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

// catalog is the only catalog that may qualify names.
const catalog = "svc"

// tableName reads [[catalog.]database.]table.
func (p *cursor) tableName() Name {
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
		p.stop(syntaxError(p.src, at.from, "a table name has the form `table` or `database.table`, not %s",
			near(p.src, token{kind: word, from: at.from, to: p.prev.to})))
	}
	return Name{}
}

// names parses (a, b, …).
func (p *cursor) names(what string) []string {
	p.expectSym("(")
	return p.namesAfterParenthesis(what)
}

// namesAfterParenthesis is names after the opening parenthesis has been consumed.
func (p *cursor) namesAfterParenthesis(what string) (names []string) {
	p.list(func() { names = append(names, p.name(what)) })
	return names
}

// list parses elements up to the closing parenthesis.
func (p *cursor) list(element func()) {
	for p.err == nil {
		element()
		if p.acceptSym(")") {
			break
		}
		if !p.acceptSym(",") {
			p.expected("`,` or `)`")
		}
	}
}

// textLiteral parses 'text'.
func (p *cursor) textLiteral(what string) string {
	if p.tok.kind != text {
		p.expected(what)
		return ""
	}
	val := p.tok.val
	p.advance()
	return val
}

func (p *cursor) like() *string {
	if !p.accept("LIKE") {
		return nil
	}
	pattern := p.textLiteral("a quoted pattern after LIKE")
	return &pattern
}

// page parses LIMIT n and OFFSET n, in either order.
func (p *cursor) page() (page Page) {
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

func (p *cursor) wholeNumber(after string) uint64 {
	n, err := strconv.ParseUint(p.tok.val, 10, 63)
	if p.tok.kind != number || err != nil {
		p.expected("a whole number of rows after " + after)
		return 0
	}
	p.advance()
	return n
}

func (p *cursor) ifNotExists() bool { return p.accept("IF", "NOT", "EXISTS") }

func (p *cursor) ifExists() bool { return p.accept("IF", "EXISTS") }

// peek returns the token after tok.
func (p *cursor) peek() token {
	l := p.lex
	t, err := l.next()
	if err != nil {
		return token{kind: eof}
	}
	return t
}

// options parses ('k'='v', k=v, …).
func (p *cursor) options() []Option {
	options := []Option{}
	p.expectSym("(")
	if p.acceptSym(")") {
		return options
	}
	p.list(func() { options = append(options, p.option()) })
	return options
}

func (p *cursor) optionKey() string {
	switch p.tok.kind {
	case text:
		return p.textLiteral("an option name")
	default:
		return p.name("an option name")
	}
}

// option parses k = v, where v may be quoted or not.
func (p *cursor) option() Option {
	o := Option{Key: p.optionKey()}
	p.expectSym("=")
	switch p.tok.kind {
	case text, quoted, word, number:
		o.Value = p.tok.val
		p.advance()
	default:
		p.expected("the value of the option")
	}
	return o
}

// optionKeys parses k, …
func (p *cursor) optionKeys() (list []string) {
	for p.err == nil {
		list = append(list, p.optionKey())
		if !p.acceptSym(",") {
			break
		}
	}
	return list
}

// changes parses k=v, … of SET. NULL as a value unsets the option. One statement either sets or unsets.
func (p *cursor) changes() (set []Option, unset []string) {
	for p.err == nil {
		o := p.option()
		if p.prev.is("NULL") {
			unset = append(unset, o.Key)
		} else {
			set = append(set, o)
		}
		if !p.acceptSym(",") {
			break
		}
	}
	if set != nil && unset != nil {
		p.refuse("SET of some options and NULL for others is not available in one statement; send a statement for each")
	}
	return set, unset
}
