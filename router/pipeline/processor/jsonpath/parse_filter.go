package jsonpath

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf16"

	"cordwood/router/vrl/pattern"
	"cordwood/router/vrl/value"
)

// unicode parses uXXXX after a backslash, and the second half of a surrogate pair.
func (r *reader) unicode() (rune, error) {
	c, err := r.hex4()
	if err != nil || !utf16.IsSurrogate(c) {
		return c, err
	}
	at := r.pos
	if r.take(`\`) && r.peek() == 'u' {
		low, err := r.hex4()
		if err != nil {
			return 0, err
		}
		if pair := utf16.DecodeRune(c, low); pair != '\uFFFD' {
			return pair, nil
		}
	}
	r.pos = at
	return 0, r.fail("half of a surrogate pair")
}

// hex4 reads u and four hexadecimal digits.
func (r *reader) hex4() (rune, error) {
	if r.pos+5 > len(r.text) {
		return 0, r.fail("invalid escape")
	}
	n, err := strconv.ParseUint(r.text[r.pos+1:r.pos+5], 16, 16)
	if err != nil {
		return 0, r.fail("invalid escape")
	}
	r.pos += 5
	return rune(n), nil
}

// orExpression reads an expression of a filter: parts joined by ||.
func (r *reader) orExpression() (test, error) {
	if r.nesting++; r.nesting > maxNesting {
		return nil, r.fail("filters and parentheses are nested more than %d deep", maxNesting)
	}
	defer func() { r.nesting-- }()
	return r.joined("||", r.andExpression, func(list []test) test { return orTest{list} })
}

func (r *reader) andExpression() (test, error) {
	return r.joined("&&", r.basic, func(list []test) test { return andTest{list} })
}

func (r *reader) joined(op string, part func() (test, error), join func([]test) test) (test, error) {
	var list []test
	for {
		r.blanks()
		t, err := part()
		if err != nil {
			return nil, err
		}
		list = append(list, t)
		before := r.pos
		r.blanks()
		if r.take(op) {
			continue
		}
		r.pos = before
		if len(list) == 1 {
			return t, nil
		}
		return join(list), nil
	}
}

// basic parses an expression in parentheses, a comparison or a test.
func (r *reader) basic() (test, error) {
	start := r.pos
	negated := r.take("!")
	r.blanks()
	var t test
	if r.take("(") {
		var err error
		if t, err = r.orExpression(); err != nil {
			return nil, err
		}
		r.blanks()
		if !r.take(")") {
			return nil, r.fail("expected ), found %s", r.next())
		}
	} else {
		o, own, err := r.term()
		if err != nil {
			return nil, err
		}
		before := r.pos
		r.blanks()
		op := r.operator()
		switch {
		case op == "":
			r.pos = before
			if t = own; t == nil {
				return nil, r.fail("expected a comparison, found %s", r.next())
			}
		case negated:
			r.pos = start
			return nil, r.fail("! must be followed by a test or parentheses")
		default:
			return r.comparison(op, o)
		}
	}
	if negated {
		t = not{t}
	}
	return t, nil
}

func (r *reader) operator() string {
	for _, op := range []string{"==", "!=", "<=", ">=", "<", ">"} {
		if r.take(op) {
			return op
		}
	}
	return ""
}

func (r *reader) comparison(op string, left operand) (test, error) {
	if err := r.comparable(left); err != nil {
		return nil, err
	}
	r.blanks()
	right, _, err := r.term()
	if err != nil {
		return nil, err
	}
	return comparison{op, left, right}, r.comparable(right)
}

func (r *reader) comparable(o operand) error {
	if q, ok := o.(query); o == nil || ok && !q.path.singular {
		return r.fail("only a value can be compared: a literal, a path of names and indexes, or length, count or value;")
	}
	return nil
}

// term parses a term, which may be an operand of a comparison, a test, or both. If it cannot be an operand or a
// test, that result is nil.
func (r *reader) term() (operand, test, error) {
	switch c := r.peek(); {
	case c == '@' || c == '$':
		q, err := r.query()
		return q, exists{q}, err
	case c == '\'' || c == '"':
		s, err := r.str()
		return literal{value.NewString(s)}, nil, err
	case c == '-' || c >= '0' && c <= '9':
		v, err := r.number()
		return literal{v}, nil, err
	case c >= 'a' && c <= 'z':
		start := r.pos
		for c := r.peek(); c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_'; c = r.peek() {
			r.pos++
		}
		switch word := r.text[start:r.pos]; {
		case r.peek() == '(':
			return r.function(word, start)
		case word == "true" || word == "false":
			return literal{value.NewBool(word == "true")}, nil, nil
		case word == "null":
			return literal{}, nil, nil
		}
		r.pos = start
	}
	return nil, nil, r.fail("expected a path that begins with @ or $, a literal or a function, found %s", r.next())
}

func (r *reader) query() (query, error) {
	q := query{fromRoot: r.peek() == '$'}
	r.pos++
	if r.nesting++; r.nesting > maxNesting {
		return q, r.fail("filters are nested more than %d deep", maxNesting)
	}
	var err error
	q.path, err = r.path()
	r.nesting--
	return q, err
}

// number reads a JSON number.
func (r *reader) number() (value.Value, error) {
	start := r.pos
	for strings.IndexByte("+-.eE0123456789", r.peek()) >= 0 && r.pos < len(r.text) {
		r.pos++
	}
	text := r.text[start:r.pos]
	v, err := value.ParseJSON(text, value.JSONOptions{})
	if f, ok := v.Number(); err != nil || !ok || math.IsInf(f, 0) {
		r.pos = start
		return v, r.fail("invalid number %q", text)
	}
	return v, nil
}

// function reads the arguments of a function, whose name began at start.
func (r *reader) function(name string, start int) (operand, test, error) {
	r.pos++
	r.blanks()
	switch name {
	case "length":
		o, err := r.valueArgument()
		if err == nil {
			err = r.closing(name)
		}
		return lengthOf{o}, nil, err
	case "count", "value":
		if c := r.peek(); c != '@' && c != '$' {
			return nil, nil, r.fail("%s needs a path, found %s", name, r.next())
		}
		q, err := r.query()
		if err == nil {
			err = r.closing(name)
		}
		if name == "count" {
			return countOf{q}, nil, err
		}
		return valueOf{q}, nil, err
	case "match", "search":
		t, err := r.matching(name)
		return nil, t, err
	}
	r.pos = start
	return nil, nil, r.fail("unknown function %s, known are length, count, value, match and search;", name)
}

// matching reads the arguments of match and search.
func (r *reader) matching(name string) (test, error) {
	o, err := r.valueArgument()
	if err != nil {
		return nil, err
	}
	r.blanks()
	if !r.take(",") {
		return nil, r.fail("expected , and a pattern, found %s", r.next())
	}
	r.blanks()
	if c := r.peek(); c != '\'' && c != '"' {
		return nil, r.fail("the pattern of %s must be a string, found %s", name, r.next())
	}
	start := r.pos
	text, err := r.str()
	if err != nil {
		return nil, err
	}
	if name == "match" {
		text = `\A(?:` + text + `)\z`
	}
	re, err := r.compileRegex(text)
	if err != nil {
		r.pos = start
		return nil, r.fail("%s", err)
	}
	instructions, _ := pattern.Measure(re.String())
	return matches{o, re, instructions}, r.closing(name)
}

// valueArgument reads an argument that is one value.
func (r *reader) valueArgument() (operand, error) {
	if r.nesting++; r.nesting > maxNesting {
		return nil, r.fail("functions are nested more than %d deep", maxNesting)
	}
	defer func() { r.nesting-- }()
	o, _, err := r.term()
	if err != nil {
		return nil, err
	}
	return o, r.comparable(o)
}

func (r *reader) closing(name string) error {
	r.blanks()
	if !r.take(")") {
		return r.fail("expected ) after the arguments of %s, found %s", name, r.next())
	}
	return nil
}
