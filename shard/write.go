package shard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schemapb"
	"cordwood/proto/tracing"
	"cordwood/proto/turns"
	"cordwood/shard/rules"
	"cordwood/shard/store"
)

// maxWriteInflated is the maximum inflated size of the batches of one Write, in bytes: a small
// message must not fill the memtable.
const maxWriteInflated = 128 << 20

// write implements Shard.Write.
func (wr *writer) write(ctx context.Context, batches [][]byte,
	tables []*schemapb.Table,
) (index uint64, need []uint64, err error) {
	p, err := wr.begin(ctx, batches, tables)
	if err != nil {
		return 0, nil, err
	}
	index, need, err = wr.precheck(ctx, p)
	if err != nil || len(need) > 0 || index > 0 {
		p.release()
		return index, need, err
	}
	unlogged, of := p.takeUnlogged()
	defer of.release()
	if len(unlogged) == 0 {
		return wr.writeLogged(ctx, p)
	}
	if len(p.Batches) == 0 && len(p.Tables) == 0 {
		return wr.appendUnlogged(unlogged, of)
	}
	index, need, err = wr.writeLogged(ctx, p)
	if err != nil || len(need) > 0 {
		return index, need, err
	}
	index, need, err = wr.appendUnlogged(unlogged, of)
	if err != nil || len(need) > 0 {
		err = errs.Wrap(errs.ShardNotReady, err, "shard %d: only a part of the write was appended; send it again as it is",
			wr.cfg.ID).WithReason(errs.OutcomeUnknown)
	}
	return index, need, err
}

// begin does the checks of a write that need no state of the shard, and returns the write.
func (wr *writer) begin(ctx context.Context, batches [][]byte, tables []*schemapb.Table) (*pending, error) {
	if err := ctx.Err(); err != nil {
		return nil, errs.Wrap(errs.ContextCode(err), err, "shard %d: write", wr.cfg.ID)
	}
	encoded, err := rules.MarshalTables(tables)
	if err != nil {
		return nil, errs.Wrap(errs.InvalidArguments, err, "shard %d: write", wr.cfg.ID).WithReason(errs.BadBatch)
	}
	p := &pending{Write: rules.Write{Tables: encoded, Batches: batches}, done: make(chan struct{})}
	p.copied.Add(1)
	p.bytes = p.Size()
	if p.bytes > MaxWriteBytes {
		return nil, errs.New(errs.InvalidArguments, "shard %d: write of %d bytes, at most %d are allowed; split it",
			wr.cfg.ID, p.bytes, MaxWriteBytes).WithReason(errs.BadBatch)
	}
	if err := wr.replica.CheckLeads(); err != nil {
		return nil, err
	}
	return p, wr.awaitRoom(ctx, p, 0)
}

// writeLogged puts a write into the log and waits until it is applied.
func (wr *writer) writeLogged(ctx context.Context, p *pending) (index uint64, need []uint64, err error) {
	ctx, span := tracing.Start(ctx, "raft propose and apply")
	if span.On() {
		span.Number("shard", int64(wr.cfg.ID))
		span.Number("bytes", int64(p.bytes))
		defer func() {
			span.Number("index", int64(index))
			span.End(err)
		}()
	}
	if err := wr.enqueue(ctx, p); err != nil {
		p.release()
		return 0, nil, err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		if wr.queue.remove(p) {
			wr.promised.Add(-p.inflated)
			p.release()
			return 0, nil, errs.Wrap(errs.ContextCode(ctx.Err()), ctx.Err(), "shard %d: write: gave up while waiting in the "+
				"queue; nothing was appended", wr.cfg.ID)
		}
		p.copied.Wait()
		if wr.replica.LogWaits() {
			return 0, nil, errs.Wrap(errs.StorageUnavailable, ctx.Err(),
				"shard %d: write: the outcome is unknown: the disk of node %s is full, and its log waits for space",
				wr.cfg.ID, wr.cfg.NodeID).WithReason(errs.OutcomeUnknown).WithRetryAfter(5 * time.Second)
		}
		return 0, nil, errs.Wrap(errs.ContextCode(ctx.Err()), ctx.Err(), "shard %d: write: the outcome is unknown",
			wr.cfg.ID).WithReason(errs.OutcomeUnknown)
	}
	return p.index, p.need, p.err
}

// enqueue adds a write to the queue once there is memory for it.
func (wr *writer) enqueue(ctx context.Context, p *pending) error {
	if err := wr.awaitRoom(ctx, p, p.inflated); err != nil {
		return err
	}
	wr.promised.Add(p.inflated)
	if err := wr.queue.push(p); err != nil {
		wr.promised.Add(-p.inflated)
		wr.metrics.Busy.Inc()
		return err
	}
	return nil
}

