package shard

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cordwood/proto/shardpb"
)

// TestLocations tells of segments and objects where their rows are, and counts each row once.
func TestLocations(t *testing.T) {
	t.Parallel()
	b := tierBucket(t)
	cfg := tiered(testConfig(t), b)
	s := openShard(t, cfg)
	s.stopCompactor()
	want := func(what string, list ...string) {
		t.Helper()
		out := &shardpb.ShardStats{}
		s.store.Status.Describe(out, &shardpb.StatsRequest{Segments: true})
		var got []string
		for _, seg := range out.Segments {
			if key := strings.HasPrefix(seg.File, "cluster/data/7/"); key != (seg.Location == shardpb.LocationBucket) ||
				seg.Bytes == 0 {
				t.Errorf("%s: %v", what, seg)
			}
			got = append(got, fmt.Sprintf("table %d %s %d", seg.TableId, seg.Location, seg.Rows))
		}
		slices.Sort(got)
		if !slices.Equal(got, list) {
			t.Errorf("%s: %q, want %q", what, got, list)
		}
	}
	s.mustPut(batch(head(1, 9, 1), "one", "two"))
	s.mustPut(batch(head(2, 9, 2), "three"))
	s.flush()
	want("in segments", "table 1 local 2", "table 2 local 1")
	s.move()
	want("moved", "table 1 both 2", "table 2 both 1")
	s.mustPut(batch(head(1, 9, 3), "four"))
	s.flush()
	if _, _, err := s.store.Ledger.DropTwins(allBefore(time.Unix(1_600_000_000, 0)), nil); err != nil {
		t.Fatal(err)
	}
	want("local copies dropped", "table 1 bucket 2", "table 1 local 1", "table 2 bucket 1")
	s.move()
	want("moved again", "table 1 both 1", "table 1 bucket 2", "table 2 bucket 1")
}
