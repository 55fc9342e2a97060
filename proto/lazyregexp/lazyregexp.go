// Package lazyregexp has regular expressions that are compiled when they are first used.
//
// The program has more than a hundred expressions, most of them for the texts of rare errors. Compiling all of them
// takes milliseconds at each start, also of a command that uses none. So expressions in variables of packages are of
// this package.
//
// Tests compile an expression at once, so that a wrong one fails.
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// Regexp is a regular expression. Its methods are those of regexp.Regexp, and may be called concurrently.
type Regexp struct{ compiled func() *regexp.Regexp }

// inTest is whether the process is a test. Package testing would tell it, but must not be part of the program.
var inTest = strings.HasSuffix(os.Args[0], ".test")

// New returns the expression. Its first use panics if the expression is wrong.
func New(expr string) *Regexp {
	re := &Regexp{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })}
	if inTest {
		re.compiled()
	}
	return re
}

// MatchString reports whether a part of s matches.
func (r *Regexp) MatchString(s string) bool { return r.compiled().MatchString(s) }

// FindString returns the first match in s, or an empty text.
func (r *Regexp) FindString(s string) string { return r.compiled().FindString(s) }

// FindStringIndex returns where the first match in s is, or nil.
func (r *Regexp) FindStringIndex(s string) []int { return r.compiled().FindStringIndex(s) }

// FindStringSubmatch returns the first match in s and its groups, or nil.
func (r *Regexp) FindStringSubmatch(s string) []string { return r.compiled().FindStringSubmatch(s) }

// FindStringSubmatchIndex returns where the first match in s and its groups are, or nil.
func (r *Regexp) FindStringSubmatchIndex(s string) []int {
	return r.compiled().FindStringSubmatchIndex(s)
}

// FindAllString returns the first n matches in s, or all of them if n is negative.
func (r *Regexp) FindAllString(s string, n int) []string { return r.compiled().FindAllString(s, n) }

// FindAllStringSubmatch returns the first n matches in s with their groups, or all of them if n is negative.
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(s, n)
}

// FindAllStringSubmatchIndex returns where the first n matches in s and their groups are, or all of them if n is
// negative.
func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringSubmatchIndex(s, n)
}

// ReplaceAllString returns s with its matches replaced. In with, $1 is the first group.
func (r *Regexp) ReplaceAllString(s, with string) string {
	return r.compiled().ReplaceAllString(s, with)
}

// ReplaceAllLiteralString returns s with each match replaced by with.
func (r *Regexp) ReplaceAllLiteralString(s, with string) string {
	return r.compiled().ReplaceAllLiteralString(s, with)
}

// ReplaceAllStringFunc returns s with each match replaced by what with returns for it.
func (r *Regexp) ReplaceAllStringFunc(s string, with func(string) string) string {
	return r.compiled().ReplaceAllStringFunc(s, with)
}
