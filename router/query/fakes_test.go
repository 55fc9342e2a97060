package query

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
	"cordwood/router/pipeline"
	"cordwood/router/query/format"
	"cordwood/router/query/statement"
	"cordwood/router/write"
)

// fakeMeta is a view of fixed tables. It records the proposed commands.
type fakeMeta struct {
	databases []*schemapb.Database
	tables    []*schema.Table
	shards    []*metapb.Shard
	nodes     []*metapb.Node
	proposed  []*metapb.Command
	pipelines []*metapb.PipelineVersion
	err       error
	// fresh is called by Fresh, unless it is nil.
	fresh func() error
}

func (m *fakeMeta) Fresh(context.Context) error {
	if m.fresh == nil {
		return nil
	}
	return m.fresh()
}

func (m *fakeMeta) Acknowledged(ctx context.Context) error { return m.Fresh(ctx) }

func (m *fakeMeta) Propose(_ context.Context, cmd *metapb.Command) (*metapb.Result, error) {
	m.proposed = append(m.proposed, cmd)
	result := &metapb.Result{}
	if a := cmd.GetAlterTable(); a.GetModifyColumn() != nil {
		if t, ok := m.Table(a.Database, a.Name); ok {
			result.Tables = []*schemapb.Table{t.ToProto()}
		}
	}
	return result, m.err
}

func (m *fakeMeta) Database(name string) (*schemapb.Database, bool) {
	for _, d := range m.databases {
		if d.Name == name {
			return d, true
		}
	}
	return nil, false
}
func (m *fakeMeta) Databases() []*schemapb.Database { return m.databases }
func (m *fakeMeta) Table(database, name string) (*schema.Table, bool) {
	for _, t := range m.tables {
		if t.Database == database && t.Name == name {
			return t, true
		}
	}
	return nil, false
}

