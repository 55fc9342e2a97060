package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

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
		{Title: "non-ASCII letters", Source: `downcase("ÀÉ")`, Result: `"àé"`},
	},
	Returns: kind.String,
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		return mapCase(f, v, 'A', 'Z', cases.Lower)
	}},
}

// mapCase changes the case of v. The range first to last has the ASCII letters of the other case. If v is ASCII and
// has none of them, it is returned unchanged.
func mapCase(f *fn.Frame, v value.Value, first, last byte,
	full func(language.Tag, ...cases.Option) cases.Caser,
) (value.Value, bool) {
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
	Doc:   "Returns whether the string contains another string.",
	Params: []fn.Param{
		{Name: "value", Doc: "The string to search.", Kind: kind.String},
		{Name: "substring", Doc: "The string to search for.", Kind: kind.String},
		caseSensitive,
	},
	Examples: []fn.Example{
		{Title: "found", Source: `contains("The Needle In The Haystack", "Needle")`, Result: `true`},
		{Title: "in any case", Source: `contains("HAYSTACK", "stack", case_sensitive: false)`, Result: `true`},
	},
	Returns: kind.Boolean,
	Compile: func(c *fn.Call) (fn.Impl, error) {
		// The argument is usually known at compile time. The simple test needs only two arguments.
		if v, ok := c.Const(2); ok && v.Bool() {
			return fn.Impl{F2: func(_ *fn.Frame, v, sub value.Value) (value.Value, bool) {
				return value.NewBool(strings.Contains(v.Str(), sub.Str())), true
			}}, nil
		}
		return fn.Impl{F3: func(_ *fn.Frame, v, sub, sensitive value.Value) (value.Value, bool) {
			if sensitive.Bool() {
				return value.NewBool(strings.Contains(v.Str(), sub.Str())), true
			}
			return value.NewBool(strings.Contains(lower(v.Text()), lower(sub.Text()))), true
		}}, nil
	},
}

// lower returns s, valid UTF-8, in lower case by the full rules of Unicode.
func lower(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return cases.Lower(language.Und).String(s)
		}
	}
	return strings.ToLower(s)
}

var caseSensitive = fn.Param{
	Name: "case_sensitive", Doc: "Whether upper and lower case are distinguished.", Kind: kind.Boolean, Optional: true,
	Default: value.NewBool(true),
}

var containsAll = &fn.Function{
	Name:  "contains_all",
	Group: fn.String,
	Doc:   "Returns whether the string contains all of the other strings.",
	Params: []fn.Param{
		{Name: "value", Doc: "The string to search.", Kind: kind.String},
		{Name: "substrings", Doc: "The strings to search for.", Kind: kind.Array, Borrow: true},
		caseSensitive,
	},
	Returns:  kind.Boolean,
	Fallible: true,
	Errors:   []string{"an element of substrings is not a string"},
	Examples: []fn.Example{
		{Title: "all there", Source: `contains_all("the needle in the haystack", ["needle", "hay"])`, Result: `true`},
		{Title: "one is missing", Source: `contains_all("the needle", ["needle", "hay"])`, Result: `false`},
		{
			Title:  "in any case",
			Source: `contains_all("The NEEDLE", ["the", "needle"], case_sensitive: false)`,
			Result: `true`,
		},
	},
	Type: func(c *fn.Call) fn.TypeDef {
		return fn.TypeDef{Kind: kind.Boolean, Fallible: !c.Kind(1).Elem().Within(kind.StringBit)}
	},
	Impl: fn.Impl{F3: func(f *fn.Frame, v, subs, sensitive value.Value) (value.Value, bool) {
		text := v.Str()
		if !sensitive.Bool() {
			text = lower(v.Text())
		}
		all := true
		for _, sub := range subs.Array().Peek() {
			if !sub.IsString() {
				return f.FailKind("string", sub)
			}
			if !all {
				continue // the kinds of the other arguments still matter
			}
			if !f.Spend(1 + len(text)/64) {
				return value.Value{}, false
			}
			s := sub.Str()
			if !sensitive.Bool() {
				s = lower(sub.Text())
			}
			all = strings.Contains(text, s)
		}
		return value.NewBool(all), true
	}},
}

