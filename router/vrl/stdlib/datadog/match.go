package datadog

import (
	"regexp"
	"strconv"
	"strings"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/pattern"
	"cordwood/router/vrl/value"
)

var matchDatadogQuery = &fn.Function{
	Name:  "match_datadog_query",
	Group: fn.Object,
	Doc: "Returns whether the object matches a query in Datadog's search language. " +
		"Words without a field are searched in the " +
		"message, ignoring case; host:, source:, status:, service:, trace_id:, message:, timestamp: and tags: in " +
		"the field with that name; @path: in the field at the path; and any other name: among the tags, which are an " +
		"array of strings name:value. A value may be a word, a \"phrase\", a pattern with *, or a range such as [1 TO 5], " +
		"{1 TO *} or >=5. _exists_:name and _missing_:name test for fields. AND, OR, NOT, - and parentheses combine terms.",
	Params: []fn.Param{
		{Name: "value", Doc: "The object.", Kind: kind.Object, Borrow: true},
		{Name: "query", Doc: "The query.", Kind: kind.String, Constant: true},
	},
	Returns: kind.Boolean,
	Deep:    true,
	Examples: []fn.Example{
		{Title: "words", Source: `match_datadog_query({"message": "this and that"}, "this AND -other")`, Result: `true`},
		{Title: "a range", Source: `match_datadog_query({"status_code": 404}, "@status_code:[400 TO 499]")`, Result: `true`},
		{Title: "a tag", Source: `match_datadog_query({"tags": ["env:dev"]}, "env:prod OR env:staging")`, Result: `false`},
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		q, _ := c.Const(1)
		matches, cost, err := parseDatadog(q.Text())
		if err != nil {
			return fn.Impl{}, c.BadArgument(1, "%s", err)
		}
		// The words of a query are patterns without repetitions.
		if err := c.Host.KeepPattern(256 * len(q.Text())); err != nil {
			return fn.Impl{}, c.BadArgument(1, "%s", err)
		}
		return fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
			if !f.Spend(cost(textSize(v))) {
				return value.Value{}, false
			}
			return value.NewBool(matches(v)), true
		}}, nil
	},
}

// textSize returns the length of all strings in v.
func textSize(v value.Value) int {
	n := 0
	switch v.Kind() {
	case value.String:
		n = v.Len()
	case value.Array:
		for _, x := range v.Array().Peek() {
			n += textSize(x)
		}
	case value.Object:
		for _, x := range v.Object().Peek() {
			n += textSize(x.Value)
		}
	}
	return n
}

// A matcher reports whether an object matches.
type matcher func(event value.Value) bool

// A ddField is a name in a query, and the places in an object to which it refers.
type ddField struct {
	kind ddKind
	// tag is the name of a tag.
	tag string
	// paths lead to the fields of the other kinds.
	paths []value.Path
}

type ddKind uint8

const (
	ddDefault   ddKind = iota // the message and other fields with text
	ddReserved                // a field that every event may have
	ddAttribute               // a field at a path
	ddTag                     // an element of the tags
	ddTags                    // the tags as a whole
)

var tagsPath = value.Path{value.Name("tags")}

// strings calls f with the texts of the field until f returns true, and returns whether it did. For tags, f gets
// the whole name:value.
func (d *ddField) strings(event value.Value, f func(s string) bool) bool {
	if d.kind == ddTag || d.kind == ddTags {
		v, _ := event.Peek(tagsPath)
		if v.Array() == nil {
			return false
		}
		for _, x := range v.Array().Peek() {
			if x.IsString() && f(x.Str()) {
				return true
			}
		}
		return false
	}
	return d.values(event, func(v value.Value) bool { return f(textOf(v)) })
}

// values calls f with the values of the field, like strings.
func (d *ddField) values(event value.Value, f func(v value.Value) bool) bool {
	for _, p := range d.paths {
		v, ok := event.Peek(p)
		if !ok {
			continue
		}
		if list := v.Array(); list != nil {
			for _, x := range list.Peek() {
				if f(x) {
					return true
				}
			}
		} else if f(v) {
			return true
		}
	}
	return false
}

