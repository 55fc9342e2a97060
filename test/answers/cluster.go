// Package answers runs random statements twice, once unchanged and once in a form that the planner and the fast paths
// cannot analyse, and compares the answers. It also compares the rows of tables with a model of them.
//
// All parts from the SQL service of a router to the files are real and run in this process. So a round depends only
// on its seed, except for the times at which compactions run. Segments are small, because most mistakes of pruning
// appear only where a part is completely on the wrong side of a bound.
package answers

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"cordwood/meta"
	"cordwood/meta/metaclient"
	"cordwood/proto/metapb"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
	"cordwood/router/query"
	"cordwood/router/query/statement"
	"cordwood/router/write"
	"cordwood/shard"
	"cordwood/shard/compaction"
	"cordwood/shard/query/engine"
	"cordwood/shard/query/spool"
	"cordwood/shard/server"
	"cordwood/shard/shardclient"
	"cordwood/shard/store"
)

// groups is the number of shards of a cluster.
const groups = 4

// cluster is a metadata group, the shards of one or two nodes, and a router.
type cluster struct {
	t      testing.TB
	ctx    context.Context
	meta   *metaclient.Client
	writer *write.Writer
	sql    *query.Service
	shards []*shard.Shard
	conns  map[string]*grpc.ClientConn
	// metrics holds the metrics of the nodes' shard servers.
	metrics []*prometheus.Registry
	// askedNodes is the number of calls of a node for parts of queries of another one.
	askedNodes atomic.Int64
}

// newCluster starts a cluster. Tables with less than share bytes of rows in memory share their segments with others.
func newCluster(t testing.TB, nodes int, share int64) *cluster {
	t.Helper()
	c := &cluster{t: t, conns: map[string]*grpc.ClientConn{}}
	c.ctx = access.With(context.Background(), &access.Caller{Sender: access.Everybody()})
	dir := t.TempDir()
	c.openMeta(filepath.Join(dir, "meta"))
	nodeOf := func(id uint32) string { return fmt.Sprint("n", 1+int(id)*nodes/(groups+1)) }
	var ids []string
	for i := range nodes {
		ids = append(ids, fmt.Sprint("n", i+1))
	}
	config := shardclient.Config{
		Replicas: func(id uint32) []string { return []string{nodeOf(id)} },
		Dial:     func(id string) (grpc.ClientConnInterface, error) { return c.conns[id], nil },
		Nodes:    func() []string { return ids },
	}
	for _, node := range ids {
		var shards []uint32
		for id := uint32(1); id <= groups; id++ {
			if nodeOf(id) == node {
				shards = append(shards, id)
			}
		}
		c.openNode(node, filepath.Join(dir, node), shards, share, shardclient.New(config))
	}
	client := shardclient.New(config)
	var err error
	if c.writer, err = write.New(write.Config{
		Meta: c.meta, Shards: client, ClusterVersion: c.meta.ClusterVersion,
	}); err != nil {
		t.Fatal(err)
	}
	if c.sql, err = query.New(query.Config{
		Meta: c.meta, Shards: client, Writer: c.writer, ClusterVersion: c.meta.ClusterVersion,
	}); err != nil {
		t.Fatal(err)
	}
	return c
}

// serve starts a server on an in-memory connection.
func (c *cluster) serve(name string, server *grpc.Server) *grpc.ClientConn {
	c.t.Helper()
	listener := bufconn.Listen(1 << 20)
	go func() { _ = server.Serve(listener) }() // ends with Stop
	c.t.Cleanup(server.Stop)
	conn, err := grpc.NewClient("passthrough:///"+name, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(shardclient.MaxMessageBytes),
			grpc.MaxCallSendMsgSize(shardclient.MaxMessageBytes)),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// openMeta creates a metadata group with one member, and a client of it.
func (c *cluster) openMeta(dir string) {
	c.t.Helper()
	m, err := meta.Open(meta.Config{Dir: dir, NodeID: "n1"})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = m.Close() })
	if err := m.WaitReady(c.ctx); err != nil {
		c.t.Fatal(err)
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(shardclient.MaxMessageBytes))
	metapb.RegisterMetaServer(server, m)
	c.meta = metaclient.New(metaclient.Config{Conn: c.serve("meta", server)})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		_ = c.meta.Run(ctx) // always returns nil
		close(done)
	}()
	c.t.Cleanup(func() {
		cancel()
		<-done
	})
	if err := c.meta.WaitReady(c.ctx); err != nil {
		c.t.Fatal(err)
	}
	_, err = c.meta.Propose(c.ctx, &metapb.Command{Op: &metapb.Command_Bootstrap{Bootstrap: &metapb.Bootstrap{
		ClusterId: "answers", Shards: groups, Replication: 1, NodeId: "n1", ClusterVersion: metapb.MaxProtocol,
	}}})
	if err != nil {
		c.t.Fatal(err)
	}
}

