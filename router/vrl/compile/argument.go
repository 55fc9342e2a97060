package compile

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cordwood/router/vrl/diag"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/syntax"
	"cordwood/router/vrl/value"
)

// argument is an argument of a call and its parameter.
type argument struct {
	expr
	given bool
	node  syntax.Node
}

// arguments assigns the arguments to the parameters. It returns nil if they do not fit.
func (c *compiler) arguments(n *syntax.Call, f *fn.Function) []argument {
	args := make([]argument, len(f.Params))
	next, ok := 0, true
	for i := range n.Args {
		a := &n.Args[i]
		at := -1
		if a.Name == "" {
			if next >= len(f.Params) {
				span := a.Value.Span().To(n.Args[len(n.Args)-1].Value.Span())
				c.report(diag.New(106, "wrong number of function arguments", span, "too many function arguments").
					With(span, fmt.Sprintf("this function takes a maximum of %s", plural(len(f.Params), "argument"))))
				return nil
			}
			at = next
			next++
		} else {
			for j := range f.Params {
				if f.Params[j].Name == a.Name {
					at = j
				}
			}
			if at < 0 {
				names := make([]string, len(f.Params))
				for j := range f.Params {
					names[j] = strconv.Quote(f.Params[j].Name)
				}
				c.report(diag.New(108, "unknown function argument keyword", a.NameSpan, "unknown keyword").
					With(n.NameSpan, "this function accepts the following keywords: "+strings.Join(names, ", ")))
				c.node(a.Value)
				ok = false
				continue
			}
			if at == next {
				next++
			}
		}
		args[at] = argument{c.node(a.Value), true, a.Value}
		ok = c.checkArgument(f, at, &args[at]) && ok
	}
	for i := range args {
		p := &f.Params[i]
		if args[i].given {
			continue
		}
		if !p.Optional {
			c.report(diag.New(107, "missing function argument", n.Span(),
				fmt.Sprintf("required argument missing: %q (position %d)", p.Name, i)))
			ok = false
			continue
		}
		e := constant(n.Span(), value.None)
		e.kind, e.known = kind.Undefined, false
		if !p.Default.IsNull() {
			e = constant(n.Span(), p.Default)
		}
		args[i] = argument{e, false, nil}
	}
	if !ok {
		return nil
	}
	return args
}

// checkArgument reports an argument whose kind can never be right.
func (c *compiler) checkArgument(f *fn.Function, i int, a *argument) bool {
	p := &f.Params[i]
	if a.fallible {
		if a.why != nil && a.why.Code == 110 {
			c.report(a.why)
		} else {
			c.report(diag.New(630, "fallible argument", a.span, "this expression can fail").
				With(a.span, "handle the error before passing it in as an argument").
				Note("for example %s(… ?? default)", f.Name))
		}
		a.fallible = false
		return false
	}
	readAsNull := p.Kind.Has(kind.NullBit) && a.kind.Has(kind.UndefinedBit)
	if !p.Kind.Intersects(a.kind) && !readAsNull {
		c.report(diag.New(110, "invalid argument type", a.span, "this expression resolves to "+a.kind.Defined().String()).
			With(a.span, fmt.Sprintf("but the parameter %q expects %s", p.Name, p.Kind)))
		return false
	}
	if p.Target && a.target == nil {
		c.report(diag.New(610, "function compilation error: error[E400] unexpected expression", a.span,
			"a path is expected here").
			Note("a path starts at the event (.a.b), the metadata (%%a), a variable or another value"))
		return false
	}
	if p.Constant && !a.known {
		c.report(diag.New(610, "function compilation error: error[E402] expected static expression", a.span,
			fmt.Sprintf("the argument %q must be known when the program is compiled", p.Name)).
			Note("use a literal, or a variable that a literal was assigned to"))
		return false
	}
	isValue := func(e fn.Enum) bool { return a.value.Str() == e.Value }
	if p.Constant && len(p.Enum) > 0 && !slices.ContainsFunc(p.Enum, isValue) {
		names := make([]string, len(p.Enum))
		for j, e := range p.Enum {
			names[j] = strconv.Quote(e.Value)
		}
		c.report(diag.New(610, "function compilation error: error[E401] invalid enum variant", a.span,
			fmt.Sprintf("invalid enum variant for argument %q", p.Name)).
			With(a.span, "expected one of: "+strings.Join(names, ", ")))
		return false
	}
	return true
}

// uncertain returns the report for an argument whose kind may be wrong, if the program does not handle that
// failure.
func (c *compiler) uncertain(n *syntax.Call, f *fn.Function, i int, a *argument) *diag.Diagnostic {
	p := &f.Params[i]
	d := diag.New(110, "invalid argument type", a.span, "this expression resolves to "+a.kind.String()).
		With(a.span, fmt.Sprintf("but the parameter %q expects %s", p.Name, p.Kind))
	if name, ok := assertions[p.Kind.Set()]; ok {
		d.Note("assert the type: %s!(…)", name)
	}
	return d.Note("let a failure end the program: %s!(…)",
		n.Name).Note("or give a value for the failure: %s(…) ?? default", n.Name)
}

var assertions = map[kind.Set]string{
	kind.StringBit: "string", kind.IntegerBit: "int", kind.FloatBit: "float", kind.BooleanBit: "bool",
	kind.TimestampBit: "timestamp", kind.ArrayBit: "array", kind.ObjectBit: "object",
}

// refused converts the error of a function's compile step to a diagnostic.
func (c *compiler) refused(n *syntax.Call, f *fn.Function, args []argument, err error) *diag.Diagnostic {
	var e *fn.Error
	if !errors.As(err, &e) {
		e = &fn.Error{Code: 403, Text: err.Error(), Arg: -1}
	}
	span := n.Span()
	if e.Arg >= 0 && args[e.Arg].given {
		span = args[e.Arg].span
	}
	title := map[int]string{
		112: "invalid grok pattern", 315: "mutation of read-only value", 400: "unexpected expression",
		401: "invalid enum variant", 402: "expected static expression", 403: "invalid argument",
	}[e.Code]
	if title == "" {
		title = e.Text
	}
	d := diag.New(610, fmt.Sprintf("function compilation error: error[E%03d] %s", e.Code, title), span, e.Text)
	if e.Hint != "" {
		d.Note("%s", e.Hint)
	}
	return d
}

// checked returns the code of an argument. The code checks the kind of the value unless the argument is constant. If
// the function reads the whole value, the code also charges the value's size.
func checked(f *fn.Function, i int, a *argument) fn.Expr {
	p := &f.Params[i]
	run := a.run
	if p.Borrow {
		run = a.looking()
	}
	if a.known || !a.given {
		return run
	}
	set := p.Kind.Set()
	const all = kind.StringBit | kind.IntegerBit | kind.FloatBit | kind.BooleanBit | kind.TimestampBit | kind.RegexBit |
		kind.NullBit | kind.ArrayBit | kind.ObjectBit
	if set&all == all && !f.Deep {
		return func(fr *fn.Frame) (value.Value, bool) {
			v, ok := run(fr)
			if ok && v.IsString() && v.Len() >= fn.BytesPerStep {
				ok = fr.SpendOn(v)
			}
			return v, ok
		}
	}
	want := set.String()
	return func(fr *fn.Frame) (value.Value, bool) {
		v, ok := run(fr)
		if !ok {
			return v, false
		}
		if kind.Bit(v.Kind())&set == 0 {
			return fr.FailKind(want, v)
		}
		// Functions may read all of a text, and the contents of a container.
		if !fr.SpendOn(v) {
			return v, false
		}
		return v, true
	}
}
