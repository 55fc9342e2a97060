package bucket

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// failuresInARow, and half of the last recentRequests requests, are the failures that open the circuit.
	failuresInARow = 5
	recentRequests = 20
	// probeEvery is how often a request is let through while the circuit is open.
	probeEvery = time.Second
	// slowFailure is the time without an answer from which a failure counts as slowFailures: a query waits for two of
	// them at most.
	slowFailure  = 5 * time.Second
	slowFailures = 3
)

// circuit stops requests to a service that does not answer. Once a second it lets one of them through, and the first
// answer closes it. An answer that refuses a request is an answer.
type circuit struct {
	mu     sync.Mutex // guards all fields below
	recent [recentRequests]bool
	next   int // the position in recent of the next request
	row    int // failures in a row
	since  time.Time
	last   error // the last failure; nil if the service has answered since
	open   bool
	probed time.Time
	// probe is closed when the outcome of the last probe is known; nil if none is under way.
	probe chan struct{}
	// refused has, for each class of requests, the last answer if it was one of kind Forbidden.
	refused [classes]error
}

// errOpen is the cause of errors of requests that are not sent.
var errOpen = errors.New("object storage does not answer")

// admit returns an error if a request must not be sent now. Otherwise the caller calls note with the outcome, and then,
// if done is not nil, done. While a probe is under way, outcome is closed when it ends.
func (c *circuit) admit(op, at string) (done func(), outcome <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.open {
		return nil, nil, nil
	}
	now := time.Now()
	if now.Sub(c.probed) >= probeEvery {
		probe := make(chan struct{})
		c.probed, c.probe = now, probe
		return func() { c.probeEnded(probe) }, nil, nil
	}
	cause := c.last
	if e := (*Error)(nil); errors.As(cause, &e) {
		cause = e.Err
	}
	return nil, c.probe, &Error{
		Kind: Unavailable, Op: op, At: at,
		Err: fmt.Errorf("%w (%w, for %s)", errOpen, cause, now.Sub(c.since).Round(time.Second)),
	}
}

// probeEnded wakes those that wait for the outcome of a probe.
func (c *circuit) probeEnded(probe chan struct{}) {
	c.mu.Lock()
	if c.probe == probe {
		c.probe = nil
	}
	c.mu.Unlock()
	close(probe)
}

// untilProbe returns how long admit will go on to refuse.
func (c *circuit) untilProbe() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(probeEvery-time.Since(c.probed), time.Millisecond)
}

// note notes the outcome of a request of a class that began at some time.
func (c *circuit) note(of class, err error, began time.Time) {
	kind, known := KindOf(err)
	switch {
	case err != nil && !known: // the caller gave up
		return
	case kind == Local, kind == Throttled, kind == Refused && err != nil:
		return // they do not tell whether the service works
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recent[c.next] = kind == Unavailable
	c.next = (c.next + 1) % recentRequests
	if kind == Unavailable {
		c.failed(err, began)
		return
	}
	c.row, c.last, c.refused[of] = 0, nil, nil
	if kind == Forbidden {
		c.refused[of] = err
	}
	if c.open {
		c.open, c.recent = false, [recentRequests]bool{}
	}
}

// failed notes a failure, and opens the circuit if there are enough of them. The caller holds mu.
func (c *circuit) failed(err error, began time.Time) {
	if c.last == nil {
		c.since = began
	}
	c.last = err
	c.row++
	if time.Since(began) >= slowFailure {
		c.row += slowFailures - 1
	}
	bad := 0
	for _, failed := range c.recent {
		if failed {
			bad++
		}
	}
	if !c.open && (c.row >= failuresInARow || bad >= recentRequests/2) {
		c.open, c.probed = true, time.Now()
	}
}

// State describes how a service answers.
type State struct {
	// Open means that requests fail at once, because the service has not answered since Since.
	Open  bool
	Since time.Time
	// Last is the last failure, if the service has not answered since.
	Last error
	// Forbidden is the answer to the last request that reads or to the last one that writes, if the service refused the
	// credentials or a permission was missing.
	Forbidden error
	// Concurrency is the number of requests that may run at once.
	Concurrency int
}

func (c *circuit) state() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := State{Open: c.open, Last: c.last, Forbidden: cmp.Or(c.refused[writer], c.refused[reader])}
	if c.last != nil {
		s.Since = c.since
	}
	return s
}
