package enumerate

import (
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

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
	Doc:   "Replaces each value of an object or array with the result of the closure.",
	Params: []fn.Param{
		{Name: "value", Doc: "The object or array.", Kind: kind.Or(kind.Object, kind.Array)},
		{
			Name: "recursive", Doc: "Whether values in nested containers are replaced too. A container is replaced before " +
				"its content.",
			Kind: kind.Boolean, Optional: true, Default: value.NewBool(false),
		},
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
			return fn.TypeDef{Kind: c.Kind(0).Only(kind.ObjectBit | kind.ArrayBit).MapElems(kind.Value)}
		}
		return fn.TypeDef{Kind: c.Kind(0).Only(kind.ObjectBit | kind.ArrayBit).MapElems(c.Body.Kind)}
	},
	Impl: fn.Impl{Each: func(f *fn.Frame, args []value.Value, body *fn.Body) (value.Value, bool) {
		return mapOver(f, args[0], args[1].Bool(), body)
	}},
}

// mapOver returns the container v with its values replaced by the closure's results.
func mapOver(f *fn.Frame, v value.Value, recursive bool, body *fn.Body) (value.Value, bool) {
	return value.Map(v, func(x value.Value) (value.Value, bool) {
		x, ok := body.Call(f, x)
		if ok && recursive && x.Len() > 0 && !x.IsString() {
			return mapOver(f, x.Share(), true, body)
		}
		return x, ok
	})
}

var filter = &fn.Function{
	Name:   "filter",
	Group:  fn.Enumerate,
	Doc:    "Returns the object or array with only the values for which the closure returns true.",
	Params: []fn.Param{{Name: "value", Doc: "The object or array.", Kind: kind.Or(kind.Object, kind.Array)}},
	Closure: &fn.Closure{
		Params: keyAndValue,
		Kinds:  keyAndValueKinds,
		Result: kind.Boolean,
	},
	Examples: []fn.Example{
		{Title: "an array", Source: `filter([1, 2, 3]) -> |_index, value| { value > 1 }`, Result: `[2,3]`},
		{Title: "an object", Source: `filter({"a": 1, "b": 2}) -> |key, _value| { key != "a" }`, Result: `{"b":2}`},
	},
	Type: func(c *fn.Call) fn.TypeDef {
		out := kind.Never
		if k := c.Kind(0).Only(kind.ObjectBit); !k.IsNever() {
			out = kind.ObjectAll(k.Elem())
		}
		if k := c.Kind(0).Only(kind.ArrayBit); !k.IsNever() {
			out = out.Union(kind.ArrayAll(k.Elem()))
		}
		return fn.TypeDef{Kind: out}
	},
	Impl: fn.Impl{Each: func(f *fn.Frame, args []value.Value, body *fn.Body) (value.Value, bool) {
		if o := args[0].Object(); o != nil {
			out := value.MakeFields(o.Len())
			for i := range o.Len() {
				keep, ok := body.Call(f, value.NewString(o.Key(i)), o.At(i))
				if !ok {
					return keep, false
				}
				if keep.IsTrue() {
					out.Add(o.Key(i), o.At(i))
				}
			}
			return out.Value(), true
		}
		a := args[0].Array()
		var out []value.Value
		for i := range a.Len() {
			keep, ok := body.Call(f, value.NewInt(int64(i)), a.At(i))
			if !ok {
				return keep, false
			}
			if keep.IsTrue() {
				out = append(out, a.At(i))
			}
		}
		return value.NewArray(out), true
	}},
}

// The parameters of closures over the values of a container.
var keyAndValue = []fn.Enum{
	{Value: "key", Doc: "the name of the field, or the index of the element"},
	{Value: "value", Doc: "its value"},
}

func keyAndValueKinds(c *fn.Call) []kind.Kind {
	return []kind.Kind{keyKind(c.Kind(0)), c.Kind(0).Only(kind.ObjectBit | kind.ArrayBit).Elem()}
}

