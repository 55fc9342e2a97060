package body

import (
	"context"
	"sync/atomic"
	"time"
)

// reservation is the part of the budget that one body holds. Its methods are for the
// goroutine that reads the body.
type reservation struct {
	budget  *budget
	policy  Policy
	maxWait time.Duration
	// stop ends a read of the body that is under way, from any goroutine; nil: nothing does.
	stop func()
	// total is the length that the body will have, as far as it is known.
	total int64
	// deadline is when it stops to wait: all its waits share it. Set by the first.
	deadline time.Time

	// cut is why the connection gave no more of the body.
	cut error

	// filled is how many bytes the body has by now.
	filled atomic.Int64
	// broken: it was given up.
	broken atomic.Bool

	// The budget's mutex guards all below. The goroutine that reads may look at window without
	// it, since nothing else changes it.

	// held is at least window: what may be filled without asking again.
	held, window int64
	// mark is what was filled at the time marked.
	mark   int64
	marked time.Time
	// waiting: it waits for room, so that nothing comes is not the client's fault.
	waiting bool
	born    uint64
	at      int // where it is among the budget's readers
}

// firstPart is what a body begins with at least, or its length, when memory is short.
const firstPart = 1 << 20

// begin reserves room for a body that announces total bytes; 0 if it does not say. If the
// whole is not free it waits for a part only: a client that announces much and sends nothing must not
// take the place of many.
func (r *reservation) begin(ctx context.Context, total int64) error {
	b := r.budget
	r.total = total
	if !b.limited() {
		r.held = max(total, 1)
		b.used.Add(r.held)
		return nil
	}
	if total > b.size {
		return errNeverFits
	}
	whole := min(steps(max(total, 1)), b.size)
	b.mu.Lock()
	defer b.mu.Unlock()
	return r.acquire(ctx, whole, min(whole, max(b.size/16/reserveStep*reserveStep, firstPart)))
}

// advance hears that the body has n bytes, all that was allowed or one more, and allows more.
func (r *reservation) advance(ctx context.Context, n int64) error {
	b := r.budget
	if !b.limited() {
		if n > r.held {
			b.used.Add(steps(n) - r.held)
			r.held = steps(n)
		}
		return nil
	}
	if n > b.size {
		return errNeverFits
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.broken.Load() {
		return errSlow
	}
	if n > r.held {
		// The rest of the promise, if there is room; else what is needed now.
		whole, part := min(steps(max(n, r.total)), b.size), min(steps(n), b.size)
		if err := r.acquire(ctx, whole-r.held, part-r.held); err != nil {
			return err
		}
	}
	r.window = min(r.held, n+readWindow)
	return nil
}

// acquire makes the reservation larger, by whole if there is room at once, else by part
// in its turn. With the budget's mutex held, which it lets go while it waits.
func (r *reservation) acquire(ctx context.Context, whole, part int64) error {
	b := r.budget
	for try := range 2 {
		for _, n := range [...]int64{whole, part} {
			if b.fits(r, n) {
				b.give(r, n)
				return nil
			}
		}
		if try == 0 {
			b.look(part)
		}
	}
	if r.policy == Fail {
		return errBudget
	}
	r.waiting = true
	w := b.wait(r, part)
	b.mu.Unlock()
	err := r.wait(ctx, w)
	b.mu.Lock()
	r.waiting = false
	return err
}

// wait waits until w has its answer. Meanwhile it looks for room that others do not use.
func (r *reservation) wait(ctx context.Context, w *waiter) error {
	b := r.budget
	if r.deadline.IsZero() {
		r.deadline = time.Now().Add(r.maxWait)
	}
	end := time.NewTimer(time.Until(r.deadline))
	defer end.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		var err error
		select {
		case err := <-w.done:
			return err
		case <-ctx.Done():
			err = ctx.Err()
		case <-end.C:
			err = errBudget
		case <-look.C:
		}
		b.mu.Lock()
		if err == nil {
			b.lookForFirst()
			b.mu.Unlock()
			continue
		}
		left := b.leave(w)
		if left {
			b.grant() // those behind it may ask for less
		}
		b.mu.Unlock()
		if !left {
			return <-w.done
		}
		return err
	}
}

// end says that the body is read: from now on nothing stops it, and what it holds beyond
// its n bytes is free.
func (r *reservation) end(n int64) {
	b := r.budget
	if !b.limited() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(r)
	if extra := r.held - min(steps(max(n, 1)), b.size); extra > 0 {
		b.take(r, extra)
		b.grant()
	}
}

// hold makes the reservation of a body that was read at least n bytes large. With wait it
// waits for room as the policy says, else errBudget is returned at once.
func (r *reservation) hold(ctx context.Context, n int64, wait bool) error {
	b := r.budget
	if !b.limited() {
		if extra := n - r.held; extra > 0 {
			b.used.Add(extra)
			r.held = n
		}
		return nil
	}
	if n > b.size {
		return errNeverFits
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	extra := min(steps(n), b.size) - r.held
	switch {
	case extra <= 0:
		return nil
	case wait:
		return r.acquire(ctx, extra, extra)
	case !b.fits(r, extra):
		return errBudget
	}
	b.give(r, extra)
	return nil
}

// release gives everything back.
func (r *reservation) release() {
	b := r.budget
	if !b.limited() {
		b.used.Add(-r.held)
		r.held = 0
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(r)
	b.take(r, r.held)
	b.grant()
}
