package shardclient

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
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
// table is old, and that the batches are not appended, nor ever will be, by any try: the
// shard said so after the last one. Until then, or until its deadline, Write asks again.
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
	leave, err := c.target(shard).queue.enter(ctx, size)
	if err != nil {
		return 0, errs.Wrap(ctxCode(err), err, "shard %d: write %d batches", shard, len(req.Batches))
	}
	w := writeAttempts{c: c, shard: shard, req: req, tables: tables, what: fmt.Sprintf("write %d batches", len(req.Batches))}
	index, err := w.run(ctx)
	switch {
	case w.slow:
		leave(congested)
	case err == nil:
		leave(taken)
	default:
		leave(other)
	}
	return index, err
}

// writeAttempts is one write, or another call that only the leader answers, on its way
// through the replicas.
type writeAttempts struct {
	c     *Client
	shard uint32
	what  string
	// call is made instead of a write, if it is set.
	call func(context.Context, shardpb.ShardServiceClient) error

	req    *shardpb.WriteRequest
	tables func([]uint64) []*schemapb.Table

	// unknown is set once a try may have appended the batches. A later "no" does not undo
	// it, unless the shard can know: see answer.sealed.
	unknown bool
	tries   int
	last    error
	// slow tells that the shard was busy or a try took too long.
	slow bool
	busy time.Time // when it was first, in a row
	// away counts the tries in a row for which a node could not be reached.
	away map[string]int
}

// answer is what a try came to.
type answer struct {
	index uint64
	err   error
	// sealed: the refusal follows from what the shard has applied, so that batches which
	// are not appended by now, in whatever try, never will be. It is not if definitions
	// went with the batches, which only the leader has looked at, and nobody applied.
	sealed bool
}

func (w *writeAttempts) run(ctx context.Context) (uint64, error) {
	backoff := w.c.cfg.MinBackoff
	for {
		nodes := w.c.order(w.shard)
		if len(nodes) == 0 {
			w.tries++
			w.last = errs.New(errs.ShardNotFound, "no node is known to hold it").WithReason(errs.NotLeader)
		}
		pause := time.Duration(0)
		several := len(nodes) > 1
		asked := make([]string, 0, 4)
		for len(nodes) > 0 {
			node := nodes[0]
			nodes, asked = nodes[1:], append(asked, node)
			w.tries++
			a := w.once(ctx, node, several)
			if a.err == nil {
				w.c.found(w.shard, node)
				return a.index, nil
			}
			w.last = a.err
			v := judge(a.err)
			if a.sealed {
				w.unknown = false
			}
			w.unknown = w.unknown || v.unknown
			if !v.same {
				w.busy = time.Time{}
			}
			if !v.retry || ctx.Err() != nil || w.spent() {
				return 0, w.fail(ctx)
			}
			w.c.metrics.retries.WithLabelValues(reasonLabel(a.err)).Inc()
			w.c.log.DebugContext(ctx, "a call to a shard is tried again", "call", w.what, "shard", w.shard, "node", node, "try", w.tries, "error", a.err)
			if v.same {
				if pause = errs.From(a.err).RetryAfter; !w.bide() {
					return 0, w.fail(ctx)
				}
				w.c.found(w.shard, node)
				break
			}
			w.c.forget(w.shard, node)
			nodes = w.hinted(a.err, asked, nodes)
		}
		rested := false
		switch {
		case w.spent():
		case pause > 0:
			rested = sleep(ctx, max(pause, jitter(backoff)))
		default:
			w.c.leaderless(w.shard)
			rested = w.c.awaitLeader(ctx, w.shard, backoff)
		}
		if !rested {
			return 0, w.fail(ctx)
		}
		backoff = min(2*backoff, w.c.cfg.MaxBackoff)
	}
}

// hinted puts the node that a replica names as the leader before the others, unless it
// was asked in this round or does not answer these days.
func (w *writeAttempts) hinted(err error, asked, nodes []string) []string {
	leader := errs.From(err).Leader
	if leader == "" || slices.Contains(asked, leader) {
		return nodes
	}
	w.c.learn(w.shard, leader)
	if len(nodes) > 0 && w.c.health(leader).avoided(time.Now()) {
		return nodes
	}
	rest := slices.DeleteFunc(slices.Clone(nodes), func(id string) bool { return id == leader })
	return append([]string{leader}, rest...)
}

func (w *writeAttempts) spent() bool { return w.c.cfg.MaxTries > 0 && w.tries >= w.c.cfg.MaxTries }

// bide tells whether to ask a busy shard again: not for longer than writes wait for room.
func (w *writeAttempts) bide() bool {
	w.slow = true
	now := time.Now()
	if w.busy.IsZero() {
		w.busy = now
	}
	return now.Sub(w.busy) < w.c.cfg.QueueWait
}

