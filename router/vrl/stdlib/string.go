package stdlib

import (
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// stringFunctions are the functions of the group String.
var stringFunctions = []*fn.Function{upcase, downcase, contains}

var upcase = &fn.Function{
	Name:   "upcase",
	Group:  fn.String,
	Doc:    "Converts the string to upper case by the rules of Unicode.",
	Params: []fn.Param{{Name: "value", Doc: "The string to convert.", Kind: kind.String}},
	Examples: []fn.Example{
		{Title: "plain letters", Source: `upcase("get /")`, Result: `"GET /"`},
		{Title: "one letter becomes two", Source: `upcase("straße")`, Result: `"STRASSE"`},
	},
	Returns: kind.String,
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		return mapCase(f, v, 'a', 'z', cases.Upper)
	}},
}

var downcase = &fn.Function{
	Name:   "downcase",
	Group:  fn.String,
	Doc:    "Converts the string to lower case by the rules of Unicode.",
	Params: []fn.Param{{Name: "value", Doc: "The string to convert.", Kind: kind.String}},
	Examples: []fn.Example{
		{Title: "plain letters", Source: `downcase("GET")`, Result: `"get"`},
		{Title: "letters beyond ASCII", Source: `downcase("ÀÉ")`, Result: `"àé"`},
	},
	Returns: kind.String,
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		return mapCase(f, v, 'A', 'Z', cases.Lower)
	}},
}

// mapCase changes the case of v. The letters from first to last are the ASCII letters of
// the other case; if v is ASCII and has none, it is returned as it is.
func mapCase(f *fn.Frame, v value.Value, first, last byte, full func(language.Tag, ...cases.Option) cases.Caser) (value.Value, bool) {
	s := v.Str()
	at := -1
	for i := range len(s) {
		c := s[i]
		if c >= 0x80 {
			return f.Keep([]byte(full(language.Und).String(v.Text())))
		}
		if at < 0 && c >= first && c <= last {
			at = i
		}
	}
	if at < 0 {
		return v, true
	}
	if !f.Reserve(len(s)) {
		return value.Value{}, false
	}
	b := f.Bytes(len(s))
	copy(b, s)
	for i := at; i < len(b); i++ {
		if c := b[i]; c >= first && c <= last {
			b[i] = c ^ 0x20
		}
	}
	return value.NewBytes(b), true
}

var contains = &fn.Function{
	Name:  "contains",
	Group: fn.String,
	Doc:   "Tells whether the string contains another one.",
	Params: []fn.Param{
		{Name: "value", Doc: "The string to search.", Kind: kind.String},
		{Name: "substring", Doc: "The string to search for.", Kind: kind.String},
		{Name: "case_sensitive", Doc: "Whether upper and lower case letters differ.", Kind: kind.Boolean, Optional: true, Default: value.NewBool(true)},
	},
	Examples: []fn.Example{
		{Title: "found", Source: `contains("The Needle In The Haystack", "Needle")`, Result: `true`},
		{Title: "in any case", Source: `contains("HAYSTACK", "stack", case_sensitive: false)`, Result: `true`},
	},
	Returns: kind.Boolean,
	Compile: func(c *fn.Call) (fn.Impl, error) {
		// Known at compile time, as it nearly always is: the simple test needs two arguments.
		if v, ok := c.Const(2); ok && v.Bool() {
			return fn.Impl{F2: func(_ *fn.Frame, v, sub value.Value) (value.Value, bool) {
				return value.NewBool(strings.Contains(v.Str(), sub.Str())), true
			}}, nil
		}
		return fn.Impl{F3: func(_ *fn.Frame, v, sub, sensitive value.Value) (value.Value, bool) {
			if sensitive.Bool() {
				return value.NewBool(strings.Contains(v.Str(), sub.Str())), true
			}
			return value.NewBool(strings.Contains(strings.ToLower(v.Text()), strings.ToLower(sub.Text()))), true
		}}, nil
	},
}
