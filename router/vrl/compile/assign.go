package compile

import (
	"strings"

	"cordwood/router/vrl/diag"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/syntax"
	"cordwood/router/vrl/value"
)

// store writes a value to a target.
type store func(f *fn.Frame, v value.Value) bool

func (c *compiler) assign(n *syntax.Assign) expr {
	if n.Merge {
		return c.assignMerge(n)
	}
	e := c.node(n.Value)
	if n.Err != nil {
		return c.assignErr(n, e)
	}
	if e.fallible {
		c.report(c.unhandledAssign(n, &e))
		e.fallible = false
	}
	if noop, ok := n.OK.(*syntax.Noop); ok {
		c.report(diag.New(640, "useless assignment to _", noop.Span(), "nothing is assigned here").
			Note("write the expression alone, or assign its error: _, err = …"))
		return broken(n.Span())
	}
	to, single := c.target(n.OK, e.kind.Defined(), e.value, e.known)
	out := expr{span: n.Span(), kind: e.kind.Defined(), value: e.value, known: e.known}
	if single != nil {
		// The usual case: a field of the event.
		out.drop = single(e.run)
	} else {
		run := e.run
		out.drop = func(f *fn.Frame) (value.Value, bool) {
			v, ok := run(f)
			if !ok {
				return v, false
			}
			return v, to(f, v)
		}
	}
	run := e.run
	out.run = func(f *fn.Frame) (value.Value, bool) {
		v, ok := run(f)
		if !ok {
			return v, false
		}
		return v.Share(), to(f, v)
	}
	return out
}

func (c *compiler) unhandledAssign(n *syntax.Assign, e *expr) *diag.Diagnostic {
	d := diag.New(103, "unhandled fallible assignment", e.span, "this expression can fail when the program runs")
	if call, ok := n.Value.(*syntax.Call); ok && !call.Bang {
		if e.why != nil && e.why.Code == 110 && len(e.why.Labels) > 1 {
			d.With(e.span, "because "+strings.TrimPrefix(e.why.Labels[1].Text, "but "))
		}
		d.Note("let a failure end the program: %s!(…)", call.Name)
	}
	d.Note("give a value for the failure: … ?? default")
	d.Note("or take the error: ok, err = …")
	return d
}

func unnecessary(n *syntax.Assign) *diag.Diagnostic {
	return diag.New(104, "unnecessary error assignment", n.Value.Span(), "this expression can't fail").
		With(n.OK.Span().To(n.Err.Span()), "so there is no error to assign: use a single target")
}

// assignErr compiles ok, err = e.
func (c *compiler) assignErr(n *syntax.Assign, e expr) expr {
	if !e.fallible && !e.kind.IsNever() {
		c.report(unnecessary(n))
		for _, x := range []syntax.Node{n.OK, n.Err} {
			if _, noop := x.(*syntax.Noop); !noop {
				c.target(x, kind.Any, value.Value{}, false)
			}
		}
		return broken(n.Span())
	}
	_, noOK := n.OK.(*syntax.Noop)
	_, noErr := n.Err.(*syntax.Noop)
	if noOK && noErr {
		c.report(diag.New(640, "useless assignment to _", n.OK.Span().To(n.Err.Span()), "nothing is assigned here"))
		return broken(n.Span())
	}
	k := e.kind.Defined()
	fallback := k.Default()
	fallback.Freeze()
	okKind := k.Union(kind.Of(fallback))
	if !fallback.IsNull() {
		okKind = k.Union(kind.Kind{}).Union(kind.Of(fallback))
	}
	toOK := func(*fn.Frame, value.Value) bool { return true }
	toErr := toOK
	if !noOK {
		toOK, _ = c.target(n.OK, okKind, value.Value{}, false)
	}
	if !noErr {
		toErr, _ = c.target(n.Err, kind.Or(kind.String, kind.Null), value.Value{}, false)
	}
	run := e.run
	return expr{
		span: n.Span(), kind: k.Union(kind.String),
		run: func(f *fn.Frame) (value.Value, bool) {
			v, ok := run(f)
			if ok {
				return v.Share(), toOK(f, v) && toErr(f, value.Value{})
			}
			if !f.Caught() {
				return v, false
			}
			text, ok := f.TextValue()
			return text, ok && toOK(f, fallback) && toErr(f, text)
		},
	}
}

