package shard

import (
	"context"
	"fmt"
	"sync"
	"time"
	"unsafe"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schemapb"
)

// maxWriteInflated bounds what the batches of one Write may have inflated, in bytes:
// a small message must not fill the memtable.
const maxWriteInflated = 128 << 20

// Write appends batches, all or none of them. When it returns an index, every row is
// on disk on a majority of the replicas and in every ReadView from now on; batches
// that had been appended before are left out, and count as appended.
//
// If need is not empty nothing was appended: the shard lacks the definitions of
// those tables, and the caller sends them along in tables.
//
// An error carries a Reason (see package errs): with NotLeader, Busy, WrongEpoch,
// SchemaStale, BadBatch and TableGone nothing was appended; with OutcomeUnknown the
// batches may have been, or may yet be, and can be sent again as they are.
//
// The caller must not change batches afterwards.
func (s *Shard) Write(ctx context.Context, batches [][]byte, tables []*schemapb.Table) (index uint64, need []uint64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, nil, errs.Wrap(ctxCode(err), err, "shard %d: write", s.cfg.ID)
	}
	encoded, err := marshalTables(tables)
	if err != nil {
		return 0, nil, errs.Wrap(errs.InvalidArguments, err, "shard %d: write", s.cfg.ID).WithReason(errs.BadBatch)
	}
	p := &pending{entryWrite: entryWrite{tables: encoded, batches: batches}, done: make(chan struct{})}
	p.bytes = p.size()
	if p.bytes > MaxWriteBytes {
		return 0, nil, errs.New(errs.InvalidArguments, "shard %d: write of %d bytes, at most %d are allowed; split it", s.cfg.ID, p.bytes, MaxWriteBytes).WithReason(errs.BadBatch)
	}
	if err := s.room(0); err != nil {
		s.metrics.busy.Inc()
		return 0, nil, err
	}
	index, need, err = s.precheck(p)
	if err != nil || len(need) > 0 || index > 0 {
		return index, need, err
	}
	if err := s.enqueue(p); err != nil {
		s.metrics.busy.Inc()
		return 0, nil, err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		if s.queue.remove(p) {
			s.promised.Add(-p.inflated)
			return 0, nil, errs.Wrap(ctxCode(ctx.Err()), ctx.Err(), "shard %d: write waited for its turn", s.cfg.ID)
		}
		return 0, nil, errs.Wrap(ctxCode(ctx.Err()), ctx.Err(), "shard %d: write: the outcome is unknown", s.cfg.ID).WithReason(errs.OutcomeUnknown)
	}
	return p.index, p.need, p.err
}

// enqueue puts a write into the queue, if there is room for it in memory.
func (s *Shard) enqueue(p *pending) error {
	if err := s.room(p.inflated); err != nil {
		return err
	}
	s.promised.Add(p.inflated)
	if err := s.queue.push(p); err != nil {
		s.promised.Add(-p.inflated)
		return err
	}
	return nil
}

// room refuses a write of so many bytes if it would overfill the memtables, counting
// what is on its way into them. An empty shard takes a write of any size.
func (s *Shard) room(inflated int64) error {
	s.mu.RLock()
	used, closing, ferr := s.memoryLocked(), s.closing, s.flushErr
	s.mu.RUnlock()
	if used += s.promised.Load(); used > 0 {
		used += inflated
	}
	if closing {
		return errs.New(errs.ShardNotReady, "shard %d: it is closing on node %s", s.cfg.ID, s.cfg.NodeID).WithReason(errs.NotLeader)
	}
	if used < s.cfg.MemoryLimit && !s.cfg.Budget.exhausted() {
		return nil
	}
	s.wakeFlusher()
	e := errs.New(errs.ShardBusy, "shard %d: %d bytes are in memory and wait to be flushed, the limit is %d; try again later", s.cfg.ID, used, s.cfg.MemoryLimit)
	if ferr != nil {
		e = errs.Wrap(errs.ShardBusy, ferr, "shard %d: %d bytes are in memory and cannot be flushed", s.cfg.ID, used)
	}
	return e.WithReason(errs.Busy).WithRetryAfter(time.Second)
}

// precheck refuses on the leader, before it costs anything, what Apply would refuse;
// and what Apply could not even decode, because there it would end every replica. A
// non-zero index means that every batch was appended before.
func (s *Shard) precheck(w *pending) (index uint64, need []uint64, err error) {
	defs, err := parseTables(w.tables)
	if err != nil {
		return 0, nil, errs.Wrap(errs.InvalidArguments, err, "shard %d: write: table definition", s.cfg.ID).WithReason(errs.BadBatch)
	}
	headers := make([]column.Header, len(w.batches))
	total := 0
	for i, data := range w.batches {
		if headers[i], err = column.DecodeHeader(data); err != nil {
			return 0, nil, s.badBatch(i, err)
		}
		size, err := column.InflatedSize(data)
		if err != nil {
			return 0, nil, s.badBatch(i, err)
		}
		if total += size; total > maxWriteInflated {
			return 0, nil, errs.New(errs.InvalidArguments, "shard %d: the batches have more than %d bytes inflated; split the write", s.cfg.ID, maxWriteInflated).WithReason(errs.BadBatch)
		}
	}
	adm := admission{state: s.state}
	fresh := make([]bool, len(headers))
	some := false
	s.mu.RLock()
	adm.learn(defs)
	for i := range headers {
		v, aerr := adm.admit(&headers[i])
		switch v {
		case refused:
			s.mu.RUnlock()
			return 0, nil, aerr
		case needTable:
			need = appendNew(need, headers[i].TableID)
		case admitted:
			fresh[i], some = true, true
		}
	}
	// The definitions stay as they are after the lock; the maps that hold them do not.
	known := admission{state: &state{shardID: s.cfg.ID}, tables: map[uint64]*tableDef{}}
	for i := range headers {
		if fresh[i] {
			known.tables[headers[i].TableID] = adm.table(headers[i].TableID)
		}
	}
	index = s.appliedIndex
	s.mu.RUnlock()
	w.inflated = int64(total)
	switch {
	case len(need) > 0:
		return 0, need, nil
	case !some && len(headers) > 0:
		s.metrics.duplicates.Add(float64(len(headers)))
		return index, nil, nil
	}
	mem := scratchPool.Get().(*scratch)
	defer mem.release()
	for i, data := range w.batches {
		if !fresh[i] {
			continue // it was right when it was appended
		}
		b, err := mem.decode(data)
		if err != nil {
			return 0, nil, s.badBatch(i, err)
		}
		if err := known.accept(b); err != nil {
			return 0, nil, err
		}
	}
	return 0, nil, nil
}

