package compile

import (
	"iter"
	"strings"

	"cordwood/router/vrl/diag"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/syntax"
	"cordwood/router/vrl/value"
)

// variable is a variable and what is known of it now. Its index is its slot.
type variable struct {
	name  string
	kind  kind.Kind
	value value.Value // if known
	known bool

	span  diag.Span // of its first assignment
	read  bool
	param bool
}

// change is an entry of the journal: what a variable was before it changed.
type change struct {
	slot  int
	kind  kind.Kind
	value value.Value
	known bool
}

// snapshot is the knowledge at the end of a branch, as far as the branch changed it.
type snapshot struct {
	event, meta kind.Kind
	vars        map[int]change
}

// open and close bound a scope: names new in it are gone after it.
func (c *compiler) open()  { c.scopes = append(c.scopes, nil) }
func (c *compiler) close() { c.scopes = c.scopes[:len(c.scopes)-1] }

func (c *compiler) lookup(name string) (int, bool) {
	for i := len(c.scopes) - 1; i >= 0; i-- {
		if slot, ok := c.scopes[i][name]; ok {
			return slot, true
		}
	}
	return 0, false
}

// declare makes a variable in the innermost scope.
func (c *compiler) declare(name string, k kind.Kind, span diag.Span) int {
	top := len(c.scopes) - 1
	if c.scopes[top] == nil {
		c.scopes[top] = map[string]int{}
	}
	c.vars = append(c.vars, variable{name: name, kind: k, span: span})
	slot := len(c.vars) - 1
	c.scopes[top][name] = slot
	return slot
}

// set changes what is known of a variable.
func (c *compiler) set(slot int, k kind.Kind, v value.Value, known bool) {
	x := &c.vars[slot]
	c.journal = append(c.journal, change{slot, x.kind, x.value, x.known})
	x.kind, x.value, x.known = k, v, known
}

type mark struct {
	journal     int
	event, meta kind.Kind
}

// mark notes the knowledge at the start of a branch.
func (c *compiler) mark() mark { return mark{len(c.journal), c.event, c.meta} }

// rewind restores the knowledge at the mark and returns the knowledge at the branch's end.
func (c *compiler) rewind(m mark) snapshot {
	s := snapshot{event: c.event, meta: c.meta}
	if len(c.journal) > m.journal {
		s.vars = map[int]change{}
	}
	for i := len(c.journal) - 1; i >= m.journal; i-- {
		old := c.journal[i]
		x := &c.vars[old.slot]
		if _, ok := s.vars[old.slot]; !ok {
			s.vars[old.slot] = change{old.slot, x.kind, x.value, x.known}
		}
		x.kind, x.value, x.known = old.kind, old.value, old.known
	}
	c.journal = c.journal[:m.journal]
	c.event, c.meta = m.event, m.meta
	return s
}

// merge unites the knowledge with the knowledge after a branch that may have run.
func (c *compiler) merge(s snapshot) {
	c.event, c.meta = c.event.Union(s.event), c.meta.Union(s.meta)
	for slot, x := range s.vars {
		c.mergeVar(slot, x)
	}
}

// apply replaces the knowledge by the knowledge after a branch that runs in any case.
func (c *compiler) apply(s snapshot) {
	c.event, c.meta = s.event, s.meta
	for slot, x := range s.vars {
		c.set(slot, x.kind, x.value, x.known)
	}
}

func (c *compiler) mergeVar(slot int, x change) {
	v := &c.vars[slot]
	known := v.known && x.known && value.Same(v.value, x.value)
	c.set(slot, v.kind.Union(x.kind), v.value, known)
}

// mergeBoth replaces the knowledge by the union of two branches; one of them has run.
func (c *compiler) mergeBoth(a, b snapshot) {
	c.event, c.meta = a.event.Union(b.event), a.meta.Union(b.meta)
	for slot, x := range a.vars {
		if y, ok := b.vars[slot]; ok {
			known := x.known && y.known && value.Same(x.value, y.value)
			c.set(slot, x.kind.Union(y.kind), x.value, known)
			continue
		}
		c.mergeVar(slot, x)
	}
	for slot, y := range b.vars {
		if _, ok := a.vars[slot]; !ok {
			c.mergeVar(slot, y)
		}
	}
}

// names yields all names of variables in scope.
func (c *compiler) names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, s := range c.scopes {
			for name := range s {
				if !yield(name) {
					return
				}
			}
		}
		for _, word := range []string{"null", "true", "false"} {
			if !yield(word) {
				return
			}
		}
	}
}

// otherNames are what other languages call things.
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

// unusedResult warns of an expression whose value is dropped although it does nothing else.
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
		// A call that may fail can be there to end its block early.
		if f == nil || f.Effect || n.Closure != nil || c.blocks > 0 && !n.Bang {
			return
		}
		what = "result for function call `" + n.Name + "`"
	default:
		return
	}
	c.unused(what, n.Span())
}

func (c *compiler) unused(what string, span diag.Span) {
	d := diag.New(900, "unused "+what, span, "use the result of this expression or remove it")
	d.Severity = diag.Warning
	c.report(d.Note("the expression has no other effect"))
}

func (c *compiler) unusedVariables() {
	for _, v := range c.vars {
		if !v.read && !v.param && !strings.HasPrefix(v.name, "_") {
			c.unused("variable `"+v.name+"`", v.span)
		}
	}
}
