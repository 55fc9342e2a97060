package raftlog

import (
	"testing"

	"github.com/hashicorp/raft"
)

// TestHistory checks that the log store never removes applied entries.
func TestHistory(t *testing.T) {
	for _, c := range []struct {
		name           string
		from, to, last uint64
		replaced, ok   bool
	}{
		{"entries that nobody committed", 8, 10, 10, false, true},
		{"the last one that was committed", 7, 10, 10, false, false},
		{"all of the log", 1, 10, 10, false, false},
		{"all of it, for the state of another member", 1, 10, 10, true, true},
		{"the beginning, behind a snapshot", 1, 6, 10, false, true},
	} {
		h := &History{Dir: t.TempDir(), Committed: func() uint64 { return 7 }}
		h.SetReplacing(c.replaced)
		if err := h.mayDelete(c.from, c.to, c.last); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	h := &History{Dir: t.TempDir(), Command: 5, Term: 2}
	for _, c := range []struct {
		index, term uint64
		ok          bool
	}{{5, 2, true}, {4, 1, true}, {6, 9, true}, {5, 3, false}} {
		if err := h.mayStore([]*raft.Log{{Index: c.index, Term: c.term}}); (err == nil) != c.ok {
			t.Errorf("an entry %d of term %d: %v", c.index, c.term, err)
		}
	}
}
