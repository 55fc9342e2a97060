package compile

import (
	"slices"

	"cordwood/router/vrl/diag"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/syntax"
	"cordwood/router/vrl/value"
)

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
		if !f.ReserveContainer(len(runs)) {
			return value.Value{}, false
		}
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
	// Entries are evaluated in the order of their keys. If a key is repeated, the last entry wins.
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
		if !f.ReserveContainer(len(runs)) {
			return value.Value{}, false
		}
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
		out.why = diag.New(100, "unhandled error", n.Span(),
			"a variable in this string may be something other than a string").
			Note("convert it first: name = to_string(name) ?? \"\"")
	}
	return out
}
