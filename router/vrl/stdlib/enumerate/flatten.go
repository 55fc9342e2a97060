package enumerate

import (
	"slices"
	"strings"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

var separatorParam = fn.Param{
	Name: "separator", Doc: "The separator between the parts of a key.", Kind: kind.String, Optional: true,
	Default: value.NewString("."),
}

var flatten = &fn.Function{
	Name:  "flatten",
	Group: fn.Enumerate,
	Doc: "Flattens nested values. The fields of objects inside an object get keys that are joined from all keys " +
		"on their path; empty inner objects are removed, and arrays stay. In an array, inner arrays are replaced " +
		"with their elements.",
	Params: []fn.Param{
		{Name: "value", Doc: "The object or array.", Kind: kind.Or(kind.Object, kind.Array)},
		separatorParam,
		{
			Name: "except", Doc: "Keys at any level whose objects are not flattened.", Kind: kind.Array, Optional: true,
			Default: value.NewArray(nil).Freeze(), Borrow: true,
		},
	},
	Deep: true,
	Examples: []fn.Example{
		{Title: "an object", Source: `flatten({"a": {"b": {"c": 1}, "d": 2}})`, Result: `{"a.b.c":1,"a.d":2}`},
		{Title: "an array", Source: `flatten([1, [2, [3]], []])`, Result: `[1,2,3]`},
		{
			Title:  "with an exception",
			Source: `flatten({"a": {"b": 1}, "tags": {"c": 2}}, separator: "_", except: ["tags"])`,
			Result: `{"a_b":1,"tags":{"c":2}}`,
		},
	},
	Errors: []string{"an element of except is not a string"},
	Type:   func(c *fn.Call) fn.TypeDef { return fn.TypeDef{Kind: c.Kind(0).Containers()} },
	Impl: fn.Impl{F3: func(f *fn.Frame, v, separator, except value.Value) (value.Value, bool) {
		if v.Array() != nil {
			out, ok := flattenArray(f, nil, v.Array())
			return value.NewArray(out), ok
		}
		x := flattener{f: f, separator: separator.Text(), out: value.MakeFields(v.Len())}
		for _, k := range except.Array().Peek() {
			if !k.IsString() {
				return f.FailKind("string", k)
			}
			x.except = append(x.except, k.Text())
		}
		if !x.object("", v.Object(), true) {
			return value.Value{}, false
		}
		x.out.Sort()
		return x.out.Value(), true
	}},
}

func flattenArray(f *fn.Frame, out []value.Value, a *value.Items) ([]value.Value, bool) {
	if !f.Reserve(a.Len() * value.ElementBytes) {
		return nil, false
	}
	for _, x := range a.Share() {
		if inner := x.Array(); inner != nil {
			var ok bool
			if out, ok = flattenArray(f, out, inner); !ok {
				return nil, false
			}
			continue
		}
		out = append(out, x)
	}
	return out, true
}

type flattener struct {
	f         *fn.Frame
	separator string
	except    []string
	out       *value.Fields
}

// object adds the fields of o. The prefix is put before their keys.
func (x *flattener) object(prefix string, o *value.Fields, top bool) bool {
	if !x.f.Reserve(o.Len() * value.FieldBytes) {
		return false
	}
	for i := range o.Len() {
		key, v := o.Key(i), o.At(i)
		full := key
		if !top {
			joined, ok := x.f.Concat(prefix, key)
			if !ok {
				return false
			}
			full = joined.Str()
		}
		inner := v.Object()
		if inner == nil || slices.Contains(x.except, key) {
			x.out.Add(full, v)
			continue
		}
		next, ok := x.f.Concat(full, x.separator)
		if !ok || !x.object(next.Str(), inner, false) {
			return false
		}
	}
	return true
}

var unflatten = &fn.Function{
	Name:  "unflatten",
	Group: fn.Enumerate,
	Doc: "Splits keys at the separator and creates nested objects: the opposite of flatten. If a key " +
		"has both a value and further keys below it, the value is lost.",
	Params: []fn.Param{
		{Name: "value", Doc: "The object.", Kind: kind.Object},
		separatorParam,
		{
			Name: "recursive", Doc: "Whether the keys of nested objects are split too.", Kind: kind.Boolean,
			Optional: true, Default: value.NewBool(true),
		},
	},
	Returns: kind.Object,
	Deep:    true,
	Examples: []fn.Example{
		{Title: "keys with dots", Source: `unflatten({"a.b.c": 1, "a.d": 2})`, Result: `{"a":{"b":{"c":1},"d":2}}`},
		{Title: "the top only", Source: `unflatten({"a.b": {"c.d": 1}}, recursive: false)`, Result: `{"a":{"b":{"c.d":1}}}`},
	},
	Impl: fn.Impl{F3: func(f *fn.Frame, v, separator, recursive value.Value) (value.Value, bool) {
		x := unflattener{f: f, separator: separator.Text(), recursive: recursive.Bool()}
		return x.value(v, 0)
	}},
}

// maxUnflatten limits the depth of the objects made from a key. The rest of the key is not split.
const maxUnflatten = 256

type unflattener struct {
	f         *fn.Frame
	separator string
	recursive bool
}

// A part is a value and the unused rest of its key.
type part struct {
	key   string
	value value.Value
}

// value returns v with the keys of objects split.
func (x *unflattener) value(v value.Value, depth int) (value.Value, bool) {
	o := v.Object()
	if o == nil || x.separator == "" {
		return v, true
	}
	parts := make([]part, o.Len())
	for i := range parts {
		parts[i] = part{o.Key(i), o.At(i)}
	}
	return x.object(parts, depth)
}

// object returns the object of the parts.
func (x *unflattener) object(parts []part, depth int) (value.Value, bool) {
	if !x.f.Spend(len(parts)) || !x.f.Reserve(2*len(parts)*value.FieldBytes) {
		return value.Value{}, false
	}
	head := func(p part) string {
		if depth < maxUnflatten {
			before, _, _ := strings.Cut(p.key, x.separator)
			return before
		}
		return p.key
	}
	slices.SortStableFunc(parts, func(a, b part) int { return strings.Compare(head(a), head(b)) })
	out := value.MakeFields(len(parts))
	for i := 0; i < len(parts); {
		key := head(parts[i])
		end := i + 1
		for end < len(parts) && head(parts[end]) == key {
			end++
		}
		v, ok := x.field(key, parts[i:end], depth)
		if !ok {
			return v, false
		}
		out.Add(key, v)
		i = end
	}
	return out.Value(), true
}

// field returns the value of a field. All keys of parts start with key.
func (x *unflattener) field(key string, parts []part, depth int) (value.Value, bool) {
	below := parts[:0]
	plain := parts[0].value
	for _, p := range parts {
		if len(p.key) > len(key) {
			below = append(below, part{p.key[len(key)+len(x.separator):], p.value})
		}
	}
	if len(below) > 0 {
		return x.object(below, depth+1)
	}
	if x.recursive && depth < maxUnflatten {
		return x.value(plain, depth+1)
	}
	return plain, true
}

var compact = &fn.Function{
	Name:  "compact",
	Group: fn.Enumerate,
	Doc: "Removes empty values from an object or array. Inner objects and arrays are compacted first, and may " +
		"become empty by this. Options control which kinds of empty values are removed.",
	Params: []fn.Param{
		{Name: "value", Doc: "The object or array.", Kind: kind.Or(kind.Object, kind.Array)},
		switchParam("recursive", "Whether nested objects and arrays are compacted too.", true),
		switchParam("null", "Whether null is removed.", true),
		switchParam("string", "Whether empty strings are removed.", true),
		switchParam("object", "Whether empty objects are removed.", true),
		switchParam("array", "Whether empty arrays are removed.", true),
		switchParam("nullish", "Whether all values for which is_nullish is true are removed.", false),
	},
	Deep: true,
	Examples: []fn.Example{
		{Title: "an object", Source: `compact({"a": 1, "b": null, "c": [""], "d": {}})`, Result: `{"a":1}`},
		{Title: "null may stay", Source: `compact([null, "", 0], null: false)`, Result: `[null,0]`},
		{Title: "dashes too", Source: `compact(["-", " ", 0], nullish: true)`, Result: `[0]`},
	},
	Type: func(c *fn.Call) fn.TypeDef { return fn.TypeDef{Kind: c.Kind(0).Containers()} },
	Impl: fn.Impl{N: func(f *fn.Frame, args []value.Value) (value.Value, bool) {
		x := compacter{
			f: f, recursive: args[1].Bool(), null: args[2].Bool(), str: args[3].Bool(),
			object: args[4].Bool(), array: args[5].Bool(), nullish: args[6].Bool(),
		}
		return x.container(args[0])
	}},
}

func switchParam(name, doc string, on bool) fn.Param {
	return fn.Param{Name: name, Doc: doc, Kind: kind.Boolean, Optional: true, Default: value.NewBool(on)}
}

type compacter struct {
	f                                            *fn.Frame
	recursive, null, str, object, array, nullish bool
}

// drops reports whether v, which is already compact, must be dropped.
func (x *compacter) drops(v value.Value) bool {
	if x.nullish && v.Nullish() {
		return true
	}
	switch v.Kind() {
	case value.Null:
		return x.null
	case value.String:
		return x.str && v.Len() == 0
	case value.Object:
		return x.object && v.Len() == 0
	case value.Array:
		return x.array && v.Len() == 0
	}
	return false
}

func (x *compacter) inside(v value.Value) (value.Value, bool) {
	if x.recursive && (v.Kind() == value.Object || v.Kind() == value.Array) {
		return x.container(v)
	}
	return v, true
}

func (x *compacter) container(v value.Value) (value.Value, bool) {
	if !x.f.Reserve(v.Len() * value.FieldBytes / 4) {
		return value.Value{}, false
	}
	if o := v.Object(); o != nil {
		out := value.MakeFields(o.Len())
		for i := range o.Len() {
			e, ok := x.inside(o.At(i))
			if !ok {
				return e, false
			}
			if !x.drops(e) {
				out.Add(o.Key(i), e)
			}
		}
		return out.Value(), true
	}
	a := v.Array()
	out := make([]value.Value, 0, a.Len())
	for i := range a.Len() {
		e, ok := x.inside(a.At(i))
		if !ok {
			return e, false
		}
		if !x.drops(e) {
			out = append(out, e)
		}
	}
	return value.NewArray(out), true
}
