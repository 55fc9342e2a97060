package replica

import (
	"errors"
	"strings"
	"testing"

	"cordwood/shard/replica/raftlog"
)

func TestSnapshotCutsTheLog(t *testing.T) {
	kinds(t, func(t *testing.T, kind raftlog.Kind) {
		cfg := config(t.TempDir(), kind, &list{})
		cfg.SegmentBytes = 64 << 10
		r := mustOpen(t, cfg)
		big := strings.Repeat("x", 10_000)
		for range 50 {
			mustPropose(t, r, big)
		}
		before := r.LogBytes()
		if before < 500_000 {
			t.Errorf("LogBytes is %d after 500 kB of entries", before)
		}
		if err := r.Snapshot(); err != nil {
			t.Fatal(err)
		}
		first, err := r.log.FirstIndex()
		if err != nil {
			t.Fatal(err)
		}
		if last := r.Stats().LastIndex; first < last {
			t.Errorf("log still holds entries %d to %d", first, last)
		}
		if after := r.LogBytes(); after > 64<<10+20_000 {
			t.Errorf("LogBytes is %d after the snapshot, was %d", after, before)
		}
	})
}

func TestLogBytesAfterRestart(t *testing.T) {
	dir := t.TempDir()
	fsm := &list{}
	r := mustOpen(t, config(dir, raftlog.WAL, fsm))
	for range 20 {
		mustPropose(t, r, strings.Repeat("x", 50_000))
	}
	want := r.LogBytes()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r = mustOpen(t, config(dir, raftlog.WAL, fsm.reopened()))
	if got := r.LogBytes(); got < want || got > want+1000 { // it also has the entries of an election and a barrier
		t.Errorf("LogBytes is %d after the restart, was %d", got, want)
	}
}

func TestStateBehindSnapshotIsRestored(t *testing.T) {
	dir := t.TempDir()
	fsm := &list{}
	r := mustOpen(t, config(dir, raftlog.WAL, fsm))
	mustPropose(t, r, words("a", 1, 3)...)
	if err := r.Snapshot(); err != nil {
		t.Fatal(err)
	}
	mustPropose(t, r, "b1")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	lost := &list{}
	mustOpen(t, config(dir, raftlog.WAL, lost))
	if lost.restored != 1 {
		t.Errorf("restored %d times, want once", lost.restored)
	}
	wantList(t, lost, append(words("a", 1, 3), "b1"))
}

func TestSnapshotError(t *testing.T) {
	fsm := &list{persistErr: errors.New("no room")}
	r := mustOpen(t, config(t.TempDir(), raftlog.WAL, fsm))
	mustPropose(t, r, words("a", 1, 3)...)
	first, _ := r.log.FirstIndex()
	if err := r.Snapshot(); !errors.Is(err, fsm.persistErr) {
		t.Errorf("Snapshot returned %v, want the error of Persist", err)
	}
	if now, _ := r.log.FirstIndex(); now != first {
		t.Errorf("a failed snapshot cut the log to %d", now)
	}
	mustPropose(t, r, "a4")
}
