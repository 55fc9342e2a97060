// Package labels limits the number of values of metric labels that clients choose, such as the names of databases and
// tables. Every value is a separate series, which the process keeps until it ends, and the monitoring system keeps
// for much longer.
package labels

import "sync"

// Others is the label value for all names beyond the limit.
const Others = "(others)"

// Limit limits the number of values of a label. Values are admitted in the order in which they arrive, and stay
// admitted. Its methods may be called concurrently.
type Limit struct {
	max  int
	seen sync.Map // string → struct{}

	mu sync.Mutex // guards n
	n  int
}

// NewLimit returns a Limit of the given number of values, besides Others.
func NewLimit(most int) *Limit { return &Limit{max: most} }

// Of returns the label value for name: name itself, or Others.
func (l *Limit) Of(name string) string {
	if l.Has(name) {
		return name
	}
	return Others
}

// Has reports whether name is admitted, and admits it if the limit allows.
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
