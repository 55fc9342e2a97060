// Package pattern compiles and runs the language's regular expressions, which have the syntax and semantics of
// Rust's regex crate.
//
// A pattern is parsed and translated to the syntax of Go's engine, which supports less Unicode, no verbose mode and
// no set operations on classes. There are two translations. One is for ASCII texts, in which \w means a few ranges.
// Most log lines are ASCII, and this translation is small and fast. The other is for all other texts, in which \w
// means all letters of Unicode. It is compiled when the first such text arrives. Before Go's engine, the ASCII form
// is tried with package quick, which is many times as fast for most patterns for log lines, and reports when it
// cannot match one.
//
// Differences from Rust: \b, \< and \> only recognise ASCII words, and \b{start-half} and \b{end-half} are not
// supported.
//
// A Regex is immutable and may be used by any number of goroutines.
package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"sync"
	"unicode/utf8"

	"cordwood/router/vrl/ascii"
	"cordwood/router/vrl/pattern/quick"
)

// MaxSource limits the length of a pattern, in bytes.
const MaxSource = 64 << 10

// MaxTotal limits the size of the compiled patterns that one program keeps, in bytes as returned by Size. This is
// enough for hundreds of patterns for log lines.
const MaxTotal = 32 << 20

// RefusedSize is the size charged for a refused pattern. It is small enough that all errors in a usual source are
// reported, and large enough that checking does not take long.
const RefusedSize = MaxTotal / 64

// ErrTotal is the error for programs that exceed MaxTotal.
var ErrTotal = fmt.Errorf("the patterns of this program take more than %d MiB of memory together; "+
	"write simpler ones, or split the program", MaxTotal>>20)

// Regex is a compiled regular expression.
type Regex struct {
	source  string
	names   []string
	certain []bool
	size    int
	// instructions and loose are for Cost and Loose.
	instructions int
	loose        bool

	ascii *regexp.Regexp
	// fast has the same matches as ascii, but may give up; nil if package quick does not support the pattern.
	fast *quick.Program
	// unicode returns the form for texts that are not ASCII, or nil if it is the same form.
	unicode func() *regexp.Regexp
}

// Compile compiles a pattern. Its error describes the fault and its position.
func Compile(source string) (*Regex, error) {
	if len(source) > MaxSource {
		return nil, fmt.Errorf("regex parse error: pattern of %d bytes is longer than %d", len(source), MaxSource)
	}
	p := parser{src: source, names: []string{""}, flags: flagUnicode}
	root, err := p.parse()
	if err != nil {
		return nil, err
	}
	text, err := write(root, true)
	if err != nil {
		return nil, err
	}
	re, tree, size, err := compile(text)
	if err != nil {
		return nil, goError(err)
	}
	if p.differs {
		size += size + p.wide
	}
	r := &Regex{
		source:  source,
		size:    size,
		names:   p.names,
		certain: make([]bool, len(p.names)),
		ascii:   re,
		fast:    quick.Compile(text),
	}
	r.instructions, _ = instructions(tree)
	r.loose = loose(tree)
	r.certain[0] = true
	root.markCertain(r.certain)
	if p.differs {
		r.unicode = sync.OnceValue(func() *regexp.Regexp {
			text, err := write(root, false)
			if err != nil {
				return re
			}
			wide, _, _, err := compile(text)
			if err != nil {
				return re // too large with Unicode classes
			}
			return wide
		})
	}
	return r, nil
}

// maxInstructions is the approximate limit on the instructions of a compiled pattern. Some nested repetitions would
// take seconds and gigabytes to compile.
const maxInstructions = 100_000

// The measured memory of compiled patterns in bytes: an instruction, a range of characters, and the additional
// memory of the classes \w, \d and \s in Unicode.
const (
	instructionSize = 300
	rangeSize       = 8
)

var wideSizes = [256]int{'w': 12 << 10, 'd': 1200, 's': 200}

// compile compiles a pattern in Go's syntax, up to a size limit, and estimates its memory.
func compile(text string) (re *regexp.Regexp, tree *syntax.Regexp, size int, err error) {
	tree, err = syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, nil, 0, err
	}
	n, ranges := instructions(tree)
	if n > maxInstructions {
		return nil, nil, 0, &syntax.Error{Code: syntax.ErrLarge, Expr: text}
	}
	re, err = regexp.Compile(text)
	return re, tree, n*instructionSize + ranges*rangeSize, err
}

