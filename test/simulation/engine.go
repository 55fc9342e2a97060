package simulation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"cordwood/proto/errs"
	"cordwood/shard/query"
	"cordwood/shard/server"
	"cordwood/shard/store"
)

// rowEngine takes the place of the SQL engine. It answers the statements of query.go, and the scans of rows that are
// fetched. It reads the segments and batches that the service of shards gives it.
type rowEngine struct {
	node *Node

	mu sync.Mutex
	// segments are the segments of all views, by path. Requests do not contain the manifest's description of a segment.
	segments map[string]store.Segment
}

// errNotUsed is the error of functions that the simulation does not call.
var errNotUsed = errs.New(errs.Unsupported, "the simulation does not use it")

// Analyze reports that a statement is no EXPLAIN, so it is run. The tables are in the requests.
func (e *rowEngine) Analyze(context.Context, string, string) (*query.Analysis, error) {
	return &query.Analysis{Runs: true}, nil
}

func (e *rowEngine) Describe(context.Context, *query.Request) (*query.Description, error) {
	return nil, errNotUsed
}

// Needs returns the columns that splitRows reads.
func (e *rowEngine) Needs(_ context.Context, req *query.Request) (out []query.Need, err error) {
	for i := range req.Tables {
		t := &req.Tables[i]
		n := query.Need{
			Name: query.TableName{Database: t.Database, Name: t.Name}, Columns: []string{"ts", "writer", "number"},
		}
		for _, name := range n.Columns {
			n.IDs = append(n.IDs, t.Schema.Column(name).ID)
		}
		out = append(out, n)
	}
	return out, nil
}

// Split adds up the counts of the nodes.
func (e *rowEngine) Split(_ context.Context, req *query.Request) (*query.Split, error) {
	if req.SQL != splitRows {
		return &query.Split{Reason: "the statement fetches rows", Cause: "form"}, nil
	}
	t := &req.Tables[0]
	return &query.Split{
		Table: query.TableName{Database: t.Database, Name: t.Name}, Worker: splitRows, Final: splitRows, Kind: "aggregate",
		Lasting: true, Combine: &query.Combine{
			Groups: 2, How: []query.How{query.Sum}, Columns: []int{0, 1, 2}, Names: []string{"writer", "number", "count"},
		},
	}, nil
}

// Query counts the rows of the request. The answer to a scan are the rows themselves.
func (e *rowEngine) Query(_ context.Context, req *query.Request, emit func(ipc []byte) error) error {
	if req.Part {
		e.node.cluster.parts.Add(1)
	}
	rows := map[rowID]int{}
	if req.Partials != nil {
		for _, stream := range req.Partials.Streams {
			if err := addCounts(bytes.NewReader(stream), rows); err != nil {
				return err
			}
		}
	}
	for i := range req.Tables {
		t := &req.Tables[i]
		for k := range t.Segments {
			if err := e.readSegment(t, &t.Segments[k], rows); err != nil {
				return err
			}
		}
		for _, b := range t.Batches {
			count(b, t.Schema, rows)
		}
	}
	if req.SQL == splitRows || req.SQL == fetchRows {
		return emitCounts(rows, emit)
	}
	return emitRows(rows, emit)
}

func (e *rowEngine) readSegment(t *query.Table, of *query.Segment, rows map[rowID]int) error {
	if of.Damaged != "" {
		return query.DamagedError(t, of)
	}
	e.mu.Lock()
	seg, ok := e.segments[of.Path]
	e.mu.Unlock()
	if !ok {
		return errs.New(errs.Internal, "segment %s is in no view", of.Path)
	}
	if err := readSegment(e.node.disk, &seg, t.Schema, rows); err != nil {
		return errs.Wrap(errs.StorageUnavailable, err, "segment %s", of.Path)
	}
	return nil
}

// served is a shard as the service of shards sees it.
type served struct {
	server.Shard
	engine *rowEngine
}

// ReadView notes the segments of the view for the engine.
func (s served) ReadView(tableIDs ...uint64) *store.View {
	v := s.Shard.ReadView(tableIDs...)
	if v == nil {
		return nil
	}
	s.engine.mu.Lock()
	defer s.engine.mu.Unlock()
	for _, id := range tableIDs {
		for _, seg := range v.Segments(id) {
			s.engine.segments[seg.Path] = seg
		}
	}
	return v
}

// ReadBarrier implements the mutant LeaseQuery.
func (s served) ReadBarrier(ctx context.Context) (uint64, error) {
	if s.engine.node.cluster.mutant == LeaseQuery && s.Leads() {
		return 0, nil
	}
	return s.Shard.ReadBarrier(ctx)
}

// addCounts adds the counts of Arrow IPC streams, one after the other, to the counts of rows.
func addCounts(r *bytes.Reader, into map[rowID]int) error {
	for r.Len() > 0 {
		in, err := ipc.NewReader(r)
		if err != nil {
			return fmt.Errorf("read counts of rows: %w", err)
		}
		for in.Next() {
			rec := in.RecordBatch()
			var of [3]*array.Int64
			for i := range of {
				of[i], _ = rec.Column(i).(*array.Int64)
			}
			for i := range int(rec.NumRows()) {
				into[rowID{of[0].Value(i), of[1].Value(i)}] += int(of[2].Value(i))
			}
		}
		err = in.Err()
		in.Release()
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read counts of rows: %w", err)
		}
	}
	return nil
}

// emitCounts passes on rows with their counts as an Arrow IPC stream.
func emitCounts(rows map[rowID]int, emit func([]byte) error) error {
	integer := arrow.PrimitiveTypes.Int64
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "writer", Type: integer}, {Name: "number", Type: integer}, {Name: "count", Type: integer},
	}, nil))
	for row, n := range rows {
		for i, v := range []int64{row.writer, row.number, int64(n)} {
			b.Field(i).(*array.Int64Builder).Append(v) //nolint:forcetypeassert // see the schema
		}
	}
	return emitBatch(b, emit)
}

// emitRows passes on rows as an Arrow IPC stream. Their times do not matter.
func emitRows(rows map[rowID]int, emit func([]byte) error) error {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "ts", Type: &arrow.TimestampType{Unit: arrow.Nanosecond}},
		{Name: "writer", Type: arrow.PrimitiveTypes.Int64},
		{Name: "number", Type: arrow.PrimitiveTypes.Int64},
	}, nil))
	for row, n := range rows {
		for range n {
			b.Field(0).(*array.TimestampBuilder).Append(1)      //nolint:forcetypeassert // see the schema
			b.Field(1).(*array.Int64Builder).Append(row.writer) //nolint:forcetypeassert // as above
			b.Field(2).(*array.Int64Builder).Append(row.number) //nolint:forcetypeassert // as above
		}
	}
	return emitBatch(b, emit)
}

func emitBatch(b *array.RecordBuilder, emit func([]byte) error) error {
	defer b.Release()
	rec := b.NewRecordBatch()
	defer rec.Release()
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(rec.Schema()))
	if err := errors.Join(w.Write(rec), w.Close()); err != nil {
		return err
	}
	return emit(out.Bytes())
}
