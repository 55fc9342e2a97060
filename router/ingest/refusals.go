package ingest

import (
	"context"
	"sync"
	"time"
)

const (
	// undelayedRefusals is the number of refusals per second that a sender gets without delay.
	undelayedRefusals = 2
	// refusalDelay is the delay of each further refusal.
	refusalDelay = time.Second
	// maxHeld limits the number of refusals that are delayed at a time, and maxRefused the senders that are counted.
	maxHeld    = 1000
	maxRefused = 10_000
)

// refusals slows down clients that retry at once after any answer.
type refusals struct {
	mu      sync.Mutex // guards the fields below
	senders map[string]refusedSender
	held    int
}

// refusedSender counts the refusals of a sender in the second that started at the time began.
type refusedSender struct {
	began time.Time
	n     int
}

// HoldRefusal is called before a refusal is answered. sender is the key of the sender (access.Caller.Share). From
// the third refusal in a second on, it waits for a second, unless the context ends earlier.
func (s *Service) HoldRefusal(ctx context.Context, sender string) {
	if !s.refusals.hold(sender, time.Now()) {
		return
	}
	defer s.refusals.release()
	timer := time.NewTimer(refusalDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// hold counts a refusal, and reports whether it must be delayed.
func (r *refusals) hold(sender string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.senders == nil || len(r.senders) >= maxRefused {
		r.senders = map[string]refusedSender{}
	}
	one := r.senders[sender]
	if now.Sub(one.began) >= time.Second {
		one = refusedSender{began: now}
	}
	one.n++
	r.senders[sender] = one
	if one.n <= undelayedRefusals || r.held >= maxHeld {
		return false
	}
	r.held++
	return true
}

func (r *refusals) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held--
}
