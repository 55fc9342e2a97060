package coordinator

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"cordwood/proto/metapb"
)

// maxMetaLag is up to how many entries behind a member of the metadata group may be to
// be made a voter.
const maxMetaLag = 200

func changeMembers(id string, change metapb.ChangeMembersRequest_Change) *act {
	what := map[metapb.ChangeMembersRequest_Change]string{
		metapb.ChangeMembersRequest_CHANGE_ADD_LEARNER: "add learner to the metadata group",
		metapb.ChangeMembersRequest_CHANGE_PROMOTE:     "promote in the metadata group",
		metapb.ChangeMembersRequest_CHANGE_REMOVE:      "remove from the metadata group",
		metapb.ChangeMembersRequest_CHANGE_LEAD:        "hand leadership of the metadata group on",
	}[change]
	return &act{what: what, members: &metapb.ChangeMembersRequest{NodeId: id, Change: change}}
}

func (p *picture) metaVoters() []*metapb.MemberStatus {
	return slices.DeleteFunc(slices.Clone(p.status.Members), func(m *metapb.MemberStatus) bool { return !m.Voter })
}

func (p *picture) member(id string) *metapb.MemberStatus {
	for _, m := range p.status.Members {
		if m.NodeId == id {
			return m
		}
	}
	return nil
}

// metaAlive tells whether a member answers the leader, which answers itself.
func (p *picture) metaAlive(m *metapb.MemberStatus) bool {
	if m.NodeId == p.status.Leader {
		return true
	}
	return m.SilentNanos >= 0 && time.Duration(m.SilentNanos) < p.cfg.DownAfter && !p.nodes[m.NodeId].GetDown()
}

// metaPresent is metaAlive for what is shown: a member that stops, or has been silent for a moment, is
// missing; one that a new leader has not heard of yet is not.
func (p *picture) metaPresent(m *metapb.MemberStatus) bool {
	switch {
	case p.stops(m.NodeId):
		return false
	case m.NodeId == p.status.Leader:
		return true
	case m.SilentNanos < 0:
		return time.Duration(p.status.LeadingNanos) < silentAfter
	}
	return p.metaAlive(m) && time.Duration(m.SilentNanos) < silentAfter
}

// metaTolerance is how many voters may fail; negative: there is no majority.
func (p *picture) metaTolerance(without string) int { return p.metaLeft(without, p.metaAlive) }

// metaLeft is metaTolerance by who counts as there.
func (p *picture) metaLeft(without string, there func(*metapb.MemberStatus) bool) int {
	voters, living := 0, 0
	for _, m := range p.metaVoters() {
		if m.NodeId == without {
			continue
		}
		voters++
		if there(m) {
			living++
		}
	}
	return living - majority(voters)
}

// metaSafeWithout tells whether the group works, and tolerates no less, without a voter.
// A node that is to go may lower what it tolerates, if nobody can take its place.
func (p *picture) metaSafeWithout(id string) bool { return p.metaTolerance(id) >= 0 }

// weakensMeta says what the metadata group will lack without a voter whose place nobody can
// take; empty: nothing.
func (p *picture) weakensMeta(id string) string {
	if m := p.member(id); m == nil || !m.Voter {
		return ""
	}
	n := len(p.metaVoters())
	before, after := n-majority(n), n-1-majority(n-1)
	for _, other := range p.status.Nodes {
		if o := other.GetNode().GetId(); o != id && p.mayVote(o) && (p.member(o) == nil || !p.member(o).Voter) {
			return ""
		}
	}
	if n < 2 || after >= before {
		return "" // a group of one keeps its voter anyway
	}
	return fmt.Sprintf("node %s is one of %d voters of the metadata group, and no other node with the role meta can take its place: with %d, %s may fail instead of %d before the cluster cannot change any more. Add a node with the role meta first, or say --force (force in the API)",
		p.label(id), n, n-1, []string{"none", "one", "two"}[min(after, 2)], before)
}

