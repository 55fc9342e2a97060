package replica

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// TestReadyAfterElections restarts a group whose last entries are no commands and in a
// snapshot, but still in the log: every member gets ready, and reads are answered, although
// nothing is written after that.
func TestReadyAfterElections(t *testing.T) {
	kinds(t, func(t *testing.T, kind LogKind) {
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
					Group: "test", NodeID: id, Dir: dirs[id], FSM: fsms[id], Bootstrap: true, Founders: ids, Transport: trans[id], Log: kind,
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
		// Each of them takes entries that are no commands.
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

// What stays in the log behind a snapshot, for other members, counts after a restart, too:
// else it would grow by as much again before it is cut.
func TestTrailingLogCountsAfterRestart(t *testing.T) {
	for _, kind := range []LogKind{WAL, Bolt} {
		dir := t.TempDir()
		if err := makeDirs(filepath.Join(dir, "log")); err != nil {
			t.Fatal(err)
		}
		open := func() (*logStore, []mark) {
			g := newGuard(time.Minute, nil, nil, func(err error) { t.Error(err) })
			b, marks, err := openBackend(Config{Dir: dir, Log: kind, SegmentBytes: 64 << 10}, g, newHCLogger(Config{}.withDefaults().Logger))
			if err != nil {
				t.Fatal(err)
			}
			return newLogStore(b, g, newMetrics(nil, "test"), kind), marks
		}
		s, _ := open()
		for from := uint64(1); from <= 1000; from += 20 {
			var logs []*raft.Log
			for i := from; i < from+20; i++ {
				logs = append(logs, &raft.Log{Index: i, Term: 1, Data: make([]byte, 1000)})
			}
			if err := s.StoreLogs(logs); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.DeleteRange(1, 200); err != nil {
			t.Fatal(err)
		}
		if err := s.backend.Close(); err != nil {
			t.Fatal(err)
		}
		s, marks := open()
		if err := s.preload(marks, 900); err != nil {
			t.Fatal(err)
		}
		for i := uint64(901); i <= 1000; i++ { // as raft does
			if err := s.GetLog(i, &raft.Log{}); err != nil {
				t.Fatal(err)
			}
		}
		s.loaded(900)
		if n := s.Bytes(); n < 700_000 || n > 1_000_000 {
			t.Errorf("%v: the log has %d bytes, want about 800 * 1032", kind, n)
		}
		if n := s.entriesOf(500_000, 1000); n < 350 || n > 500 {
			t.Errorf("%v: the last 500,000 bytes are %d entries, want about 480", kind, n)
		}
		if err := s.backend.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
