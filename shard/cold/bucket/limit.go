package bucket

import (
	"context"
	"slices"
	"sync"
)

// class is a class of requests.
type class uint8

// Requests of readers begin before those of writers that wait: uploads give way to queries.
const (
	reader class = iota
	writer
	classes
)

// goodForMore is the number of good answers after which one more request may run at once.
const goodForMore = 100

// limiter limits the requests that run at once. When the service asks for fewer, the limit halves; it grows by one for
// every goodForMore good answers.
type limiter struct {
	mu    sync.Mutex // guards all fields below
	max   int
	limit int // at least 1, at most max
	busy  [classes]int
	good  int // good answers since the limit changed
	// halved is how often the limit was halved. The answers to requests that began before the last time say nothing
	// about the new limit.
	halved  int
	waiting [classes][]chan struct{} // the first one waits for the longest time
}

func newLimiter(most int) *limiter { return &limiter{max: most, limit: most} }

// may reports whether a request may begin. Uploads take up to minutes, so they use at most half of the places, and one
// reader may always begin. The caller holds mu.
func (l *limiter) may(c class) bool {
	free := l.busy[reader]+l.busy[writer] < l.limit
	if c == writer {
		return free && l.busy[writer] < max(l.limit/2, 1)
	}
	return free || l.busy[reader] == 0
}

// acquire waits until a request may begin, and returns the number for release.
func (l *limiter) acquire(ctx context.Context, c class) (epoch int, err error) {
	l.mu.Lock()
	if l.may(c) {
		l.busy[c]++
		defer l.mu.Unlock()
		return l.halved, nil
	}
	turn := make(chan struct{})
	l.waiting[c] = append(l.waiting[c], turn)
	l.mu.Unlock()
	select {
	case <-turn:
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.halved, nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.waiting[c], turn); i >= 0 {
		l.waiting[c] = slices.Delete(l.waiting[c], i, i+1)
	} else {
		l.done(c) // the turn came in the meantime
	}
	return 0, ctx.Err()
}

// try is acquire for a read that is not sent if it would have to wait.
func (l *limiter) try() (epoch int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy[reader]+l.busy[writer] >= l.limit {
		return 0, false
	}
	l.busy[reader]++
	return l.halved, true
}

// release ends a request, and notes its answer.
func (l *limiter) release(c class, epoch int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		if l.good++; l.good >= goodForMore {
			l.limit, l.good = min(l.limit+1, l.max), 0
		}
	case is(err, Throttled) && epoch == l.halved:
		l.limit, l.good = max(l.limit/2, 1), 0
		l.halved++
	}
	l.done(c)
}

// done frees a place. The caller holds mu.
func (l *limiter) done(c class) {
	l.busy[c]--
	for c := range classes {
		for len(l.waiting[c]) > 0 && l.may(c) {
			close(l.waiting[c][0])
			l.waiting[c] = l.waiting[c][1:]
			l.busy[c]++
		}
	}
}

// now returns the limit.
func (l *limiter) now() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limit
}
