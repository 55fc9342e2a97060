package jsonpath

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// The limits of a query.
const (
	maxText      = 4096
	maxNesting   = 16 // for filters and parentheses
	maxSegments  = 64
	maxSelectors = 64 // of one segment
)

// Compile compiles a query. compileRegex compiles and limits the patterns of the functions match and search. The
// error describes the fault and its position.
func Compile(text string, compileRegex func(pattern string) (*regexp.Regexp, error)) (p *Path, err error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("the path has %d bytes, at most %d are allowed", len(text), maxText)
	}
	r := reader{text: text, compileRegex: compileRegex}
	if !r.take("$") {
		return nil, r.fail("a path begins with $")
	}
	if p, err = r.path(); err != nil {
		return nil, err
	}
	if r.pos < len(text) {
		return nil, r.fail("unexpected %s", r.next())
	}
	return p, nil
}

// reader parses the text of a query. If a method succeeds, pos is after the text that it has parsed.
type reader struct {
	text         string
	pos          int
	nesting      int
	compileRegex func(string) (*regexp.Regexp, error)
}

// fail returns an error for the current position.
func (r *reader) fail(format string, args ...any) error {
	return fmt.Errorf("%s at character %d", fmt.Sprintf(format, args...), utf8.RuneCountInString(r.text[:r.pos])+1)
}

// next describes the next character for an error.
func (r *reader) next() string {
	if r.pos >= len(r.text) {
		return "end of the path"
	}
	c, _ := utf8.DecodeRuneInString(r.text[r.pos:])
	return fmt.Sprintf("%q", c)
}

func (r *reader) peek() byte {
	if r.pos < len(r.text) {
		return r.text[r.pos]
	}
	return 0
}

// take skips s if it is next.
func (r *reader) take(s string) bool {
	if strings.HasPrefix(r.text[r.pos:], s) {
		r.pos += len(s)
		return true
	}
	return false
}

func (r *reader) blanks() {
	for strings.IndexByte(" \t\n\r", r.peek()) >= 0 && r.pos < len(r.text) {
		r.pos++
	}
}

// path parses segments as long as there are any.
func (r *reader) path() (*Path, error) {
	p := &Path{singular: true}
	for {
		before := r.pos
		r.blanks()
		var s segment
		var err error
		switch {
		case r.take(".."):
			s.descend = true
			if r.peek() == '[' {
				s.selectors, err = r.brackets()
			} else {
				s.selectors, err = r.member()
			}
		case r.take("."):
			if r.peek() == '[' { // many people write $.[1] for $[1], although RFC 9535 does not allow it
				s.selectors, err = r.brackets()
			} else {
				s.selectors, err = r.member()
			}
		case r.peek() == '[':
			s.selectors, err = r.brackets()
		default:
			r.pos = before
			return p, nil
		}
		if err != nil {
			return nil, err
		}
		if p.segments = append(p.segments, s); len(p.segments) > maxSegments {
			return nil, r.fail("more than %d segments", maxSegments)
		}
		if s.descend || len(s.selectors) != 1 || s.selectors[0].kind > byIndex {
			p.singular = false
		}
	}
}

// member parses the part after a dot.
func (r *reader) member() ([]selector, error) {
	if r.take("*") {
		return []selector{{kind: everything}}, nil
	}
	start := r.pos
	for r.pos < len(r.text) {
		c := r.text[r.pos]
		if first := r.pos == start; !isNameByte(c) || first && (c == '-' || c >= '0' && c <= '9') {
			break
		}
		r.pos++
	}
	if r.pos == start {
		return nil, r.fail("expected a name or * after the dot, found %s", r.next())
	}
	name := strings.Clone(r.text[start:r.pos])
	if !utf8.ValidString(name) {
		return nil, r.fail("the name is not UTF-8")
	}
	return []selector{{kind: byName, name: name}}, nil
}

// isNameByte reports whether a name after a dot may contain c. RFC 9535 requires names with - in brackets, but here
// they are not ambiguous.
func isNameByte(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' ||
		c >= utf8.RuneSelf
}

// brackets parses a list of selectors in brackets.
func (r *reader) brackets() ([]selector, error) {
	r.pos++
	var list []selector
	for {
		r.blanks()
		s, err := r.selector()
		if err != nil {
			return nil, err
		}
		if list = append(list, s); len(list) > maxSelectors {
			return nil, r.fail("more than %d selectors", maxSelectors)
		}
		r.blanks()
		switch {
		case r.take(","):
		case r.take("]"):
			return list, nil
		default:
			return nil, r.fail("expected , or ], found %s", r.next())
		}
	}
}

func (r *reader) selector() (selector, error) {
	switch c := r.peek(); {
	case c == '*':
		r.pos++
		return selector{kind: everything}, nil
	case c == '\'' || c == '"':
		name, err := r.str()
		return selector{kind: byName, name: name}, err
	case c == '?':
		r.pos++
		t, err := r.orExpression()
		return selector{kind: byFilter, filter: t}, err
	case c == ':' || c == '-' || c >= '0' && c <= '9':
		return r.indexOrSlice()
	}
	return selector{}, r.fail("expected a quoted name, an index, a slice, * or ?, found %s", r.next())
}

func (r *reader) indexOrSlice() (selector, error) {
	s := selector{kind: byIndex, step: 1}
	var err error
	if s.start, err = r.bound(); err != nil {
		return s, err
	}
	r.blanks()
	if !r.take(":") {
		return s, nil
	}
	s.kind = bySlice
	r.blanks()
	if s.end, err = r.bound(); err != nil {
		return s, err
	}
	r.blanks()
	if !r.take(":") {
		return s, nil
	}
	r.blanks()
	step, err := r.bound()
	if step.given {
		s.step = step.at
	}
	return s, err
}

// bound parses an optional integer.
func (r *reader) bound() (bound, error) {
	start := r.pos
	r.take("-")
	digits := r.pos
	n := 0
	for c := r.peek(); c >= '0' && c <= '9'; c = r.peek() {
		r.pos++
		if n = n*10 + int(c-'0'); n >= 1<<53 {
			r.pos = start
			return bound{}, r.fail("the number is too large")
		}
	}
	switch text := r.text[start:r.pos]; {
	case text == "":
		return bound{}, nil
	case r.pos == digits || text == "-0" || r.text[digits] == '0' && r.pos > digits+1:
		r.pos = start
		return bound{}, r.fail("invalid integer %q", text)
	case digits > start:
		n = -n
	}
	return bound{n, true}, nil
}

// str reads a string in single or double quotes.
func (r *reader) str() (string, error) {
	start := r.pos
	quote := r.text[r.pos]
	r.pos++
	var b []byte
	for r.pos < len(r.text) {
		c := r.text[r.pos]
		switch {
		case c == quote:
			r.pos++
			if !utf8.Valid(b) {
				r.pos = start
				return "", r.fail("the string is not UTF-8")
			}
			return string(b), nil
		case c < ' ':
			return "", r.fail("a control character must be escaped in a string")
		case c != '\\':
			b = append(b, c)
			r.pos++
			continue
		}
		r.pos++
		e := r.peek()
		if i := strings.IndexByte(`bfnrt/\`, e); i >= 0 && e != 0 {
			b = append(b, "\b\f\n\r\t/\\"[i])
		} else if e == quote {
			b = append(b, quote)
		} else if e == 'u' {
			c, err := r.unicode()
			if err != nil {
				return "", err
			}
			b = utf8.AppendRune(b, c)
			continue
		} else {
			return "", r.fail("invalid escape")
		}
		r.pos++
	}
	r.pos = start
	return "", r.fail("the string is not closed")
}
