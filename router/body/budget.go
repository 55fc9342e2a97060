package body

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// reserveStep is the step in which reservations grow, in bytes.
	reserveStep = 64 << 10
	// readWindow is the most bytes that are read between two updates of the budget.
	readWindow = 256 << 10

	// reclaimEvery is how often a waiting request looks for memory that is reserved but not filled. A new body is not
	// examined before this time has passed.
	reclaimEvery = 250 * time.Millisecond
	// slowAfter is how long a body must be slow before it is refused. A body is slow if each second brings less than
	// the fraction slowShare of the memory that it holds.
	slowAfter = time.Second
	slowShare = 30
)

var (
	// errBudget means that the budget is exhausted.
	errBudget = errors.New("too many bytes in flight")
	// errNeverFits means that the body is larger than the whole budget.
	errNeverFits = errors.New("more than the memory for all bodies")
	// errSlow means that the body held memory for which others waited, and arrived too slowly.
	errSlow = errors.New("too slow while memory is short")
)

// budget counts and limits the bytes of all bodies in flight.
//
// A body reserves its announced length before its first byte is read, if that much is free. So most bodies can be
// completed once their reading has started. While another body waits, a body keeps only the memory that it has filled
// or will probably fill within the next second. It asks for the rest again when more bytes arrive. A body that holds
// memory and receives almost nothing is refused then. Bodies that are being read get memory before new ones. If all
// bodies that hold memory wait for more, the youngest is refused, so that the oldest always makes progress.
//
// Databases share the memory, see tenants.go.
type budget struct {
	size int64 // 0 means unlimited
	used atomic.Int64

	// mu guards the following fields, the fields of reservations that say so, and, if there is a limit, changes of
	// used. No code waits while it holds mu.
	mu        sync.Mutex
	readers   []*reservation // reservations whose bodies are being read
	holders   int            // reservations with memory, whether or not their bodies are being read
	born      uint64         // the number of reservations so far
	reclaimed time.Time
	// growing is the number of bodies that are being read and wait for more memory. The queues are in tenants.
	growing int
	tenants map[string]*tenant // databases that had bodies lately
	swept   time.Time          // when databases were last removed
	waits   uint64             // the number of waiters so far
}

// waiter is a reservation that waits for more memory.
type waiter struct {
	res *reservation
	n   int64
	seq uint64
	// done receives nil if the memory was granted, or the error. Its capacity is one.
	done chan error
}

func newBudget(size int64) *budget { return &budget{size: size, tenants: map[string]*tenant{}} }

func (b *budget) limited() bool { return b.size > 0 }

// fits reports whether r may have n more bytes now without overtaking another reservation. mu must be held.
func (b *budget) fits(r *reservation, n int64) bool {
	return b.used.Load()+n <= b.size && !b.mustWait(r, n) && b.allows(r, n)
}

// give adds n bytes to r, and adds r to the bodies being read if it is new. mu must be held.
func (b *budget) give(r *reservation, n int64) {
	if r.held == 0 {
		b.holders++
		r.tenant.holders++
		b.born++
		r.born, r.marked, r.at = b.born, time.Now(), len(b.readers)
		b.readers = append(b.readers, r)
		r.window = min(n, readWindow)
	}
	r.held += n
	r.tenant.held += n
	r.tenant.seen = time.Now()
	b.used.Add(n)
}

// forget removes r from the bodies being read. mu must be held.
func (b *budget) forget(r *reservation) {
	if r.at >= len(b.readers) || b.readers[r.at] != r {
		return
	}
	last := len(b.readers) - 1
	b.readers[r.at] = b.readers[last]
	b.readers[r.at].at = r.at
	b.readers[last] = nil
	b.readers = b.readers[:last]
}

// take removes n bytes from r. mu must be held.
func (b *budget) take(r *reservation, n int64) {
	if n == 0 {
		return
	}
	r.held -= n
	r.tenant.held -= n
	b.used.Add(-n)
	if r.held == 0 {
		b.holders--
		r.tenant.holders--
	}
}

