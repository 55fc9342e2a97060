// Package server implements the gRPC service of a shard node. It finds the shard of a request,
// waits until the shard can answer, and converts errors to gRPC errors. For queries over rows of
// several nodes it splits the statement (distribute/) or fetches the rows (gather.go). The engine
// runs the SQL.
//
// It knows a shard by the interface Shard, and neither opens nor closes one.
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/proto/tracing"
	"cordwood/proto/turns"
	"cordwood/shard/cold/object"
	"cordwood/shard/query"
	"cordwood/shard/query/spool"
	"cordwood/shard/server/distribute"
	"cordwood/shard/store"
)

const (
	// chunkBytes is the maximum size of a message of a query's answer.
	chunkBytes = 1 << 20
	// readyWait is how long a query waits for a shard that is starting. leaveAfter is the limit if
	// other replicas can be asked instead.
	readyWait  = 10 * time.Second
	leaveAfter = 250 * time.Millisecond
	// maxInlineBytes is the maximum inflated size of the inline tables of a query.
	maxInlineBytes = 256 << 20
)

// Engine runs SQL over the rows of shards. *engine.Engine implements it.
type Engine interface {
	// Analyze reports what a statement refers to, without running it.
	Analyze(ctx context.Context, sql, database string) (*query.Analysis, error)
	// Query runs a statement and calls emit with consecutive pieces of an Arrow IPC stream. It uses
	// the request's segments and batches until it returns.
	Query(ctx context.Context, req *query.Request, emit func(ipc []byte) error) error
	// Needs returns what a statement reads of the request's tables. It ignores their rows.
	Needs(ctx context.Context, req *query.Request) ([]query.Need, error)
	// Split splits a statement for several nodes. It ignores rows.
	Split(ctx context.Context, req *query.Request) (*query.Split, error)
	// Describe returns the columns of a statement's answer. It ignores rows.
	Describe(ctx context.Context, req *query.Request) (*query.Description, error)
}

// Config configures a server. All fields are required unless they say otherwise.
type Config struct {
	// Shards returns an open shard of this node.
	Shards func(id uint32) (Shard, bool)
	// All returns all open shards of this node.
	All    func() []Shard
	Engine Engine
	// Scan requests rows of a shard from the nodes, starting with the presumed leader. Partial of
	// the reader returns what is missing. Without Scan and Spool a query reads only the shards of
	// this node.
	Scan func(ctx context.Context, nodes []string, req *shardpb.ScanRequest) (ScanReader, error)
	// Ask runs a part of a query on the node that leads most of the part's shards. Without it no
	// statement is split.
	Ask func(ctx context.Context, req *shardpb.QueryRequest) (ScanReader, error)
	// Leaders is what Scan and Ask know about the leaders of shards. Without it, the leaders are those of each request.
	Leaders Leaders
	// ClusterVersion returns the protocol version that the cluster uses. Without it, the version is 1.
	ClusterVersion func() uint32
	// Cold reads rows in object storage. Without it a query fails if it needs such rows.
	Cold *object.Reader
	// Spool stores the rows that come from other nodes.
	Spool *spool.Dir
	// KeptAnswers is the maximum number of bytes for the answers that are kept: one half for those of this node to parts
	// of queries, the other half for those that it computes from parts. With 0, none are kept.
	KeptAnswers int64
	// Name returns the name of a node for texts. Without it texts contain the node's id.
	Name func(node string) string
	// Here returns the id of this node, or "" if it is the only one. Without it no error contains
	// this node's id.
	Here func() string
	// Limited reports whether a database has a quota of CPU time. Without it none has.
	Limited func(database string) bool
	// Registerer registers the metrics of the server. Without it they are not exported.
	Registerer prometheus.Registerer
	// Logger receives messages for operators. The default value discards them.
	Logger *slog.Logger
}

// ScanReader reads the Arrow IPC stream of a scan, or of a part of a query.
type ScanReader = distribute.Reader

// server implements the gRPC service of a shard node.
type server struct {
	shardpb.UnimplementedShardServiceServer
	cfg Config
	// stored and live limit the tails that use the engine: those that read stored rows, and those
	// that read new rows.
	stored, live chan struct{}
	pins         pins
	running      *running
	// nodes requests partial results from other nodes.
	nodes *distribute.Nodes
	kept  *keptAnswers
	// definitions are the definitions of tables in parts of queries.
	definitions *definitions
}