// instructions estimates the number of instructions of a compiled pattern and of the ranges in its classes, which
// repetitions share. It stops counting at the limit.
func instructions(re *syntax.Regexp) (n, ranges int) {
	n = 1 + len(re.Rune)
	if re.Op == syntax.OpCharClass {
		n, ranges = 1, len(re.Rune)/2
	}
	for _, sub := range re.Sub {
		m, r := instructions(sub)
		ranges += r
		if n += m; n > maxInstructions {
			return n, ranges
		}
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n, ranges
}

// goError converts an error of Go's engine to the terms of the original pattern.
func goError(err error) error {
	var e *syntax.Error
	if errors.As(err, &e) && (e.Code == syntax.ErrInvalidRepeatSize || e.Code == syntax.ErrLarge) {
		return errors.New("regex parse error: the compiled pattern exceeds the size limit")
	}
	return fmt.Errorf("regex parse error: %w", err)
}

// String returns the original pattern.
func (r *Regex) String() string { return r.source }

// Size estimates the memory of the compiled pattern, in bytes.
func (r *Regex) Size() int { return r.size }

// Names returns the names of the groups by number. Groups without a name have "", and so has group 0, the whole
// match. The slice must not be changed.
func (r *Regex) Names() []string { return r.names }

// Certain reports whether the group matches a part of the text in every match.
func (r *Regex) Certain(group int) bool { return r.certain[group] }

// Match reports whether s contains a match.
func (r *Regex) Match(s string) bool {
	_, _, ok := r.Find(s)
	return ok
}

// Find returns the position of the leftmost match in s. It returns false if there is none.
func (r *Regex) Find(s string) (start, end int, ok bool) {
	re, fast := r.on(s)
	if fast != nil {
		var room [32]int
		places := room[:]
		if n := 2 * fast.Groups(); n > len(places) {
			places = make([]int, n)
		}
		if matched, decided := fast.Match(s, places); decided {
			return places[0], places[1], matched
		}
	}
	loc := re.FindStringIndex(s)
	if loc == nil {
		return 0, 0, false
	}
	return loc[0], loc[1], true
}

// Groups returns the positions of the groups of the leftmost match in s: two numbers for each group, which are -1 if
// the group did not match. If there is no match, it returns nil.
func (r *Regex) Groups(s string) []int {
	re, fast := r.on(s)
	if fast != nil {
		places := make([]int, 2*fast.Groups())
		if matched, decided := fast.Match(s, places); decided {
			if !matched {
				return nil
			}
			return places
		}
	}
	return re.FindStringSubmatchIndex(s)
}

// All returns the positions of the groups, as Groups does, for up to n matches in s that do not overlap; for all
// matches if n < 0.
func (r *Regex) All(s string, n int) [][]int {
	re, fast := r.on(s)
	if fast != nil {
		if all, ok := allFast(fast, s, n); ok {
			return all
		}
	}
	return re.FindAllStringSubmatchIndex(s, n)
}

// allFast does what All does, with a quick program. It returns false if the program gives up. As in package regexp, an
// empty match directly after another match is ignored.
func allFast(fast *quick.Program, s string, n int) (all [][]int, ok bool) {
	size := 2 * fast.Groups()
	var block []int // the positions of several matches
	last := -1
	for pos := 0; pos <= len(s) && (n < 0 || len(all) < n); {
		if len(block) < size {
			block = make([]int, size*min(8, len(all)+1))
		}
		places := block[:size:size]
		matched, decided := fast.MatchFrom(s, pos, places)
		if !decided {
			return nil, false
		}
		if !matched {
			break
		}
		counts := true
		if end := places[1]; end == pos {
			counts = places[0] != last
			_, width := utf8.DecodeRuneInString(s[pos:])
			pos += max(width, 1)
		} else {
			pos = end
		}
		last = places[1]
		if counts {
			all = append(all, places)
			block = block[size:]
		}
	}
	return all, true
}

// on returns the form of the pattern for a text, and the quick program to try first, if there is one for this text.
func (r *Regex) on(s string) (*regexp.Regexp, *quick.Program) {
	if r.unicode == nil {
		if r.fast != nil && r.fast.Suits(s) {
			return r.ascii, r.fast
		}
		return r.ascii, nil
	}
	if ascii.Only(s) {
		return r.ascii, r.fast
	}
	return r.unicode(), nil
}
