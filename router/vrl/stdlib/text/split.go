package text

import (
	"strings"
	"unicode/utf8"

	"cordwood/router/vrl/ascii"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/pattern"
	"cordwood/router/vrl/value"
)

var textOrRegex = kind.Or(kind.String, kind.Regex)

var split = &fn.Function{
	Name:  "split",
	Group: fn.String,
	Doc: "Splits the string at each occurrence of the pattern. An empty pattern splits between all characters, which " +
		"gives " +
		"an empty string at both ends.",
	Params: []fn.Param{
		{Name: "value", Doc: "The string to split.", Kind: kind.String},
		{Name: "pattern", Doc: "The separator of the pieces: a string or a regular expression.", Kind: textOrRegex},
		{
			Name: "limit",
			Doc: "The maximum number of pieces. The last piece is the rest of the string. If the limit is 0 or negative, " +
				"the result is empty.",
			Kind: kind.Integer, Optional: true,
		},
	},
	Returns: kind.ArrayAll(kind.String),
	Examples: []fn.Example{
		{Title: "by a string", Source: `split("a, b, c", ", ")`, Result: `["a","b","c"]`},
		{Title: "by a regular expression", Source: `split("a1b22c", r'\d+')`, Result: `["a","b","c"]`},
		{Title: "with a limit", Source: `split("a, b, c", ", ", limit: 2)`, Result: `["a","b, c"]`},
	},
	Impl: fn.Impl{F3: func(f *fn.Frame, v, pat, limit value.Value) (value.Value, bool) {
		s := v.Text()
		n := len(s) + 2 // there cannot be more pieces
		if limit.IsDefined() {
			n = int(min(int64(n), limit.Int()))
		}
		if n <= 0 {
			return value.NewArray(nil), true
		}
		if re := pat.Regex(); re != nil {
			return splitRegex(f, s, re, n)
		}
		return splitText(f, s, pat.Text(), n)
	}},
	Part: splitPart,
}

// splitPart returns the forms of split(…)[0], [1] and [-1] for a separator that is known at compile time.
func splitPart(c *fn.Call, s value.Segment) (fn.Impl, bool) {
	pat, known := c.Const(1)
	limit, limitKnown := c.Const(2)
	sep, n := pat.Text(), limit.Int()
	if !known || !pat.IsString() || sep == "" || !s.IsIndex || c.Given(2) && (!limitKnown || n < 2) {
		return fn.Impl{}, false
	}
	var piece func(s string) (string, bool)
	switch {
	case s.Index == 0:
		piece = func(s string) (string, bool) {
			s, _, _ = strings.Cut(s, sep)
			return s, true
		}
	case s.Index == 1:
		piece = func(s string) (string, bool) {
			_, s, ok := strings.Cut(s, sep)
			if ok && n != 2 {
				s, _, _ = strings.Cut(s, sep)
			}
			return s, ok
		}
	case s.Index == -1 && !c.Given(2) && len(sep) == 1: // occurrences of a longer separator may overlap
		piece = func(s string) (string, bool) { return s[strings.LastIndexByte(s, sep[0])+1:], true }
	default:
		return fn.Impl{}, false
	}
	if ascii.Only(sep) {
		// No character and no ill-formed sequence has an ASCII byte in it, so the piece alone can be checked.
		return fn.Impl{F1: func(_ *fn.Frame, v value.Value) (value.Value, bool) {
			if s, ok := piece(v.Str()); ok {
				return value.NewString(value.Lossy(s)), true
			}
			return value.Value{}, true
		}}, true
	}
	return fn.Impl{F1: func(_ *fn.Frame, v value.Value) (value.Value, bool) {
		if s, ok := piece(v.Text()); ok {
			return value.NewString(s), true
		}
		return value.Value{}, true
	}}, true
}

// splitText splits s at each sep into up to n pieces.
func splitText(f *fn.Frame, s, sep string, n int) (value.Value, bool) {
	pieces := strings.Count(s, sep) + 1
	n = min(n, pieces)
	if !f.Reserve(n * value.ElementBytes) {
		return value.Value{}, false
	}
	list := make([]value.Value, 0, n)
	if sep == "" && n > 1 {
		list = append(list, value.NewString(""))
		for len(list) < n-1 && s != "" {
			_, size := utf8.DecodeRuneInString(s)
			list = append(list, value.NewString(s[:size]))
			s = s[size:]
		}
		return value.NewArray(append(list, value.NewString(s))), true
	}
	for len(list) < n-1 {
		i := strings.Index(s, sep)
		list = append(list, value.NewString(s[:i]))
		s = s[i+len(sep):]
	}
	return value.NewArray(append(list, value.NewString(s))), true
}

func splitRegex(f *fn.Frame, s string, re *pattern.Regex, n int) (value.Value, bool) {
	found, ok := f.AllMatches(re, s, n-1)
	if !ok || !f.Reserve((len(found)+1)*value.ElementBytes) {
		return value.Value{}, false
	}
	list := make([]value.Value, 0, len(found)+1)
	from := 0
	for _, loc := range found {
		list = append(list, value.NewString(s[from:loc[0]]))
		from = loc[1]
	}
	return value.NewArray(append(list, value.NewString(s[from:]))), true
}

