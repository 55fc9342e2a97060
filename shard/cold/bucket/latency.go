package bucket

import (
	"slices"
	"sync"
	"time"
)

const (
	// latencies is the number of times of which the 95th percentile is computed; with fewer than minLatencies, there
	// is none.
	latencies    = 100
	minLatencies = 20
)

// latency knows how long successful ranges took.
type latency struct {
	mu    sync.Mutex // guards all fields below
	times []time.Duration
	next  int
	slow  time.Duration // twice the 95th percentile; 0 means that it is not known
}

func (l *latency) note(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.times) < latencies {
		l.times = append(l.times, d)
	} else {
		l.times[l.next] = d
	}
	l.next = (l.next + 1) % latencies
	if n := len(l.times); n >= minLatencies && l.next%10 == 0 {
		sorted := slices.Sorted(slices.Values(l.times))
		l.slow = 2 * sorted[n*95/100]
	}
}

// tooLong returns the time after which a request is slow. ok is false if it is not known.
func (l *latency) tooLong() (d time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.slow, l.slow > 0
}
