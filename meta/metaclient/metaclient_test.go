package metaclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"cordwood/meta"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schemapb"
)

// gate is a metadata service before the real one that tests can close.
type gate struct {
	metapb.UnimplementedMetaServer
	inner    *meta.Meta
	proposed atomic.Int64
	watches  atomic.Int64

	mu     sync.Mutex
	refuse []error       // errors for the next proposals
	lose   bool          // whether the next proposal is executed and its answer lost
	cut    chan struct{} // when it is closed, watches end
}

func (g *gate) Propose(ctx context.Context, req *metapb.ProposeRequest) (*metapb.ProposeResponse, error) {
	g.proposed.Add(1)
	g.mu.Lock()
	var refusal error
	if len(g.refuse) > 0 {
		refusal, g.refuse = g.refuse[0], g.refuse[1:]
	}
	g.mu.Unlock()
	if refusal != nil {
		return nil, errs.ToGRPC(refusal)
	}
	g.mu.Lock()
	lose := g.lose
	g.lose = false
	g.mu.Unlock()
	resp, err := g.inner.Propose(ctx, req)
	if lose && err == nil {
		return nil, status.Error(codes.Unavailable, "the answer was lost")
	}
	return resp, err
}

func (g *gate) ReadIndex(ctx context.Context, req *metapb.ReadIndexRequest) (*metapb.ReadIndexResponse, error) {
	return g.inner.ReadIndex(ctx, req)
}

func (g *gate) ReadPipelines(
	req *metapb.ReadPipelinesRequest, stream grpc.ServerStreamingServer[metapb.ReadPipelinesResponse],
) error {
	return g.inner.ReadPipelines(req, stream)
}

// cutStream is a stream that breaks when the test wants it.
type cutStream struct {
	grpc.ServerStreamingServer[metapb.WatchResponse]
	ctx context.Context
}

func (c cutStream) Context() context.Context { return c.ctx }

func (g *gate) Watch(req *metapb.WatchRequest, stream grpc.ServerStreamingServer[metapb.WatchResponse]) error {
	g.watches.Add(1)
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	g.mu.Lock()
	cut := g.cut
	g.mu.Unlock()
	go func() {
		select {
		case <-cut:
			cancel()
		case <-ctx.Done():
		}
	}()
	err := g.inner.Watch(req, cutStream{stream, ctx})
	select {
	case <-cut:
		return status.Error(codes.Unavailable, "cut")
	default:
		return err
	}
}

// cutWatches ends the open watches.
func (g *gate) cutWatches() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.cut)
	g.cut = make(chan struct{})
}

type cluster struct {
	t    *testing.T
	gate *gate
	conn *grpc.ClientConn
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	m, err := meta.Open(meta.Config{Dir: t.TempDir(), NodeID: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{inner: m, cut: make(chan struct{})}
	server := grpc.NewServer()
	metapb.RegisterMetaServer(server, g)
	listener := bufconn.Listen(1 << 20)
	go func() { _ = server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///meta", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
		_ = m.Close()
	})
	if err := m.WaitReady(within(t)); err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, gate: g, conn: conn}
	if _, err := New(Config{Conn: conn}).Propose(within(t), &metapb.Command{Op: &metapb.Command_Bootstrap{
		Bootstrap: &metapb.Bootstrap{ClusterId: "c1", Shards: 2, NodeId: "n1"},
	}}); err != nil {
		t.Fatal(err)
	}
	return c
}

// client starts a client and waits until it is ready.
func (c *cluster) client() *Client {
	c.t.Helper()
	client := New(Config{Conn: c.conn})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := client.Run(ctx); err != nil {
			c.t.Errorf("Run returned %v", err)
		}
	}()
	c.t.Cleanup(func() { cancel(); <-done })
	if err := client.WaitReady(within(c.t)); err != nil {
		c.t.Fatal(err)
	}
	return client
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// until waits for the client's view to satisfy a condition.
func until(t *testing.T, c *Client, what string, ok func() bool) {
	t.Helper()
	ctx := within(t)
	for {
		changed := c.Changed()
		if ok() {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("%s did not happen", what)
		}
	}
}

func ensure(database, table string, columns ...string) *metapb.Command {
	d := &metapb.TableDemand{Database: database, Name: table, Columns: []*schemapb.Column{{
		Name: "time", Type: schemapb.Type_TYPE_TIMESTAMP_NANOSECOND, Semantic: schemapb.Semantic_SEMANTIC_TIMESTAMP,
	}}}
	for _, c := range columns {
		d.Columns = append(d.Columns, &schemapb.Column{
			Name: c, Type: schemapb.Type_TYPE_STRING, Semantic: schemapb.Semantic_SEMANTIC_FIELD,
		})
	}
	return &metapb.Command{
		Op: &metapb.Command_EnsureSchema{EnsureSchema: &metapb.EnsureSchema{Tables: []*metapb.TableDemand{d}}},
	}
}

