package replica

import (
	"time"

	"github.com/hashicorp/raft"
)

// Stats is a picture of a replica.
type Stats struct {
	Group string
	// State is Leader, Follower, Candidate, Shutdown or Failed.
	State string
	// Leader is the node id of the known leader, or empty.
	Leader string
	Term   uint64
	// LastIndex is the last entry of the log, CommitIndex the last committed one,
	// AppliedIndex the last command given to the state machine.
	LastIndex, CommitIndex, AppliedIndex uint64
	// LogBytes is what LogBytes returns.
	LogBytes int64
	// ToldIndex is the highest index that this member knows to be committed, if it is a
	// follower by what leaders said: it has not caught up while AppliedIndex is behind.
	ToldIndex uint64
	// CaughtUp tells that everything up to ToldIndex is applied.
	CaughtUp bool
	// Members are those of the group, as this one knows them.
	Members []Member
}

// Member is a member of the group.
type Member struct {
	NodeID string
	Voter  bool
	// Silent is how long ago it last answered this member, which leads; negative if it
	// has not answered at all, and 0 for this member itself.
	Silent time.Duration
	// LastIndex is the last entry of its log, by what it said last; of this member itself
	// the last one of its own.
	LastIndex uint64
}

// Stats returns the replica's present state.
func (r *Replica) Stats() Stats {
	_, leader := r.raft.LeaderWithID()
	s := Stats{
		Group: r.cfg.Group, State: r.raft.State().String(), Leader: string(leader), Term: r.raft.CurrentTerm(),
		LastIndex: r.raft.LastIndex(), CommitIndex: r.raft.CommitIndex(), AppliedIndex: r.fsm.Applied(), LogBytes: r.LogBytes(),
	}
	if r.failure() != nil {
		s.State = "Failed"
	}
	s.ToldIndex = max(s.CommitIndex, r.wire.told.Load())
	s.CaughtUp = r.hasApplied(s.ToldIndex) && (s.State == raft.Leader.String() || s.Leader != "" && s.ToldIndex > 0)
	s.Members = r.members()
	return s
}

// LogBytes is about how many bytes of entries the log holds that the last
// snapshot did not cut off; it is right to 64 KiB and one entry.
func (r *Replica) LogBytes() int64 { return r.store.Bytes() }

// LogBytesAfter is about how many bytes of entries the log holds behind an index.
func (r *Replica) LogBytesAfter(index uint64) int64 { return r.store.BytesAfter(index) }
