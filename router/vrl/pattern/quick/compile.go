package quick

import (
	"regexp/syntax"
	"unicode/utf8"
)

// The limits of a program.
const (
	maxInsts  = 500
	maxRepeat = 1000
)

// Compile compiles a pattern in the syntax of package regexp. It returns nil if the pattern is invalid or not
// supported.
func Compile(pattern string) *Program {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	c := &compiler{p: &Program{groups: tree.MaxCap() + 1}}
	c.emit(inst{op: opMatch})
	start := c.node(tree, 0)
	if c.failed {
		return nil
	}
	c.p.start = start
	c.p.analyze()
	return c.p
}

// compiler builds a program from its end: for each part it knows the instruction that follows.
type compiler struct {
	p      *Program
	failed bool
}

func (c *compiler) emit(in inst) int32 {
	if len(c.p.insts) >= maxInsts {
		c.failed = true
		return 0
	}
	c.p.insts = append(c.p.insts, in)
	return int32(len(c.p.insts) - 1)
}

// node emits the instructions for a part of the pattern, which continue at next, and returns the first one.
func (c *compiler) node(re *syntax.Regexp, next int32) int32 {
	if c.failed {
		return 0
	}
	switch re.Op {
	case syntax.OpEmptyMatch:
		return next
	case syntax.OpLiteral:
		return c.literal(re, next)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		s, high, ok := classOf(re)
		if !ok {
			break
		}
		c.p.ascii = c.p.ascii || high != noHigh // a byte is not a character
		return c.emit(inst{op: opSet, set: s, next: next})
	case syntax.OpBeginText:
		return c.emit(inst{op: opBegin, next: next})
	case syntax.OpEndText:
		return c.emit(inst{op: opEnd, next: next})
	case syntax.OpBeginLine:
		return c.emit(inst{op: opLineBegin, next: next})
	case syntax.OpEndLine:
		return c.emit(inst{op: opLineEnd, next: next})
	case syntax.OpWordBoundary:
		return c.emit(inst{op: opBoundary, next: next})
	case syntax.OpNoWordBoundary:
		c.p.ascii = true // it would also hold inside characters
		return c.emit(inst{op: opInside, next: next})
	case syntax.OpCapture:
		end := c.emit(inst{op: opSave, slot: int32(2*re.Cap + 1), next: next})
		return c.emit(inst{op: opSave, slot: int32(2 * re.Cap), next: c.node(re.Sub[0], end)})
	case syntax.OpConcat:
		for i := len(re.Sub) - 1; i >= 0; i-- {
			next = c.node(re.Sub[i], next)
		}
		return next
	case syntax.OpAlternate:
		other := c.node(re.Sub[len(re.Sub)-1], next)
		for i := len(re.Sub) - 2; i >= 0; i-- {
			other = c.emit(inst{op: opSplit, next: c.node(re.Sub[i], next), other: other})
		}
		return other
	case syntax.OpStar:
		return c.repeat(re, 0, -1, next)
	case syntax.OpPlus:
		return c.repeat(re, 1, -1, next)
	case syntax.OpQuest:
		return c.repeat(re, 0, 1, next)
	case syntax.OpRepeat:
		return c.repeat(re, re.Min, re.Max, next)
	}
	c.failed = true
	return 0
}

func (c *compiler) literal(re *syntax.Regexp, next int32) int32 {
	if re.Flags&syntax.FoldCase == 0 {
		for _, r := range re.Rune {
			if r == utf8.RuneError { // U+FFFD also matches bytes that are not UTF-8
				c.failed = true
			}
		}
		return c.emit(inst{op: opText, text: string(re.Rune), next: next})
	}
	for i := len(re.Rune) - 1; i >= 0; i-- {
		s, folds, ok := foldSet(re.Rune[i])
		if !ok {
			c.failed = true
			return 0
		}
		c.p.ascii = c.p.ascii || folds
		next = c.emit(inst{op: opSet, set: s, next: next})
	}
	return next
}

