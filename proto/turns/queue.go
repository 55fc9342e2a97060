package turns

import "container/list"

// Queue has work that waits for something that databases share, such as the log of a shard. The database that has got
// the least goes next: each has a count of the costs of its work, and the work of the database with the lowest count is
// the next. A database that had no work for a while starts at the count of the others, so it cannot save turns up. The
// work of one database is done in order, and with a single database the Queue is a simple one.
//
// The zero Queue is empty. It is not safe for concurrent use.
type Queue[T any] struct {
	lanes map[string]*queueLane[T]
	// clock is the count of the database whose work was taken last.
	clock int64
	cost  int64
	n     int
	seq   uint64
}

type queueLane[T any] struct {
	name    string
	waiting list.List // of *Item[T]
	count   int64
	cost    int64 // of the waiting work
}

// Item is work in a Queue.
type Item[T any] struct {
	Value T

	cost int64
	seq  uint64
	lane *queueLane[T]
	at   *list.Element
}

// Len returns the number of waiting items.
func (q *Queue[T]) Len() int { return q.n }

// Cost returns the sum of the costs of the waiting items.
func (q *Queue[T]) Cost() int64 { return q.cost }

// Push adds work of a database.
func (q *Queue[T]) Push(database string, cost int64, value T) *Item[T] {
	l := q.lane(database)
	if l == nil {
		if q.lanes == nil {
			q.lanes = map[string]*queueLane[T]{}
		}
		if len(q.lanes) >= maxLanes {
			database = sharedLane
		}
		if l = q.lanes[database]; l == nil {
			l = &queueLane[T]{name: database}
			q.lanes[database] = l
		}
	}
	if l.waiting.Len() == 0 {
		l.count = max(l.count, q.clock)
	}
	q.seq++
	it := &Item[T]{Value: value, cost: cost, seq: q.seq, lane: l}
	it.at = l.waiting.PushBack(it)
	q.add(l, 1, cost)
	return it
}

// lane returns the queue of a database, or nil if there is none.
func (q *Queue[T]) lane(database string) *queueLane[T] {
	if l := q.lanes[database]; l != nil || len(q.lanes) < maxLanes {
		return l
	}
	return q.lanes[sharedLane]
}

func (q *Queue[T]) add(l *queueLane[T], n int, cost int64) {
	q.n, q.cost, l.cost = q.n+n, q.cost+cost, l.cost+cost
}

// Next returns the next item, or nil if there is none.
func (q *Queue[T]) Next() *Item[T] {
	var next *Item[T]
	for name, l := range q.lanes {
		if l.waiting.Len() == 0 {
			if l.count <= q.clock || q.n == 0 {
				delete(q.lanes, name)
			}
			continue
		}
		it := l.waiting.Front().Value.(*Item[T])
		if next == nil || l.count < next.lane.count || l.count == next.lane.count && it.seq < next.seq {
			next = it
		}
	}
	return next
}

// Take removes an item, which counts for its database.
func (q *Queue[T]) Take(it *Item[T]) {
	if q.Drop(it) {
		q.clock = max(q.clock, it.lane.count)
		it.lane.count += max(it.cost, 1)
	}
}

// Drop removes an item that gave up. It returns false if the item was removed before.
func (q *Queue[T]) Drop(it *Item[T]) bool {
	if it.at == nil {
		return false
	}
	it.lane.waiting.Remove(it.at)
	it.at = nil
	q.add(it.lane, -1, -it.cost)
	return true
}

// First returns the item of a database that waits longest, or nil if none waits.
func (q *Queue[T]) First(database string) *Item[T] {
	l := q.lane(database)
	if l == nil || l.waiting.Len() == 0 {
		return nil
	}
	return l.waiting.Front().Value.(*Item[T])
}

// Of returns how much of a database waits, and how many databases have waiting work, with this one.
func (q *Queue[T]) Of(database string) (n int, cost int64, active int) {
	mine := q.lane(database)
	for _, l := range q.lanes {
		if l.waiting.Len() > 0 && l != mine {
			active++
		}
	}
	if mine == nil {
		return 0, 0, active + 1
	}
	return mine.waiting.Len(), mine.cost, active + 1
}

// HasRoom reports whether n items of a cost of a database may wait, of most items and a cost of limit. A database has
// an equal part at least, even if others fill the queue, so up to twice the limits may wait. One item may be larger
// than that part, if nothing else of its database waits. Work of any cost may wait in an empty queue.
func (q *Queue[T]) HasRoom(database string, n int, cost int64, most int, limit int64) bool {
	haveN, have, active := q.Of(database)
	switch {
	case q.n == 0:
		return true
	case q.n+n <= most && q.cost+cost <= limit:
		return true
	case q.n+n > 2*most || q.cost+cost > 2*limit:
		return false
	}
	if haveN == 0 && n == 1 {
		return true
	}
	return haveN+n <= most/active && have+cost <= limit/int64(active)
}
