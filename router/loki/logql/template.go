package logql

import (
	"fmt"
	"strconv"
	"strings"
)

// Template makes a text from labels.
type Template struct {
	// Source is the template as written in the query.
	Source string
	Parts  []TemplatePart
}

// TemplatePart is a literal, or the value of a label with functions applied.
type TemplatePart struct {
	Literal string
	// Label is the name of the label, __line__ or __timestamp__. It is empty if the part is a literal.
	Label string
	Calls []Call
}

// Call is a function of a template. The value is its last argument, and Args are the arguments before it.
type Call struct {
	Func string
	Args []string
}

// Line is the name of the line in templates.
const Line = "__line__"

// arguments maps each function of templates to the number of its arguments before the value.
var arguments = map[string]int{
	"ToUpper": 0, "ToLower": 0, "TrimSpace": 0, "upper": 0, "lower": 0, "trim": 0, "Trim": 1, "TrimPrefix": 1,
	"TrimSuffix": 1, "default": 1, "printf": 1, "trunc": 1, "Replace": 2, "replace": 2, "contains": 1, "hasPrefix": 1,
	"hasSuffix": 1,
}

// parseTemplate reads a template: texts, {{.name}}, and {{.name | f "a" | g}}.
func parseTemplate(source string) (*Template, error) {
	t := &Template{Source: source}
	rest := source
	for rest != "" {
		before, after, ok := strings.Cut(rest, "{{")
		if before != "" {
			t.Parts = append(t.Parts, TemplatePart{Literal: before})
		}
		if !ok {
			break
		}
		action, n, err := cutAction(after)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(action, "-") || strings.HasSuffix(action, "-") {
			return nil, fmt.Errorf("the template action {{%s}}, which trims spaces; use {{.name}}", clip(action))
		}
		part, err := parseAction(action)
		if err != nil {
			return nil, err
		}
		t.Parts = append(t.Parts, *part)
		rest = after[n:]
	}
	return t, nil
}

// cutAction returns the text before the first }} outside of strings, and the length of the text with }}.
func cutAction(s string) (string, int, error) {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"' || s[i] == '`':
			quoted, err := strconv.QuotedPrefix(s[i:])
			if err != nil {
				return "", 0, fmt.Errorf("the template has a string that does not end: %s", clip(s[i:]))
			}
			i += len(quoted) - 1
		case strings.HasPrefix(s[i:], "}}"):
			return s[:i], i + 2, nil
		}
	}
	return "", 0, fmt.Errorf("the template has {{ without }}: %s", clip(s))
}

func parseAction(action string) (*TemplatePart, error) {
	words, err := actionWords(action)
	if err != nil {
		return nil, err
	}
	var commands [][]string
	from := 0
	for i, w := range words {
		if w == "|" {
			commands, from = append(commands, words[from:i]), i+1
		}
	}
	commands = append(commands, words[from:])
	part := &TemplatePart{}
	first := commands[0]
	switch {
	case len(first) == 1 && (first[0] == Line || first[0] == "__timestamp__"):
		part.Label = first[0]
	case len(first) == 1 && strings.HasPrefix(first[0], "."):
		part.Label = first[0][1:]
	case len(first) > 1 && first[0] != "":
		// {{f "a" .name}} or, as some functions have it, {{f .name "a"}}
		at := valueFirst(first)
		label, isLabel := strings.CutPrefix(first[at], ".")
		if !isLabel && label != Line {
			return nil, notInTemplates(action)
		}
		part.Label = label
		command := append(first[:at:at], first[at+1:]...)
		commands = append([][]string{first, command}, commands[1:]...)
	default:
		return nil, notInTemplates(action)
	}
	if !plainName.MatchString(part.Label) {
		return nil, notInTemplates(action)
	}
	for _, c := range commands[1:] {
		call, err := parseCall(c, action)
		if err != nil {
			return nil, err
		}
		part.Calls = append(part.Calls, *call)
	}
	if part.Label == "__timestamp__" {
		return nil, notInTemplates(action)
	}
	return part, nil
}

// valueFirst returns the index of the value in the words of a call that has its value as an argument.
func valueFirst(words []string) int {
	switch words[0] {
	case "Replace", "Trim", "TrimPrefix", "TrimSuffix":
		return 1
	}
	return len(words) - 1
}

func notInTemplates(action string) error {
	return fmt.Errorf("the template action {{%s}}; use {{.name}} or {{.name | f}} with one of the functions ToUpper, "+
		"ToLower, Replace, Trim, TrimSpace, TrimPrefix, TrimSuffix, default, printf \"%%s\", trunc, upper, lower, replace, "+
		"trim, contains, hasPrefix and hasSuffix", clip(action))
}

func parseCall(words []string, action string) (*Call, error) {
	if len(words) == 0 {
		return nil, notInTemplates(action)
	}
	want, ok := arguments[words[0]]
	c := &Call{Func: words[0]}
	for _, w := range words[1:] {
		switch value, err := strconv.Unquote(w); {
		case err == nil && w[0] != '\'':
			c.Args = append(c.Args, value)
		case span(strings.TrimPrefix(w, "-"), digit) == len(strings.TrimPrefix(w, "-")) && w != "-":
			c.Args = append(c.Args, w)
		default:
			return nil, notInTemplates(action)
		}
	}
	if c.Func == "Replace" && len(c.Args) == 3 && c.Args[2] == "-1" {
		c.Args = c.Args[:2]
	}
	if !ok || len(c.Args) != want {
		return nil, notInTemplates(action)
	}
	switch c.Func {
	case "printf":
		if c.Args[0] != "%s" {
			return nil, notInTemplates(action)
		}
	case "Replace", "replace":
		if c.Args[0] == "" {
			return nil, notInTemplates(action)
		}
	case "trunc":
		if n, err := strconv.Atoi(c.Args[0]); err != nil || n > 1e6 || n < -1e6 {
			return nil, notInTemplates(action)
		}
	}
	return c, nil
}

// actionWords splits an action at spaces and bars, outside of strings.
func actionWords(s string) ([]string, error) {
	var out []string
	for s = strings.TrimLeft(s, " \t"); s != ""; s = strings.TrimLeft(s, " \t") {
		n := 0
		switch s[0] {
		case '|':
			n = 1
		case '"', '`':
			quoted, err := strconv.QuotedPrefix(s)
			if err != nil {
				return nil, fmt.Errorf("the template has an invalid string: %s", clip(s))
			}
			n = len(quoted)
		default:
			n = span(s, func(c byte) bool { return strings.IndexByte(" \t|\"`", c) < 0 })
		}
		out, s = append(out, s[:n]), s[n:]
	}
	return out, nil
}
