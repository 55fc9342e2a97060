package enumerate

import (
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

var merge = &fn.Function{
	Name:  "merge",
	Group: fn.Object,
	Doc: "Returns the fields of both objects. If both have a field, the second object's value is used; if deep is " +
		"set and " +
		"both values are objects, they are merged.",
	Params: []fn.Param{
		{Name: "to", Doc: "The first object.", Kind: kind.Object},
		{Name: "from", Doc: "The object whose fields take precedence.", Kind: kind.Object},
		{
			Name: "deep", Doc: "Whether nested objects are merged too.", Kind: kind.Boolean, Optional: true,
			Default: value.NewBool(false),
		},
	},
	Examples: []fn.Example{
		{Title: "shallow", Source: `merge({"a": {"b": 1}, "c": 2}, {"a": {"d": 3}})`, Result: `{"a":{"d":3},"c":2}`},
		{
			Title:  "deep",
			Source: `merge({"a": {"b": 1}, "c": 2}, {"a": {"d": 3}}, deep: true)`,
			Result: `{"a":{"b":1,"d":3},"c":2}`,
		},
	},
	Type: func(c *fn.Call) fn.TypeDef {
		a, b := c.Kind(0).Only(kind.ObjectBit), c.Kind(1).Only(kind.ObjectBit)
		deep, known := c.Const(2)
		switch {
		case known && deep.Bool():
			return fn.TypeDef{Kind: mergeKinds(a, b)}
		case known:
			return fn.TypeDef{Kind: a.Merge(b)}
		}
		return fn.TypeDef{Kind: a.Merge(b).Union(mergeKinds(a, b))}
	},
	Impl: fn.Impl{F3: func(f *fn.Frame, to, from, deep value.Value) (value.Value, bool) {
		return mergeObjects(f, to, from, deep.Bool())
	}},
}

// mergeKinds returns the kind of objects of a and b merged deeply.
func mergeKinds(a, b kind.Kind) kind.Kind {
	out := a.Merge(b)
	if b.Object() == nil || a.Object() == nil {
		return out
	}
	if _, more := b.Object().Unknown(); more {
		// Objects inside may get further fields, or their fields may be replaced.
		return kind.Object
	}
	for _, x := range b.Object().Known() {
		at := value.Path{value.Name(x.Name)}
		old := a.Get(at)
		if !old.Has(kind.ObjectBit) || !x.Kind.Has(kind.ObjectBit) {
			continue
		}
		merged := mergeKinds(old.Only(kind.ObjectBit), x.Kind.Only(kind.ObjectBit))
		rest := out.Get(at)
		if old.Is(kind.ObjectBit) {
			rest = rest.Without(kind.ObjectBit)
		}
		out = out.Insert(at, rest.Union(merged))
	}
	return out
}

func mergeObjects(f *fn.Frame, to, from value.Value, deep bool) (value.Value, bool) {
	a, b := to.Object(), from.Object()
	switch {
	case b.Len() == 0:
		return to, true
	case a.Len() == 0:
		return from, true
	}
	n := a.Len() + b.Len()
	if !chargeCopy(f, n) {
		return value.Value{}, false
	}
	out := value.MakeFields(n)
	i, j := 0, 0
	for i < a.Len() || j < b.Len() {
		switch {
		case j == b.Len() || i < a.Len() && a.Key(i) < b.Key(j):
			out.Add(a.Key(i), a.At(i))
			i++
		case i == a.Len() || b.Key(j) < a.Key(i):
			out.Add(b.Key(j), b.At(j))
			j++
		default:
			v := b.At(j)
			if deep && v.Object() != nil && a.PeekAt(i).Object() != nil {
				var ok bool
				if v, ok = mergeObjects(f, a.At(i), v, true); !ok {
					return v, false
				}
			}
			out.Add(b.Key(j), v)
			i, j = i+1, j+1
		}
	}
	return out.Value(), true
}

var fromEntries = &fn.Function{
	Name:  "from_entries",
	Group: fn.Object,
	Doc: "Creates an object from an array of objects, each with a key and a value. The key is the first " +
		"of the fields key, Key, name and Name that is neither null nor false. The value is the field value or " +
		"Value; a missing value is null.",
	Params:  []fn.Param{{Name: "value", Doc: "The array of entries.", Kind: kind.Array}},
	Returns: kind.Object,
	Errors:  []string{"an entry is not an object", "a key is not a string"},
	Examples: []fn.Example{
		{
			Title:  "entries",
			Source: `from_entries([{"key": "a", "value": 1}, {"name": "b", "value": 2}])`,
			Result: `{"a":1,"b":2}`,
		},
		{Title: "back from to_entries", Source: `from_entries(to_entries({"a": 1}))`, Result: `{"a":1}`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		list := v.Array().Peek()
		if !f.Spend(len(list)) || !f.Reserve(len(list)*value.FieldBytes) {
			return value.Value{}, false
		}
		out := value.MakeFields(len(list))
		for _, entry := range list {
			o := entry.Object()
			if o == nil {
				return f.FailKind("object", entry)
			}
			var key value.Value
			for _, name := range [...]string{"key", "Key", "name", "Name"} {
				if key, _ = o.PeekGet(name); !key.IsFalsy() {
					break
				}
			}
			if !key.IsString() {
				return f.Failf("object keys must be strings, not %v", key.Kind())
			}
			x, ok := o.Get("value")
			if !ok {
				x, _ = o.Get("Value")
			}
			out.Add(key.Text(), x)
		}
		out.Sort()
		return out.Value(), true
	}},
}

var toEntries = &fn.Function{
	Name:   "to_entries",
	Group:  fn.Object,
	Doc:    "Returns an array with an object for each field or element, with its key or index and its value.",
	Params: []fn.Param{{Name: "value", Doc: "The object or array.", Kind: kind.Or(kind.Object, kind.Array)}},
	Examples: []fn.Example{
		{Title: "an object", Source: `to_entries({"a": 1})`, Result: `[{"key":"a","value":1}]`},
		{Title: "an array", Source: `to_entries(["x"])`, Result: `[{"key":0,"value":"x"}]`},
	},
	Type: func(c *fn.Call) fn.TypeDef {
		return fn.TypeDef{Kind: kind.ArrayAll(kind.ObjectOf(
			kind.Field{Name: "key", Kind: keyKind(c.Kind(0))},
			kind.Field{Name: "value", Kind: c.Kind(0).Elem()},
		))}
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		n := v.Len()
		if !f.Spend(n) || !f.Reserve(n*3*value.FieldBytes) {
			return value.Value{}, false
		}
		out := make([]value.Value, n)
		for i := range out {
			entry := value.MakeFields(2)
			if o := v.Object(); o != nil {
				entry.Add("key", value.NewString(o.Key(i)))
				entry.Add("value", o.At(i))
			} else {
				entry.Add("key", value.NewInt(int64(i)))
				entry.Add("value", v.Array().At(i))
			}
			out[i] = entry.Value()
		}
		return value.NewArray(out), true
	}},
}

