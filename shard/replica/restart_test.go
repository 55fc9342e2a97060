package replica

import (
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlog"
)

// TestReadyAfterElections restarts a group whose last log entries are not commands and are covered
// by a snapshot. Every member becomes ready, and reads are answered, although nothing is written
// afterwards.
func TestReadyAfterElections(t *testing.T) {
	kinds(t, func(t *testing.T, kind raftlog.Kind) {
		ids := []string{"n1", "n2"}
		dirs, fsms, members := map[string]string{}, map[string]*list{}, map[string]*Replica{}
		for _, id := range ids {
			dirs[id], fsms[id] = t.TempDir(), &list{}
		}
		start := func() {
			trans := map[string]*raft.InmemTransport{}
			for _, id := range ids {
				_, trans[id] = raft.NewInmemTransport(raft.ServerAddress(id))
			}
			trans["n1"].Connect("n2", trans["n2"])
			trans["n2"].Connect("n1", trans["n1"])
			for _, id := range ids {
				r, err := Open(Config{
					Group: "test", NodeID: id, Dir: dirs[id], FSM: fsms[id], Bootstrap: true, Founders: ids,
					Transport: trans[id], Log: kind,
					HeartbeatTimeout: 300 * time.Millisecond, CommitTimeout: 20 * time.Millisecond,
				})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = r.Close() })
				members[id] = r
			}
		}
		start()
		leader := waitAny(t, members["n1"], members["n2"])
		mustPropose(t, leader, "a")
		// Each election appends entries that are not commands.
		for range 3 {
			if err := leader.StepDown(within(t)); err != nil {
				t.Fatal(err)
			}
			leader = waitAny(t, members["n1"], members["n2"])
		}
		last := leader.Stats().CommitIndex
		for _, id := range ids {
			r := members[id]
			for ctx := within(t); r.raft.AppliedIndex() < last; {
				select {
				case <-ctx.Done():
					t.Fatalf("%s has applied entries up to %d, want %d", id, r.raft.AppliedIndex(), last)
				case <-time.After(time.Millisecond):
				}
			}
			if err := r.Snapshot(); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range ids {
			if err := members[id].Close(); err != nil {
				t.Fatal(err)
			}
			fsms[id] = fsms[id].reopened()
		}
		start()
		for _, id := range ids {
			if err := members[id].WaitReady(within(t)); err != nil {
				t.Errorf("%s: %v; %+v", id, err, members[id].Stats())
			}
		}
		if _, _, err := waitAny(t, members["n1"], members["n2"]).ReadIndex(within(t)); err != nil {
			t.Error(err)
		}
	})
}