// defaultRoomWait is how long a write waits for memory in total before it is refused. A flush
// usually frees memory sooner. A refused client would come back only after a second, and the shard
// would be idle meanwhile.
const defaultRoomWait = time.Second

// roomCheck is how often a waiting write checks for memory that another shard freed.
const roomCheck = 100 * time.Millisecond

// awaitRoom calls checkRoom, and waits for memory while flushes make progress.
func (wr *writer) awaitRoom(ctx context.Context, p *pending, inflated int64) error {
	for {
		freed := *wr.freed.Load()
		err := wr.checkRoom(p.database, inflated)
		if err == nil {
			return nil
		}
		if p.waiting.IsZero() {
			p.waiting = wr.cfg.Now()
		}
		left := wr.cfg.roomWait - wr.cfg.Now().Sub(p.waiting)
		if errs.ReasonOf(err) != errs.Busy || left <= 0 || wr.memory.FlushFails() {
			wr.metrics.Busy.Inc()
			return err
		}
		t := time.NewTimer(min(left, roomCheck))
		select {
		case <-freed:
		case <-t.C:
		case <-wr.stop:
		case <-ctx.Done():
			t.Stop()
			wr.metrics.Busy.Inc()
			return err
		}
		t.Stop()
	}
}

// notifyFreed wakes the writes that wait for memory.
func (wr *writer) notifyFreed() {
	next := make(chan struct{})
	close(*wr.freed.Swap(&next))
}

// checkRoom refuses a write of inflated bytes to a database if it would overfill the memtables, counting the
// writes in flight, or if little is left and the database has more than its part. An empty shard takes a write of any
// size.
func (wr *writer) checkRoom(database string, inflated int64) error {
	used, closing, ferr := wr.tables.Filling()
	if used += wr.promised.Load(); used > 0 {
		used += inflated
	}
	if closing {
		return errs.New(errs.ShardNotReady, "shard %d: write: it is being closed on node %s; send the write "+
			"again", wr.cfg.ID,
			wr.cfg.NodeID).WithReason(errs.NotLeader)
	}
	if used < wr.cfg.MemoryLimit && !wr.cfg.Budget.Exhausted() {
		if !wr.memory.Beyond(database, inflated, used) {
			return nil
		}
		wr.wakeFlusher()
		return errs.New(errs.ShardBusy, "shard %d: the rows of database %s in the memory of node %s are more than its part, "+
			"and wait to be flushed; try again later", wr.cfg.ID, database, wr.cfg.NodeID).
			WithReason(errs.Busy).WithRetryAfter(time.Second)
	}
	wr.wakeFlusher()
	e := errs.New(errs.ShardBusy, "shard %d: %d bytes are in memory and wait to be flushed, the limit is %d; "+
		"try again later", wr.cfg.ID, used, wr.cfg.MemoryLimit)
	if ferr != nil {
		e = errs.Wrap(errs.ShardBusy, ferr, "shard %d: write: %d bytes in memory cannot be flushed", wr.cfg.ID, used)
	}
	return e.WithReason(errs.Busy).WithRetryAfter(time.Second)
}

// precheck refuses on the leader, before any work is done, what Apply would refuse. It also refuses
// batches that Apply could not decode, because those would stop every replica. A non-zero index
// means that every batch was appended before.
func (wr *writer) precheck(ctx context.Context, w *pending) (index uint64, need []uint64, err error) {
	defs, err := rules.ParseTables(w.Tables)
	if err != nil {
		return 0, nil, errs.Wrap(errs.InvalidArguments, err, "shard %d: write: table definition",
			wr.cfg.ID).WithReason(errs.BadBatch)
	}
	headers := make([]column.Header, len(w.Batches))
	total := 0
	for i, data := range w.Batches {
		if headers[i], err = column.DecodeHeader(data); err != nil {
			return 0, nil, wr.badBatch(i, err)
		}
		size, err := column.InflatedSize(data)
		if err != nil {
			return 0, nil, wr.badBatch(i, err)
		}
		if total += size; total > maxWriteInflated {
			return 0, nil, errs.New(errs.InvalidArguments,
				"shard %d: the batches have more than %d bytes inflated; split the write", wr.cfg.ID,
				maxWriteInflated).WithReason(errs.BadBatch)
		}
	}
	a, err := wr.definitions.Admit(headers, defs)
	if err != nil {
		return 0, nil, err
	}
	w.inflated = int64(total)
	switch {
	case len(a.Need) > 0:
		return 0, a.Need, nil
	case !a.Some && len(headers) > 0:
		wr.metrics.Duplicates.Add(float64(len(headers)))
		return a.Index, nil, nil
	}
	alone := !a.LogOnly && wr.replica.SoleMember()
	w.unlogged = make([]bool, len(headers))
	for i := range headers {
		// The batches of a request with a key must be in the log, because every replica must
		// recognise them.
		w.unlogged[i] = a.Fresh[i] && !rules.Keyed(&headers[i]) && a.Known.Tables[headers[i].TableID].SkipWAL && alone
	}
	w.database = databaseOf(headers, &a.Known)
	return 0, nil, wr.decode(ctx, w, a.Fresh, &a.Known)
}

