package enumerate

import (
	"encoding/binary"
	"math"
	"strconv"
	"unicode/utf8"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

var keys = &fn.Function{
	Name:    "keys",
	Group:   fn.Enumerate,
	Doc:     "Returns the keys of the object in the order of their bytes.",
	Params:  []fn.Param{{Name: "value", Doc: "The object.", Kind: kind.Object, Borrow: true}},
	Returns: kind.ArrayAll(kind.String),
	Examples: []fn.Example{
		{Title: "an object", Source: `keys({"b": 1, "a": 2})`, Result: `["a","b"]`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		o := v.Object()
		if !chargeCopy(f, o.Len()) {
			return value.Value{}, false
		}
		list := make([]value.Value, o.Len())
		for i := range list {
			list[i] = value.NewString(o.Key(i))
		}
		return value.NewArray(list), true
	}},
}

var values = &fn.Function{
	Name:   "values",
	Group:  fn.Enumerate,
	Doc:    "Returns the values of the object in the order of their keys.",
	Params: []fn.Param{{Name: "value", Doc: "The object.", Kind: kind.Object}},
	Examples: []fn.Example{
		{Title: "an object", Source: `values({"b": 1, "a": 2})`, Result: `[2,1]`},
	},
	Type: func(c *fn.Call) fn.TypeDef {
		return fn.TypeDef{Kind: kind.ArrayAll(c.Kind(0).Only(kind.ObjectBit).Elem())}
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		o := v.Object()
		if !chargeCopy(f, o.Len()) {
			return value.Value{}, false
		}
		list := make([]value.Value, o.Len())
		for i := range list {
			list[i] = o.At(i)
		}
		return value.NewArray(list), true
	}},
}

var strlen = &fn.Function{
	Name:    "strlen",
	Group:   fn.Enumerate,
	Doc:     "Returns the number of characters (code points) of the string; length counts its bytes.",
	Params:  []fn.Param{{Name: "value", Doc: "The string.", Kind: kind.String}},
	Returns: kind.Integer,
	Examples: []fn.Example{
		{Title: "characters", Source: `strlen("ñandú")`, Result: `5`},
	},
	Impl: fn.Impl{F1: func(_ *fn.Frame, v value.Value) (value.Value, bool) {
		return value.NewInt(int64(utf8.RuneCountInString(v.Text()))), true
	}},
}

var includes = &fn.Function{
	Name:  "includes",
	Group: fn.Enumerate,
	Doc: "Returns whether the array has an element that is equal to the item and has the same kind: 1 and 1.0 " +
		"differ.",
	Params: []fn.Param{
		{Name: "value", Doc: "The array.", Kind: kind.Array, Borrow: true},
		{Name: "item", Doc: "The value to search for.", Kind: kind.Any, Borrow: true},
	},
	Returns: kind.Boolean,
	Deep:    true,
	Examples: []fn.Example{
		{Title: "there", Source: `includes(["apple", "pear"], "pear")`, Result: `true`},
		{Title: "of another kind", Source: `includes([1, 2], 1.0)`, Result: `false`},
	},
	Impl: fn.Impl{F2: func(_ *fn.Frame, v, item value.Value) (value.Value, bool) {
		for _, x := range v.Array().Peek() {
			if value.SameElement(x, item) {
				return value.NewBool(true), true
			}
		}
		return value.NewBool(false), true
	}},
}

var tallyValue = &fn.Function{
	Name:  "tally_value",
	Group: fn.Enumerate,
	Doc:   "Counts the elements of the array that are equal to the value and have the same kind.",
	Params: []fn.Param{
		{Name: "array", Doc: "The array.", Kind: kind.Array, Borrow: true},
		{Name: "value", Doc: "The value to count.", Kind: kind.Any, Borrow: true},
	},
	Returns: kind.Integer,
	Deep:    true,
	Examples: []fn.Example{
		{Title: "strings", Source: `tally_value(["a", "b", "a"], "a")`, Result: `2`},
	},
	Impl: fn.Impl{F2: func(_ *fn.Frame, v, item value.Value) (value.Value, bool) {
		n := int64(0)
		for _, x := range v.Array().Peek() {
			if value.SameElement(x, item) {
				n++
			}
		}
		return value.NewInt(n), true
	}},
}

var tally = &fn.Function{
	Name:     "tally",
	Group:    fn.Enumerate,
	Doc:      "Counts how often each string occurs in the array.",
	Params:   []fn.Param{{Name: "value", Doc: "The array of strings.", Kind: kind.Array, Borrow: true}},
	Returns:  kind.ObjectAll(kind.Integer),
	Fallible: true,
	Errors:   []string{"an element is not a string"},
	Examples: []fn.Example{
		{Title: "strings", Source: `tally!(["a", "b", "a"])`, Result: `{"a":2,"b":1}`},
		{Title: "not only strings", Source: `tally!(["a", 1])`, Fails: `all values must be strings, found: 1`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		list := v.Array().Peek()
		if !f.Spend(len(list)) {
			return value.Value{}, false
		}
		counts := make(map[string]int64)
		for _, x := range list {
			if !x.IsString() {
				return f.Failf("all values must be strings, found: %v", x.Share())
			}
			counts[x.Text()]++
		}
		if !f.Reserve(len(counts) * 2 * value.FieldBytes) {
			return value.Value{}, false
		}
		out := value.MakeFields(len(counts))
		for key, n := range counts {
			out.Add(key, value.NewInt(n))
		}
		out.Sort()
		return out.Value(), true
	}},
}

