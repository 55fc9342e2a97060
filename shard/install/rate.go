package install

import (
	"context"
	"sync"
	"time"
)

// Rate limits the total rate at which the shards of a node fetch state from others, or send objects. It may be used
// concurrently.
type Rate struct {
	perSecond int64
	mu        sync.Mutex
	next      time.Time // when the next byte may be moved
}

// NewRate returns a limit of n bytes a second.
func NewRate(bytesPerSecond int64) *Rate { return &Rate{perSecond: bytesPerSecond} }

// Wait waits until n more bytes may be moved.
func (r *Rate) Wait(ctx context.Context, n int) error {
	r.mu.Lock()
	now := time.Now()
	if r.next.Before(now) {
		r.next = now
	}
	r.next = r.next.Add(time.Duration(float64(n) / float64(r.perSecond) * float64(time.Second)))
	pause := r.next.Sub(now)
	r.mu.Unlock()
	if pause < 5*time.Millisecond {
		return ctx.Err()
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
