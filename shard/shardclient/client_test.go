package shardclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
)

// scripted is a node that answers writes according to a script, and then with its index.
type scripted struct {
	shardpb.UnimplementedShardServiceServer
	mu      sync.Mutex
	script  []any // an error, or []uint64 of needed tables
	got     []*shardpb.WriteRequest
	index   uint64
	defined []*shardpb.DefineTablesRequest
	hold    chan struct{} // if set, writes wait for it or for their context
	asked   int           // counts the arrived writes
	query   func(*shardpb.QueryRequest, grpc.ServerStreamingServer[shardpb.QueryChunk]) error
	tail    func(*shardpb.TailRequest, grpc.ServerStreamingServer[shardpb.TailChunk]) error
	peer    metapb.PeerServer // nil means an older program
}

func (s *scripted) Write(ctx context.Context, req *shardpb.WriteRequest) (*shardpb.WriteResponse, error) {
	s.mu.Lock()
	s.asked++
	s.mu.Unlock()
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-ctx.Done():
			return nil, errs.ToGRPC(ctx.Err())
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, req)
	if len(s.script) > 0 {
		step := s.script[0]
		s.script = s.script[1:]
		switch step := step.(type) {
		case error:
			return nil, errs.ToGRPC(step)
		case rawError:
			return nil, step.err
		case []uint64:
			return &shardpb.WriteResponse{NeedTables: step}, nil
		}
	}
	return &shardpb.WriteResponse{Index: s.index}, nil
}

// rawError is sent without our details, as an error of a broken connection is.
type rawError struct{ err error }

func (s *scripted) DefineTables(_ context.Context,
	req *shardpb.DefineTablesRequest,
) (*shardpb.DefineTablesResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.defined = append(s.defined, req)
	return &shardpb.DefineTablesResponse{Index: s.index}, nil
}

func (s *scripted) Analyze(_ context.Context, req *shardpb.AnalyzeRequest) (*shardpb.AnalyzeResponse, error) {
	return &shardpb.AnalyzeResponse{Explain: req.Sql == "EXPLAIN"}, nil
}

func (s *scripted) Query(req *shardpb.QueryRequest, stream grpc.ServerStreamingServer[shardpb.QueryChunk]) error {
	return s.query(req, stream)
}

func (s *scripted) Stats(context.Context, *shardpb.StatsRequest) (*shardpb.StatsResponse, error) {
	return &shardpb.StatsResponse{Shards: []*shardpb.ShardStats{{ShardId: uint32(s.index)}}}, nil
}

func (s *scripted) writes() []*shardpb.WriteRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// cluster is a set of nodes, reached over connections in memory.
type cluster struct {
	nodes map[string]*scripted
	conns map[string]*grpc.ClientConn
	order []string
}

func newCluster(t *testing.T, nodes ...*scripted) *cluster {
	c := &cluster{nodes: map[string]*scripted{}, conns: map[string]*grpc.ClientConn{}}
	for i, n := range nodes {
		id := fmt.Sprintf("n%d", i+1)
		lis := bufconn.Listen(1 << 20)
		srv := grpc.NewServer(grpc.MaxRecvMsgSize(MaxMessageBytes))
		shardpb.RegisterShardServiceServer(srv, n)
		if n.peer != nil {
			metapb.RegisterPeerServer(srv, n.peer)
		}
		done := make(chan struct{})
		go func() { defer close(done); _ = srv.Serve(lis) }()
		conn, err := grpc.NewClient("passthrough:///"+id, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(); srv.Stop(); <-done })
		c.nodes[id], c.conns[id] = n, conn
		c.order = append(c.order, id)
	}
	return c
}

func (c *cluster) client(t *testing.T, change ...func(*Config)) *Client {
	cfg := Config{
		Replicas: func(uint32) []string { return c.order },
		Nodes:    func() []string { return c.order },
		Dial: func(id string) (grpc.ClientConnInterface, error) {
			if conn, ok := c.conns[id]; ok {
				return conn, nil
			}
			return nil, errors.New("no such node")
		},
		MinBackoff: time.Millisecond, MaxBackoff: 2 * time.Millisecond,
	}
	for _, f := range change {
		f(&cfg)
	}
	return New(cfg)
}

func refuse(r errs.Reason, code errs.Code) error {
	return errs.New(code, "scripted").WithReason(r)
}

var batches = [][]byte{[]byte("batch one"), []byte("batch two")}

func noTables([]uint64) []*schemapb.Table { return nil }

