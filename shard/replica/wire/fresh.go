package wire

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// How a follower determines the age of its state.
//
// A leader sends its commit index with every append, and an idle leader sends an append each second
// in addition to the heartbeats. Everything that the leader acknowledged before it sent an append
// has an index of at most the commit index in it, because an entry is acknowledged after it is
// committed. So once a follower has applied up to that commit index, its state is as new as that
// append. freshness keeps marks (time of arrival, commit index), and the staleness of the member is
// the age of the newest mark up to which it has applied.
//
// Two conditions keep this true:
//
//   - A new leader knows what its predecessors committed only when an entry of its own term is
//     committed. Its appends count from then on (first).
//   - A deposed leader that does not know it yet continues to send. Its appends count as long as
//     this member has received no newer term.
//
// The second condition gives the worst case. While this member still follows a deposed leader, a
// new leader may acknowledge entries that this member cannot know of. The deposed leader stops when
// it has received nothing from a majority for one heartbeat timeout (its lease), so the staleness
// that a follower computes may be too low by at most that time. Clocks of other nodes do not
// matter: every time is read from this member's own monotonic clock, at the arrival of an append.
// So the staleness does not include the time that an append took to arrive.
//
// A member that begins to lead adds a mark for the time at which it proposed an entry that a majority has stored: its
// own appends may not contain the commit index before it loses the others.
//
// A member that lags by more marks than are kept does not know its staleness.
const (
	// marksEvery is the minimum distance of two marks, and maxMarks their maximum number: a minute
	// of a busy group.
	marksEvery = 250 * time.Millisecond
	maxMarks   = 256
)

// freshness records the commit indexes that leaders sent, with their times of arrival.
type freshness struct {
	mu   sync.Mutex // guards the rest
	term uint64
	// first is the lowest entry known to belong to that term, or 0.
	first uint64
	marks []commitMark // ascending
}

// commitMark records that everything acknowledged before at has an index of at most commit.
type commitMark struct {
	at     time.Time
	commit uint64
}

// note records an append of a leader.
func (f *freshness) note(req *raft.AppendEntriesRequest, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if req.Term < f.term {
		return // the append is from a deposed leader
	}
	if req.Term > f.term {
		f.term, f.first = req.Term, 0
	}
	if f.first == 0 {
		f.first = firstOfTerm(req)
	}
	if f.first == 0 || req.LeaderCommitIndex < f.first {
		return
	}
	f.mark(commitMark{now, req.LeaderCommitIndex})
}

// led records that a majority has stored an entry of this member's own term, which this member proposed after a time:
// everything acknowledged before that time has an index of at most applied.
func (f *freshness) led(term uint64, since time.Time, applied uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if term < f.term {
		return
	}
	if term > f.term {
		f.term, f.first = term, 0
	}
	f.mark(commitMark{since, applied})
}

// mark adds a mark. f.mu is held.
func (f *freshness) mark(m commitMark) {
	n := len(f.marks)
	if n > 0 && m.at.Before(f.marks[n-1].at) {
		m.at = f.marks[n-1].at // a later mark with a smaller index implies this one
	}
	if n > 0 && f.marks[n-1].commit >= m.commit {
		f.marks[n-1].at = m.at // nothing was committed since the last mark
		return
	} else if n > 1 && m.at.Sub(f.marks[n-2].at) < marksEvery {
		f.marks[n-1] = m
		return
	}
	if len(f.marks) == maxMarks {
		f.marks = append(f.marks[:0], f.marks[1:]...)
	}
	f.marks = append(f.marks, m)
}

// firstOfTerm returns the lowest index in an append whose entry is of the leader's own term, or
// 0 if there is none.
func firstOfTerm(req *raft.AppendEntriesRequest) uint64 {
	if req.PrevLogTerm == req.Term {
		return req.PrevLogEntry
	}
	for _, e := range req.Entries {
		if e.Term == req.Term {
			return e.Index
		}
	}
	return 0
}

// since returns the newest time before which everything acknowledged is applied here; ok is false
// if that time is not known. applied reports whether everything up to an index is applied.
func (f *freshness) since(applied func(index uint64) bool) (at time.Time, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.marks) - 1; i >= 0; i-- {
		if applied(f.marks[i].commit) {
			return f.marks[i].at, true
		}
	}
	return time.Time{}, false
}
