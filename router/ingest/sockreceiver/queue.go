package sockreceiver

import (
	"sync"
	"time"
)

// queue fills batches with the records of one caller, from any number of connections.
type queue struct {
	s    *Server
	from Peer // one of the peers that send for this caller

	mu        sync.Mutex // guards the fields below
	filling   *batch     // nil if there is none
	forbidden error      // the reason why no more records are accepted
}

// batch has records that are stored together. It occupies a place in Server.slots.
type batch struct {
	records []Record
	chunks  [][]byte // the memory of the records
	bytes   int
	timer   *time.Timer
}

// chunkBytes is the size of the pieces in which a batch allocates memory.
const chunkBytes = 64 << 10

var chunkPool = sync.Pool{New: func() any { return make([]byte, 0, chunkBytes) }}

// put adds a copy of a record.
func (b *batch) put(r *Record) {
	last := len(b.chunks) - 1
	if last < 0 || cap(b.chunks[last])-len(b.chunks[last]) < len(r.Data) {
		chunk := chunkPool.Get().([]byte)[:0]
		if len(r.Data) > cap(chunk) {
			chunk = make([]byte, 0, len(r.Data))
		}
		b.chunks = append(b.chunks, chunk)
		last++
	}
	chunk := b.chunks[last]
	start := len(chunk)
	chunk = append(chunk, r.Data...)
	b.chunks[last] = chunk
	b.records = append(b.records, Record{chunk[start:len(chunk):len(chunk)], r.From, r.At})
	b.bytes += len(r.Data)
}

// free releases the memory.
func (b *batch) free() {
	for _, c := range b.chunks {
		if cap(c) == chunkBytes {
			chunkPool.Put(c) //nolint:staticcheck // the header of a slice is small beside what it spares
		}
	}
	b.chunks, b.records = nil, nil
}

// add adds records in order and returns how many it added. If there is no place for a batch, it waits for one if
// wait is set, and otherwise returns. It returns an error if the sender may not store rows, or if the server had to
// stop.
func (q *queue) add(records []Record, wait bool) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range records {
		if q.forbidden != nil {
			return i, q.forbidden
		}
		for q.filling == nil {
			if !q.begin(wait) {
				return i, q.s.ctx.Err()
			}
		}
		b := q.filling
		b.put(&records[i])
		if b.bytes >= q.s.cfg.BatchBytes || len(b.records) >= q.s.cfg.BatchRecords {
			q.send()
		}
	}
	return len(records), nil
}

// begin starts a batch. It reports whether there is a batch now, which another goroutine may have started. q.mu
// must be held, and is released while begin waits.
func (q *queue) begin(wait bool) bool {
	select {
	case q.s.slots <- struct{}{}:
	default:
		if !wait {
			return false
		}
		q.mu.Unlock()
		ok := true
		select {
		case q.s.slots <- struct{}{}:
		case <-q.s.ctx.Done():
			ok = false
		}
		q.mu.Lock()
		if !ok {
			return false
		}
		if q.filling != nil {
			<-q.s.slots
			return true
		}
	}
	b := &batch{}
	b.timer = time.AfterFunc(q.s.cfg.BatchDelay, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.filling == b {
			q.send()
		}
	})
	q.filling = b
	q.s.stores.Add(1)
	q.s.metrics.batches.Inc()
	return true
}

// send stores the filled batch. q.mu must be held.
func (q *queue) send() {
	b := q.filling
	q.filling = nil
	b.timer.Stop()
	go func() {
		defer q.s.stores.Done()
		defer func() { <-q.s.slots }()
		defer q.s.metrics.batches.Dec()
		defer b.free()
		q.store(b)
	}()
}

// flush stores all batches. No goroutine adds records any more.
func (s *Server) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.queues {
		q.flush()
	}
}

func (q *queue) flush() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.filling != nil {
		q.send()
	}
}
