package shardclient

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/leader"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/proto/turns"
)

// maxNeedRounds is the maximum number of times that one write sends table definitions. The shard
// may request them again after it moved or restarted, but not for ever.
const maxNeedRounds = 3

// Write appends encoded batches to a shard and returns the index of its log at which they are
// applied: on disk on a majority, and visible. The context has their database (turns.DatabaseOf),
// because databases take turns. tables returns definitions that the shard requests;
// it may leave out tables that no longer exist.
//
// Either all batches are appended or, depending on the reason of the error, none. After an error
// with reason OutcomeUnknown they may have been appended, and may only be sent again unchanged.
// WrongEpoch, SchemaStale and TableGone mean that the caller's definition of the table is old, and
// that no try has appended the batches or ever will, because the shard refused them after the last
// try. Write repeats the call until it knows that, or until its deadline.
func (c *Client) Write(ctx context.Context, shard uint32, batches [][]byte,
	tables func(ids []uint64) []*schemapb.Table,
) (uint64, error) {
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

func (c *Client) queueAndWrite(ctx context.Context, shard uint32, size int64, req *shardpb.WriteRequest,
	tables func([]uint64) []*schemapb.Table,
) (uint64, error) {
	leave, err := c.target(shard).queue.enter(ctx, turns.DatabaseOf(ctx), size)
	if err != nil {
		return 0, errs.Wrap(errs.ContextCode(err), err, "shard %d: write %d batches", shard, len(req.Batches))
	}
	w := leaderCall{c: c, shard: shard, req: req, tables: tables, what: fmt.Sprintf("write %d batches", len(req.Batches))}
	err = w.run(ctx)
	switch {
	case w.slow:
		leave(congested)
	case err == nil:
		leave(taken)
	default:
		leave(other)
	}
	return w.index, err
}

// leaderCall is a write, or another call for the leader, while it is tried on the replicas.
type leaderCall struct {
	c     *Client
	shard uint32
	what  string
	// call, if set, is made instead of a write.
	call func(context.Context, shardpb.ShardServiceClient) error

	req    *shardpb.WriteRequest
	tables func([]uint64) []*schemapb.Table
	index  uint64 // the result of a write

	// sent is set once a try may have appended the batches.
	sent bool
	// settled means that the refusal follows from entries that the shard has applied, so that no
	// try has appended the batches or ever will. It is false if definitions were sent with the
	// batches, because only the leader has read these, and no replica has applied them.
	settled bool
	// slow means that the shard was busy or a try took too long.
	slow bool
	// away counts the consecutive tries in which a node could not be reached.
	away map[string]int
}

// run calls the replicas until the leader has answered, and returns the error.
func (w *leaderCall) run(ctx context.Context) error {
	cfg := &w.c.cfg
	failure := leader.Search{
		Group: w.c.target(w.shard).group, Nodes: &w.c.nodes,
		Order:    func() []string { return w.c.order(w.shard) },
		None:     errNoReplica,
		Call:     w.try,
		Judge:    w.judge,
		Repeat:   true, // a shard drops batches that it has, and repeating other calls is harmless
		MinPause: cfg.MinBackoff, MaxPause: cfg.MaxBackoff, MaxTries: cfg.MaxTries, BusyFor: cfg.QueueWait,
		Retrying: func(node string, so *leader.Failure) {
			w.c.metrics.retries.WithLabelValues(reasonLabel(so.Err)).Inc()
			w.c.log.DebugContext(ctx, "a call to a shard is tried again", "call", w.what, "shard", w.shard, "node", node, "try",
				so.Tries, "error", so.Err)
			if cfg.Retrying != nil {
				cfg.Retrying(w.shard, so.Tries, so.Err)
			}
		},
	}.Run(ctx)
	if failure == nil {
		return nil
	}
	return w.fail(ctx, failure)
}

var errNoReplica = errs.New(errs.ShardNotFound, "no node is known to hold it").WithReason(errs.NotLeader)

// judge extends leader.Judge by the results of earlier tries.
func (w *leaderCall) judge(err error) leader.Verdict {
	v := leader.Judge(err)
	v.Settled = w.settled
	w.sent = w.sent && !v.Settled || v.Unknown
	w.slow = w.slow || v.Same
	return v
}

// try calls one node.
func (w *leaderCall) try(ctx context.Context, node string, try leader.Try) error {
	w.settled = false
	conn, done, err := w.dial(node)
	if err != nil {
		// Nothing was sent, so nothing was appended.
		w.c.nodes.Health(node).Silent()
		w.unreached(node)
		return errs.Wrap(errs.ShardUnreachable, err, "connect to node %s", node).WithReason(errs.NotLeader)
	}
	defer done()
	bound := time.Duration(0)
	if try.Others {
		bound = w.c.nodes.Health(node).TryTimeout(w.c.cfg.TryTimeout)
	}
	client := shardpb.NewShardServiceClient(conn)
	late, err := w.c.nodes.Call(ctx, node, conn, bound, func(ctx context.Context) error {
		if w.call != nil {
			return w.call(ctx, client)
		}
		return w.send(ctx, client, node)
	})
	w.slow = w.slow || late
	if late || err != nil && leader.Broken(err) {
		w.unreached(node)
	}
	return err
}

// unreached counts a try in which a node could not be reached.
func (w *leaderCall) unreached(node string) {
	if w.away == nil {
		w.away = map[string]int{}
	}
	w.away[node]++
}

// dial returns the connection for the next try; done is called after it.
func (w *leaderCall) dial(node string) (conn grpc.ClientConnInterface, done func(), err error) {
	if w.away[node] >= 2 && w.c.cfg.DialFresh != nil {
		return w.c.cfg.DialFresh(node)
	}
	conn, err = w.c.cfg.Dial(node)
	return conn, func() {}, err
}

// send sends the batches, and the definitions that the node requests, in one call. If an earlier
// try may have appended the batches, it sends the definitions first, through the log. Otherwise a
// refusal would not show the outcome of that try.
func (w *leaderCall) send(ctx context.Context, client shardpb.ShardServiceClient, node string) error {
	w.req.Tables = nil
	for range maxNeedRounds {
		resp, err := client.Write(ctx, w.req, callOptions...)
		if err != nil {
			err = errs.FromGRPC(err)
			w.settled = len(w.req.Tables) == 0 && settles(err)
			return err
		}
		if len(resp.NeedTables) == 0 {
			w.index = resp.Index
			return nil
		}
		defs := w.tables(resp.NeedTables)
		if missing, ok := firstMissing(resp.NeedTables, defs); ok {
			return errs.New(errs.TableNotFound, "table id %d no longer exists", missing).WithReason(errs.TableGone)
		}
		if !w.sent {
			w.req.Tables = defs
			continue
		}
		if _, err := client.DefineTables(ctx, &shardpb.DefineTablesRequest{ShardId: w.shard, Tables: defs},
			callOptions...); err != nil {
			return err
		}
	}
	return errs.New(errs.ShardNotReady, "node %s keeps asking for table definitions", node).WithReason(errs.Busy)
}

// settles reports whether an error is a shard's permanent refusal of the batches because of their
// epoch, their schema or their table.
func settles(err error) bool {
	switch errs.ReasonOf(err) {
	case errs.WrongEpoch, errs.SchemaStale, errs.TableGone:
		return true
	}
	return false
}

// firstMissing returns the first of the tables that has no definition.
func firstMissing(ids []uint64, defs []*schemapb.Table) (uint64, bool) {
	for _, id := range ids {
		if !slices.ContainsFunc(defs, func(d *schemapb.Table) bool { return d.GetId() == id }) {
			return id, true
		}
	}
	return 0, false
}

// fail returns the error of a call that is abandoned.
func (w *leaderCall) fail(ctx context.Context, so *leader.Failure) error {
	last := so.Err
	if cerr := ctx.Err(); cerr != nil && so.Verdict.Retry {
		last = errs.Wrap(errs.ContextCode(cerr), cerr, "gave up after: %s", last)
	}
	if e := errs.From(last); !so.Unknown && e.Status() < 500 {
		return e // the shard's answer to the batches, which needs no further context
	}
	e := errs.Wrap(errs.ShardUnreachable, last, "shard %d: %s: try %d", w.shard, w.what, so.Tries)
	if e.Status() == 503 && e.RetryAfter == 0 {
		e.RetryAfter = time.Second
	}
	if so.Unknown {
		e.Reason = errs.OutcomeUnknown
	}
	return e
}

// callOptions are the options of every call.
var callOptions = []grpc.CallOption{
	grpc.MaxCallRecvMsgSize(MaxMessageBytes),
	grpc.MaxCallSendMsgSize(MaxMessageBytes),
}

// reasonUnreachable is the metric label for errors without a reason.
const reasonUnreachable = "UNREACHABLE"

func reasonLabel(err error) string {
	if r := errs.ReasonOf(err); r != "" {
		return string(r)
	}
	return reasonUnreachable
}