// New returns the gRPC service of a shard node.
func New(cfg Config) shardpb.ShardServiceServer {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Limited == nil {
		cfg.Limited = func(string) bool { return false }
	}
	if cfg.Here != nil && cfg.Engine != nil {
		cfg.Engine = namedEngine{cfg.Engine, cfg.Here}
	}
	s := &server{
		cfg:     cfg,
		stored:  make(chan struct{}, tailsStored),
		live:    make(chan struct{}, tailsLive),
		running: newRunning(),
		kept:    newKeptAnswers(cfg.KeptAnswers/2, cfg.Registerer),

		definitions: newDefinitions(),
	}
	s.nodes = distribute.New(distribute.Config{
		Engine: cfg.Engine, Ask: cfg.Ask, Name: cfg.Name, Registerer: cfg.Registerer, Rows: s.rowsFor,
		Own: s.ownPart, KeptAnswers: cfg.KeptAnswers / 2, ClusterVersion: cfg.ClusterVersion,
		Shows: s.shows, Leader: s.leader,
	})
	return s
}

// Write appends batches to one shard.
func (s *server) Write(ctx context.Context, req *shardpb.WriteRequest) (*shardpb.WriteResponse, error) {
	sh, ok := s.cfg.Shards(req.ShardId)
	if !ok {
		return nil, errs.ToGRPC(store.Unreachable(req.ShardId).WithReason(errs.NotLeader))
	}
	index, need, err := sh.Write(ctx, req.Batches, req.Tables)
	if err != nil {
		return nil, errs.ToGRPC(err)
	}
	return &shardpb.WriteResponse{Index: index, NeedTables: need}, nil
}

// Analyze reports what a SELECT refers to.
func (s *server) Analyze(ctx context.Context, req *shardpb.AnalyzeRequest) (*shardpb.AnalyzeResponse, error) {
	a, err := s.cfg.Engine.Analyze(s.forUser(ctx, req.Share, nil, req.Database), req.Sql, req.Database)
	if err != nil {
		return nil, errs.ToGRPC(err)
	}
	resp := &shardpb.AnalyzeResponse{Explain: a.Explain}
	for _, t := range a.Tables {
		resp.Tables = append(resp.Tables, &shardpb.TableName{Database: t.Database, Name: t.Name})
	}
	return resp, nil
}

// forUser returns a context for a query of a user. Slots are shared, and CPU time counts, by the database of its
// tables: the first one with a quota of CPU time, or else the first one. Tables of the server do not count. If the
// query reads no other ones, it is the database that the request says, or the default one instead of a database of the
// server.
func (s *server) forUser(ctx context.Context, share string, tables []*shardpb.QueryTable,
	named string,
) context.Context {
	database := ""
	for _, t := range tables {
		d := t.GetName().GetDatabase()
		if schema.ReservedDatabase(d) {
			continue
		}
		if s.cfg.Limited(d) {
			database = d
			break
		}
		database = cmp.Or(database, d)
	}
	if database == "" {
		database = schema.Charged(named)
	}
	return turns.WithDatabase(query.WithShare(ctx, share), database)
}

// Query runs one SELECT over the rows of the shards and of the inline tables.
func (s *server) Query(req *shardpb.QueryRequest, stream grpc.ServerStreamingServer[shardpb.QueryChunk]) error {
	if err := s.definitions.decode(req); err != nil {
		return errs.ToGRPC(err)
	}
	ctx := s.forUser(stream.Context(), req.Share, req.Tables, cmp.Or(req.Charged, req.Database))
	ctx, q, leave := s.running.enter(ctx, req)
	defer leave()
	out := newKeepalive(stream, req.HearsWaits)
	defer out.end()
	ctx = turns.WithWaits(ctx, out.waits)
	err := s.query(ctx, q, req, false, watched{out, q})
	if err == nil {
		err = s.sendLast(req, q, out)
	}
	return errs.ToGRPC(q.ended(ctx, err))
}

// query answers a query that is listed as running. inner means that its rows are for another query of this node. Such a
// query is not refused if another node leads its shard, because no other node would be asked.
func (s *server) query(ctx context.Context, q *runningQuery, req *shardpb.QueryRequest, inner bool,
	stream grpc.ServerStreamingServer[shardpb.QueryChunk],
) error {
	if len(req.Blocks) > 0 {
		return s.queryBlocks(ctx, q, req, stream)
	}
	out := &answer{stream: stream}
	defer out.end()
	why := ""
	if d, err := s.nodes.TakeApart(ctx, req, q.id, q, inner); err != nil {
		return err
	} else if d != nil {
		if done, err := d.Run(ctx, out); done || err != nil {
			note(stream, d.Ran)
			return err
		}
		d.Fetched()
		why = d.Note()
	}
	q.Enter(phaseGather)
	gathering, span := tracing.Start(ctx, "gather rows")
	views, err := s.open(gathering, req, inner)
	if err != nil {
		span.End(err)
		return err
	}
	defer closeViews(views)
	p, err := s.prepare(gathering, q, req, views)
	defer p.release()
	note(stream, func() string { return s.ranFetched(req, why, p.fetched()) })
	span.Number("tables", int64(len(req.Tables)))
	span.End(err)
	if err != nil {
		return err
	}
	q.Enter(phaseRun)
	if len(p.missing) > 0 {
		if err := out.Missing(p.missing); err != nil {
			return err
		}
	}
	return s.answer(ctx, p, why, out)
}

