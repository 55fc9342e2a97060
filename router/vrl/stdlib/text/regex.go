package text

import (
	"strconv"
	"strings"

	"cordwood/router/vrl/ascii"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/pattern"
	"cordwood/router/vrl/value"
)

var match = &fn.Function{
	Name:  "match",
	Group: fn.String,
	Doc:   "Returns whether the regular expression matches some part of the string.",
	Params: []fn.Param{
		{Name: "value", Doc: "The string to search.", Kind: kind.String},
		{Name: "pattern", Doc: "The regular expression.", Kind: kind.Regex},
	},
	Returns: kind.Boolean,
	Examples: []fn.Example{
		{Title: "found", Source: `match("I'm a little teapot", r'tea\w+')`, Result: `true`},
		{Title: "the whole string must match", Source: `match("I'm a little teapot", r'^tea\w+$')`, Result: `false`},
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, v, re value.Value) (value.Value, bool) {
		s := v.Str()
		return value.NewBool(re.Regex().Match(s)), f.SpendOnMatch(re.Regex(), s)
	}},
}

var matchAny = &fn.Function{
	Name:  "match_any",
	Group: fn.String,
	Doc:   "Returns whether at least one of the regular expressions matches some part of the string.",
	Params: []fn.Param{
		{Name: "value", Doc: "The string to search.", Kind: kind.String},
		{Name: "patterns", Doc: "The regular expressions.", Kind: kind.ArrayAll(kind.Regex), Constant: true},
	},
	Returns: kind.Boolean,
	Examples: []fn.Example{
		{Title: "one matches", Source: `match_any("GET /health", [r'/health$', r'/ready$'])`, Result: `true`},
		{Title: "none matches", Source: `match_any("GET /", [r'/health$', r'/ready$'])`, Result: `false`},
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		list, _ := c.Const(1)
		var res []*pattern.Regex
		for _, x := range list.Array().Peek() {
			if x.Regex() == nil {
				return fn.Impl{}, c.BadArgument(1, "expected regex, got %v", x.Kind())
			}
			res = append(res, x.Regex())
		}
		return fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
			s := v.Str()
			for _, re := range res {
				if !f.SpendOnMatch(re, s) {
					return value.Value{}, false
				}
				if re.Match(s) {
					return value.NewBool(true), true
				}
			}
			return value.NewBool(false), true
		}}, nil
	},
}

var countParam = fn.Param{
	Name: "count", Doc: "How many occurrences to replace, from the left; if negative, all.", Kind: kind.Integer,
	Optional: true, Default: value.NewInt(-1),
}

var replace = &fn.Function{
	Name:  "replace",
	Group: fn.String,
	Doc: "Replaces occurrences of the pattern. With a regular expression, $1, $name and ${name} in the " +
		"replacement stand " +
		"for its groups, and $$ for a dollar sign. A name is as long as possible: " +
		"${1}st is the first group followed by st.",
	Params: []fn.Param{
		{Name: "value", Doc: "The string.", Kind: kind.String},
		{Name: "pattern", Doc: "The text to replace: a string or a regular expression.", Kind: textOrRegex},
		{Name: "with", Doc: "The replacement.", Kind: kind.String},
		countParam,
	},
	Returns: kind.String,
	Examples: []fn.Example{
		{Title: "a string", Source: `replace("a-b-c", "-", "+")`, Result: `"a+b+c"`},
		{Title: "only the first", Source: `replace("a-b-c", "-", "+", count: 1)`, Result: `"a+b-c"`},
		{
			Title:  "groups",
			Source: `replace("2020-01-02", r'(\d+)-(?P<month>\d+)-(\d+)', "$3.$month.$1")`,
			Result: `"02.01.2020"`,
		},
	},
	Impl: fn.Impl{N: func(f *fn.Frame, args []value.Value) (value.Value, bool) {
		s, with, n := args[0].Text(), args[2].Text(), int(max(args[3].Int(), -1))
		if n == 0 {
			return value.NewString(s), true
		}
		if re := args[1].Regex(); re != nil {
			return replaceRegex(f, s, re, n, func(b []byte, loc []int) ([]byte, bool) {
				return expand(b, with, s, re, loc), true
			})
		}
		return replaceText(f, s, args[1].Text(), with, n)
	}},
}

