package shard

import (
	"strings"

	"cordwood/proto/shardpb"
)

// Stats describes the shard. If segments is set, it also lists them.
func (s *Shard) Stats(segments bool) *shardpb.ShardStats {
	return s.StatsOf(&shardpb.StatsRequest{Segments: segments})
}

// StatsOf describes the shard and the given tables. State is the state of the replica in lower
// case, followed by the error of the last flush if it failed.
func (s *Shard) StatsOf(req *shardpb.StatsRequest) *shardpb.ShardStats {
	r := s.replica.Stats()
	out := &shardpb.ShardStats{
		ShardId: s.cfg.ID, State: strings.ToLower(r.State), Leader: r.Leader, Term: r.Term,
		LogBytes: r.LogBytes, FlushedIndex: s.store.Tables.Flushed.Load(), Incarnation: s.cfg.Incarnation,
		NodeId:      s.cfg.NodeID,
		CommitIndex: r.KnownCommit, LastIndex: r.LastIndex,
	}
	for _, m := range r.Members {
		if m.Voter {
			out.Voters = append(out.Voters, m.NodeID)
		} else {
			out.Learners = append(out.Learners, m.NodeID)
		}
	}
	s.store.Status.Describe(out, req)
	out.Operations = s.operations.List()
	return out
}
