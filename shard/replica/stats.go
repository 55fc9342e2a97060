package replica

import "github.com/hashicorp/raft"

// Stats is the state of a replica at one moment.
type Stats struct {
	Group string
	// State is Leader, Follower, Candidate, Shutdown or Failed.
	State string
	// Leader is the node id of the known leader, or empty.
	Leader string
	Term   uint64
	// LastIndex is the last entry of the log, CommitIndex the last committed one, AppliedIndex the
	// last command that was passed to the state machine.
	LastIndex, CommitIndex, AppliedIndex uint64
	// LogBytes is the result of LogBytes.
	LogBytes int64
	// KnownCommit is the highest index that this member knows to be committed. A follower learns it
	// from leaders. The member has not caught up while AppliedIndex is lower.
	KnownCommit uint64
	// CaughtUp means that everything up to KnownCommit is applied.
	CaughtUp bool
	// Members are the members of the group, as this member knows them.
	Members []Member
}

// Stats returns the replica's present state.
func (r *Replica) Stats() Stats {
	s := Stats{
		Group: r.cfg.Group, State: r.raft.State().String(), Leader: r.Leader(), Term: r.raft.CurrentTerm(),
		LastIndex: r.raft.LastIndex(), CommitIndex: r.raft.CommitIndex(), AppliedIndex: r.fsm.Applied(),
		LogBytes: r.LogBytes(),
	}
	if r.failure() != nil {
		s.State = "Failed"
	}
	s.KnownCommit = max(s.CommitIndex, r.wire.LeaderCommit())
	s.CaughtUp = r.hasApplied(s.KnownCommit) && (s.State == raft.Leader.String() || s.Leader != "" && s.KnownCommit > 0)
	s.Members = r.group.members()
	return s
}

// LogBytes returns the approximate number of bytes of entries in the log that the last snapshot did
// not cut off. It is accurate to 64 KiB plus one entry.
func (r *Replica) LogBytes() int64 { return r.log.Bytes() }

// LogBytesAfter returns the approximate number of bytes of entries in the log after an index.
func (r *Replica) LogBytesAfter(index uint64) int64 { return r.log.BytesAfter(index) }
