// Package compile turns the tree of a program into code. It infers the static kinds of
// all expressions and which of them may fail, reports all that is wrong, and makes of
// each expression a Go function specialised by what is known of its operands.
//
// The knowledge about values flows through a program in order: an assignment to a variable or a
// field holds for the expressions that follow, until branches meet and their knowledge is united.
// Every node is visited once.
//
// The kinds inferred inside a closure are the kinds of its first run. Generated code
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
	// Result is the kind of its value; Event is the kind of the event after it.
	Result, Event kind.Kind
	// Slots and Hints are how many of them a Frame needs.
	Slots, Hints int
	// Variables are the slots of the variables of the outermost scope.
	Variables map[string]int
	// CanAbort reports whether the program may abort or fail at all.
	CanAbort bool
}

// Compile compiles a program's root expressions. The list holds all findings; if one of
// them is an error there is no code.
func Compile(nodes []syntax.Node, cfg Config) (*Code, []*diag.Diagnostic) {
	c := &compiler{
		cfg: cfg, knowledge: knowledge{event: cfg.Event, meta: cfg.Meta}, returns: kind.Never,
	}
	c.open()
	for _, v := range cfg.Variables {
		c.vars[c.declare(v.Name, v.Kind, diag.Span{})].read = true
	}
	body := c.body(nodes, true)
	failed := slices.ContainsFunc(c.list, func(d *diag.Diagnostic) bool { return d.Severity == diag.Error })
	if !failed {
		c.unusedVariables()
	}
	slices.SortStableFunc(c.list, func(a, b *diag.Diagnostic) int {
		return a.Labels[0].Span.Start - b.Labels[0].Span.Start
	})
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
	cfg Config
	findings
	knowledge

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
	// why is the report if it is fallible and the failure is not handled.
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
		if re := n.Value.Regex(); re != nil {
			_ = c.cfg.Host.KeepPattern(re.Size()) // the parser bounds patterns of literals
		}
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

func plural(n int, word string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, word)
	}
	return fmt.Sprintf("%d %ss", n, word)
}
