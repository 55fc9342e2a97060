package wire

import (
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// TestFreshness checks that the state of a follower counts as new as the last mark up to which it
// has applied. Appends of a new leader count only after an entry of its own term is committed, and
// appends of a deposed leader do not count.
func TestFreshness(t *testing.T) {
	begin := time.Unix(1000, 0)
	at := func(s float64) time.Time { return begin.Add(time.Duration(s * float64(time.Second))) }
	tell := func(term, prev, prevTerm, commit uint64, entries ...*raft.Log) *raft.AppendEntriesRequest {
		return &raft.AppendEntriesRequest{
			Term: term, PrevLogEntry: prev, PrevLogTerm: prevTerm, LeaderCommitIndex: commit, Entries: entries,
		}
	}
	for _, c := range []struct {
		name    string
		tell    func(f *freshness)
		applied uint64
		want    float64 // negative: not known
	}{
		{"nothing was heard", func(*freshness) {}, 10, -1},
		{"it led", func(f *freshness) { f.led(2, at(3), 10) }, 10, 3},
		{"it led, and sent its commit index since", func(f *freshness) {
			f.note(tell(2, 10, 2, 10), at(4))
			f.led(2, at(3), 11)
		}, 11, 4},
		{"it led before another leader", func(f *freshness) {
			f.note(tell(3, 10, 3, 10), at(4))
			f.led(2, at(5), 10)
		}, 10, 4},
		{"all is applied", func(f *freshness) { f.note(tell(1, 10, 1, 10), at(1)) }, 10, 1},
		{"nothing new", func(f *freshness) { f.note(tell(1, 10, 1, 10), at(1)); f.note(tell(1, 10, 1, 10), at(7)) }, 10, 7},
		{
			"some is not applied",
			func(f *freshness) { f.note(tell(1, 10, 1, 10), at(1)); f.note(tell(1, 12, 1, 12), at(2)) }, 11, 1,
		},
		{"a new leader has committed nothing of its own", func(f *freshness) {
			f.note(tell(1, 10, 1, 10), at(1))
			f.note(tell(2, 10, 1, 9, &raft.Log{Index: 11, Term: 2}), at(2))
		}, 11, 1},
		{"and now it has", func(f *freshness) {
			f.note(tell(2, 10, 1, 9, &raft.Log{Index: 11, Term: 2}), at(2))
			f.note(tell(2, 11, 2, 11), at(3))
		}, 11, 3},
		{
			"a deposed leader",
			func(f *freshness) { f.note(tell(2, 11, 2, 11), at(3)); f.note(tell(1, 10, 1, 11), at(9)) }, 11, 3,
		},
		{"moments close together", func(f *freshness) {
			for i := range 10_000 {
				n := uint64(10 + i)
				f.note(tell(1, n, 1, n), at(float64(i)/100))
			}
		}, 10 + 9000, 89.75},
		{"further behind than is remembered", func(f *freshness) {
			for i := range 10_000 {
				n := uint64(10 + i)
				f.note(tell(1, n, 1, n), at(float64(i)/100))
			}
		}, 20, -1},
	} {
		f := &freshness{}
		c.tell(f)
		got, known := f.since(func(index uint64) bool { return index <= c.applied })
		if known != (c.want >= 0) || known && (got.After(at(c.want+0.3)) || got.Before(at(c.want-0.3))) {
			t.Errorf("%s: %v %v, want %v", c.name, got.Sub(begin), known, c.want)
		}
		if len(f.marks) > maxMarks {
			t.Errorf("%s: %d moments are kept", c.name, len(f.marks))
		}
	}
}
