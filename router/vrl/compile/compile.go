// Package compile turns the tree of a program into code. It infers the static kinds of
// all expressions and which of them may fail, reports all that is wrong, and makes of
// each expression a Go function specialised by what is known of its operands.
//
// The knowledge of a program's values flows through it in order: what an assignment
// says of a variable or a field holds for what follows, until branches meet and their
// knowledge is united. Every node is visited once.
//
// The kinds inferred inside a closure are those of its first run. Generated code
// therefore checks the kinds that it meets; the inferred ones only decide which way is
// tried first, and what is an error at compile time.
package compile

import (
	"fmt"
	"slices"

	"cordwood/router/vrl/diag"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/syntax"
	"cordwood/router/vrl/value"
)

// Config is what a program is compiled for. All fields are required.
type Config struct {
	// Functions are the functions that the program may call, by name.
	Functions map[string]*fn.Function
	// Host is where it will run.
	Host *fn.Host
	// Event and Meta are the kinds of what it is run on.
	Event, Meta kind.Kind
	// ReadOnly are the paths that it must not change.
	ReadOnly []ReadOnly
	// Variables are those that it finds set; they take the first slots.
	Variables []Variable
}

// Variable is a variable that the host sets.
type Variable struct {
	Name string
	Kind kind.Kind
}

// ReadOnly is a path that programs must not change, nor anything that it lies in; with
// Recursive nor anything that lies in it.
type ReadOnly struct {
	Meta      bool
	Path      value.Path
	Recursive bool
}

// Code is a compiled program. It is immutable.
type Code struct {
	// Run runs the program.
	Run fn.Expr
	// Result is the kind of its value; Event that of the event after it.
	Result, Event kind.Kind
	// Slots and Hints are how many of them a Frame needs.
	Slots, Hints int
	// Variables are the slots of the variables of the outermost scope.
	Variables map[string]int
	// CanAbort tells whether the program may abort or fail at all.
	CanAbort bool
}

// Compile compiles a program's root expressions. The list holds all findings; if one of
// them is an error there is no code.
func Compile(nodes []syntax.Node, cfg Config) (*Code, []*diag.Diagnostic) {
	c := &compiler{cfg: cfg, event: cfg.Event, meta: cfg.Meta, returns: kind.Never}
	c.open()
	for _, v := range cfg.Variables {
		c.vars[c.declare(v.Name, v.Kind, diag.Span{})].read = true
	}
	body := c.body(nodes, true)
	failed := slices.ContainsFunc(c.list, func(d *diag.Diagnostic) bool { return d.Severity == diag.Error })
	if !failed {
		c.unusedVariables()
	}
	slices.SortStableFunc(c.list, func(a, b *diag.Diagnostic) int { return a.Labels[0].Span.Start - b.Labels[0].Span.Start })
	if failed {
		return nil, slices.DeleteFunc(c.list, func(d *diag.Diagnostic) bool { return d.Severity != diag.Error })
	}
	return &Code{
		Run:      body.run,
		Result:   body.kind.Defined().Union(c.returns),
		Event:    c.event,
		Slots:    len(c.vars),
		Hints:    c.hints,
		CanAbort: c.canAbort,

		Variables: c.scopes[0],
	}, c.list
}

type compiler struct {
	cfg  Config
	list []*diag.Diagnostic

	event, meta kind.Kind
	vars        []variable
	journal     []change
	scopes      []map[string]int

	returns  kind.Kind
	hints    int
	sites    int
	cost     int
	blocks   int // blocks around the current expression
	canAbort bool
}

// expr is a compiled expression and what is known of it.
type expr struct {
	span diag.Span
	// run evaluates it. Containers that it results in are either new or marked as shared.
	run fn.Expr
	// look, if not nil, is run without the mark: for users that keep nothing of the value.
	look fn.Expr
	// drop, if not nil, is run for users that do not need the value.
	drop fn.Expr
	// test, if not nil, is run for users that need a boolean: its first result is whether
	// the value is true.
	test func(f *fn.Frame) (truth, ok bool)

	kind     kind.Kind // may include undefined for paths
	fallible bool
	// why is what to report if fallible and nobody handles it.
	why *diag.Diagnostic
	// value is the value if known at compile time.
	value value.Value
	known bool
	// target is set for paths, and base to the kind that one of fn.Result starts from.
	target *fn.Target
	base   kind.Kind
}

