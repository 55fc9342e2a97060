package fn

import (
	"time"

	"cordwood/router/vrl/pattern"
)

// SpendOnMatch takes the cost of matching a pattern with a text from the budget.
func (f *Frame) SpendOnMatch(re *pattern.Regex, s string) bool { return f.Spend(re.Cost(len(s))) }

// matchSize is the approximate memory of the positions of a match, in bytes.
const matchSize = 128

// AllMatches returns the positions of the groups of up to n matches in s; all if n < 0. It takes the cost from the
// budget, and returns false if there is not enough.
//
// Finding all matches of a loose pattern (see pattern.Loose) may take time proportional to the square of the text's
// length. So AllMatches searches a long text for few matches first, measures the time, and continues only while the
// time is proportionate.
func (f *Frame) AllMatches(re *pattern.Regex, s string, n int) ([][]int, bool) {
	if n == 0 {
		return nil, true
	}
	if !f.SpendOnMatch(re, s) {
		return nil, false
	}
	size := matchSize + 16*len(re.Names())
	left := f.Left()
	most := min(left.Steps, left.Bytes/size) + 1
	if n < 0 || n > most {
		n = most
	}
	few := n
	if re.Loose() {
		if len(s) < pattern.LongText {
			if !f.Spend(pattern.LooseCost(len(s))) {
				return nil, false
			}
		} else {
			few = min(n, pattern.FirstMatches(len(s)))
		}
	}
	var list [][]int
	for few < n {
		start := time.Now()
		list = re.All(s, few)
		took := time.Since(start)
		if !f.Spend(int(took / pattern.LooseStep)) {
			return nil, false
		}
		if len(list) < few {
			return list, f.Spend(len(list)) && f.Reserve(len(list)*size)
		}
		if took > pattern.TooSlow {
			f.Exhaust("the program needs too much time for this event: a pattern is too slow on a long text")
			return nil, false
		}
		few = min(n, 4*few)
	}
	list = re.All(s, n)
	return list, f.Spend(len(list)) && f.Reserve(len(list)*size)
}
