package node

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/proto/metapb"
)

func TestMissingShards(t *testing.T) {
	for _, c := range []struct {
		name          string
		have, holders int
		left          uint32
		unused        bool
		want          string
	}{
		{
			"no shards, and too few nodes", 0, 1, 4, true,
			"the first shards to be created: they need 3 nodes with the role shard, one for each replica, and 1 is available",
		},
		{"no shards yet", 0, 3, 4, true, "the first shards to be created"},
		{"some", 1, 3, 3, true, "the first shards to be created: 1 of 4 are"},
		{"all", 4, 3, 0, true, ""},
		{"some shards, and the cluster is in use", 1, 3, 3, false, ""},
	} {
		if got := missingShards(c.have, &metapb.Settings{InitialShards: c.left, Replication: 3}, c.holders,
			c.unused); got != c.want {
			t.Errorf("%s: waits for %q, want %q", c.name, got, c.want)
		}
	}
}

func TestFirstLeaders(t *testing.T) {
	shards := []*metapb.Shard{{Id: 1}, {Id: 2}}
	synctest.Test(t, func(t *testing.T) {
		status, fault, asked := &metapb.StatusResponse{}, errors.New("no leader answers"), 0
		f := firstLeaders{ask: func(context.Context) (*metapb.StatusResponse, error) { asked++; return status, fault }}
		expect := func(want string) {
			t.Helper()
			if got := f.waits(t.Context(), shards); got != want && (want == "" || !strings.Contains(got, want)) {
				t.Errorf("waits for %q, want %q", got, want)
			}
		}
		after := func(n int) { <-time.After(time.Duration(n) * firstPause) }
		expect("no leader answers")
		fault = nil
		expect("no leader answers") // the answer is cached
		after(1)
		expect("without one: 1, 2")
		status.Nodes = []*metapb.NodeStatus{
			{
				Report: &metapb.ReportRequest{
					Replicas: []*metapb.ReplicaReport{{ShardId: 1, State: "Leader"}, {ShardId: 2, State: "Follower"}},
				},
			},
			{Report: &metapb.ReportRequest{Replicas: []*metapb.ReplicaReport{{ShardId: 1, State: "Follower"}}}},
		}
		after(1)
		expect("without one: 2")
		if asked != 3 {
			t.Errorf("asked %d times, want 3", asked)
		}
		after(int(firstPatience/firstPause) + 1)
		expect("") // it may be an old cluster that has lost a node
		f = firstLeaders{ask: f.ask}
		status.Nodes[0].Report.Replicas[1].State = "Leader"
		expect("")
	})
}
