package pattern

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxNest limits the nesting of groups and classes.
const maxNest = 250

type op uint8

const (
	opEmpty  op = iota
	opRune      // one character
	opAny       // the dot
	opClass     // a class, or an escape such as \w
	opAssert    // an anchor, in Go's syntax
	opGroup     // subs[0]; captured if index > 0
	opConcat    // subs in sequence
	opAlt       // one of subs
	opRepeat    // subs[0], min to max times; max -1: unlimited
)

// node is a node of a parsed pattern.
type node struct {
	op       op
	flags    flags
	char     rune
	text     string
	class    *class
	index    int
	min, max int
	lazy     bool
	subs     []*node
}

// markCertain marks the groups that take part in every match of n.
func (n *node) markCertain(certain []bool) {
	switch n.op {
	case opAlt:
		if len(n.subs) > 1 {
			return
		}
	case opRepeat:
		if n.min == 0 {
			return
		}
	case opGroup:
		if n.index > 0 {
			certain[n.index] = true
		}
	}
	for _, s := range n.subs {
		s.markCertain(certain)
	}
}

type flags uint8

const (
	flagFold    flags = 1 << iota // i
	flagMulti                     // m
	flagDotAll                    // s
	flagSwap                      // U
	flagUnicode                   // u
	flagVerbose                   // x
	flagCRLF                      // R
)

var flagOf = map[byte]flags{
	'i': flagFold, 'm': flagMulti, 's': flagDotAll, 'U': flagSwap, 'u': flagUnicode, 'x': flagVerbose, 'R': flagCRLF,
}

// parser parses a pattern by recursive descent.
type parser struct {
	src     string
	pos     int
	flags   flags
	names   []string
	nest    int
	differs bool // something has another meaning in Unicode than in ASCII
	wide    int  // the additional memory for Unicode, in bytes
}

// syntaxError is the error for an invalid pattern, with its position.
type syntaxError struct {
	src, problem string
	pos          int
}

func (e *syntaxError) Error() string {
	around := e.src[max(0, e.pos-20):min(len(e.src), e.pos+20)]
	return fmt.Sprintf("regex parse error: %s at byte %d, near %q", e.problem, e.pos,
		strings.ToValidUTF8(around, "\ufffd"))
}

func (p *parser) fail(format string, args ...any) error {
	return &syntaxError{src: p.src, problem: fmt.Sprintf(format, args...), pos: min(p.pos, len(p.src))}
}

func (p *parser) parse() (*node, error) {
	if !utf8.ValidString(p.src) {
		return nil, p.fail("the pattern is not valid UTF-8")
	}
	n, err := p.alternation()
	if err == nil && p.pos < len(p.src) {
		err = p.fail("unopened group")
	}
	return n, err
}

func (p *parser) more() bool { return p.pos < len(p.src) }

// has reports whether the rest starts with s.
func (p *parser) has(s string) bool { return strings.HasPrefix(p.src[p.pos:], s) }

// accept skips s if the rest starts with it.
func (p *parser) accept(s string) bool {
	if p.has(s) {
		p.pos += len(s)
		return true
	}
	return false
}

func (p *parser) next() rune {
	r, n := utf8.DecodeRuneInString(p.src[p.pos:])
	p.pos += n
	return r
}

// space skips characters that verbose mode ignores.
func (p *parser) space() {
	if p.flags&flagVerbose == 0 {
		return
	}
	for p.more() {
		r, n := utf8.DecodeRuneInString(p.src[p.pos:])
		switch {
		case isPatternSpace(r):
			p.pos += n
		case r == '#':
			if i := strings.IndexByte(p.src[p.pos:], '\n'); i >= 0 {
				p.pos += i + 1
			} else {
				p.pos = len(p.src)
			}
		default:
			return
		}
	}
}

func isPatternSpace(r rune) bool {
	return r == ' ' || r >= '\t' && r <= '\r' || r == 0x85 || r == 0x200e || r == 0x200f || r == 0x2028 || r == 0x2029
}

// alternation parses up to the end of a group. Flags that are set inside the group apply up to its end.
func (p *parser) alternation() (*node, error) {
	if p.nest++; p.nest > maxNest {
		return nil, p.fail("groups are nested more than %d deep", maxNest)
	}
	saved := p.flags
	alt := &node{op: opAlt}
	for {
		n, err := p.concat()
		if err != nil {
			return nil, err
		}
		alt.subs = append(alt.subs, n)
		if !p.accept("|") {
			break
		}
	}
	p.flags = saved
	p.nest--
	if len(alt.subs) == 1 {
		return alt.subs[0], nil
	}
	return alt, nil
}

func (p *parser) concat() (*node, error) {
	list := &node{op: opConcat}
	for p.space(); p.more() && !p.has("|") && !p.has(")"); p.space() {
		n, err := p.atom()
		if err != nil {
			return nil, err
		}
		if n == nil {
			continue // it only sets flags
		}
		if n, err = p.repeats(n); err != nil {
			return nil, err
		}
		list.subs = append(list.subs, n)
	}
	return list, nil
}

