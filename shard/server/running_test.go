package server

import (
	"testing"

	"cordwood/proto/shardpb"
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
