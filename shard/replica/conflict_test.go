package replica

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/proto/errs"

	"cordwood/shard/replica/raftlog"
)

// TestConflictingEntryAtSnapshot reconnects a former leader that has entries which no other member
// has. One of them has the index of the snapshot that it needs. It must take one snapshot, and not
// one after another without end (raft issue 697).
func TestConflictingEntryAtSnapshot(t *testing.T) {
	kinds(t, func(t *testing.T, kind raftlog.Kind) {
		ids := []string{"n1", "n2", "n3"}
		trans, fsms, members := map[string]*raft.InmemTransport{}, map[string]*list{}, map[string]*Replica{}
		for _, id := range ids {
			_, trans[id] = raft.NewInmemTransport(raft.ServerAddress(id))
		}
		connect := func(a, b string, on bool) {
			if on {
				trans[a].Connect(raft.ServerAddress(b), trans[b])
				trans[b].Connect(raft.ServerAddress(a), trans[a])
			} else {
				trans[a].Disconnect(raft.ServerAddress(b))
				trans[b].Disconnect(raft.ServerAddress(a))
			}
		}
		for i, a := range ids {
			for _, b := range ids[:i] {
				connect(a, b, true)
			}
		}
		for _, id := range ids {
			fsms[id] = &list{}
			r, err := Open(Config{
				Group: "test", NodeID: id, Dir: t.TempDir(), FSM: fsms[id], Bootstrap: true, Founders: ids,
				Transport: trans[id], Log: kind,
				HeartbeatTimeout: 300 * time.Millisecond, CommitTimeout: 20 * time.Millisecond, TrailingLogs: 1, TrailingBytes: 1,
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = r.Close() })
			members[id] = r
		}
		old := waitAny(t, members["n1"], members["n2"], members["n3"])
		mustPropose(t, old, "a")
		var rest []*Replica
		for _, id := range ids {
			if id != old.cfg.NodeID {
				connect(id, old.cfg.NodeID, false)
				rest = append(rest, members[id])
			}
		}
		// The former leader has written the entries to its log before it notices that no member
		// answers.
		results := make(chan error, 20)
		for i := range cap(results) {
			go func() {
				_, err := old.Propose(within(t), fmt.Append(nil, "lost", i))
				results <- err
			}()
		}
		for range cap(results) {
			if reason := errs.ReasonOf(<-results); reason != errs.OutcomeUnknown && reason != errs.NotLeader {
				t.Fatalf("a leader that is cut off answers with reason %q", reason)
			}
		}
		next := waitAny(t, rest...)
		mustPropose(t, next, "b", "c")
		if err := next.Snapshot(); err != nil {
			t.Fatal(err)
		}
		if last, want := old.Stats().LastIndex, next.Stats().LastIndex; last < want {
			t.Fatalf("the old leader's log ends with entry %d, before the snapshot of about %d", last, want)
		}
		for _, r := range rest {
			connect(r.cfg.NodeID, old.cfg.NodeID, true)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		index, _, err := next.ReadIndex(ctx)
		for err != nil && ctx.Err() == nil { // on a slow machine another member may lead by now
			index, _, err = waitAny(t, rest...).ReadIndex(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := old.WaitApplied(ctx, index); err != nil {
			t.Fatal(err)
		}
		wantList(t, fsms[old.cfg.NodeID], []string{"a", "b", "c"})
		fsm := fsms[old.cfg.NodeID]
		fsm.mu.Lock()
		defer fsm.mu.Unlock()
		if fsm.restored != 1 {
			t.Errorf("it took %d snapshots, want 1", fsm.restored)
		}
	})
}
