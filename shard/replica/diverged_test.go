package replica

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlog"
)

// lateSnapshot opens a group of two, and makes the leader take a snapshot and continue. It returns
// the follower, its state machine, and a function that sends the snapshot again. A test may change
// the snapshot.
func lateSnapshot(t *testing.T, kind raftlog.Kind) (follower *Replica, fsm *list,
	send func(change func(*raft.InstallSnapshotRequest)) (*raft.InstallSnapshotResponse, error),
) {
	ids := []string{"n1", "n2"}
	trans, fsms := map[string]*raft.InmemTransport{}, map[string]*list{}
	for _, id := range ids {
		_, trans[id] = raft.NewInmemTransport(raft.ServerAddress(id))
	}
	trans["n1"].Connect("n2", trans["n2"])
	trans["n2"].Connect("n1", trans["n1"])
	var members []*Replica
	for _, id := range ids {
		fsms[id] = &list{}
		r, err := Open(Config{
			Group: "test", NodeID: id, Dir: t.TempDir(), FSM: fsms[id], Bootstrap: true, Founders: ids,
			Transport: trans[id], Log: kind, TrailingLogs: 1000,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		members = append(members, r)
	}
	leader := waitAny(t, members...)
	follower = members[0]
	if follower == leader {
		follower = members[1]
	}
	mustPropose(t, leader, "a", "b")
	if err := leader.Snapshot(); err != nil {
		t.Fatal(err)
	}
	mustPropose(t, leader, "c", "d")
	index, term, err := leader.ReadIndex(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := follower.WaitApplied(within(t), index); err != nil {
		t.Fatal(err)
	}
	snaps, err := leader.snaps.List()
	if err != nil || len(snaps) != 1 {
		t.Fatalf("snapshots: %v, %v", snaps, err)
	}
	meta, content, err := leader.snaps.Open(snaps[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	_ = content.Close()
	id := leader.cfg.NodeID
	return follower, fsms[follower.cfg.NodeID],
		func(change func(*raft.InstallSnapshotRequest)) (*raft.InstallSnapshotResponse, error) {
			req := &raft.InstallSnapshotRequest{
				RPCHeader:       raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(id), Addr: []byte(id)},
				SnapshotVersion: meta.Version, Term: term, LastLogIndex: meta.Index, LastLogTerm: meta.Term,
				Configuration: raft.EncodeConfiguration(meta.Configuration), ConfigurationIndex: meta.ConfigurationIndex,
				Size: int64(len(b)),
			}
			change(req)
			resp := &raft.InstallSnapshotResponse{}
			err := trans[id].InstallSnapshot(raft.ServerID(follower.cfg.NodeID), raft.ServerAddress(follower.cfg.NodeID), req,
				resp, bytes.NewReader(b))
			return resp, err
		}
}

// TestLateSnapshot checks that a snapshot which arrives late does not set the member back if the
// member has already applied what the snapshot covers.
func TestLateSnapshot(t *testing.T) {
	kinds(t, func(t *testing.T, kind raftlog.Kind) {
		follower, fsm, send := lateSnapshot(t, kind)
		resp, err := send(func(*raft.InstallSnapshotRequest) {})
		if err != nil || !resp.Success {
			t.Errorf("the answer is %+v, %v; the leader would send it for ever", resp, err)
		}
		wantList(t, fsm, []string{"a", "b", "c", "d"})
		if last := follower.Stats().LastIndex; fsm.restored != 0 || last < 4 {
			t.Errorf("restored %d times, the log ends with %d", fsm.restored, last)
		}
		// The same case, but detected only when raft is about to install the snapshot.
		follower.install.installing.Store(true)
		list, err := follower.snaps.List()
		if err != nil || len(list) != 0 {
			t.Fatalf("snapshots of the follower: %v, %v", list, err)
		}
		if _, err := follower.snaps.Create(raft.SnapshotVersionMax, 3, 2, raft.Configuration{}, 1, nil); err == nil {
			t.Error("a snapshot that was late by then is installed")
		}
		follower.install.installing.Store(false)
	})
}

// TestSnapshotOfAnotherPast checks that a member does not follow a leader whose snapshot ends with
// an entry that differs from the one that the member applied.
func TestSnapshotOfAnotherPast(t *testing.T) {
	kinds(t, func(t *testing.T, kind raftlog.Kind) {
		follower, fsm, send := lateSnapshot(t, kind)
		if _, err := send(func(req *raft.InstallSnapshotRequest) { req.LastLogTerm += 7 }); err == nil ||
			!strings.Contains(err.Error(), "went back in time") {
			t.Errorf("the answer is %v", err)
		}
		select {
		case <-follower.failed:
		case <-time.After(10 * time.Second):
			t.Fatal("the replica did not stop")
		}
		wantList(t, fsm, []string{"a", "b", "c", "d"})
		if err := follower.Close(); err != nil {
			t.Error(err)
		}
		if why, err := raftlog.Diverged(follower.cfg.Dir); err != nil || why == "" {
			t.Errorf("the mark contains %q, %v", why, err)
		}
	})
}

// termed is a list that knows the term of its durable state.
type termed struct {
	*list
	term uint64
}

func (l termed) AppliedTerm() uint64 { return l.term }

// TestStateOfAnotherPast checks that a replica does not open, and changes nothing, if the log and
// the state have entries of different terms at the same index.
func TestStateOfAnotherPast(t *testing.T) {
	kinds(t, func(t *testing.T, kind raftlog.Kind) {
		dir, fsm := t.TempDir(), &list{}
		r := mustOpen(t, config(dir, kind, fsm))
		mustPropose(t, r, "a", "b", "c")
		index, term, err := r.ReadIndex(within(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		again := &list{durable: fsm.all(), durableIndex: index, applied: index}
		if r, err = Open(config(dir, kind, termed{again, term})); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time because of the mark
			if _, err := Open(config(dir, kind, termed{again, term + 1})); err == nil ||
				!strings.Contains(err.Error(), "went back in time") {
				t.Errorf("it opens: %v", err)
			}
		}
	})
}
