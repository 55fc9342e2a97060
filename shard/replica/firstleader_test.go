package replica

import (
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlog"
)

// TestFirstLeaderAtOnce checks that a new group has a leader, and that its members are ready, once
// more than half of them are running, whatever the timeouts of raft are.
func TestFirstLeaderAtOnce(t *testing.T) {
	ids := []string{"n2", "n1", "n3"}
	trans := map[string]*raft.InmemTransport{}
	for _, id := range ids {
		_, trans[id] = raft.NewInmemTransport(raft.ServerAddress(id))
	}
	open := func(id string) *Replica {
		t.Helper()
		for _, other := range ids {
			trans[id].Connect(raft.ServerAddress(other), trans[other])
		}
		r, err := Open(Config{
			Group: "test", NodeID: id, Dir: t.TempDir(), FSM: &list{}, Bootstrap: true, Founders: ids, Transport: trans[id],
			Log:              raftlog.Bolt,
			HeartbeatTimeout: 10 * time.Minute, CommitTimeout: 10 * time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		return r
	}
	first := open("n2")
	second := open("n1")
	ctx := within(t)
	for _, r := range []*Replica{first, second} {
		if err := r.WaitReady(ctx); err != nil {
			t.Fatalf("%s: %v", r.cfg.NodeID, err)
		}
	}
	if !first.IsLeader() {
		t.Error("the first of the founders does not lead")
	}
	mustPropose(t, first, "a")
	third := open("n3")
	if err := third.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	if got := first.Term(); got != 2 {
		t.Errorf("the term is %d: there was more than one election", got)
	}
}
