package datadog

import (
	"fmt"
	"strconv"
	"strings"

	"cordwood/router/vrl/ascii"
	"cordwood/router/vrl/pattern"
	"cordwood/router/vrl/value"
)

// The limits of a query: its length in bytes, and the nesting of parentheses.
const (
	maxDatadogQuery = 64 << 10
	maxDatadogDepth = 64
)

// parseDatadog parses a query. cost returns the maximum number of steps for an event with the given number of bytes
// of text.
//
//	query  = and { ("OR" | "||") and }
//	and    = clause { ["AND" | "&&"] clause }
//	clause = { "NOT" | "-" | "!" } ( "(" query ")" | [ name ":" ] ( value | range | "(" query ")" ) )
func parseDatadog(query string) (m matcher, cost func(bytes int) int, err error) {
	if len(query) > maxDatadogQuery {
		return nil, nil, fmt.Errorf("query of %d bytes is longer than %d", len(query), maxDatadogQuery)
	}
	p := ddParser{src: query}
	p.space()
	if p.pos == len(p.src) {
		return func(value.Value) bool { return true }, func(int) int { return 1 }, nil
	}
	m, err = p.or(nil, 0)
	if err == nil && p.pos < len(p.src) {
		err = p.problem("unexpected %q", p.src[p.pos:p.pos+1])
	}
	if err != nil {
		return nil, nil, fmt.Errorf("failed to build matcher: %w", err)
	}
	return m, p.cost, nil
}

// cost returns the steps for an event with bytes of text. Each term may read all of it.
func (p *ddParser) cost(bytes int) int {
	steps := p.terms * (1 + bytes/16)
	for _, re := range p.patterns {
		steps += re.Cost(bytes)
	}
	return steps
}

// find returns the matcher for a word or phrase in a field.
func (p *ddParser) find(field *ddField, text string, glob bool) (matcher, error) {
	m, re, err := field.matches(text, glob)
	if re != nil {
		p.patterns = append(p.patterns, re)
	}
	return m, err
}

type ddParser struct {
	src   string
	pos   int
	terms int
	// patterns are the patterns of the terms.
	patterns []*pattern.Regex
}

func (p *ddParser) problem(format string, args ...any) error {
	return fmt.Errorf("at byte %d of the query: "+format, append([]any{p.pos}, args...)...)
}

func (p *ddParser) space() {
	for p.pos < len(p.src) && strings.IndexByte(" \t\r\n", p.src[p.pos]) >= 0 {
		p.pos++
	}
}

func (p *ddParser) peek() byte {
	if p.pos < len(p.src) {
		return p.src[p.pos]
	}
	return 0
}

// word accepts an operator in the form of a word or a sign.
func (p *ddParser) word(word, sign string) bool {
	rest := p.src[p.pos:]
	switch {
	case strings.HasPrefix(rest, word) &&
		(len(rest) == len(word) || strings.IndexByte(" \t\r\n(\"", rest[len(word)]) >= 0):
		p.pos += len(word)
	case sign != "" && strings.HasPrefix(rest, sign):
		p.pos += len(sign)
	default:
		return false
	}
	p.space()
	return true
}

// or parses a query. Its words refer to the field, unless they name another one.
func (p *ddParser) or(field *ddField, depth int) (matcher, error) {
	if depth > maxDatadogDepth {
		return nil, p.problem("parentheses are nested deeper than %d", maxDatadogDepth)
	}
	some, err := p.and(field, depth)
	for err == nil && p.word("OR", "||") {
		a := some
		var b matcher
		b, err = p.and(field, depth)
		some = func(e value.Value) bool { return a(e) || b(e) }
	}
	return some, err
}

func (p *ddParser) and(field *ddField, depth int) (matcher, error) {
	all, err := p.clause(field, depth)
	for err == nil && p.pos < len(p.src) && p.peek() != ')' {
		at := p.pos
		if p.word("OR", "||") {
			p.pos = at
			break
		}
		p.word("AND", "&&")
		a := all
		var b matcher
		b, err = p.clause(field, depth)
		all = func(e value.Value) bool { return a(e) && b(e) }
	}
	return all, err
}

