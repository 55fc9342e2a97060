package raftlog

import (
	"weak"

	"github.com/hashicorp/raft"
)

// recentEntries is how many of the last entries are remembered: more than are on their way to
// a member, or wait to be applied, at a time.
const recentEntries = 64

// recent finds the last entries of the log in memory while something else still holds them
// there. Without it raft would read every entry from its file once for each member that it is
// sent to, once more as the entry before the next one, and once to apply it. The pointers are
// weak, so that an idle group keeps no memory for them.
//
// Entries are never changed once they are in the log. The caller serializes all calls.
type recent struct {
	ring [recentEntries]struct {
		index uint64
		entry weak.Pointer[raft.Log]
	}
}

// add notes entries that are in the log from now on.
func (r *recent) add(logs []*raft.Log) {
	for _, l := range logs[max(0, len(logs)-recentEntries):] {
		at := &r.ring[l.Index%recentEntries]
		at.index, at.entry = l.Index, weak.Make(l)
	}
}

// get copies an entry into l, if it is in memory.
func (r *recent) get(index uint64, l *raft.Log) bool {
	at := &r.ring[index%recentEntries]
	if at.index != index {
		return false
	}
	have := at.entry.Value()
	if have == nil {
		return false
	}
	*l = *have
	return true
}

// cut forgets the entries from one index to another, both included: what is written there
// later is another entry.
func (r *recent) cut(from, to uint64) {
	for i := range r.ring {
		if at := &r.ring[i]; at.index >= from && at.index <= to {
			at.index, at.entry = 0, weak.Pointer[raft.Log]{}
		}
	}
}
