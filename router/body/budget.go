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
	// reserveStep is the step in which reservations grow.
	reserveStep = 64 << 10
	// readWindow is the most that is read at a time: so much of what was reserved may be
	// filled before the budget knows.
	readWindow = 256 << 10

	// lookEvery is how often a waiting request looks for memory that is reserved and not filled, and
	// how long a body is left alone at first.
	lookEvery = 250 * time.Millisecond
	// slowAfter is how long a body must have been slow to be given up, and slowShare what
	// part of the memory it holds it must bring every second.
	slowAfter = time.Second
	slowShare = 30
)

var (
	// errBudget says that the budget is spent.
	errBudget = errors.New("too many bytes in flight")
	// errNeverFits says that not even the whole budget is enough.
	errNeverFits = errors.New("more than the memory for all bodies")
	// errSlow says that the body held memory that others waited for, and brought too little.
	errSlow = errors.New("too slow while memory is short")
)

// budget counts the bytes of all bodies in flight and bounds them.
//
// A body reserves what it announces before its first byte is read, if that is free, so
// that a body once begun can mostly be ended. But while another body waits, a body keeps only the
// memory that it has filled and will likely fill within the next second. It asks for the rest
// again when more of it comes. A body that holds memory and brings next to nothing is given up
// then. Bodies begun go before new ones; if all that hold memory wait for more, the youngest is
// refused, so that the oldest always gets on.
type budget struct {
	size int64 // 0: no bound
	used atomic.Int64

	// mu guards what follows, the fields of reservations that say so, and, if there is a
	// bound, changes of used. Nothing waits while it is held.
	mu      sync.Mutex
	readers []*reservation // those whose bodies are being read
	holders int            // reservations that hold something, being read or not
	born    uint64         // how many there ever were
	looked  time.Time
	// growing and entering wait for room, in order: bodies begun, and new ones.
	growing, entering []*waiter
}

// waiter is a reservation that waits to be larger.
type waiter struct {
	res *reservation
	n   int64
	// done gets nil when the room is there, or why it will not be. It holds one.
	done chan error
}

func newBudget(size int64) *budget { return &budget{size: size} }

func (b *budget) limited() bool { return b.size > 0 }

// fits reports whether r may have n more bytes now, without taking another one's turn. With mu held.
func (b *budget) fits(r *reservation, n int64) bool {
	first := len(b.growing) == 0 && (r.held > 0 || len(b.entering) == 0)
	return first && b.used.Load()+n <= b.size
}

// give makes r larger by n, and counts it among the bodies being read if it is new. With mu held.
func (b *budget) give(r *reservation, n int64) {
	if r.held == 0 {
		b.holders++
		b.born++
		r.born, r.marked, r.at = b.born, time.Now(), len(b.readers)
		b.readers = append(b.readers, r)
		r.window = min(n, readWindow)
	}
	r.held += n
	b.used.Add(n)
}

// forget takes r from the bodies being read, if it is among them. With mu held.
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

// take makes r smaller by n. With mu held.
func (b *budget) take(r *reservation, n int64) {
	if n == 0 {
		return
	}
	r.held -= n
	b.used.Add(-n)
	if r.held == 0 {
		b.holders--
	}
}

// grant lets waiting bodies continue for which there is room. With mu held.
func (b *budget) grant() {
	for _, queue := range []*[]*waiter{&b.growing, &b.entering} {
		for len(*queue) > 0 {
			w := (*queue)[0]
			if b.used.Load()+w.n > b.size {
				return
			}
			*queue = slices.Delete(*queue, 0, 1)
			b.give(w.res, w.n)
			w.res.marked, w.res.mark = time.Now(), w.res.filled.Load()
			w.done <- nil
		}
	}
}

// wait puts r in the queue for n more bytes. With mu held.
func (b *budget) wait(r *reservation, n int64) *waiter {
	w := &waiter{res: r, n: n, done: make(chan error, 1)}
	if r.held == 0 {
		b.entering = append(b.entering, w)
		return w
	}
	b.growing = append(b.growing, w)
	if len(b.growing) == b.holders {
		// No body is left that could end. What the youngest has is free once it has heard.
		youngest := slices.MaxFunc(b.growing, func(x, y *waiter) int { return cmp.Compare(x.res.born, y.res.born) })
		b.leave(youngest)
		youngest.done <- errBudget
	}
	return w
}

// leave takes w out of its queue; false if it has its answer already. With mu held.
func (b *budget) leave(w *waiter) bool {
	for _, queue := range []*[]*waiter{&b.growing, &b.entering} {
		if i := slices.Index(*queue, w); i >= 0 {
			*queue = slices.Delete(*queue, i, i+1)
			return true
		}
	}
	return false
}

// look takes back what is reserved and not filled soon, and gives up bodies that hold
// memory and are slow, if that is not enough for want more bytes. With mu held.
func (b *budget) look(want int64) {
	now := time.Now()
	if now.Sub(b.looked) < lookEvery/2 {
		return
	}
	b.looked = now
	var slow []*reservation
	missing := want + b.used.Load() - b.size
	for _, r := range b.readers {
		since := now.Sub(r.marked)
		switch {
		case r.broken.Load():
			missing -= r.held // will be free in a moment
			continue
		case r.waiting || since < lookEvery:
			continue
		}
		filled := r.filled.Load()
		rate := int64(float64(filled-r.mark) / since.Seconds())
		if keep := steps(max(r.window, filled+rate)); keep < r.held {
			missing -= r.held - keep
			b.take(r, r.held-keep)
		}
		switch {
		case since < slowAfter || r.stop == nil:
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
		r.broken.Store(true) // before the read ends, which asks why
		r.stop()
	}
	b.grant()
}

// lookForFirst looks on behalf of the body that waits longest. With mu held.
func (b *budget) lookForFirst() {
	switch {
	case len(b.growing) > 0:
		b.look(b.growing[0].n)
	case len(b.entering) > 0:
		b.look(b.entering[0].n)
	}
}

// steps rounds n up to a whole number of steps.
func steps(n int64) int64 { return (n + reserveStep - 1) / reserveStep * reserveStep }