// keyKind returns the kind of the keys of a container of k: strings, indexes or both.
func keyKind(k kind.Kind) kind.Kind {
	out := kind.Never
	if k.Has(kind.ObjectBit) {
		out = kind.String
	}
	if k.Has(kind.ArrayBit) {
		out = out.Union(kind.Integer)
	}
	return out
}

var objectFromArray = &fn.Function{
	Name:  "object_from_array",
	Group: fn.Object,
	Doc: "Creates an object from an array of pairs, each of which is an array of a key and a value, or from an " +
		"array of values and an array of keys. Pairs with the key null are left out, and so are elements without " +
		"a counterpart in the other array. A pair without a value gets the value null.",
	Params: []fn.Param{
		{Name: "values", Doc: "The pairs, or the values if there are keys.", Kind: kind.Array},
		{Name: "keys", Doc: "The keys.", Kind: kind.Array, Optional: true},
	},
	Returns: kind.Object,
	Errors:  []string{"a key is neither a string nor null", "a pair is not an array, or is empty"},
	Examples: []fn.Example{
		{Title: "pairs", Source: `object_from_array([["a", 1], [null, 2], ["c", 3]])`, Result: `{"a":1,"c":3}`},
		{Title: "keys and values", Source: `object_from_array([1, 2], keys: ["a", "b"])`, Result: `{"a":1,"b":2}`},
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, values, keys value.Value) (value.Value, bool) {
		list := values.Array()
		n := list.Len()
		if keys.IsDefined() {
			n = min(n, keys.Len())
		}
		if !f.Spend(n) || !f.Reserve(n*value.FieldBytes) {
			return value.Value{}, false
		}
		out := value.MakeFields(n)
		for i := range n {
			var key, x value.Value
			if keys.IsDefined() {
				key, x = keys.Array().PeekAt(i), list.At(i)
			} else {
				pair := list.PeekAt(i)
				switch {
				case pair.Array() == nil:
					return f.FailKind("array", pair)
				case pair.Len() == 0:
					return f.Fail("array value too short")
				case pair.Len() > 1:
					x = pair.Array().At(1)
				}
				key = pair.Array().PeekAt(0)
			}
			switch {
			case key.IsString():
				out.Add(key.Text(), x)
			case !key.IsNull():
				return f.FailKind("string", key)
			}
		}
		out.Sort()
		return out.Value(), true
	}},
}

