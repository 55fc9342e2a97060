package registry

import (
	"fmt"
	"time"
)

// After a dial that failed a node is not dialed for a moment, which doubles with each failure:
// many ask for it at a time, each group of raft and each request, and each of them would dial.
// A caller that asks meanwhile gets the error of the last dial. The moment is short, so that a node that
// is back is reached at once, and ends when the node is heard of.
const (
	firstPause = 50 * time.Millisecond
	mostPause  = 400 * time.Millisecond
)

// absence is the time in which a node could not be reached.
type absence struct {
	err   error // of the last dial
	pause time.Duration
	until time.Time
}

// away returns why a node is not dialed now, or nil.
func (r *Registry) away(id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.nodes[id]; e != nil && time.Now().Before(e.absence.until) {
		return fmt.Errorf("%w (a moment ago; it is tried again)", e.absence.err)
	}
	return nil
}

// missed notes that a node could not be reached, and reached that it was.
func (r *Registry) missed(id string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.nodes[id]
	if e == nil {
		return
	}
	if time.Now().Before(e.absence.until) { // others dialed at the same time
		return
	}
	e.absence.err = err
	e.absence.pause = min(max(2*e.absence.pause, firstPause), mostPause)
	e.absence.until = time.Now().Add(e.absence.pause)
}

func (r *Registry) reached(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.nodes[id]; e != nil {
		e.absence = absence{}
	}
}
