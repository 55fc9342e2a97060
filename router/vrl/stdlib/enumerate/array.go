package enumerate

import (
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// exactly returns the kinds of the elements of an array k, if their number is known.
func exactly(k kind.Kind) ([]kind.Kind, bool) {
	a := k.Only(kind.ArrayBit).Array()
	if a == nil {
		return nil, false
	}
	if _, more := a.Unknown(); more {
		return nil, false
	}
	for _, x := range a.Known() {
		if x.Has(kind.UndefinedBit) {
			return nil, false
		}
	}
	return a.Known(), true
}

// concatKinds returns the kind of an array a followed by one of kind b.
func concatKinds(a, b kind.Kind) kind.Kind {
	first, ok := exactly(a)
	after := b.Only(kind.ArrayBit).Array()
	if !ok || after == nil {
		return kind.ArrayAll(a.Only(kind.ArrayBit).Elem().Union(b.Only(kind.ArrayBit).Elem()))
	}
	all := append(append([]kind.Kind(nil), first...), after.Known()...)
	k := kind.ArrayOf(all...)
	if rest, more := after.Unknown(); more {
		k = k.WithOthers(rest)
	}
	return k
}

// chargeCopy takes the cost of copying n elements from the budget. A loop that extends a container drops all copies
// except the last, so only a part of the memory is charged, besides the time.
func chargeCopy(f *fn.Frame, n int) bool { return f.Spend(n/16) && f.Reserve(n*value.FieldBytes/4) }

var appendArrays = &fn.Function{
	Name:  "append",
	Group: fn.Array,
	Doc:   "Returns the elements of one array followed by the elements of another array.",
	Params: []fn.Param{
		{Name: "value", Doc: "The first array.", Kind: kind.Array},
		{Name: "items", Doc: "The second array.", Kind: kind.Array},
	},
	Examples: []fn.Example{
		{Title: "two arrays", Source: `append([1, 2], ["a"])`, Result: `[1,2,"a"]`},
	},
	Type: func(c *fn.Call) fn.TypeDef { return fn.TypeDef{Kind: concatKinds(c.Kind(0), c.Kind(1))} },
	Impl: fn.Impl{F2: func(f *fn.Frame, v, items value.Value) (value.Value, bool) {
		switch {
		case items.Len() == 0:
			return v, true
		case v.Len() == 0:
			return items, true
		}
		n := v.Len() + items.Len()
		if !chargeCopy(f, n) {
			return value.Value{}, false
		}
		list := append(make([]value.Value, 0, n), v.Array().Share()...)
		return value.NewArray(append(list, items.Array().Share()...)), true
	}},
}

var push = &fn.Function{
	Name:  "push",
	Group: fn.Array,
	Doc:   "Returns the array with an element added at the end.",
	Params: []fn.Param{
		{Name: "value", Doc: "The array.", Kind: kind.Array},
		{Name: "item", Doc: "The element to add.", Kind: kind.Any},
	},
	Examples: []fn.Example{
		{Title: "a number", Source: `push([1, 2], 3)`, Result: `[1,2,3]`},
		{Title: "an array is one element", Source: `push([1], [2])`, Result: `[1,[2]]`},
	},
	Type: func(c *fn.Call) fn.TypeDef {
		return fn.TypeDef{Kind: concatKinds(c.Kind(0), kind.ArrayOf(c.Kind(1).Defined()))}
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, v, item value.Value) (value.Value, bool) {
		n := v.Len() + 1
		if !chargeCopy(f, n) {
			return value.Value{}, false
		}
		if !item.IsDefined() {
			item = value.Value{}
		}
		list := append(make([]value.Value, 0, n), v.Array().Share()...)
		return value.NewArray(append(list, item)), true
	}},
}

var pop = &fn.Function{
	Name:   "pop",
	Group:  fn.Array,
	Doc:    "Returns the array without its last element. An empty array stays empty.",
	Params: []fn.Param{{Name: "value", Doc: "The array.", Kind: kind.Array}},
	Errors: []string{"the value is not an array"},
	Examples: []fn.Example{
		{Title: "an array", Source: `pop([1, 2, 3])`, Result: `[1,2]`},
		{Title: "nothing to remove", Source: `pop([])`, Result: `[]`},
	},
	Type: func(c *fn.Call) fn.TypeDef {
		known, ok := exactly(c.Kind(0))
		if !ok {
			return fn.TypeDef{Kind: kind.ArrayAll(c.Kind(0).Only(kind.ArrayBit).Elem())}
		}
		return fn.TypeDef{Kind: kind.ArrayOf(known[:max(0, len(known)-1)]...)}
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		n := v.Len() - 1
		if n < 0 {
			return v, true
		}
		if !chargeCopy(f, n) {
			return value.Value{}, false
		}
		list := make([]value.Value, n)
		for i := range list {
			list[i] = v.Array().At(i)
		}
		return value.NewArray(list), true
	}},
}

