package parse

import (
	"strconv"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/pattern"
	"cordwood/router/vrl/value"
)

// groups is how the groups of a match become the fields of an object.
type groups struct {
	re      *pattern.Regex
	named   []namedGroup // sorted by name
	numbers []string     // the keys of numbered groups; nil if the caller does not want them
}

type namedGroup struct {
	key   string
	index int
}

func newGroups(re *pattern.Regex, numeric bool) *groups {
	g := &groups{re: re}
	b := newFields(0)
	for i, name := range re.Names() {
		if name != "" {
			b.add(name, value.NewInt(int64(i)))
		}
		if numeric {
			g.numbers = append(g.numbers, strconv.Itoa(i))
		}
	}
	if o := b.value().Object(); o != nil {
		for i := range o.Len() {
			g.named = append(g.named, namedGroup{o.Key(i), int(o.PeekAt(i).Int())})
		}
	}
	return g
}

// object returns the object for a match whose positions in s are at.
func (g *groups) object(s string, at []int) value.Value {
	b := newFields(len(g.named) + len(g.numbers))
	n := 0
	for i := range g.numbers {
		// A group that did not match is skipped, and later groups move up.
		if at[2*i] >= 0 {
			b.str(g.numbers[n], s[at[2*i]:at[2*i+1]])
			n++
		}
	}
	for _, m := range g.named {
		if at[2*m.index] >= 0 {
			b.str(m.key, s[at[2*m.index]:at[2*m.index+1]])
		} else {
			b.add(m.key, value.Value{})
		}
	}
	return b.value()
}

// groupsKind returns the kind of the object that a match with the pattern becomes.
func groupsKind(c *fn.Call) kind.Kind {
	re, ok := c.Regex(1)
	if !ok {
		return kind.ObjectAll(kind.String.OrNull())
	}
	var list []kind.Field
	certain := 0
	for i, name := range re.Names() {
		k := kind.String
		if re.Certain(i) {
			certain++
		} else {
			k = k.OrNull()
		}
		if name != "" {
			list = append(list, kind.Field{Name: name, Kind: k})
		}
	}
	numeric, known := c.Const(2)
	if !known || numeric.Bool() {
		for i := range re.Names() {
			k := kind.String
			if !known || i >= certain {
				k = k.OrUndefined()
			}
			list = append(list, kind.Field{Name: strconv.Itoa(i), Kind: k})
		}
	}
	return kind.ObjectOf(list...)
}

// compileGroups returns a function that returns the groups at run time.
func compileGroups(c *fn.Call) func(args []value.Value) *groups {
	re, ok := c.Regex(1)
	numeric, known := c.Const(2)
	if ok && known {
		g := newGroups(re, numeric.Bool())
		return func([]value.Value) *groups { return g }
	}
	return func(args []value.Value) *groups { return newGroups(args[1].Regex(), args[2].Bool()) }
}

var regexParams = []fn.Param{
	fn.ValueParam("The text to search."),
	{Name: "pattern", Doc: "The regular expression.", Kind: kind.Regex},
	{
		Name: "numeric_groups",
		Doc: "Whether the result also has the groups by number; the whole match is `0`. A group that " +
			"takes no part in the match " +
			"is left out, and those after it move up.",
		Kind: kind.Boolean, Optional: true, Default: value.NewBool(false),
	},
}