// assignMerge compiles a |= b.
func (c *compiler) assignMerge(n *syntax.Assign) expr {
	if _, ok := n.OK.(*syntax.Noop); ok {
		c.report(diag.New(640, "useless assignment to _", n.OK.Span(), "nothing is assigned here"))
		return broken(n.Span())
	}
	left := c.node(n.OK)
	if left.target == nil {
		return left // reported
	}
	right := c.node(n.Value)
	switch {
	case n.Err == nil && right.fallible:
		c.report(c.unhandledAssign(n, &right))
		return broken(n.Span())
	case n.Err != nil && !right.fallible:
		c.report(unnecessary(n))
		return broken(n.Span())
	}
	isObject := func(k kind.Kind) bool { return k.Is(kind.ObjectBit) || k.IsNever() }
	if !isObject(left.kind) || !isObject(right.kind) {
		d := diag.New(652, "only objects can be merged", n.OK.Span(), "must be an object, and is "+left.kind.String()).
			With(n.Value.Span(), "must be an object, and is "+right.kind.String())
		c.report(d.Note("assert the type first: object!(…)"))
		return broken(n.Span())
	}
	merged := left.kind.Merge(right.kind)
	if c.readOnly(left.target, n.OK.Span(), "") {
		return broken(n.Span())
	}
	t := left.target
	c.setRootKind(t, c.rootKind(t).Insert(t.Path, merged))
	run := right.run
	toErr := func(*fn.Frame, value.Value) bool { return true }
	if _, noErr := n.Err.(*syntax.Noop); n.Err != nil && !noErr {
		toErr, _ = c.target(n.Err, kind.Or(kind.String, kind.Null), value.Value{}, false)
	}
	do := func(f *fn.Frame) (value.Value, bool) {
		r, ok := run(f)
		if !ok {
			if n.Err == nil || !f.Caught() {
				return r, false
			}
			text, ok := f.TextValue()
			return text, ok && toErr(f, text)
		}
		if !toErr(f, value.Value{}) {
			return r, false
		}
		return mergeInto(f, t, r)
	}
	return expr{
		span: n.Span(), kind: merged, drop: do,
		run: func(f *fn.Frame) (value.Value, bool) {
			v, ok := do(f)
			return v.Share(), ok
		},
	}
}

// mergeInto merges the object r into the object at t, and returns the result.
func mergeInto(f *fn.Frame, t *fn.Target, r value.Value) (value.Value, bool) {
	place := t.Place(f)
	l, _ := place.Peek(t.Path)
	if l.Object() == nil || r.Object() == nil {
		return f.Failf("can't merge type %v into %v", kindText{r}, kindText{l})
	}
	if len(t.Path) > 0 {
		// Copy the shared containers on the path, and then change the object itself.
		l, ok := mergeObjects(f, l, r)
		if !ok || !f.SpendOnChange(*place, t.Path) {
			return l, false
		}
		return l, value.Insert(place, t.Path, l) == nil
	}
	if l.Shared() || r.Len() > fewFields {
		l, ok := mergeObjects(f, l, r)
		if ok {
			*place = l
		}
		return l, ok
	}
	if !f.Spend(l.Len() / 2) { // each new field moves those after it
		return l, false
	}
	o := place.MutObject()
	for _, x := range r.Object().Share() {
		o.Set(x.Key, x.Value)
	}
	return *place, true
}