func (p *ddParser) clause(field *ddField, depth int) (matcher, error) {
	not := false
	for {
		if p.word("NOT", "") || p.word("!", "!") {
			not = !not
		} else if p.peek() == '-' {
			not = !not
			p.pos++
		} else if p.peek() == '+' {
			p.pos++
		} else {
			break
		}
	}
	m, err := p.term(field, depth)
	p.space()
	if err != nil || !not {
		return m, err
	}
	return func(e value.Value) bool { return !m(e) }, nil
}

func (p *ddParser) term(field *ddField, depth int) (matcher, error) {
	p.terms++
	start := p.pos
	if c := p.peek(); c != '(' && c != '"' && c != '[' && c != '{' {
		name, _, err := p.text(true)
		if err != nil {
			return nil, err
		}
		if p.peek() == ':' && name != "" {
			p.pos++
			switch name {
			case "*":
				if strings.HasPrefix(p.src[p.pos:], "*") {
					p.pos++
					return func(value.Value) bool { return true }, nil
				}
			case "_exists_", "_missing_":
				return p.presence(name)
			}
			if field, err = fieldOf(name); err != nil {
				return nil, err
			}
		} else {
			p.pos = start
		}
	}
	if field == nil {
		field = defaultField
	}
	switch c := p.peek(); c {
	case '(':
		p.pos++
		p.space()
		m, err := p.or(field, depth+1)
		if err == nil && p.peek() != ')' {
			err = p.problem("expected a closing parenthesis")
		}
		p.pos++
		return m, err
	case '[', '{':
		return p.interval(field)
	case '<', '>':
		return p.comparison(field)
	case '"':
		text, err := p.quoted()
		if err != nil {
			return nil, err
		}
		return p.find(field, text, false)
	}
	text, glob, err := p.text(field == defaultField)
	switch {
	case err != nil:
		return nil, err
	case text == "":
		return nil, p.problem("expected a word")
	case text == "*" && glob:
		if field == defaultField {
			return func(value.Value) bool { return true }, nil
		}
		return field.exists, nil
	}
	return p.find(field, text, glob)
}

// presence parses the text after _exists_: and _missing_:.
func (p *ddParser) presence(name string) (matcher, error) {
	of, _, err := p.text(true)
	if err != nil {
		return nil, err
	}
	if of == "" {
		return nil, p.problem("expected a name after %s", name)
	}
	field, err := fieldOf(of)
	if err != nil {
		return nil, err
	}
	if name == "_exists_" {
		return field.exists, nil
	}
	return func(e value.Value) bool { return !field.exists(e) }, nil
}

// text parses a word. A backslash escapes the next character. glob reports whether an unescaped * or ? occurs. A
// name ends before a colon.
func (p *ddParser) text(name bool) (text string, glob bool, err error) {
	var b []byte
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		switch {
		case strings.IndexByte(" \t\r\n()[]{}\"", c) >= 0, c == ':' && name:
			return string(b), glob, nil
		case c == '\\':
			p.pos++
			if p.pos == len(p.src) {
				return "", false, p.problem("nothing follows the backslash")
			}
			c = p.src[p.pos]
		case c == '*' || c == '?':
			glob = true
		}
		b = append(b, c)
		p.pos++
	}
	return string(b), glob, nil
}

// quoted parses a phrase in quotes.
func (p *ddParser) quoted() (string, error) {
	var b []byte
	for p.pos++; p.pos < len(p.src); p.pos++ {
		c := p.src[p.pos]
		switch {
		case c == '"':
			p.pos++
			return string(b), nil
		case c == '\\' && p.pos+1 < len(p.src):
			p.pos++
			c = p.src[p.pos]
		}
		b = append(b, c)
	}
	return "", p.problem("the phrase has no closing quote")
}

