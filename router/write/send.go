package write

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"golang.org/x/sync/errgroup"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/tracing"
	"cordwood/proto/turns"
)

// maxParallelShards limits how many shards one request is sent to concurrently.
const maxParallelShards = 16

// send encodes and sends the batches that are not stored yet. It sends to all shards in parallel, and to each shard in
// as few calls as the limits allow. It notes the outcome of each batch on its job. If this is the last round, the
// returned error is the error for the client.
func (w *Writer) send(ctx context.Context, sessionID uint64, req *request) error {
	pending := req.pending()
	for _, t := range pending {
		w.route(t)
	}
	if req.keyed {
		if err := w.markStored(ctx, req); err != nil {
			for _, t := range pending {
				for _, j := range t.jobs {
					if !j.acked {
						j.err = err
					}
				}
			}
			return err
		}
	}
	if len(pending) == 1 && len(pending[0].jobs) == 1 && !pending[0].discarded() && !pending[0].jobs[0].acked {
		return w.sendShard(ctx, sessionID, pending[0].jobs[0].shard, pending[0].jobs)
	}
	shards, byShard := jobsByShard(pending)
	if len(shards) == 1 {
		return w.sendShard(ctx, sessionID, shards[0], byShard[shards[0]])
	}
	failed := make([]error, len(shards))
	var group errgroup.Group
	group.SetLimit(maxParallelShards)
	for i, shard := range shards {
		group.Go(func() error {
			defer w.recovered(shard, byShard[shard], &failed[i])
			failed[i] = w.sendShard(ctx, sessionID, shard, byShard[shard])
			return nil
		})
	}
	_ = group.Wait()
	return worst(failed)
}

