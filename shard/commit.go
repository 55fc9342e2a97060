package shard

import (
	"context"
	"sync"
	"time"
	"unsafe"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/shard/memtable"
	"cordwood/shard/rules"
)

// maxInFlight is how many entries are on their way into the log at once: one is
// written while the next one is put together and sent.
const maxInFlight = 2

// commitLoop joins the writes that arrive while entries are on their way into the
// next entry, until the queue is closed and empty. It is the shard's one proposer of
// writes.
func (wr *writer) commitLoop() {
	slots := make(chan struct{}, maxInFlight)
	var inFlight sync.WaitGroup
	defer inFlight.Wait()
	for {
		slots <- struct{}{}
		group := wr.queue.pop(wr.cfg.GroupBytes)
		if group == nil {
			return
		}
		inFlight.Add(1)
		go func() {
			defer inFlight.Done()
			wr.propose(group)
			<-slots
		}()
	}
}

// propose puts a group of writes into the log as one entry and answers them.
func (wr *writer) propose(group []*pending) {
	e := rules.Entry{
		Kind:   rules.KindWrite,
		Time:   wr.clock.entryTime(),
		Writes: make([]rules.Write, len(group)),
		ByUser: wr.cfg.ClusterVersion() >= metapb.ProtocolKeyUsers,
	}
	size := rules.EntryHead + 16
	for i, p := range group {
		e.Writes[i] = p.Write
		size += p.bytes
	}
	defer func() {
		for _, p := range group {
			wr.promised.Add(-p.inflated)
			p.release()
		}
	}()
	data := rules.AppendEntry(make([]byte, 0, size), &e)
	for _, p := range group {
		p.copied.Done()
	}
	ready := make([]decoded, len(group))
	for i, p := range group {
		ready[i] = decoded{p.mem, p.decoded}
	}
	key := unsafe.SliceData(data)
	wr.decoded.Store(key, ready)
	defer wr.decoded.Delete(key)
	begin := time.Now()
	wr.metrics.QueueSeconds.Observe(begin.Sub(group[0].since).Seconds())
	res, err := wr.replica.Propose(context.Background(), data)
	wr.metrics.CommitSeconds.Observe(time.Since(begin).Seconds())
	if err == nil {
		if _, ok := res.Result.(*applied); !ok {
			err = errs.New(errs.Unexpected, "shard %d: entry %d was applied with result %T", wr.cfg.ID, res.Index,
				res.Result).WithReason(errs.OutcomeUnknown)
		}
	}
	if err != nil {
		for _, p := range group {
			p.finish(0, nil, err)
		}
		return
	}
	for i, o := range res.Result.(*applied).writes {
		wr.metrics.Duplicates.Add(float64(o.duplicates))
		switch {
		case o.err != nil:
			group[i].finish(0, nil, o.err)
		case len(o.need) > 0:
			group[i].finish(0, o.need, nil)
		default:
			group[i].finish(res.Index, nil, nil)
		}
	}
}

// decoded are the batches of a write as they were decoded before it went into the log.
type decoded struct {
	mem     *memtable.Memtable
	batches []*column.Batch
}

// decodedOf returns what was decoded of the writes of an entry, if it was proposed here
// and Propose still waits: the log hands the same bytes to Apply. Else it is nil.
func (ap *applier) decodedOf(data []byte) []decoded {
	ready, _ := ap.decoded.Load(unsafe.SliceData(data))
	list, _ := ready.([]decoded)
	return list
}

// queue holds the writes that wait for the next entry. It is bounded.
type queue struct {
	shard            uint32
	maxBytes, maxLen int
	mu               sync.Mutex // guards the rest
	list             []*pending
	bytes            int
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
		return errs.New(errs.ShardNotReady, "shard %d: it is closing", q.shard).WithReason(errs.NotLeader)
	}
	if len(q.list) > 0 && (len(q.list) >= q.maxLen || q.bytes+p.bytes > q.maxBytes) {
		return errs.New(errs.ShardBusy, "shard %d: %d writes of %d bytes wait for the log; try again later", q.shard,
			len(q.list), q.bytes).
			WithReason(errs.Busy).WithRetryAfter(200 * time.Millisecond)
	}
	p.since = time.Now()
	q.list = append(q.list, p)
	q.bytes += p.bytes
	q.changed.Signal()
	return nil
}

// pop waits for a write and returns it with those behind it, up to size bytes; nil
// if the queue is closed and empty.
func (q *queue) pop(size int) []*pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.list) == 0 {
		if q.closed {
			return nil
		}
		q.changed.Wait()
	}
	n, bytes := 0, 0
	for n < len(q.list) && (n == 0 || bytes+q.list[n].bytes <= size) {
		bytes += q.list[n].bytes
		n++
	}
	group := q.list[:n:n]
	q.list = q.list[n:]
	if len(q.list) == 0 {
		q.list = nil
	}
	q.bytes -= bytes
	return group
}

// remove takes a write back; false if it is on its way.
func (q *queue) remove(p *pending) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, have := range q.list {
		if have == p {
			list := make([]*pending, 0, len(q.list)-1)
			q.list = append(append(list, q.list[:i]...), q.list[i+1:]...)
			q.bytes -= p.bytes
			return true
		}
	}
	return false
}

// size returns how many bytes wait.
func (q *queue) size() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}