func (m *fakeMeta) Tables(database string) []*schema.Table {
	list := slices.DeleteFunc(slices.Clone(m.tables), func(t *schema.Table) bool { return t.Database != database })
	slices.SortFunc(list, func(a, b *schema.Table) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func (m *fakeMeta) TableByID(id uint64) (*schema.Table, bool) {
	for _, t := range m.tables {
		if t.ID == id {
			return t, true
		}
	}
	return nil, false
}
func (m *fakeMeta) Shards() []*metapb.Shard { return m.shards }
func (m *fakeMeta) Nodes() []*metapb.Node   { return m.nodes }

func (m *fakeMeta) Operations() []*metapb.Operation {
	return []*metapb.Operation{{
		Id: 4, Kind: "shard-move", State: metapb.OperationState_OPERATION_STATE_FAILED, ShardId: 2, FromNode: "a",
		Step: "end", Attempt: 2,
		Reason: "no", CreatedUnixNano: 1, EndedUnixNano: 2, DoneBytes: 3, TotalBytes: 4, Parent: 3, RequestedBy: "ann",
	}, {
		Id: 5, Kind: "node-drain", State: metapb.OperationState_OPERATION_STATE_RUNNING, NodeId: "b",
		CreatedUnixNano: 1, RequestedBy: "ann",
	}, {
		Id: 6, Kind: "shard-remove", State: metapb.OperationState_OPERATION_STATE_RUNNING, CreatedUnixNano: 1,
		RequestedBy: "ann",
		Progress:    &metapb.Operation_ShardRemove{ShardRemove: &metapb.ShardRemoveProgress{ShardId: 3}},
	}}
}

func (m *fakeMeta) Status(context.Context) (*metapb.StatusResponse, error) {
	return &metapb.StatusResponse{
		Leader: "a", Members: []*metapb.MemberStatus{{NodeId: "a", Voter: true}},
		Nodes: []*metapb.NodeStatus{{Node: m.nodes[0], SilentNanos: 5e8, Report: &metapb.ReportRequest{
			DiskUsed: 10, DiskCapacity: 20, Replicas: []*metapb.ReplicaReport{
				{ShardId: 2, State: "Leader", SegmentBytes: 7, LogBytes: 1},
			},
		}}},
	}, nil
}

func (m *fakeMeta) EachPipelineText(_ context.Context, f func(*metapb.PipelineVersion, []byte) error) error {
	for _, p := range m.pipelines {
		if err := f(p, []byte("text of "+p.Name)); err != nil {
			return err
		}
	}
	return nil
}

// fakeShards answers with fixed tables and rows, and records the last request.
type fakeShards struct {
	statsErr error
	mu       sync.Mutex
	reads    []*shardpb.TableName
	explain  bool
	stream   []byte
	tail     error // after stream
	err      error
	stats    []*shardpb.ShardStats
	asked    int

	described  *shardpb.DescribeRequest
	running    []*shardpb.RunningQuery
	runningErr error
	killing    *shardpb.KillQueryRequest

	defined  []uint32 // shards that received definitions before a query
	queried  *shardpb.QueryRequest
	analyzed *shardpb.AnalyzeRequest
	closed   bool
	gone     int           // the number of queries that find that a table no longer exists
	newer    int           // the number of unchecked queries that find that a shard knows a newer table
	block    chan struct{} // if set, Query waits for it or its context
}

func (s *fakeShards) Analyze(_ context.Context, req *shardpb.AnalyzeRequest) (*shardpb.AnalyzeResponse, error) {
	s.mu.Lock()
	s.analyzed = req
	s.mu.Unlock()
	return &shardpb.AnalyzeResponse{Tables: s.reads, Explain: s.explain}, s.err
}

func (s *fakeShards) Query(ctx context.Context, req *shardpb.QueryRequest) (io.ReadCloser, error) {
	if s.err != nil {
		return nil, s.err
	}
	s.mu.Lock()
	s.queried = req
	s.gone--
	gone := s.gone >= 0
	newer := false
	if req.Unchecked {
		s.newer--
		newer = s.newer >= 0
	}
	s.mu.Unlock()
	if newer {
		return nil, errs.New(errs.TableUnavailable, "shard 2: table public.logs was changed").WithReason(errs.SchemaStale)
	}
	if gone {
		return nil, errs.New(errs.TableNotFound, "shard 2: table id 1 was dropped").WithReason(errs.TableGone)
	}
	if s.block != nil {
		select {
		case <-s.block:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	r := io.Reader(bytes.NewReader(s.stream))
	if s.tail != nil {
		r = io.MultiReader(r, failing{s.tail})
	}
	return &closer{Reader: r, s: s}, nil
}

func (s *fakeShards) DefineTables(_ context.Context, shard uint32, _ []*schemapb.Table) error {
	if s.queried == nil {
		s.defined = append(s.defined, shard)
	}
	return s.err
}

func (s *fakeShards) Stats(context.Context, *shardpb.StatsRequest) ([]*shardpb.ShardStats, error) {
	s.asked++
	return s.stats, s.statsErr
}

func (s *fakeShards) Describe(_ context.Context, req *shardpb.DescribeRequest) (*shardpb.DescribeResponse, error) {
	s.described = req
	return &shardpb.DescribeResponse{Columns: []*shardpb.AnswerColumn{{Name: "n", Type: "BIGINT"}}}, s.err
}

func (s *fakeShards) Queries(context.Context) ([]*shardpb.RunningQuery, error) {
	return s.running, s.runningErr
}

func (s *fakeShards) KillQuery(_ context.Context, req *shardpb.KillQueryRequest) (killed int, err error) {
	s.killing = req
	for _, q := range s.running {
		if q.QueryId == req.QueryId && (req.Share == "" || req.Share == q.Share) {
			killed++
		}
	}
	return killed, s.runningErr
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

type closer struct {
	io.Reader
	s *fakeShards
}

func (c *closer) Close() error { c.s.closed = true; return nil }

// fakeWriter records the written rows.
type fakeWriter struct {
	out    *pipeline.Output
	keys   []write.Key
	err    error
	rounds int
}

func (w *fakeWriter) WriteKeyed(ctx context.Context, out *pipeline.Output, key write.Key) (write.Result, error) {
	w.keys = append(w.keys, key)
	return w.Write(ctx, out)
}

func (w *fakeWriter) Write(_ context.Context, out *pipeline.Output) (write.Result, error) {
	w.rounds++
	w.out = out
	if w.err != nil {
		return write.Result{}, w.err
	}
	return write.Result{Rows: out.Tables[0].Rows.Rows()}, nil
}

// ipcStream returns a stream with a batch of integers for each count.
func ipcStream(t *testing.T, end bool, counts ...int) []byte {
	t.Helper()
	return columnsStream(t, end, 1, counts...)
}

// twoColumns returns a stream with rows of two integers.
func twoColumns(t *testing.T, rows int) []byte {
	t.Helper()
	return columnsStream(t, true, 2, rows)
}

func columnsStream(t *testing.T, end bool, columns int, counts ...int) []byte {
	t.Helper()
	integer := arrow.PrimitiveTypes.Int64
	fields := []arrow.Field{{Name: "n", Type: integer}, {Name: "last", Type: integer}}
	s := arrow.NewSchema(fields[:columns], nil)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(s))
	v := int64(0)
	for _, n := range counts {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		for range n {
			b.Append(v)
			v++
		}
		values := b.NewArray()
		if err := w.Write(array.NewRecordBatch(s, []arrow.Array{values, values}[:columns], int64(n))); err != nil {
			t.Fatal(err)
		}
	}
	if end {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

var now = time.Date(2024, 5, 6, 7, 8, 9, 123456789, time.UTC)

// world is a service on fakes, with two databases and three tables.
type world struct {
	*Service
	meta   *fakeMeta
	shards *fakeShards
	writer *fakeWriter
}

func newWorld(t *testing.T, change ...func(*Config)) *world {
	t.Helper()
	three := "3"
	w := &world{
		meta: &fakeMeta{
			databases: []*schemapb.Database{
				{Name: "public", CreatedUnixNano: 5},
				{Name: "shop", Options: map[string]string{"ttl": "7days"}, CreatedUnixNano: 6},
			},
			tables: []*schema.Table{
				{
					ID: 1, Database: "public", Name: "logs", Version: 2, CreatedUnixNano: 7,
					Placement: []schema.Placement{{Epoch: 1, ShardID: 2}},
					Options:   map[string]string{"append_mode": "true", "comment": "it's"},
					Columns: []schema.Column{
						{ID: 1, Name: "ts", Type: schema.TimestampMillisecond, Semantic: schema.Timestamp, NotNull: true},
						{ID: 2, Name: "host", Type: schema.String, Semantic: schema.Tag},
						{ID: 3, Name: "n", Type: schema.Int32, Semantic: schema.Field, Default: &three},
						{ID: 4, Name: "ok", Type: schema.Boolean, Semantic: schema.Field},
					},
				},
				{
					ID: 2, Database: "shop", Name: "orders", Version: 1, Placement: []schema.Placement{{Epoch: 1, ShardID: 3}},
					Columns: []schema.Column{
						{ID: 1, Name: "at", Type: schema.TimestampSecond, Semantic: schema.Timestamp, NotNull: true},
					},
				},
				{
					ID: 3, Database: "shop", Name: "gone", Version: 1, Placement: []schema.Placement{{Epoch: 1, ShardID: 3}},
					Options: map[string]string{"ttl": "instant"},
					Columns: []schema.Column{
						{ID: 1, Name: "at", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp, NotNull: true},
					},
				},
			},
			shards: []*metapb.Shard{
				{Id: 2, Incarnation: 1, Replicas: []string{"a", "b"}},
				{Id: 3, Incarnation: 1, Replicas: []string{"a"}, Retiring: true},
			},
			nodes: []*metapb.Node{
				{Id: "a", Name: "alpha", Roles: []string{"router", "shard"}, RpcAddr: "x:1", Version: "v1", RegisteredUnixNano: 8},
			},
		},
		shards: &fakeShards{stream: ipcStream(t, true, 3, 2)},
		writer: &fakeWriter{},
	}
	for _, table := range w.meta.tables {
		table.Index()
	}
	cfg := Config{
		Meta: w.meta, Shards: w.shards, Writer: w.writer, Now: func() time.Time { return now }, Accounts: &fakeUsers{},
	}
	for _, c := range change {
		c(&cfg)
	}
	var err error
	if w.Service, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	return w
}

// run executes a text and returns every result as text: CSV with names, or a number.
func (w *world) run(ctx context.Context, sql string, change ...func(*Request)) (string, error) {
	statements, err := statement.Parse(sql)
	if err != nil {
		return "", err
	}
	req := Request{Statements: statements}
	for _, c := range change {
		c(&req)
	}
	var out strings.Builder
	if ctx.Value(access.CallerKey{}) == nil {
		ctx = access.With(ctx, &access.Caller{Sender: access.Everybody()})
	}
	err = w.Execute(ctx, req, func(_ context.Context, r Result) error {
		if r.Rows == nil {
			out.WriteString("affected " + string(rune('0'+r.AffectedRows)) + "\n")
			return nil
		}
		_, err := format.Write(&out, format.CSVWithNames, r.Rows)
		return err
	})
	return strings.ReplaceAll(out.String(), "\r\n", "\n"), err
}