// replaceText replaces up to n occurrences of old in s, all if n < 0.
func replaceText(f *fn.Frame, s, old, with string, n int) (value.Value, bool) {
	if n == 1 {
		return replaceFirst(f, s, old, with)
	}
	found := strings.Count(s, old)
	if found == 0 {
		return value.NewString(s), true
	}
	if n < 0 || n > found {
		n = found
	}
	if !f.Reserve(len(s) + n*(len(with)-len(old))) {
		return value.Value{}, false
	}
	return value.NewString(strings.Replace(s, old, with, n)), true
}

// replaceFirst replaces the first occurrence of old in s. If only a part of s remains, it is not copied.
func replaceFirst(f *fn.Frame, s, old, with string) (value.Value, bool) {
	at := strings.Index(s, old)
	if at < 0 {
		return value.NewString(s), true
	}
	before, after := s[:at], s[at+len(old):]
	size := len(before) + len(with) + len(after)
	if !f.Reserve(size) {
		return value.Value{}, false
	}
	switch {
	case with == "" && before == "":
		return value.NewString(after), true
	case with == "" && after == "":
		return value.NewString(before), true
	}
	b := append(append(append(f.Bytes(size)[:0], before...), with...), after...)
	return value.NewBytes(b), true
}

// replaceRegex replaces up to n matches of re in s; all if n < 0. add appends the replacement for the groups of a
// match.
func replaceRegex(f *fn.Frame, s string, re *pattern.Regex, n int,
	add func(b []byte, loc []int) ([]byte, bool),
) (value.Value, bool) {
	found, ok := f.AllMatches(re, s, n)
	if !ok {
		return value.Value{}, false
	}
	if len(found) == 0 {
		return value.NewString(s), true
	}
	b := make([]byte, 0, len(s)+16)
	from := 0
	for _, loc := range found {
		b = append(b, s[from:loc[0]]...)
		before := len(b)
		var ok bool
		if b, ok = add(b, loc); !ok || !f.Reserve(len(b)-before) {
			return value.Value{}, false
		}
		from = loc[1]
	}
	if !f.Reserve(len(s)) {
		return value.Value{}, false
	}
	return value.NewBytes(append(b, s[from:]...)), true
}

// expand appends the template to b, with the names of groups replaced by the groups of a match in s. A group that does
// not exist or did not match is empty.
func expand(b []byte, template, s string, re *pattern.Regex, loc []int) []byte {
	for {
		i := strings.IndexByte(template, '$')
		if i < 0 || i+1 == len(template) {
			return append(b, template...)
		}
		b = append(b, template[:i]...)
		template = template[i+1:]
		if template[0] == '$' {
			b = append(b, '$')
			template = template[1:]
			continue
		}
		name, rest, ok := groupName(template)
		if !ok {
			b = append(b, '$')
			continue
		}
		template = rest
		if g := groupNumber(re, name); g >= 0 && 2*g+1 < len(loc) && loc[2*g] >= 0 {
			b = append(b, s[loc[2*g]:loc[2*g+1]]...)
		}
	}
}

// groupName reads the name of a group that follows a dollar sign.
func groupName(s string) (name, rest string, ok bool) {
	if s[0] == '{' {
		end := strings.IndexByte(s, '}')
		if end < 0 {
			return "", "", false
		}
		return s[1:end], s[end+1:], true
	}
	n := 0
	for n < len(s) && ascii.IsWord(s[n]) {
		n++
	}
	return s[:n], s[n:], n > 0
}

func groupNumber(re *pattern.Regex, name string) int {
	if i, err := strconv.Atoi(name); err == nil && i >= 0 {
		return i
	}
	for i, n := range re.Names() {
		if n == name && n != "" {
			return i
		}
	}
	return -1
}