// show adds the rows of a view to a table of a query. Objects become readable by cold.
func show(qt *query.Table, v *store.View, tableID uint64, cold *coldRows) {
	// The shard records which rows were written before the merge mode changed. A definition that it
	// has not received yet does not affect them.
	var known bool
	if qt.Merge, qt.Eras, known = v.Merging(tableID); !known {
		qt.Merge = query.MergeOf(qt.Schema)
	}
	qt.Schema = v.Widened(qt.Schema)
	qt.Batches = v.Batches(tableID)
	for _, seg := range v.Segments(tableID) {
		qt.Segments = append(qt.Segments, querySegment(qt.Schema, seg))
	}
	cold.show(qt, v.Cold(tableID))
}

// ready waits for a shard to be ready to read.
func (s *server) ready(ctx context.Context, id uint32) (Shard, error) {
	sh, ok := s.cfg.Shards(id)
	if !ok {
		return nil, store.Unreachable(id)
	}
	if !sh.Ready() {
		patience := readyWait
		if !sh.Replica().SoleVoter() {
			patience = leaveAfter // another replica may be ready
		}
		wait, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if err := sh.WaitReady(wait); err != nil {
			return nil, notReady(sh, err, patience)
		}
	}
	return sh, nil
}

// notReady returns the error of a read if the shard did not become ready in time.
func notReady(sh Shard, err error, waited time.Duration) error {
	leader := sh.Leader()
	cause := err.Error()
	switch {
	case !errors.Is(err, context.DeadlineExceeded):
	case leader == "":
		cause = "it has no leader: more than half of its replicas must be running"
		age, known := sh.Replica().Staleness()
		if enough := enoughStaleness(age); known && enough != 0 {
			cause += ". This replica can be read with consistency=any and max_staleness=" + inParameter(enough)
		}
	default:
		cause = fmt.Sprintf("it did not catch up with its leader within %s", waited)
	}
	e := errs.New(errs.ShardNotReady, "query: shard %d is not ready to read: %s", sh.ID(),
		cause).WithRetryAfter(time.Second)
	e.Err = err
	if leader != "" && leader != sh.NodeID() {
		e = e.WithLeader(leader)
	}
	return e
}

func querySegment(table *schema.Table, seg store.Segment) query.Segment {
	q := query.Segment{
		Path: seg.Path, CRC: seg.FileCRC, Damaged: seg.Damaged, Shared: seg.Shared(), Order: seg.Order, Rows: seg.Span.Rows,
		MinTime: seg.Span.MinTime, MaxTime: seg.Span.MaxTime,
		Columns: make([]query.SegmentColumn, 0, len(seg.Columns)),
	}
	for _, c := range seg.ColumnsOf(table, seg.Layouts) {
		q.Columns = append(q.Columns, query.SegmentColumn{ID: c.ID, FieldID: c.FieldID, Name: c.Name, Type: c.Type})
	}
	return q
}

// decodeInline decodes the batches of an inline table; total counts their bytes.
func decodeInline(t *shardpb.QueryTable, total *int) ([]*column.Batch, error) {
	var out []*column.Batch
	for i, data := range t.InlineBatches {
		size, err := column.InflatedSize(data)
		if *total += size; err == nil && *total > maxInlineBytes {
			err = fmt.Errorf("the inline tables of a query have more than %d bytes", maxInlineBytes)
		}
		var b *column.Batch
		if err == nil {
			b, err = column.Decode(data, nil)
		}
		if err != nil {
			return nil, errs.Wrap(errs.InvalidArguments, err, "query: inline table %q: batch %d", t.Name.Name, i)
		}
		out = append(out, b)
	}
	return out, nil
}

// Stats describes the shards of this node.
func (s *server) Stats(_ context.Context, req *shardpb.StatsRequest) (*shardpb.StatsResponse, error) {
	resp := &shardpb.StatsResponse{}
	for _, sh := range s.cfg.All() {
		resp.Shards = append(resp.Shards, sh.StatsOf(req))
	}
	return resp, nil
}
