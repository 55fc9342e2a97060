package compile

import (
	"strings"

	"cordwood/router/vrl/diag"
	"cordwood/router/vrl/syntax"
)

// findings are the errors and warnings that the compiler has found.
type findings struct{ list []*diag.Diagnostic }

func (f *findings) report(d *diag.Diagnostic) { f.list = append(f.list, d) }

// hasErrors reports whether one of the findings from index from on is an error.
func (f *findings) hasErrors(from int) bool {
	for _, d := range f.list[from:] {
		if d.Severity == diag.Error {
			return true
		}
	}
	return false
}

func (f *findings) unused(what string, span diag.Span) {
	d := diag.New(900, "unused "+what, span, "use the result of this expression or remove it")
	d.Severity = diag.Warning
	f.report(d.Note("the expression has no other effect"))
}

// otherNames maps the names of other languages to ours.
var otherNames = map[string]string{
	"nil": "null", "none": "null", "None": "null", "undefined": "null", "NULL": "null", "True": "true",
	"False": "false",
}

func (c *compiler) undefined(name string, span diag.Span) {
	d := diag.New(701, "call to undefined variable", span, "undefined variable")
	best, ok := otherNames[name]
	if !ok {
		best, ok = diag.Nearest(name, c.names())
	}
	if ok {
		d.With(span, `did you mean "`+best+`"?`)
	}
	c.report(d)
}

// unusedResult warns if the value of an expression without side effects is not used.
func (c *compiler) unusedResult(n syntax.Node) {
	what := ""
	switch n := n.(type) {
	case *syntax.Literal:
		if n.Value.IsNull() {
			return
		}
		what = "literal `" + n.Value.String() + "`"
	case *syntax.Template:
		what = "string"
	case *syntax.Object:
		what = "object"
	case *syntax.Call:
		f := c.cfg.Functions[n.Name]
		// A call that may fail can serve to end its block early.
		if f == nil || f.Effect || n.Closure != nil || c.blocks > 0 && !n.Bang {
			return
		}
		what = "result for function call `" + n.Name + "`"
	default:
		return
	}
	c.unused(what, n.Span())
}

func (c *compiler) unusedVariables() {
	for _, v := range c.vars {
		if !v.read && !v.param && !strings.HasPrefix(v.name, "_") {
			c.unused("variable `"+v.name+"`", v.span)
		}
	}
}
