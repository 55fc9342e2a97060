package shard

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/shard/query"
	"cordwood/shard/segment"
)

const (
	// chunkBytes is the most that one message of a query's answer carries.
	chunkBytes = 1 << 20
	// readyWait is how long a query waits for a shard that is starting.
	readyWait = 10 * time.Second
	// maxInlineBytes bounds the inline tables of a query, inflated.
	maxInlineBytes = 256 << 20
)

// Engine runs SQL over what a shard has. *engine.Engine is one.
type Engine interface {
	// Analyze tells what a statement refers to, without running it.
	Analyze(ctx context.Context, sql, database string) (*query.Analysis, error)
	// Query runs a statement and calls emit with the bytes of an Arrow IPC stream,
	// piece by piece. It uses the request's segments and batches until it returns.
	Query(ctx context.Context, req *query.Request, emit func(ipc []byte) error) error
}

// ServerConfig says what a server serves. All fields are required.
type ServerConfig struct {
	// Shards returns an open shard of this node.
	Shards func(id uint32) (*Shard, bool)
	// All returns all of them.
	All    func() []*Shard
	Engine Engine
}

// server is the gRPC service of a shard node: it finds the shard, and turns errors
// into those that gRPC carries.
type server struct {
	shardpb.UnimplementedShardServiceServer
	cfg ServerConfig
	// stored and live hold a place for each tail that reads what is stored, and for each
	// that looks through new rows.
	stored, live chan struct{}
	pins         pins
}

// NewServer returns the gRPC service of a shard node.
func NewServer(cfg ServerConfig) shardpb.ShardServiceServer {
	return &server{cfg: cfg, stored: make(chan struct{}, tailsStored), live: make(chan struct{}, tailsLive)}
}

// Write appends batches to one shard.
func (s *server) Write(ctx context.Context, req *shardpb.WriteRequest) (*shardpb.WriteResponse, error) {
	sh, ok := s.cfg.Shards(req.ShardId)
	if !ok {
		return nil, errs.ToGRPC(unreachable(req.ShardId).WithReason(errs.NotLeader))
	}
	index, need, err := sh.Write(ctx, req.Batches, req.Tables)
	if err != nil {
		return nil, errs.ToGRPC(err)
	}
	return &shardpb.WriteResponse{Index: index, NeedTables: need}, nil
}

func unreachable(id uint32) *errs.Error {
	return errs.New(errs.ShardUnreachable, "shard %d is not open on this node", id)
}

// Analyze tells what a SELECT refers to.
func (s *server) Analyze(ctx context.Context, req *shardpb.AnalyzeRequest) (*shardpb.AnalyzeResponse, error) {
	a, err := s.cfg.Engine.Analyze(ctx, req.Sql, req.Database)
	if err != nil {
		return nil, errs.ToGRPC(err)
	}
	resp := &shardpb.AnalyzeResponse{Explain: a.Explain}
	for _, t := range a.Tables {
		resp.Tables = append(resp.Tables, &shardpb.TableName{Database: t.Database, Name: t.Name})
	}
	return resp, nil
}

// Query runs one SELECT over the shards' rows and the tables given inline.
func (s *server) Query(req *shardpb.QueryRequest, stream grpc.ServerStreamingServer[shardpb.QueryChunk]) error {
	ctx := stream.Context()
	tables, release, err := s.tables(ctx, req.Tables)
	if err != nil {
		return errs.ToGRPC(err)
	}
	defer release()
	if err := leaveOut(req, tables, stream); err != nil {
		return errs.ToGRPC(err)
	}
	return errs.ToGRPC(s.examine(ctx, req, s.cfg.Engine.Query(ctx, &query.Request{
		SQL: req.Sql, Database: req.Database, Tables: tables, Limit: req.Limit, Timezone: req.Timezone,
	}, func(ipc []byte) error {
		for len(ipc) > 0 {
			n := min(len(ipc), chunkBytes)
			if err := stream.Send(&shardpb.QueryChunk{ArrowIpc: ipc[:n]}); err != nil {
				return err
			}
			ipc = ipc[n:]
		}
		return nil
	})))
}

