package labels

import (
	"strconv"
	"sync"
	"testing"
)

func TestLimit(t *testing.T) {
	l := NewLimit(2)
	for i, step := range []struct{ name, want string }{
		{"a", "a"}, {"b", "b"}, {"c", Others}, {"a", "a"}, {"b", "b"}, {"c", Others}, {Others, Others},
	} {
		if got := l.Of(step.name); got != step.want {
			t.Errorf("step %d: %q has the label %q, want %q", i, step.name, got, step.want)
		}
	}
}

// At most the limit of values get a label, however many arrive concurrently.
func TestLimitConcurrent(t *testing.T) {
	l := NewLimit(10)
	var mu sync.Mutex
	got := map[string]bool{}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 50 {
				label := l.Of(strconv.Itoa((i + g) % 50))
				mu.Lock()
				got[label] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(got) != 11 || !got[Others] {
		t.Errorf("there are %d labels, want 10 and %q: %v", len(got), Others, got)
	}
}
