package replica

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlog"
)

// memStore is a log in memory.
type memStore struct {
	*raft.InmemStore
	io.Closer
}

// TestSnapshotEvery lets a member cut its log by itself. It must not do so while a snapshot of
// another member is installed, which would be a deadlock.
func TestSnapshotEvery(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		fsm := &list{}
		cfg := config(dir, raftlog.WAL, fsm)
		cfg.SnapshotEvery = 5
		cfg.Store = func() (raftlog.Store, error) { return memStore{raft.NewInmemStore(), io.NopCloser(nil)}, nil }
		r := mustOpen(t, cfg)
		r.snapshots.token <- struct{}{} // simulate an installation
		mustPropose(t, r, words("a", 1, 20)...)
		time.Sleep(10 * time.Minute)
		if at := fsm.AppliedIndex(); at != 0 {
			t.Errorf("a snapshot of index %d was taken while another member's was installed", at)
		}
		<-r.snapshots.token
		time.Sleep(10 * time.Minute)
		if at := fsm.AppliedIndex(); at == 0 {
			t.Error("no snapshot was taken after it")
		}
		mustPropose(t, r, "b")
		before := fsm.AppliedIndex()
		time.Sleep(10 * time.Minute)
		if at := fsm.AppliedIndex(); at != before {
			t.Errorf("a snapshot of index %d was taken after one entry", at)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}
