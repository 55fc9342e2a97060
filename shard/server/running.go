package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
	"cordwood/shard/query"
	"cordwood/shard/server/distribute"
)

// listedSQL is the maximum number of bytes of a statement in the list.
const listedSQL = 4 << 10

// The phases of a query, in addition to those of package distribute.
const (
	phasePlan   = "planning"
	phaseGather = "fetching rows"
	phaseRun    = "running"
	phaseStop   = "stopping"
)

// running are the running queries. It is safe for concurrent use.
type running struct {
	mu  sync.Mutex // guards all
	all map[*runningQuery]struct{}
}

func newRunning() *running { return &running{all: map[*runningQuery]struct{}{}} }

// runningQuery is a running call of Query.
type runningQuery struct {
	id, sql, share string
	part           bool
	begun          time.Time
	cancel         context.CancelCauseFunc
	// stopping reports whether the query was told to stop. killed is set if KILL told it.
	stopping func() bool
	killed   atomic.Bool

	phase       atomic.Pointer[string]
	parts, done atomic.Uint32
	// sent are the bytes of the answer, received those that other nodes have sent for it.
	sent, received atomic.Int64
	// gatherAt and runAt are the times after begun at which these phases began, in nanoseconds; 0
	// means that they did not.
	gatherAt, runAt atomic.Int64
}

// killedError is the cause of a query's end by KILL.
type killedError struct{ err *errs.Error }

func (k *killedError) Error() string { return k.err.Error() }

// newQueryID returns an id for a query without one.
func newQueryID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// enter lists a query until leave is called. When it is killed, its context ends.
func (r *running) enter(ctx context.Context, req *shardpb.QueryRequest) (_ context.Context, q *runningQuery,
	leave func(),
) {
	sql := statementOf(req)
	if len(sql) > listedSQL {
		sql = strings.ToValidUTF8(sql[:listedSQL], "")
	}
	if !utf8.ValidString(sql) {
		sql = strings.ToValidUTF8(sql, "\uFFFD")
	}
	q = &runningQuery{
		id: cmp.Or(req.QueryId, newQueryID()), sql: strings.Clone(sql), share: req.Share, part: req.Part, begun: time.Now(),
	}
	ctx, q.cancel = context.WithCancelCause(query.WithKilled(ctx, q.killed.Load))
	q.stopping = func() bool { return ctx.Err() != nil }
	q.Enter(phasePlan)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[q] = struct{}{}
	return ctx, q, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.all, q)
		q.cancel(nil)
	}
}

// Enter records the present phase of the query.
func (q *runningQuery) Enter(phase string) {
	q.phase.Store(&phase)
	switch phase {
	case phaseGather:
		q.gatherAt.Store(int64(time.Since(q.begun)))
	case phaseRun:
		q.runAt.Store(int64(time.Since(q.begun)))
	}
}

// stages returns the durations of the phases of a part that ends now.
func (q *runningQuery) stages() *shardpb.PartStages {
	return &shardpb.PartStages{
		GatherNanos: q.runAt.Load() - q.gatherAt.Load(), RunNanos: int64(time.Since(q.begun)) - q.runAt.Load(),
	}
}

// Asks records that a number of parts are requested from nodes. A statement of several blocks asks for each of them,
// perhaps at the same time.
func (q *runningQuery) Asks(parts int) { q.parts.Add(uint32(parts)) }

// Answered records that a node has answered.
func (q *runningQuery) Answered() { q.done.Add(1) }

// Received records bytes that other nodes have sent.
func (q *runningQuery) Received(bytes int) { q.received.Add(int64(bytes)) }

// ended returns the error of a query: the error of KILL if that ended it.
func (q *runningQuery) ended(ctx context.Context, err error) error {
	killed := (*killedError)(nil)
	if err != nil && errors.As(context.Cause(ctx), &killed) {
		return killed.err
	}
	return err
}

// list describes the running queries, the longest running ones first.
func (r *running) list() []*shardpb.RunningQuery {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*shardpb.RunningQuery, 0, len(r.all))
	for q := range r.all {
		phase := *q.phase.Load()
		if q.stopping() {
			phase = phaseStop
		}
		out = append(out, &shardpb.RunningQuery{
			QueryId: q.id, Share: q.share, Part: q.part, Sql: q.sql, StartedUnixNano: q.begun.UnixNano(),
			Phase: phase, Parts: q.parts.Load(), PartsDone: q.done.Load(), Bytes: max(q.sent.Load(), q.received.Load()),
		})
	}
	slices.SortFunc(out, func(a, b *shardpb.RunningQuery) int { return cmp.Compare(a.StartedUnixNano, b.StartedUnixNano) })
	return out
}

// kill ends the calls of a query, and returns their number.
func (r *running) kill(id, share, by string) (n uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for q := range r.all {
		if q.id == id && (share == "" || share == q.share) {
			// The status is 400, because clients repeat requests that fail with the code's own
			// status, 504.
			q.killed.Store(true)
			q.cancel(&killedError{errs.New(errs.Cancelled, "query: killed by %s", cmp.Or(by, "an operator")).
				WithStatus(http.StatusBadRequest)})
			n++
		}
	}
	return n
}

// watched counts the bytes that a query sends.
type watched struct {
	grpc.ServerStreamingServer[shardpb.QueryChunk]
	query *runningQuery
}

func (w watched) Send(chunk *shardpb.QueryChunk) error {
	w.query.sent.Add(int64(len(chunk.ArrowIpc)))
	return w.ServerStreamingServer.Send(chunk)
}

// Queries lists the queries that run on this node.
func (s *server) Queries(context.Context, *shardpb.QueriesRequest) (*shardpb.QueriesResponse, error) {
	return &shardpb.QueriesResponse{Queries: s.running.list()}, nil
}

// KillQuery ends the calls of a query on this node.
func (s *server) KillQuery(_ context.Context, req *shardpb.KillQueryRequest) (*shardpb.KillQueryResponse, error) {
	if req.QueryId == "" {
		return nil, errs.ToGRPC(errs.New(errs.InvalidArguments, "kill a query: the request has no id of a query"))
	}
	return &shardpb.KillQueryResponse{Killed: s.running.kill(req.QueryId, req.Share, req.By)}, nil
}

// Describe returns the columns of the answer to a SELECT.
func (s *server) Describe(ctx context.Context, req *shardpb.DescribeRequest) (*shardpb.DescribeResponse, error) {
	d, err := s.cfg.Engine.Describe(s.forUser(ctx, req.Share, req.Tables, req.Database), &query.Request{
		SQL: req.Sql, Database: req.Database, Timezone: req.Timezone,
		Tables: distribute.BareTables(req.Tables...), Parameters: req.Parameters,
	})
	if err != nil {
		return nil, errs.ToGRPC(err)
	}
	resp := &shardpb.DescribeResponse{Parameters: d.Parameters}
	for _, c := range d.Columns {
		resp.Columns = append(resp.Columns, &shardpb.AnswerColumn{Name: c.Name, Type: c.Type})
	}
	return resp, nil
}
