package replica

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlog"
)

// TestRecover lets one of three members continue alone. The others, which do not know of it, elect
// a leader among themselves. The recovered member must refuse this leader.
func TestRecover(t *testing.T) {
	kinds(t, func(t *testing.T, kind raftlog.Kind) {
		ids := []string{"n1", "n2", "n3"}
		dirs, fsms, members := map[string]string{}, map[string]*list{}, map[string]*Replica{}
		trans := map[string]*raft.InmemTransport{}
		open := func(id string) *Replica {
			if dirs[id] == "" {
				dirs[id] = t.TempDir()
			}
			_, trans[id] = raft.NewInmemTransport(raft.ServerAddress(id))
			for _, other := range ids {
				if trans[other] != nil {
					trans[id].Connect(raft.ServerAddress(other), trans[other])
					trans[other].Connect(raft.ServerAddress(id), trans[id])
				}
			}
			fsms[id] = &list{}
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
			return r
		}
		for _, id := range ids {
			open(id)
		}
		leader := waitAny(t, members["n1"], members["n2"], members["n3"])
		mustPropose(t, leader, words("a", 1, 5)...)
		index, _, err := leader.ReadIndex(within(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := members["n1"].WaitApplied(within(t), index); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if err := members[id].Close(); err != nil {
				t.Fatal(err)
			}
			delete(trans, id)
		}
		mark := filepath.Join(dirs["n1"], joiningFile) // it had not reached the others when they were lost
		if err := os.WriteFile(mark, []byte("1000 1000000\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := Recover(RecoverConfig{Dir: dirs["n1"], Log: kind, NodeID: "n1"})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(found.Voters, ids) || found.LastIndex < index {
			t.Errorf("found %+v, the last index was %d", found, index)
		}
		again, err := Peek(dirs["n1"], kind)
		if err != nil || !slices.Equal(again.Voters, []string{"n1"}) || again.LastTerm <= found.LastTerm {
			t.Errorf("recovered %+v (%v)", again, err)
		}
		if _, err := os.Stat(mark); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the recovered member still waits for the others: %v", err)
		}
		one := open("n1")
		if err := one.WaitLeader(within(t)); err != nil {
			t.Fatal(err)
		}
		mustPropose(t, one, "b1")
		waitAny(t, open("n2"), open("n3"))
		mustPropose(t, one, "b2")
		if got := one.Stats(); got.State != "Leader" {
			t.Errorf("the recovered member is %s of %s", got.State, got.Leader)
		}
		wantList(t, fsms["n1"], append(words("a", 1, 5), "b1", "b2"))
	})
}

// waitAny waits until one of the members leads, and returns it.
func waitAny(t *testing.T, members ...*Replica) *Replica {
	t.Helper()
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	found := make(chan *Replica, len(members))
	for _, r := range members {
		go func() {
			if r.WaitLeader(ctx) == nil {
				found <- r
			}
		}()
	}
	select {
	case r := <-found:
		return r
	case <-ctx.Done():
		t.Fatal("nobody leads")
		return nil
	}
}
