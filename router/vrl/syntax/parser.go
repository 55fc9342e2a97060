package syntax

import (
	"fmt"
	"slices"
	"strings"

	"cordwood/router/vrl/diag"
	"cordwood/router/vrl/value"
)

// MaxSource is the longest program accepted, in bytes, and MaxDepth the deepest nesting.
const (
	MaxSource = 1 << 20
	MaxDepth  = 600
)

// Parse reads a program. The nodes are its root expressions. If there are diagnostics the
// program is not to be run.
func Parse(source string) ([]Node, []*diag.Diagnostic) {
	var list []*diag.Diagnostic
	if len(source) > MaxSource {
		d := diag.New(202, "program too long", diag.Span{}, fmt.Sprintf("the program has %d bytes; at most %d are allowed", len(source), MaxSource))
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
	// multi allows the next group to hold several expressions: it starts a predicate.
	multi bool
}

// syntaxError unwinds to the root expression that it is in.
type syntaxError struct{}

func (p *parser) tok() *token { return &p.toks[p.i] }

func (p *parser) is(s string) bool { t := p.tok(); return t.kind == punct && t.text == s }

func (p *parser) isWord(s string) bool { t := p.tok(); return t.kind == ident && t.text == s }

// adjacent tells whether the current token follows the one before directly.
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
		p.throw(diag.New(204, "unexpected end of program", diag.Span{Start: max(t.span.Start-1, 0), End: t.span.End}, "expected "+want))
	}
	d := diag.New(203, "syntax error", t.span, "unexpected "+p.describe(t)).With(t.span, "expected "+want)
	switch {
	case t.kind == literal && p.src[t.span.Start] == '-':
		d.Note("a minus sign before a digit belongs to the number: write `a - %s` with a space between", p.src[t.span.Start+1:t.span.End])
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

// root reads a root expression, or skips it if it has an error.
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

// separator reads what must stand between expressions.
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
		p.throw(diag.New(202, "program nested too deeply", p.tok().span, fmt.Sprintf("expressions can be nested %d deep", MaxDepth)))
	}
}

// expr reads an expression where any may stand.
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

// keyword tells whether the current word is the keyword of an argument: `null: 1`.
func (p *parser) keyword() bool {
	t := &p.toks[min(p.i+1, len(p.toks)-1)]
	return t.kind == punct && t.text == ":"
}

// atEnd tells whether an expression ends before the current token.
func (p *parser) atEnd() bool {
	t := p.tok()
	return t.kind == newline || t.kind == eof || p.is(";") || p.is("}") || p.is(")") || p.is("]") || p.is(",")
}

// assignment reads an assignment or an expression of operators.
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
		p.throw(diag.New(641, "invalid assignment target", n.Span(), "only variables and paths of the event, the metadata or a variable can be assigned to"))
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
			p.report(diag.New(650, "comparison operators can't be chained together", t.span, "put one of the comparisons in parentheses"))
		}
		if count > maxOperands {
			p.throw(diag.New(202, "expression too long", t.span, fmt.Sprintf("at most %d operators can follow each other", maxOperands)))
		}
		p.i++
		p.newlines()
		r := p.binary(level + 1)
		n = &Binary{At: p.since(start), Op: t.text, OpSpan: t.span, Left: n, Right: r}
	}
}

// maxOperands bounds chains of operators, which nest to the left.
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

// primary reads an operand with the path that may follow it.
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

// word reads what starts with a name: a constant, a call, a variable.
func (p *parser) word() Node {
	t := p.tok()
	start := t.span.Start
	next := &p.toks[p.i+1]
	after := &p.toks[min(p.i+2, len(p.toks)-1)]
	touches := next.span.Start == t.span.End
	if touches && next.kind == punct && (next.text == "(" || next.text == "!" && after.kind == punct && after.text == "(" && after.span.Start == next.span.End) {
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

// suffix reads the path after an operand, if there is one.
func (p *parser) suffix(n Node, start int) Node {
	if !p.adjacent() || !p.is(".") && !p.is("[") {
		return n
	}
	q := &Query{Root: Result, Base: n}
	if v, ok := n.(*Variable); ok {
		q = &Query{Root: Named, Name: v.Name, NameSpan: v.Place}
	}
	return p.path(q, start)
}

// firstSegment reads the field that may follow the prefix of a path directly.
func (p *parser) firstSegment(q *Query) {
	if t := p.tok(); p.adjacent() && (t.kind == field || t.kind == text) {
		p.fieldSegment(q)
	}
}

func (p *parser) fieldSegment(q *Query) {
	t := p.advance()
	name := t.text
	if t.kind == text && !slices.ContainsFunc(t.parts, func(x Part) bool { return x.IsName }) {
		name = ""
		if len(t.parts) > 0 {
			name = t.parts[0].Text
		}
	}
	q.Path = append(q.Path, value.Name(name))
	q.Segments = append(q.Segments, t.span)
}

func (p *parser) path(q *Query, start int) Node {
	for p.adjacent() {
		switch {
		case p.is(".") && (len(q.Path) > 0 || q.Root >= Named):
			dot := p.advance()
			if t := p.tok(); !p.adjacent() || t.kind != field && t.kind != text {
				p.throw(diag.New(203, "syntax error", dot.span, "unexpected end of query path").
					With(dot.span, "expected a field name or a quoted field name"))
			}
			p.fieldSegment(q)
			continue
		case p.is("["):
			open := p.advance()
			t := p.tok()
			if t.kind != literal || t.value.Kind() != value.Int {
				p.unexpected("an integer as index; other indices need get()")
			}
			p.i++
			if i := t.value.Int(); int64(int32(i)) != i {
				p.throw(diag.New(316, "index out of range", t.span, "array indices have at most 32 bits"))
			}
			p.expect("]", "] after the index")
			q.Path = append(q.Path, value.Index(int(t.value.Int())))
			q.Segments = append(q.Segments, diag.Span{Start: open.span.Start, End: p.end()})
			continue
		}
		break
	}
	if q.Place = p.since(start).Place; len(q.Path) > 1<<10 {
		p.throw(diag.New(202, "path too long", q.Place, "paths have at most 1024 segments"))
	}
	return q
}

// group reads ( … ). If multi is set it may be the whole of a predicate, with several
// expressions: the result is then a Block.
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

// noControl refuses expressions that cannot stand in parentheses.
func (p *parser) noControl(n Node) Node {
	switch n.(type) {
	case *If, *Abort, *Return:
		p.throw(diag.New(203, "syntax error", n.Span(), "if, abort and return cannot stand in parentheses").Note("put it in a block: { … }"))
	}
	return n
}

// list reads the elements between brackets, separated by commas.
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

// braces reads an object or a block.
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
		p.throw(diag.New(203, "syntax error", n.Place, "a block needs at least one expression").Note("use { null } for a block that does nothing"))
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