func textOf(v value.Value) string {
	if v.IsString() {
		return v.Text()
	}
	return v.String()
}

// exists reports whether the object has the field.
func (d *ddField) exists(event value.Value) bool {
	switch d.kind {
	case ddTag:
		return d.strings(event, func(s string) bool {
			return strings.HasPrefix(s, d.tag) && (len(s) == len(d.tag) || s[len(d.tag)] == ':')
		})
	case ddTags:
		_, ok := event.Peek(tagsPath)
		return ok
	}
	for _, p := range d.paths {
		if _, ok := event.Peek(p); ok {
			return true
		}
	}
	return false
}

// matches returns the matcher for a word or phrase, and the pattern that it uses, if any. If glob is set, * matches
// any text and ? one character.
func (d *ddField) matches(text string, glob bool) (matcher, *pattern.Regex, error) {
	if d.kind == ddTag {
		text = d.tag + ":" + text
	}
	if d.kind == ddDefault {
		re, err := pattern.Compile(`(?i)\b` + globPattern(text, glob) + `\b`)
		if err != nil {
			return nil, nil, err
		}
		return func(e value.Value) bool { return d.strings(e, re.Match) }, re, nil
	}
	if !glob {
		return func(e value.Value) bool { return d.strings(e, func(s string) bool { return s == text }) }, nil, nil
	}
	if prefix := strings.TrimSuffix(text, "*"); len(prefix) < len(text) && !strings.ContainsAny(prefix, "*?") {
		return func(e value.Value) bool {
			return d.strings(e, func(s string) bool { return strings.HasPrefix(s, prefix) })
		}, nil, nil
	}
	re, err := pattern.Compile(`(?s)^` + globPattern(text, true) + `$`)
	if err != nil {
		return nil, nil, err
	}
	return func(e value.Value) bool { return d.strings(e, re.Match) }, re, nil
}

func globPattern(text string, glob bool) string {
	p := regexp.QuoteMeta(text)
	if glob {
		p = strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(p)
	}
	return p
}

// A bound is an end of a range. If it has no value, the range is open.
type bound struct {
	text      string
	number    value.Value // if the text is a number without quotes
	open      bool
	exclusive bool
}

func newBound(text string, quoted, exclusive bool) bound {
	b := bound{text: text, open: text == "*" && !quoted, exclusive: exclusive}
	if quoted {
		return b
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		b.number = value.NewInt(i)
	} else if x, err := strconv.ParseFloat(text, 64); err == nil {
		b.number = value.NewFloat(x)
	}
	return b
}

// admits reports whether v or text is within the bound. sign is 1 for the lower bound and -1 for the upper bound.
func (b *bound) admits(v value.Value, text string, sign int) bool {
	if b.open {
		return true
	}
	c, ok := 0, false
	if !b.number.IsNull() {
		c, ok = value.Compare(v, b.number)
	}
	if !ok {
		c = strings.Compare(text, b.text)
	}
	return c*sign > 0 || c == 0 && !b.exclusive
}

// within returns the matcher for a range.
func (d *ddField) within(low, high bound) matcher {
	if low.open && high.open {
		return d.exists
	}
	switch d.kind {
	case ddTag, ddTags:
		return func(e value.Value) bool {
			return d.strings(e, func(s string) bool {
				if d.kind == ddTag {
					name, rest, ok := strings.Cut(s, ":")
					if !ok || name != d.tag {
						return false
					}
					s = rest
				}
				return low.admits(value.None, s, 1) && high.admits(value.None, s, -1)
			})
		}
	case ddAttribute:
		return func(e value.Value) bool {
			return d.values(e, func(v value.Value) bool {
				s := textOf(v)
				return low.admits(v, s, 1) && high.admits(v, s, -1)
			})
		}
	}
	return func(e value.Value) bool {
		return d.strings(e, func(s string) bool {
			return low.admits(value.None, s, 1) && high.admits(value.None, s, -1)
		})
	}
}
