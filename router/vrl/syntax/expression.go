package syntax

import (
	"fmt"
	"slices"
	"strings"

	"cordwood/router/vrl/diag"
	"cordwood/router/vrl/value"
)

// expr parses an expression where any kind of expression is allowed.
func (p *parser) expr() Node {
	p.enter()
	defer func() { p.depth-- }()
	t := p.tok()
	start := t.span.Start
	if t.kind == ident && !p.keyword() {
		switch t.text {
		case "if":
			return p.ifExpr()
		case "abort":
			p.i++
			n := &Abort{}
			if !p.atEnd() {
				n.Message = p.coalesce()
			}
			n.At = p.since(start)
			return n
		case "return":
			p.i++
			if p.atEnd() {
				p.unexpected("the value to return")
			}
			v := p.expr()
			return &Return{p.since(start), v}
		}
	}
	return p.assignment()
}

// keyword reports whether the current word is an argument's name, as in `null: 1`.
func (p *parser) keyword() bool {
	t := &p.toks[min(p.i+1, len(p.toks)-1)]
	return t.kind == punct && t.text == ":"
}

// atEnd reports whether an expression ends before the current token.
func (p *parser) atEnd() bool {
	t := p.tok()
	return t.kind == newline || t.kind == eof || p.is(";") || p.is("}") || p.is(")") || p.is("]") || p.is(",")
}

// assignment parses an assignment, or an expression with operators.
func (p *parser) assignment() Node {
	start := p.tok().span.Start
	n := p.coalesce()
	a := &Assign{OK: n}
	if p.is(",") && isTarget(n) {
		p.i++
		a.Err = p.target()
		if !p.is("=") && !p.is("|=") {
			p.unexpected("= after the two targets")
		}
	}
	if !p.is("=") && !p.is("|=") {
		if _, ok := n.(*Noop); ok {
			p.unexpected("= after _")
		}
		return n
	}
	if !isTarget(n) {
		p.unexpected("an operator or the end of the expression")
	}
	a.Merge = p.is("|=")
	a.OpSpan = p.advance().span
	p.newlines()
	a.Value = p.expr()
	a.At = p.since(start)
	return a
}

func isTarget(n Node) bool {
	switch n := n.(type) {
	case *Noop, *Variable:
		return true
	case *Query:
		return n.Root != Result
	}
	return false
}

func (p *parser) target() Node {
	n := p.primary()
	if !isTarget(n) {
		p.throw(diag.New(641, "invalid assignment target", n.Span(),
			"only variables and paths of the event, the metadata or a variable can be assigned to"))
	}
	return n
}

// levels are the binary operators, loosest first.
var levels = [][]string{
	{"??"},
	{"||", "&&"},
	{"==", "!="},
	{">=", ">", "<=", "<"},
	{"|"},
	{"+", "-"},
	{"*", "/"},
}

const (
	equality   = 2
	comparison = 3
)

func (p *parser) coalesce() Node {
	p.enter()
	defer func() { p.depth-- }()
	return p.binary(0)
}

func (p *parser) binary(level int) Node {
	if level == len(levels) {
		return p.unary()
	}
	start := p.tok().span.Start
	n := p.binary(level + 1)
	for count := 0; ; count++ {
		t := p.tok()
		if t.kind != punct || !slices.Contains(levels[level], t.text) {
			return n
		}
		p.multi = false
		if count > 0 && (level == equality || level == comparison) {
			p.report(diag.New(650, "comparison operators can't be chained together", t.span,
				"put one of the comparisons in parentheses"))
		}
		if count > maxOperands {
			p.throw(diag.New(202, "expression too long", t.span,
				fmt.Sprintf("at most %d operators can follow each other", maxOperands)))
		}
		p.i++
		p.newlines()
		r := p.binary(level + 1)
		n = &Binary{At: p.since(start), Op: t.text, OpSpan: t.span, Left: n, Right: r}
	}
}

// maxOperands limits the length of chains of operators, which nest to the left.
const maxOperands = 2000

func (p *parser) unary() Node {
	var ops []diag.Span
	for p.is("!") {
		p.multi = false
		ops = append(ops, p.advance().span)
		if len(ops) > MaxDepth {
			p.unexpected("an operand")
		}
	}
	n := p.primary()
	for i := len(ops) - 1; i >= 0; i-- {
		n = &Not{p.since(ops[i].Start), ops[i], n}
	}
	return n
}

// primary parses an operand and an optional path after it.
func (p *parser) primary() Node {
	p.enter()
	defer func() { p.depth-- }()
	multi := p.multi
	p.multi = false
	t := p.tok()
	start := t.span.Start
	switch t.kind {
	case literal:
		p.i++
		return &Literal{At{t.span}, t.value}
	case text:
		p.i++
		return template(t)
	case ident:
		return p.word()
	case punct:
		switch t.text {
		case ".", "%":
			p.i++
			q := &Query{}
			if t.text == "%" {
				q.Root = Meta
			}
			p.firstSegment(q)
			return p.path(q, start)
		case "(":
			return p.suffix(p.group(multi), start)
		case "[":
			return p.suffix(p.array(), start)
		case "{":
			return p.suffix(p.braces(), start)
		}
	}
	p.unexpected("an expression")
	return nil
}

func template(t *token) Node {
	if len(t.parts) == 0 {
		return &Literal{At{t.span}, value.NewString("")}
	}
	for _, part := range t.parts {
		if part.IsName {
			return &Template{At{t.span}, t.parts}
		}
	}
	return &Literal{At{t.span}, value.NewString(t.parts[0].Text)}
}

// word parses an expression that starts with a name: a constant, a call or a variable.
func (p *parser) word() Node {
	t := p.tok()
	start := t.span.Start
	next := &p.toks[p.i+1]
	after := &p.toks[min(p.i+2, len(p.toks)-1)]
	touches := next.span.Start == t.span.End
	if touches && next.kind == punct && (next.text == "(" ||
		next.text == "!" && after.kind == punct && after.text == "(" && after.span.Start == next.span.End) {
		return p.suffix(p.call(), start)
	}
	switch t.text {
	case "null":
		p.i++
		return &Literal{At{t.span}, value.Value{}}
	case "true", "false":
		p.i++
		return &Literal{At{t.span}, value.NewBool(t.text == "true")}
	case "_":
		p.i++
		return &Noop{At{t.span}}
	}
	if keywords[t.text] {
		p.unexpected("an expression")
	}
	if reserved[t.text] {
		p.i++
		p.throw(diag.New(205, "reserved keyword", t.span, "this name is reserved for later use in the language").
			With(t.span, "use a different name instead"))
	}
	if strings.Contains(t.text, "@") {
		p.unexpected("a name without @, which only fields can have: ." + t.text)
	}
	p.i++
	return p.suffix(&Variable{At{t.span}, t.text}, start)
}
