package stdlib

import (
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// enumerateFunctions are the functions of the group Enumerate.
var enumerateFunctions = []*fn.Function{length, mapValues}

var length = &fn.Function{
	Name:  "length",
	Group: fn.Enumerate,
	Doc:   "Returns the number of elements of an array, of fields of an object, or of bytes of a string.",
	Params: []fn.Param{
		{Name: "value", Doc: "The value to measure.", Kind: kind.Or(kind.String, kind.Object, kind.Array), Borrow: true},
	},
	Examples: []fn.Example{
		{Title: "an array", Source: `length([1, 2])`, Result: `2`},
		{Title: "bytes, not characters", Source: `length("né")`, Result: `3`},
	},
	Returns: kind.Integer,
	Impl: fn.Impl{F1: func(_ *fn.Frame, v value.Value) (value.Value, bool) {
		return value.NewInt(int64(v.Len())), true
	}},
}

var mapValues = &fn.Function{
	Name:  "map_values",
	Group: fn.Enumerate,
	Doc:   "Puts the result of the closure in the place of each value of an object or array.",
	Params: []fn.Param{
		{Name: "value", Doc: "The object or array.", Kind: kind.Or(kind.Object, kind.Array)},
		{Name: "recursive", Doc: "Whether values inside values are replaced too; a container before what it holds.", Kind: kind.Boolean, Optional: true, Default: value.NewBool(false)},
	},
	Closure: &fn.Closure{
		Params: []fn.Enum{{Value: "value", Doc: "the value to replace"}},
		Kinds: func(c *fn.Call) []kind.Kind {
			if r, ok := c.Const(1); ok && !r.Bool() {
				return []kind.Kind{c.Kind(0).Elem()}
			}
			return []kind.Kind{kind.Value}
		},
		Result: kind.Any,
	},
	Examples: []fn.Example{
		{Title: "an object", Source: `map_values({"a": "x", "b": "y"}) -> |v| { upcase(v) }`, Result: `{"a":"X","b":"Y"}`},
		{Title: "an array", Source: `map_values([1, 2]) -> |v| { v * 10 }`, Result: `[10,20]`},
	},
	Type: func(c *fn.Call) fn.TypeDef {
		if r, ok := c.Const(1); !ok || r.Bool() {
			return fn.TypeDef{Kind: c.Kind(0).Only(kind.ObjectBit | kind.ArrayBit).WithOthers(kind.Value)}
		}
		return fn.TypeDef{Kind: c.Kind(0).Only(kind.ObjectBit | kind.ArrayBit).MapElems(c.Body.Kind)}
	},
	Impl: fn.Impl{Each: func(f *fn.Frame, args []value.Value, body *fn.Body) (value.Value, bool) {
		return mapOver(f, args[0], args[1].Bool(), body)
	}},
}

// mapOver returns v, a container, with the closure's results in place of its values.
func mapOver(f *fn.Frame, v value.Value, recursive bool, body *fn.Body) (value.Value, bool) {
	one := func(x value.Value) (value.Value, bool) {
		x, ok := body.Call(f, x)
		if ok && recursive && x.Len() > 0 && !x.IsString() {
			return mapOver(f, x.Share(), true, body)
		}
		return x, ok
	}
	if o := v.Object(); o != nil {
		out := value.MakeFields(o.Len())
		for i := range o.Len() {
			x, ok := one(o.At(i))
			if !ok {
				return x, false
			}
			out.Add(o.Key(i), x) // the keys are in order already
		}
		return out.Value(), true
	}
	a := v.Array()
	out := make([]value.Value, a.Len())
	for i := range out {
		x, ok := one(a.At(i))
		if !ok {
			return x, false
		}
		out[i] = x
	}
	return value.NewArray(out), true
}
