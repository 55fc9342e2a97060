package body

import (
	"context"
	"sync/atomic"
	"time"
)

// reservation is one body's share of the budget. Its methods are for the goroutine that reads the body.
type reservation struct {
	budget  *budget
	policy  Policy
	maxWait time.Duration
	// database is the one that the body is for, or "".
	database string
	// stop ends the current read of the body. It is nil if reads cannot be ended.
	stop Stopper
	// total is the length of the whole body, or 0 if it is not known yet.
	total int64
	// deadline is when waiting ends. The first wait sets it for all waits together.
	deadline time.Time

	// cut is the error with which the connection ended early.
	cut error

	// filled is the number of bytes that have arrived.
	filled atomic.Int64
	// broken reports whether the body was refused.
	broken atomic.Bool

	// The budget's mutex guards the fields below. The goroutine that reads may read window without it, because no
	// other goroutine changes window.

	// window is how many bytes may be filled without asking again. held is at least window.
	held, window int64
	// tenant is the database's part of the budget. It is nil before the first reservation.
	tenant *tenant
	// mark is the value of filled at the time marked.
	mark   int64
	marked time.Time
	// waiting reports whether the reservation waits for memory. Then it is not the client's fault that no bytes
	// arrive.
	waiting bool
	born    uint64
	at      int // its index in the budget's readers
}

// firstPart is the size of a body's first reservation if memory is short, unless the body is shorter.
const firstPart = 1 << 20

// begin reserves memory for a body of total bytes; 0 if the length is not known. If that much is not free, begin
// waits for only a part of it, because a client that announces much and sends nothing must not displace many others.
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

// advance records in the budget that n bytes have arrived, and reserves more memory.
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
		// Reserve the rest of the announced length if it is free, otherwise what is needed now.
		whole, part := min(steps(max(n, r.total)), b.size), min(steps(n), b.size)
		if err := r.acquire(ctx, whole-r.held, part-r.held); err != nil {
			return err
		}
	}
	r.window = min(r.held, n+readWindow)
	return nil
}

// acquire enlarges the reservation: by whole bytes if they are free now, otherwise by part bytes when its turn comes.
// The budget's mutex must be held, and is released while acquire waits.
func (r *reservation) acquire(ctx context.Context, whole, part int64) error {
	b := r.budget
	r.join()
	for try := range 2 {
		for _, n := range [...]int64{whole, part} {
			if b.fits(r, n) {
				b.give(r, n)
				return nil
			}
		}
		if try == 0 {
			b.reclaim(r.tenant, part)
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

// wait waits until w has its answer. Meanwhile it looks for memory that other bodies do not use.
func (r *reservation) wait(ctx context.Context, w *waiter) error {
	b := r.budget
	if r.deadline.IsZero() {
		r.deadline = time.Now().Add(r.maxWait)
	}
	end := time.NewTimer(time.Until(r.deadline))
	defer end.Stop()
	reclaim := time.NewTicker(reclaimEvery)
	defer reclaim.Stop()
	for {
		var err error
		select {
		case err := <-w.done:
			return err
		case <-ctx.Done():
			err = ctx.Err()
		case <-end.C:
			err = errBudget
		case <-reclaim.C:
		}
		b.mu.Lock()
		if err == nil {
			b.reclaimForFirst()
			b.mu.Unlock()
			continue
		}
		left := b.leave(w)
		if left {
			b.grant() // bodies behind it may ask for less
		}
		b.mu.Unlock()
		if !left {
			return <-w.done
		}
		return err
	}
}

// end must be called when the body of n bytes has been read. From then on its reads are not stopped. It frees memory
// beyond the n bytes.
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

// hold enlarges the reservation of a body that was read to at least n bytes. If wait is true, it waits as the
// policy says. Otherwise it returns errBudget if there is not enough memory.
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
	}
	if r.join(); !b.fits(r, extra) {
		return errBudget
	}
	b.give(r, extra)
	return nil
}

// join finds the tenant of a reservation without memory. The budget's mutex must be held.
func (r *reservation) join() {
	if r.held == 0 {
		r.tenant = r.budget.tenant(r.database)
	}
}

// release returns all memory.
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
