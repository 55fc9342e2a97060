package server

import (
	"context"
	"testing"

	"cordwood/proto/shardpb"
	"cordwood/shard/query"
)

// TestPartsOfBlocks checks that the list of running queries shows the parts of all blocks of a statement, which are
// requested at the same time.
func TestPartsOfBlocks(t *testing.T) {
	r := newRunning()
	_, q, leave := r.enter(t.Context(), &shardpb.QueryRequest{Sql: "SELECT 1"})
	defer leave()
	q.Asks(2)
	q.Answered()
	q.Asks(3)
	q.Answered()
	if got := r.list()[0]; got.Parts != 5 || got.PartsDone != 2 {
		t.Errorf("%d of %d parts are complete, want 2 of 5", got.PartsDone, got.Parts)
	}
}

// TestBytes checks that the list shows the bytes of an answer that is computed from the answers of other nodes before
// any of it is sent, and that rows which are passed on are not counted twice.
func TestBytes(t *testing.T) {
	r := newRunning()
	_, q, leave := r.enter(t.Context(), &shardpb.QueryRequest{Sql: "SELECT 1"})
	defer leave()
	for _, step := range []struct{ received, sent, want int64 }{{5, 0, 5}, {3, 0, 8}, {0, 8, 8}, {0, 4, 12}} {
		q.Received(int(step.received))
		q.sent.Add(step.sent)
		if got := r.list()[0].Bytes; got != step.want {
			t.Errorf("%d bytes, want %d", got, step.want)
		}
	}
}

// TestKilled checks that a query knows that KILL ended it, also if it was cancelled before, as a part of a query is by
// the node that asked for it; and that it is listed as stopping until it has ended.
func TestKilled(t *testing.T) {
	r := newRunning()
	outer, cancel := context.WithCancel(t.Context())
	ctx, _, leave := r.enter(outer, &shardpb.QueryRequest{Sql: "SELECT 1", QueryId: "q"})
	defer leave()
	if got := r.list()[0].Phase; got != phasePlan {
		t.Errorf("phase %q", got)
	}
	cancel()
	if query.Killed(ctx) {
		t.Error("a cancelled query counts as killed")
	}
	if n := r.kill("q", "", "ann"); n != 1 || !query.Killed(ctx) {
		t.Errorf("%d queries ended, killed: %v", n, query.Killed(ctx))
	}
	if got := r.list()[0].Phase; got != phaseStop {
		t.Errorf("phase %q after KILL", got)
	}
}