// repeats parses the quantifiers after n. There may be several, each of which repeats everything before it.
func (p *parser) repeats(n *node) (*node, error) {
	for {
		p.space()
		r := &node{op: opRepeat, max: -1, lazy: p.flags&flagSwap != 0, subs: []*node{n}}
		switch {
		case p.accept("*"):
		case p.accept("+"):
			r.min = 1
		case p.accept("?"):
			r.max = 1
		case p.accept("{"):
			if err := p.counts(r); err != nil {
				return nil, err
			}
		default:
			return n, nil
		}
		p.space()
		if p.accept("?") {
			r.lazy = !r.lazy
		}
		n = r
		if p.nest++; p.nest > maxNest {
			return nil, p.fail("quantifiers are nested more than %d deep", maxNest)
		}
		defer func() { p.nest-- }()
	}
}

// counts parses a counted quantifier after the opening brace.
func (p *parser) counts(r *node) error {
	number := func() (int, bool) {
		p.space()
		start := p.pos
		for p.more() && p.src[p.pos] >= '0' && p.src[p.pos] <= '9' {
			p.pos++
		}
		n, err := strconv.ParseUint(p.src[start:p.pos], 10, 31)
		p.space()
		return int(n), err == nil
	}
	low, ok := number()
	r.min, r.max = low, low
	if p.accept(",") {
		high, given := number()
		switch {
		case given:
			r.max = high
		case !ok:
			return p.fail("repetition quantifier expects a valid decimal")
		default:
			r.max = -1
		}
	} else if !ok {
		return p.fail("repetition quantifier expects a valid decimal")
	}
	if !p.accept("}") {
		return p.fail("unclosed counted repetition")
	}
	if r.max >= 0 && r.min > r.max {
		return p.fail("invalid repetition count range, the start must be <= the end")
	}
	return nil
}

// atom parses an element that a quantifier may follow. It returns nil for a group that only sets flags.
func (p *parser) atom() (*node, error) {
	n := &node{op: opRune, flags: p.flags}
	switch c := p.next(); c {
	case '(':
		return p.group()
	case '[':
		set, err := p.classBody()
		n.op, n.class = opClass, set
		return n, err
	case '.':
		n.op = opAny
	case '^':
		n.op, n.text = opAssert, `\A`
		if p.flags&flagMulti != 0 {
			n.text = `(?m:^)`
		}
	case '$':
		n.op, n.text = opAssert, `\z`
		if p.flags&flagMulti != 0 {
			n.text = `(?m:$)`
		}
	case '*', '+', '?', '{':
		p.pos--
		return nil, p.fail("repetition operator missing expression")
	case '\\':
		return p.escape()
	default:
		n.char = c
	}
	return n, nil
}

// group parses a group after the opening parenthesis.
func (p *parser) group() (*node, error) {
	n := &node{op: opGroup}
	saved := p.flags
	p.space()
	switch {
	case p.has("?=") || p.has("?!") || p.has("?<=") || p.has("?<!"):
		return nil, p.fail("look-around, including look-ahead and look-behind, is not supported")
	case p.accept("?P<") || p.accept("?<"):
		end := strings.IndexByte(p.src[p.pos:], '>')
		if end < 0 {
			return nil, p.fail("unclosed capture group name")
		}
		name := p.src[p.pos : p.pos+end]
		if !isGroupName(name) {
			return nil, p.fail("invalid capture group name %q", name)
		}
		for _, other := range p.names {
			if other == name {
				return nil, p.fail("duplicate capture group name %q", name)
			}
		}
		p.pos += end + 1
		n.index = len(p.names)
		p.names = append(p.names, name)
	case p.accept("?"):
		only, err := p.groupFlags()
		if err != nil || only {
			return nil, err
		}
	default:
		n.index = len(p.names)
		p.names = append(p.names, "")
	}
	if n.index > 1000 {
		return nil, p.fail("more than 1000 groups")
	}
	sub, err := p.alternation()
	if err != nil {
		return nil, err
	}
	if !p.accept(")") {
		return nil, p.fail("unclosed group")
	}
	p.flags = saved
	n.subs = []*node{sub}
	return n, nil
}

// groupFlags parses flags. only is true if the group contains nothing else.
func (p *parser) groupFlags() (only bool, err error) {
	on, some := true, false
	for p.more() {
		c := p.src[p.pos]
		p.pos++
		switch f, ok := flagOf[c]; {
		case c == '-' && on:
			on, some = false, false
		case c == ':' && (on || some):
			return false, nil
		case c == ')' && some:
			return true, nil
		case !ok:
			p.pos--
			return false, p.fail("unrecognized flag")
		case on:
			p.flags |= f
			some = true
		default:
			p.flags &^= f
			some = true
		}
	}
	return false, p.fail("unclosed group")
}

// isGroupName reports whether s is a valid group name.
func isGroupName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r|0x20 >= 'a' && r|0x20 <= 'z' || r >= 0x80
		if !letter && (i == 0 || r != '.' && r != '[' && r != ']' && (r < '0' || r > '9')) {
			return false
		}
	}
	return s != ""
}
