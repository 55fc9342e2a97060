package shard

import (
	"sync"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/turns"
)

// queue holds the writes that wait for the next entry. It is bounded. The databases with tables in the shard take
// turns.
type queue struct {
	shard            uint32
	maxBytes, maxLen int
	mu               sync.Mutex // guards the rest
	list             turns.Queue[*pending]
	closed           bool
	changed          *sync.Cond
}

func newQueue(shard uint32, maxBytes int64, maxLen int) *queue {
	q := &queue{shard: shard, maxBytes: int(maxBytes), maxLen: maxLen}
	q.changed = sync.NewCond(&q.mu)
	return q
}

// push adds a write, or refuses it. An empty queue takes a write of any size.
func (q *queue) push(p *pending) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return errs.New(errs.ShardNotReady, "shard %d: write: the shard is being closed; send the write "+
			"again", q.shard).WithReason(errs.NotLeader)
	}
	if !q.list.HasRoom(p.database, 1, int64(p.bytes), q.maxLen, int64(q.maxBytes)) {
		return errs.New(errs.ShardBusy, "shard %d: the write queue is full: %d writes of %d bytes wait for the log; try "+
			"again later", q.shard, q.list.Len(), q.list.Cost()).
			WithReason(errs.Busy).WithRetryAfter(200 * time.Millisecond)
	}
	p.since = time.Now()
	p.queued = q.list.Push(p.database, int64(p.bytes), p)
	q.changed.Signal()
	return nil
}

// pop waits for a write and returns it with the next ones, up to size bytes. It returns nil if the queue is closed and
// empty.
func (q *queue) pop(size int) []*pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.list.Len() == 0 {
		if q.closed {
			return nil
		}
		q.changed.Wait()
	}
	var group []*pending
	for bytes := 0; ; {
		next := q.list.Next()
		if next == nil || len(group) > 0 && bytes+next.Value.bytes > size {
			return group
		}
		q.list.Take(next)
		bytes += next.Value.bytes
		group = append(group, next.Value)
	}
}

// remove removes a write from the queue. It returns false if the write is already in flight.
func (q *queue) remove(p *pending) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.list.Drop(p.queued)
}

// size returns how many bytes wait in the queue.
func (q *queue) size() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return int(q.list.Cost())
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}
