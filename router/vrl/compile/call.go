package compile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"cordwood/router/vrl/diag"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/syntax"
	"cordwood/router/vrl/value"
)

// argument is an argument of a call with the parameter that it is for.
type argument struct {
	expr
	given bool
	node  syntax.Node
}

func (c *compiler) call(n *syntax.Call) expr {
	f := c.cfg.Functions[n.Name]
	if f == nil {
		d := diag.New(105, "call to undefined function", n.NameSpan, "undefined function")
		names := func(yield func(string) bool) {
			for name := range c.cfg.Functions {
				if !yield(name) {
					return
				}
			}
		}
		if best, ok := diag.Nearest(n.Name, names); ok {
			d.With(n.NameSpan, `did you mean "`+best+`"?`)
		}
		c.report(d)
		for _, a := range n.Args {
			c.node(a.Value)
		}
		return broken(n.Span())
	}
	before := len(c.list)
	args := c.arguments(n, f)
	if args == nil || len(c.list) > before && c.hasErrors(before) {
		c.closureAnyway(n)
		return broken(n.Span())
	}
	call := &fn.Call{Func: f, Args: make([]fn.Arg, len(args)), Host: c.cfg.Host, Site: c.sites}
	c.sites++
	out := expr{span: n.Span()}
	for i := range args {
		a := &args[i]
		call.Args[i] = fn.Arg{Given: a.given, Kind: a.kind, Const: a.value, Known: a.known, Target: a.target}
		if a.target != nil {
			if call.Args[i].Root = a.base; a.target.Root != fn.Result {
				call.Args[i].Root = c.rootKind(a.target)
			}
		}
		if a.given && !f.Params[i].Kind.Includes(a.kind) && !out.fallible {
			out.fallible = true
			out.why = c.uncertain(n, f, i, a)
		}
	}
	var body *fn.Body
	switch {
	case n.Closure != nil && f.Closure == nil:
		c.report(diag.New(109, "unexpected closure", n.Closure.Span, "this function takes no closure"))
		return broken(n.Span())
	case n.Closure == nil && f.Closure != nil:
		c.report(diag.New(111, "missing closure", n.Span(), "this function needs a closure").
			Note("%s(…) -> |%s| { … }", f.Name, closureParams(f)))
		return broken(n.Span())
	case n.Closure != nil:
		if !f.Params[0].Kind.Includes(args[0].kind) {
			c.report(diag.New(121, "invalid closure input", args[0].span, "this must be of type "+f.Params[0].Kind.String()).
				With(args[0].span, "but it is "+args[0].kind.String()).
				Note("assert the type first, as with object!(…) or array!(…)"))
			c.closureAnyway(n)
			return broken(n.Span())
		}
		b, code, ok := c.closure(n, call)
		if !ok {
			return broken(n.Span())
		}
		call.Body = fn.TypeDef{Kind: b.kind.Defined(), Fallible: b.fallible}
		out.inherit(&b)
		body = code
	}
	def := fn.TypeDef{Kind: f.Returns, Fallible: f.Fallible}
	if f.Type != nil {
		def = f.Type(call)
	}
	c.applyRemovals(n, call)
	out.kind = def.Kind
	if def.Fallible && !out.fallible {
		out.fallible = true
		out.why = diag.New(100, "unhandled error", n.Span(), "this call can fail when the program runs").
			Note("let a failure end the program: %s!(…)\nor give a value for that case: %s(…) ?? default\nor take the error: value, err = %s(…)", f.Name, f.Name, f.Name)
	}
	impl := f.Impl
	if f.Compile != nil {
		var err error
		if impl, err = f.Compile(call); err != nil {
			c.report(c.refused(n, f, args, err))
			return broken(n.Span())
		}
	}
	out.run = c.code(n, f, impl, args, body)
	if n.Bang {
		if !out.fallible {
			d := diag.New(620, "can't abort infallible function", n.NameSpan, "this function can't fail").With(n.BangSpan, "remove the !")
			d.Severity = diag.Warning
			c.report(d)
		}
		c.canAbort = true
		out.fallible, out.why = false, nil
	}
	return out
}

func (c *compiler) hasErrors(from int) bool {
	for _, d := range c.list[from:] {
		if d.Severity == diag.Error {
			return true
		}
	}
	return false
}

