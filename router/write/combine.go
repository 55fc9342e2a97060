package write

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/tracing"
	"cordwood/proto/turns"
)

// Small requests to one shard share calls.
//
// A call to a shard costs about the same for one row as for a thousand: a batch for each table, a gRPC call, and a
// log entry that a majority must fsync. So requests that arrive during a call are combined into the next call, with
// one batch for each table. A single request does not wait, because the first call starts at once. Under load, calls
// grow larger but not more frequent. No timer is needed.
//
// If the last call had several requests, goroutines that are ready to run get the processor before the next call,
// because some of them are about to add rows. After a single request they do not: they probably do other work, such as
// reading large bodies, and would only delay the next one.
//
// # Which requests
//
// A request to a shard is combined with others if it is small (maxCombineRows, maxCombineBytes) and consists of
// whole tables. A larger request would gain little and would have to be copied. Requests with an Idempotency-Key
// are not combined, because their batches have their own identities. Deletions are not combined either.
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
// combiner.mu guards busy, the open pack and its rows. It is held while rows are copied, never during a call. A
// closed pack belongs to the sender until done is closed. It does not change afterwards, and requests only read
// err.
//
// # Failures
//
// The call does not have the deadline of a request, because it belongs to several. shardclient limits its time
// (WriteTimeout). A request whose own time is up returns, and its outcome is unknown, because the call continues. If
// the shard certainly refused the batches without effect, another request may have caused the failure. So each
// request is then sent separately (write returns false), and only the faulty one fails. Any other error, above all an
// unknown outcome, is returned to all requests of the pack, because sending rows again in another batch could store
// them twice.

// The limits of a request that is combined, and of a pack.
const (
	maxCombineRows  = 256
	maxCombineBytes = 128 << 10
	maxPackRows     = 16 << 10
	maxPackBytes    = 2 << 20
	// maxPackCells limits the cells of a table, also empty ones: each request may bring other columns. From minPackCells
	// on, there are at most maxPackPadding times as many cells as the requests would have by themselves.
	maxPackCells   = 2 << 20
	minPackCells   = 16 << 10
	maxPackPadding = 8
)

// combiner combines small requests to one shard.
type combiner struct {
	w     *Writer
	shard uint32

	mu   sync.Mutex // guards the other fields; held while the rows of a request are copied
	busy bool       // whether a goroutine is sending packs
	open *pack      // the pack of the next call; nil if there is none
	// shared is whether the last pack had several requests. Only the goroutine that sends uses it.
	shared bool
}

// pack has the rows of several requests to one shard. All of them are stored, or none.
type pack struct {
	parts       []part
	rows, bytes int
	requests    int

	// traced is the context of the first request that has a trace. The call becomes part of this trace.
	traced context.Context

	done chan struct{} // closed when err is set
	err  error
}

// part has the rows for one table.
type part struct {
	table *schema.Table
	rows  *column.Builder
	cells int // that the requests would have by themselves
}

// combinable reports whether jobs should be sent with jobs of other requests. All jobs belong to one request and
// one shard.
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

// write stores the jobs together with jobs of other requests. If sent is false, nothing was stored, and the jobs must
// be sent separately, because another request may have caused the failure.
func (c *combiner) write(ctx context.Context, sessionID uint64, jobs []*job) (sent bool, err error) {
	ctx, span := tracing.Start(ctx, "write with others")
	defer func() { span.End(err) }()
	p := c.add(ctx, sessionID, jobs)
	if p == nil {
		return false, nil
	}
	turns.Leave(ctx)
	select {
	case <-p.done:
	case <-ctx.Done():
		return true, errs.Wrap(errs.ContextCode(ctx.Err()), ctx.Err(), "shard %d: write",
			c.shard).WithReason(errs.OutcomeUnknown)
	}
	if p.err != nil && refusedBatches(p.err) {
		return false, nil
	}
	return true, p.err
}