// openNode opens shards with a separate engine.
func (c *cluster) openNode(node, dir string, ids []uint32, share int64, client *shardclient.Client) {
	c.t.Helper()
	open := map[uint32]*shard.Shard{}
	var all []*shard.Shard
	for _, id := range ids {
		s, err := shard.Open(shard.Config{
			Config: store.Config{
				ID: id, Dir: filepath.Join(dir, fmt.Sprint(id)), NodeID: node,
				ShareBytes: share, SplitBytes: 2 * share, Compaction: compaction.NewLimiter(0, 0),
				FailStop: func(err error) { c.t.Errorf("shard %d failed: %v", id, err) },
			},
			Bootstrap: true,
		})
		if err != nil {
			c.t.Fatal(err)
		}
		c.t.Cleanup(func() { _ = s.Close(context.Background()) })
		if err := s.WaitReady(c.ctx); err != nil {
			c.t.Fatal(err)
		}
		open[id], all = s, append(all, s)
	}
	fetched := filepath.Join(dir, "fetched")
	rows, err := spool.Open(fetched, 1<<30, 64<<20)
	if err != nil {
		c.t.Fatal(err)
	}
	e, err := engine.Open(engine.Config{
		MemoryLimit: 512 << 20, Threads: 2, TempDir: filepath.Join(dir, "tmp"), Dirs: []string{dir},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = e.Close() })
	rpc := grpc.NewServer(grpc.MaxRecvMsgSize(shardclient.MaxMessageBytes),
		grpc.MaxSendMsgSize(shardclient.MaxMessageBytes))
	metrics := prometheus.NewRegistry()
	c.metrics = append(c.metrics, metrics)
	shardpb.RegisterShardServiceServer(rpc, server.New(server.Config{
		Shards: func(id uint32) (server.Shard, bool) { s, ok := open[id]; return s, ok },
		All:    server.List(func() []*shard.Shard { return all }),
		Engine: e, Spool: rows, Registerer: metrics, KeptAnswers: 8 << 20,
		ClusterVersion: func() uint32 { return metapb.MaxProtocol },
		Scan: func(ctx context.Context, nodes []string, req *shardpb.ScanRequest) (server.ScanReader, error) {
			r, err := client.Scan(ctx, nodes, req)
			if err != nil {
				return nil, err
			}
			return r, nil
		},
		Ask: func(ctx context.Context, req *shardpb.QueryRequest) (server.ScanReader, error) {
			c.askedNodes.Add(1)
			r, err := client.Ask(ctx, req)
			if err != nil {
				return nil, err
			}
			return r, nil
		},
	}))
	c.conns[node], c.shards = c.serve(node, rpc), append(c.shards, all...)
}

// flush makes all shards write their rows in memory to segments.
func (c *cluster) flush() {
	c.t.Helper()
	for _, s := range c.shards {
		if err := s.Flush(c.ctx); err != nil {
			c.t.Fatal(err)
		}
	}
}

// compact makes all shards merge segments if a merge is worthwhile.
func (c *cluster) compact() {
	c.t.Helper()
	for _, s := range c.shards {
		if err := s.Compact(c.ctx); err != nil {
			c.t.Fatal(err)
		}
	}
}

// answer is the answer to a statement.
type answer struct {
	columns  string // names and types
	rows     [][]string
	affected int64
}

// ask runs a statement.
func (c *cluster) ask(sql string) (out *answer, err error) {
	statements, err := statement.Parse(sql)
	if err != nil {
		return nil, err
	}
	out = &answer{}
	err = c.sql.Execute(c.ctx, query.Request{Statements: statements}, func(_ context.Context, r query.Result) error {
		out.affected += r.AffectedRows
		if r.Rows == nil {
			return nil
		}
		var columns []string
		for _, f := range r.Rows.Schema().Fields() {
			columns = append(columns, f.Name+" "+f.Type.String())
		}
		out.columns = strings.Join(columns, ", ")
		for r.Rows.Next() {
			out.rows = append(out.rows, texts(r.Rows.RecordBatch())...)
		}
		return r.Rows.Err()
	})
	return out, err
}

// must runs a statement that must succeed.
func (c *cluster) must(sql string) *answer {
	c.t.Helper()
	a, err := c.ask(sql)
	if err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
	return a
}

// texts returns the rows of a batch as text.
func texts(rec arrow.RecordBatch) [][]string {
	rows := make([][]string, rec.NumRows())
	for i := range rows {
		for _, column := range rec.Columns() {
			rows[i] = append(rows[i], cellText(column, i))
		}
	}
	return rows
}

// lines joins the cells of each row, and sorts the rows.
func lines(rows [][]string) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = strings.Join(r, " | ")
	}
	slices.Sort(out)
	return out
}
