package shardclient

import (
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cordwood/proto/errs"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
)

// TestWriteFollowsTheHint checks that the node which a replica reports as the leader is asked next,
// and that the next write asks it first.
func TestWriteFollowsTheHint(t *testing.T) {
	n1, n2, n3 := &scripted{
		script: []any{errs.New(errs.ShardNotReady, "follower").WithLeader("n3")},
	}, &scripted{}, &scripted{index: 9}
	cl := newCluster(t, n1, n2, n3).client(t)
	for range 2 {
		if index, err := cl.Write(t.Context(), 1, batches, noTables); err != nil || index != 9 {
			t.Fatal(index, err)
		}
	}
	if a, b, c := len(n1.writes()), len(n2.writes()), len(n3.writes()); a != 1 || b != 0 || c != 2 {
		t.Fatalf("tries per node %d %d %d, want 1 0 2", a, b, c)
	}
}

// TestWriteFollowsAHintOutOfPlacement checks that the reported leader may be a replica that the
// client's metadata does not list yet.
func TestWriteFollowsAHintOutOfPlacement(t *testing.T) {
	n1, n2 := &scripted{script: []any{errs.New(errs.ShardNotReady, "follower").WithLeader("n2")}}, &scripted{index: 4}
	c := newCluster(t, n1, n2)
	c.order = []string{"n1"}
	if index, err := c.client(t).Write(t.Context(), 1, batches, noTables); err != nil || index != 4 {
		t.Fatal(index, err)
	}
}

// TestCircularHints checks that replicas which report each other as leader do not cause
// endless tries.
func TestCircularHints(t *testing.T) {
	to := func(node string) []any {
		var list []any
		for range 50 {
			list = append(list, errs.New(errs.ShardNotReady, "follower").WithLeader(node))
		}
		return list
	}
	n1, n2 := &scripted{script: to("n2")}, &scripted{script: to("n1")}
	cl := newCluster(t, n1, n2).client(t, func(c *Config) { c.MaxTries = 6 })
	if _, err := cl.Write(t.Context(), 1, batches, noTables); errs.ReasonOf(err) != errs.NotLeader {
		t.Fatal(err)
	}
	if a, b := len(n1.writes()), len(n2.writes()); a != 3 || b != 3 {
		t.Fatalf("tries per node %d %d, want 3 3", a, b)
	}
}

// TestStalledNodeIsAskedLast checks that a node which used up the time of a try is asked last by
// the next write.
func TestStalledNodeIsAskedLast(t *testing.T) {
	stalled, alive := &scripted{hold: make(chan struct{})}, &scripted{index: 2}
	cl := newCluster(t, stalled, alive).client(t, func(c *Config) { c.TryTimeout = 20 * time.Millisecond })
	for range 5 {
		if index, err := cl.Write(t.Context(), 1, batches, noTables); err != nil || index != 2 {
			t.Fatal(index, err)
		}
	}
	stalled.mu.Lock()
	asked := stalled.asked
	stalled.mu.Unlock()
	if asked > 1 { // 0 if the first call ended before the node got it
		t.Errorf("the stalled node was asked %d times", asked)
	}
	for _, shard := range []uint32{1, 2} { // also a write to another shard
		if got := cl.order(shard); got[0] != "n2" {
			t.Errorf("order of shard %d: %v", shard, got)
		}
	}
}

// TestUnknownSendsDefinitionsThroughTheLog checks that after an unknown outcome definitions are
// sent before the batches. If they were sent with the batches, the leader's refusal could be based
// on definitions that no replica has applied.
func TestUnknownSendsDefinitionsThroughTheLog(t *testing.T) {
	cut := rawError{status.Error(codes.Unavailable, "connection cut")}
	node := &scripted{script: []any{cut, []uint64{4}, refuse(errs.WrongEpoch, errs.RequestOutdated)}, index: 1}
	cl := newCluster(t, node).client(t)
	tables := func([]uint64) []*schemapb.Table { return []*schemapb.Table{{Id: 4}} }
	if _, err := cl.Write(t.Context(), 1, batches, tables); errs.ReasonOf(err) != errs.WrongEpoch {
		t.Fatal(err)
	}
	if got := node.writes(); len(got) != 3 || len(got[2].Tables) != 0 || len(node.defined) != 1 ||
		node.defined[0].ShardId != 1 {
		t.Fatalf("writes %v, defined %v", got, node.defined)
	}

	// As long as no outcome is unknown, definitions are sent with the batches, and a refusal
	// because of them settles nothing.
	node = &scripted{script: []any{[]uint64{4}, cut, refuse(errs.WrongEpoch, errs.RequestOutdated)}, index: 1}
	cl = newCluster(t, node).client(t)
	if _, err := cl.Write(t.Context(), 1, batches, tables); errs.ReasonOf(err) != errs.WrongEpoch {
		t.Fatal(err)
	}
	if got := node.writes(); len(got[1].Tables) != 1 || len(got[2].Tables) != 0 {
		t.Fatal("definitions of an earlier try were sent again")
	}

	// If the table is missing in the client's metadata, the shard may still have it.
	node = &scripted{script: []any{cut, []uint64{4}}, index: 1}
	cl = newCluster(t, node).client(t)
	if _, err := cl.Write(t.Context(), 1, batches, noTables); errs.ReasonOf(err) != errs.OutcomeUnknown {
		t.Fatal(err)
	}
}