// grant gives memory to waiting bodies while there is enough. mu must be held.
func (b *budget) grant() {
	for {
		w := b.next()
		if w == nil || b.used.Load()+w.n > b.size || !b.allows(w.res, w.n) {
			return
		}
		b.leave(w)
		b.give(w.res, w.n)
		w.res.marked, w.res.mark = time.Now(), w.res.filled.Load()
		w.done <- nil
	}
}

// wait puts r into the queue for n more bytes. mu must be held.
func (b *budget) wait(r *reservation, n int64) *waiter {
	b.waits++
	w := &waiter{res: r, n: n, seq: b.waits, done: make(chan error, 1)}
	t := r.tenant
	if r.held == 0 {
		t.entering = append(t.entering, w)
		return w
	}
	t.growing = append(t.growing, w)
	b.growing++
	// If no other body can finish, one is refused. Its memory becomes free when its request receives the refusal.
	switch {
	case b.growing == b.holders:
		b.refuseYoungest(b.largest())
	case b.stuck(t, n):
		b.refuseYoungest(t)
	}
	return w
}

// refuseYoungest refuses the youngest of the bodies of t that wait for more memory. mu must be held.
func (b *budget) refuseYoungest(t *tenant) {
	youngest := slices.MaxFunc(t.growing, func(x, y *waiter) int { return cmp.Compare(x.res.born, y.res.born) })
	b.leave(youngest)
	youngest.done <- errBudget
}

// leave removes w from its queue. It returns false if w has its answer already. mu must be held.
func (b *budget) leave(w *waiter) bool {
	t := w.res.tenant
	if i := slices.Index(t.growing, w); i >= 0 {
		t.growing = slices.Delete(t.growing, i, i+1)
		b.growing--
		return true
	}
	if i := slices.Index(t.entering, w); i >= 0 {
		t.entering = slices.Delete(t.entering, i, i+1)
		return true
	}
	return false
}

// reclaim takes back memory that is reserved and will not be filled soon. If that is less than want bytes, it also
// refuses slow bodies that hold memory, but none of a database within its part for one beyond its own. t is the
// database that waits. mu must be held.
func (b *budget) reclaim(t *tenant, want int64) {
	now := time.Now()
	if now.Sub(b.reclaimed) < reclaimEvery/2 {
		return
	}
	b.reclaimed = now
	var slow []*reservation
	missing := want + b.used.Load() - b.size
	for _, r := range b.readers {
		since := now.Sub(r.marked)
		switch {
		case r.broken.Load():
			missing -= r.held // it will be free in a moment
			continue
		case r.waiting || since < reclaimEvery:
			continue
		}
		filled := r.filled.Load()
		rate := int64(float64(filled-r.mark) / since.Seconds())
		if keep := steps(max(r.window, filled+rate)); keep < r.held {
			missing -= r.held - keep
			b.take(r, r.held-keep)
		}
		switch {
		case since < slowAfter || r.stop == nil || r.tenant != t && b.within(r.tenant) && !b.within(t):
		case rate < r.held/slowShare:
			slow = append(slow, r)
		default:
			r.mark, r.marked = filled, now
		}
	}
	slices.SortFunc(slow, func(x, y *reservation) int { return cmp.Compare(y.held, x.held) })
	for _, r := range slow {
		if missing <= 0 {
			break
		}
		missing -= r.held
		r.broken.Store(true) // before the read ends, because its error depends on this
		r.stop.Stop()
	}
	b.grant()
}

// reclaimForFirst calls reclaim for the body that is the next to get memory. mu must be held.
func (b *budget) reclaimForFirst() {
	b.sweep(time.Now())
	if w := b.next(); w != nil {
		b.reclaim(w.res.tenant, w.n)
	}
}

// steps rounds n up to a whole number of steps.
func steps(n int64) int64 { return (n + reserveStep - 1) / reserveStep * reserveStep }