var slice = &fn.Function{
	Name:  "slice",
	Group: fn.String,
	Doc: "Returns the part of a string or an array from start to before end. Positions in strings count bytes. " +
		"Negative positions count from the end.",
	Params: []fn.Param{
		{Name: "value", Doc: "The string or array.", Kind: kind.Or(kind.String, kind.Array)},
		{Name: "start", Doc: "Where the part starts.", Kind: kind.Integer},
		{
			Name: "end", Doc: "Where the part ends. By default, or if it is too large, this is the end of the " +
				"value.", Kind: kind.Integer,
			Optional: true,
		},
	},
	Fallible: true,
	Errors:   []string{"start is outside of the value", "end is before start"},
	Examples: []fn.Example{
		{Title: "of a string", Source: `slice!("2020-01-02", 5, 7)`, Result: `"01"`},
		{Title: "of an array, from the end", Source: `slice!([1, 2, 3], -2)`, Result: `[2,3]`},
		{Title: "outside", Source: `slice!("abc", 4)`, Fails: `"start" must be between "-3" and "3"`},
	},
	Type: func(c *fn.Call) fn.TypeDef {
		if from, ok := c.Const(1); ok && from.Int() == 0 && !c.Given(2) {
			return fn.TypeDef{Kind: c.Kind(0).Only(kind.StringBit | kind.ArrayBit), Fallible: true}
		}
		k := c.Kind(0).Only(kind.StringBit)
		if c.Kind(0).Has(kind.ArrayBit) {
			k = k.Union(kind.ArrayAll(c.Kind(0).Only(kind.ArrayBit).Elem()))
		}
		return fn.TypeDef{Kind: k, Fallible: true}
	},
	Impl: fn.Impl{F3: func(f *fn.Frame, v, start, end value.Value) (value.Value, bool) {
		n := int64(v.Len())
		from, to := start.Int(), n
		if end.IsDefined() {
			to = end.Int()
		}
		if from < 0 {
			from += n
		}
		if to < 0 {
			to += n
		}
		switch {
		case from < 0 || from > n:
			return f.Failf(`"start" must be between "%d" and "%d"`, -n, n)
		case to < from:
			return f.Fail(`"end" must be greater or equal to "start"`)
		}
		to = min(to, n)
		if v.IsString() {
			return value.NewString(v.Str()[from:to]), true
		}
		if !f.Reserve(int(to-from) * value.ElementBytes) {
			return value.Value{}, false
		}
		list := make([]value.Value, to-from)
		for i := range list {
			list[i] = v.Array().At(int(from) + i)
		}
		return value.NewArray(list), true
	}},
}

var join = &fn.Function{
	Name:  "join",
	Group: fn.String,
	Doc:   "Joins the strings of an array into one.",
	Params: []fn.Param{
		{Name: "value", Doc: "The strings.", Kind: kind.Array, Borrow: true},
		{
			Name: "separator", Doc: "The separator.", Kind: kind.String, Optional: true,
			Default: value.NewString(""),
		},
	},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"an element of the array is not a string"},
	Examples: []fn.Example{
		{Title: "with a separator", Source: `join!(["a", "b", "c"], separator: ", ")`, Result: `"a, b, c"`},
		{Title: "without", Source: `join!(["a", "b"])`, Result: `"ab"`},
		{Title: "not all strings", Source: `join!(["a", 1])`, Fails: `all array items must be strings`},
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, v, separator value.Value) (value.Value, bool) {
		list := v.Array().Peek()
		sep := separator.Text()
		size := 0
		for i, x := range list {
			if !x.IsString() {
				return f.Fail("all array items must be strings")
			}
			if i > 0 {
				size += len(sep)
			}
			size += x.Len()
			if size > f.Left().Bytes {
				break // Reserve says so
			}
		}
		if !f.Reserve(size) || !f.Spend(len(list)/8) {
			return value.Value{}, false
		}
		b := f.Bytes(size)[:0]
		for i, x := range list {
			if i > 0 {
				b = append(b, sep...)
			}
			b = append(b, x.Text()...) // invalid UTF-8 may grow beyond the capacity of b
		}
		return value.NewBytes(b), true
	}},
}

var find = &fn.Function{
	Name:  "find",
	Group: fn.String,
	Doc:   "Returns the position of the first occurrence of the pattern, in bytes, or null if it does not occur.",
	Params: []fn.Param{
		{Name: "value", Doc: "The string to search.", Kind: kind.String},
		{Name: "pattern", Doc: "The pattern to search for: a string or a regular expression.", Kind: textOrRegex},
		{Name: "from", Doc: "The position to search from.", Kind: kind.Integer, Optional: true, Default: value.NewInt(0)},
	},
	Returns: kind.Or(kind.Integer, kind.Null),
	Examples: []fn.Example{
		{Title: "a string", Source: `find("foobar", "bar")`, Result: `3`},
		{Title: "a regular expression, from a position", Source: `find("a1b2", r'\d', from: 2)`, Result: `3`},
		{Title: "not found", Source: `find("foobar", "baz")`, Result: `null`},
	},
	Impl: fn.Impl{F3: func(f *fn.Frame, v, pat, from value.Value) (value.Value, bool) {
		s := v.Text()
		start := max(from.Int(), 0)
		if start > int64(len(s)) {
			return value.Value{}, true
		}
		at := -1
		switch re := pat.Regex(); {
		case re == nil:
			at = strings.Index(s[start:], pat.Text())
		case start > 0 && strings.ContainsAny(re.String(), `^\`):
			// The text before the position may matter to the pattern.
			found, ok := f.AllMatches(re, s, -1)
			if !ok {
				return value.Value{}, false
			}
			for _, loc := range found {
				if loc[0] >= int(start) {
					return value.NewInt(int64(loc[0])), true
				}
			}
		default:
			if !f.SpendOnMatch(re, s) {
				return value.Value{}, false
			}
			if i, _, ok := re.Find(s[start:]); ok {
				at = i
			}
		}
		if at < 0 {
			return value.Value{}, true
		}
		return value.NewInt(start + int64(at)), true
	}},
}
