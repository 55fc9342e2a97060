// Package labels bounds the labels of metrics whose values clients choose, as the names
// of databases and tables: every value is a series of its own, which the process keeps
// until it ends, and which the system that scrapes it keeps for much longer.
package labels

import "sync"

// Others is the value used for all values that found no room.
const Others = "(others)"

// Limit lets a label have at most so many values. It gives room to the values that come first; a
// value that has room keeps it. Its methods may be called concurrently.
type Limit struct {
	max  int
	seen sync.Map // string → struct{}

	mu sync.Mutex // guards n
	n  int
}

// NewLimit returns a Limit of so many values besides Others.
func NewLimit(most int) *Limit { return &Limit{max: most} }

// Of returns the value to use for name: itself, or Others.
func (l *Limit) Of(name string) string {
	if l.Has(name) {
		return name
	}
	return Others
}

// Has reports whether name has room of its own, and gives it room if there is any left.
func (l *Limit) Has(name string) bool {
	if _, ok := l.seen.Load(name); ok {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.seen.Load(name); ok {
		return true
	}
	if l.n >= l.max {
		return false
	}
	l.n++
	l.seen.Store(name, struct{}{})
	return true
}
