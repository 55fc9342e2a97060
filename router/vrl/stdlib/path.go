package stdlib

import (
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// pathFunctions are the functions of the group Path.
var pathFunctions = []*fn.Function{del, exists}

var del = &fn.Function{
	Name:  "del",
	Group: fn.Path,
	Doc:   "Removes what the path leads to and returns it. If there is nothing it returns null.",
	Params: []fn.Param{
		{Name: "target", Doc: "The path to remove.", Kind: kind.Any, Target: true},
		{Name: "compact", Doc: "Whether containers that become empty by it are removed too.", Kind: kind.Boolean, Optional: true, Default: value.NewBool(false)},
	},
	Effect: true,
	Examples: []fn.Example{
		{Title: "remove a field", Source: "del(.secret)\n.", Event: `{"secret":1,"keep":2}`, Result: `{"keep":2}`},
		{Title: "rename a field", Source: ".new = del(.old)\n.", Event: `{"old":1}`, Result: `{"new":1}`},
		{Title: "remove empty parents", Source: "del(.a.b, compact: true)\n.", Event: `{"a":{"b":1},"c":2}`, Result: `{"c":2}`},
	},
	Type: func(c *fn.Call) fn.TypeDef {
		compact, known := c.Const(1)
		c.Removes(fn.Removal{Arg: 0, Compact: compact.Bool(), Certain: known})
		return fn.TypeDef{Kind: c.Kind(0).Defined()}
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		t := c.Args[0].Target
		if t.Root == fn.Result {
			// Of a value that is nowhere kept there is nothing to remove.
			return fn.Impl{F1: func(_ *fn.Frame, v value.Value) (value.Value, bool) { return v, true }}, nil
		}
		if compact, ok := c.Const(1); ok {
			return fn.Impl{Raw: func(f *fn.Frame) (value.Value, bool) {
				v, _ := value.Remove(t.Place(f), t.Path, compact.Bool())
				return v, true
			}}, nil
		}
		return fn.Impl{F2: func(f *fn.Frame, _, compact value.Value) (value.Value, bool) {
			v, _ := value.Remove(t.Place(f), t.Path, compact.Bool())
			return v, true
		}}, nil
	},
}

var exists = &fn.Function{
	Name:  "exists",
	Group: fn.Path,
	Doc:   "Tells whether the path leads to a value, which may be null.",
	Params: []fn.Param{
		{Name: "field", Doc: "The path to look at.", Kind: kind.Any, Target: true, Borrow: true},
	},
	Examples: []fn.Example{
		{Title: "there", Source: `exists(.a.b)`, Event: `{"a":{"b":null}}`, Result: `true`},
		{Title: "not there", Source: `exists(.a.c)`, Event: `{"a":{"b":null}}`, Result: `false`},
	},
	Returns: kind.Boolean,
	Compile: func(c *fn.Call) (fn.Impl, error) {
		t := c.Args[0].Target
		return fn.Impl{Raw: func(f *fn.Frame) (value.Value, bool) {
			_, found, ok := t.Peek(f)
			return value.NewBool(found), ok
		}}, nil
	},
}
