package syntax

import (
	"fmt"
	"slices"

	"cordwood/router/vrl/diag"
)

// MaxSource limits the length of a program in bytes, and MaxDepth the nesting.
const (
	MaxSource = 1 << 20
	MaxDepth  = 600
)

// Parse parses a program. The nodes are its root expressions. If there are diagnostics, the program must not be
// run.
func Parse(source string) ([]Node, []*diag.Diagnostic) {
	var list []*diag.Diagnostic
	if len(source) > MaxSource {
		d := diag.New(202, "program too long", diag.Span{},
			fmt.Sprintf("the program has %d bytes; at most %d are allowed", len(source), MaxSource))
		return nil, []*diag.Diagnostic{d}
	}
	report := func(d *diag.Diagnostic) { list = append(list, d) }
	l := &lexer{src: source, report: report}
	p := &parser{src: source, toks: l.run(), report: report}
	nodes := p.program()
	slices.SortStableFunc(list, func(a, b *diag.Diagnostic) int { return a.Labels[0].Span.Start - b.Labels[0].Span.Start })
	return nodes, list
}

type parser struct {
	src    string
	toks   []token
	i      int
	depth  int
	report func(*diag.Diagnostic)
	// multi allows the next group to contain several expressions, because it starts a predicate.
	multi bool
}

// syntaxError unwinds the parser to the current root expression.
type syntaxError struct{}

func (p *parser) tok() *token { return &p.toks[p.i] }

func (p *parser) is(s string) bool { t := p.tok(); return t.kind == punct && t.text == s }

func (p *parser) isWord(s string) bool { t := p.tok(); return t.kind == ident && t.text == s }

// adjacent reports whether the current token directly follows the previous one.
func (p *parser) adjacent() bool {
	return p.i > 0 && p.toks[p.i-1].span.End == p.tok().span.Start
}

func (p *parser) advance() *token {
	t := p.tok()
	if t.kind != eof {
		p.i++
	}
	return t
}

func (p *parser) accept(s string) bool {
	if p.is(s) {
		p.i++
		return true
	}
	return false
}

func (p *parser) newlines() {
	for p.tok().kind == newline {
		p.i++
	}
}

func (p *parser) end() int {
	if p.i == 0 {
		return 0
	}
	return p.toks[p.i-1].span.End
}

func (p *parser) since(start int) At { return At{diag.Span{Start: start, End: p.end()}} }

func (p *parser) throw(d *diag.Diagnostic) {
	if d != nil {
		p.report(d)
	}
	panic(syntaxError{})
}

// unexpected reports the current token.
func (p *parser) unexpected(want string) {
	t := p.tok()
	switch t.kind {
	case invalid:
		p.throw(nil)
	case eof:
		p.throw(diag.New(204, "unexpected end of program", diag.Span{Start: max(t.span.Start-1, 0), End: t.span.End},
			"expected "+want))
	}
	d := diag.New(203, "syntax error", t.span, "unexpected "+p.describe(t)).With(t.span, "expected "+want)
	switch {
	case t.kind == literal && p.src[t.span.Start] == '-':
		d.Note("a minus sign before a digit belongs to the number: write `a - %s` with a space between", p.src[t.span.Start+
			1:t.span.End])
	case p.is("="):
		d.Note("only variables and paths can be assigned to; two values are compared with ==")
	case t.kind == ident && (t.text == "if" || t.text == "abort" || t.text == "return"):
		d.Note("%s cannot be an operand or argument; put it in a block: { %s … }", t.text, t.text)
	case p.is("%") || p.is("&"):
		d.Note("there is no operator %s%s", t.text, map[string]string{"%": "; use mod(a, b)", "&": "; use &&"}[t.text])
	}
	p.throw(d)
}

func (p *parser) describe(t *token) string {
	switch t.kind {
	case newline:
		return "end of the line"
	case literal, text:
		return "literal"
	}
	return fmt.Sprintf("%q", t.text)
}

func (p *parser) expect(s, want string) {
	if !p.accept(s) {
		p.unexpected(want)
	}
}

func (p *parser) program() []Node {
	var nodes []Node
	for {
		p.newlines()
		if p.tok().kind == eof {
			return nodes
		}
		if n := p.root(); n != nil {
			nodes = append(nodes, n)
		}
	}
}

// root parses a root expression, or skips it if it has an error.
func (p *parser) root() (n Node) {
	start := p.i
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(syntaxError); !ok {
				panic(r)
			}
			p.depth, p.multi = 0, false
			p.skipRoot(start)
			n = nil
		}
	}()
	n = p.expr()
	p.separator()
	return n
}

// separator parses the separator between expressions.
func (p *parser) separator() {
	switch t := p.tok(); {
	case t.kind == newline, p.is(";"):
		p.i++
		p.newlines()
		for p.is(";") {
			p.i++
			p.newlines()
		}
	case t.kind == eof, p.is("}"), p.is(")"):
		if t.kind != eof && p.depth == 0 {
			p.unexpected("a new line or ; before the next expression")
		}
	default:
		p.unexpected("a new line or ; before the next expression")
	}
}

// skipRoot skips to the next expression at the root.
func (p *parser) skipRoot(from int) {
	depth := 0
	for i := from; i < len(p.toks); i++ {
		t := &p.toks[i]
		if i > p.i && depth <= 0 && t.kind == newline || t.kind == eof {
			p.i = max(i, p.i)
			return
		}
		if t.kind == punct {
			switch t.text {
			case "(", "[", "{":
				depth++
			case ")", "]", "}":
				depth--
			}
		}
	}
}

func (p *parser) enter() {
	if p.depth++; p.depth > MaxDepth {
		p.throw(diag.New(202, "program nested too deeply", p.tok().span,
			fmt.Sprintf("expressions can be nested %d deep", MaxDepth)))
	}
}
