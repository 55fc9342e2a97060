package coordinator

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
)

// leaveMeta removes a node from the metadata group. If another node can become a voter in its place, leaveMeta waits
// for that first.
func leaveMeta(snap *snapshot.Snapshot, op *metapb.Operation) (decision, bool) {
	for _, m := range snap.Status.Members {
		if m.NodeId != op.NodeId {
			continue
		}
		if snap.Status.Leader == op.NodeId {
			to := metaSuccessor(snap, op.NodeId)
			if to == "" {
				return wait(stepMembers, "node %s leads the metadata group, and no other voter can take over: "+
					"add a node with the role meta", snap.Name(op.NodeId)), true
			}
			return call(stepMembers, fmt.Sprintf("node %s leads the metadata group", snap.Name(to)),
				changeMembers(to, metapb.ChangeMembersRequest_CHANGE_LEAD)), true
		}
		if m.Voter {
			if metaCandidate(snap) != "" && len(snap.MetaVoters())%2 == 1 {
				return wait(stepMembers, "another node has to become a voter of the metadata group first"), true
			}
			if !metaSafeWithout(snap, op.NodeId) {
				return wait(stepMembers, "without node %s the metadata group would have no majority: "+
					"bring its other members back, or add a node with the role meta", snap.Name(op.NodeId)), true
			}
		}
		return call(stepMembers, fmt.Sprintf("node %s leaves the metadata group", snap.Name(op.NodeId)),
			changeMembers(op.NodeId, metapb.ChangeMembersRequest_CHANGE_REMOVE)), true
	}
	return decision{}, false
}

// maxMetaLag is the number of entries that a member of the metadata group may lack when it becomes
// a voter.
const maxMetaLag = 200

func changeMembers(id string, change metapb.ChangeMembersRequest_Change) *act {
	what := map[metapb.ChangeMembersRequest_Change]string{
		metapb.ChangeMembersRequest_CHANGE_ADD_LEARNER: "add learner to the metadata group",
		metapb.ChangeMembersRequest_CHANGE_PROMOTE:     "promote in the metadata group",
		metapb.ChangeMembersRequest_CHANGE_REMOVE:      "remove from the metadata group",
		metapb.ChangeMembersRequest_CHANGE_LEAD:        "transfer leadership of the metadata group",
	}[change]
	return &act{what: what, members: &metapb.ChangeMembersRequest{NodeId: id, Change: change}}
}

// metaTolerance returns how many voters may fail; it is negative if there is no majority.
func metaTolerance(snap *snapshot.Snapshot, without string) int {
	return snap.MetaTolerance(without, snap.MetaAlive)
}

// metaSafeWithout reports whether without a voter the group works and tolerates no fewer failures. For a node that
// has to leave, the tolerance may decrease if no node can replace it.
func metaSafeWithout(snap *snapshot.Snapshot, id string) bool { return metaTolerance(snap, id) >= 0 }

// whyMetaWeaker returns what the metadata group lacks without a voter that no node can replace, or
// an empty text.
func whyMetaWeaker(snap *snapshot.Snapshot, id string) string {
	if m := snap.Member(id); m == nil || !m.Voter {
		return ""
	}
	n := len(snap.MetaVoters())
	before, after := n-snapshot.Majority(n), n-1-snapshot.Majority(n-1)
	for _, other := range snap.Status.Nodes {
		if o := other.GetNode().GetId(); o != id && mayVote(snap, o) && (snap.Member(o) == nil || !snap.Member(o).Voter) {
			return ""
		}
	}
	if n < 2 || after >= before {
		return "" // a group of one always keeps its voter
	}
	return fmt.Sprintf("node %s is one of %d voters of the metadata group, and no other node with the role meta can "+
		"take its place: with %d, %s may fail instead of %d before the cluster cannot change any more. "+
		"Add a node with the role meta first, or use --force (force in the API)",
		snap.Label(id), n, n-1, []string{"none", "one", "two"}[min(after, 2)], before)
}

