package pattern

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// maxCount is the largest number of repetitions that Go's engine supports, and maxText the longest pattern that is
// generated for it.
const (
	maxCount = 1000
	maxText  = 1 << 20
)

// writer writes a pattern in Go's syntax.
type writer struct {
	strings.Builder
	ascii bool
	plain bool // groups are not captured, because this is a further copy of them
}

// write returns the pattern in Go's syntax, for ASCII texts or for other texts.
func write(n *node, ascii bool) (string, error) {
	w := &writer{ascii: ascii}
	if err := w.node(n); err != nil {
		return "", err
	}
	return w.String(), nil
}

func (w *writer) node(n *node) error {
	if w.Len() > maxText {
		return errors.New("regex parse error: the compiled pattern exceeds the size limit")
	}
	switch n.op {
	case opRune:
		w.char(n)
	case opAny:
		switch {
		case n.flags&flagDotAll != 0:
			w.WriteString(`(?s:.)`)
		case n.flags&flagCRLF != 0:
			w.WriteString(`[^\r\n]`)
		default:
			w.WriteString(`.`)
		}
	case opClass:
		return w.class(n.class)
	case opAssert:
		w.WriteString(n.text)
	case opGroup:
		if n.index > 0 && !w.plain {
			w.WriteByte('(')
		} else {
			w.WriteString("(?:")
		}
		if err := w.node(n.subs[0]); err != nil {
			return err
		}
		w.WriteByte(')')
	case opConcat:
		return w.concat(n.subs)
	case opAlt:
		w.WriteString("(?:")
		for i, s := range n.subs {
			if i > 0 {
				w.WriteByte('|')
			}
			if err := w.node(s); err != nil {
				return err
			}
		}
		w.WriteByte(')')
	case opRepeat:
		return w.repeat(n)
	}
	return nil
}