var replaceWith = &fn.Function{
	Name:  "replace_with",
	Group: fn.String,
	Doc: "Replaces each match of the regular expression with the result of the closure. The closure gets an object: " +
		"string is the match, captures is an array of its groups, and each named group is a separate field. A group that " +
		"took no part in the match is null.",
	Params: []fn.Param{
		{Name: "value", Doc: "The string.", Kind: kind.String},
		{Name: "pattern", Doc: "The regular expression. Its groups cannot be named string or captures.", Kind: kind.Regex},
		countParam,
	},
	Closure: &fn.Closure{
		Params: []fn.Enum{{Value: "match", Doc: "the match and its groups"}},
		Kinds: func(c *fn.Call) []kind.Kind {
			group := kind.Or(kind.String, kind.Null)
			fields := []kind.Field{
				{Name: "string", Kind: kind.String},
				{Name: "captures", Kind: kind.ArrayAll(group)},
			}
			re, known := c.Regex(1)
			if !known {
				return []kind.Kind{kind.ObjectOf(fields...).WithOthers(group)}
			}
			for _, name := range re.Names() {
				if name != "" && name != "string" && name != "captures" {
					fields = append(fields, kind.Field{Name: name, Kind: group})
				}
			}
			return []kind.Kind{kind.ObjectOf(fields...)}
		},
		Result: kind.String,
	},
	Returns: kind.String,
	Errors:  []string{"a group of the pattern is named string or captures"},
	Examples: []fn.Example{
		{
			Title:  "change the match",
			Source: `replace_with("apples and pears", r'\b\w') -> |m| { upcase(m.string) }`,
			Result: `"Apples And Pears"`,
		},
		{
			Title:  "a named group",
			Source: `replace_with("level=info", r'level=(?P<l>\w+)') -> |m| { "[" + (string(m.l) ?? "") + "]" }`,
			Result: `"[info]"`,
		},
	},
	Impl: fn.Impl{Each: func(f *fn.Frame, args []value.Value, body *fn.Body) (value.Value, bool) {
		s, re, n := args[0].Text(), args[1].Regex(), int(max(args[2].Int(), -1))
		names := re.Names()
		for _, name := range names {
			if name == "string" || name == "captures" {
				return f.Fail(`Capture group cannot be named "string" or "captures"`)
			}
		}
		if n == 0 {
			return value.NewString(s), true
		}
		return replaceRegex(f, s, re, n, func(b []byte, loc []int) ([]byte, bool) {
			v, ok := body.Call(f, matchObject(s, names, loc))
			if !ok {
				return nil, false
			}
			return append(b, v.Text()...), true
		})
	}},
}

// matchObject returns the closure's argument that describes a match.
func matchObject(s string, names []string, loc []int) value.Value {
	groups := make([]value.Value, 0, len(names))
	o := value.MakeFields(2 + len(names))
	for i, name := range names {
		var g value.Value
		if 2*i+1 < len(loc) && loc[2*i] >= 0 {
			g = value.NewString(s[loc[2*i]:loc[2*i+1]])
		}
		switch {
		case i == 0:
			o.Add("string", g)
			continue
		case name != "":
			o.Add(name, g)
		}
		groups = append(groups, g)
	}
	o.Add("captures", value.NewArray(groups))
	o.Sort()
	return o.Value()
}

var sieve = &fn.Function{
	Name:  "sieve",
	Group: fn.String,
	Doc: "Keeps the text that the regular expression matches and removes all other text. Optional texts replace " +
		"the removed bytes: one for a single byte, and one for several successive bytes. Text that is removed at " +
		"the end is not replaced.",
	Params: []fn.Param{
		{Name: "value", Doc: "The string.", Kind: kind.String},
		{Name: "permitted_characters", Doc: "The text to keep.", Kind: kind.Regex},
		{
			Name: "replace_single", Doc: "The text that replaces a single byte.", Kind: kind.String, Optional: true,
			Default: value.NewString(""),
		},
		{
			Name: "replace_repeated", Doc: "The text that replaces several successive bytes.", Kind: kind.String, Optional: true,
			Default: value.NewString(""),
		},
	},
	Returns: kind.String,
	Examples: []fn.Example{
		{Title: "keep letters", Source: `sieve("a1b22c", r'[a-z]')`, Result: `"abc"`},
		{
			Title:  "with marks",
			Source: `sieve("a1b22c", r'[a-z]', replace_single: "?", replace_repeated: "...")`,
			Result: `"a?b...c"`,
		},
	},
	Impl: fn.Impl{N: func(f *fn.Frame, args []value.Value) (value.Value, bool) {
		s, single, repeated := args[0].Text(), args[2].Text(), args[3].Text()
		found, ok := f.AllMatches(args[1].Regex(), s, -1)
		if !ok {
			return value.Value{}, false
		}
		b := make([]byte, 0, len(s))
		from := 0
		for _, loc := range found {
			mark := ""
			switch loc[0] - from {
			case 0:
			case 1:
				mark = single
			default:
				mark = repeated
			}
			if !f.Spend(1) || !f.Reserve(len(mark)) {
				return value.Value{}, false
			}
			b = append(b, mark...)
			b = append(b, s[loc[0]:loc[1]]...)
			from = loc[1]
		}
		return value.NewBytes(b), f.Reserve(len(s))
	}},
}
