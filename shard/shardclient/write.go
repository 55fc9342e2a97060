package shardclient

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
)

// maxNeedRounds bounds how often one write sends table definitions: the shard may ask
// again if it moved or restarted in between, but not for ever.
const maxNeedRounds = 3

// Write appends encoded batches to a shard and returns the index of its log at which
// they are applied: on disk on a majority, and visible. tables gives the definitions of
// the tables that the shard says it does not know well enough; it may leave out those
// that no longer exist.
//
// All batches are appended or, if the error says so by its reason, none. After an error
// of reason OutcomeUnknown they may have been appended, and may only be sent again as
// they are. WrongEpoch, SchemaStale and TableGone mean that the caller's view of the
// table is old.
func (c *Client) Write(ctx context.Context, shard uint32, batches [][]byte, tables func(ids []uint64) []*schemapb.Table) (uint64, error) {
	start := time.Now()
	size := int64(0)
	for _, b := range batches {
		size += int64(len(b))
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.cfg.WriteTimeout)
		defer cancel()
	}
	index, err := c.queueAndWrite(ctx, shard, size, &shardpb.WriteRequest{ShardId: shard, Batches: batches}, tables)
	c.metrics.seconds.Observe(time.Since(start).Seconds())
	if err != nil {
		c.metrics.writes.WithLabelValues("error").Inc()
		return 0, err
	}
	c.metrics.writes.WithLabelValues("ok").Inc()
	c.metrics.bytes.Add(float64(size))
	return index, nil
}

func (c *Client) queueAndWrite(ctx context.Context, shard uint32, size int64, req *shardpb.WriteRequest, tables func([]uint64) []*schemapb.Table) (uint64, error) {
	leave, err := c.target(shard).queue.enter(ctx, size, c.cfg.QueueWait)
	if err != nil {
		return 0, errs.Wrap(ctxCode(err), err, "shard %d: write %d batches", shard, len(req.Batches))
	}
	defer leave()

	w := writeAttempts{c: c, shard: shard, req: req, tables: tables}
	return w.run(ctx)
}

// writeAttempts is one write on its way through the replicas.
type writeAttempts struct {
	c      *Client
	shard  uint32
	req    *shardpb.WriteRequest
	tables func([]uint64) []*schemapb.Table

	// unknown is set once a try may have appended the batches; a later "no" does not undo it.
	unknown bool
	tries   int
	last    error
}

func (w *writeAttempts) run(ctx context.Context) (uint64, error) {
	backoff := w.c.cfg.MinBackoff
	for {
		nodes := w.c.order(w.shard)
		maxTries := max(w.c.cfg.MaxTries, 2*len(nodes))
		if len(nodes) == 0 {
			w.tries++
			w.last = errs.New(errs.ShardNotFound, "no node is known to hold it").WithReason(errs.NotLeader)
		}
		pause := time.Duration(0)
		for _, node := range nodes {
			w.tries++
			index, err := w.once(ctx, node, len(nodes) > 1)
			if err == nil {
				w.c.learn(w.shard, node)
				return index, nil
			}
			w.last = err
			v := judge(err)
			w.unknown = w.unknown || v.unknown
			if !v.retry || ctx.Err() != nil || w.tries >= maxTries {
				return 0, w.fail(ctx)
			}
			w.c.metrics.retries.WithLabelValues(reasonLabel(err)).Inc()
			w.c.log.DebugContext(ctx, "write is tried again", "shard", w.shard, "node", node, "try", w.tries, "err", err)
			if v.same {
				pause = errs.From(err).RetryAfter
				w.c.learn(w.shard, node)
				break
			}
		}
		if w.tries >= maxTries || !sleep(ctx, max(pause, jitter(backoff))) {
			return 0, w.fail(ctx)
		}
		backoff = min(2*backoff, w.c.cfg.MaxBackoff)
	}
}

// once sends the batches to one node, with definitions if the node asks for them.
func (w *writeAttempts) once(ctx context.Context, node string, bounded bool) (uint64, error) {
	conn, err := w.c.cfg.Dial(node)
	if err != nil {
		// Nothing was sent, so nothing was appended.
		return 0, errs.Wrap(errs.ShardUnreachable, err, "connect to node %s", node).WithReason(errs.NotLeader)
	}
	if bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.c.cfg.TryTimeout)
		defer cancel()
	}
	client := shardpb.NewShardServiceClient(conn)
	for range maxNeedRounds {
		resp, err := client.Write(ctx, w.req, callOptions...)
		if err != nil {
			return 0, errs.FromGRPC(err)
		}
		if len(resp.NeedTables) == 0 {
			return resp.Index, nil
		}
		defs := w.tables(resp.NeedTables)
		if missing, ok := firstMissing(resp.NeedTables, defs); ok {
			return 0, errs.New(errs.TableNotFound, "table id %d no longer exists", missing).WithReason(errs.TableGone)
		}
		w.req.Tables = defs
	}
	return 0, errs.New(errs.ShardNotReady, "node %s keeps asking for table definitions", node).WithReason(errs.Busy)
}

func firstMissing(ids []uint64, defs []*schemapb.Table) (uint64, bool) {
	for _, id := range ids {
		found := false
		for _, d := range defs {
			found = found || d.GetId() == id
		}
		if !found {
			return id, true
		}
	}
	return 0, false
}

// fail is the error of a write that is given up.
func (w *writeAttempts) fail(ctx context.Context) error {
	last := w.last
	if cerr := ctx.Err(); cerr != nil && judge(last).retry {
		last = errs.Wrap(ctxCode(cerr), cerr, "gave up after: %s", last)
	}
	if e := errs.From(last); !w.unknown && e.Status() < 500 {
		return e // the shard's answer to the batches; how it came here explains nothing
	}
	e := errs.Wrap(errs.ShardUnreachable, last, "shard %d: write %d batches: try %d", w.shard, len(w.req.Batches), w.tries)
	if e.Status() == 503 && e.RetryAfter == 0 {
		e.RetryAfter = time.Second
	}
	if w.unknown {
		e.Reason = errs.OutcomeUnknown
	}
	return e
}

// callOptions go with every call.
var callOptions = []grpc.CallOption{
	grpc.MaxCallRecvMsgSize(MaxMessageBytes),
	grpc.MaxCallSendMsgSize(MaxMessageBytes),
}

func ctxCode(err error) errs.Code {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return errs.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		return errs.Cancelled
	}
	return errs.ShardUnreachable
}

func reasonLabel(err error) string {
	if r := errs.ReasonOf(err); r != "" {
		return string(r)
	}
	return "UNREACHABLE"
}

// jitter spreads d by a quarter either way.
func jitter(d time.Duration) time.Duration {
	return d*3/4 + rand.N(d/2+1)
}

// sleep pauses for d; false if the context ended, or would end, before.
func sleep(ctx context.Context, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
