package shardclient

import (
	"context"
	"math"
	"sync"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/turns"
)

// minWindow is the minimum size of a window: one batch of usual size.
const minWindow = 1 << 20

// shrinkEvery is the minimum time between two cuts of a window, so that refusals of requests that
// were in flight together count as one.
const shrinkEvery = 500 * time.Millisecond

// window limits the bytes in flight to one shard. It is halved when the shard is busy or does not
// answer in time, and grows again step by step while the shard accepts writes. A write that finds
// no room waits for a limited time. The waiting writes may have as many bytes as the window. The
// databases that have tables in the shard take turns, and each may have an equal part of the waiting
// bytes at least (turns.Queue).
type window struct {
	max  int64
	wait time.Duration

	mu     sync.Mutex // guards the rest
	limit  int64      // the maximum number of bytes in flight
	used   int64      // the number of bytes in flight
	queue  turns.Queue[*waiter]
	shrunk time.Time
	// rate is the approximate number of bytes a second that the shard accepted recently. counted is
	// the number of bytes since from.
	rate  float64
	taken int64
	from  time.Time
}

// waiter is a write that waits for room.
type waiter struct {
	database string
	n        int64
	since    time.Time
	ready    chan struct{} // closed when the write may be sent
}

func newWindow(limit int64, wait time.Duration) *window {
	return &window{max: limit, limit: limit, wait: wait}
}

// outcome is the outcome of a write for the size of a window.
type outcome int

const (
	taken     outcome = iota // the shard accepted it
	other                    // the outcome does not depend on the shard's load
	congested                // the shard was busy, or did not answer in time
)

// enter reserves n bytes for a database, waiting for a limited time, and returns a function that
// releases them. A write larger than the whole window waits until it is alone.
func (w *window) enter(ctx context.Context, database string, n int64) (leave func(outcome), err error) {
	w.mu.Lock()
	if w.queue.Len() == 0 && w.fits(n) {
		w.used += n
		w.mu.Unlock()
		return func(o outcome) { w.leave(n, o) }, nil
	}
	if !w.queue.HasRoom(database, 1, n, math.MaxInt32, w.max) {
		err := w.full()
		w.mu.Unlock()
		return nil, err
	}
	x := &waiter{database: database, n: n, since: time.Now(), ready: make(chan struct{})}
	at := w.queue.Push(database, n, x)
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
	if w.queue.Drop(at) {
		w.admit() // the next write may be smaller
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, w.full()
	}
	return func(o outcome) { w.leave(n, o) }, nil // the write was admitted at the last moment
}

// fits reports whether n more bytes have room; mu must be held.
func (w *window) fits(n int64) bool { return w.used == 0 || w.used+n <= w.limit }

// admit admits waiting writes that fit, in the order of the queue; mu must be held.
func (w *window) admit() {
	for {
		x := w.queue.Next()
		if x == nil || !w.fits(x.Value.n) {
			return
		}
		w.queue.Take(x)
		w.used += x.Value.n
		close(x.Value.ready)
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

// note counts bytes that the shard accepted; mu must be held.
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

// full returns the error of a write that found no room; mu must be held.
func (w *window) full() error {
	return errs.New(errs.ShardBusy, "its queue is full (%d bytes in flight, %d waiting); try again "+
		"later", w.used, w.queue.Cost()).
		WithReason(errs.Busy).WithRetryAfter(w.drain())
}

// drain estimates how long the shard needs for the present bytes, from 1 to 30 s; mu must be held.
func (w *window) drain() time.Duration {
	if w.rate <= 0 {
		return time.Second
	}
	d := float64(w.used+w.queue.Cost()) / w.rate
	return min(max(time.Duration(d*float64(time.Second)), time.Second), 30*time.Second)
}

// pressed reports whether another write of a database would probably be refused: as many of its
// bytes wait as are in flight, or its part of them, or its first waiting write has used half of its
// time.
func (w *window) pressed(database string) (retryAfter time.Duration, yes bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := w.queue.First(database)
	if first == nil {
		return 0, false
	}
	_, queued, active := w.queue.Of(database)
	if queued < w.limit/int64(active) && time.Since(first.Value.since) < w.wait/2 {
		return 0, false
	}
	return w.drain(), true
}

// load returns how many bytes are in flight or waiting.
func (w *window) load() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.used + w.queue.Cost()
}