// TestWriteDialsFreshConnection checks that a node which could not be reached twice is asked over a new
// connection.
func TestWriteDialsFreshConnection(t *testing.T) {
	c := newCluster(t, &scripted{index: 3})
	closed := 0
	cl := c.client(t, func(cfg *Config) {
		cfg.Dial = func(string) (grpc.ClientConnInterface, error) { return nil, errors.New("a pool of dead connections") }
		cfg.DialFresh = func(id string) (grpc.ClientConnInterface, func(), error) {
			return c.conns[id], func() { closed++ }, nil
		}
	})
	if index, err := cl.Write(t.Context(), 1, batches, noTables); err != nil || index != 3 {
		t.Fatal(index, err)
	}
	if closed != 1 {
		t.Errorf("closed %d times", closed)
	}
}

// TestBusyShardIsNotAskedForEver checks that a busy shard is asked again only as long as writes
// wait for room.
func TestBusyShardIsNotAskedForEver(t *testing.T) {
	node := &scripted{}
	for range 10_000 {
		node.script = append(node.script, errs.New(errs.ShardBusy, "full").WithReason(errs.Busy))
	}
	cl := newCluster(t, node).client(t, func(c *Config) { c.QueueWait = 20 * time.Millisecond })
	start := time.Now()
	_, err := cl.Write(t.Context(), 1, batches, noTables)
	if errs.ReasonOf(err) != errs.Busy || errs.From(err).Status() != 503 || time.Since(start) > 5*time.Second {
		t.Fatal(err)
	}
}

// TestWritesShareTheSearchForALeader checks that one of the writes that wait for a leader searches
// for it soon, whatever their pauses are, and that the others continue when it is found.
func TestWritesShareTheSearchForALeader(t *testing.T) {
	node := &scripted{index: 5}
	for range 12 {
		node.script = append(node.script, refuse(errs.NotLeader, errs.ShardNotReady))
	}
	cl := newCluster(t, node).client(t, func(c *Config) {
		c.MinBackoff, c.MaxBackoff, c.WriteTimeout = time.Minute, time.Minute, 10*time.Minute
	})
	begin := time.Now()
	failures := make(chan error, 4)
	for range cap(failures) {
		go func() {
			_, err := cl.Write(t.Context(), 1, batches, noTables)
			failures <- err
		}()
	}
	for range cap(failures) {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("the writes took %s, and one could have found the leader within seconds", took)
	}
	if got := len(node.writes()); got != 12+cap(failures) {
		t.Errorf("%d tries, want those of the script and one of each write", got)
	}
}

// TestAnswersReportLeaders checks that the leaders which an answer reports are presumed by the next query.
func TestAnswersReportLeaders(t *testing.T) {
	n1, n2 := &scripted{}, &scripted{}
	cl := newCluster(t, n1, n2).client(t)
	cl.learn(&shardpb.ScanResponse{}) // has none
	for _, node := range []string{"n2", "n1"} {
		cl.learn(&shardpb.QueryChunk{Leaders: []*shardpb.ShardLeader{{ShardId: 1, NodeId: node}, {ShardId: 2, NodeId: "n2"}}})
		req := &shardpb.QueryRequest{Tables: []*shardpb.QueryTable{{ShardId: 1, MoreShards: []uint32{2}}}}
		if _, _, err := cl.place(req); err != nil || req.Nodes[0].NodeIds[0] != node || req.Nodes[1].NodeIds[0] != "n2" {
			t.Errorf("the leaders of the request are %v, %v; want %s and n2", req.Nodes, err, node)
		}
	}
}
