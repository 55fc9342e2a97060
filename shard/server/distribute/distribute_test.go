package distribute

import (
	"strings"
	"sync/atomic"
	"testing"

	"cordwood/proto/shardpb"
	"cordwood/shard/query"
)

// TestLargePartials checks that rows are fetched for a statement whose partial results are too
// large, and that this is known the next time.
func TestLargePartials(t *testing.T) {
	l := newRecent()
	l.add("SELECT 1")
	if !l.has("SELECT 1") || l.has("SELECT 2") {
		t.Error("another statement counts as large")
	}
	d := &Statement{nodes: &Nodes{large: l}, bytes: &atomic.Int64{}}
	d.req = &shardpb.QueryRequest{Sql: "EXPLAIN ANALYZE SELECT 3"}
	d.split = &query.Split{Explain: "EXPLAIN ANALYZE "}
	d.bytes.Store(maxPartials)
	if _, err := (&bounded{strings.NewReader("x"), d.bytes, &d.nodes.partials}).Read(make([]byte, 1)); err == nil {
		t.Fatal("more bytes than the limit were read")
	} else if done, err := d.fetchInstead(t.Context(), err); done || err != nil || !l.has(d.statement()) {
		t.Errorf("the rows are not fetched: %v %v", done, err)
	}
	same := &Statement{req: &shardpb.QueryRequest{Sql: "SELECT 3"}}
	if !l.has(same.statement()) {
		t.Error("EXPLAIN ANALYZE of a statement does not count for the statement")
	}
}