// end parses an end of a range.
func (p *ddParser) end(exclusive bool) (bound, error) {
	if p.peek() == '"' {
		text, err := p.quoted()
		return newBound(text, true, exclusive), err
	}
	text, _, err := p.text(false)
	if err == nil && text == "" {
		err = p.problem("expected an end of the range")
	}
	return newBound(text, false, exclusive), err
}

// interval parses a range such as [1 TO 5}, starting at the bracket.
func (p *ddParser) interval(field *ddField) (matcher, error) {
	exclusive := p.peek() == '{'
	p.pos++
	p.space()
	low, err := p.end(exclusive)
	if err != nil {
		return nil, err
	}
	p.space()
	if !p.word("TO", "") {
		return nil, p.problem("expected TO")
	}
	high, err := p.end(false)
	if err != nil {
		return nil, err
	}
	p.space()
	switch p.peek() {
	case '}':
		high.exclusive = true
	case ']':
	default:
		return nil, p.problem("expected the end of the range")
	}
	p.pos++
	return field.within(low, high), nil
}

// comparison parses a range such as >=5.
func (p *ddParser) comparison(field *ddField) (matcher, error) {
	below := p.peek() == '<'
	p.pos++
	exclusive := p.peek() != '='
	if !exclusive {
		p.pos++
	}
	end, err := p.end(exclusive)
	if err != nil {
		return nil, err
	}
	open := bound{open: true}
	if below {
		return field.within(open, end), nil
	}
	return field.within(end, open), nil
}

// defaultField is the field for words that name no field.
var defaultField = &ddField{kind: ddDefault, paths: []value.Path{
	{value.Name("message")},
	{value.Name("custom"), value.Name("error"), value.Name("message")},
	{value.Name("custom"), value.Name("error"), value.Name("stack")},
	{value.Name("custom"), value.Name("title")},
	{value.Name("_default_")},
}}

// fieldOf returns the field that a name stands for.
func fieldOf(name string) (*ddField, error) {
	switch name {
	case "_default_":
		return defaultField, nil
	case "tags":
		return &ddField{kind: ddTags}, nil
	case "host", "source", "status", "service", "trace_id", "message", "timestamp":
		return &ddField{kind: ddReserved, paths: []value.Path{{value.Name(name)}}}, nil
	}
	if !strings.HasPrefix(name, "@") {
		return &ddField{kind: ddTag, tag: name}, nil
	}
	path, err := attributePath(name[1:])
	return &ddField{kind: ddAttribute, paths: []value.Path{path}}, err
}

// attributePath parses a path such as a.b-c[0]."d e".
func attributePath(s string) (value.Path, error) {
	var path value.Path
	for i := 0; i < len(s); {
		switch start := i; s[i] {
		case '[':
			end := strings.IndexByte(s[i:], ']')
			if end < 0 {
				return nil, fmt.Errorf("path %q has no closing bracket", s)
			}
			n, err := strconv.Atoi(s[i+1 : i+end])
			if err != nil {
				return nil, fmt.Errorf("path %q has an index that is not a number", s)
			}
			path = append(path, value.Index(n))
			i += end + 1
		case '"':
			end := strings.IndexByte(s[i+1:], '"')
			if end < 0 {
				return nil, fmt.Errorf("path %q has no closing quote", s)
			}
			path = append(path, value.Name(s[i+1:i+1+end]))
			i += end + 2
		default:
			for i < len(s) && (ascii.IsWord(s[i]) || s[i] == '-' || s[i] == '@') {
				i++
			}
			if i == start {
				return nil, fmt.Errorf("path %q has an invalid character %q", s, s[i:i+1])
			}
			path = append(path, value.Name(s[start:i]))
		}
		if i < len(s) && s[i] == '.' {
			if i++; i == len(s) {
				return nil, fmt.Errorf("path %q ends with a dot", s)
			}
		} else if i < len(s) && s[i] != '[' {
			return nil, fmt.Errorf("path %q has an invalid character %q", s, s[i:i+1])
		}
	}
	if len(path) == 0 {
		return nil, fmt.Errorf("path %q is empty", s)
	}
	return path, nil
}
