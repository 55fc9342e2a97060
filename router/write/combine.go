package write

import (
	"context"
	"sync"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/tracing"
)

// Small requests to one shard share calls.
//
// A call to a shard costs about the same for one row as for a thousand: a batch for each
// table, a gRPC call, an entry in the log and its fsync on a majority. So the requests that
// arrive while a call is under way are put together and become the next call, with one batch
// for each table. A lone request does not wait: the first call begins at once. Under load
// calls grow and their number stays the same, without a timer that would have to be chosen.
//
// # Which requests
//
// A request to a shard joins others if it is small (maxCombineRows, maxCombineBytes) and
// consists of whole tables: a larger one gains little, and would only have to be copied. Requests
// with an Idempotency-Key do not join, because their batches have identities of their own, and
// neither do deletions.
//
// # The life of a pack
//
//	add     A request copies its rows into the open pack, a builder for each table as that
//	        request knows it (id, version and epoch). A full pack takes no more, and the
//	        request is sent by itself.
//	send    One goroutine for each busy shard closes the open pack, encodes and sends it,
//	        answers it, and takes the next one, until there is none.
//	answer  All requests of the pack get the same error, or none. The builders are emptied
//	        and kept for later packs.
//
// # Locks
//
// combiner.mu guards busy, the open pack and its rows. It is held while rows are copied,
// never during a call. A closed pack belongs to the sender until done is closed, and is not
// changed afterwards: requests only read err.
//
// # What may fail, and what then
//
// The call has no deadline of a request, because it belongs to several: shardclient bounds
// it (WriteTimeout). A request whose own time is up leaves, and its outcome is unknown, since the
// call continues. If the shard refuses the batches themselves, for certain without effect, the
// fault may be another request's: each request is then sent by itself (write returns false),
// and only that one fails. After any other error, an unknown outcome above all, every
// request of the pack gets it: sending rows again in another batch could store them twice.

// The largest requests that are combined, and what a pack may hold.
const (
	maxCombineRows  = 256
	maxCombineBytes = 128 << 10
	maxPackRows     = 16 << 10
	maxPackBytes    = 2 << 20
)

// combiner joins small requests to one shard.
type combiner struct {
	w     *Writer
	shard uint32

	mu   sync.Mutex // guards the rest; held while the rows of one request are copied
	busy bool       // a goroutine sends packs
	open *pack      // what the next call carries; nil: nothing
}

// pack is the rows of several requests to one shard, all stored or none.
type pack struct {
	parts       []part
	rows, bytes int

	// traced is the context of the first request with a trace, to which the call belongs.
	traced context.Context

	done chan struct{} // closed when err is set
	err  error
}

// part is the rows for one table.
type part struct {
	table *schema.Table
	rows  *column.Builder
}

// combinable reports whether the jobs, all of one request to one shard, are better sent with jobs
// of others.
func combinable(jobs []*job) bool {
	rows, bytes := 0, 0
	for _, j := range jobs {
		if j.from > 0 || j.sealed != nil || j.to < j.builder().Rows() || j.target.deletes {
			return false
		}
		rows += j.to
		bytes += j.bytes
	}
	return rows <= maxCombineRows && bytes <= maxCombineBytes && len(jobs) <= maxCallBatches
}

// combiner returns the combiner of a shard.
func (w *Writer) combiner(shard uint32) *combiner {
	if c, ok := w.combiners.Load(shard); ok {
		return c.(*combiner)
	}
	c, _ := w.combiners.LoadOrStore(shard, &combiner{w: w, shard: shard})
	return c.(*combiner)
}

// write stores the jobs together with the jobs of other requests. sent is false if nothing was
// stored and the jobs are to be sent by themselves: what is wrong may be with the others.
func (c *combiner) write(ctx context.Context, sessionID uint64, jobs []*job) (sent bool, err error) {
	ctx, span := tracing.Start(ctx, "write with others")
	defer func() { span.End(err) }()
	p := c.add(ctx, sessionID, jobs)
	if p == nil {
		return false, nil
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		return true, errs.Wrap(errs.ContextCode(ctx.Err()), ctx.Err(), "shard %d: write",
			c.shard).WithReason(errs.OutcomeUnknown)
	}
	if p.err != nil && turnedDown(p.err) {
		return false, nil
	}
	return true, p.err
}

// add copies the jobs' rows into the next pack; nil if it has no room for them.
func (c *combiner) add(ctx context.Context, sessionID uint64, jobs []*job) *pack {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.open
	if p == nil {
		p = packs.Get().(*pack)
		p.done = make(chan struct{})
		c.open = p
	}
	if p.rows > maxPackRows || p.bytes > maxPackBytes || len(p.parts)+len(jobs) > maxCallBatches {
		return nil
	}
	for _, j := range jobs {
		p.part(j.target.table).AppendRows(j.builder())
		p.rows += j.to
		p.bytes += j.bytes
	}
	if p.traced == nil && tracing.Recording(ctx) {
		p.traced = ctx
	}
	if !c.busy {
		c.busy = true
		go c.send(sessionID)
	}
	return p
}

// part returns the rows of a table as the caller knows it.
func (p *pack) part(t *schema.Table) *column.Builder {
	for i := range p.parts {
		if have := p.parts[i].table; have == t || have.ID == t.ID && have.Version == t.Version &&
			have.Writable().Epoch == t.Writable().Epoch {
			return p.parts[i].rows
		}
	}
	n := len(p.parts)
	if n < cap(p.parts) {
		p.parts = p.parts[:n+1] // its builder may be there from before
	} else {
		p.parts = append(p.parts, part{})
	}
	if p.parts[n].rows == nil {
		p.parts[n].rows = &column.Builder{}
	}
	p.parts[n].table = t
	return p.parts[n].rows
}

// send sends packs until there is none. The writes of a pack belong to several requests,
// and the cancellation of one must not end the others.
func (c *combiner) send(sessionID uint64) {
	for {
		c.mu.Lock()
		p := c.open
		c.open = nil
		if p == nil {
			c.busy = false
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		ctx := context.Background()
		if p.traced != nil {
			ctx = tracing.Carry(ctx, p.traced)
		}
		err := c.w.sendBatches(ctx, sessionID, c.shard, len(p.parts), func(i int) piece {
			rows := p.parts[i].rows
			return piece{table: p.parts[i].table, rows: rows, to: rows.Rows()}
		})
		p.answer(err)
	}
}

// answer wakes the requests that wait for the pack, and keeps the memory for a later one.
func (p *pack) answer(err error) {
	next := &pack{parts: p.parts[:0]}
	for i := range p.parts {
		p.parts[i].rows.Reset()
		p.parts[i].table = nil
	}
	p.parts, p.err = nil, err
	close(p.done)
	if cap(next.parts) <= maxKeptParts {
		packs.Put(next)
	}
}

// maxKeptParts bounds the builders that a pack keeps for the next one.
const maxKeptParts = 16

var packs = sync.Pool{New: func() any { return &pack{} }}

// turnedDown reports whether the shard refused the batches themselves, for certain without
// effect, rather than being unable to take any.
func turnedDown(err error) bool {
	switch errs.ReasonOf(err) {
	case errs.SchemaStale, errs.WrongEpoch, errs.TableGone, errs.BadBatch:
		return true
	}
	return false
}
