package coordinator

import (
	"math"
	"testing"
	"time"

	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
)

// ingested returns a status in which a node leads shard 1, with the given count of ingested bytes.
func ingested(leader string, bytes int64) *metapb.StatusResponse {
	return &metapb.StatusResponse{Nodes: []*metapb.NodeStatus{{
		Node: &metapb.Node{Id: leader}, Report: &metapb.ReportRequest{
			Process:  1,
			Replicas: []*metapb.ReplicaReport{{ShardId: 1, State: snapshot.StateLeader, IngestedBytes: bytes}},
		},
	}}}
}

// TestRatesOutliveLeaders checks that the rate of a shard is kept when its leader changes. If it
// started at 0, replicas would be moved, which would change the leader again.
func TestRatesOutliveLeaders(t *testing.T) {
	m, now := newMeter(), time.Unix(1e9, 0)
	rate := 0.0
	for i := range int64(300) {
		rate = m.read(now.Add(time.Duration(i)*time.Second), ingested("a", i*1000)).Shard[1]
	}
	if math.Abs(rate-1000) > 10 {
		t.Fatalf("after five minutes of 1000 bytes a second the rate is %.0f", rate)
	}
	for i := range int64(10) {
		rate = m.read(now.Add(time.Duration(300+i)*time.Second), ingested("b", i*1000)).Shard[1]
		if math.Abs(rate-1000) > 10 {
			t.Fatalf("%d seconds after the leader changed the rate is %.0f, want 1000", i, rate)
		}
	}
}

func TestRatesBetween(t *testing.T) {
	if got := between(ingested("a", 5000), ingested("a", 9000), 2*time.Second)[1]; got != 2000 {
		t.Errorf("4000 bytes in 2 s are %.0f a second", got)
	}
	if got := between(ingested("a", 5000), ingested("b", 9000), 2*time.Second)[1]; got != 0 {
		t.Errorf("the rate of another leader should be unknown, got %.0f a second", got)
	}
}