// recovered turns a panic into an error, also of the jobs, which may have been stored. In a goroutine that is not that
// of a request, it would end the process.
func (w *Writer) recovered(shard uint32, jobs []*job, err *error) {
	if r := recover(); r != nil {
		w.log.Error("panic while sending rows", "shard", shard, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		*err = errs.New(errs.Internal, "panic while sending rows to shard %d: %v", shard, r).WithReason(errs.OutcomeUnknown)
		for _, j := range jobs {
			if !j.acked {
				j.err = *err
			}
		}
	}
}

// jobsByShard returns the jobs that are not stored yet by their shards, and the shards in the order of the jobs. Jobs
// of rows that are discarded count as stored.
func jobsByShard(pending []*target) (shards []uint32, jobs map[uint32][]*job) {
	jobs = map[uint32][]*job{}
	for _, t := range pending {
		if t.discarded() {
			for _, j := range t.jobs {
				j.acked, j.err = true, nil
			}
			continue
		}
		for _, j := range t.jobs {
			if j.acked {
				continue
			}
			if _, ok := jobs[j.shard]; !ok {
				shards = append(shards, j.shard)
			}
			jobs[j.shard] = append(jobs[j.shard], j)
		}
	}
	return shards, jobs
}

// worst returns the error for the client: an unknown outcome if there is one, else an error that a retry may avoid,
// else a permanent error.
func worst(failed []error) error {
	var out error
	rank := func(err error) int {
		switch {
		case err == nil:
			return 0
		case errs.ReasonOf(err) == errs.OutcomeUnknown:
			return 3
		case errs.From(err).Status() >= 500:
			return 2
		}
		return 1
	}
	for _, err := range failed {
		if rank(err) > rank(out) {
			out = err
		}
	}
	return out
}

// sendShard sends jobs to one shard, one call after another. If a call fails because of the shard, not because of the
// batches, the remaining jobs fail with the same error and are not sent.
func (w *Writer) sendShard(ctx context.Context, sessionID uint64, shard uint32, jobs []*job) error {
	var first error
	for len(jobs) > 0 {
		n := callLength(jobs, w.cfg.MaxCallBytes)
		sent, err := false, error(nil)
		if jobs[0].id == (batchID{}) && combinable(jobs[:n]) {
			sent, err = w.combiner(shard).write(ctx, sessionID, jobs[:n])
		}
		if !sent {
			err = w.call(ctx, sessionID, shard, jobs[:n])
		}
		if err != nil {
			first = worst([]error{first, err})
			for _, j := range jobs[:n] {
				j.err = err
			}
			if !refusedBatches(err) {
				for _, j := range jobs[n:] {
					j.err = err
				}
				return first
			}
		} else {
			for _, j := range jobs[:n] {
				j.acked, j.err = true, nil
			}
		}
		jobs = jobs[n:]
	}
	return first
}

// callLength returns how many of the jobs go into one call. It is at least one.
func callLength(jobs []*job, maxBytes int) int {
	n, bytes := 0, 0
	for n < len(jobs) && n < maxCallBatches && (n == 0 || bytes+jobs[n].bytes <= maxBytes) {
		bytes += jobs[n].bytes
		n++
	}
	return n
}

// call encodes the jobs and sends them in one call.
func (w *Writer) call(ctx context.Context, sessionID uint64, shard uint32, jobs []*job) error {
	return w.sendBatches(ctx, sessionID, shard, len(jobs), func(i int) piece {
		j := jobs[i]
		return piece{
			table:  j.target.table,
			sealed: j.sealed,
			rows:   j.builder(),
			from:   j.from - j.base,
			to:     j.to - j.base,
			id:     j.id,
		}
	})
}

// piece has rows of one table that become one batch.
type piece struct {
	table    *schema.Table
	rows     *column.Builder
	from, to int
	// sealed has the rows if they are encoded. Otherwise they are the rows from..to.
	sealed *column.Sealed
	// id is the id of the batch. If it is zero, the batch gets the next number of the session.
	id batchID
}

// sendBatches encodes n pieces and sends them in one call.
func (w *Writer) sendBatches(ctx context.Context, sessionID uint64, shard uint32, n int, at func(i int) piece) error {
	seq := uint64(0)
	if at(0).id == (batchID{}) { // otherwise the request has a key, and all pieces have ids
		first, done, err := w.session.sequence(shard).take(ctx, n)
		if err != nil {
			return errs.Wrap(errs.ShardBusy, err, "shard %d", shard)
		}
		defer done()
		seq = first
	}

	buf := buffers.Get().(*buffer)
	defer buf.release()
	ends := make([]int, n)
	bodies := &column.Bodies{}
	defer bodies.Release()
	protocol := max(w.cfg.ClusterVersion(), metapb.MinProtocol)
	for i := range n {
		p := at(i)
		id := p.id
		if id == (batchID{}) {
			id = batchID{sessionID, seq + uint64(i)}
		}
		h := column.Header{
			TableID: p.table.ID, Epoch: p.table.Writable().Epoch, SchemaVersion: p.table.Version,
			Session: id.session, Seq: id.seq, Protocol: protocol,
		}
		if p.sealed == nil {
			buf.b = bodies.EncodeRange(p.rows, buf.b, h, p.from, p.to)
		} else if b, err := p.sealed.Append(buf.b, h); err != nil {
			return errs.Wrap(errs.Internal, err, "shard %d: table %s.%s", shard, p.table.Database, p.table.Name)
		} else {
			buf.b = b
			bodies.Skip()
		}
		ends[i] = len(buf.b)
	}
	batches := make([][]byte, n)
	from := 0
	for i, to := range ends {
		batches[i] = buf.b[from:to:to]
		from = to
	}
	ctx, span := tracing.Start(column.WithBodies(ctx, bodies), "write to shard")
	span.Number("shard", int64(shard))
	span.Number("batches", int64(n))
	span.Number("bytes", int64(len(buf.b)))
	turns.Leave(ctx)
	ctx = turns.WithDatabase(ctx, databaseOf(n, at))
	_, err := w.cfg.Shards.Write(ctx, shard, batches, func(ids []uint64) []*schemapb.Table {
		return w.definitions(ids, n, at)
	})
	span.End(err)
	if err != nil {
		return err
	}
	w.metrics.batches.Add(float64(n))
	w.metrics.bytes.Add(float64(len(buf.b)))
	for i := range n {
		w.metrics.stored(at(i).table, len(batches[i]))
	}
	return nil
}

// databaseOf returns the database of n pieces, or "" if they belong to several. These are small requests, which share a
// call.
func databaseOf(n int, at func(i int) piece) string {
	database := at(0).table.Database
	for i := 1; i < n; i++ {
		if at(i).table.Database != database {
			return ""
		}
	}
	return database
}

// definitions returns the newest local definitions of tables that a shard does not know well enough. Tables that no
// longer exist are left out.
func (w *Writer) definitions(ids []uint64, n int, at func(i int) piece) []*schemapb.Table {
	out := make([]*schemapb.Table, 0, len(ids))
	for _, id := range ids {
		table, ok := w.cfg.Meta.TableByID(id)
		if !ok {
			continue
		}
		for i := range n {
			if t := at(i).table; t.ID == id && t.Version > table.Version {
				table = t
			}
		}
		out = append(out, table.ToProto())
	}
	return out
}

// buffer holds encoded batches. The shard client does not keep it after a call.
type buffer struct{ b []byte }

// maxKeptBuffer limits the size of the buffers that are kept for the next call.
const maxKeptBuffer = 8 << 20

var buffers = sync.Pool{New: func() any { return &buffer{} }}

func (b *buffer) release() {
	if cap(b.b) > maxKeptBuffer {
		return
	}
	b.b = b.b[:0]
	buffers.Put(b)
}
