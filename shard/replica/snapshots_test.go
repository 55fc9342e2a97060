package replica

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKilledWhileSnapshotsGo ends a process after each file that it removes of a snapshot that is no
// longer kept: the replica opens all the same, and removes the rest.
func TestKilledWhileSnapshotsGo(t *testing.T) {
	dir, fsm := t.TempDir(), &list{}
	killed := errors.New("killed")
	for removed := range 3 {
		r := mustOpen(t, config(dir, WAL, fsm))
		r.snaps.remove = func(dir string) error {
			for _, name := range []string{"meta.json", "state.bin"}[:removed] {
				if err := os.Remove(filepath.Join(dir, name)); err != nil {
					t.Error(err)
				}
			}
			return killed
		}
		var err error
		for range keptSnapshots + 1 {
			mustPropose(t, r, "a")
			if err = r.Snapshot(); err != nil {
				break
			}
		}
		if err == nil || !strings.Contains(err.Error(), killed.Error()) {
			t.Errorf("the removal was not broken off: %v", err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		fsm = fsm.reopened()
	}
	mustPropose(t, mustOpen(t, config(dir, WAL, fsm)), "b")
	if left, err := os.ReadDir(filepath.Join(dir, "snapshots")); err != nil || len(left) != keptSnapshots {
		t.Errorf("there are %v, want %d snapshots: %v", left, keptSnapshots, err)
	}
}

func TestSnapshotCutsTheLog(t *testing.T) {
	kinds(t, func(t *testing.T, kind LogKind) {
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
		first, err := r.store.FirstIndex()
		if err != nil {
			t.Fatal(err)
		}
		if last := r.Stats().LastIndex; first < last {
			t.Errorf("log still holds entries %d to %d", first, last)
		}
		if after := r.LogBytes(); after > markBytes+20_000 {
			t.Errorf("LogBytes is %d after the snapshot, was %d", after, before)
		}
	})
}

func TestLogBytesAfterRestart(t *testing.T) {
	dir := t.TempDir()
	fsm := &list{}
	r := mustOpen(t, config(dir, WAL, fsm))
	for range 20 {
		mustPropose(t, r, strings.Repeat("x", 50_000))
	}
	want := r.LogBytes()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r = mustOpen(t, config(dir, WAL, fsm.reopened()))
	if got := r.LogBytes(); got < want || got > want+1000 { // an election and a barrier more
		t.Errorf("LogBytes is %d after the restart, was %d", got, want)
	}
}

func TestStateBehindSnapshotIsRestored(t *testing.T) {
	dir := t.TempDir()
	fsm := &list{}
	r := mustOpen(t, config(dir, WAL, fsm))
	mustPropose(t, r, words("a", 1, 3)...)
	if err := r.Snapshot(); err != nil {
		t.Fatal(err)
	}
	mustPropose(t, r, "b1")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	lost := &list{}
	mustOpen(t, config(dir, WAL, lost))
	if lost.restored != 1 {
		t.Errorf("restored %d times, want once", lost.restored)
	}
	wantList(t, lost, append(words("a", 1, 3), "b1"))
}

func TestSnapshotError(t *testing.T) {
	fsm := &list{persistErr: errors.New("no room")}
	r := mustOpen(t, config(t.TempDir(), WAL, fsm))
	mustPropose(t, r, words("a", 1, 3)...)
	first, _ := r.store.FirstIndex()
	if err := r.Snapshot(); !errors.Is(err, fsm.persistErr) {
		t.Errorf("Snapshot returned %v, want the error of Persist", err)
	}
	if now, _ := r.store.FirstIndex(); now != first {
		t.Errorf("a failed snapshot cut the log to %d", now)
	}
	mustPropose(t, r, "a4")
}

func TestSnapshotHeader(t *testing.T) {
	h := header{index: 7, term: 3}
	got, err := readHeader(strings.NewReader(string(h.encode())))
	if err != nil || got != h {
		t.Errorf("read %+v, %v", got, err)
	}
	const golden = "CWSN\x01\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00" // version 1, for ever
	if string(h.encode()) != golden {
		t.Errorf("the header is % x", h.encode())
	}
	newer := h.encode()
	newer[4] = 9
	if _, err := readHeader(strings.NewReader(string(newer))); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a newer version gives %v", err)
	}
	for _, bad := range []string{"", "CWSN", "XXXX" + string(h.encode()[4:])} {
		if _, err := readHeader(strings.NewReader(bad)); err == nil || errors.Is(err, ErrUnsupported) {
			t.Errorf("%q gives %v", bad, err)
		}
	}
}
