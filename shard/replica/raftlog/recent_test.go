package raftlog

import (
	"runtime"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

func entries(from, to, term uint64) []*raft.Log {
	var out []*raft.Log
	for i := from; i <= to; i++ {
		out = append(out, &raft.Log{Index: i, Term: term, Data: []byte{byte(i), byte(term)}})
	}
	return out
}

func TestRecentEntries(t *testing.T) {
	var r recent
	has := func(index, term uint64, want bool) {
		t.Helper()
		var l raft.Log
		if got := r.get(index, &l); got != want || got && (l.Index != index || l.Term != term || l.Data[1] != byte(term)) {
			t.Errorf("entry %d: got %v, %+v; want %v, of term %d", index, got, l, want, term)
		}
	}
	has(0, 0, false)
	first := entries(1, 100, 1)
	r.add(first)
	has(100-recentEntries, 1, false) // another entry took its slot
	has(100-recentEntries+1, 1, true)
	has(100, 1, true)
	has(101, 1, false)

	r.cut(90, 100)
	has(89, 1, true)
	has(90, 1, false)
	has(100, 1, false)
	second := entries(90, 95, 2)
	r.add(second)
	has(89, 1, true)
	has(95, 2, true)
	has(96, 1, false)
	runtime.KeepAlive(first)
	runtime.KeepAlive(second)
}

// TestRecentEntriesAreNotKept checks that entries are not kept in memory only because they were
// written recently.
func TestRecentEntriesAreNotKept(t *testing.T) {
	var r recent
	r.add(entries(1, 8, 1))
	runtime.GC()
	runtime.GC()
	var l raft.Log
	for i := uint64(1); i <= 8; i++ {
		if r.get(i, &l) {
			t.Errorf("entry %d is still in memory", i)
		}
	}
}

// TestRecentEntriesFollowTheLog checks that the store returns the entries of the log, also after
// the end of the log was replaced.
func TestRecentEntriesFollowTheLog(t *testing.T) {
	for _, kind := range []Kind{WAL, Bolt} {
		s := openStore(t, t.TempDir(), kind)
		first := entries(1, 10, 1)
		if err := s.StoreLogs(first); err != nil {
			t.Fatal(err)
		}
		if err := s.DeleteRange(6, 10); err != nil {
			t.Fatal(err)
		}
		second := entries(6, 8, 2)
		if err := s.StoreLogs(second); err != nil {
			t.Fatal(err)
		}
		if err := s.DeleteRange(1, 2); err != nil {
			t.Fatal(err)
		}
		for i := uint64(1); i <= 10; i++ {
			var l raft.Log
			err := s.GetLog(i, &l)
			want := uint64(1)
			if i >= 6 {
				want = 2
			}
			//nolint:errorlint // //nolint:errorlint // raft compares with ==
			if gone := i <= 2 || i > 8; gone != (err == raft.ErrLogNotFound) ||
				!gone && (err != nil || l.Index != i || l.Term != want) {
				t.Errorf("%v: entry %d: %+v, %v", kind, i, l, err)
			}
		}
		runtime.KeepAlive(first)
		runtime.KeepAlive(second)
	}
}

func openStore(t *testing.T, dir string, kind Kind) *Log {
	t.Helper()
	if err := MakeDirs(dir); err != nil {
		t.Fatal(err)
	}
	log, err := Open(testConfig(dir, kind, func(err error) { t.Error(err) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	return log
}

func testConfig(dir string, kind Kind, fail func(error)) Config {
	return Config{Dir: dir, Kind: kind, SegmentBytes: 64 << 10, AppendDeadline: time.Minute, Fail: fail}
}
