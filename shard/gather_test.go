package shard

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/proto/words"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/object"
	"cordwood/shard/query/engine"
	"cordwood/shard/query/spool"
	"cordwood/shard/server"
	"cordwood/shard/shardclient"
)

// testNode is a node with shards and an engine.
type testNode struct {
	mu     sync.RWMutex // guards the shards that the server reads
	shards []*opened
	spool  *spool.Dir
	srv    *grpc.Server
	engine *heldEngine
	// metrics are the metrics of the server.
	metrics *prometheus.Registry
}

// testNodes are nodes connected in memory. Each shard is on one of them.
type testNodes struct {
	t      *testing.T
	dir    string
	nodes  map[string]*testNode
	conns  map[string]*grpc.ClientConn
	client *shardclient.Client
	scans  atomic.Int64 // of shards of other nodes
}

func newTestNodes(t *testing.T, place map[string][]uint32) *testNodes {
	return newTieredNodes(t, place, nil)
}

// newTieredNodes is like newTestNodes. With a bucket, old rows are moved to it, but only by opened.move.
func newTieredNodes(t *testing.T, place map[string][]uint32, b bucket.Bucket) *testNodes {
	c := &testNodes{t: t, dir: t.TempDir(), nodes: map[string]*testNode{}, conns: map[string]*grpc.ClientConn{}}
	config := shardclient.Config{
		ReadWait: 300 * time.Millisecond,
		Replicas: func(id uint32) []string {
			for node, ids := range place {
				if slices.Contains(ids, id) {
					return []string{node}
				}
			}
			return nil
		},
		Dial:  func(id string) (grpc.ClientConnInterface, error) { return c.conns[id], nil },
		Nodes: func() (ids []string) { return slices.Sorted(func(yield func(string) bool) { eachKey(place, yield) }) },
	}
	c.client = shardclient.New(config)
	for id, shards := range place {
		n := &testNode{metrics: prometheus.NewRegistry()}
		for _, shard := range shards {
			cfg := testConfig(t)
			cfg.ID, cfg.NodeID, cfg.Dir = shard, id, filepath.Join(c.dir, id, fmt.Sprint(shard))
			cfg.Peers = func(id string) (grpc.ClientConnInterface, error) { return c.conns[id], nil }
			if b != nil {
				cfg = tiered(cfg, b)
				cfg.Tier.LocalFor = time.Nanosecond
				cfg.mergedBytes = 1
			}
			n.shards = append(n.shards, openShard(t, cfg))
		}
		var err error
		if n.spool, err = spool.Open(filepath.Join(c.dir, id, "spool"), 64<<20, 64<<20); err != nil {
			t.Fatal(err)
		}
		e, err := engine.Open(engine.Config{MemoryLimit: 256 << 20, Threads: 1, Dirs: []string{filepath.Join(c.dir, id)}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		n.engine = &heldEngine{Engine: e}
		var reader *object.Reader
		if b != nil {
			reader = testReader(t, filepath.Join(c.dir, id, "cache"), b)
		}
		client := shardclient.New(config)
		n.srv = grpc.NewServer()
		shardpb.RegisterShardServiceServer(n.srv, server.New(server.Config{
			Shards: server.Find(func(id uint32) (*Shard, bool) {
				n.mu.RLock()
				defer n.mu.RUnlock()
				for _, s := range n.shards {
					if s.ID() == id {
						return s.Shard, true
					}
				}
				return nil, false
			}),
			All: func() []server.Shard { return nil }, Engine: n.engine, Spool: n.spool, Cold: reader,
			KeptAnswers: 4 << 20, ClusterVersion: func() uint32 { return metapb.MaxProtocol },
			Registerer: n.metrics, Name: func(node string) string { return "node-" + node },
			Ask: func(ctx context.Context, req *shardpb.QueryRequest) (server.ScanReader, error) {
				r, err := client.Ask(ctx, req)
				if err != nil {
					return nil, err
				}
				return r, nil
			},
			Scan: func(ctx context.Context, nodes []string, req *shardpb.ScanRequest) (server.ScanReader, error) {
				c.scans.Add(1)
				r, err := client.Scan(ctx, nodes, req)
				if err != nil {
					return nil, err
				}
				return r, nil
			},
		}))
		lis := bufconn.Listen(1 << 20)
		go func() { _ = n.srv.Serve(lis) }()
		t.Cleanup(n.srv.Stop)
		conn, err := grpc.NewClient("passthrough:///"+id, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		c.nodes[id], c.conns[id] = n, conn
	}
	return c
}

func eachKey(m map[string][]uint32, yield func(string) bool) {
	for k := range m {
		if !yield(k) {
			return
		}
	}
}

// reopen simulates a crash of a shard and opens it again, while other nodes may ask for it.
func (c *testNodes) reopen(id uint32) {
	c.t.Helper()
	s := c.shard(id)
	again := s.reopen()
	n := c.nodes[s.cfg.NodeID]
	n.mu.Lock()
	defer n.mu.Unlock()
	*s = *again
}

func (c *testNodes) shard(id uint32) *opened {
	for _, n := range c.nodes {
		for _, s := range n.shards {
			if s.ID() == id {
				return s
			}
		}
	}
	c.t.Fatalf("no shard %d", id)
	return nil
}

// ask runs a statement and returns its rows, sorted unless the statement orders them.
func (c *testNodes) ask(req *shardpb.QueryRequest) (rows, partial []string, err error) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 60*time.Second)
	defer cancel()
	body, err := c.client.Query(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	defer body.Close()
	if p, ok := body.(interface{ Missing() []words.Missing }); ok {
		for _, missing := range p.Missing() {
			partial = append(partial, missing.String())
		}
	}
	r, err := ipc.NewReader(body)
	if err != nil {
		return nil, nil, err
	}
	defer r.Release()
	for r.Next() {
		rec := r.RecordBatch()
		for row := range int(rec.NumRows()) {
			values := make([]string, rec.NumCols())
			for i := range values {
				if values[i] = "NULL"; !rec.Column(i).IsNull(row) {
					values[i] = rec.Column(i).ValueStr(row)
				}
			}
			rows = append(rows, strings.Join(values, "|"))
		}
	}
	if !strings.Contains(req.Sql, "ORDER BY") {
		slices.Sort(rows)
	}
	return rows, partial, r.Err()
}

// wideDef returns a table with every kind of column, whose writes go to the given shards.
func wideDef(id uint64, name string, options map[string]string, shards ...uint32) *schemapb.Table {
	d := &schemapb.Table{
		Id: id, Database: "public", Name: name, Version: 1, MinWriterVersion: 1, Options: options,
		Placement: []*schemapb.Placement{{Epoch: 1, ShardId: shards[0], MoreShards: shards[1:]}},
	}
	add := func(name string, typ schemapb.Type, semantic schemapb.Semantic) {
		d.Columns = append(d.Columns, &schemapb.Column{
			Id: uint32(len(d.Columns) + 1), Name: name, Type: typ, Semantic: semantic,
			NotNull: semantic == schemapb.Semantic_SEMANTIC_TIMESTAMP,
		})
	}
	add("ts", schemapb.Type_TYPE_TIMESTAMP_NANOSECOND, schemapb.Semantic_SEMANTIC_TIMESTAMP)
	add("host", schemapb.Type_TYPE_STRING, schemapb.Semantic_SEMANTIC_TAG)
	add("n", schemapb.Type_TYPE_INT64, schemapb.Semantic_SEMANTIC_FIELD)
	add("f", schemapb.Type_TYPE_FLOAT64, schemapb.Semantic_SEMANTIC_FIELD)
	add("s", schemapb.Type_TYPE_STRING, schemapb.Semantic_SEMANTIC_FIELD)
	add("ok", schemapb.Type_TYPE_BOOLEAN, schemapb.Semantic_SEMANTIC_FIELD)
	add("j", schemapb.Type_TYPE_JSON, schemapb.Semantic_SEMANTIC_FIELD)
	add("u8", schemapb.Type_TYPE_UINT8, schemapb.Semantic_SEMANTIC_FIELD)
	add("u64", schemapb.Type_TYPE_UINT64, schemapb.Semantic_SEMANTIC_FIELD)
	add("bin", schemapb.Type_TYPE_BINARY, schemapb.Semantic_SEMANTIC_FIELD)
	add("sec", schemapb.Type_TYPE_TIMESTAMP_SECOND, schemapb.Semantic_SEMANTIC_FIELD)
	add("ms", schemapb.Type_TYPE_TIMESTAMP_MILLISECOND, schemapb.Semantic_SEMANTIC_FIELD)
	add("us", schemapb.Type_TYPE_TIMESTAMP_MICROSECOND, schemapb.Semantic_SEMANTIC_FIELD)
	add("f32", schemapb.Type_TYPE_FLOAT32, schemapb.Semantic_SEMANTIC_FIELD)
	d.NextColumnId = uint32(len(d.Columns) + 1)
	return d
}

// wideRows returns the rows of a table of wideDef with the given numbers.
func wideRows(rng *rand.Rand, d *schemapb.Table, seq uint64, numbers []int) []byte {
	b := &column.Builder{}
	var cols []*column.Col
	table := schema.FromProto(d)
	for _, c := range table.Columns {
		cols = append(cols, b.Add(c))
	}
	for row, i := range numbers {
		cols[0].SetInt(row, 1_700_000_000_000_000_000+int64(i)*int64(time.Minute))
		cols[1].SetString(row, fmt.Sprintf("h%d", i%7))
		for k, col := range cols[2:] {
			if rng.IntN(5) == 0 {
				col.SetNull(row)
				continue
			}
			switch col.Type {
			case schema.String:
				col.SetString(row, fmt.Sprintf("text %d", rng.IntN(40)))
			case schema.JSON:
				col.SetString(row, fmt.Sprintf(`{"a":%d}`, rng.IntN(9)))
			case schema.Binary:
				col.SetBytes(row, []byte{0, 255, byte(rng.IntN(256))})
			case schema.Float64, schema.Float32:
				col.SetFloat(row, float64(rng.IntN(1000))/8)
			case schema.Boolean:
				col.SetInt(row, int64(rng.IntN(2)))
			case schema.Uint8:
				col.SetInt(row, int64(rng.IntN(256)))
			default:
				col.SetInt(row, rng.Int64N(1e9)+int64(k))
			}
		}
		b.EndRow()
	}
	return b.Encode(nil, column.Header{TableID: d.Id, Epoch: 1, SchemaVersion: 1, Session: 5 + d.Id, Seq: seq})
}

// write puts a batch into a shard.
func (c *testNodes) write(id uint32, batch []byte, d *schemapb.Table) {
	c.t.Helper()
	if _, need, err := c.shard(id).Write(context.Background(), [][]byte{batch}, []*schemapb.Table{d}); err != nil ||
		len(need) > 0 {
		c.t.Fatal(need, err)
	}
}

func tableOf(d *schemapb.Table, shard uint32, more ...uint32) *shardpb.QueryTable {
	return &shardpb.QueryTable{
		Name: &shardpb.TableName{Database: d.Database, Name: d.Name}, Table: d, ShardId: shard, MoreShards: more,
	}
}

// TestSpreadTablesAnswerAlike runs statements on tables in one shard, and on tables with the same
// rows spread over the shards of three nodes. The answers must be the same.
func TestSpreadTablesAnswerAlike(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	c := newTestNodes(t, map[string][]uint32{"a": {1, 4}, "b": {2}, "c": {3, 9}})
	appends := map[string]string{"append_mode": "true"}
	spread, whole := wideDef(1, "logs", appends, 1, 2, 3, 4), wideDef(1, "logs", appends, 9)
	merged, mergedWhole := wideDef(2, "state", nil, 2), wideDef(2, "state", nil, 9)
	var numbers []int
	for seq := range uint64(60) {
		numbers = numbers[:0]
		for range 1 + rng.IntN(40) {
			numbers = append(numbers, rng.IntN(3000))
		}
		state := rng.Uint64()
		rows := func(d *schemapb.Table) []byte { return wideRows(rand.New(rand.NewPCG(state, 0)), d, seq+1, numbers) }
		c.write(uint32(1+rng.IntN(4)), rows(spread), spread)
		c.write(9, rows(whole), whole)
		c.write(2, rows(merged), merged)
		c.write(9, rows(mergedWhole), mergedWhole)
		if rng.IntN(10) == 0 {
			c.shard(uint32(1 + rng.IntN(4))).flush()
		}
	}
	statements := []string{
		"SELECT * FROM logs",
		"SELECT count(*) FROM logs",
		"SELECT host, count(*), sum(n), avg(f), min(s), max(u64), bool_or(ok) FROM logs GROUP BY host",
		"SELECT * FROM logs ORDER BY ts, host, n, f, s, u64, us LIMIT 50",
		"SELECT ts FROM logs ORDER BY ts DESC LIMIT 10",
		"SELECT s, n FROM logs WHERE ts >= '2023-11-15 00:00:00' AND ts < '2023-11-15 12:00:00' AND host = 'h3'",
		"SELECT count(*) FROM logs WHERE s = 'text 3' OR u8 IN (1, 2, 3, 4)",
		"SELECT s FROM logs WHERE s IN ('text 3', 'text 4') AND n IS NOT NULL",
		"SELECT j, sec, ms, us, bin, f32 FROM logs WHERE ok",
		"SELECT date_trunc('hour', ts) h, count(*) FROM logs GROUP BY h",
		"SELECT a.host, count(*) FROM logs a JOIN state b ON a.host = b.host AND a.ts = b.ts WHERE b.host = 'h1' " +
			"GROUP BY a.host",
		"SELECT * FROM state",
		"SELECT host, count(*), sum(n) FROM state WHERE ts > '2023-11-15' GROUP BY host",
		"SELECT count(*) FROM logs WHERE ts IN (SELECT ts FROM state WHERE n > 500000000)",
		"WITH x AS (SELECT host, max(ts) m FROM logs GROUP BY host) SELECT * FROM x, state WHERE state.ts = x.m AND " +
			"state.host = x.host",
		"SELECT count(*) FROM logs WHERE false",
		"SELECT count(*) FROM logs WHERE ts > now()",
		"SELECT max(ts), min(ts) FROM logs",
		"SELECT logs.host FROM logs WHERE logs.n = 5 OR logs.host <> 'h1'",
	}
	for _, sql := range statements {
		want, _, err := c.ask(&shardpb.QueryRequest{
			Sql:      sql,
			Database: "public",
			Tables:   []*shardpb.QueryTable{tableOf(whole, 9), tableOf(mergedWhole, 9)},
		})
		if err != nil {
			t.Errorf("%s: in one shard: %v", sql, err)
			continue
		}
		for _, expired := range []bool{false, true} {
			tables := []*shardpb.QueryTable{tableOf(spread, 1, 2, 3, 4), tableOf(merged, 2)}
			if expired {
				all := []*shardpb.QueryTable{tableOf(whole, 9), tableOf(mergedWhole, 9)}
				before := 1_700_000_000_000_000_000 + 900*int64(time.Minute)
				for _, qt := range append(all, tables...) {
					qt.ExpiredBefore = &before
				}
				if want, _, err = c.ask(&shardpb.QueryRequest{Sql: sql, Database: "public", Tables: all}); err != nil {
					t.Fatal(err)
				}
			}
			got, _, err := c.ask(&shardpb.QueryRequest{Sql: sql, Database: "public", Tables: tables})
			if err != nil {
				t.Errorf("%s: spread: %v", sql, err)
			} else if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", sql, diff)
			}
		}
	}
	for id, n := range c.nodes {
		if n.spool.Used() != 0 {
			t.Errorf("node %s: %d bytes were left in the spool", id, n.spool.Used())
		}
	}
	// Faults in statements are reported as usual.
	_, _, err := c.ask(&shardpb.QueryRequest{
		Sql:      "SELECT nothing FROM logs",
		Database: "public",
		Tables:   []*shardpb.QueryTable{tableOf(spread, 1, 2, 3, 4)},
	})
	if errs.CodeOf(err) != errs.ColumnNotFound {
		t.Errorf("a column that does not exist: %v", err)
	}
}

// TestMissingShard checks that a missing shard is an error, unless partial answers are allowed. A
// partial answer must be marked as partial.
func TestMissingShard(t *testing.T) {
	t.Parallel()
	c := newTestNodes(t, map[string][]uint32{"a": {1}, "b": {2}})
	d := wideDef(1, "logs", map[string]string{"append_mode": "true"}, 1, 2)
	rng := rand.New(rand.NewPCG(1, 2))
	c.write(1, wideRows(rng, d, 1, []int{1, 2, 3}), d)
	c.write(2, wideRows(rng, d, 1, []int{4, 5}), d)
	req := func(partial bool) *shardpb.QueryRequest {
		return &shardpb.QueryRequest{
			Sql: "SELECT count(*) FROM logs", Database: "public", AllowPartial: partial,
			Tables: []*shardpb.QueryTable{tableOf(d, 1, 2)},
		}
	}
	if rows, partial, err := c.ask(req(true)); err != nil || len(partial) != 0 || !slices.Equal(rows, []string{"5"}) {
		t.Fatal(rows, partial, err)
	}
	c.nodes["b"].srv.Stop()
	rows, partial, err := c.ask(req(true))
	if err != nil || !slices.Equal(rows, []string{"3"}) || len(partial) != 1 || !strings.Contains(partial[0], "shard 2") {
		t.Fatal(rows, partial, err)
	}
	plain := req(true)
	plain.Sql = "SELECT ts FROM logs"
	rows, partial, err = c.ask(plain)
	if err != nil || len(rows) != 3 || len(partial) != 1 || !strings.Contains(partial[0], "shard 2") {
		t.Fatal(rows, partial, err)
	}
	if _, _, err := c.ask(req(false)); errs.CodeOf(err) != errs.ShardUnreachable || errs.From(err).Status() != 503 ||
		!strings.Contains(err.Error(), "shard 2") {
		t.Fatal(err)
	}
	left := req(false)
	left.Tables[0].LeftOut = []uint32{2}
	if rows, partial, err := c.ask(left); err != nil || !slices.Equal(rows, []string{"3"}) || len(partial) != 1 {
		t.Fatal(rows, partial, err)
	}
}

// TestOutdatedTable sends a query of a router that could not read the metadata. A shard that knows
// a newer definition must refuse the query, whichever node runs it, because rows may be in other
// shards.
func TestOutdatedTable(t *testing.T) {
	t.Parallel()
	c := newTestNodes(t, map[string][]uint32{"a": {1}, "b": {2}})
	d := wideDef(1, "logs", map[string]string{"append_mode": "true"}, 1, 2)
	rng := rand.New(rand.NewPCG(1, 2))
	c.write(1, wideRows(rng, d, 1, []int{1, 2, 3}), d)
	c.write(2, wideRows(rng, d, 1, []int{4, 5}), d)
	req := func(unchecked bool) *shardpb.QueryRequest {
		return &shardpb.QueryRequest{
			Sql: "SELECT count(*) FROM logs", Database: "public", Unchecked: unchecked, AllowPartial: true,
			Tables: []*shardpb.QueryTable{tableOf(d, 1, 2)},
		}
	}
	known := func(unchecked bool, what string) {
		t.Helper()
		if rows, partial, err := c.ask(req(unchecked)); err != nil || len(partial) != 0 ||
			!slices.Equal(rows, []string{"5"}) {
			t.Fatal(what, rows, partial, err)
		}
	}
	known(true, "nothing was changed")
	for _, id := range []uint32{2, 1} {
		moved := proto.CloneOf(d)
		moved.Version++
		moved.Placement = append(moved.Placement, &schemapb.Placement{Epoch: 2, ShardId: 3})
		if err := c.shard(id).DefineTable(t.Context(), moved); err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.ask(req(true)); errs.ReasonOf(err) != errs.SchemaStale || errs.From(err).Status() != 503 {
			t.Fatalf("shard %d knows that the table was moved: %v", id, err)
		}
		known(false, "the error of a router that has read the metadata asks for nothing more")
	}
}
