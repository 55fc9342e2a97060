package shard

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/shard/cold/object"
	"cordwood/shard/query"
	"cordwood/shard/query/engine"
	"cordwood/shard/server"
)

// serve starts the service over the shards and returns a client.
func serve(t *testing.T, engine server.Engine, shards ...*Shard) shardpb.ShardServiceClient {
	t.Helper()
	return serveCold(t, engine, nil, shards...)
}

// serveCold is like serve, with a reader of object storage.
func serveCold(t *testing.T, engine server.Engine, cold *object.Reader, shards ...*Shard) shardpb.ShardServiceClient {
	t.Helper()
	srv := grpc.NewServer()
	shardpb.RegisterShardServiceServer(srv, server.New(server.Config{
		Shards: server.Find(func(id uint32) (*Shard, bool) {
			for _, s := range shards {
				if s.ID() == id {
					return s, true
				}
			}
			return nil, false
		}),
		All: server.List(func() []*Shard { return shards }), Engine: engine, Cold: cold,
	}))
	lis := bufconn.Listen(1 << 20)
	go func() { _ = srv.Serve(lis) }()
	t.Cleanup(srv.Stop)
	conn, err := grpc.NewClient("passthrough:///shard", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return shardpb.NewShardServiceClient(conn)
}

// fakeEngine answers with the request that it received.
type fakeEngine struct {
	err  error
	emit [][]byte
	got  *query.Request
	// shares are the users of the calls, in order.
	shares []string
}

func (f *fakeEngine) Describe(context.Context, *query.Request) (*query.Description, error) {
	return nil, errors.New("no engine")
}

func (f *fakeEngine) Analyze(ctx context.Context, sql, database string) (*query.Analysis, error) {
	f.shares = append(f.shares, query.ShareOf(ctx))
	return &query.Analysis{Tables: []query.TableName{{Database: database, Name: sql}}, Explain: true, Runs: true}, f.err
}

func (f *fakeEngine) Needs(context.Context, *query.Request) ([]query.Need, error) { return nil, f.err }

func (f *fakeEngine) Split(context.Context, *query.Request) (*query.Split, error) {
	return &query.Split{Reason: "a fake"}, f.err
}

func (f *fakeEngine) Query(ctx context.Context, req *query.Request, emit func([]byte) error) error {
	f.got = req
	f.shares = append(f.shares, query.ShareOf(ctx))
	for _, b := range f.emit {
		if err := emit(b); err != nil {
			return err
		}
	}
	return f.err
}

func receive(t *testing.T, c shardpb.ShardServiceClient, req *shardpb.QueryRequest) ([]byte, int, error) {
	t.Helper()
	stream, err := c.Query(wait(t), req)
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for n := 0; ; n++ {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return out, n, nil
		}
		if err != nil {
			return out, n, errs.FromGRPC(err)
		}
		out = append(out, chunk.ArrowIpc...)
	}
}

// TestShare checks that the engine receives the user of the call, in all calls that run SQL of
// clients.
func TestShare(t *testing.T) {
	t.Parallel()
	s := openShard(t, testConfig(t))
	engine := &fakeEngine{}
	c := serve(t, engine, s.Shard)
	if _, err := c.Write(wait(t), &shardpb.WriteRequest{
		ShardId: testShard,
		Batches: [][]byte{batch(head(1, 9, 1), "a")},
		Tables:  []*schemapb.Table{def(1)},
	}); err != nil {
		t.Fatal(err)
	}
	for _, share := range []string{"user ann", ""} {
		engine.shares = nil
		if _, err := c.Analyze(wait(t), &shardpb.AnalyzeRequest{Sql: "t1", Share: share}); err != nil {
			t.Error(err)
		}
		if _, _, err := receive(t, c, &shardpb.QueryRequest{
			Tables: []*shardpb.QueryTable{queryTable(1, testShard)},
			Share:  share,
		}); err != nil {
			t.Error(err)
		}
		scan, err := c.Scan(wait(t), &shardpb.ScanRequest{ShardId: testShard, Table: def(1), Share: share})
		if err == nil {
			_, err = scan.Recv()
		}
		if err != nil && !errors.Is(err, io.EOF) {
			t.Error(err)
		}
		if want := []string{share, share, share}; !slices.Equal(engine.shares, want) {
			t.Errorf("%q, want %q", engine.shares, want)
		}
	}
}

func queryTable(id uint64, shard uint32) *shardpb.QueryTable {
	d := def(id)
	return &shardpb.QueryTable{Name: &shardpb.TableName{Database: d.Database, Name: d.Name}, Table: d, ShardId: shard}
}