// add copies the jobs' rows into the next pack. It returns nil if the pack is full.
func (c *combiner) add(ctx context.Context, sessionID uint64, jobs []*job) *pack {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.open
	if p == nil {
		p = packs.Get().(*pack)
		p.done = make(chan struct{})
		c.open = p
	}
	if p.rows > maxPackRows || p.bytes > maxPackBytes || len(p.parts)+len(jobs) > maxCallBatches || !p.fits(jobs) {
		return nil
	}
	for _, j := range jobs {
		x := p.part(j.target.table)
		x.rows.AppendRows(j.builder())
		x.cells += j.to * len(j.builder().Cols())
		p.rows += j.to
		p.bytes += j.bytes
	}
	p.requests++
	if p.traced == nil && tracing.Recording(ctx) {
		p.traced = ctx
	}
	if !c.busy {
		c.busy = true
		go c.send(sessionID)
	}
	return p
}

// fits reports whether a pack can take the rows of jobs, even if all their columns are new. An empty pack can.
func (p *pack) fits(jobs []*job) bool {
	for _, j := range jobs {
		if i := p.find(j.target.table); i >= 0 {
			rows, cols := p.parts[i].rows.Rows()+j.to, len(p.parts[i].rows.Cols())+len(j.builder().Cols())
			own := p.parts[i].cells + j.to*len(j.builder().Cols())
			if rows*cols > min(max(minPackCells, maxPackPadding*own), maxPackCells) {
				return false
			}
		}
	}
	return true
}

// find returns the index of the part for a table, or -1.
func (p *pack) find(t *schema.Table) int {
	return slices.IndexFunc(p.parts, func(x part) bool {
		have := x.table
		return have == t || have.ID == t.ID && have.Version == t.Version && have.Writable().Epoch == t.Writable().Epoch
	})
}

// part returns the part for a table. Callers with different definitions of the table get different parts.
func (p *pack) part(t *schema.Table) *part {
	if i := p.find(t); i >= 0 {
		return &p.parts[i]
	}
	n := len(p.parts)
	if n < cap(p.parts) {
		p.parts = p.parts[:n+1] // an earlier builder may be reused
	} else {
		p.parts = append(p.parts, part{})
	}
	if p.parts[n].rows == nil {
		p.parts[n].rows = &column.Builder{}
	}
	p.parts[n].table = t
	return &p.parts[n]
}

// send sends packs until there are none left. A pack's writes belong to several requests, so the cancellation of
// one request must not end the call.
func (c *combiner) send(sessionID uint64) {
	for {
		if c.shared {
			runtime.Gosched() // so that requests that are ready to run join the pack
		}
		c.mu.Lock()
		p := c.open
		c.open = nil
		if p == nil {
			c.busy = false
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		c.shared = p.requests > 1
		ctx := context.Background()
		if p.traced != nil {
			ctx = tracing.Carry(ctx, p.traced)
		}
		p.answer(c.call(ctx, sessionID, p))
	}
}

// call sends the batches of a pack. A panic fails the requests of the pack, and does not end the process.
func (c *combiner) call(ctx context.Context, sessionID uint64, p *pack) (err error) {
	defer c.w.recovered(c.shard, nil, &err)
	return c.w.sendBatches(ctx, sessionID, c.shard, len(p.parts), func(i int) piece {
		rows := p.parts[i].rows
		return piece{table: p.parts[i].table, rows: rows, to: rows.Rows()}
	})
}

// answer wakes the requests that wait for the pack, and keeps its memory for a later pack.
func (p *pack) answer(err error) {
	next := &pack{parts: p.parts[:0]}
	for i := range p.parts {
		p.parts[i].rows.Reset()
		p.parts[i].table, p.parts[i].cells = nil, 0
	}
	p.parts, p.err = nil, err
	close(p.done)
	if cap(next.parts) <= maxKeptParts {
		packs.Put(next)
	}
}

// maxKeptParts limits the number of builders that a pack keeps for the next call.
const maxKeptParts = 16

var packs = sync.Pool{New: func() any { return &pack{} }}

// refusedBatches reports whether the shard certainly refused the batches because of their content, and is not just
// unable to accept any.
func refusedBatches(err error) bool {
	switch errs.ReasonOf(err) {
	case errs.SchemaStale, errs.WrongEpoch, errs.TableGone, errs.BadBatch:
		return true
	}
	return false
}
