package compile

import (
	"fmt"
	"maps"
	"strings"

	"cordwood/router/vrl/diag"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/syntax"
	"cordwood/router/vrl/value"
)

func (c *compiler) call(n *syntax.Call) expr {
	f := c.cfg.Functions[n.Name]
	if f == nil {
		return c.undefinedCall(n)
	}
	before := len(c.list)
	args := c.arguments(n, f)
	if args == nil || len(c.list) > before && c.hasErrors(before) {
		c.closureAnyway(n)
		return broken(n.Span())
	}
	call := &fn.Call{
		Func: f, Args: make([]fn.Arg, len(args)), Host: c.cfg.Host, Site: c.sites, Place: c.place,
	}
	c.sites++
	out := expr{span: n.Span()}
	for i := range args {
		a := &args[i]
		call.Args[i] = c.argOf(a)
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
			Note("let a failure end the program: %s!(…)\nor give a value for the failure: %s(…) ?? default\nor take the error: "+
				"value, err = %s(…)", f.Name, f.Name, f.Name)
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
	if f.Part != nil {
		out.part = func(s value.Segment) fn.Expr {
			impl, ok := f.Part(call, s)
			if !ok {
				return nil
			}
			return c.code(n, f, impl, args, body)
		}
	}
	if n.Bang {
		c.abortOnFailure(n, &out)
	}
	return out
}

// undefinedCall reports a call to a function that does not exist, and compiles its arguments for their findings.
func (c *compiler) undefinedCall(n *syntax.Call) expr {
	d := diag.New(105, "call to undefined function", n.NameSpan, "undefined function")
	if best, ok := diag.Nearest(n.Name, maps.Keys(c.cfg.Functions)); ok {
		d.With(n.NameSpan, `did you mean "`+best+`"?`)
	}
	c.report(d)
	for _, a := range n.Args {
		c.node(a.Value)
	}
	return broken(n.Span())
}

// argOf returns what the function of a call may know about an argument.
func (c *compiler) argOf(a *argument) fn.Arg {
	out := fn.Arg{Given: a.given, Kind: a.kind, Const: a.value, Known: a.known, Target: a.target}
	switch {
	case a.target == nil:
	case a.target.Root == fn.Result:
		out.Root = a.base
	default:
		out.Root = c.rootKind(a.target)
	}
	return out
}

// abortOnFailure makes a failure of the call out, which has a !, end the program.
func (c *compiler) abortOnFailure(n *syntax.Call, out *expr) {
	if !out.fallible {
		d := diag.New(620, "can't abort infallible function", n.NameSpan, "this function can't fail").With(n.BangSpan,
			"remove the !")
		d.Severity = diag.Warning
		c.report(d)
	}
	c.canAbort = true
	out.fallible, out.why = false, nil
}

// closureAnyway compiles the closure of a call that was already reported, to find errors in it.
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

// applyRemovals updates the knowledge about paths that the call removes.
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
		c.report(diag.New(120, "invalid closure arity", span,
			fmt.Sprintf("this closure has %s", plural(len(params), "parameter"))).
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
	c.forgetAssigned(n.Closure.Body, c.cfg.Functions)
	cost, returns := c.cost, c.returns
	c.returns = kind.Never
	e := c.block(n.Closure.Body)
	returned := c.returns
	c.returns = returns
	c.forgetAssigned(n.Closure.Body, c.cfg.Functions) // it may not have run at all
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

// code returns the code of a call.
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
	if f.Asserts != 0 && !args[0].known {
		return assertion(f.Asserts, &args[0], fail)
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

// assertion returns the code of a function that returns its argument if it is of kind k. fail is the code after a
// failure.
func assertion(k value.Kind, a *argument, fail fn.Expr) fn.Expr {
	run := a.run
	if k != value.Array && k != value.Object {
		run = a.looking() // other values cannot be shared
	}
	name := k.String()
	return func(fr *fn.Frame) (value.Value, bool) {
		v, ok := run(fr)
		if !ok || v.IsString() && v.Len() >= fn.BytesPerStep && !fr.SpendOn(v) {
			return fail(fr)
		}
		if v.Kind() != k {
			fr.FailKind(name, v)
			return fail(fr)
		}
		return v, true
	}
}