var forEach = &fn.Function{
	Name:   "for_each",
	Group:  fn.Enumerate,
	Doc:    "Runs the closure for each field of an object or element of an array. The result is null.",
	Params: []fn.Param{{Name: "value", Doc: "The object or array.", Kind: kind.Or(kind.Object, kind.Array)}},
	Closure: &fn.Closure{
		Params: keyAndValue,
		Kinds:  keyAndValueKinds,
		Result: kind.Any,
	},
	Effect:  true,
	Returns: kind.Null,
	Examples: []fn.Example{
		{Title: "a sum", Source: "sum = 0\nfor_each([1, 2, 3]) -> |_index, value| { sum = sum + value }\nsum", Result: `6`},
		{
			Title:  "set fields",
			Source: "for_each({\"a\": 1}) -> |key, value| { . = set!(., [\"n_\" + key], value) }\n.",
			Result: `{"n_a":1}`,
		},
	},
	Impl: fn.Impl{Each: func(f *fn.Frame, args []value.Value, body *fn.Body) (value.Value, bool) {
		if o := args[0].Object(); o != nil {
			for i := range o.Len() {
				if v, ok := body.Call(f, value.NewString(o.Key(i)), o.At(i)); !ok {
					return v, false
				}
			}
			return value.Value{}, true
		}
		a := args[0].Array()
		for i := range a.Len() {
			if v, ok := body.Call(f, value.NewInt(int64(i)), a.At(i)); !ok {
				return v, false
			}
		}
		return value.Value{}, true
	}},
}

var mapKeys = &fn.Function{
	Name:  "map_keys",
	Group: fn.Enumerate,
	Doc: "Replaces each key of an object with the result of the closure. If two keys become equal, the value of " +
		"the later key is kept.",
	Params: []fn.Param{
		{Name: "value", Doc: "The object.", Kind: kind.Object},
		{
			Name: "recursive", Doc: "Whether keys of nested objects, including objects in arrays, are replaced too.",
			Kind: kind.Boolean, Optional: true, Default: value.NewBool(false),
		},
	},
	Closure: &fn.Closure{
		Params: []fn.Enum{{Value: "key", Doc: "the key to replace"}},
		Kinds:  func(*fn.Call) []kind.Kind { return []kind.Kind{kind.String} },
		Result: kind.String,
	},
	Examples: []fn.Example{
		{Title: "the keys at the top", Source: `map_keys({"a": {"b": 1}}) -> |key| { upcase(key) }`, Result: `{"A":{"b":1}}`},
		{
			Title:  "all keys",
			Source: `map_keys({"a": [{"b": 1}]}, recursive: true) -> |key| { upcase(key) }`,
			Result: `{"A":[{"B":1}]}`,
		},
	},
	Type: func(c *fn.Call) fn.TypeDef {
		if r, ok := c.Const(1); ok && !r.Bool() {
			return fn.TypeDef{Kind: kind.ObjectAll(c.Kind(0).Only(kind.ObjectBit).Elem())}
		}
		return fn.TypeDef{Kind: kind.Object}
	},
	Impl: fn.Impl{Each: func(f *fn.Frame, args []value.Value, body *fn.Body) (value.Value, bool) {
		return mapKeysOf(f, args[0], args[1].Bool(), body)
	}},
}

func mapKeysOf(f *fn.Frame, v value.Value, recursive bool, body *fn.Body) (value.Value, bool) {
	if v.Array() != nil {
		return value.Map(v, func(x value.Value) (value.Value, bool) { return mapKeysOf(f, x, true, body) })
	}
	o := v.Object()
	if o == nil {
		return v, true
	}
	out := value.MakeFields(o.Len())
	for i := range o.Len() {
		key, ok := body.Call(f, value.NewString(o.Key(i)))
		if !ok {
			return key, false
		}
		x := o.At(i)
		if recursive {
			if x, ok = mapKeysOf(f, x, true, body); !ok {
				return x, false
			}
		}
		out.Add(key.Text(), x)
	}
	out.Sort()
	return out.Value(), true
}
