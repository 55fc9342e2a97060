package pattern

import (
	"regexp/syntax"
	"time"
)

// Cost estimates how much work it is to look for a match in a text of n bytes, in steps of
// some nanoseconds. The engine may hold all of the pattern's instructions against each byte.
func (r *Regex) Cost(n int) int { return Cost(n, r.instructions) }

// Cost returns the cost of looking for a match of a pattern of so many instructions in a text
// of n bytes.
func Cost(n, instructions int) int { return 1 + n/16 + n*instructions/256 }

// Loose reports whether the engine may read far beyond a match before it knows that it is
// one, as of a*b|a in a long row of a. Finding all matches in a text may then take the
// time of as many searches.
func (r *Regex) Loose() bool { return r.loose }

// loose is Loose for a tree. A match ends where the engine stopped reading if nothing
// without a bound stands before something else that must match.
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

// endless reports whether there is a repetition without a bound in a tree.
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

// Measure returns what Cost and Loose go by, for a pattern in the syntax of package regexp.
func Measure(text string) (instr int, isLoose bool) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return maxInstructions, true
	}
	instr, _ = instructions(tree)
	return instr, loose(tree)
}

// All matches of a loose pattern in a text may take the square of its length, at some 100 ns
// a byte. In a short text that is charged by LooseCost. In a long one the matches are looked
// for a few at first, and each time four times as many; each LooseStep that it takes is a
// step, and a round that takes longer than TooSlow is the last.
const (
	LongText  = 256
	LooseStep = time.Microsecond
	TooSlow   = time.Second / 4
)

// LooseCost returns the cost of all matches of a loose pattern in a short text of n bytes.
func LooseCost(n int) int { return n * n / 64 }

// FirstMatches returns how many matches are looked for at first in a text of n bytes.
func FirstMatches(n int) int { return max(2, (1<<20)/n) }
