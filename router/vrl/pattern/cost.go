package pattern

import (
	"regexp/syntax"
	"time"
)

// Cost estimates the work of searching a text of n bytes for a match, in steps of a few nanoseconds. The engine may
// compare each byte with all instructions of the pattern.
func (r *Regex) Cost(n int) int { return Cost(n, r.instructions) }

// Cost returns the cost of searching a text of n bytes for a pattern with the given number of instructions.
func Cost(n, instructions int) int { return 1 + n/16 + n*instructions/256 }

// Loose reports whether the engine may read far beyond a match before it can decide that it is one, for example for
// a*b|a in a long row of a. Finding all matches in a text may then take as long as one search of the text for each
// match.
func (r *Regex) Loose() bool { return r.loose }

// loose reports whether a syntax tree is loose. It is not if no unlimited repetition comes before something else that
// must match, because the engine then reads no further than the end of a match.
func loose(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
		return endless(re.Sub[0])
	case syntax.OpConcat:
		last := len(re.Sub) - 1
		for _, sub := range re.Sub[:last] {
			if endless(sub) {
				return true
			}
		}
		return loose(re.Sub[last])
	}
	for _, sub := range re.Sub {
		if loose(sub) {
			return true
		}
	}
	return false
}

// endless reports whether a tree contains an unlimited repetition.
func endless(re *syntax.Regexp) bool {
	if re.Op == syntax.OpStar || re.Op == syntax.OpPlus || re.Op == syntax.OpRepeat && re.Max < 0 {
		return true
	}
	for _, sub := range re.Sub {
		if endless(sub) {
			return true
		}
	}
	return false
}

// Measure returns the values for Cost and Loose, for a pattern in the syntax of package regexp.
func Measure(text string) (instr int, isLoose bool) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return maxInstructions, true
	}
	instr, _ = instructions(tree)
	return instr, loose(tree)
}

// Finding all matches of a loose pattern may take time proportional to the square of the text's length, about 100
// ns for each byte. For short texts, LooseCost is charged. In long texts, a few matches are searched for first, and
// four times as many in each further round. Each LooseStep of time is charged as a step. A round that takes longer
// than TooSlow is the last one.
const (
	LongText  = 256
	LooseStep = time.Microsecond
	TooSlow   = time.Second / 4
)

// LooseCost returns the cost of finding all matches of a loose pattern in a short text of n bytes.
func LooseCost(n int) int { return n * n / 64 }

// FirstMatches returns how many matches the first round searches for in a text of n bytes.
func FirstMatches(n int) int { return max(2, (1<<20)/n) }
