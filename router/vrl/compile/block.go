package compile

import (
	"cordwood/router/vrl/diag"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/syntax"
	"cordwood/router/vrl/value"
)

// body compiles a sequence of expressions. The last one is the value. At the root, each expression must be
// infallible.
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
