package path

import (
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

var del = &fn.Function{
	Name:  "del",
	Group: fn.Path,
	Doc:   "Removes the field or element at the path and returns it. If there is none, it returns null.",
	Params: []fn.Param{
		{Name: "target", Doc: "The path to remove.", Kind: kind.Any, Target: true},
		{
			Name: "compact", Doc: "Whether containers that become empty are removed too.", Kind: kind.Boolean,
			Optional: true, Default: value.NewBool(false),
		},
	},
	Effect: true,
	Examples: []fn.Example{
		{Title: "remove a field", Source: "del(.secret)\n.", Event: `{"secret":1,"keep":2}`, Result: `{"keep":2}`},
		{Title: "rename a field", Source: ".new = del(.old)\n.", Event: `{"old":1}`, Result: `{"new":1}`},
		{
			Title: "remove empty parents", Source: "del(.a.b, compact: true)\n.", Event: `{"a":{"b":1},"c":2}`,
			Result: `{"c":2}`,
		},
	},
	Type: func(c *fn.Call) fn.TypeDef {
		compact, known := c.Const(1)
		c.Removes(fn.Removal{Arg: 0, Compact: compact.Bool(), Certain: known})
		return fn.TypeDef{Kind: c.Kind(0).Defined()}
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		t := c.Args[0].Target
		if t.Root == fn.Result {
			// Removing from a temporary value has no effect.
			return fn.Impl{F1: func(_ *fn.Frame, v value.Value) (value.Value, bool) { return v, true }}, nil
		}
		if compact, ok := c.Const(1); ok {
			if t.Root == fn.Event && len(t.Path) == 1 && !t.Path[0].IsIndex && !compact.Bool() {
				return fn.Impl{Raw: fieldRemover(t, c.Place())}, nil
			}
			return fn.Impl{Raw: func(f *fn.Frame) (value.Value, bool) {
				return removeFrom(f, t, compact.Bool())
			}}, nil
		}
		return fn.Impl{F2: func(f *fn.Frame, _, compact value.Value) (value.Value, bool) {
			return removeFrom(f, t, compact.Bool())
		}}, nil
	},
}

// fieldRemover returns the code that removes a field of the event. Removing from a small object costs no steps.
func fieldRemover(t *fn.Target, place int) func(*fn.Frame) (value.Value, bool) {
	key := t.Path[0].Name
	return func(f *fn.Frame) (value.Value, bool) {
		if f.Event.Kind() != value.Object || f.Event.Len() > fn.FewElements || f.Event.Shared() {
			return removeFrom(f, t, false)
		}
		v, _ := f.Event.MutObject().DeleteCached(key, &f.Places[place])
		return v, true
	}
}

func removeFrom(f *fn.Frame, t *fn.Target, compact bool) (value.Value, bool) {
	place := t.Place(f)
	if !f.SpendOnRemoval(*place, t.Path) {
		return value.Value{}, false
	}
	v, _ := value.Remove(place, t.Path, compact)
	return v, true
}

var exists = &fn.Function{
	Name:  "exists",
	Group: fn.Path,
	Doc:   "Returns whether the path leads to a value, which may be null.",
	Params: []fn.Param{
		{Name: "field", Doc: "The path to check.", Kind: kind.Any, Target: true, Borrow: true},
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

var get = &fn.Function{
	Name:  "get",
	Group: fn.Path,
	Doc: "Returns the value at a path that is computed at run time, or null if there is none. If you know the " +
		"path when you write the program, write .a.b[0] instead, which cannot fail.",
	Params: []fn.Param{
		{Name: "value", Doc: "The object or array to search.", Kind: kind.Or(kind.Object, kind.Array)},
		pathParam,
	},
	Returns:  kind.Value,
	Fallible: true,
	Errors:   pathErrors,
	Examples: []fn.Example{
		{Title: "into an object", Source: `get!({"a": {"b": [7, 8]}}, ["a", "b", -1])`, Result: `8`},
		{Title: "by a name from the event", Source: `get!(., [.field])`, Event: `{"field":"b","b":1}`, Result: `1`},
		{Title: "leads nowhere", Source: `get!({}, ["a"])`, Result: `null`},
		{Title: "no path", Source: `get!({}, [true])`, Fails: `path segment must be either string or integer, not boolean`},
	},
	Type: func(c *fn.Call) fn.TypeDef {
		if p, ok := constantPath(c, 1); ok {
			return fn.TypeDef{Kind: containers(c.Kind(0)).Get(p).Defined(), Fallible: true}
		}
		return fn.TypeDef{Kind: kind.Value, Fallible: true}
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, v, path value.Value) (value.Value, bool) {
		var room [8]value.Segment
		p, ok := dynamicPath(f, path, room[:0])
		if !ok {
			return value.Value{}, false
		}
		x, _ := v.Get(p)
		return x, true
	}},
}

var pathParam = fn.Param{
	Name: "path", Kind: kind.Array, Borrow: true,
	Doc: "The steps of the path: strings are field names, and integers are indexes. Negative indexes count from the end.",
}

var pathErrors = []string{"a step of the path is neither a string nor an integer", "the path has more than 1000 steps"}

// maxPath limits the number of segments of a path built at run time. Values are never nested that deep.
const maxPath = 1000

// dynamicPath appends the segments in an array to p.
func dynamicPath(f *fn.Frame, steps value.Value, p value.Path) (value.Path, bool) {
	if steps.Len() > maxPath {
		f.Failf("the path has %d steps, at most %d are allowed", steps.Len(), maxPath)
		return nil, false
	}
	for _, s := range steps.Array().Peek() {
		switch s.Kind() {
		case value.String:
			p = append(p, value.Name(s.Text()))
		case value.Int:
			p = append(p, value.Index(int(s.Int())))
		default:
			f.Failf("path segment must be either string or integer, not %v", s.Kind())
			return nil, false
		}
	}
	return p, true
}

// constantPath returns the path in an argument, if it is known at compile time, valid and not empty.
func constantPath(c *fn.Call, arg int) (value.Path, bool) {
	v, ok := c.Const(arg)
	if !ok || v.Array() == nil || v.Len() == 0 {
		return nil, false
	}
	var p value.Path
	for _, s := range v.Array().Peek() {
		switch s.Kind() {
		case value.String:
			p = append(p, value.Name(s.Text()))
		case value.Int:
			p = append(p, value.Index(int(s.Int())))
		default:
			return nil, false
		}
	}
	return p, true
}

// containers returns k restricted to objects and arrays.
func containers(k kind.Kind) kind.Kind { return k.Only(kind.ObjectBit | kind.ArrayBit) }

var remove = &fn.Function{
	Name:  "remove",
	Group: fn.Path,
	Doc: "Returns a copy of the value without the field or element at a path that is computed at run time. The " +
		"value itself does not change. If you know the path when you write the program, use del, which removes a " +
		"field from the event or a variable.",
	Params: []fn.Param{
		{Name: "value", Doc: "The object or array.", Kind: kind.Or(kind.Object, kind.Array)},
		pathParam,
		{
			Name: "compact", Doc: "Whether containers that become empty are removed too.", Kind: kind.Boolean,
			Optional: true, Default: value.NewBool(false),
		},
	},
	Returns:  kind.Or(kind.Object, kind.Array),
	Fallible: true,
	Errors:   pathErrors,
	Examples: []fn.Example{
		{Title: "a field", Source: `remove!({"a": 1, "b": 2}, ["a"])`, Result: `{"b":2}`},
		{
			Title:  "empty parents too",
			Source: `remove!({"a": {"b": [1]}, "c": 2}, ["a", "b", 0], compact: true)`,
			Result: `{"c":2}`,
		},
	},
	Type: func(c *fn.Call) fn.TypeDef {
		if p, ok := constantPath(c, 1); ok {
			if compact, known := c.Const(2); known {
				return fn.TypeDef{Kind: containers(c.Kind(0)).Remove(p, compact.Bool()), Fallible: true}
			}
		}
		return fn.TypeDef{Kind: c.Kind(0).Containers(), Fallible: true}
	},
	Impl: fn.Impl{F3: func(f *fn.Frame, v, path, compact value.Value) (value.Value, bool) {
		p, ok := dynamicPath(f, path, nil)
		if !ok || !f.SpendOnRemoval(v, p) {
			return value.Value{}, false
		}
		value.Remove(&v, p, compact.Bool())
		return v, true
	}},
}

var set = &fn.Function{
	Name:  "set",
	Group: fn.Path,
	Doc: "Returns a copy of the value with other data at a path that is computed at run time. Missing objects " +
		"and arrays on the path are created. The value itself does not change.",
	Params: []fn.Param{
		{Name: "value", Doc: "The object or array.", Kind: kind.Or(kind.Object, kind.Array)},
		pathParam,
		{Name: "data", Doc: "The value to store.", Kind: kind.Any},
	},
	Returns:  kind.Or(kind.Object, kind.Array),
	Fallible: true,
	Errors: append([]string{
		"an index is more than 65536 elements beyond the ends of its array",
		"the path is empty and the data is not an object or array",
	}, pathErrors...),
	Examples: []fn.Example{
		{Title: "a field", Source: `set!({"a": 1}, ["b"], 2)`, Result: `{"a":1,"b":2}`},
		{Title: "missing parents are created", Source: `set!({}, ["a", "b", 1], true)`, Result: `{"a":{"b":[null,true]}}`},
	},
	Type: func(c *fn.Call) fn.TypeDef {
		if p, ok := constantPath(c, 1); ok {
			return fn.TypeDef{Kind: containers(c.Kind(0)).Insert(p, c.Kind(2).Defined()), Fallible: true}
		}
		// The first segment decides the kind of the result.
		k := kind.Or(kind.Object, kind.Array)
		switch first := c.Kind(1).Only(kind.ArrayBit).Get(value.Path{value.Index(0)}); {
		case first.Is(kind.StringBit):
			k = kind.Object
		case first.Is(kind.IntegerBit):
			k = kind.Array
		}
		return fn.TypeDef{Kind: k, Fallible: true}
	},
	Impl: fn.Impl{F3: func(f *fn.Frame, v, path, data value.Value) (value.Value, bool) {
		p, ok := dynamicPath(f, path, nil)
		if !ok || !f.SpendOnChange(v, p) {
			return value.Value{}, false
		}
		if len(p) == 0 && data.Kind() != value.Object && data.Kind() != value.Array {
			return f.Failf("the path is empty, so the data would be the result: expected object or array, got %v",
				data.Kind())
		}
		if !data.IsDefined() {
			data = value.Value{}
		}
		if err := value.Insert(&v, p, data); err != nil {
			return f.FailErr("unable to set the value at the path: ", err)
		}
		return v, true
	}},
}