var chunks = &fn.Function{
	Name:  "chunks",
	Group: fn.Array,
	Doc: "Splits the string into pieces with a given number of bytes; the last piece may be shorter. " +
		"A character of several bytes may be split.",
	Params: []fn.Param{
		{Name: "value", Doc: "The string.", Kind: kind.String},
		{Name: "chunk_size", Doc: "The size of the pieces in bytes, at least 1.", Kind: kind.Integer},
	},
	Returns:  kind.ArrayAll(kind.String),
	Fallible: true,
	Errors:   []string{"the size is less than 1"},
	Examples: []fn.Example{
		{Title: "pieces", Source: `chunks("abcdefgh", 3)`, Result: `["abc","def","gh"]`},
		{
			Title: "a size that is not known", Source: `chunks!("abc", int!(.n))`, Event: `{"n":0}`,
			Fails: `"chunk_size" must be at least 1 byte`,
		},
	},
	Type: func(c *fn.Call) fn.TypeDef {
		_, known := c.Const(1)
		return fn.TypeDef{Kind: kind.ArrayAll(kind.String), Fallible: !known}
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		if size, ok := c.Const(1); ok && size.Int() < 1 {
			return fn.Impl{}, c.BadArgument(1, `"chunk_size" must be at least 1 byte, not %v`, size)
		}
		return fn.Impl{F2: func(f *fn.Frame, v, size value.Value) (value.Value, bool) {
			s, n := v.Str(), size.Int()
			if n < 1 {
				return f.Fail(`"chunk_size" must be at least 1 byte`)
			}
			n = min(n, int64(len(s))+1)
			count := (int64(len(s)) + n - 1) / n
			if !f.Reserve(int(count) * value.ElementBytes) {
				return value.Value{}, false
			}
			list := make([]value.Value, count)
			for i := range list {
				list[i] = value.NewString(s[:min(int(n), len(s))])
				s = s[min(int(n), len(s)):]
			}
			return value.NewArray(list), true
		}}, nil
	},
}

var zip = &fn.Function{
	Name:  "zip",
	Group: fn.Array,
	Doc: "Combines arrays into an array of arrays: the first contains the first elements of all arrays, the " +
		"second contains the second elements, and so on, up to the length of the shortest array. The arrays are " +
		"the two arguments, or the elements of a single argument.",
	Params: []fn.Param{
		{Name: "array_0", Doc: "The first array, or an array of all arrays.", Kind: kind.Array},
		{Name: "array_1", Doc: "The second array.", Kind: kind.Array, Optional: true},
	},
	Returns: kind.ArrayAll(kind.Array),
	Errors:  []string{"the only argument has an element that is not an array"},
	Examples: []fn.Example{
		{Title: "two arrays", Source: `zip([1, 2, 3], ["a", "b"])`, Result: `[[1,"a"],[2,"b"]]`},
		{Title: "an array of arrays", Source: `zip([[1, 2], [3, 4], [5, 6]])`, Result: `[[1,3,5],[2,4,6]]`},
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, first, second value.Value) (value.Value, bool) {
		rows := first.Array().Peek()
		if second.IsDefined() {
			rows = []value.Value{first, second}
		}
		n := -1
		for _, r := range rows {
			if r.Array() == nil {
				return f.FailKind("array", r)
			}
			if n < 0 || r.Len() < n {
				n = r.Len()
			}
		}
		n = max(n, 0)
		if !f.Spend(n*len(rows)/8) || !f.Reserve(n*(len(rows)+2)*value.ElementBytes) {
			return value.Value{}, false
		}
		out := make([]value.Value, n)
		for i := range out {
			list := make([]value.Value, len(rows))
			for j, r := range rows {
				list[j] = r.Array().At(i)
			}
			out[i] = value.NewArray(list)
		}
		return value.NewArray(out), true
	}},
}