// closureAnyway compiles the closure of a call that was reported, for what is wrong in it.
func (c *compiler) closureAnyway(n *syntax.Call) {
	if n.Closure == nil {
		return
	}
	c.open()
	for _, p := range n.Closure.Params {
		slot := c.declare(p.Name, kind.Any, p.Span)
		c.vars[slot].param = true
	}
	c.block(n.Closure.Body)
	c.close()
}

func closureParams(f *fn.Function) string {
	names := make([]string, len(f.Closure.Params))
	for i, p := range f.Closure.Params {
		names[i] = p.Value
	}
	return strings.Join(names, ", ")
}

// arguments matches the arguments with the parameters; nil if they do not match at all.
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
			c.report(diag.New(107, "missing function argument", n.Span(), fmt.Sprintf("required argument missing: %q (position %d)", p.Name, i)))
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

// checkArgument reports an argument that cannot be right.
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
		c.report(diag.New(610, "function compilation error: error[E400] unexpected expression", a.span, "a path is expected here").
			Note("a path is one of the event (.a.b), the metadata (%%a), a variable, or what follows another value"))
		return false
	}
	if p.Constant && !a.known {
		c.report(diag.New(610, "function compilation error: error[E402] expected static expression", a.span,
			fmt.Sprintf("the argument %q must be known when the program is compiled", p.Name)).
			Note("use a literal, or a variable that a literal was assigned to"))
		return false
	}
	if p.Constant && len(p.Enum) > 0 {
		for _, e := range p.Enum {
			if a.value.Str() == e.Value {
				return true
			}
		}
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

// uncertain is what to report of an argument that may be of a wrong kind, if nobody
// handles the failure that is then.
func (c *compiler) uncertain(n *syntax.Call, f *fn.Function, i int, a *argument) *diag.Diagnostic {
	p := &f.Params[i]
	d := diag.New(110, "invalid argument type", a.span, "this expression resolves to "+a.kind.String()).
		With(a.span, fmt.Sprintf("but the parameter %q expects %s", p.Name, p.Kind))
	if name, ok := assertions[p.Kind.Set()]; ok {
		d.Note("assert the type: %s!(…)", name)
	}
	return d.Note("let a failure end the program: %s!(…)", n.Name).Note("or give a value for that case: %s(…) ?? default", n.Name)
}

var assertions = map[kind.Set]string{
	kind.StringBit: "string", kind.IntegerBit: "int", kind.FloatBit: "float", kind.BooleanBit: "bool",
	kind.TimestampBit: "timestamp", kind.ArrayBit: "array", kind.ObjectBit: "object",
}

// refused turns the error of a function's compile step to a diagnostic.
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

// applyRemovals changes what is known of paths that the call removes.
func (c *compiler) applyRemovals(n *syntax.Call, call *fn.Call) {
	for _, r := range call.Removals() {
		t := call.Args[r.Arg].Target
		if t == nil || t.Root == fn.Result || c.readOnly(t, n.Args[0].Value.Span(), "function compilation error: ") {
			continue
		}
		k := c.rootKind(t)
		after := k.Remove(t.Path, r.Compact)
		if !r.Certain {
			after = after.Union(k.Remove(t.Path, !r.Compact))
		}
		c.setRootKind(t, after)
	}
}

// closure compiles the closure of a call.
func (c *compiler) closure(n *syntax.Call, call *fn.Call) (expr, *fn.Body, bool) {
	spec := call.Func.Closure
	params := n.Closure.Params
	if len(params) != len(spec.Params) {
		span := n.Closure.Span
		c.report(diag.New(120, "invalid closure arity", span, fmt.Sprintf("this closure has %s", plural(len(params), "parameter"))).
			With(span, fmt.Sprintf("but %s gives it %d: |%s|", call.Func.Name, len(spec.Params), closureParams(call.Func))).
			Note("name those that are not needed _"))
		c.closureAnyway(n)
		return expr{}, nil, false
	}
	kinds := spec.Kinds(call)
	body := &fn.Body{Params: make([]int, len(params))}
	c.open()
	defer c.close()
	for i, p := range params {
		body.Params[i] = -1
		if p.Name != "_" {
			body.Params[i] = c.declare(p.Name, kinds[i].Defined(), p.Span)
			c.vars[body.Params[i]].param = true
		}
	}
	c.forgetAssigned(n.Closure.Body)
	cost, returns := c.cost, c.returns
	c.returns = kind.Never
	e := c.block(n.Closure.Body)
	returned := c.returns
	c.returns = returns
	c.forgetAssigned(n.Closure.Body) // it may not have run at all
	body.Cost = c.cost - cost + 1
	body.Code = e.run
	k := e.kind.Defined().Union(returned)
	if !spec.Result.Includes(k) && !k.IsNever() {
		last := n.Closure.Body.Body[len(n.Closure.Body.Body)-1].Span()
		c.report(diag.New(122, "type mismatch in closure return type", last, "this is of type "+k.String()).
			With(last, "but the closure must result in "+spec.Result.String()))
		return expr{}, nil, false
	}
	return e, body, true
}

// code makes the code of a call.
func (c *compiler) code(n *syntax.Call, f *fn.Function, impl fn.Impl, args []argument, body *fn.Body) fn.Expr {
	site := &fn.Site{Name: f.Name, Start: n.Span().Start, End: n.Span().End}
	fail := func(fr *fn.Frame) (value.Value, bool) {
		fr.Through(site)
		return value.Value{}, false
	}
	if f.Needs&^c.cfg.Host.Grants != 0 {
		text := fmt.Sprintf("%s is switched off: programs may not use %s here", f.Name, f.Needs)
		return func(fr *fn.Frame) (value.Value, bool) {
			fr.Fail(text)
			return fail(fr)
		}
	}
	get := make([]fn.Expr, len(args))
	for i := range args {
		get[i] = checked(f, i, &args[i])
	}
	switch {
	case impl.F0 != nil || impl.Raw != nil:
		do := impl.F0
		if do == nil {
			do = impl.Raw
		}
		return func(fr *fn.Frame) (value.Value, bool) {
			if v, ok := do(fr); ok {
				return v, true
			}
			return fail(fr)
		}
	case impl.F1 != nil:
		do, a := impl.F1, get[0]
		return func(fr *fn.Frame) (value.Value, bool) {
			x, ok := a(fr)
			if ok {
				if x, ok = do(fr, x); ok {
					return x, true
				}
			}
			return fail(fr)
		}
	case impl.F2 != nil:
		do, a, b := impl.F2, get[0], get[1]
		return func(fr *fn.Frame) (value.Value, bool) {
			x, ok := a(fr)
			if !ok {
				return fail(fr)
			}
			y, ok := b(fr)
			if ok {
				if x, ok = do(fr, x, y); ok {
					return x, true
				}
			}
			return fail(fr)
		}
	case impl.F3 != nil:
		do, a, b, d := impl.F3, get[0], get[1], get[2]
		return func(fr *fn.Frame) (value.Value, bool) {
			x, ok := a(fr)
			if !ok {
				return fail(fr)
			}
			y, ok := b(fr)
			if !ok {
				return fail(fr)
			}
			z, ok := d(fr)
			if ok {
				if x, ok = do(fr, x, y, z); ok {
					return x, true
				}
			}
			return fail(fr)
		}
	}
	do := impl.N
	if do == nil {
		each := impl.Each
		do = func(fr *fn.Frame, args []value.Value) (value.Value, bool) { return each(fr, args, body) }
	}
	return func(fr *fn.Frame) (value.Value, bool) {
		base := len(fr.Args)
		for _, g := range get {
			v, ok := g(fr)
			if !ok {
				fr.Args = fr.Args[:base]
				return fail(fr)
			}
			fr.Args = append(fr.Args, v)
		}
		v, ok := do(fr, fr.Args[base:len(fr.Args):len(fr.Args)])
		fr.Args = fr.Args[:base]
		if ok {
			return v, true
		}
		return fail(fr)
	}
}

// checked returns the code of an argument: with a check of its kind, unless it is
// constant, and with its size charged if the function looks at all of it.
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
	const all = kind.StringBit | kind.IntegerBit | kind.FloatBit | kind.BooleanBit | kind.TimestampBit | kind.RegexBit | kind.NullBit | kind.ArrayBit | kind.ObjectBit
	if set&all == all && !f.Deep {
		return run
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
		// Functions of containers may look at all that is in them.
		if !fr.SpendOn(v) {
			return v, false
		}
		return v, true
	}
}