func TestWriteRetriesByType(t *testing.T) {
	busy := errs.New(errs.ShardBusy, "full").WithReason(errs.Busy).WithRetryAfter(time.Millisecond)
	notLeader := refuse(errs.NotLeader, errs.ShardNotReady)
	lost := refuse(errs.OutcomeUnknown, errs.StorageUnavailable)
	cut := rawError{status.Error(codes.Unavailable, "connection cut")}
	tests := []struct {
		name       string
		script     []any
		wantTries  int
		wantReason errs.Reason // reason of the final error; "-" for success
		wantCode   errs.Code
	}{
		{"first try", nil, 1, "-", 0},
		{"no leader yet", []any{notLeader, notLeader}, 3, "-", 0},
		{"busy", []any{busy}, 2, "-", 0},
		{"outcome unknown", []any{lost, lost}, 3, "-", 0},
		{"connection cut", []any{cut}, 2, "-", 0},
		{"shard not opened yet", []any{errs.New(errs.ShardNotReady, "opening")}, 2, "-", 0},
		{
			"stale schema is the caller's",
			[]any{refuse(errs.SchemaStale, errs.RequestOutdated)},
			1, errs.SchemaStale,
			errs.RequestOutdated,
		},
		{
			"wrong epoch is the caller's",
			[]any{refuse(errs.WrongEpoch, errs.RequestOutdated)},
			1, errs.WrongEpoch,
			errs.RequestOutdated,
		},
		{"bad batch", []any{refuse(errs.BadBatch, errs.InvalidArguments)}, 1, errs.BadBatch, errs.InvalidArguments},
		{"table gone", []any{refuse(errs.TableGone, errs.TableNotFound)}, 1, errs.TableGone, errs.TableNotFound},
		{
			"unknown, then stale: the shard knows",
			[]any{lost, refuse(errs.SchemaStale, errs.RequestOutdated)},
			2,
			errs.SchemaStale, errs.RequestOutdated,
		},
		{
			"cut, then elsewhere: the shard knows",
			[]any{cut, notLeader, refuse(errs.WrongEpoch, errs.RequestOutdated)},
			3, errs.WrongEpoch, errs.RequestOutdated,
		},
		{
			"unknown, then refused for itself: still unknown",
			[]any{lost, refuse(errs.BadBatch, errs.InvalidArguments)},
			2, errs.OutcomeUnknown, errs.InvalidArguments,
		},
		{"never a leader", []any{notLeader, notLeader, notLeader, notLeader}, 4, errs.NotLeader, errs.ShardNotReady},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			node := &scripted{script: tt.script, index: 7}
			reported := 0
			cl := newCluster(t, node).client(t, func(c *Config) {
				c.MaxTries = 4
				c.Retrying = func(shard uint32, tries int, err error) {
					if reported++; shard != 3 || tries != reported || err == nil {
						t.Errorf("Retrying was called with try %d of shard %d: %v", tries, shard, err)
					}
				}
			})
			index, err := cl.Write(t.Context(), 3, batches, noTables)
			got := node.writes()
			if len(got) != tt.wantTries {
				t.Errorf("%d tries, want %d", len(got), tt.wantTries)
			}
			if reported != len(got)-1 {
				t.Errorf("%d tries, and %d were reported", len(got), reported)
			}
			for _, req := range got {
				if diff := cmp.Diff(batches, req.Batches); diff != "" || req.ShardId != 3 {
					t.Errorf("a try differs from the first: %s", diff)
				}
			}
			if tt.wantReason == "-" {
				if err != nil || index != 7 {
					t.Fatalf("index %d, err %v", index, err)
				}
				return
			}
			if errs.ReasonOf(err) != tt.wantReason || errs.CodeOf(err) != tt.wantCode {
				t.Fatalf("err %v: reason %q code %d, want %q %d", err, errs.ReasonOf(err), errs.CodeOf(err),
					tt.wantReason, tt.wantCode)
			}
		})
	}
}

func TestWriteFindsAndKeepsTheLeader(t *testing.T) {
	no := refuse(errs.NotLeader, errs.ShardNotReady)
	n1, n2, n3 := &scripted{script: []any{no, no, no}}, &scripted{script: []any{no}}, &scripted{index: 9}
	cl := newCluster(t, n1, n2, n3).client(t)
	for range 3 {
		if index, err := cl.Write(t.Context(), 1, batches, noTables); err != nil || index != 9 {
			t.Fatal(index, err)
		}
	}
	if a, b, c := len(n1.writes()), len(n2.writes()), len(n3.writes()); a != 1 || b != 1 || c != 3 {
		t.Fatalf("tries per node %d %d %d, want 1 1 3", a, b, c)
	}
}

func TestWriteGoesRoundAStalledNode(t *testing.T) {
	stalled, alive := &scripted{hold: make(chan struct{})}, &scripted{index: 2}
	cl := newCluster(t, stalled, alive).client(t, func(c *Config) { c.TryTimeout = 20 * time.Millisecond })
	if index, err := cl.Write(t.Context(), 1, batches, noTables); err != nil || index != 2 {
		t.Fatal(index, err)
	}
}

