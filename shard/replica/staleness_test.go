package replica

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlog"
)

// TestStalenessOfAFormerLeader checks that a leader which loses the others before it has sent its commit index knows
// how old its state may be.
func TestStalenessOfAFormerLeader(t *testing.T) {
	ids := []string{"n1", "n2", "n3"}
	dir := t.TempDir()
	for try := range 4 { // the first leader of a group sends its commit index at once
		trans, members := map[string]*raft.InmemTransport{}, map[string]*Replica{}
		for _, id := range ids {
			_, trans[id] = raft.NewInmemTransport(raft.ServerAddress(id))
		}
		for _, id := range ids {
			for _, other := range ids {
				trans[id].Connect(raft.ServerAddress(other), trans[other])
			}
			r, err := Open(Config{
				Group: "test", NodeID: id, Dir: filepath.Join(dir, id), FSM: &list{}, Bootstrap: try == 0, Founders: ids,
				Transport: trans[id], Log: raftlog.Bolt, HeartbeatTimeout: 300 * time.Millisecond, CommitTimeout: 10 * time.Minute,
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = r.Close() })
			members[id] = r
		}
		leader := waitAny(t, members["n1"], members["n2"], members["n3"])
		for _, id := range ids {
			trans[id].DisconnectAll()
		}
		cut := time.Now()
		for ctx := within(t); leader.IsLeader(); {
			select {
			case <-leader.LeadsChanged():
			case <-ctx.Done():
				t.Fatal("it still leads")
			}
		}
		age, known := leader.Staleness()
		if !known || age < time.Since(cut)-50*time.Millisecond {
			t.Errorf("try %d: the staleness is %v, known %t, but it was cut off %v ago", try, age, known, time.Since(cut))
		}
		for _, r := range members {
			_ = r.Close()
		}
	}
}