// tables gives the engine what the query may read. Tables of one shard are seen at
// one index of its log. release must be called when the engine is done.
func (s *server) tables(ctx context.Context, list []*shardpb.QueryTable) (tables []query.Table, release func(), err error) {
	byShard := map[uint32][]uint64{}
	for _, t := range list {
		if t.Name == nil || t.Table == nil {
			return nil, nil, errs.New(errs.InvalidArguments, "query: a table lacks its name or its definition")
		}
		if !t.Inline {
			byShard[t.ShardId] = append(byShard[t.ShardId], t.Table.Id)
		}
	}
	views := make(map[uint32]*View, len(byShard))
	release = func() {
		for _, v := range views {
			v.Close()
		}
	}
	for id, ids := range byShard {
		v, err := s.view(ctx, id, ids)
		if err != nil {
			release()
			return nil, nil, err
		}
		views[id] = v
	}
	inline := 0
	for _, t := range list {
		qt := query.Table{Database: t.Name.Database, Name: t.Name.Name, Schema: schema.FromProto(t.Table), ExpiredBefore: t.ExpiredBefore}
		if t.Inline {
			if qt.Batches, err = decodeInline(t, &inline); err != nil {
				release()
				return nil, nil, err
			}
		} else {
			show(&qt, views[t.ShardId], t.Table.Id)
		}
		tables = append(tables, qt)
	}
	return tables, release, nil
}

// show lets the table of a query have the rows of a view.
func show(qt *query.Table, v *View, tableID uint64) {
	// The shard knows what was written before the table came to merge in another way; a
	// definition that it has not heard of yet changes nothing that was written.
	var known bool
	if qt.Merge, qt.Eras, known = v.Merging(tableID); !known {
		qt.Merge = query.MergeOf(qt.Schema)
	}
	qt.Batches = v.Batches(tableID)
	for _, seg := range v.Segments(tableID) {
		qt.Segments = append(qt.Segments, querySegment(qt.Schema, seg))
	}
}

// view waits for a shard to be ready and returns a view of it.
func (s *server) view(ctx context.Context, id uint32, tableIDs []uint64) (*View, error) {
	sh, err := s.ready(ctx, id)
	if err != nil {
		return nil, err
	}
	v := sh.ReadView(tableIDs...)
	if v == nil {
		return nil, unreachable(id)
	}
	return v, nil
}

// ready waits for a shard to be ready to read.
func (s *server) ready(ctx context.Context, id uint32) (*Shard, error) {
	sh, ok := s.cfg.Shards(id)
	if !ok {
		return nil, unreachable(id)
	}
	if !sh.Ready() {
		wait, cancel := context.WithTimeout(ctx, readyWait)
		defer cancel()
		if err := sh.WaitReady(wait); err != nil {
			return nil, errs.Wrap(errs.ShardNotReady, err, "query: shard %d is not ready to read", id).WithRetryAfter(time.Second)
		}
	}
	return sh, nil
}

func querySegment(table *schema.Table, seg Segment) query.Segment {
	q := query.Segment{
		Path: seg.Path, Damaged: seg.Damaged, Shared: seg.Shared(), Order: seg.Order, Rows: seg.Span.Rows, MinTime: seg.Span.MinTime, MaxTime: seg.Span.MaxTime,
		Columns: make([]query.SegmentColumn, 0, len(seg.Columns)),
	}
	for i := range seg.Columns {
		c := &seg.Columns[i]
		if !seg.Shared() || hasColumn(table, c) {
			q.Columns = append(q.Columns, query.SegmentColumn{ID: c.ID, FieldID: c.FieldID, Name: c.Name, Type: c.Type})
		}
	}
	return q
}

// hasColumn tells whether a column of a shared segment is one of the table's, and not
// one of another table that has the same id.
func hasColumn(table *schema.Table, c *segment.Column) bool {
	if c.ID == schema.DeletedColumnID {
		return true
	}
	have := table.Column(c.TableName())
	return have != nil && have.ID == c.ID && have.Type == c.Type && have.Semantic == c.Semantic
}

// decodeInline decodes the batches of an inline table; total counts their bytes.
func decodeInline(t *shardpb.QueryTable, total *int) ([]*column.Batch, error) {
	var out []*column.Batch
	for i, data := range t.InlineBatches {
		size, err := column.InflatedSize(data)
		if *total += size; err == nil && *total > maxInlineBytes {
			err = fmt.Errorf("the inline tables have more than %d bytes", maxInlineBytes)
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