func (s *Shard) badBatch(i int, err error) error {
	return errs.Wrap(errs.InvalidArguments, err, "shard %d: write: batch %d", s.cfg.ID, i).WithReason(errs.BadBatch)
}

// scratch is memory that a batch is inflated into to see whether it can be.
type scratch struct{ words []uint64 }

var scratchPool = sync.Pool{New: func() any { return &scratch{} }}

// maxScratchKept is the most memory that a scratch in the pool holds, in bytes.
const maxScratchKept = 8 << 20

func (m *scratch) release() {
	if 8*len(m.words) <= maxScratchKept {
		scratchPool.Put(m)
	}
}

func (m *scratch) decode(data []byte) (*column.Batch, error) {
	size, err := column.InflatedSize(data)
	if err != nil {
		return nil, err
	}
	if n := (size + 7) / 8; n > len(m.words) {
		m.words = make([]uint64, n+n/4)
	}
	mem := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(m.words))), 8*len(m.words))
	return column.Decode(data, mem[:0:len(mem)])
}

// pending is a write on its way into the log.
type pending struct {
	entryWrite
	bytes    int   // in the log
	inflated int64 // in memory

	// Set before done is closed.
	index uint64
	need  []uint64
	err   error
	done  chan struct{}
}

func (p *pending) finish(index uint64, need []uint64, err error) {
	p.index, p.need, p.err = index, need, err
	close(p.done)
}

// maxInFlight is how many entries are on their way into the log at once: one is
// written while the next one is put together and sent.
const maxInFlight = 2

// commitLoop joins the writes that arrive while entries are on their way into the
// next entry, until the queue is closed and empty. It is the shard's one proposer of
// writes.
func (s *Shard) commitLoop() {
	defer s.committers.Done()
	slots := make(chan struct{}, maxInFlight)
	var inFlight sync.WaitGroup
	defer inFlight.Wait()
	for {
		slots <- struct{}{}
		group := s.queue.pop(s.cfg.GroupBytes)
		if group == nil {
			return
		}
		inFlight.Add(1)
		go func() {
			defer inFlight.Done()
			s.propose(group)
			<-slots
		}()
	}
}

// propose puts a group of writes into the log as one entry and answers them.
func (s *Shard) propose(group []*pending) {
	e := entry{kind: kindWrite, time: s.now().UnixNano(), writes: make([]entryWrite, len(group))}
	size := entryHead + 16
	for i, p := range group {
		e.writes[i] = p.entryWrite
		size += p.bytes
	}
	defer func() {
		for _, p := range group {
			s.promised.Add(-p.inflated)
		}
	}()
	res, err := s.replica.Propose(context.Background(), appendEntry(make([]byte, 0, size), &e))
	if err == nil {
		if _, ok := res.Result.(*applied); !ok {
			err = errs.New(errs.Unexpected, "shard %d: entry %d was applied with result %T", s.cfg.ID, res.Index, res.Result).WithReason(errs.OutcomeUnknown)
		}
	}
	if err != nil {
		for _, p := range group {
			p.finish(0, nil, err)
		}
		return
	}
	for i, o := range res.Result.(*applied).writes {
		s.metrics.duplicates.Add(float64(o.duplicates))
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
		return errs.New(errs.ShardBusy, "shard %d: %d writes of %d bytes wait for the log; try again later", q.shard, len(q.list), q.bytes).
			WithReason(errs.Busy).WithRetryAfter(200 * time.Millisecond)
	}
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

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

// DropTable forgets a table and its rows. When it returns nil the drop is on disk on
// a majority and no new ReadView has the table; its files go once they are not read
// any more. To drop a table that the shard does not know is no error.
func (s *Shard) DropTable(ctx context.Context, id uint64) error {
	s.mu.RLock()
	_, gone := s.state.dropped[id]
	s.mu.RUnlock()
	if gone {
		return nil
	}
	e := entry{kind: kindDropTable, time: s.now().UnixNano(), tableID: id}
	if _, err := s.replica.Propose(ctx, appendEntry(nil, &e)); err != nil {
		return fmt.Errorf("shard %d: drop table %d: %w", s.cfg.ID, id, err)
	}
	s.wakeFlusherFor(flushDrop)
	return nil
}
