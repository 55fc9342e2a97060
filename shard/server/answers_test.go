package server

import (
	"runtime/metrics"
	"testing"
)

// TestLargeAnswers checks that the garbage collector runs more often while large answers are sent,
// and as before afterwards.
func TestLargeAnswers(t *testing.T) {
	percent := func() uint64 {
		s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	before := percent()
	var small, a, b answer
	small.add(largeAnswer - 1)
	if got := percent(); got != before {
		t.Errorf("with a small answer: %d, want %d", got, before)
	}
	a.add(largeAnswer)
	b.add(largeAnswer - 1)
	b.add(1)
	b.add(1)
	if got := percent(); got >= before {
		t.Errorf("with large answers: %d, want less than %d", got, before)
	}
	a.end()
	a.end()
	if got := percent(); got >= before {
		t.Errorf("with one large answer left: %d, want less than %d", got, before)
	}
	b.end()
	small.end()
	if got := percent(); got != before {
		t.Errorf("afterwards: %d, want %d", got, before)
	}
}