func TestWriteSendsNeededTables(t *testing.T) {
	node := &scripted{script: []any{[]uint64{4, 5}}, index: 1}
	cl := newCluster(t, node).client(t, func(c *Config) { c.MaxTries = 8 })
	var asked []uint64
	_, err := cl.Write(t.Context(), 1, batches, func(ids []uint64) []*schemapb.Table {
		asked = ids
		return []*schemapb.Table{{Id: 5}, {Id: 4}}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := node.writes(); len(got) != 2 || len(got[0].Tables) != 0 || len(got[1].Tables) != 2 {
		t.Fatalf("writes: %v", got)
	}
	if diff := cmp.Diff([]uint64{4, 5}, asked); diff != "" {
		t.Fatal(diff)
	}

	node.mu.Lock()
	node.script = []any{[]uint64{6}}
	node.mu.Unlock()
	if _, err := cl.Write(t.Context(), 1, batches, noTables); errs.ReasonOf(err) != errs.TableGone {
		t.Fatalf("a table without definition: %v", err)
	}

	node.mu.Lock()
	node.script = nil
	for range 50 {
		node.script = append(node.script, []uint64{4})
	}
	node.mu.Unlock()
	_, err = cl.Write(t.Context(), 1, batches, func([]uint64) []*schemapb.Table { return []*schemapb.Table{{Id: 4}} })
	if errs.ReasonOf(err) != errs.Busy {
		t.Fatalf("a shard that asks for ever: %v", err)
	}
}

func TestWriteKeepsTheDeadline(t *testing.T) {
	node := &scripted{hold: make(chan struct{})}
	cl := newCluster(t, node).client(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err := cl.Write(ctx, 1, batches, noTables)
	if errs.CodeOf(err) != errs.DeadlineExceeded || errs.ReasonOf(err) != errs.OutcomeUnknown {
		t.Fatalf("%v: code %d reason %s", err, errs.CodeOf(err), errs.ReasonOf(err))
	}
}

func TestWriteQueueIsBounded(t *testing.T) {
	node := &scripted{hold: make(chan struct{}), index: 1}
	cl := newCluster(t, node).client(t, func(c *Config) { c.QueueBytes = 10; c.QueueWait = 5 * time.Millisecond })
	leave, err := cl.target(1).queue.enter(t.Context(), "", 10)
	if err != nil {
		t.Fatal(err)
	}
	_, err = cl.Write(t.Context(), 1, batches, noTables)
	if errs.ReasonOf(err) != errs.Busy || errs.CodeOf(err) != errs.ShardBusy || errs.From(err).RetryAfter == 0 {
		t.Fatalf("a full queue: %v", err)
	}
	if n := len(node.writes()); n != 0 {
		t.Fatalf("%d writes were sent", n)
	}
	leave(other)
	close(node.hold)
	if _, err := cl.Write(t.Context(), 1, batches, noTables); err != nil {
		t.Fatal("one larger than the queue, alone:", err)
	}
}

func TestWriteNoReplicaKnown(t *testing.T) {
	cl := newCluster(t).client(t, func(c *Config) { c.MaxTries = 2 })
	if _, err := cl.Write(t.Context(), 1, batches, noTables); errs.From(err).Status() >= 500 &&
		errs.From(err).Status() != 503 || err == nil {
		t.Fatal(err)
	}
}

func TestQueryStreams(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789"), 1000)
	ended := make(chan error, 1)
	node := &scripted{query: func(req *shardpb.QueryRequest, s grpc.ServerStreamingServer[shardpb.QueryChunk]) error {
		switch req.Sql {
		case "bad":
			return errs.ToGRPC(errs.New(errs.InvalidSyntax, "near bad"))
		case "endless":
			for {
				if err := s.Send(&shardpb.QueryChunk{ArrowIpc: want}); err != nil {
					ended <- err
					return err
				}
			}
		case "late":
			_ = s.Send(&shardpb.QueryChunk{ArrowIpc: []byte("x")})
			return errs.ToGRPC(errs.New(errs.EngineExecuteQuery, "broke"))
		}
		for b := range slices.Chunk(want, 7) {
			if err := s.Send(&shardpb.QueryChunk{ArrowIpc: b}); err != nil {
				return err
			}
		}
		return nil
	}}
	cl := newCluster(t, node).client(t)

	r, err := cl.Query(t.Context(), &shardpb.QueryRequest{Sql: "good"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := cl.Query(t.Context(), &shardpb.QueryRequest{Sql: "bad"}); errs.CodeOf(err) != errs.InvalidSyntax ||
		err.Error() != "near bad" {
		t.Fatal(err)
	}

	r, err = cl.Query(t.Context(), &shardpb.QueryRequest{Sql: "late"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); errs.CodeOf(err) != errs.EngineExecuteQuery {
		t.Fatal(err)
	}
	_ = r.Close()

	r, err = cl.Query(t.Context(), &shardpb.QueryRequest{Sql: "endless"})
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	if err := <-ended; err == nil {
		t.Fatal("the query continued after Close")
	}
}

func TestQueryNodes(t *testing.T) {
	cl := newCluster(t).client(t, func(c *Config) {
		c.Replicas = func(s uint32) []string {
			return map[uint32][]string{1: {"a", "b"}, 2: {"b", "c"}, 3: {"c"}, 4: {"c", "a"}}[s]
		}
		c.Nodes = func() []string { return []string{"z", "a"} }
	})
	table := func(shard uint32, more ...uint32) *shardpb.QueryTable {
		return &shardpb.QueryTable{ShardId: shard, MoreShards: more}
	}
	inline := &shardpb.QueryTable{Inline: true, ShardId: 99}
	out := table(1, 7)
	out.LeftOut = []uint32{7}
	tests := []struct {
		name    string
		tables  []*shardpb.QueryTable
		partial bool
		want    []string
		code    errs.Code
	}{
		{"no table", nil, false, []string{"z", "a"}, 0},
		{"only inline", []*shardpb.QueryTable{inline}, false, []string{"z", "a"}, 0},
		{"one", []*shardpb.QueryTable{table(1), inline}, false, []string{"a", "b"}, 0},
		{"two", []*shardpb.QueryTable{table(1), table(2)}, false, []string{"a", "b", "c"}, 0},
		{"most on one node", []*shardpb.QueryTable{table(1), table(3), table(4)}, false, []string{"c", "a", "b"}, 0},
		{"of one table", []*shardpb.QueryTable{table(1, 3, 4)}, false, []string{"c", "a", "b"}, 0},
		{"unknown", []*shardpb.QueryTable{table(7)}, false, nil, errs.ShardUnreachable},
		{"unknown, and required", []*shardpb.QueryTable{out}, false, []string{"a", "b"}, 0},
		{"unknown, and may be missing", []*shardpb.QueryTable{table(7)}, true, []string{"z", "a"}, 0},
		{"it may be missing for others", []*shardpb.QueryTable{table(3)}, true, []string{"c", "z", "a"}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := &shardpb.QueryRequest{Tables: tt.tables}
			req.AllowPartial = tt.partial
			_, shards, err := cl.place(req)
			if errs.CodeOf(err) != tt.code || err == nil && len(req.Nodes) != len(shards) {
				t.Fatal(err, req.Nodes)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(tt.want, cl.queryNodes(shards, tt.partial)); diff != "" {
				t.Fatal(diff)
			}
		})
	}
	// This node comes first if it leads at least half as many shards as the others.
	cl.cfg.Nodes = func() []string { return []string{"a", "z"} }
	if got := cl.queryNodes([]uint32{1, 3, 4}, false); got[0] != "a" {
		t.Errorf("this node leads one shard of three, and the order is %v", got)
	}
	cl.cfg.Nodes = func() []string { return []string{"b", "a"} }
	if got := cl.queryNodes([]uint32{1, 3, 4}, false); got[0] != "c" {
		t.Errorf("this node leads no shard, and the order is %v", got)
	}
	cl.nodes.Health("c").Silent()
	if got := cl.queryNodes([]uint32{1, 3, 4}, false); got[len(got)-1] != "c" {
		t.Errorf("a node that does not answer is first: %v", got)
	}
}

func TestReadsGoRoundADeadNode(t *testing.T) {
	c := newCluster(t, &scripted{index: 5})
	c.order = []string{"gone", "n1"}
	cl := c.client(t)
	resp, err := cl.Analyze(t.Context(), &shardpb.AnalyzeRequest{Sql: "EXPLAIN"})
	if err != nil || !resp.Explain {
		t.Fatal(resp, err)
	}
	stats, err := cl.Stats(t.Context(), &shardpb.StatsRequest{})
	if len(stats) != 1 || errs.CodeOf(err) != errs.ShardUnreachable {
		t.Fatalf("a node that does not answer must cause an error, and the others must answer: %v %v", stats, err)
	}
	c.order = []string{"n1"}
	if stats, err = cl.Stats(t.Context(), &shardpb.StatsRequest{Segments: true}); len(stats) != 1 || err != nil {
		t.Fatal(stats, err)
	}
}

func TestConcurrentWrites(t *testing.T) {
	node := &scripted{index: 1}
	cl := newCluster(t, node).client(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 20 {
				if _, err := cl.Write(context.Background(), uint32(i%3), batches, noTables); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(node.writes()); n != 160 {
		t.Fatalf("%d writes", n)
	}
}

func TestNewChecksItsConfig(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Fatal("an empty Config was accepted")
		}
	}()
	New(Config{})
}
