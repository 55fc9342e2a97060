package body

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// reserveStep is the step in which reservations grow.
const reserveStep = 64 << 10

// errBudget says that the budget is spent.
var errBudget = errors.New("too many bytes in flight")

// budget counts the bytes of all bodies in flight and bounds them.
type budget struct {
	sem  *semaphore.Weighted // nil: no bound
	size int64
	used atomic.Int64
}

func newBudget(size int64) *budget {
	b := &budget{size: size}
	if size > 0 {
		b.sem = semaphore.NewWeighted(size)
	}
	return b
}

func (b *budget) limited() bool { return b.sem != nil }

// reservation is the part of the budget that one request holds. Not safe for concurrent use.
type reservation struct {
	budget   *budget
	policy   Policy
	maxWait  time.Duration
	held     int64
	deadline time.Time // set by the first wait: all waits of a request share it
}

// reserve makes the reservation at least n bytes large, rounded up to a step. Waiters
// are served in order. Two requests that each wait for the other's part both end with
// errBudget after their wait.
func (r *reservation) reserve(ctx context.Context, n int64) error {
	if n <= r.held {
		return nil
	}
	b := r.budget
	target := (n + reserveStep - 1) / reserveStep * reserveStep
	if b.sem != nil {
		target = min(target, max(n, b.size)) // the last step of a budget may be short
		if n > b.size {
			return errBudget
		}
		if err := r.acquire(ctx, target-r.held); err != nil {
			return err
		}
	}
	b.used.Add(target - r.held)
	r.held = target
	return nil
}

func (r *reservation) acquire(ctx context.Context, n int64) error {
	if r.budget.sem.TryAcquire(n) {
		return nil
	}
	if r.policy == Fail {
		return errBudget
	}
	if r.deadline.IsZero() {
		r.deadline = time.Now().Add(r.maxWait)
	}
	wait, cancel := context.WithDeadline(ctx, r.deadline)
	defer cancel()
	if err := r.budget.sem.Acquire(wait, n); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return errBudget
	}
	return nil
}

func (r *reservation) release() {
	if r.budget.sem != nil {
		r.budget.sem.Release(r.held)
	}
	r.budget.used.Add(-r.held)
	r.held = 0
}
