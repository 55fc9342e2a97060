// Package compile converts the syntax tree of a program to code. It infers the static kinds of all expressions and
// which of them may fail, and reports all errors. Each expression becomes a Go function, which is specialised for
// what is known about its operands.
//
// The knowledge about values is updated in program order: an assignment to a variable or a field holds for the
// following expressions. Where branches meet, their knowledge is combined. Every node is visited once.
//
// The kinds inferred inside a closure are those of its first run. So generated code checks the actual kinds. The
// inferred kinds only decide what is tried first, and what is an error at compile time.
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

// Config has the environment of a program. All fields are required.
type Config struct {
	// Functions are the functions that the program may call, by name.
	Functions map[string]*fn.Function
	// Host is the host in which the program will run.
	Host *fn.Host
	// Event and Meta are the kinds of the event and its metadata before the program runs.
	Event, Meta kind.Kind
	// ReadOnly are the paths that the program must not change.
	ReadOnly []ReadOnly
	// Variables are the variables that the host sets before the program runs. They take the first slots.
	Variables []Variable
}

// Variable is a variable that the host sets.
type Variable struct {
	Name string
	Kind kind.Kind
}

// ReadOnly is a path that programs must not change. They must not change the containers around it either. If
// Recursive is set, they must not change anything inside it.
type ReadOnly struct {
	Meta      bool
	Path      value.Path
	Recursive bool
}

// Code is a compiled program. It is immutable.
type Code struct {
	// Run runs the program.
	Run fn.Expr
	// Result is the kind of the program's value, and Event the kind of the event after the program has run.
	Result, Event kind.Kind
	// Slots and Places are the numbers of slots and places that a Frame needs.
	Slots, Places int
	// Variables are the slots of the variables of the outermost scope.
	Variables map[string]int
	// CanAbort reports whether the program may abort or fail at all.
	CanAbort bool
}

// Compile compiles a program's root expressions. The list has all findings. If one of them is an error, the code is
// nil.
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
		Places:   c.places,
		CanAbort: c.canAbort,

		Variables: c.scopes[0],
	}, c.list
}

type compiler struct {
	cfg Config
	findings
	knowledge

	returns  kind.Kind
	places   int
	sites    int
	cost     int
	blocks   int // blocks around the current expression
	canAbort bool
}

// expr is a compiled expression and what is known about it.
type expr struct {
	span diag.Span
	// run evaluates the expression. A container that it returns is either new or marked as shared.
	run fn.Expr
	// look, if not nil, evaluates the expression for code that does not keep the value. It does not mark containers as
	// shared.
	look fn.Expr
	// drop, if not nil, evaluates the expression for code that does not need the value.
	drop fn.Expr
	// part, if not nil, returns code that evaluates only a part of the value; nil if there is no such code.
	part func(s value.Segment) fn.Expr
	// test, if not nil, evaluates the expression for code that needs a boolean. Its first result is whether the value
	// is true.
	test func(f *fn.Frame) (truth, ok bool)

	kind     kind.Kind // may include undefined for paths
	fallible bool
	// why is the report for a fallible expression whose failure is not handled.
	why *diag.Diagnostic
	// value is the value if known at compile time.
	value value.Value
	known bool
	// target is set if the expression is a path. base is the kind of the value from which a path with root fn.Result
	// starts.
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

// maxConstant limits the number of containers that are created at compile time. A literal may contain a variable
// twice, which may contain another variable twice, and so on.
const maxConstant = 1 << 14

// constant returns the expression for a known value.
func constant(span diag.Span, v value.Value) expr {
	v.Freeze()
	return expr{
		span: span, kind: kind.Of(v), value: v, known: true,
		run: func(*fn.Frame) (value.Value, bool) { return v, true },
	}
}

// container returns the expression for a container of constants, which are already frozen.
func container(span diag.Span, v value.Value, k kind.Kind) expr {
	v.Share()
	return expr{
		span: span, kind: k, value: v, known: true,
		run: func(*fn.Frame) (value.Value, bool) { return v, true },
	}
}

// broken returns an expression that replaces a faulty one, so that it causes no further reports.
func broken(span diag.Span) expr {
	return expr{
		span: span, kind: kind.Any,
		run: func(f *fn.Frame) (value.Value, bool) { return f.Fail("the program does not compile") },
	}
}

// unhandled reports e if it may fail and the program does not handle this.
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
		Note("give a value for the failure: … ?? default\nor take the error: value, err = …")
}

// inherit marks e as fallible if one of its parts is fallible.
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
			_ = c.cfg.Host.KeepPattern(re.Size()) // the parser limits the patterns of literals
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
