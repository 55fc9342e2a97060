package registry

import (
	"fmt"
	"time"
)

// After a failed dial a node is not dialed for a pause, which doubles with each failure. Otherwise each raft group
// and each request would dial. During the pause, callers receive the error of the last dial. The pause is short, so
// that a returning node is reached soon. It ends when the node is heard from.
const (
	firstPause = 50 * time.Millisecond
	mostPause  = 400 * time.Millisecond
)

// absence is the state of a node that could not be reached.
type absence struct {
	err   error // error of the last dial
	pause time.Duration
	until time.Time
}

// away returns the reason why a node is not dialed now, or nil.
func (r *Registry) away(id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.nodes[id]; e != nil && time.Now().Before(e.absence.until) {
		return fmt.Errorf("%w (a moment ago; it is retried)", e.absence.err)
	}
	return nil
}

// missed records that a node could not be reached. reached records that it could.
func (r *Registry) missed(id string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.nodes[id]
	if e == nil {
		return
	}
	if time.Now().Before(e.absence.until) { // several callers dialed at the same time
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