var startsWith = &fn.Function{
	Name:  "starts_with",
	Group: fn.String,
	Doc:   "Returns whether the string starts with another string.",
	Params: []fn.Param{
		{Name: "value", Doc: "The string to check.", Kind: kind.String},
		{Name: "substring", Doc: "The prefix.", Kind: kind.String},
		caseSensitive,
	},
	Returns: kind.Boolean,
	Examples: []fn.Example{
		{Title: "a prefix", Source: `starts_with("GET /index", "GET ")`, Result: `true`},
		{Title: "case matters", Source: `starts_with("GET /index", "get ")`, Result: `false`},
		{Title: "in any case", Source: `starts_with("GET /index", "get ", case_sensitive: false)`, Result: `true`},
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		if v, ok := c.Const(2); ok && v.Bool() {
			return fn.Impl{F2: func(_ *fn.Frame, v, sub value.Value) (value.Value, bool) {
				return value.NewBool(strings.HasPrefix(v.Str(), sub.Str())), true
			}}, nil
		}
		return fn.Impl{F3: func(_ *fn.Frame, v, sub, sensitive value.Value) (value.Value, bool) {
			if sensitive.Bool() {
				return value.NewBool(strings.HasPrefix(v.Str(), sub.Str())), true
			}
			return value.NewBool(hasPrefixFold(v.Str(), sub.Str())), true
		}}, nil
	},
}

// hasPrefixFold reports whether s starts with the code points of prefix, ignoring case.
func hasPrefixFold(s, prefix string) bool {
	for prefix != "" {
		if s == "" {
			return false
		}
		a, n := value.DecodeRune(s)
		b, m := value.DecodeRune(prefix)
		if a != b && lowerRune(a) != lowerRune(b) {
			return false
		}
		s, prefix = s[n:], prefix[m:]
	}
	return true
}

func lowerRune(r rune) rune {
	if r == 'İ' { // its lower case has two code points, so no other letter has the same
		return r
	}
	return unicode.ToLower(r)
}

var endsWith = &fn.Function{
	Name:  "ends_with",
	Group: fn.String,
	Doc:   "Returns whether the string ends with another string.",
	Params: []fn.Param{
		{Name: "value", Doc: "The string to check.", Kind: kind.String},
		{Name: "substring", Doc: "The suffix.", Kind: kind.String},
		caseSensitive,
	},
	Returns: kind.Boolean,
	Examples: []fn.Example{
		{Title: "a suffix", Source: `ends_with("photo.JPG", ".JPG")`, Result: `true`},
		{Title: "case matters", Source: `ends_with("photo.JPG", ".jpg")`, Result: `false`},
		{Title: "in any case", Source: `ends_with("photo.JPG", ".jpg", case_sensitive: false)`, Result: `true`},
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		if v, ok := c.Const(2); ok && v.Bool() {
			return fn.Impl{F2: func(_ *fn.Frame, v, sub value.Value) (value.Value, bool) {
				return value.NewBool(strings.HasSuffix(v.Str(), sub.Str())), true
			}}, nil
		}
		return fn.Impl{F3: func(_ *fn.Frame, v, sub, sensitive value.Value) (value.Value, bool) {
			if sensitive.Bool() {
				return value.NewBool(strings.HasSuffix(v.Str(), sub.Str())), true
			}
			return value.NewBool(strings.HasSuffix(lower(v.Text()), lower(sub.Text()))), true
		}}, nil
	},
}

var stripWhitespace = &fn.Function{
	Name:    "strip_whitespace",
	Group:   fn.String,
	Doc:     "Removes white space, as Unicode defines it, from both ends of the string.",
	Params:  []fn.Param{{Name: "value", Doc: "The string to strip.", Kind: kind.String}},
	Returns: kind.String,
	Examples: []fn.Example{
		{Title: "both ends", Source: `strip_whitespace("  a b\n")`, Result: `"a b"`},
	},
	Impl: fn.Impl{F1: func(_ *fn.Frame, v value.Value) (value.Value, bool) {
		return value.NewString(strings.TrimSpace(v.Text())), true
	}},
}

var truncateString = &fn.Function{
	Name:  "truncate",
	Group: fn.String,
	Doc: "Truncates the string to a number of characters (code points). A truncated string may get a suffix, " +
		"which is not counted.",
	Params: []fn.Param{
		{Name: "value", Doc: "The string to truncate.", Kind: kind.String},
		{Name: "limit", Doc: "The number of characters to keep. A negative number counts as 0.", Kind: kind.Integer},
		{Name: "suffix", Doc: "The suffix for a truncated string.", Kind: kind.String, Optional: true},
	},
	Returns: kind.String,
	Examples: []fn.Example{
		{Title: "cut", Source: `truncate("naïve approach", 5)`, Result: `"naïve"`},
		{Title: "with a suffix", Source: `truncate("naïve approach", 5, suffix: "…")`, Result: `"naïve…"`},
		{Title: "short enough", Source: `truncate("naïve", 5, suffix: "…")`, Result: `"naïve"`},
	},
	Impl: fn.Impl{F3: func(f *fn.Frame, v, limit, suffix value.Value) (value.Value, bool) {
		s := v.Text()
		n := limit.Int()
		if n >= int64(len(s)) {
			return value.NewString(s), true
		}
		for i := range s {
			if n <= 0 {
				if suffix.Len() == 0 {
					return value.NewString(s[:i]), true
				}
				return f.Concat(s[:i], suffix.Text())
			}
			n--
		}
		return value.NewString(s), true
	}},
}
