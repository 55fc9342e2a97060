package distribute

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/proto/words"
	"cordwood/shard/query"
)

// fakeEngine splits every statement as the test defines, and records the partial results of the
// final statement.
type fakeEngine struct {
	split query.Split
	last  *query.Request
}

func (e *fakeEngine) Split(context.Context, *query.Request) (*query.Split, error) {
	s := e.split
	return &s, nil
}

func (e *fakeEngine) Query(_ context.Context, req *query.Request, emit func([]byte) error) error {
	e.last = req
	return emit([]byte("answer"))
}

// answerOf is the scripted answer of a node.
type answerOf struct{ io.Reader }

func (answerOf) Close() error             { return nil }
func (answerOf) Missing() []words.Missing { return nil }

// sink receives the answer to a query.
type sink struct{ bytes.Buffer }

func (*sink) Missing([]words.Missing) error { return nil }
func (s *sink) Rows(ipc []byte) error       { s.Write(ipc); return nil }
func (*sink) Enter(string)                  {}
func (*sink) Asks(int)                      {}
func (*sink) Answered()                     {}
func (*sink) Received(int)                  {}

// spreadRequest returns a request for a table with the given number of shards, which the nodes lead
// in turn.
func spreadRequest(shards, nodes int, merges bool) *shardpb.QueryRequest {
	t := &schema.Table{ID: 1, Name: "logs", Columns: []schema.Column{
		{ID: 1, Name: "ts", Type: schema.TimestampMillisecond, Semantic: schema.Timestamp},
	}}
	if merges {
		t.Options = map[string]string{schema.OptionAppendMode: "false"}
	}
	req := &shardpb.QueryRequest{Sql: "SELECT 1", Database: "public", Tables: []*shardpb.QueryTable{{
		Name: &shardpb.TableName{Database: "public", Name: "logs"}, Table: t.ToProto(), ShardId: 1,
	}}}
	for id := 1; id <= shards; id++ {
		if id > 1 {
			req.Tables[0].MoreShards = append(req.Tables[0].MoreShards, uint32(id))
		}
		req.Nodes = append(req.Nodes, &shardpb.ShardNodes{ShardId: uint32(id), NodeIds: []string{fmt.Sprint("n", id%nodes)}})
	}
	return req
}

// TestFanOut checks that 100 shards on 10 nodes need one call for each node, even if rows are
// merged in each shard.
func TestFanOut(t *testing.T) {
	for _, merges := range []bool{false, true} {
		e := &fakeEngine{split: query.Split{
			Table:  query.TableName{Database: "public", Name: "logs"},
			Worker: "W", Final: "F", Kind: "aggregate",
		}}
		var mu sync.Mutex
		var asked []uint32
		calls := 0
		n := New(Config{
			Engine: e, Shows: func(uint32, bool) bool { return false },
			Ask: func(_ context.Context, req *shardpb.QueryRequest) (Reader, error) {
				mu.Lock()
				defer mu.Unlock()
				calls++
				shards := ShardsOf(req.Tables[0])
				asked = append(asked, shards...)
				streams := [][]byte{hashStream(t, 1)}
				if merges { // one for each shard
					streams = slices.Repeat(streams, len(shards))
				}
				return answerOf{bytes.NewReader(slices.Concat(streams...))}, nil
			},
		})
		out := &sink{}
		d, err := n.TakeApart(t.Context(), spreadRequest(100, 10, merges), "id", out, false)
		if err != nil {
			t.Fatal(err)
		}
		if done, err := d.Run(t.Context(), out); !done || err != nil || out.String() != "answer" {
			t.Fatal(done, err, out.String())
		}
		slices.Sort(asked)
		streams := 10
		if merges {
			streams = 100
		}
		if calls != 10 || len(slices.Compact(asked)) != 100 || len(e.last.Partials.Streams) != streams {
			t.Errorf("merges %v: %d calls for %d shards, %d streams", merges, calls, len(asked), len(e.last.Partials.Streams))
		}
	}
}

// TestCancelAsks checks that the end of a query ends its calls to other nodes within 100 ms.
func TestCancelAsks(t *testing.T) {
	e := &fakeEngine{split: query.Split{
		Table: query.TableName{Database: "public", Name: "logs"}, Worker: "W", Final: "F", Kind: "aggregate",
	}}
	var begun sync.WaitGroup
	begun.Add(10)
	n := New(Config{
		Engine: e, Shows: func(uint32, bool) bool { return false },
		Ask: func(ctx context.Context, _ *shardpb.QueryRequest) (Reader, error) {
			begun.Done()
			<-ctx.Done() // a node that works on its part
			return nil, errs.New(errs.Cancelled, "query: cancelled")
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	out := &sink{}
	d, err := n.TakeApart(ctx, spreadRequest(100, 10, false), "id", out, false)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := d.Run(ctx, out)
		ended <- err
	}()
	begun.Wait()
	at := time.Now()
	cancel()
	if err := <-ended; errs.CodeOf(err) != errs.Cancelled {
		t.Error(err)
	}
	if took := time.Since(at); took > 100*time.Millisecond {
		t.Errorf("the query continued for %s", took)
	}
}

// TestHashedAsks checks that hashes are requested if values are too large, and values only for
// hashes that several nodes sent.
func TestHashedAsks(t *testing.T) {
	e := &fakeEngine{split: query.Split{
		Table: query.TableName{Database: "public", Name: "logs"}, Worker: "W", Final: "F", Kind: "pairs",
		Hashed: &query.Hashed{Hashes: "H", Probe: 7, Before: "V(", After: ")", Worker: "W2", Final: "F2"},
	}}
	var mu sync.Mutex
	asked := map[string]int{}
	n := New(Config{
		Engine: e, Shows: func(uint32, bool) bool { return false },
		Ask: func(_ context.Context, req *shardpb.QueryRequest) (Reader, error) {
			mu.Lock()
			defer mu.Unlock()
			asked[req.Sql]++
			switch node := uint64(req.Tables[0].ShardId); req.Sql {
			case "W":
				return answerOf{io.LimitReader(endless{}, maxPartials+1)}, nil
			case "H":
				return answerOf{bytes.NewReader(hashStream(t, 7, 100+node, 50, 60, 70))}, nil
			default: // the rows of 70 were deleted a moment ago
				return answerOf{bytes.NewReader(valueStream(t, []uint64{50, 60}, "fifty", fmt.Sprint("sixty-", node%2)))}, nil
			}
		},
	})
	for range 2 {
		out := &sink{}
		d, err := n.TakeApart(t.Context(), spreadRequest(3, 3, false), "id", out, false)
		if err != nil {
			t.Fatal(err)
		}
		if done, err := d.Run(t.Context(), out); !done || err != nil {
			t.Fatal(done, err)
		}
		// Three values on one node each, the value with hash 50, two values with hash 60, and the
		// value with hash 70.
		if d.number != 7 || e.last.SQL != "W2" || e.last.Partials.Final != "F2" {
			t.Errorf("%d values, last step %+v", d.number, e.last)
		}
	}
	if asked["W"] > 3 || asked["H"] != 6 || asked["V(50::UBIGINT, 60::UBIGINT, 70::UBIGINT)"] != 6 || len(asked) != 3 {
		t.Errorf("asked %v", asked)
	}
	if held := n.partials.Load(); held != 0 {
		t.Errorf("%d bytes are held after the query", held)
	}
}

// endless is a reader of infinitely many zeros.
type endless struct{}

func (endless) Read(p []byte) (int, error) { clear(p); return len(p), nil }
