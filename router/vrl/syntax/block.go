package syntax

import (
	"cordwood/router/vrl/diag"
)

// group parses ( … ). If multi is set, it may be a whole predicate with several expressions, and the result is then
// a Block.
func (p *parser) group(multi bool) Node {
	start := p.advance().span.Start
	p.newlines()
	n := p.noControl(p.expr())
	if multi && (p.is(";") || p.tok().kind == newline) {
		body := []Node{n}
		for p.separator(); !p.is(")"); p.separator() {
			body = append(body, p.expr())
		}
		p.i++
		if len(body) > 1 {
			return &Block{p.since(start), body}
		}
		return &Group{p.since(start), n}
	}
	p.newlines()
	p.expect(")", ") at the end of the group")
	return &Group{p.since(start), n}
}

// noControl refuses expressions that must not be in parentheses.
func (p *parser) noControl(n Node) Node {
	switch n.(type) {
	case *If, *Abort, *Return:
		p.throw(diag.New(203, "syntax error", n.Span(), "if, abort and return cannot stand in parentheses").
			Note("put it in a block: { … }"))
	}
	return n
}

// list parses the elements between brackets, separated by commas.
func (p *parser) list(closing string, element func()) {
	p.advance()
	for {
		p.newlines()
		if p.accept(closing) {
			return
		}
		element()
		p.newlines()
		if !p.accept(",") {
			p.expect(closing, "a comma or "+closing)
			return
		}
	}
}

func (p *parser) array() Node {
	start := p.tok().span.Start
	n := &Array{}
	p.list("]", func() { n.Items = append(n.Items, p.coalesce()) })
	n.At = p.since(start)
	return n
}

// braces parses an object or a block.
func (p *parser) braces() Node {
	i := p.i + 1
	for p.toks[i].kind == newline {
		i++
	}
	if t := &p.toks[i]; t.kind == punct && t.text == "}" {
		return p.object()
	} else if t.kind == text {
		for i++; p.toks[i].kind == newline; i++ {
		}
		if t := &p.toks[i]; t.kind == punct && t.text == ":" {
			return p.object()
		}
	}
	return p.block()
}

func (p *parser) object() Node {
	start := p.tok().span.Start
	n := &Object{}
	p.list("}", func() {
		t := p.tok()
		if t.kind != text {
			p.unexpected("a key in quotes")
		}
		p.i++
		key := ""
		if lit, ok := template(t).(*Literal); ok {
			key = lit.Value.Str()
		} else {
			p.throw(diag.New(203, "syntax error", t.span, "keys of object literals cannot hold variables").
				Note("use set({}, [key], value) for a key that is computed"))
		}
		p.newlines()
		p.expect(":", ": after the key")
		p.newlines()
		n.Keys = append(n.Keys, key)
		n.Values = append(n.Values, p.coalesce())
	})
	n.At = p.since(start)
	return n
}

func (p *parser) block() *Block {
	if !p.is("{") {
		p.unexpected("{")
	}
	p.enter()
	defer func() { p.depth-- }()
	start := p.advance().span.Start
	n := &Block{}
	p.newlines()
	for !p.is("}") {
		n.Body = append(n.Body, p.expr())
		p.separator()
		if p.tok().kind == eof {
			p.unexpected("} at the end of the block")
		}
	}
	p.i++
	if n.At = p.since(start); len(n.Body) == 0 {
		p.throw(diag.New(203, "syntax error", n.Place, "a block needs at least one expression").
			Note("use { null } for a block that does nothing"))
	}
	return n
}

func (p *parser) ifExpr() Node {
	p.enter()
	defer func() { p.depth-- }()
	start := p.advance().span.Start
	p.newlines()
	n := &If{}
	p.multi = true
	from := p.tok().span.Start
	cond := p.coalesce()
	p.multi = false
	n.CondSpan = diag.Span{Start: from, End: p.end()}
	switch c := cond.(type) {
	case *Block:
		n.Cond = c.Body
		if p.src[from] == '{' {
			n.Cond = []Node{c}
		}
	default:
		n.Cond = []Node{cond}
	}
	p.newlinesBefore("{")
	n.Then = p.block()
	save := p.i
	p.newlines()
	if !p.isWord("else") {
		p.i = save
		n.At = p.since(start)
		return n
	}
	p.i++
	p.newlines()
	if p.isWord("if") {
		n.Else = p.ifExpr()
	} else {
		n.Else = p.block()
	}
	n.At = p.since(start)
	return n
}

// newlinesBefore skips newlines if the given token follows them.
func (p *parser) newlinesBefore(s string) {
	save := p.i
	p.newlines()
	if !p.is(s) {
		p.i = save
	}
}

func (p *parser) call() Node {
	t := p.advance()
	n := &Call{Name: t.text, NameSpan: t.span}
	if p.is("!") {
		n.Bang, n.BangSpan = true, p.advance().span
	}
	p.list(")", func() {
		a := Arg{}
		if k := p.tok(); k.kind == ident && p.keyword() {
			a.Name, a.NameSpan = k.text, k.span
			p.i += 2
			p.newlines()
		}
		a.Value = p.coalesce()
		n.Args = append(n.Args, a)
	})
	if p.is("->") {
		n.Closure = p.closure()
	}
	n.At = p.since(t.span.Start)
	return n
}

func (p *parser) closure() *Closure {
	start := p.advance().span.Start
	p.newlines()
	c := &Closure{}
	if !p.accept("||") {
		p.expect("|", "the closure's parameters between | and |")
		for p.newlines(); !p.accept("|"); p.newlines() {
			t := p.tok()
			if t.kind != ident || keywords[t.text] {
				p.unexpected("the name of a parameter")
			}
			if reserved[t.text] {
				p.throw(diag.New(205, "reserved keyword", t.span, "this name is reserved for later use in the language"))
			}
			p.i++
			c.Params = append(c.Params, Param{t.text, t.span})
			p.newlines()
			if !p.is("|") {
				p.expect(",", "a comma or |")
			}
		}
	}
	p.newlines()
	c.Body = p.block()
	c.Span = diag.Span{Start: start, End: p.end()}
	return c
}
