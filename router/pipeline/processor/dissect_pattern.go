package processor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The pattern language of dissect. A pattern is literal text with captures in it:
//
//	%{name}     the text up to the literal that follows, or to the end
//	%{}         like %{name}, but the text is not stored; %{?name} does the same
//	%{+name}    joined with the other captures of that name, in their order
//	%{+name/2}  the same, in the order of the numbers; without a number: 0
//	%{*k} %{&k} a field: the text of %{*k} is its name, and the text of %{&k} is its value
//	%{name->}   the literal that follows, or its first character, may be repeated, so padding
//	            after the value is not part of it

// captureKind is how the text of a capture is used.
type captureKind uint8

const (
	captureField captureKind = iota
	captureSkip
	captureAppend
	captureKey
	captureValue
)

// capture is a %{…} in a dissect pattern, with the literal after it.
type capture struct {
	kind   captureKind
	name   string
	order  int
	padded bool
	// until is the literal that ends the text; "" for the rest of the input.
	until string
	// pad is the first character of until.
	pad string
	// place is the destination of the text: the index of an output for a field or an append, or of a pair for a key or
	// a value.
	place int
}

// dissectPattern is a parsed pattern.
type dissectPattern struct {
	prefix   string
	captures []capture
	pairs    int
}

// maxDissectCaptures limits the number of captures of a pattern.
const maxDissectCaptures = 1000

// parseDissect parses a pattern. Its error has the position in bytes.
func parseDissect(pattern string) (*dissectPattern, error) {
	if pattern == "" {
		return nil, errors.New("the pattern is empty")
	}
	p := &dissectPattern{}
	for at := 0; at < len(pattern); {
		if strings.HasPrefix(pattern[at:], "%{") {
			size := strings.IndexByte(pattern[at:], '}') + 1
			if size == 0 {
				return nil, fmt.Errorf("the name that begins at byte %d is not closed by }", at)
			}
			c, err := parseCapture(pattern[at+2:at+size-1], at)
			if err != nil {
				return nil, err
			}
			if n := len(p.captures); n > 0 && p.captures[n-1].until == "" {
				return nil, fmt.Errorf("there is no text between the names %s and %s at byte %d, so that nothing ends the first",
					p.captures[n-1], c, at)
			}
			if p.captures = append(p.captures, c); len(p.captures) > maxDissectCaptures {
				return nil, fmt.Errorf("more than %d names", maxDissectCaptures)
			}
			at += size
			continue
		}
		size := strings.Index(pattern[at:], "%{")
		if size < 0 {
			size = len(pattern) - at
		}
		literal := strings.Clone(pattern[at : at+size])
		if n := len(p.captures); n > 0 {
			c := &p.captures[n-1]
			_, first := utf8.DecodeRuneInString(literal)
			c.until, c.pad = literal, literal[:first]
		} else {
			p.prefix = literal
		}
		at += size
	}
	return p, p.pair()
}

// captureModifiers are the first characters of captures that are not plain fields.
var captureModifiers = map[byte]captureKind{
	'?': captureSkip, '+': captureAppend, '*': captureKey, '&': captureValue,
}

// parseCapture parses the text between %{ and }, which begins at byte at of the pattern.
func parseCapture(text string, at int) (capture, error) {
	var c capture
	shown := "%{" + Cut(text) + "}"
	rest := text
	if rest != "" {
		if kind, ok := captureModifiers[rest[0]]; ok {
			c.kind, rest = kind, rest[1:]
		}
	}
	size := strings.IndexFunc(rest, func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	if size < 0 {
		size = len(rest)
	}
	c.name, rest = strings.Clone(rest[:size]), rest[size:]
	if order, found := strings.CutPrefix(rest, "/"); found && c.kind == captureAppend {
		rest = strings.TrimLeft(order, "0123456789")
		digits := order[:len(order)-len(rest)]
		if digits == "" {
			return c, fmt.Errorf("%s at byte %d has no number after the /", shown, at)
		}
		n, err := strconv.ParseInt(digits, 10, 32)
		if err != nil {
			return c, fmt.Errorf("the order number of %s at byte %d is too large", shown, at)
		}
		c.order = int(n)
	}
	switch {
	case rest == "->":
		c.padded = true
	case strings.HasPrefix(rest, "->"):
		return c, fmt.Errorf("in %s at byte %d, -> must be directly before the }", shown, at)
	case strings.HasPrefix(rest, "-"):
		return c, fmt.Errorf("in %s at byte %d, a single - is not allowed; padding is ->", shown, at)
	case rest != "":
		r, _ := utf8.DecodeRuneInString(rest)
		return c, fmt.Errorf("illegal character %q in %s at byte %d; names are of letters, digits and _", r, shown, at)
	}
	if c.name == "" {
		if c.kind != captureField {
			return c, fmt.Errorf("%s at byte %d has no name", shown, at)
		}
		c.kind = captureSkip
	}
	return c, nil
}

// String returns the capture in the syntax of a pattern, without padding and order.
func (c capture) String() string {
	name := Cut(c.name)
	switch {
	case c.kind == captureAppend:
		name = "+" + name
	case c.kind == captureKey:
		name = "*" + name
	case c.kind == captureValue:
		name = "&" + name
	case c.kind == captureSkip && name != "":
		name = "?" + name
	}
	return "%{" + name + "}"
}

// pair assigns the index of their pair to keys and values.
func (p *dissectPattern) pair() error {
	numbers := map[string]int{}
	for i := range p.captures {
		c := &p.captures[i]
		if c.kind != captureKey {
			continue
		}
		if _, ok := numbers[c.name]; ok {
			return fmt.Errorf("the key %s occurs twice", c)
		}
		c.place = len(numbers)
		numbers[c.name] = c.place
	}
	p.pairs = len(numbers)
	for i := range p.captures {
		c := &p.captures[i]
		if c.kind != captureValue {
			continue
		}
		n, ok := numbers[c.name]
		switch {
		case !ok:
			return fmt.Errorf("the value %s has no key %%{*%s}", c, Cut(c.name))
		case n < 0:
			return fmt.Errorf("the value %s occurs twice", c)
		}
		c.place = n
		numbers[c.name] = -1
	}
	for i := range p.captures {
		if c := &p.captures[i]; c.kind == captureKey && numbers[c.name] >= 0 {
			return fmt.Errorf("the key %s has no value %%{&%s}", c, Cut(c.name))
		}
	}
	return nil
}

// joined has the appends with one name.
type joined struct {
	place int
	parts []int // numbers of captures, in the order in which they are joined
}

// joins returns the names that several captures fill. A plain capture with such a name is one of the parts.
func (p *dissectPattern) joins() []joined {
	var joins []joined
	for i := range p.captures {
		if c := &p.captures[i]; c.kind == captureAppend &&
			!slices.ContainsFunc(joins, func(j joined) bool { return j.place == c.place }) {
			joins = append(joins, joined{place: c.place})
		}
	}
	for n := range joins {
		j := &joins[n]
		for i := range p.captures {
			if c := &p.captures[i]; c.place == j.place && (c.kind == captureAppend || c.kind == captureField) {
				j.parts = append(j.parts, i)
			}
		}
		slices.SortStableFunc(j.parts, func(a, b int) int { return cmp.Compare(p.captures[a].order, p.captures[b].order) })
	}
	return joins
}