// metaSuccessor returns the voter that takes over leadership from a node, or an empty text.
func metaSuccessor(snap *snapshot.Snapshot, after string) string {
	var out []string
	for _, m := range snap.MetaVoters() {
		if m.NodeId != after && snap.MetaAlive(m) && !snap.Unreachable(m.NodeId) && !snap.Drained(m.NodeId) &&
			!snap.Nodes[m.NodeId].GetReport().GetStopping() && m.Lag <= maxMetaLag {
			out = append(out, m.NodeId)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return slices.Min(out)
}

// mayVote reports whether a node may be a voter of the metadata group.
func mayVote(snap *snapshot.Snapshot, id string) bool {
	n := snap.Nodes[id]
	return n != nil && snapshot.InMeta(n.Node) && snap.Alive(id) && !snap.Unreachable(id) &&
		!n.GetReport().GetStopping() && !decommissioned(snap, id) &&
		n.Node.State != metapb.NodeState_NODE_STATE_DRAINED // it may have been decommissioned
}

// decommissioned reports whether a node is being decommissioned. A drained node keeps its vote: draining is only
// about shards.
func decommissioned(snap *snapshot.Snapshot, id string) bool {
	return snap.FindRunning(func(op *metapb.Operation) bool {
		return op.Kind == operation.NodeDecommission && op.NodeId == id
	}) != nil
}

// metaCandidate returns the member that should become the next voter, or an empty text. It prefers
// a zone without a voter.
func metaCandidate(snap *snapshot.Snapshot) string {
	zones := map[string]bool{}
	for _, m := range snap.MetaVoters() {
		zones[snap.Zone(m.NodeId)] = true
	}
	var out []*metapb.MemberStatus
	for _, m := range snap.Status.Members {
		if !m.Voter && mayVote(snap, m.NodeId) && snap.MetaAlive(m) && m.Lag <= maxMetaLag {
			out = append(out, m)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return slices.MinFunc(out, func(a, b *metapb.MemberStatus) int {
		return cmp.Or(snapshot.CompareBool(zones[snap.Zone(a.NodeId)], zones[snap.Zone(b.NodeId)]),
			cmp.Compare(a.NodeId, b.NodeId))
	}).NodeId
}

// metaSize returns the wanted number of voters of the metadata group: 3 if there are enough nodes, 5 if there are at
// least five, and never fewer than the group has.
func metaSize(snap *snapshot.Snapshot) int {
	able := 0
	for _, n := range snap.Status.Nodes {
		id := n.GetNode().GetId()
		if !snapshot.InMeta(n.Node) || decommissioned(snap, id) {
			continue
		}
		m := snap.Member(id)
		if m != nil && m.Voter || mayVote(snap, id) {
			able++
		}
	}
	switch {
	case able >= 5:
		return 5
	case able >= 3:
		return 3
	}
	return 1
}

// tendMeta returns the next change of the metadata group's members, or nil. Nodes with the role
// meta become learners, and learners become voters up to the wanted number. A voter whose node is
// lost or has to leave is removed after another one has replaced it.
func tendMeta(snap *snapshot.Snapshot) *act {
	if a := tendLearners(snap); a != nil {
		return a
	}
	if snap.Nodes[snap.Status.Leader].GetReport().GetStopping() {
		// The node was elected although it is about to stop, or could not transfer its leadership
		// when requested.
		if to := metaSuccessor(snap, snap.Status.Leader); to != "" {
			return changeMembers(to, metapb.ChangeMembersRequest_CHANGE_LEAD)
		}
	}
	return tendVoters(snap)
}

// tendLearners adds nodes that may become voters, and removes members whose nodes were removed from
// the cluster.
func tendLearners(snap *snapshot.Snapshot) *act {
	for _, n := range snap.Status.Nodes {
		id := n.GetNode().GetId()
		if snapshot.InMeta(n.Node) && snap.Member(id) == nil && mayVote(snap, id) {
			return changeMembers(id, metapb.ChangeMembersRequest_CHANGE_ADD_LEARNER)
		}
	}
	for _, m := range snap.Status.Members {
		if !m.Voter && snap.Nodes[m.NodeId] == nil {
			return changeMembers(m.NodeId, metapb.ChangeMembersRequest_CHANGE_REMOVE) // its node was removed from the cluster
		}
	}
	return nil
}

// tendVoters promotes a learner if voters are missing, and removes a surplus voter or one that has
// to leave.
func tendVoters(snap *snapshot.Snapshot) *act {
	var staying, going []*metapb.MemberStatus
	for _, m := range snap.MetaVoters() {
		if snap.Nodes[m.NodeId] == nil && time.Duration(snap.Status.LeadingNanos) < founderJoins {
			staying = append(staying, m)
		} else if snap.Lost(m.NodeId) || decommissioned(snap, m.NodeId) {
			going = append(going, m)
		} else {
			staying = append(staying, m)
		}
	}
	size := metaSize(snap)
	if len(staying) < size && metaCandidate(snap) != "" && enoughCandidates(snap, size-len(staying), len(staying)) {
		return changeMembers(metaCandidate(snap), metapb.ChangeMembersRequest_CHANGE_PROMOTE)
	}
	if len(going) == 0 && len(staying) > max(size, 3) && len(staying)%2 == 0 {
		// Four voters tolerate no more failures than three; the surplus one becomes a learner
		// again. If there are two, both stay, so that two nodes have the state.
		if id := surplusVoter(snap, staying); id != "" {
			return changeMembers(id, metapb.ChangeMembersRequest_CHANGE_REMOVE)
		}
	}
	return removeGoing(snap, going, len(staying), size)
}

// removeGoing removes a voter that has to leave, once the group tolerates no fewer failures without
// it. staying is the number of voters that stay, size the wanted number.
func removeGoing(snap *snapshot.Snapshot, going []*metapb.MemberStatus, staying, size int) *act {
	for _, m := range going {
		if m.NodeId == snap.Status.Leader || staying < size && staying%2 == 0 {
			continue // a decommission transfers leadership; no node can replace this voter
		}
		if metaTolerance(snap, m.NodeId) >= max(metaTolerance(snap, ""), 0) {
			return changeMembers(m.NodeId, metapb.ChangeMembersRequest_CHANGE_REMOVE)
		}
	}
	return nil
}

// founderJoins is the time for which a voter that is not a node of the cluster keeps its vote. A founder registers a
// moment after the group has started. On a slow machine, or if one of its seeds is mistyped, it registers later.
const founderJoins = time.Minute

// enoughCandidates reports whether a promotion leads to an odd number of voters: two voters
// tolerate no more failures than one, and four no more than three.
func enoughCandidates(snap *snapshot.Snapshot, missing, have int) bool {
	if have%2 == 0 {
		return true
	}
	ready := 0
	for _, m := range snap.Status.Members {
		if !m.Voter && mayVote(snap, m.NodeId) && snap.MetaAlive(m) && m.Lag <= maxMetaLag {
			ready++
		}
	}
	return ready >= min(missing, 2)
}

// surplusVoter returns a voter to remove if there is one too many, preferably one that does not
// answer or is drained, and never the leader.
func surplusVoter(snap *snapshot.Snapshot, voters []*metapb.MemberStatus) string {
	best := ""
	for _, m := range voters {
		if m.NodeId == snap.Status.Leader || metaTolerance(snap, m.NodeId) < metaTolerance(snap, "") ||
			metaTolerance(snap, m.NodeId) < 0 {
			continue
		}
		if best == "" || cmp.Or(snapshot.CompareBool(mayVote(snap, best), mayVote(snap, m.NodeId)),
			cmp.Compare(best, m.NodeId)) > 0 {
			best = m.NodeId
		}
	}
	return best
}