// concat writes the parts of a sequence. Consecutive case-insensitive characters go into one group.
func (w *writer) concat(subs []*node) error {
	for i := 0; i < len(subs); i++ {
		n := subs[i]
		if n.op == opRune && n.flags&flagFold != 0 {
			w.WriteString("(?i:")
			for ; i < len(subs) && subs[i].op == opRune && subs[i].flags&flagFold != 0; i++ {
				w.quote(subs[i].char)
			}
			w.WriteByte(')')
			i--
			continue
		}
		if err := w.node(n); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) char(n *node) {
	if n.flags&flagFold == 0 {
		w.quote(n.char)
		return
	}
	w.WriteString("(?i:")
	w.quote(n.char)
	w.WriteByte(')')
}

func (w *writer) quote(r rune) { w.WriteString(regexp.QuoteMeta(string(r))) }

// repeat writes a repetition. If it has more than maxCount repetitions, it is written as several.
func (w *writer) repeat(n *node) error {
	sub := n.subs[0]
	lazy := ""
	if n.lazy {
		lazy = "?"
	}
	piece := func(count string) error {
		w.WriteString("(?:")
		if err := w.node(sub); err != nil {
			return err
		}
		w.WriteByte(')')
		w.WriteString(count)
		return nil
	}
	switch {
	case n.min == 0 && n.max < 0:
		return piece("*" + lazy)
	case n.min == 1 && n.max < 0:
		return piece("+" + lazy)
	case n.min == 0 && n.max == 1:
		return piece("?" + lazy)
	}
	// The counts of nested repetitions are multiplied.
	limit := maxCount / sub.counts()
	if limit == 0 {
		return errors.New("regex parse error: the compiled pattern exceeds the size limit")
	}
	if n.min <= limit && n.max <= limit {
		return piece(count(n.min, n.max) + lazy)
	}
	var counts []string
	low := n.min
	for ; low > 0; low -= limit {
		k := min(low, limit)
		counts = append(counts, count(k, k)+lazy)
	}
	last := max(0, len(counts)-1)
	if n.max < 0 {
		counts = append(counts, "*"+lazy)
	}
	for more := n.max - n.min; more > 0; more -= limit {
		counts = append(counts, count(0, min(more, limit))+lazy)
	}
	// Only one copy captures the groups inside.
	plain := w.plain
	for i, c := range counts {
		w.plain = plain || i != last
		if err := piece(c); err != nil {
			return err
		}
	}
	w.plain = plain
	return nil
}

// count returns the text of a counted quantifier. If high is negative, there is no upper limit.
func count(low, high int) string {
	s := "{" + strconv.Itoa(low)
	if high < 0 {
		s += ","
	} else if high != low {
		s += "," + strconv.Itoa(high)
	}
	return s + "}"
}

// counts returns the largest product of nested repetition counts inside n, as Go's engine computes it.
func (n *node) counts() int {
	most := 1
	for _, s := range n.subs {
		most = max(most, s.counts())
	}
	if n.op == opRepeat && (n.max > 1 || n.min > 1) {
		most *= min(max(n.min, n.max), maxCount)
	}
	return min(most, 1<<20)
}

// class writes a class.
func (w *writer) class(c *class) error {
	if c.flags&flagFold != 0 {
		w.WriteString("(?i:")
		defer w.WriteByte(')')
	}
	if c.simple() {
		w.WriteByte('[')
		if c.negated {
			w.WriteByte('^')
		}
		for i := range c.items {
			c.items[i].write(&w.Builder, w.ascii)
		}
		w.WriteByte(']')
		return nil
	}
	s, err := c.ranges(w.ascii)
	if err != nil {
		return err
	}
	if len(s) == 0 {
		w.WriteString(`[^\x00-\x{10FFFF}]`)
		return nil
	}
	w.WriteByte('[')
	s.write(&w.Builder)
	w.WriteByte(']')
	return nil
}

// write writes the ranges of s in the syntax of a class.
func (s set) write(b *strings.Builder) {
	for i := 0; i+1 < len(s); i += 2 {
		writeChar(b, s[i])
		if s[i+1] > s[i] {
			b.WriteByte('-')
			writeChar(b, s[i+1])
		}
	}
}

func writeChar(b *strings.Builder, r rune) {
	if r < 0x80 && (r|0x20 >= 'a' && r|0x20 <= 'z' || r >= '0' && r <= '9') {
		b.WriteByte(byte(r))
		return
	}
	b.WriteString(`\x{`)
	b.WriteString(strconv.FormatInt(int64(r), 16))
	b.WriteByte('}')
}

// The meaning of the classes with a letter, in ASCII and in Unicode.
const (
	asciiSpace = `\t-\r `
	wideSpace  = `\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}`
	wideDigit  = `\p{Nd}`
	wideWord   = `\p{L}\p{Nl}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}` +
		`\x{1f170}-\x{1f189}`
)

// outside returns a function that returns the characters outside a class.
func outside(items string) func() string {
	return sync.OnceValue(func() string {
		s, err := parseSet(items, false)
		if err != nil {
			return ""
		}
		var b strings.Builder
		s.normal().complement().write(&b)
		return b.String()
	})
}

var (
	notASCIISpace = outside(asciiSpace)
	notWideSpace  = outside(wideSpace)
	notWideWord   = outside(wideWord)
)

// write writes an item in the syntax of a class.
func (it *classItem) write(b *strings.Builder, ascii bool) {
	wide := it.unicode && !ascii
	switch {
	case it.text != "":
		b.WriteString(it.text)
	case it.perl == 0:
		set{it.lo, it.hi}.write(b)
	case it.perl == 's':
		if wide {
			b.WriteString(wideSpace)
		} else {
			b.WriteString(asciiSpace)
		}
	case it.perl == 'S':
		if wide {
			b.WriteString(notWideSpace())
		} else {
			b.WriteString(notASCIISpace())
		}
	case !wide:
		b.WriteByte('\\')
		b.WriteByte(it.perl)
	case it.perl == 'd':
		b.WriteString(wideDigit)
	case it.perl == 'D':
		b.WriteString(`\P{Nd}`)
	case it.perl == 'w':
		b.WriteString(wideWord)
	case it.perl == 'W':
		b.WriteString(notWideWord())
	}
}