// once sends the batches to one node, with definitions if the node asks for them.
// bounded: another node may be asked if this one takes long.
func (w *writeAttempts) once(ctx context.Context, node string, bounded bool) answer {
	conn, done, err := w.dial(node)
	if err != nil {
		// Nothing was sent, so nothing was appended.
		w.silent(node, nil)
		return answer{err: errs.Wrap(errs.ShardUnreachable, err, "connect to node %s", node).WithReason(errs.NotLeader)}
	}
	defer done()
	h := w.c.health(node)
	try := ctx
	if bounded {
		var cancel context.CancelFunc
		try, cancel = context.WithTimeout(ctx, h.try(w.c.cfg.TryTimeout))
		defer cancel()
	}
	start := time.Now()
	var a answer
	if client := shardpb.NewShardServiceClient(conn); w.call != nil {
		a.err = errs.FromGRPC(w.call(try, client))
	} else {
		a = w.send(try, client, node)
	}
	switch {
	case a.err == nil && w.call == nil:
		h.answered(time.Since(start))
	case a.err == nil:
		h.spoke()
	case bounded && ctx.Err() == nil && (try.Err() != nil || errs.CodeOf(a.err) == errs.DeadlineExceeded):
		w.slow = true
		w.silent(node, conn)
	case cut(a.err):
		w.silent(node, conn)
	case ctx.Err() == nil:
		h.spoke()
	}
	return a
}

// cut tells whether an error is that of a connection rather than an answer.
func cut(err error) bool {
	e := errs.From(err)
	return e.Code == errs.ShardUnreachable && e.Reason == errs.OutcomeUnknown
}

// silent notes that a node did not answer.
func (w *writeAttempts) silent(node string, conn grpc.ClientConnInterface) {
	w.c.health(node).silent(time.Now())
	if w.away == nil {
		w.away = map[string]int{}
	}
	w.away[node]++
	if conn != nil {
		wake(conn)
	}
}

// dial returns the connection for the next try; done is called after it.
func (w *writeAttempts) dial(node string) (conn grpc.ClientConnInterface, done func(), err error) {
	if w.away[node] >= 2 && w.c.cfg.DialAnew != nil {
		return w.c.cfg.DialAnew(node)
	}
	conn, err = w.c.cfg.Dial(node)
	return conn, func() {}, err
}

// send sends the batches, and definitions that the node asks for: along with them, but
// if an earlier try may have appended them, ahead of them, through the log. Else a
// refusal would not tell what became of that try.
func (w *writeAttempts) send(ctx context.Context, client shardpb.ShardServiceClient, node string) answer {
	w.req.Tables = nil
	for range maxNeedRounds {
		resp, err := client.Write(ctx, w.req, callOptions...)
		if err != nil {
			err = errs.FromGRPC(err)
			return answer{err: err, sealed: len(w.req.Tables) == 0 && refusal(err)}
		}
		if len(resp.NeedTables) == 0 {
			return answer{index: resp.Index}
		}
		defs := w.tables(resp.NeedTables)
		if missing, ok := firstMissing(resp.NeedTables, defs); ok {
			return answer{err: errs.New(errs.TableNotFound, "table id %d no longer exists", missing).WithReason(errs.TableGone)}
		}
		if !w.unknown {
			w.req.Tables = defs
			continue
		}
		if _, err := client.DefineTables(ctx, &shardpb.DefineTablesRequest{ShardId: w.shard, Tables: defs}, callOptions...); err != nil {
			return answer{err: errs.FromGRPC(err)}
		}
	}
	return answer{err: errs.New(errs.ShardNotReady, "node %s keeps asking for table definitions", node).WithReason(errs.Busy)}
}

// refusal tells whether an error is a shard's no to the batches for their epoch, their
// schema or their table, none of which goes back.
func refusal(err error) bool {
	switch errs.ReasonOf(err) {
	case errs.WrongEpoch, errs.SchemaStale, errs.TableGone:
		return true
	}
	return false
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
	e := errs.Wrap(errs.ShardUnreachable, last, "shard %d: %s: try %d", w.shard, w.what, w.tries)
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

// reasonUnreachable is the label of errors without a reason.
const reasonUnreachable = "UNREACHABLE"

func reasonLabel(err error) string {
	if r := errs.ReasonOf(err); r != "" {
		return string(r)
	}
	return reasonUnreachable
}

// jitter spreads d by a quarter either way.
func jitter(d time.Duration) time.Duration {
	return d*3/4 + rand.N(d/2+1)
}

// sleep pauses for d; false if the context ended, or would end, before.
func sleep(ctx context.Context, d time.Duration) bool { return sleepUntil(ctx, nil, d) }

// sleepUntil is sleep that ends early, and is true, when early is closed.
func sleepUntil(ctx context.Context, early <-chan struct{}, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-early:
		return true
	case <-ctx.Done():
		return false
	}
}
