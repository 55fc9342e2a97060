package clusterapi

import "testing"

// TestObjectStorageLine describes object storage in one line.
func TestObjectStorageLine(t *testing.T) {
	t.Parallel()
	at := []string{"s3://logs/prod"}
	number := func(n float64) *float64 { return &n }
	late := func(n int) (list []StorageLag) {
		for i := range n {
			list = append(list, StorageLag{Shard: uint32(i + 1), StateSeconds: 7200, LogSeconds: number(130)})
		}
		return list
	}
	for want, o := range map[string]ObjectStorage{
		"s3://logs/prod: ok; nothing was stored since the nodes started": {Locations: at, State: "ok"},
		"s3://logs/prod: ok; last upload 12s ago; no rows wait in 2 shards": {
			Locations: at, State: "ok", LastUploadSeconds: number(12.4),
			Shards: []StorageLag{{Shard: 1, RowsSeconds: 59}, {Shard: 2, LogSeconds: number(3)}},
		},
		"s3://logs/prod: ok; last upload 12s ago; no rows wait in 1 shard, and the log is there": {
			Locations: at, State: "ok", LastUploadSeconds: number(12), Shards: []StorageLag{{Shard: 2, LogSeconds: number(3)}},
		},
		"s3://logs/prod: failing on n1, n2; last upload 0s ago; behind: shard 1 (state 2h0m0s, log 2m10s)": {
			Locations: at, State: "failing", Nodes: []string{"n1", "n2"}, LastUploadSeconds: number(0), Shards: late(1),
		},
		"s3://logs/prod: ok; last upload 0s ago; behind: shard 1 (state 2h0m0s, log 2m10s), shard 2 (state 2h0m0s, log " +
			"2m10s), shard 3 (state 2h0m0s, log 2m10s), shard 4 (state 2h0m0s, log 2m10s), shard 5 (state 2h0m0s, log " +
			"2m10s) and 2 more shards": {Locations: at, State: "ok", LastUploadSeconds: number(0), Shards: late(7)},
	} {
		if got := o.String(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
