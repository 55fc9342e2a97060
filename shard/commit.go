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

// Group commit. A write passes through four goroutines:
//
//	caller        checks the batches, decodes them into the active memtable's memory (precheck),
//	              queues the write and waits (writeLogged)
//	commit loop   takes the waiting writes, up to Config.GroupBytes, as a group
//	proposer      one for each group: makes an entry of it, proposes the entry, answers the callers
//	apply         the replica's goroutine: accepts or refuses each write, links its batches, returns
//	              the outcomes
//
// No write waits for a group to fill up: a group consists of the writes that arrived while the
// previous entries were in flight. An idle shard commits a single write at once; a busy one pays
// one fsync for many writes. Two entries are in flight at a time (maxInFlight), so that one is
// assembled and sent while the other is written to disk. More entries in flight would only make the
// groups smaller.
//
// Two proposers may overtake each other, so nothing may depend on the order of writes that are in
// flight at the same time. Nothing does: a duplicate is recognised by its number, and a client that
// needs an order sends the second write after the answer to the first.
//
// What a pending write holds, and until when:
//
//   - Its inflated bytes count as promised from enqueue until the proposer is done, so that
//     awaitRoom sees how much the memtable is about to receive.
//   - The batches are the caller's memory, and belong to the caller again when Write returns. The
//     proposer copies them into the entry and then signals it (copied). A caller whose context
//     ends takes the write back if it still waits (queue.remove); then nothing was appended.
//     Otherwise the caller waits for the copy and returns that the outcome is unknown.
//   - A reference to the memtable that the rows were decoded into, until the proposer is done.
//
// Decoded rows bypass raft. The log carries bytes only, and precheck has decoded the rows already.
// So the proposer keeps them in decoded under the address of the entry's first byte while Propose
// runs, and Apply looks there (decodedOf): on the node that proposed an entry, raft applies the
// same slice that it was given. No other entry can have that address, because the proposer holds
// the slice until it has deleted the key. If Apply finds nothing there, it decodes the batches
// again, which costs only time. That happens on followers, in a replay, if Propose gave up before
// the entry was applied, and if the memtable was frozen meanwhile, because rows must be in the
// memory of the memtable that they are linked to. TestDecodedOnce fails if raft stops passing the
// same slice.

// maxInFlight is how many entries are in flight at once: one is being written while the next is
// assembled and sent.
const maxInFlight = 2

// commitLoop combines the writes that arrive while entries are in flight into the next entry, until
// the queue is closed and empty. It is the only proposer of writes in the shard.
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

// propose proposes a group of writes as one entry and answers them.
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

// decoded holds the batches of a write, decoded before the write was proposed.
type decoded struct {
	mem     *memtable.Memtable
	batches []*column.Batch
}

// decodedOf returns the decoded batches of the writes of an entry if this replica proposed the
// entry and Propose still waits, because the log then passes the same bytes to Apply. Otherwise it
// returns nil.
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
		return errs.New(errs.ShardNotReady, "shard %d: write: the shard is being closed; send the write "+
			"again", q.shard).WithReason(errs.NotLeader)
	}
	if len(q.list) > 0 && (len(q.list) >= q.maxLen || q.bytes+p.bytes > q.maxBytes) {
		return errs.New(errs.ShardBusy, "shard %d: the write queue is full: %d writes of %d bytes wait for the log; try "+
			"again later", q.shard,
			len(q.list), q.bytes).
			WithReason(errs.Busy).WithRetryAfter(200 * time.Millisecond)
	}
	p.since = time.Now()
	q.list = append(q.list, p)
	q.bytes += p.bytes
	q.changed.Signal()
	return nil
}

// pop waits for a write and returns it with the writes after it, up to size bytes. It returns nil
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

// remove removes a write from the queue. It returns false if the write is already in flight.
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

// size returns how many bytes wait in the queue.
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