// metaSuccessor is the voter that leads after a node; empty: there is none.
func (p *picture) metaSuccessor(after string) string {
	var out []string
	for _, m := range p.metaVoters() {
		if m.NodeId != after && p.metaAlive(m) && !p.unreachable(m.NodeId) && !p.leaving(m.NodeId) && !p.nodes[m.NodeId].GetReport().GetStopping() && m.Lag <= maxMetaLag {
			out = append(out, m.NodeId)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return slices.Min(out)
}

// mayVote tells whether a node may be a voter of the metadata group.
func (p *picture) mayVote(id string) bool {
	n := p.nodes[id]
	return n != nil && inMeta(n.Node) && p.alive(id) && !p.unreachable(id) && !n.GetReport().GetStopping() && !p.retiring(id) &&
		n.Node.State != metapb.NodeState_NODE_STATE_DRAINED // it may have been decommissioned
}

// retiring tells whether a node is being decommissioned. One that is drained keeps its
// vote: it has nothing to do with shards.
func (p *picture) retiring(id string) bool {
	return p.runs(func(op *metapb.Operation) bool { return op.Kind == KindNodeDecommission && op.NodeId == id }) != nil
}

// metaCandidate is the member that should be the next voter: in a zone without one, if
// there are zones. Empty: there is none.
func (p *picture) metaCandidate() string {
	zones := map[string]bool{}
	for _, m := range p.metaVoters() {
		zones[p.zone(m.NodeId)] = true
	}
	var out []*metapb.MemberStatus
	for _, m := range p.status.Members {
		if !m.Voter && p.mayVote(m.NodeId) && p.metaAlive(m) && m.Lag <= maxMetaLag {
			out = append(out, m)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return slices.MinFunc(out, func(a, b *metapb.MemberStatus) int {
		return cmp.Or(compareBool(zones[p.zone(a.NodeId)], zones[p.zone(b.NodeId)]), cmp.Compare(a.NodeId, b.NodeId))
	}).NodeId
}

// metaSize is how many voters the metadata group is to have: 3 if there are nodes for
// them, 5 from five nodes on, and never fewer than it has.
func (p *picture) metaSize() int {
	able := 0
	for _, n := range p.status.Nodes {
		id := n.GetNode().GetId()
		if !inMeta(n.Node) || p.retiring(id) {
			continue
		}
		m := p.member(id)
		if m != nil && m.Voter || p.mayVote(id) {
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

// tendMeta says what is to be done about the members of the metadata group; nil: nothing.
// Nodes with the role meta become members that learn; of those as many vote as are
// wanted; a voter whose node is lost, or is to go, leaves when another one has come.
func (p *picture) tendMeta() *act {
	for _, n := range p.status.Nodes {
		id := n.GetNode().GetId()
		if inMeta(n.Node) && p.member(id) == nil && p.mayVote(id) {
			return changeMembers(id, metapb.ChangeMembersRequest_CHANGE_ADD_LEARNER)
		}
	}
	for _, m := range p.status.Members {
		if !m.Voter && p.nodes[m.NodeId] == nil {
			return changeMembers(m.NodeId, metapb.ChangeMembersRequest_CHANGE_REMOVE) // forgotten by the cluster
		}
	}
	if p.nodes[p.status.Leader].GetReport().GetStopping() {
		// It was elected although it is about to stop, or could not hand on when it was told.
		if to := p.metaSuccessor(p.status.Leader); to != "" {
			return changeMembers(to, metapb.ChangeMembersRequest_CHANGE_LEAD)
		}
	}
	var staying, going []*metapb.MemberStatus
	for _, m := range p.metaVoters() {
		if p.nodes[m.NodeId] == nil || p.lost(m.NodeId) || p.retiring(m.NodeId) {
			going = append(going, m)
		} else {
			staying = append(staying, m)
		}
	}
	size := p.metaSize()
	if len(staying) < size && p.metaCandidate() != "" && p.enoughCandidates(size-len(staying), len(staying)) {
		return changeMembers(p.metaCandidate(), metapb.ChangeMembersRequest_CHANGE_PROMOTE)
	}
	if len(going) == 0 && len(staying) > max(size, 3) && len(staying)%2 == 0 {
		// Four voters tolerate no more than three; it learns again after that. Of two, both stay:
		// what they know is in two places.
		if id := p.surplusVoter(staying); id != "" {
			return changeMembers(id, metapb.ChangeMembersRequest_CHANGE_REMOVE)
		}
	}
	for _, m := range going {
		if m.NodeId == p.status.Leader || len(staying) < size && len(staying)%2 == 0 {
			continue // decommissioning hands leadership on; nobody can take the place
		}
		if p.metaTolerance(m.NodeId) >= max(p.metaTolerance(""), 0) {
			return changeMembers(m.NodeId, metapb.ChangeMembersRequest_CHANGE_REMOVE)
		}
	}
	return nil
}

// enoughCandidates tells whether a promotion leads to an odd number of voters: two voters
// tolerate no more than one, and four no more than three.
func (p *picture) enoughCandidates(missing, have int) bool {
	if have%2 == 0 {
		return true
	}
	ready := 0
	for _, m := range p.status.Members {
		if !m.Voter && p.mayVote(m.NodeId) && p.metaAlive(m) && m.Lag <= maxMetaLag {
			ready++
		}
	}
	return ready >= min(missing, 2)
}

// surplusVoter is the voter to do without if there is one too many: one that does not
// answer or is drained rather than another one, and never the leader.
func (p *picture) surplusVoter(voters []*metapb.MemberStatus) string {
	best := ""
	for _, m := range voters {
		if m.NodeId == p.status.Leader || p.metaTolerance(m.NodeId) < p.metaTolerance("") || p.metaTolerance(m.NodeId) < 0 {
			continue
		}
		if best == "" || cmp.Or(compareBool(p.mayVote(best), p.mayVote(m.NodeId)), cmp.Compare(best, m.NodeId)) > 0 {
			best = m.NodeId
		}
	}
	return best
}