// databaseOf returns the database of the tables of batches, or "" if they belong to several, as
// small requests that share a call may.
func databaseOf(headers []column.Header, known *rules.Admission) (database string) {
	for i := range headers {
		t := known.Tables[headers[i].TableID]
		switch {
		case t == nil: // it was appended before
		case database == "":
			database = t.Database
		case database != t.Database:
			return ""
		}
	}
	return database
}

// enter waits for a place to decode a write.
func (wr *writer) enter(ctx context.Context, w *pending) (*turns.Place, error) {
	place, err := wr.cfg.Places.Enter(ctx, w.database, wr.cfg.roomWait)
	switch {
	case errors.Is(err, turns.ErrNoPlace):
		wr.metrics.Busy.Inc()
		return nil, errs.New(errs.ShardBusy, "shard %d: write: node %s has no place to decode it, because many writes of "+
			"its database wait; try again later", wr.cfg.ID, wr.cfg.NodeID).WithReason(errs.Busy).WithRetryAfter(time.Second)
	case err != nil:
		return nil, errs.Wrap(errs.ContextCode(err), err, "shard %d: write", wr.cfg.ID)
	}
	return place, nil
}

// decode decodes the batches of a write that are to be appended into the memory of the active
// memtable. It refuses batches that do not match their table.
func (wr *writer) decode(ctx context.Context, w *pending, fresh []bool, known *rules.Admission) error {
	if err := wr.awaitRoom(ctx, w, w.inflated); err != nil {
		return err
	}
	place, err := wr.enter(ctx, w)
	if err != nil {
		return err
	}
	defer place.Leave()
	w.mem = wr.memory.Active()
	w.decoded = make([]*column.Batch, len(w.Batches))
	bodies := column.BodiesOf(ctx)
	for i, data := range w.Batches {
		if !fresh[i] {
			continue // it was checked when it was appended
		}
		b, err := store.DecodeBody(w.mem, bodies, i, data)
		if err != nil {
			return wr.notDecoded(i, err)
		}
		if err := known.Accept(b); err != nil {
			return err
		}
		if err := wr.checkDisk(b); err != nil {
			return err
		}
		if err := wr.memory.Accepts(b.TableID); err != nil {
			return err
		}
		w.decoded[i] = b
	}
	return nil
}

func (wr *writer) badBatch(i int, err error) error {
	return errs.Wrap(errs.InvalidArguments, err, "shard %d: write: batch %d", wr.cfg.ID, i).WithReason(errs.BadBatch)
}

// notDecoded returns the error for a batch that could not be decoded.
func (wr *writer) notDecoded(i int, err error) error {
	if lack := (store.NoMemory{}); !errors.As(err, &lack) {
		return wr.badBatch(i, err)
	}
	wr.wakeFlusherFor(store.FlushMemory)
	wr.metrics.Busy.Inc()
	return errs.Wrap(errs.ShardBusy, err, "shard %d: write: the system of node %s has no memory for more rows; try "+
		"again later",
		wr.cfg.ID, wr.cfg.NodeID).
		WithReason(errs.Busy).WithRetryAfter(time.Second)
}

// DropTable removes a table and its rows. When it returns nil, the drop is on disk on a majority of
// the replicas and no new ReadView has the table; the files are removed once no View uses them.
// Dropping a table that the shard does not know is not an error.
func (s *Shard) DropTable(ctx context.Context, id uint64) error {
	if s.store.Definitions.Dropped(id) {
		return nil
	}
	e := rules.Entry{Kind: rules.KindDropTable, Time: s.clock.entryTime(), TableID: id}
	if _, err := s.replica.Propose(ctx, rules.AppendEntry(nil, &e)); err != nil {
		return fmt.Errorf("shard %d: drop table %d: %w", s.cfg.ID, id, err)
	}
	s.schedule.wakeFlusherFor(store.FlushDrop)
	return nil
}