const (
	// fewFields is the number of fields up to which they are put into an object one by one.
	fewFields = 8
	// manyFields is the number of fields of an event at which setting a field starts to be charged.
	manyFields = 64
)

// target compiles the left side of an assignment of a value of kind k. If it is a field of the event, single is the
// code of the whole assignment.
func (c *compiler) target(n syntax.Node, k kind.Kind, v value.Value,
	known bool,
) (to store, single func(fn.Expr) fn.Expr) {
	t := &fn.Target{}
	var segments []diag.Span
	switch n := n.(type) {
	case *syntax.Variable:
		slot, ok := c.lookup(n.Name)
		if !ok {
			slot = c.declare(n.Name, k, n.Span())
		}
		c.set(slot, k, v, known)
		return func(f *fn.Frame, v value.Value) bool {
			f.Slots[slot] = v
			return true
		}, nil
	case *syntax.Query:
		t.Path, segments = n.Path, n.Segments
		switch n.Root {
		case syntax.Event:
			t.Root = fn.Event
		case syntax.Meta:
			t.Root = fn.Meta
		default:
			t.Root = fn.Variable
			slot, ok := c.lookup(n.Name)
			t.Slot = slot
			if !ok {
				t.Slot = c.declare(n.Name, kind.Undefined, n.NameSpan)
				segments = nil // a new variable, so nothing is in the way
			}
		}
	default:
		c.report(diag.New(641, "invalid assignment target", n.Span(), "only variables and paths can be assigned to"))
		return func(*fn.Frame, value.Value) bool { return true }, nil
	}
	if !c.readOnly(t, n.Span(), "") {
		c.checkParents(n, t, segments)
	}
	c.setRootKind(t, c.rootKind(t).Insert(t.Path, k))
	to = func(f *fn.Frame, v value.Value) bool {
		place := t.Place(f)
		if !f.SpendOnChange(*place, t.Path) {
			return false
		}
		if err := value.Insert(place, t.Path, v); err != nil {
			_, ok := f.FailErr("", err)
			return ok
		}
		return true
	}
	if t.Root == fn.Event && len(t.Path) == 1 && !t.Path[0].IsIndex {
		return to, fieldSetter(t, to, c.place())
	}
	return to, nil
}

// fieldSetter returns the code of assignments to t, which is a field of the event. If the event is not an object, the
// code calls to.
func fieldSetter(t *fn.Target, to store, place int) func(fn.Expr) fn.Expr {
	key := t.Path[0].Name
	return func(run fn.Expr) fn.Expr {
		return func(f *fn.Frame) (value.Value, bool) {
			v, ok := run(f)
			if !ok {
				return v, false
			}
			if f.Event.SetField(v, &f.Places[place]) {
				return v, true
			}
			if f.Event.Len() > manyFields && !f.SpendOnChange(*f.Event, t.Path) {
				return v, false
			}
			o := f.Event.MutObject()
			if o == nil {
				return v, to(f, v)
			}
			o.SetCached(key, v, &f.Places[place])
			return v, true
		}
	}
}

// checkParents reports a path into something that is not a container of the right kind.
func (c *compiler) checkParents(n syntax.Node, t *fn.Target, segments []diag.Span) {
	k := c.rootKind(t)
	for i, span := range segments {
		s := &t.Path[i]
		want, name := kind.ObjectBit, "object"
		if s.IsIndex {
			want, name = kind.ArrayBit, "array"
		}
		// Containers that are missing in the event are created. In a variable this is an error, as programs expect.
		absent := t.Root != fn.Variable && k.Is(kind.UndefinedBit)
		if !k.Has(want) && !k.IsNever() && !absent {
			at := diag.Span{Start: n.Span().Start, End: span.Start}
			c.report(diag.New(642, "parent path segment rejects this mutation", span, "only an "+name+" has this").
				With(at, "this is of type "+k.String()).
				Note("assign an %s to the parent first", name))
			return
		}
		k = k.Get(t.Path[i : i+1])
	}
}
