package meta

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/shard/replica"
)

// This file handles the members of the group itself. They are in raft's configuration and not in the state, so no
// command is applied for them.

// maxVoters is the maximum number of voters, since each voter makes every command slower. The
// cluster keeps 1, 3 or 5; two more may vote while members are replaced.
const maxVoters = 7

// ReadIndex returns the index of a command. A copy of the state that has reached it has everything
// that was acknowledged before the call. The leader confirms once for all waiting calls that it
// still leads.
func (m *Meta) ReadIndex(ctx context.Context, req *metapb.ReadIndexRequest) (*metapb.ReadIndexResponse, error) {
	leased := m.leased(req)
	index, term, err := m.readIndex(ctx)
	if err != nil {
		return nil, errs.ToGRPC(err)
	}
	resp := &metapb.ReadIndexResponse{Index: index, Term: term}
	if leased && m.leases.in(term) {
		resp.LeaseNanos = uint64(leaseTime)
	}
	return resp, nil
}

// ChangeMembers changes one member. It refuses a change that would leave fewer live voters than a
// majority. Callers decide when a learner is ready to be promoted, and whether a dead member is to
// be replaced.
func (m *Meta) ChangeMembers(
	ctx context.Context, req *metapb.ChangeMembersRequest,
) (*metapb.ChangeMembersResponse, error) {
	resp, err := m.changeMembers(ctx, req)
	return resp, errs.ToGRPC(err)
}

func (m *Meta) changeMembers(
	ctx context.Context, req *metapb.ChangeMembersRequest,
) (*metapb.ChangeMembersResponse, error) {
	if err := m.replica.CheckLeads(); err != nil {
		return nil, err
	}
	voters, learners := m.replica.Members()
	kind, err := m.checkChange(req, voters, learners)
	if err != nil {
		return nil, err
	}
	if kind == replica.Remove && req.NodeId == m.cfg.NodeID {
		// Another member has to remove this one. The client asks that member next, since it leads
		// then.
		if err := m.replica.StepDown(ctx); err != nil {
			return nil, err
		}
		return nil, errs.New(errs.ShardNotReady,
			"change the metadata group: node %s transferred its leadership so that it can be removed; "+
				"ask the new leader", req.NodeId).
			WithLeader("").WithRetryAfter(50 * time.Millisecond)
	}
	if err := m.replica.Change(ctx, kind, req.NodeId); err != nil {
		return nil, err
	}
	voters, _ = m.replica.Members()
	return &metapb.ChangeMembersResponse{Advice: memberAdvice(len(voters))}, nil
}

// checkChange refuses an unsafe change.
func (m *Meta) checkChange(req *metapb.ChangeMembersRequest, voters, learners []string) (replica.ChangeKind, error) {
	if err := checkText("node id", req.NodeId, true); err != nil {
		return 0, err
	}
	c := memberChange{m: m, node: req.NodeId, voters: voters, votes: slices.Contains(voters, req.NodeId)}
	switch req.Change {
	case metapb.ChangeMembersRequest_CHANGE_ADD_LEARNER:
		if c.votes || slices.Contains(learners, c.node) {
			return replica.AddLearner, nil
		}
		return replica.AddLearner, c.checkAdd()
	case metapb.ChangeMembersRequest_CHANGE_PROMOTE:
		if !c.votes && len(voters) >= maxVoters {
			return 0, c.refuse("the group has %d voters, the maximum; remove one first", len(voters))
		}
		return replica.Promote, nil
	case metapb.ChangeMembersRequest_CHANGE_REMOVE:
		return replica.Remove, c.checkRemove()
	case metapb.ChangeMembersRequest_CHANGE_LEAD:
		return replica.Lead, c.checkLead()
	}
	return 0, c.refuse("%s is not a change", req.Change)
}

// memberChange is a requested change of the metadata group.
type memberChange struct {
	m      *Meta
	node   string
	voters []string
	votes  bool // whether the node votes
}

func (c *memberChange) refuse(format string, args ...any) error {
	return errs.New(errs.InvalidArguments, "Change the metadata group, node %s: "+format,
		append([]any{c.node}, args...)...)
}

// checkAdd refuses a node that cannot be a member.
func (c *memberChange) checkAdd() error {
	var n *metapb.Node
	err := c.m.catalog.View(func(tx *catalog.Tx) (err error) { n, err = needNode(tx, c.node); return err })
	switch {
	case err != nil:
		return err
	case !slices.Contains(n.Roles, "meta"):
		return c.refuse("it does not have the role meta (it has %v); start it with this role", n.Roles)
	case leaves(n):
		return c.refuse("it is being drained or was drained; undo that first")
	}
	return nil
}

// checkRemove refuses a removal after which the voters that are up would not be a majority.
func (c *memberChange) checkRemove() error {
	if !c.votes {
		return nil
	}
	rest := slices.DeleteFunc(slices.Clone(c.voters), func(id string) bool { return id == c.node })
	if len(rest) == 0 {
		return c.refuse("it is the only voter; promote another one first")
	}
	var down []string
	live, unheard := 0, false
	for _, id := range rest {
		switch answers, heard := c.m.answers(id); {
		case answers:
			live++
		case heard:
			down = append(down, id)
		default:
			unheard = true
		}
	}
	need := len(rest)/2 + 1
	switch {
	case live >= need:
		return nil
	case unheard:
		return c.m.unheard(c.node)
	}
	return c.refuse("without it, %d of the remaining %d voters have to be up, and %v are down; bring them up "+
		"or remove them first", need, len(rest), down)
}

// checkLead refuses a leader that does not vote or is down.
func (c *memberChange) checkLead() error {
	if !c.votes {
		return c.refuse("it does not vote; promote it first")
	}
	switch answers, heard := c.m.answers(c.node); {
	case answers:
		return nil
	case heard:
		return c.refuse("it does not answer; choose another member")
	}
	return c.m.unheard(c.node)
}

// answers reports whether a member answered this one, which leads, within DownAfter. heard is false if this one has
// not led for long enough to tell.
func (m *Meta) answers(node string) (answers, heard bool) {
	if node == m.cfg.NodeID {
		return true, true
	}
	stats := m.replica.Stats()
	for _, member := range stats.Members {
		if member.NodeID == node && member.Silent >= 0 {
			return member.Silent < m.cfg.DownAfter, true
		}
	}
	return false, m.reports.leading(stats.Term) >= m.cfg.DownAfter
}

// unheard returns the answer of a recently elected leader.
func (m *Meta) unheard(node string) error {
	return errs.New(errs.ShardBusy, "Change the metadata group, node %s: node %s has just become the leader and does "+
		"not know yet which members are up; try again", node, m.cfg.NodeID).
		WithReason(errs.Busy).WithRetryAfter(200 * time.Millisecond)
}

// memberAdvice returns advice about a number of voters.
func memberAdvice(voters int) string {
	if voters%2 == 1 {
		return ""
	}
	return fmt.Sprintf("The metadata group has %d voters, which tolerate the loss of %d, as %d would: an even number "+
		"adds no safety. Add one or remove one.", voters, (voters-1)/2, voters-1)
}
