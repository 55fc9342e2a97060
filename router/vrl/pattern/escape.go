package pattern

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// escape parses an escape after the backslash.
func (p *parser) escape() (*node, error) {
	n := &node{op: opAssert, flags: p.flags}
	if !p.more() {
		return nil, p.fail("incomplete escape sequence, reached end of pattern prematurely")
	}
	switch c := p.src[p.pos]; c {
	case 'A', 'z', 'B':
		p.pos++
		n.text = `\` + string(c)
		return n, nil
	case '<', '>':
		p.pos++
		n.text = `\b`
		return n, nil
	case 'b':
		p.pos++
		n.text = `\b`
		for _, kind := range []string{"{start}", "{end}"} {
			if p.accept(kind) {
				return n, nil
			}
		}
		if p.has("{start-half}") || p.has("{end-half}") {
			return nil, p.fail("this word boundary assertion is not supported")
		}
		return n, nil
	}
	item, err := p.escapedItem()
	if err != nil {
		return nil, err
	}
	if item.text == "" && item.perl == 0 {
		n.op, n.char = opRune, item.lo
		return n, nil
	}
	n.op, n.class = opClass, &class{items: []classItem{item}, flags: p.flags}
	return n, nil
}

// escapedItem parses an escape that stands for a character or a class.
func (p *parser) escapedItem() (classItem, error) {
	if !p.more() {
		return classItem{}, p.fail("incomplete escape sequence, reached end of pattern prematurely")
	}
	switch c := p.next(); c {
	case 'd', 's', 'w', 'D', 'S', 'W':
		if p.flags&flagUnicode != 0 {
			p.differs = true
			p.wide += wideSizes[c|0x20]
		}
		return classItem{perl: byte(c), unicode: p.flags&flagUnicode != 0}, nil
	case 'p', 'P':
		return p.property(c == 'P')
	case 'a':
		return one('\a'), nil
	case 'f':
		return one('\f'), nil
	case 't':
		return one('\t'), nil
	case 'n':
		return one('\n'), nil
	case 'r':
		return one('\r'), nil
	case 'v':
		return one('\v'), nil
	case 'x':
		return p.hex(2)
	case 'u':
		return p.hex(4)
	case 'U':
		return p.hex(8)
	default:
		if c >= '0' && c <= '9' {
			p.pos--
			return classItem{}, p.fail("backreferences are not supported")
		}
		if c >= utf8.RuneSelf || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '<' || c == '>' {
			p.pos -= utf8.RuneLen(c)
			return classItem{}, p.fail("unrecognized escape sequence")
		}
		return one(c), nil
	}
}

func one(r rune) classItem { return classItem{lo: r, hi: r} }

// hex parses the number of a character: the given number of digits, or any number in braces.
func (p *parser) hex(digits int) (classItem, error) {
	text := ""
	if p.accept("{") {
		end := strings.IndexByte(p.src[p.pos:], '}')
		if end < 0 {
			return classItem{}, p.fail("unclosed hexadecimal escape")
		}
		text = p.src[p.pos : p.pos+end]
		p.pos += end + 1
	} else {
		end := min(p.pos+digits, len(p.src))
		text = p.src[p.pos:end]
		p.pos = end
		if len(text) < digits {
			return classItem{}, p.fail("incomplete hexadecimal escape")
		}
	}
	v, err := strconv.ParseUint(text, 16, 32)
	if err != nil || !utf8.ValidRune(rune(v)) {
		return classItem{}, p.fail("%q is not the hexadecimal number of a character", text)
	}
	return one(rune(v)), nil
}

// property parses a class with a Unicode property.
func (p *parser) property(negated bool) (classItem, error) {
	if !p.more() {
		return classItem{}, p.fail("incomplete escape sequence, reached end of pattern prematurely")
	}
	name := ""
	if p.accept("{") {
		end := strings.IndexByte(p.src[p.pos:], '}')
		if end < 0 {
			return classItem{}, p.fail("unclosed Unicode class")
		}
		name = p.src[p.pos : p.pos+end]
		p.pos += end + 1
	} else {
		name = string(p.next())
	}
	if rest, ok := strings.CutPrefix(name, "^"); ok {
		name, negated = rest, !negated
	}
	text, ok := propertyText(name, negated)
	if !ok {
		return classItem{}, p.fail("Unicode property %q not found", name)
	}
	return classItem{text: text}, nil
}
