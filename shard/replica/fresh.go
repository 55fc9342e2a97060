package replica

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

const (
	// freshEvery is how far apart the moments are that are remembered, and freshKept how many
	// are: a member that is further behind than all of them together does not know how far.
	freshEvery = 250 * time.Millisecond
	freshKept  = 256
)

// freshness remembers when a leader said how much was committed, so that a follower can tell
// how old what it has applied may be.
type freshness struct {
	mu   sync.Mutex // guards the rest
	term uint64
	// first is the lowest entry known to be of that term; 0: none is. A leader knows of all that
	// was committed before it only when one of its own entries is.
	first uint64
	told  []telling // ascending
}

// telling is that everything acknowledged before a moment has an index of at most commit.
type telling struct {
	at     time.Time
	commit uint64
}

// note takes in an append of a leader.
func (f *freshness) note(req *raft.AppendEntriesRequest, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case req.Term < f.term:
		return // of a leader that was deposed
	case req.Term > f.term:
		f.term, f.first = req.Term, 0
	}
	if f.first == 0 && req.PrevLogTerm == req.Term {
		f.first = req.PrevLogEntry
	}
	for _, e := range req.Entries {
		if f.first != 0 {
			break
		}
		if e.Term == req.Term {
			f.first = e.Index
		}
	}
	if f.first == 0 || req.LeaderCommitIndex < f.first {
		return
	}
	t := telling{now, req.LeaderCommitIndex}
	if n := len(f.told); n > 0 && f.told[n-1].commit >= t.commit {
		f.told[n-1].at = now // nothing was committed since
		return
	} else if n > 1 && now.Sub(f.told[n-2].at) < freshEvery {
		f.told[n-1] = t
		return
	}
	if len(f.told) == freshKept {
		f.told = append(f.told[:0], f.told[1:]...)
	}
	f.told = append(f.told, t)
}

// since is the newest moment of which everything is applied.
func (f *freshness) since(applied func(index uint64) bool) (time.Time, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.told) - 1; i >= 0; i-- {
		if applied(f.told[i].commit) {
			return f.told[i].at, true
		}
	}
	return time.Time{}, false
}

// Staleness tells how old what this member has applied may be at most, by its own clock:
// whatever was acknowledged longer ago is there, but for what another leader acknowledged that
// this member could not hear of for as long as a deposed one goes on, the heartbeat's timeout. On
// the leader it is how long ago the newest heartbeats were sent that a majority of voters has
// answered. known is false if the member has heard too little since it was opened, or leads.
func (r *Replica) Staleness() (d time.Duration, known bool) {
	if r.failure() != nil {
		return 0, false
	}
	if term, leads := r.leadsIn(); leads {
		return r.confirmedAge(term)
	}
	at, known := r.wire.fresh.since(r.hasApplied)
	if !known {
		return 0, false
	}
	return time.Since(at), true
}