var unnest = &fn.Function{
	Name:  "unnest",
	Group: fn.Object,
	Doc: "Returns an array with a copy of the event (or of the variable at the start of the path) for each " +
		"element of the array at the path. In each copy, the element replaces this array. If you assign the " +
		"result to the event, one event becomes several.",
	Params: []fn.Param{
		{Name: "path", Doc: "The path to the array.", Kind: kind.Array, Target: true},
	},
	Errors: []string{"the value at the path is not an array"},
	Examples: []fn.Example{
		{
			Title: "an event for each message", Source: `unnest!(.messages)`, Event: `{"host":"h","messages":["a","b"]}`,
			Result: `[{"host":"h","messages":"a"},{"host":"h","messages":"b"}]`,
		},
		{Title: "no array", Source: `unnest!(.messages)`, Event: `{"messages":"a"}`, Fails: `expected array, got string`},
	},
	Type: func(c *fn.Call) fn.TypeDef {
		a := c.Kind(0).Only(kind.ArrayBit)
		with := func(elem kind.Kind) kind.Kind {
			return c.Args[0].Root.Insert(c.Args[0].Target.Path, elem)
		}
		var known []kind.Kind
		others := kind.Never
		if elems := a.Array(); elems != nil {
			for _, k := range elems.Known() {
				missing := k.Has(kind.UndefinedBit)
				if k = with(k.Without(kind.UndefinedBit)); missing {
					k = k.OrUndefined()
				}
				known = append(known, k)
			}
			if k, ok := elems.Unknown(); ok {
				others = with(k.Without(kind.UndefinedBit))
			}
		}
		d := fn.TypeDef{Kind: kind.ArrayOf(known...), Fallible: !c.Kind(0).Is(kind.ArrayBit)}
		if !others.IsNever() {
			d.Kind = d.Kind.WithOthers(others)
		}
		return d
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		t := c.Args[0].Target
		return fn.Impl{Raw: func(f *fn.Frame) (value.Value, bool) {
			var root value.Value
			if p := t.Place(f); p != nil {
				root = p.Share()
			} else {
				var ok bool
				if root, ok = t.Base(f); !ok {
					return root, false
				}
				root.Share()
			}
			v, _ := root.Get(t.Path)
			if v.Array() == nil {
				return f.FailKind("array", v)
			}
			return unnestAt(f, root, t.Path, v)
		}}, nil
	},
}

// unnestAt returns a copy of root for each element of list. Each copy has the element at the path.
func unnestAt(f *fn.Frame, root value.Value, path value.Path, list value.Value) (value.Value, bool) {
	n := list.Len()
	if !f.Reserve(n * value.ElementBytes) {
		return value.Value{}, false
	}
	out := make([]value.Value, n)
	for i := range out {
		if !f.Spend(2) || !f.ReserveContainer(root.Len()) || !f.SpendOnChange(root, path) {
			return value.Value{}, false
		}
		out[i] = root
		if err := value.Insert(&out[i], path, list.Array().At(i)); err != nil {
			return f.FailErr("unable to unnest: ", err)
		}
	}
	return value.NewArray(out), true
}