func TestServer(t *testing.T) {
	t.Parallel()
	s := openShard(t, testConfig(t))
	engine := &fakeEngine{}
	c := serve(t, engine, s.Shard)
	ctx := wait(t)

	data := batch(head(1, 9, 1), "a")
	resp, err := c.Write(ctx, &shardpb.WriteRequest{ShardId: testShard, Batches: [][]byte{data}})
	if err != nil || len(resp.NeedTables) != 1 || resp.Index != 0 {
		t.Fatalf("first write: %v, %v", resp, err)
	}
	resp, err = c.Write(ctx, &shardpb.WriteRequest{
		ShardId: testShard,
		Batches: [][]byte{data},
		Tables:  []*schemapb.Table{def(1)},
	})
	if err != nil || resp.Index == 0 {
		t.Fatalf("second write: %v, %v", resp, err)
	}
	_, err = c.Write(ctx, &shardpb.WriteRequest{ShardId: 99})
	if err = errs.FromGRPC(err); errs.CodeOf(err) != errs.ShardUnreachable || errs.ReasonOf(err) != errs.NotLeader ||
		!strings.Contains(err.Error(), "shard 99") {
		t.Errorf("write to a shard that is elsewhere: %v", err)
	}
	_, err = c.Write(ctx, &shardpb.WriteRequest{ShardId: testShard, Batches: [][]byte{{1}}})
	if errs.ReasonOf(errs.FromGRPC(err)) != errs.BadBatch {
		t.Errorf("bad batch: %v", err)
	}

	a, err := c.Analyze(ctx, &shardpb.AnalyzeRequest{Sql: "t1", Database: "public"})
	if err != nil || !a.Explain || len(a.Tables) != 1 || a.Tables[0].Name != "t1" || a.Tables[0].Database != "public" {
		t.Errorf("analyze: %v, %v", a, err)
	}

	s.flush()
	s.mustPut(batch(head(1, 9, 2), "b"))
	const chunkBytes = 1 << 20 // the maximum size of a message
	engine.emit = [][]byte{[]byte("head"), bytes.Repeat([]byte("x"), 3*chunkBytes-4)}
	inline := queryTable(2, 0)
	inline.Inline = true
	inline.InlineBatches = [][]byte{batch(head(2, 0, 0), "i", "j")}
	before := int64(5)
	table := queryTable(1, testShard)
	table.ExpiredBefore = &before
	out, chunks, err := receive(t, c, &shardpb.QueryRequest{
		Sql: "select", Database: "d", Limit: 3, Timezone: "UTC", Tables: []*shardpb.QueryTable{table, inline},
	})
	if err != nil || len(out) != 3*chunkBytes || chunks != 4 || !bytes.HasPrefix(out, []byte("headxxx")) {
		t.Errorf("%d bytes in %d chunks, %v", len(out), chunks, err)
	}
	got := engine.got
	if got.SQL != "select" || got.Database != "d" || got.Limit != 3 || got.Timezone != "UTC" || len(got.Tables) != 2 {
		t.Fatalf("request %+v", got)
	}
	one, two := got.Tables[0], got.Tables[1]
	if one.Name != "t1" || one.Schema.ID != 1 || *one.ExpiredBefore != 5 || len(one.Segments) != 1 ||
		len(one.Batches) != 1 {
		t.Errorf("table %+v", one)
	}
	if seg := one.Segments[0]; seg.Rows != 1 || seg.MinTime != 1000 || len(seg.Columns) != 3 ||
		seg.Columns[1] != (query.SegmentColumn{ID: 2, FieldID: 2, Name: "host", Type: schema.String}) {
		t.Errorf("segment %+v", seg)
	}
	if len(two.Batches) != 1 || two.Batches[0].Rows != 2 || two.Segments != nil {
		t.Errorf("inline table %+v", two)
	}

	engine.emit, engine.err = nil, errs.New(errs.PlanQuery, "no such column")
	if _, _, err := receive(t, c, &shardpb.QueryRequest{}); errs.CodeOf(err) != errs.PlanQuery {
		t.Errorf("error of the engine: %v", err)
	}
	engine.err = nil
	if _, _, err := receive(t, c, &shardpb.QueryRequest{
		Tables: []*shardpb.QueryTable{table, queryTable(1, 98)},
	}); errs.CodeOf(err) != errs.ShardUnreachable || !strings.Contains(err.Error(), "shard 98") {
		t.Errorf("query of a shard that is elsewhere: %v", err)
	}
	inline.InlineBatches = [][]byte{{1, 2}}
	if _, _, err := receive(t, c, &shardpb.QueryRequest{Tables: []*shardpb.QueryTable{inline}}); errs.CodeOf(err) !=
		errs.InvalidArguments || !strings.Contains(err.Error(), `inline table "t2": batch 0`) {
		t.Errorf("bad inline batch: %v", err)
	}
	if _, _, err := receive(t, c, &shardpb.QueryRequest{Tables: []*shardpb.QueryTable{{}}}); errs.CodeOf(err) !=
		errs.InvalidArguments {
		t.Errorf("table without a name: %v", err)
	}

	stats, err := c.Stats(ctx, &shardpb.StatsRequest{Segments: true})
	if err != nil || len(stats.Shards) != 1 || len(stats.Shards[0].Segments) != 1 {
		t.Errorf("stats: %v, %v", stats, err)
	}
	s.close()
	if _, _, err := receive(t, c, &shardpb.QueryRequest{Tables: []*shardpb.QueryTable{table}}); err == nil {
		t.Error("query of a closed shard")
	}
}