var unique = &fn.Function{
	Name:   "unique",
	Group:  fn.Enumerate,
	Doc:    "Removes elements of the array that are equal to an earlier element and have the same kind.",
	Params: []fn.Param{{Name: "value", Doc: "The array.", Kind: kind.Array}},
	Deep:   true,
	Examples: []fn.Example{
		{Title: "strings", Source: `unique(["a", "b", "a"])`, Result: `["a","b"]`},
		{Title: "numbers of two kinds", Source: `unique([1, 1.0, 1])`, Result: `[1,1.0]`},
	},
	Type: func(c *fn.Call) fn.TypeDef {
		return fn.TypeDef{Kind: kind.ArrayAll(c.Kind(0).Only(kind.ArrayBit).Elem())}
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		a := v.Array()
		if !f.Spend(a.Len()) || !chargeCopy(f, a.Len()) {
			return value.Value{}, false
		}
		out := make([]value.Value, 0, a.Len())
		// If there are few elements, they are compared with each other. Otherwise equal values are found by equal texts.
		if a.Len() <= 16 {
			for i, x := range a.Peek() {
				if !hasSame(out, x) {
					out = append(out, a.At(i))
				}
			}
			return value.NewArray(out), true
		}
		seen := make(map[string]struct{}, a.Len())
		var text []byte
		for i, x := range a.Peek() {
			text = appendIdentity(text[:0], x)
			if _, ok := seen[string(text)]; ok {
				continue
			}
			if !f.Reserve(len(text)) {
				return value.Value{}, false
			}
			seen[string(text)] = struct{}{}
			out = append(out, a.At(i))
		}
		return value.NewArray(out), true
	}},
}

// appendIdentity appends a text that is equal for two values if and only if they are the same by value.Same.
func appendIdentity(b []byte, v value.Value) []byte {
	b = append(b, byte(v.Kind()))
	sized := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	switch v.Kind() {
	case value.Bool:
		b = strconv.AppendBool(b, v.Bool())
	case value.Int:
		b = binary.BigEndian.AppendUint64(b, uint64(v.Int()))
	case value.Float:
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(v.Float()+0)) // -0 and 0 are the same
	case value.Timestamp:
		sec, nsec := v.Unix()
		b = binary.BigEndian.AppendUint64(b, uint64(sec))
		b = binary.BigEndian.AppendUint32(b, nsec)
	case value.String:
		sized(v.Str())
	case value.Regex:
		sized(v.Regex().String())
	case value.Array:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		for _, x := range v.Array().Peek() {
			b = appendIdentity(b, x)
		}
	case value.Object:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		for i, x := range v.Object().Peek() {
			sized(v.Object().Key(i))
			b = appendIdentity(b, x.Value)
		}
	}
	return b
}

func hasSame(list []value.Value, x value.Value) bool {
	for _, y := range list {
		if value.Same(x, y) {
			return true
		}
	}
	return false
}

var matchArray = &fn.Function{
	Name:  "match_array",
	Group: fn.Enumerate,
	Doc: "Returns whether the regular expression matches one element of the array, or all of them. Elements " +
		"that are not strings do not match.",
	Params: []fn.Param{
		{Name: "value", Doc: "The array.", Kind: kind.Array, Borrow: true},
		{Name: "pattern", Doc: "The regular expression.", Kind: kind.Regex},
		{
			Name: "all", Doc: "Whether the expression must match all elements.", Kind: kind.Boolean, Optional: true,
			Default: value.NewBool(false),
		},
	},
	Returns: kind.Boolean,
	Examples: []fn.Example{
		{Title: "some", Source: `match_array(["foobar", "bazqux"], r'foo')`, Result: `true`},
		{Title: "all", Source: `match_array(["foobar", "bazqux"], r'foo', all: true)`, Result: `false`},
	},
	Impl: fn.Impl{F3: func(f *fn.Frame, v, re, all value.Value) (value.Value, bool) {
		for _, x := range v.Array().Peek() {
			if !f.SpendOnMatch(re.Regex(), x.Str()) {
				return value.Value{}, false
			}
			// The first match decides for "some", and the first mismatch for "all".
			if matches := x.IsString() && re.Regex().Match(x.Str()); matches != all.Bool() {
				return value.NewBool(matches), true
			}
		}
		return all, true
	}},
}
