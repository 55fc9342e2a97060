package distribute

import (
	"context"
	"testing"

	"cordwood/proto/errs"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/shard/query"
)

// countingEngine counts the statements that it splits.
type countingEngine struct {
	splits  int
	lasting bool
	err     error
}

func (e *countingEngine) Split(context.Context, *query.Request) (*query.Split, error) {
	e.splits++
	return &query.Split{Worker: "w", Lasting: e.lasting}, e.err
}

func (e *countingEngine) Query(context.Context, *query.Request, func([]byte) error) error { return nil }

// TestKeptSplits: the engine is asked once for a statement, and again after the table changed, for another limit, and
// where the result does not last.
func TestKeptSplits(t *testing.T) {
	request := func(version uint32, limit uint64) *shardpb.QueryRequest {
		return &shardpb.QueryRequest{Sql: "SELECT 1 FROM t", Database: "d", Limit: limit, Tables: []*shardpb.QueryTable{{
			Name: &shardpb.TableName{Database: "d", Name: "t"}, Table: &schemapb.Table{Id: 7, Version: version},
		}}}
	}
	e := &countingEngine{lasting: true}
	n := New(Config{Engine: e})
	ask := func(req *shardpb.QueryRequest, want int) {
		t.Helper()
		s, err := n.split(t.Context(), req)
		if err != nil || e.splits != want {
			t.Errorf("the engine was asked %d times, want %d: %v", e.splits, want, err)
			return
		}
		s.Reason = "what a caller writes is not kept"
	}
	ask(request(1, 0), 1)
	ask(request(1, 0), 1)
	ask(request(2, 0), 2)
	ask(request(2, 5), 3)
	if s, _ := n.split(t.Context(), request(2, 5)); s.Reason != "" {
		t.Errorf("kept: %s", s.Reason)
	}
	e.lasting = false
	ask(request(3, 0), 4)
	ask(request(3, 0), 5)
	e.lasting, e.err = true, errs.New(errs.InvalidSyntax, "wrong")
	for range 2 {
		if _, err := n.split(t.Context(), request(4, 0)); err == nil {
			t.Error("no error")
		}
	}
	if e.splits != 7 {
		t.Errorf("an error was kept: %d", e.splits)
	}
}
