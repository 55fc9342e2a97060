package raftlog

import (
	"io"
	"testing"

	"github.com/hashicorp/raft"
)

func TestSizes(t *testing.T) {
	add := func(from, to uint64, each int64) func(*sizes) {
		return func(s *sizes) {
			for i := from; i <= to; i++ {
				s.add(i, each)
			}
		}
	}
	head := func(to uint64) func(*sizes) { return func(s *sizes) { s.cutHead(to) } }
	tail := func(from uint64) func(*sizes) { return func(s *sizes) { s.cutTail(from) } }
	tests := []struct {
		name  string
		steps []func(*sizes)
		want  int64
	}{
		{"empty", nil, 0},
		{"small entries", []func(*sizes){add(1, 100, 10)}, 1000},
		{"all cut", []func(*sizes){add(1, 100, markBytes), head(100)}, 0},
		{"half cut", []func(*sizes){add(1, 100, markBytes), head(50)}, 50 * markBytes},
		{"within a mark nothing is cut", []func(*sizes){add(1, 100, 10), head(99)}, 1000},
		{"tail cut", []func(*sizes){add(1, 100, markBytes), tail(91)}, 90 * markBytes},
		{"tail cut and appended", []func(*sizes){add(1, 10, markBytes), tail(6), add(6, 7, markBytes)}, 7 * markBytes},
		{"cut beyond the end", []func(*sizes){add(1, 10, markBytes), head(50), add(51, 51, 7)}, 7},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var s sizes
			for _, step := range test.steps {
				step(&s)
			}
			if got := s.total(); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

// TestLastCommandBehindSnapshot checks that the entry before the log's first one counts as covered
// by a snapshot, even if this process has not seen it and the snapshot has no command with this
// index.
func TestLastCommandBehindSnapshot(t *testing.T) {
	for _, c := range []struct {
		first, last uint64
		others      []uint64
		index, want uint64
		known       bool
	}{
		{0, 0, nil, 259, 0, false},
		{260, 260, []uint64{260}, 260, 0, false},
		{260, 262, []uint64{260, 262}, 262, 261, true},
		{258, 260, []uint64{260}, 260, 259, true},
	} {
		backend := raft.NewInmemStore()
		s, err := Open(Config{Store: func() (Store, error) {
			return struct {
				*raft.InmemStore
				io.Closer
			}{backend, io.NopCloser(nil)}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		for _, index := range c.others {
			s.others[index] = struct{}{}
		}
		for index := c.first; index > 0 && index <= c.last; index++ {
			if err := backend.StoreLog(&raft.Log{Index: index}); err != nil {
				t.Fatal(err)
			}
		}
		if last, known := s.LastCommand(c.index); known != c.known || known && last != c.want {
			t.Errorf("log %d to %d without commands at %v: the last command up to %d is %d, %v; want %d, %v",
				c.first, c.last, c.others, c.index, last, known, c.want, c.known)
		}
	}
}

// TestTrailingLogCountsAfterRestart checks that entries which stay in the log before a snapshot,
// for other members, are counted after a restart too. Otherwise the log would grow by the same
// amount again before it is cut.
func TestTrailingLogCountsAfterRestart(t *testing.T) {
	for _, kind := range []Kind{WAL, Bolt} {
		dir := t.TempDir()
		if err := MakeDirs(dir); err != nil {
			t.Fatal(err)
		}
		open := func() *Log {
			s, err := Open(testConfig(dir, kind, func(err error) { t.Error(err) }))
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s := open()
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
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open()
		if err := s.CountCovered(900); err != nil {
			t.Fatal(err)
		}
		for i := uint64(901); i <= 1000; i++ { // as raft does
			if err := s.GetLog(i, &raft.Log{}); err != nil {
				t.Fatal(err)
			}
		}
		s.Loaded(900)
		if n := s.Bytes(); n < 700_000 || n > 1_000_000 {
			t.Errorf("%v: the log has %d bytes, want about 800 * 1032", kind, n)
		}
		if n := s.EntriesWithin(500_000, 1000); n < 350 || n > 500 {
			t.Errorf("%v: the last 500,000 bytes are %d entries, want about 480", kind, n)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
