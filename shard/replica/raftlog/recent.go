package raftlog

import (
	"weak"

	"github.com/hashicorp/raft"
)

// recentEntries is the number of last entries that can be found in memory. It is more than are in
// flight to a member, or wait to be applied, at a time.
const recentEntries = 64

// recent finds the last entries of the log in memory as long as other code holds them there.
// Without it raft would read every entry from its file several times: for each member to which the
// entry is sent, as the previous entry of the next one, and to apply it. The pointers are weak, so
// that an idle group uses no memory for them.
//
// Entries never change once they are in the log. The caller must serialize all calls.
type recent struct {
	ring [recentEntries]struct {
		index uint64
		entry weak.Pointer[raft.Log]
	}
}

// add records entries that were appended to the log.
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

// cut removes the entries from one index to another, both included, because other entries may be
// written in their place.
func (r *recent) cut(from, to uint64) {
	for i := range r.ring {
		if at := &r.ring[i]; at.index >= from && at.index <= to {
			at.index, at.entry = 0, weak.Pointer[raft.Log]{}
		}
	}
}
