package processor

import (
	"regexp"

	"cordwood/router/vrl/ascii"
	"cordwood/router/vrl/pattern"
	"cordwood/router/vrl/pattern/quick"
)

// matcher finds the groups of a regular expression.
type matcher struct {
	re    *regexp.Regexp
	quick *quick.Program // nil if it does not support the pattern
	wide  *regexp.Regexp // for texts that are not ASCII; nil means that re matches these too
	// The cost of the expression: see pattern.Measure.
	instructions int
	loose        bool
}

func newMatcher(re *regexp.Regexp) matcher {
	m := matcher{re: re, quick: quick.Compile(re.String()), wide: widen(re)}
	m.instructions, m.loose = pattern.Measure(re.String())
	return m
}

// on returns the form of the expression to use for s, and whether the quick matcher may be used.
func (m *matcher) on(s string) (re *regexp.Regexp, mayQuick bool) {
	if m.wide != nil && !ascii.Only(s) {
		return m.wide, false
	}
	return m.re, m.quick != nil
}

// fewPlaces is the number of positions that fit on the stack: var few [fewPlaces]int; places := m.find(s, few[:]).
const fewPlaces = 2 * fewCaptures

// tryQuick is Match of the quick matcher, which on has allowed for s.
func (m *matcher) tryQuick(s string, places []int) (matched, decided bool) {
	if m.wide != nil {
		return m.quick.MatchFrom(s, 0, places) // on has found that s is ASCII
	}
	return m.quick.Match(s, places)
}

// find returns the positions of the leftmost match in s and of its groups, as two numbers each. The numbers are -1 for
// groups that did not match. If there is no match, it returns nil. The result is stored in few if few is large enough.
func (m *matcher) find(s string, few []int) []int {
	re, mayQuick := m.on(s)
	if mayQuick {
		if n := 2 * m.quick.Groups(); n > len(few) {
			few = make([]int, n)
		} else {
			few = few[:n]
		}
		if matched, decided := m.tryQuick(s, few); decided {
			if matched {
				return few
			}
			return nil
		}
	}
	return re.FindStringSubmatchIndex(s)
}