func createDatabase(name string) *metapb.Command {
	return &metapb.Command{Op: &metapb.Command_CreateDatabase{CreateDatabase: &metapb.CreateDatabase{Name: name}}}
}

func dropTable(name string) *metapb.Command {
	return &metapb.Command{Op: &metapb.Command_DropTable{DropTable: &metapb.DropTable{Database: "public", Name: name}}}
}

func rename(from, to string) *metapb.Command {
	return &metapb.Command{Op: &metapb.Command_AlterTable{AlterTable: &metapb.AlterTable{
		Database: "public", Name: from, Change: &metapb.AlterTable_RenameTo{RenameTo: to},
	}}}
}

func propose(t *testing.T, c *Client, cmd *metapb.Command) *metapb.Result {
	t.Helper()
	r, err := c.Propose(within(t), cmd)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func tableNames(c *Client, database string) []string {
	names := []string{}
	for _, t := range c.Tables(database) {
		names = append(names, fmt.Sprintf("%s=%d", t.Name, t.ID))
	}
	return names
}

func TestViewFollowsOthers(t *testing.T) {
	cl := newCluster(t)
	a, b := cl.client(), cl.client()
	if a.ClusterID() != "c1" || len(a.Shards()) != 2 || a.Shards()[0].Id != 1 {
		t.Errorf("cluster %q, shards %v", a.ClusterID(), a.Shards())
	}
	propose(t, a, createDatabase("web"))
	if _, ok := a.Database("web"); !ok {
		t.Error("the proposer does not see its database")
	}
	propose(t, a, ensure("web", "t", "x"))
	table, ok := a.Table("web", "t")
	if !ok || table.ID != 1 || table.Column("x") == nil || table.TimeIndex() == nil {
		t.Fatalf("the proposer sees %+v, %v", table, ok)
	}
	if byID, _ := a.TableByID(1); byID != table {
		t.Error("two states of one table")
	}
	until(t, b, "the table", func() bool { _, ok := b.Table("web", "t"); return ok })
	if d := b.Databases(); len(d) != 2 || d[0].Name != "public" || d[1].Name != "web" {
		t.Errorf("databases are %v", d)
	}
	propose(t, b, &metapb.Command{
		Op: &metapb.Command_RegisterNode{
			RegisterNode: &metapb.RegisterNode{Node: &metapb.Node{Id: "n1", RpcAddr: "x", MaxProtocol: metapb.MaxProtocol}},
		},
	})
	if n := b.Nodes(); len(n) != 1 || n[0].RpcAddr != "x" {
		t.Errorf("nodes are %v", n)
	}
	propose(t, b, &metapb.Command{
		Op: &metapb.Command_DropDatabase{DropDatabase: &metapb.DropDatabase{Name: "web", Cascade: true}},
	})
	if _, ok := b.Database("web"); ok {
		t.Error("the proposer still sees the database it dropped")
	}
	until(t, a, "the drop", func() bool { _, ok := a.Table("web", "t"); return !ok })
	if diff := cmp.Diff([]uint64{1}, a.DroppedTables()); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
}

func TestRenameAndTruncate(t *testing.T) {
	cl := newCluster(t)
	a, b := cl.client(), cl.client()
	propose(t, a, ensure("public", "x"))
	propose(t, a, rename("x", "y"))
	propose(t, a, ensure("public", "x"))
	propose(t, a, &metapb.Command{
		Op: &metapb.Command_TruncateTable{TruncateTable: &metapb.TruncateTable{Database: "public", Name: "y"}},
	})
	want := []string{"x=2", "y=3"}
	if diff := cmp.Diff(want, tableNames(a, "public")); diff != "" {
		t.Errorf("proposer (-want +got):\n%s", diff)
	}
	until(t, b, "the same tables", func() bool { return cmp.Equal(want, tableNames(b, "public")) })
}

func TestRefusals(t *testing.T) {
	cl := newCluster(t)
	c := cl.client()
	_, err := c.Propose(within(t), dropTable("nope"))
	if errs.CodeOf(err) != errs.TableNotFound || errs.ReasonOf(err) != "" {
		t.Errorf("got %v", err)
	}
	propose(t, c, ensure("public", "t", "a"))
	clash := ensure("public", "t", "a")
	clash.GetEnsureSchema().Tables[0].Columns[1].Type = schemapb.Type_TYPE_INT64
	_, err = c.Propose(within(t), clash)
	conflict := (*ConflictError)(nil)
	if !errors.As(err, &conflict) || len(conflict.Conflicts) != 1 || conflict.Conflicts[0].Column != "a" ||
		errs.CodeOf(err) != errs.InvalidArguments {
		t.Errorf("got %v", err)
	}
}

func TestProposeTriesAgain(t *testing.T) {
	cl := newCluster(t)
	c := cl.client()
	busy := errs.New(errs.ShardBusy, "busy").WithReason(errs.Busy)
	unknown := errs.New(errs.StorageUnavailable, "lost").WithReason(errs.OutcomeUnknown)
	refuse := func(errors ...error) {
		cl.gate.mu.Lock()
		defer cl.gate.mu.Unlock()
		cl.gate.refuse = errors
	}
	refuse(busy, errs.New(errs.ShardNotReady, "follower").WithReason(errs.NotLeader), unknown)
	propose(t, c, ensure("public", "t"))
	refuse(busy)
	propose(t, c, createDatabase("web"))
	refuse(unknown)
	propose(t, c, createDatabase("web2"))
	// Without a view it is not known whether the cluster supports proposal ids.
	refuse(unknown)
	if _, err := New(Config{Conn: cl.conn}).Propose(within(t),
		createDatabase("web4")); errs.ReasonOf(err) != errs.OutcomeUnknown {
		t.Errorf("a proposal of unknown outcome that must not be repeated gives %v", err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, cmd := range []*metapb.Command{createDatabase("web3"), ensure("public", "u")} {
		if _, err := c.Propose(ended, cmd); errs.CodeOf(err) != errs.Cancelled {
			t.Errorf("a cancelled proposal gives %v", err)
		}
	}
}

func TestWatchIsRestarted(t *testing.T) {
	cl := newCluster(t)
	a, b := cl.client(), cl.client()
	propose(t, a, ensure("public", "x"))
	until(t, b, "x", func() bool { _, ok := b.Table("public", "x"); return ok })
	watches := cl.gate.watches.Load()
	cl.gate.cutWatches()
	propose(t, a, ensure("public", "y"))
	propose(t, a, dropTable("x"))
	until(t, b, "y without x", func() bool { return cmp.Equal([]string{"y=2"}, tableNames(b, "public")) })
	until(t, a, "the new watch", func() bool { return cl.gate.watches.Load() >= watches+2 })
	if diff := cmp.Diff([]string{"y=2"}, tableNames(a, "public")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestManyClientsAndTables(t *testing.T) {
	cl := newCluster(t)
	clients := []*Client{cl.client(), cl.client(), cl.client()}
	const each = 40
	var wg sync.WaitGroup
	for i, c := range clients {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := range each {
				name := fmt.Sprintf("t%d_%d", i, n)
				if _, err := c.Propose(context.Background(), ensure("public", name)); err != nil {
					t.Error(err)
					return
				}
				if _, ok := c.Table("public", name); !ok {
					t.Errorf("%s is not in the view of its proposer", name)
				}
				if n%10 == 9 {
					cl.gate.cutWatches()
				}
			}
		}()
	}
	wg.Wait()
	for i, c := range clients {
		until(t, c, fmt.Sprintf("all tables at client %d", i), func() bool {
			return len(c.Tables("public")) == each*len(clients)
		})
	}
}

// A command whose answer was lost is executed once, whatever its kind.
func TestLostAnswers(t *testing.T) {
	cl := newCluster(t)
	c := cl.client()
	session := func() *metapb.Command {
		return &metapb.Command{Op: &metapb.Command_RegisterSession{RegisterSession: &metapb.RegisterSession{NodeId: "n1"}}}
	}
	lossy := func(cmd *metapb.Command) *metapb.Result {
		t.Helper()
		cl.gate.mu.Lock()
		cl.gate.lose = true
		cl.gate.mu.Unlock()
		before := cl.gate.proposed.Load()
		r := propose(t, c, cmd)
		if n := cl.gate.proposed.Load() - before; n != 2 {
			t.Errorf("%v: proposed %d times, want 2", cmd, n)
		}
		return r
	}
	lossy(createDatabase("web"))
	if r := lossy(ensure("public", "x", "a")); len(r.Tables) != 1 || len(r.Tables[0].Columns) != 2 {
		t.Errorf("ensure gives %v", r)
	}
	if r := lossy(rename("x", "y")); len(r.Tables) != 1 || r.Tables[0].Name != "y" || r.Tables[0].Version != 2 {
		t.Errorf("rename gives %v", r)
	}
	if first, second := lossy(session()), propose(t, c, session()); first.SessionId != 1 || second.SessionId != 2 {
		t.Errorf("sessions %d and %d, want 1 and 2", first.SessionId, second.SessionId)
	}
	if r := lossy(dropTable("y")); !cmp.Equal(r.DroppedTables, []uint64{1}) {
		t.Errorf("drop gives %v", r)
	}
	if _, err := c.Propose(within(t), dropTable("y")); errs.CodeOf(err) != errs.TableNotFound {
		t.Errorf("the second drop gives %v", err)
	}
}

// TestFresh checks that changes by others are in the view after Fresh.
func TestFresh(t *testing.T) {
	cl := newCluster(t)
	a, b := cl.client(), cl.client()
	for i := range 50 {
		name := fmt.Sprintf("t%d", i)
		propose(t, a, ensure("public", name))
		if err := b.Fresh(within(t)); err != nil {
			t.Fatal(err)
		}
		if _, ok := b.Table("public", name); !ok {
			t.Fatalf("%s is not in the view", name)
		}
	}
}
