// Package pattern compiles the language's regular expressions, whose syntax is that of
// Rust's regex crate, and matches with them.
//
// A Regex is immutable and may be used by any number of goroutines.
package pattern

import (
	"fmt"
	"regexp"
)

// MaxSource is the longest pattern accepted, in bytes.
const MaxSource = 64 << 10

// Regex is a compiled regular expression.
type Regex struct {
	source string
	re     *regexp.Regexp
	names  []string
}

// Compile compiles a pattern. The error says what is wrong with it.
func Compile(source string) (*Regex, error) {
	if len(source) > MaxSource {
		return nil, fmt.Errorf("regex parse error: pattern of %d bytes is longer than %d", len(source), MaxSource)
	}
	re, err := regexp.Compile(source)
	if err != nil {
		return nil, fmt.Errorf("regex parse error: %w", err)
	}
	return &Regex{source: source, re: re, names: re.SubexpNames()}, nil
}

// String returns the pattern as it was written.
func (r *Regex) String() string { return r.source }

// Names returns the names of the groups by number; those without one are "", and so is
// the first, which is the whole match. It must not be changed.
func (r *Regex) Names() []string { return r.names }

// Match tells whether s contains a match.
func (r *Regex) Match(s string) bool { return r.re.MatchString(s) }

// Find returns the place of the leftmost match in s; false if there is none.
func (r *Regex) Find(s string) (start, end int, ok bool) {
	loc := r.re.FindStringIndex(s)
	if loc == nil {
		return 0, 0, false
	}
	return loc[0], loc[1], true
}

// Groups returns the places of the groups of the leftmost match in s, two numbers each,
// -1 for those that took no part; nil if there is no match.
func (r *Regex) Groups(s string) []int { return r.re.FindStringSubmatchIndex(s) }

// All returns Groups of up to n matches in s that do not overlap; of all if n < 0.
func (r *Regex) All(s string, n int) [][]int { return r.re.FindAllStringSubmatchIndex(s, n) }