// TestEngineOverShard checks that the real engine reads memory and segments together.
func TestEngineOverShard(t *testing.T) {
	t.Parallel()
	s := openShard(t, testConfig(t))
	engine, err := engine.Open(engine.Config{
		MemoryLimit: 256 << 20, Threads: 1, TempDir: t.TempDir(), Dirs: []string{s.cfg.Dir},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	c := serve(t, engine, s.Shard)
	text := func(sql string) string {
		t.Helper()
		out, _, err := receive(t, c, &shardpb.QueryRequest{
			Sql:      sql,
			Database: "public",
			Tables:   []*shardpb.QueryTable{queryTable(1, testShard)},
		})
		if err != nil {
			t.Fatal(err)
		}
		r, err := ipc.NewReader(bytes.NewReader(out))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Release()
		var lines []string
		for r.Next() {
			rec := r.RecordBatch()
			for row := range int(rec.NumRows()) {
				var cells []string
				for col := range int(rec.NumCols()) {
					c := rec.Column(col)
					if c.IsNull(row) {
						cells = append(cells, "NULL")
					} else {
						cells = append(cells, c.ValueStr(row))
					}
				}
				lines = append(lines, strings.Join(cells, "|"))
			}
		}
		return strings.Join(lines, " ")
	}
	const all = `select m, host, epoch_ms(ts) from t1 order by ts`
	s.mustPut(batch(head(1, 9, 1), "a", "b"))
	want := "a|h0|1000 b|h1|1001"
	if got := text(all); got != want {
		t.Errorf("in memory: %s", got)
	}
	s.flush()
	if got := text(all); got != want {
		t.Errorf("in a segment: %s", got)
	}
	s.mustPut(batch(head(1, 9, 2), "c"), batch(head(1, 9, 3), "d"))
	if got := text(all); got != want+" c|h0|2000 d|h0|3000" {
		t.Errorf("in both: %s", got)
	}
	if got := text(`select count(*), count(distinct host) from t1 where m <> 'b'`); got != "3|1" {
		t.Errorf("count: %s", got)
	}

	// A column is added whose name differs from another one's only in case.
	wider := def(1)
	wider.Version = 2
	wider.Columns = append(wider.Columns, &schemapb.Column{
		Id: 4, Name: "M", Type: schemapb.Type_TYPE_INT64, Semantic: schemapb.Semantic_SEMANTIC_FIELD,
	})
	var b column.Builder
	sc := schema.FromProto(wider)
	b.Add(sc.Columns[0]).SetInt(0, 9000)
	b.Add(sc.Columns[3]).SetInt(0, 42)
	b.EndRow()
	h := head(1, 9, 4)
	h.SchemaVersion = 2
	if _, need, err := s.Write(wait(t), [][]byte{b.Encode(nil, h)}, []*schemapb.Table{wider}); err != nil || need != nil {
		t.Fatal(need, err)
	}
	s.flush()
	out, _, err := receive(t, c, &shardpb.QueryRequest{
		Sql: `select count(*) from t1`, Database: "public",
		Tables: []*shardpb.QueryTable{
			{Name: &shardpb.TableName{Database: "public", Name: "t1"}, Table: wider, ShardId: testShard},
		},
	})
	if err != nil || len(out) == 0 {
		t.Errorf("after a column was added: %v", err)
	}
	v := s.ReadView(1)
	defer v.Close()
	segs := v.Segments(1)
	var names []string
	for _, col := range segs[len(segs)-1].Columns {
		names = append(names, col.Name)
	}
	if diff := cmp.Diff([]string{"ts", "host", "m", "M#4"}, names); diff != "" {
		t.Error(diff)
	}
}
