package replica

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/wire"
)

// group describes the members of the raft group, as this member knows them.
type group struct {
	raft *raft.Raft
	wire *wire.Wire
	self string // node id of this member
}

// Member is a member of the group.
type Member struct {
	NodeID string
	Voter  bool
	// Silent is the time since its last answer to this member, which leads. It is negative if the
	// member has not answered at all, and 0 for this member itself.
	Silent time.Duration
	// LastIndex is the last entry of its log according to its last answer. For this member it is
	// the last entry of its own log.
	LastIndex uint64
}

func (g group) servers() []raft.Server { return g.raft.GetConfiguration().Configuration().Servers }

// isSoleMember reports whether this node is the only member.
func (g group) isSoleMember() bool {
	servers := g.servers()
	return len(servers) == 1 && string(servers[0].ID) == g.self
}

// isSoleVoter reports whether this node is the only voter.
func (g group) isSoleVoter() bool {
	voters, self := 0, false
	for _, s := range g.servers() {
		if s.Suffrage == raft.Voter {
			voters++
			self = self || string(s.ID) == g.self
		}
	}
	return self && voters == 1
}

// members returns the members, sorted by node id.
func (g group) members() []Member {
	servers := g.servers()
	out := make([]Member, 0, len(servers))
	for _, s := range servers {
		m := Member{NodeID: string(s.ID), Voter: s.Suffrage == raft.Voter, Silent: -1}
		if m.NodeID == g.self {
			m.Silent, m.LastIndex = 0, g.raft.LastIndex()
		} else if p := g.wire.Progress(m.NodeID); !p.Answered.IsZero() {
			m.Silent, m.LastIndex = time.Since(p.Answered), p.Last
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b Member) int { return cmp.Compare(a.NodeID, b.NodeID) })
	return out
}

// lag returns the number of entries that a member lacks according to its last answer.
func (g group) lag(m Member) uint64 {
	last := g.raft.LastIndex()
	return last - min(last, m.LastIndex)
}

// successors returns the voters that may lead now, beginning with those that have most of the log,
// and the reasons why the other voters may not. It leaves out the nodes in avoid, and nodes that
// were silent for longer than maxSilence.
func (g group) successors(avoid []string, maxSilence time.Duration) (ready []Member, rest []string) {
	for _, m := range g.members() {
		switch lag := g.lag(m); {
		case !m.Voter || m.NodeID == g.self:
		case slices.Contains(avoid, m.NodeID):
			rest = append(rest, fmt.Sprintf("node %s is stopping, is being drained, or cannot be reached", m.NodeID))
		case m.Silent < 0:
			rest = append(rest, fmt.Sprintf("node %s has not answered", m.NodeID))
		case m.Silent > maxSilence:
			rest = append(rest, fmt.Sprintf("node %s answered last %s ago", m.NodeID, m.Silent.Round(time.Millisecond)))
		case lag > promoteLag:
			rest = append(rest, fmt.Sprintf("node %s lacks %d entries", m.NodeID, lag))
		default:
			ready = append(ready, m)
		}
	}
	slices.SortStableFunc(ready, func(a, b Member) int { return cmp.Compare(b.LastIndex, a.LastIndex) })
	return ready, rest
}

// otherVoters returns the other voters, and how many of them are a majority together with this
// member if it votes.
func (g group) otherVoters() (others []string, needed int) {
	self := false
	for _, s := range g.servers() {
		switch {
		case s.Suffrage != raft.Voter:
		case string(s.ID) == g.self:
			self = true
		default:
			others = append(others, string(s.ID))
		}
	}
	if self {
		return others, (len(others) + 1) / 2
	}
	return others, len(others)/2 + 1
}

// confirm reports whether a majority of voters has answered, in a term, messages that were sent
// after a round of questions had begun. Learners do not count, because they do not vote for another
// leader.
func (g group) confirm(term, round uint64) bool {
	others, needed := g.otherVoters()
	for _, id := range others {
		if c := g.wire.Progress(id).Confirmed; c.Term == term && c.Round >= round {
			needed--
		}
	}
	return needed <= 0
}

// confirmedAge returns the age of the newest heartbeats that a majority of voters has answered in
// a term in which this member leads.
func (g group) confirmedAge(term uint64) (age time.Duration, known bool) {
	others, needed := g.otherVoters()
	if needed == 0 {
		return 0, true
	}
	var sent []time.Time
	for _, id := range others {
		if c := g.wire.Progress(id).Confirmed; c.Term == term {
			sent = append(sent, c.Sent)
		}
	}
	if len(sent) < needed {
		return 0, false
	}
	slices.SortFunc(sent, func(a, b time.Time) int { return b.Compare(a) })
	return time.Since(sent[needed-1]), true
}
