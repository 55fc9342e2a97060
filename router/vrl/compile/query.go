package compile

import (
	"cordwood/router/vrl/diag"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/syntax"
	"cordwood/router/vrl/value"
)

func (c *compiler) variable(n *syntax.Variable) expr {
	slot, ok := c.lookup(n.Name)
	if !ok {
		c.undefined(n.Name, n.Span())
		return broken(n.Span())
	}
	v := &c.vars[slot]
	v.read = true
	return expr{
		span: n.Span(), kind: v.kind, value: v.value, known: v.known,
		target: &fn.Target{Root: fn.Variable, Slot: slot},
		look:   func(f *fn.Frame) (value.Value, bool) { return f.Slots[slot], true },
		run:    func(f *fn.Frame) (value.Value, bool) { return f.Slots[slot].Share(), true },
	}
}

func (c *compiler) query(n *syntax.Query) expr {
	out := expr{span: n.Span()}
	t := &fn.Target{Path: n.Path}
	out.target = t
	switch n.Root {
	case syntax.Event:
		t.Root, out.kind = fn.Event, c.event.Get(n.Path)
		out.look = c.eventLook(n.Path)
	case syntax.Meta:
		t.Root, out.kind = fn.Meta, c.meta.Get(n.Path)
		out.look = func(f *fn.Frame) (value.Value, bool) {
			v, _ := f.Meta.Peek(t.Path)
			return v, true
		}
	case syntax.Named:
		slot, ok := c.lookup(n.Name)
		if !ok {
			c.undefined(n.Name, n.NameSpan)
			return broken(n.Span())
		}
		v := &c.vars[slot]
		v.read = true
		t.Root, t.Slot, out.kind = fn.Variable, slot, v.kind.Get(n.Path)
		if v.known {
			out.value, _ = v.value.Get(n.Path)
			out.known = true
		}
		out.look = func(f *fn.Frame) (value.Value, bool) {
			v, _ := f.Slots[slot].Peek(t.Path)
			return v, true
		}
	default:
		base := c.node(n.Base)
		t.Root, t.Base = fn.Result, base.looking()
		out.base, out.kind = base.kind, base.kind.Get(n.Path)
		out.inherit(&base)
		if base.known {
			out.value, _ = base.value.Get(n.Path)
			out.known = true
		}
		out.look = lookBehind(&base, n.Path)
	}
	look := out.look
	out.run = func(f *fn.Frame) (value.Value, bool) {
		v, ok := look(f)
		return v.Share(), ok
	}
	return out
}

// lookBehind returns the code that reads a path of the value of base.
func lookBehind(base *expr, p value.Path) fn.Expr {
	if base.part != nil && len(p) > 0 {
		if part := base.part(p[0]); part != nil {
			if len(p) == 1 {
				return part
			}
			base, p = &expr{run: part}, p[1:]
		}
	}
	run := base.looking()
	return func(f *fn.Frame) (value.Value, bool) {
		v, ok := run(f)
		if !ok {
			return v, false
		}
		v, _ = v.Peek(p)
		return v, true
	}
}

// place returns the index of a new place in Frame.Places.
func (c *compiler) place() int {
	c.places++
	return c.places - 1
}

// eventLook returns the code that reads a path of the event.
func (c *compiler) eventLook(p value.Path) fn.Expr {
	switch {
	case len(p) == 0:
		return func(f *fn.Frame) (value.Value, bool) { return *f.Event, true }
	case p[0].IsIndex:
		return func(f *fn.Frame) (value.Value, bool) {
			v, _ := f.Event.Peek(p)
			return v, true
		}
	}
	key, place := p[0].Name, c.place()
	switch rest := p[1:]; {
	case len(rest) == 0:
		return func(f *fn.Frame) (value.Value, bool) { return f.Event.PeekField(key, &f.Places[place]), true }
	case len(rest) == 1 && !rest[0].IsIndex:
		inner, innerPlace := rest[0].Name, c.place()
		return func(f *fn.Frame) (value.Value, bool) {
			v := f.Event.PeekField(key, &f.Places[place])
			return v.PeekField(inner, &f.Places[innerPlace]), true
		}
	default:
		return func(f *fn.Frame) (value.Value, bool) {
			v, _ := f.Event.PeekField(key, &f.Places[place]).Peek(rest)
			return v, true
		}
	}
}

// readOnly reports a change of a path that the host does not allow. A prefix means that a function would make the
// change.
func (c *compiler) readOnly(t *fn.Target, span diag.Span, prefix string) bool {
	if t.Root != fn.Event && t.Root != fn.Meta {
		return false
	}
	for _, r := range c.cfg.ReadOnly {
		if r.Meta != (t.Root == fn.Meta) {
			continue
		}
		if r.Path.HasPrefix(t.Path) || r.Recursive && t.Path.HasPrefix(r.Path) {
			d := diag.New(315, "mutation of read-only value", span, "this path cannot be changed here")
			if prefix != "" {
				d.Code, d.Message = 610, prefix+"error[E315]: "+d.Message
			}
			c.report(d.Note("%s%s is read-only", map[bool]string{false: ".", true: "%"}[r.Meta], r.Path))
			return true
		}
	}
	return false
}
