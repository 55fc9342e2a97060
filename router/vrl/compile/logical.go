package compile

import (
	"cordwood/router/vrl/diag"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/syntax"
	"cordwood/router/vrl/value"
)

func (c *compiler) logical(n *syntax.Binary) expr {
	l := c.node(n.Left)
	mark := c.mark()
	r := c.node(n.Right)
	falsy := l.known && l.value.IsFalsy() || l.kind.Is(kind.NullBit)
	truthy := l.known && l.value.IsTrue()
	after := c.rewind(mark)
	out := expr{span: n.Span()}
	always, never := truthy, falsy // of the right side
	if n.Op == "||" {
		always, never = falsy, truthy
	}
	switch {
	case always:
		c.apply(after)
	case !never:
		c.merge(after)
	}
	if n.Op == "&&" {
		out.kind = kind.Boolean
		out.inherit(&l)
		if !never {
			out.inherit(&r)
		}
		if !out.fallible && !falsy && !truthy && (!l.kind.Within(truthBits) || !r.kind.Within(truthBits)) {
			out.fallible = true
			out.why = mixedAnd(n, &l, &r)
		}
		and(&out, &l, &r)
		return out
	}
	switch {
	case truthy || !l.kind.Has(kind.NullBit|kind.BooleanBit|kind.UndefinedBit):
		out.kind = l.kind
		out.inherit(&l)
	case falsy:
		out.kind = r.kind.Defined()
		out.inherit(&l, &r)
	default:
		out.kind = l.kind.Without(kind.NullBit | kind.UndefinedBit).Union(r.kind.Defined())
		out.inherit(&l, &r)
	}
	or(&out, &l, &r)
	return out
}

// mixedAnd returns the report for && if a side may be neither a boolean nor null.
func mixedAnd(n *syntax.Binary, l, r *expr) *diag.Diagnostic {
	return diag.New(100, "unhandled error", n.Span(), "this fails if one side is neither a boolean nor null").
		With(l.span, "this is "+l.kind.String()).With(r.span, "this is "+r.kind.String()).
		Note("compare the value, as in … == true, or give a value for the failure: (… && …) ?? false")
}

// and sets the code of l && r.
func and(out, l, r *expr) {
	left, right := l.looking(), r.looking()
	out.test = func(f *fn.Frame) (bool, bool) {
		a, ok := left(f)
		if !ok || a.IsFalsy() {
			return false, ok
		}
		b, ok := right(f)
		if !ok {
			return false, false
		}
		if a.Kind() != value.Bool || b.Kind() != value.Bool && !b.IsNull() {
			errAnd.fail(f, a, b)
			return false, false
		}
		return b.IsTrue(), true
	}
	if l.kind.Within(truthBits) && r.kind.Is(kind.BooleanBit) {
		a, b := l.testing(), r.testing()
		out.test = func(f *fn.Frame) (bool, bool) {
			if truth, ok := a(f); !truth || !ok {
				return false, ok
			}
			return b(f)
		}
	}
	out.run = fromTest(out.test)
}

// or sets the code of l || r.
func or(out, l, r *expr) {
	either := func(left, right fn.Expr) fn.Expr {
		return func(f *fn.Frame) (value.Value, bool) {
			if v, ok := left(f); !ok || !v.IsFalsy() {
				return v, ok
			}
			return right(f)
		}
	}
	out.look = either(l.looking(), r.looking())
	out.run = either(l.run, r.run)
	a, b := l.testing(), r.testing()
	if l.kind.Within(truthBits) {
		out.test = func(f *fn.Frame) (bool, bool) {
			if truth, ok := a(f); truth || !ok {
				return truth, ok
			}
			return b(f)
		}
	}
}

func (c *compiler) coalesce(n *syntax.Binary) expr {
	l := c.node(n.Left)
	mark := c.mark()
	r := c.node(n.Right)
	c.merge(c.rewind(mark))
	out := expr{span: n.Span(), kind: l.kind.Defined().Union(r.kind.Defined())}
	if !l.fallible && !l.kind.IsNever() {
		c.report(diag.New(651, "unnecessary error coalescing operation", l.span, "this expression can't fail").
			With(n.OpSpan, "remove this operator").With(r.span, "this never takes effect").
			Note("?? handles failures only; for null use `if %s == null { … }`", "value"))
	}
	out.inherit(&r)
	either := func(left, right fn.Expr) fn.Expr {
		return func(f *fn.Frame) (value.Value, bool) {
			v, ok := left(f)
			if ok || !f.Caught() {
				return v, ok
			}
			return right(f)
		}
	}
	out.run = either(l.run, r.run)
	out.look = either(l.looking(), r.looking())
	return out
}

func (c *compiler) not(n *syntax.Not) expr {
	x := c.node(n.X)
	out := expr{span: n.Span(), kind: kind.Boolean}
	out.inherit(&x)
	if !x.kind.Is(kind.BooleanBit) && !x.kind.IsNever() {
		c.report(diag.New(660, "non-boolean negation", n.OpSpan, "only booleans can be negated").
			With(x.span, "this is "+x.kind.Defined().String()).
			Note("compare it, as in … != true, or assert the type with bool!(…)"))
		return broken(n.Span())
	}
	if x.known {
		e := constant(n.Span(), value.NewBool(!x.value.IsTrue()))
		return e
	}
	run := x.looking()
	out.test = func(f *fn.Frame) (bool, bool) {
		v, ok := run(f)
		if ok && v.Kind() != value.Bool {
			f.FailKind("boolean", v)
			return false, false
		}
		return !v.IsTrue(), ok
	}
	if x.test != nil {
		test := x.test
		out.test = func(f *fn.Frame) (bool, bool) {
			truth, ok := test(f)
			return !truth, ok
		}
	}
	out.run = fromTest(out.test)
	return out
}