var parseRegex = &fn.Function{
	Name:  "parse_regex",
	Group: fn.Parse,
	Doc: "Searches the text with a regular expression and returns the named groups of the first match. A group " +
		"that took no part in the match is null.",
	Params:   regexParams,
	Returns:  kind.Object,
	Fallible: true,
	Errors:   []string{"the pattern does not match"},
	Examples: []fn.Example{
		{
			Title:  "named groups",
			Source: `parse_regex!("7 apples", r'(?P<n>\d+) (?P<what>\w+)')`,
			Result: `{"n":"7","what":"apples"}`,
		},
		{
			Title:  "numbers too",
			Source: `parse_regex!("7 apples", r'(\d+) (?P<what>\w+)', numeric_groups: true)`,
			Result: `{"0":"7 apples","1":"7","2":"apples","what":"apples"}`,
		},
		{Title: "no match", Source: `parse_regex!("apples", r'(?P<n>\d+)')`, Fails: `could not find any pattern matches`},
	},
	Type: func(c *fn.Call) fn.TypeDef { return fn.TypeDef{Kind: groupsKind(c), Fallible: true} },
	Compile: func(c *fn.Call) (fn.Impl, error) {
		of := compileGroups(c)
		return fn.Impl{N: func(f *fn.Frame, args []value.Value) (value.Value, bool) {
			g := of(args)
			s := args[0].Text()
			at, ok := findGroups(f, g.re, s)
			if !ok {
				return value.Value{}, false
			}
			return g.object(s, at), true
		}}, nil
	},
	Part: parseRegexPart,
}

// parseRegexPart returns the form of parse_regex!(…).name for a pattern that is known at compile time.
func parseRegexPart(c *fn.Call, s value.Segment) (fn.Impl, bool) {
	re, ok := c.Regex(1)
	numeric, known := c.Const(2)
	if !ok || !known || numeric.Bool() || s.IsIndex {
		return fn.Impl{}, false
	}
	for _, g := range newGroups(re, false).named {
		if g.key == s.Name {
			return fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
				text := v.Text()
				at, ok := findGroups(f, re, text)
				if !ok || at[2*g.index] < 0 {
					return value.Value{}, ok
				}
				return value.NewString(text[at[2*g.index]:at[2*g.index+1]]), true
			}}, true
		}
	}
	return fn.Impl{}, false
}

// findGroups returns the positions of the groups of the first match.
func findGroups(f *fn.Frame, re *pattern.Regex, s string) ([]int, bool) {
	if !f.SpendOnMatch(re, s) {
		return nil, false
	}
	at := re.Groups(s)
	if at == nil {
		_, _ = f.Fail("could not find any pattern matches")
	}
	return at, at != nil
}

var parseRegexAll = &fn.Function{
	Name:  "parse_regex_all",
	Group: fn.Parse,
	Doc: "Searches the text with a regular expression and returns an array with the result of parse_regex for each " +
		"match.",
	Params: []fn.Param{
		{Name: "value", Doc: "The text to search.", Kind: kind.Any},
		regexParams[1], regexParams[2],
	},
	Returns:  kind.Array,
	Fallible: true,
	Errors:   []string{"the value is not a string"},
	Examples: []fn.Example{
		{
			Title:  "two matches",
			Source: `parse_regex_all!("7 apples, 8 pears", r'(?P<n>\d+) (?P<what>\w+)')`,
			Result: `[{"n":"7","what":"apples"},{"n":"8","what":"pears"}]`,
		},
		{Title: "none", Source: `parse_regex_all!("apples", r'(?P<n>\d+)')`, Result: `[]`},
	},
	Type: func(c *fn.Call) fn.TypeDef { return fn.TypeDef{Kind: kind.ArrayAll(groupsKind(c)), Fallible: true} },
	Compile: func(c *fn.Call) (fn.Impl, error) {
		of := compileGroups(c)
		return fn.Impl{N: func(f *fn.Frame, args []value.Value) (value.Value, bool) {
			if !args[0].IsString() {
				return f.FailKind("string", args[0])
			}
			g := of(args)
			s := args[0].Text()
			// The memory of a match: its positions, and an object with its fields.
			size := 128 + 16*len(g.re.Names()) + 40*(len(g.named)+len(g.numbers))
			all, ok := f.AllMatches(g.re, s, f.Left().Bytes/size+1)
			if !ok || !f.Reserve(len(all)*size) {
				return value.Value{}, false
			}
			list := make([]value.Value, len(all))
			for i, at := range all {
				list[i] = g.object(s, at)
			}
			return value.NewArray(list), true
		}}, nil
	},
}