func (e *expr) looking() fn.Expr {
	if e.look != nil {
		return e.look
	}
	return e.run
}

func (e *expr) dropping() fn.Expr {
	switch {
	case e.drop != nil:
		return e.drop
	case e.look != nil:
		return e.look
	}
	return e.run
}

func (e *expr) testing() func(f *fn.Frame) (truth, ok bool) {
	if e.test != nil {
		return e.test
	}
	run := e.looking()
	return func(f *fn.Frame) (bool, bool) {
		v, ok := run(f)
		return v.IsTrue(), ok
	}
}

func (c *compiler) report(d *diag.Diagnostic) { c.list = append(c.list, d) }

// maxConstant bounds the containers that are made once, when the program is compiled. A
// literal can hold a variable twice, and that variable another one twice.
const maxConstant = 1 << 14

// constant returns the expression of a value known now.
func constant(span diag.Span, v value.Value) expr {
	v.Freeze()
	return expr{
		span: span, kind: kind.Of(v), value: v, known: true,
		run: func(*fn.Frame) (value.Value, bool) { return v, true },
	}
}

// container is constant for a container of constants, which are frozen already.
func container(span diag.Span, v value.Value, k kind.Kind) expr {
	v.Share()
	return expr{
		span: span, kind: k, value: v, known: true,
		run: func(*fn.Frame) (value.Value, bool) { return v, true },
	}
}

// broken stands for an expression that was reported: it makes no further trouble.
func broken(span diag.Span) expr {
	return expr{
		span: span, kind: kind.Any,
		run: func(f *fn.Frame) (value.Value, bool) { return f.Fail("the program does not compile") },
	}
}

// unhandled reports e if it may fail and nothing was done about it.
func (c *compiler) unhandled(e *expr) {
	if !e.fallible {
		return
	}
	e.fallible = false
	c.report(e.reason())
}

func (e *expr) reason() *diag.Diagnostic {
	if e.why != nil {
		return e.why
	}
	return diag.New(100, "unhandled error", e.span, "this expression can fail when the program runs").
		Note("give a value for that case: … ?? default\nor take the error: value, err = …")
}

// inherit makes e fallible if one of its parts is.
func (e *expr) inherit(parts ...*expr) {
	for _, p := range parts {
		if p.fallible {
			if !e.fallible || e.why == nil {
				e.why = p.reason()
			}
			e.fallible = true
			return
		}
	}
}

// node compiles any node.
func (c *compiler) node(n syntax.Node) expr {
	c.cost++
	switch n := n.(type) {
	case *syntax.Literal:
		return constant(n.Span(), n.Value)
	case *syntax.Template:
		return c.template(n)
	case *syntax.Array:
		return c.array(n)
	case *syntax.Object:
		return c.object(n)
	case *syntax.Variable:
		return c.variable(n)
	case *syntax.Query:
		return c.query(n)
	case *syntax.Group:
		e := c.node(n.Inner)
		e.span = n.Span()
		return e
	case *syntax.Block:
		return c.block(n)
	case *syntax.If:
		return c.ifElse(n)
	case *syntax.Binary:
		return c.binary(n)
	case *syntax.Not:
		return c.not(n)
	case *syntax.Assign:
		return c.assign(n)
	case *syntax.Call:
		return c.call(n)
	case *syntax.Abort:
		return c.abort(n)
	case *syntax.Return:
		return c.returnNode(n)
	}
	c.report(diag.New(203, "syntax error", n.Span(), "this cannot stand here"))
	return broken(n.Span())
}

