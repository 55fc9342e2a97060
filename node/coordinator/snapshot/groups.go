package snapshot

import (
	"slices"
	"time"

	"cordwood/proto/metapb"
)

// Group is the raft group of a shard, as its leader reports it.
type Group struct {
	Leader           string // empty if no leader is known
	Term             uint64
	Voters, Learners []string
	Last             uint64 // index of the last entry of the leader's log
	Applied          uint64 // index that the leader has applied
	Bytes            int64  // size of the largest replica
}

// Has reports whether a node is a member of the group.
func (g *Group) Has(node string) bool {
	return slices.Contains(g.Voters, node) || slices.Contains(g.Learners, node)
}

// Membership is the answer to a call that changed a group. It is valid until the leader of the
// group reports again.
type Membership struct {
	Voters, Learners []string
	Leader           string // the node to which leadership was transferred, or empty
	At               time.Time
}

// groupOf reads the group of a shard from the reports. If two nodes report that they lead it, the one with the higher
// term wins.
func groupOf(snap *Snapshot, s *metapb.Shard, answered Membership) *Group {
	g := &Group{}
	var heard time.Time
	for _, n := range snap.Status.Nodes {
		r := snap.Replica(n.GetNode().GetId(), s)
		if r == nil {
			continue
		}
		g.Bytes = max(g.Bytes, r.SegmentBytes+r.MemtableBytes)
		if r.State == StateLeader && (g.Leader == "" || r.Term > g.Term) && !n.Down {
			g.Leader, g.Term, g.Last, g.Applied = n.Node.Id, r.Term, r.LastIndex, r.AppliedIndex
			g.Voters, g.Learners = r.Voters, r.Learners
			heard = snap.Now.Add(-time.Duration(n.SilentNanos))
		}
	}
	if g.Leader != "" && answered.At.After(heard) {
		if len(answered.Voters) > 0 {
			g.Voters, g.Learners = answered.Voters, answered.Learners
		}
		if answered.Leader != "" && snap.Alive(answered.Leader) {
			g.Leader = answered.Leader
		}
	}
	return g
}

// These states of replicas are used in reports.
const (
	StateLeader     = "Leader"
	StateInstalling = "Installing"
	StateFailed     = "Failed"
)

// Replica returns a node's report about its replica of a shard, or nil.
func (snap *Snapshot) Replica(node string, s *metapb.Shard) *metapb.ReplicaReport {
	for _, r := range snap.Nodes[node].GetReport().GetReplicas() {
		if r.ShardId == s.Id && r.Incarnation == s.Incarnation {
			return r
		}
	}
	return nil
}

// Led counts the shards that each node leads.
func (snap *Snapshot) Led() map[string]int {
	out := map[string]int{}
	for _, g := range snap.Groups {
		if g.Leader != "" {
			out[g.Leader]++
		}
	}
	return out
}

// Majority returns how many of n voters are a majority.
func Majority(n int) int { return n/2 + 1 }
