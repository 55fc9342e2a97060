package snapshot

import (
	"slices"
	"time"

	"cordwood/proto/metapb"
)

// MetaVoters returns the voters of the metadata group.
func (snap *Snapshot) MetaVoters() []*metapb.MemberStatus {
	return slices.DeleteFunc(slices.Clone(snap.Status.Members), func(m *metapb.MemberStatus) bool { return !m.Voter })
}

// Member returns the entry of a node in the metadata group, or nil.
func (snap *Snapshot) Member(id string) *metapb.MemberStatus {
	for _, m := range snap.Status.Members {
		if m.NodeId == id {
			return m
		}
	}
	return nil
}

// MetaAlive reports whether a member answers the leader of the metadata group. The leader counts as
// answering.
func (snap *Snapshot) MetaAlive(m *metapb.MemberStatus) bool {
	if m.NodeId == snap.Status.Leader {
		return true
	}
	return m.SilentNanos >= 0 && time.Duration(m.SilentNanos) < snap.Limits.DownAfter && !snap.Nodes[m.NodeId].GetDown()
}

// MetaPresent is MetaAlive for display: a member that is stopping or silent counts as missing, but
// a member that has not reported to a new leader yet does not.
func (snap *Snapshot) MetaPresent(m *metapb.MemberStatus) bool {
	return snap.metaWithin(m, SilentAfter)
}

// metaWithin reports whether a member answers, is not stopping, and was last heard from within
// limit.
func (snap *Snapshot) metaWithin(m *metapb.MemberStatus, limit time.Duration) bool {
	switch {
	case snap.Stopping(m.NodeId):
		return false
	case m.NodeId == snap.Status.Leader:
		return true
	case m.SilentNanos < 0:
		return time.Duration(snap.Status.LeadingNanos) < SilentAfter
	}
	return snap.MetaAlive(m) && time.Duration(m.SilentNanos) < limit
}

// MetaTolerance returns how many voters of the metadata group may fail if the voter with the id without does not
// count. It is negative if there is no majority. present decides which voters count as working.
func (snap *Snapshot) MetaTolerance(without string, present func(*metapb.MemberStatus) bool) int {
	voters, living := 0, 0
	for _, m := range snap.MetaVoters() {
		if m.NodeId == without {
			continue
		}
		voters++
		if present(m) {
			living++
		}
	}
	return living - Majority(voters)
}