// body compiles a sequence of expressions, of which the last is the value. At the root
// each must be infallible.
func (c *compiler) body(nodes []syntax.Node, root bool) expr {
	if len(nodes) == 0 {
		return constant(diag.Span{}, value.Value{})
	}
	list := make([]expr, len(nodes))
	var out expr
	never := false
	for i, n := range nodes {
		e := c.node(n)
		if root {
			c.unhandled(&e)
		}
		list[i] = e
		out.kind = e.kind
		if never {
			continue
		}
		out.inherit(&e)
		if never = e.kind.IsNever(); !never && i+1 < len(nodes) {
			c.unusedResult(n)
		}
	}
	last := list[len(list)-1]
	out.span = list[0].span.To(last.span)
	if len(list) == 1 {
		last.span = out.span
		return last
	}
	steps := make([]fn.Expr, len(list)-1)
	for i := range steps {
		steps[i] = list[i].dropping()
	}
	out.run = sequence(steps, last.run)
	out.drop = sequence(steps, last.dropping())
	if last.look != nil {
		out.look = sequence(steps, last.look)
	}
	return out
}

func sequence(steps []fn.Expr, last fn.Expr) fn.Expr {
	if len(steps) == 1 {
		first := steps[0]
		return func(f *fn.Frame) (value.Value, bool) {
			if v, ok := first(f); !ok {
				return v, false
			}
			return last(f)
		}
	}
	return func(f *fn.Frame) (value.Value, bool) {
		for _, s := range steps {
			if v, ok := s(f); !ok {
				return v, false
			}
		}
		return last(f)
	}
}

func (c *compiler) block(n *syntax.Block) expr {
	c.open()
	c.blocks++
	e := c.body(n.Body, false)
	c.blocks--
	c.close()
	e.span = n.Span()
	e.target = nil
	return e
}

func (c *compiler) ifElse(n *syntax.If) expr {
	cond := c.body(n.Cond, false)
	cond.span = n.CondSpan
	if k := cond.kind; !k.Is(kind.BooleanBit) && !k.IsNever() {
		c.report(diag.New(102, "non-boolean predicate", n.CondSpan, "this predicate must be a boolean").
			With(n.CondSpan, "but it is "+k.Defined().String()).
			Note("compare it, as in … == true, or assert the type with bool!(…)"))
		cond.fallible = false
	}
	if cond.fallible && cond.why != nil && cond.why.Code == 110 {
		why := *cond.why
		why.Message = "fallible predicate"
		cond.why = &why
	}
	mark := c.mark()
	then := c.block(n.Then)
	after := c.rewind(mark)
	out := expr{span: n.Span(), kind: then.kind}
	var other expr
	if n.Else == nil {
		c.merge(after)
		other = constant(n.Span(), value.Value{})
	} else {
		mark = c.mark()
		if b, ok := n.Else.(*syntax.Block); ok {
			other = c.block(b)
		} else {
			other = c.node(n.Else)
		}
		c.mergeBoth(after, c.rewind(mark))
	}
	out.kind = then.kind.Defined().Union(other.kind.Defined())
	out.inherit(&cond, &then, &other)
	test := cond.testing()
	choose := func(a, b fn.Expr) fn.Expr {
		return func(f *fn.Frame) (value.Value, bool) {
			truth, ok := test(f)
			if !ok {
				return value.Value{}, false
			}
			if truth {
				return a(f)
			}
			return b(f)
		}
	}
	out.run = choose(then.run, other.run)
	out.drop = choose(then.dropping(), other.dropping())
	out.look = choose(then.looking(), other.looking())
	return out
}

func (c *compiler) abort(n *syntax.Abort) expr {
	c.canAbort = true
	out := expr{span: n.Span(), kind: kind.Never}
	out.run = func(f *fn.Frame) (value.Value, bool) { return f.Abort("aborted") }
	if n.Message == nil {
		return out
	}
	m := c.node(n.Message)
	switch {
	case m.fallible:
		c.report(diag.New(631, "unhandled fallible expression", m.span, "the message of abort can fail").
			With(m.span, "handle the error before using the expression as a message"))
	case !m.kind.Is(kind.StringBit) && !m.kind.IsNever():
		c.report(diag.New(113, "non-string abort message", m.span, "the message of abort must be a string").
			With(m.span, "but this is "+m.kind.String()).Note("convert it: to_string(…), or encode_json(…)"))
	}
	run := m.looking()
	out.run = func(f *fn.Frame) (value.Value, bool) {
		v, ok := run(f)
		if !ok {
			return v, false
		}
		return f.Abort(v.Text())
	}
	return out
}

