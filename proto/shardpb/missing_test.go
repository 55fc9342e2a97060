package shardpb

import (
	"slices"
	"testing"

	"cordwood/proto/words"
)

// TestMissing checks that fields say the same as they were made of, whatever their texts contain, and that the texts of
// nodes of earlier versions are read.
func TestMissing(t *testing.T) {
	list := []words.Missing{
		{Table: "public.logs", Shard: 3, Reason: "node n1: shard 4: it has no leader"},
		{Table: "a: shard 1.t", Segment: "12: b.parquet", Reason: "it is damaged"},
		{Reason: "public.logs: shard 3: not a field"},
	}
	chunk := &QueryChunk{}
	chunk.Missing, chunk.Partial = NewMissing(list)
	if got := MissingIn(chunk); !slices.Equal(got, list) {
		t.Errorf("%+v, want %+v", got, list)
	}
	old := &ScanResponse{Partial: []string{"public.logs: shard 3: no leader", "timeout"}}
	want := []words.Missing{{Table: "public.logs", Shard: 3, Reason: "no leader"}, {Reason: "timeout"}}
	if got := MissingIn(old); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := MissingIn(&QueryChunk{}); got != nil {
		t.Errorf("nothing is missing, but %+v", got)
	}
}
