package pattern

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

// class is a character class: items, which may be nested classes, possibly combined with another class by a set
// operation.
type class struct {
	negated bool
	flags   flags
	items   []classItem
	// left and op are set if the class is a set operation on left and items.
	left *class
	op   string
}

// classItem is a range of characters, a class with a letter (perl), the text of a class in Go's syntax, or a nested
// class.
type classItem struct {
	lo, hi  rune
	perl    byte
	unicode bool
	text    string
	nested  *class
}

// simple reports whether Go's syntax can express the class.
func (c *class) simple() bool {
	if c.left != nil {
		return false
	}
	for i := range c.items {
		if c.items[i].nested != nil {
			return false
		}
	}
	return true
}

// classBody parses a class after its opening bracket.
func (p *parser) classBody() (*class, error) {
	if p.nest++; p.nest > maxNest {
		return nil, p.fail("classes are nested more than %d deep", maxNest)
	}
	outer := &class{flags: p.flags}
	cur := &class{flags: p.flags}
	start := p.pos
	p.space()
	outer.negated = p.accept("^")
	p.space()
	for p.accept("-") {
		cur.items = append(cur.items, one('-'))
		p.space()
	}
	if len(cur.items) == 0 && p.accept("]") {
		cur.items = append(cur.items, one(']'))
	}
	for {
		p.space()
		if !p.more() {
			p.pos = start
			return nil, p.fail("unclosed character class")
		}
		switch {
		case p.accept("]"):
			p.nest--
			outer.items, outer.left, outer.op = cur.items, cur.left, cur.op
			return outer, nil
		case p.has("&&") || p.has("--") || p.has("~~"):
			cur = &class{flags: p.flags, left: cur, op: p.src[p.pos : p.pos+2]}
			p.pos += 2
			continue
		case p.has("[:"):
			if text, ok := p.posix(); ok {
				cur.items = append(cur.items, classItem{text: text})
				continue
			}
		}
		if p.accept("[") {
			nested, err := p.classBody()
			if err != nil {
				return nil, err
			}
			cur.items = append(cur.items, classItem{nested: nested})
			continue
		}
		item, err := p.classRange()
		if err != nil {
			return nil, err
		}
		cur.items = append(cur.items, item)
	}
}

// posix parses a class such as [:alpha:], if it is one.
func (p *parser) posix() (string, bool) {
	end := strings.Index(p.src[p.pos:], ":]")
	if end < 0 {
		return "", false
	}
	text := p.src[p.pos : p.pos+end+2]
	if _, err := syntax.Parse("["+text+"]", syntax.Perl); err != nil {
		return "", false
	}
	p.pos += len(text)
	return text, true
}

// classRange parses a character, a range of them, or an escape in a class.
func (p *parser) classRange() (classItem, error) {
	low, err := p.classChar()
	if err != nil || low.perl != 0 || low.text != "" {
		return low, err
	}
	p.space()
	if !p.has("-") || p.has("--") {
		return low, nil
	}
	at := p.pos
	p.pos++
	p.space()
	if !p.more() || p.has("]") {
		p.pos = at
		return low, nil
	}
	high, err := p.classChar()
	if err != nil {
		return high, err
	}
	if high.perl != 0 || high.text != "" || high.lo < low.lo {
		return high, p.fail("invalid character class range, the start must be <= the end")
	}
	return classItem{lo: low.lo, hi: high.lo}, nil
}

func (p *parser) classChar() (classItem, error) {
	if p.accept(`\`) {
		return p.escapedItem()
	}
	return one(p.next()), nil
}

// set is a set of characters, as the first and last character of each range, in order.
type set []rune

// ranges returns the characters of the class.
func (c *class) ranges(ascii bool) (set, error) {
	var out set
	var plain strings.Builder
	for i := range c.items {
		it := &c.items[i]
		if it.nested != nil {
			s, err := it.nested.ranges(ascii)
			if err != nil {
				return nil, err
			}
			out = append(out, s...)
			continue
		}
		it.write(&plain, ascii)
	}
	if plain.Len() > 0 {
		s, err := parseSet(plain.String(), c.flags&flagFold != 0)
		if err != nil {
			return nil, err
		}
		out = append(out, s...)
	}
	out = out.normal()
	if c.left != nil {
		left, err := c.left.ranges(ascii)
		if err != nil {
			return nil, err
		}
		switch c.op {
		case "&&":
			out = left.without(out.complement())
		case "--":
			out = left.without(out)
		default:
			out = append(left.without(out), out.without(left)...).normal()
		}
	}
	if c.negated {
		out = out.complement()
	}
	return out, nil
}

// parseSet returns the characters of the items of a class, which Go's parser parses.
func parseSet(items string, fold bool) (set, error) {
	f := syntax.Perl
	if fold {
		f |= syntax.FoldCase
	}
	re, err := syntax.Parse("["+items+"]", f)
	if err != nil {
		return nil, goError(err)
	}
	switch re.Op {
	case syntax.OpCharClass:
		return re.Rune, nil
	case syntax.OpLiteral:
		s := set{re.Rune[0], re.Rune[0]}
		if re.Flags&syntax.FoldCase != 0 {
			for r := unicode.SimpleFold(re.Rune[0]); r != re.Rune[0]; r = unicode.SimpleFold(r) {
				s = append(s, r, r)
			}
		}
		return s, nil
	case syntax.OpAnyChar:
		return set{0, unicode.MaxRune}, nil
	case syntax.OpAnyCharNotNL:
		return set{0, '\n' - 1, '\n' + 1, unicode.MaxRune}, nil
	}
	return nil, nil
}

// normal returns s sorted and without overlaps.
func (s set) normal() set {
	type span struct{ lo, hi rune }
	list := make([]span, 0, len(s)/2)
	for i := 0; i+1 < len(s); i += 2 {
		list = append(list, span{s[i], s[i+1]})
	}
	slices.SortFunc(list, func(a, b span) int { return int(a.lo) - int(b.lo) })
	out := make(set, 0, len(s))
	for _, x := range list {
		if n := len(out); n > 0 && x.lo <= out[n-1]+1 {
			out[n-1] = max(out[n-1], x.hi)
		} else {
			out = append(out, x.lo, x.hi)
		}
	}
	return out
}

// complement returns all characters that are not in s, which is normal.
func (s set) complement() set {
	out := make(set, 0, len(s)+2)
	next := rune(0)
	for i := 0; i+1 < len(s); i += 2 {
		if s[i] > next {
			out = append(out, next, s[i]-1)
		}
		next = s[i+1] + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, next, unicode.MaxRune)
	}
	return out
}

// without returns the characters of s that are not in t. Both must be normal.
func (s set) without(t set) set {
	keep := append(s.complement(), t...).normal()
	return keep.complement()
}