// foldSet returns both cases of an ASCII character. folds is set if there are equivalent non-ASCII characters too.
func foldSet(r rune) (s *set, folds, ok bool) {
	if r >= utf8.RuneSelf {
		return nil, false, false
	}
	s = &set{}
	s.add(byte(r))
	switch {
	case r >= 'a' && r <= 'z':
		s.add(byte(r - 'a' + 'A'))
	case r >= 'A' && r <= 'Z':
		s.add(byte(r - 'A' + 'a'))
	}
	return s, r|0x20 == 'k' || r|0x20 == 's', true
}

// repeat emits a repetition of re.Sub[0].
func (c *compiler) repeat(re *syntax.Regexp, low, high int, next int32) int32 {
	sub := re.Sub[0]
	lazy := re.Flags&syntax.NonGreedy != 0
	if s, beyond, ok := classOf(sub); ok {
		in := inst{op: opGreedy, set: s, slot: missing(s), delim: -1, min: int32(low), max: int32(high), next: next}
		if lazy {
			in.op = opLazy
		}
		if beyond == someHigh || beyond == allHigh && (low > 1 || high >= 0) {
			c.p.ascii = true // it counts or distinguishes bytes and not characters
		}
		return c.emit(in)
	}
	if mayBeEmpty(sub) && (low != 0 || high != 1) || low > maxRepeat || high > maxRepeat {
		c.failed = true
		return 0
	}
	split := func(body, after int32) inst {
		if lazy {
			return inst{op: opSplit, next: after, other: body}
		}
		return inst{op: opSplit, next: body, other: after}
	}
	if high < 0 {
		loop := c.emit(inst{})
		in := split(c.node(sub, loop), next)
		if c.failed {
			return 0
		}
		c.p.insts[loop] = in
		next = loop
	}
	after := next
	for i := high; i > low; i-- { // each optional part only after the one before it
		next = c.emit(split(c.node(sub, next), after))
	}
	for range low {
		next = c.node(sub, next)
	}
	return next
}

// high determines which non-ASCII characters a class contains.
type high uint8

const (
	noHigh high = iota
	someHigh
	allHigh
)

// classOf returns the bytes of a part that matches one character. They include non-ASCII bytes only if the part
// matches all non-ASCII characters.
func classOf(re *syntax.Regexp) (s *set, beyond high, ok bool) {
	ranges := re.Rune
	switch re.Op {
	case syntax.OpAnyChar:
		ranges = []rune{0, utf8.MaxRune}
	case syntax.OpAnyCharNotNL:
		ranges = []rune{0, '\n' - 1, '\n' + 1, utf8.MaxRune}
	case syntax.OpLiteral:
		if len(ranges) != 1 || ranges[0] >= utf8.RuneSelf {
			return nil, 0, false
		}
		if re.Flags&syntax.FoldCase != 0 {
			s, folds, ok := foldSet(ranges[0])
			if folds {
				return s, someHigh, ok
			}
			return s, noHigh, ok
		}
		ranges = []rune{ranges[0], ranges[0]}
	case syntax.OpCharClass:
	default:
		return nil, 0, false
	}
	s = &set{}
	for i := 0; i+1 < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1] && r < utf8.RuneSelf; r++ {
			s.add(byte(r))
		}
		switch {
		case ranges[i+1] < utf8.RuneSelf:
		case ranges[i] <= utf8.RuneSelf && ranges[i+1] == utf8.MaxRune:
			beyond = allHigh
			s[2], s[3] = ^uint64(0), ^uint64(0)
		default:
			beyond = someHigh
		}
	}
	return s, beyond, true
}

// missing returns the only byte that s does not contain, or -1.
func missing(s *set) int32 {
	at := int32(-1)
	for b := range int32(256) {
		if !s.has(byte(b)) {
			if at >= 0 {
				return -1
			}
			at = b
		}
	}
	return at
}

// mayBeEmpty reports whether a part may match the empty text.
func mayBeEmpty(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return false
	case syntax.OpCapture, syntax.OpPlus:
		return mayBeEmpty(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min == 0 || mayBeEmpty(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if !mayBeEmpty(sub) {
				return false
			}
		}
		return true
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			if mayBeEmpty(sub) {
				return true
			}
		}
		return false
	}
	return true
}
