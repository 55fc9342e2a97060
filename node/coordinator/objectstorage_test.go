package coordinator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/node/coordinator/snapshot"
	"cordwood/node/coordinator/view"
	"cordwood/proto/metapb"
	"cordwood/router/httpapi/clusterapi"
)

// TestObjectStorageIsReported checks that what nodes report about object storage is a problem of the cluster: one for
// nodes that report the same, and none for nodes that are down.
func TestObjectStorageIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t).node("a", "b", "c", "d")
		w.down["d"] = time.Now()
		time.Sleep(time.Minute)
		status := w.status()
		for i, text := range []string{"the bucket refuses access", "", "the bucket refuses access", "an object is missing"} {
			status.Nodes[i].Report.ObjectStorage = text
		}
		var got []string
		for _, p := range view.Diagnose(snapshot.New(time.Now(), snapshot.Limits{}.WithDefaults(), status, nil, nil)) {
			if strings.Contains(p.Advice, "object-storage check") {
				got = append(got, fmt.Sprint(p.Severity, ": ", p.Text))
			}
		}
		want := []string{"warning: node-a, node-c: the bucket refuses access"}
		if !slices.Equal(got, want) {
			t.Errorf("the problems are %q, want %q", got, want)
		}
	})
}

// TestObjectStorageOfTheCluster describes object storage from the reports of the nodes that answer.
func TestObjectStorageOfTheCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t).node("a", "b", "c").shard(2, "a", "b").shard(2, "b", "c")
		w.down["c"] = time.Now()
		time.Sleep(time.Minute)
		describe := func(change func(*metapb.StatusResponse)) *clusterapi.ObjectStorage {
			status := w.status()
			change(status)
			return view.Describe(snapshot.New(time.Now(), snapshot.Limits{}.WithDefaults(), status, nil, nil)).ObjectStorage
		}
		if o := describe(func(*metapb.StatusResponse) {}); o != nil {
			t.Errorf("without object storage: %+v", o)
		}
		stored := time.Now().Add(-time.Hour).UnixNano()
		use := func(s *metapb.StatusResponse) {
			for _, n := range s.Nodes {
				n.Report.Objects = &metapb.ObjectStorageUse{Location: "s3://logs/prod", State: "ok", StoredUnixNano: stored}
				for _, r := range n.Report.Replicas {
					r.Lag = nil
					if r.State == snapshot.StateLeader && r.ShardId == 1 {
						r.Lag = &metapb.ObjectStorageLag{RowsNanos: int64(5 * time.Minute), ShipsLog: true}
					}
				}
			}
			s.Nodes[0].Report.Objects.StoredUnixNano = 0
		}
		text := func(change func(*metapb.StatusResponse)) string { return describe(change).String() }
		want := "s3://logs/prod: ok; last upload 1h0m0s ago; behind: shard 1 (rows 5m0s)"
		if got := text(use); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		want = "s3://logs/prod, s3://other: failing on node-b; last upload 1h0m0s ago; behind: shard 1 (rows 5m0s)"
		if got := text(func(s *metapb.StatusResponse) {
			use(s)
			s.Nodes[0].Report.Objects.State, s.Nodes[1].Report.Objects.State = "unchecked", "failing"
			s.Nodes[1].Report.Objects.Location = "s3://other"
			s.Nodes[2].Report.Objects.State = "failing" // it is down
		}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}
