package server

import (
	"runtime/debug"
	"testing"
)

// TestLargeAnswers checks that the garbage collector runs more often while large answers are sent,
// and as before afterwards.
func TestLargeAnswers(t *testing.T) {
	get := func() int {
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		return now
	}
	defer debug.SetGCPercent(debug.SetGCPercent(90))
	for _, before := range []int{90, 20} {
		debug.SetGCPercent(before)
		during := min(before, largeGC)
		var small, a, b answer
		small.add(largeAnswer - 1)
		if got := get(); got != before {
			t.Errorf("with a small answer: %d, want %d", got, before)
		}
		a.add(largeAnswer)
		b.add(largeAnswer - 1)
		b.add(1)
		b.add(1)
		if got := get(); got != during {
			t.Errorf("with large answers: %d, want %d", got, during)
		}
		a.end()
		a.end()
		if got := get(); got != during {
			t.Errorf("with one large answer left: %d, want %d", got, during)
		}
		b.end()
		small.end()
		if got := get(); got != before {
			t.Errorf("afterwards: %d, want %d", got, before)
		}
	}
}
