package shardclient

import (
	"context"
	"sync"
	"time"

	"cordwood/proto/errs"
)

// minWindow is the least that a window shrinks to: one batch of usual size.
const minWindow = 1 << 20

// shrinkEvery is the least time between two cuts of a window, so that the refusals of
// requests that were on their way together count as one.
const shrinkEvery = 500 * time.Millisecond

// window bounds the bytes that are on their way to one shard. It is halved when the shard
// says that it is busy or does not answer in time, and grows again, step by step, while
// it takes what it gets. A write that finds no room waits in order, for a bounded time. At most as
// many bytes wait as the window is large.
type window struct {
	max  int64
	wait time.Duration

	mu     sync.Mutex // guards the rest
	limit  int64      // how much may be on its way now
	used   int64      // how much is
	queue  []*waiter
	queued int64
	shrunk time.Time
	// rate is about how many bytes a second the shard took lately; counted since from.
	rate  float64
	taken int64
	from  time.Time
}

// waiter is a write that waits for room.
type waiter struct {
	n     int64
	since time.Time
	ready chan struct{} // closed when it has its room
}

func newWindow(limit int64, wait time.Duration) *window {
	return &window{max: limit, limit: limit, wait: wait}
}

// outcome is what became of a write, as far as a window is concerned.
type outcome int

const (
	taken     outcome = iota // the shard took it
	other                    // what it tells of the shard's load is not known
	congested                // the shard was busy, or did not answer in time
)

// enter reserves n bytes, waiting for a bounded time, and returns how to give them back.
// One larger than the whole window waits until it is alone.
func (w *window) enter(ctx context.Context, n int64) (leave func(outcome), err error) {
	w.mu.Lock()
	if len(w.queue) == 0 && w.fits(n) {
		w.used += n
		w.mu.Unlock()
		return func(o outcome) { w.leave(n, o) }, nil
	}
	if w.queued > 0 && w.queued+n > w.max {
		err := w.full()
		w.mu.Unlock()
		return nil, err
	}
	x := &waiter{n: n, since: time.Now(), ready: make(chan struct{})}
	w.queue = append(w.queue, x)
	w.queued += n
	w.mu.Unlock()

	timer := time.NewTimer(w.wait)
	defer timer.Stop()
	select {
	case <-x.ready:
		return func(o outcome) { w.leave(n, o) }, nil
	case <-timer.C:
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, have := range w.queue {
		if have == x {
			w.queue = append(w.queue[:i:i], w.queue[i+1:]...)
			w.queued -= n
			w.admit() // the next one may be smaller
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, w.full()
		}
	}
	return func(o outcome) { w.leave(n, o) }, nil // it got its room at the last moment
}

// fits reports whether n more bytes may go; mu is held.
func (w *window) fits(n int64) bool { return w.used == 0 || w.used+n <= w.limit }

// admit lets those go that fit, in order; mu is held.
func (w *window) admit() {
	for len(w.queue) > 0 && w.fits(w.queue[0].n) {
		x := w.queue[0]
		w.queue[0] = nil
		w.queue = w.queue[1:]
		w.queued -= x.n
		w.used += x.n
		close(x.ready)
	}
}

func (w *window) leave(n int64, o outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	switch {
	case o == taken:
		w.note(n, now)
		if w.used > w.limit/2 {
			w.limit = min(w.max, w.limit+max(n/4, 64<<10))
		}
	case o == congested && now.Sub(w.shrunk) >= shrinkEvery:
		w.limit = max(w.limit/2, min(minWindow, w.max))
		w.shrunk = now
	}
	w.used -= n
	w.admit()
}

// note counts what the shard took; mu is held.
func (w *window) note(n int64, now time.Time) {
	w.taken += n
	if w.from.IsZero() {
		w.from = now
	}
	if d := now.Sub(w.from); d >= time.Second {
		rate := float64(w.taken) / d.Seconds()
		if w.rate > 0 {
			rate = (rate + w.rate) / 2
		}
		w.rate, w.taken, w.from = rate, 0, now
	}
}

// full returns the error of a write that found no room; mu is held.
func (w *window) full() error {
	return errs.New(errs.ShardBusy, "its queue is full (%d bytes under way, %d wait); retry later", w.used, w.queued).
		WithReason(errs.Busy).WithRetryAfter(w.drain())
}

// drain estimates how long it takes until what is here has gone, 1 to 30 s; mu is held.
func (w *window) drain() time.Duration {
	if w.rate <= 0 {
		return time.Second
	}
	d := float64(w.used+w.queued) / w.rate
	return min(max(time.Duration(d*float64(time.Second)), time.Second), 30*time.Second)
}

// pressed reports whether another write would most likely be refused: as much waits as is
// under way, or the first that waits has done so for half of its time.
func (w *window) pressed() (retryAfter time.Duration, yes bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 || w.queued < w.limit && time.Since(w.queue[0].since) < w.wait/2 {
		return 0, false
	}
	return w.drain(), true
}

// load returns how many bytes are under way or wait.
func (w *window) load() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.used + w.queued
}