func (c *compiler) returnNode(n *syntax.Return) expr {
	e := c.node(n.Value)
	if e.fallible {
		c.report(diag.New(631, "unhandled fallible expression", e.span, "the value of return can fail").
			With(e.span, "handle the error before returning the value"))
	}
	c.returns = c.returns.Union(e.kind.Defined())
	run := e.run
	return expr{span: n.Span(), kind: kind.Never, run: func(f *fn.Frame) (value.Value, bool) {
		v, ok := run(f)
		if !ok {
			return v, false
		}
		return f.Return(v)
	}}
}

func (c *compiler) array(n *syntax.Array) expr {
	out := expr{span: n.Span(), known: true}
	items := make([]expr, len(n.Items))
	runs := make([]fn.Expr, len(n.Items))
	kinds := make([]kind.Kind, len(n.Items))
	for i, x := range n.Items {
		items[i] = c.node(x)
		runs[i], kinds[i] = items[i].run, items[i].kind.Defined()
		out.known = out.known && items[i].known
		out.inherit(&items[i])
	}
	out.kind = kind.ArrayOf(kinds...)
	if out.known {
		list := make([]value.Value, len(items))
		for i := range items {
			list[i] = items[i].value
		}
		if v := value.NewArray(list); value.Size(v, maxConstant) < maxConstant {
			return container(n.Span(), v, out.kind)
		}
		out.known = false
	}
	out.run = func(f *fn.Frame) (value.Value, bool) {
		list := make([]value.Value, len(runs))
		for i, run := range runs {
			v, ok := run(f)
			if !ok {
				return v, false
			}
			list[i] = v
		}
		return value.NewArray(list), true
	}
	return out
}

func (c *compiler) object(n *syntax.Object) expr {
	out := expr{span: n.Span(), known: true}
	// Entries are evaluated in the order of their keys; of equal keys the last counts.
	order := make([]int, len(n.Keys))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if n.Keys[a] < n.Keys[b] {
			return -1
		} else if n.Keys[a] > n.Keys[b] {
			return 1
		}
		return 0
	})
	var keys []string
	var runs []fn.Expr
	var known []value.Value
	var fields []kind.Field
	for j, i := range order {
		e := c.node(n.Values[i])
		if j+1 < len(order) && n.Keys[order[j+1]] == n.Keys[i] {
			continue
		}
		keys, runs, known = append(keys, n.Keys[i]), append(runs, e.run), append(known, e.value)
		fields = append(fields, kind.Field{Name: n.Keys[i], Kind: e.kind.Defined()})
		out.known = out.known && e.known
		out.inherit(&e)
	}
	out.kind = kind.ObjectOf(fields...)
	if out.known {
		o := value.MakeFields(len(keys))
		for i, k := range keys {
			o.Add(k, known[i])
		}
		if value.Size(o.Value(), maxConstant) < maxConstant {
			return container(n.Span(), o.Value(), out.kind)
		}
		out.known = false
	}
	out.run = func(f *fn.Frame) (value.Value, bool) {
		o := value.MakeFields(len(runs))
		for i, run := range runs {
			v, ok := run(f)
			if !ok {
				return v, false
			}
			o.Add(keys[i], v)
		}
		return o.Value(), true
	}
	return out
}

// template compiles a string with variables to the chain of additions that it stands for.
func (c *compiler) template(n *syntax.Template) expr {
	var out expr
	for i, p := range n.Parts {
		var e expr
		if p.IsName {
			e = c.variable(&syntax.Variable{At: syntax.At{Place: p.Span}, Name: p.Name})
		} else {
			e = constant(p.Span, value.NewString(p.Text))
		}
		if i == 0 {
			out = e
			continue
		}
		out = c.operate("+", n.Span(), out, e)
	}
	out.span = n.Span()
	if out.fallible {
		out.why = diag.New(100, "unhandled error", n.Span(), "a variable in this string may be something other than a string").
			Note("convert it first: name = to_string(name) ?? \"\"")
	}
	return out
}

func plural(n int, word string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, word)
	}
	return fmt.Sprintf("%d %ss", n, word)
}
