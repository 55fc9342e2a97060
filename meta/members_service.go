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

// The members of the group itself. They are in raft's configuration and not in the
// state, so there is nothing after the log.

// maxVoters is the most members that vote: each more makes every command slower. The
// cluster keeps 1, 3 or 5; two more may vote while members are replaced.
const maxVoters = 7

// ReadIndex returns the index of a command: a copy of the state that has come to it holds
// everything that was acknowledged before the call. The leader asks a majority whether it
// still leads, once for all calls that wait.
func (m *Meta) ReadIndex(ctx context.Context, _ *metapb.ReadIndexRequest) (*metapb.ReadIndexResponse, error) {
	index, term, err := m.readIndex(ctx)
	if err != nil {
		return nil, errs.ToGRPC(err)
	}
	return &metapb.ReadIndexResponse{Index: index, Term: term}, nil
}

// ChangeMembers changes the members by one. It refuses what would leave fewer live voters
// than a majority; when a learner is ready to be promoted, and whether a dead member is to
// be replaced, is for others to say.
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
		// Another member has to remove this one: it is asked next, since it leads then.
		if err := m.replica.StepDown(ctx); err != nil {
			return nil, err
		}
		return nil, errs.New(errs.ShardNotReady,
			"change the metadata group: node %s gave up its lead to be removed; ask the new leader", req.NodeId).
			WithLeader("").WithRetryAfter(50 * time.Millisecond)
	}
	if err := m.replica.Change(ctx, kind, req.NodeId); err != nil {
		return nil, err
	}
	voters, _ = m.replica.Members()
	return &metapb.ChangeMembersResponse{Advice: memberAdvice(len(voters))}, nil
}

// checkChange refuses a change that should not be made.
func (m *Meta) checkChange(req *metapb.ChangeMembersRequest, voters, learners []string) (replica.ChangeKind, error) {
	node := req.NodeId
	if err := checkText("node id", node, true); err != nil {
		return 0, err
	}
	refuse := func(format string, args ...any) (replica.ChangeKind, error) {
		return 0, errs.New(errs.InvalidArguments, "Change the metadata group, node %s: "+format,
			append([]any{node}, args...)...)
	}
	votes := slices.Contains(voters, node)
	switch req.Change {
	case metapb.ChangeMembersRequest_CHANGE_ADD_LEARNER:
		if votes || slices.Contains(learners, node) {
			return replica.AddLearner, nil
		}
		var n *metapb.Node
		err := m.catalog.View(func(tx *catalog.Tx) (err error) { n, err = needNode(tx, node); return err })
		switch {
		case err != nil:
			return 0, err
		case !slices.Contains(n.Roles, "meta"):
			return refuse("it has no role meta (it has %v); start it with that", n.Roles)
		case leaves(n):
			return refuse("it is being drained, or was; end that first")
		}
		return replica.AddLearner, nil
	case metapb.ChangeMembersRequest_CHANGE_PROMOTE:
		if !votes && len(voters) >= maxVoters {
			return refuse("the group has %d voters, the most that are possible; remove one first", len(voters))
		}
		return replica.Promote, nil
	case metapb.ChangeMembersRequest_CHANGE_REMOVE:
		if !votes {
			return replica.Remove, nil
		}
		rest := slices.DeleteFunc(slices.Clone(voters), func(id string) bool { return id == node })
		if len(rest) == 0 {
			return refuse("it is the only voter; promote another one first")
		}
		var down []string
		live, unheard := 0, false
		for _, id := range rest {
			switch answers, heard := m.answers(id); {
			case answers:
				live++
			case heard:
				down = append(down, id)
			default:
				unheard = true
			}
		}
		if need := len(rest)/2 + 1; live < need {
			if unheard {
				return m.unheard(node)
			}
			return refuse("without it, %d of the remaining %d voters have to be up, and %v are down; bring them up "+
				"or remove them first", need, len(rest), down)
		}
		return replica.Remove, nil
	case metapb.ChangeMembersRequest_CHANGE_LEAD:
		if votes {
			switch answers, heard := m.answers(node); {
			case !answers && heard:
				return refuse("it does not answer")
			case !answers:
				return m.unheard(node)
			}
		}
		return replica.Lead, nil
	}
	return refuse("%s is not a change", req.Change)
}

// answers reports whether a member answered this one, which leads, in the last DownAfter;
// heard is false if this one has not led for long enough to say that it did not.
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

// unheard returns the answer of a leader that was elected a moment ago.
func (m *Meta) unheard(node string) (replica.ChangeKind, error) {
	return 0, errs.New(errs.ShardBusy, "Change the metadata group, node %s: node %s has just begun to lead and does "+
		"not know yet which members are up; try again", node, m.cfg.NodeID).
		WithReason(errs.Busy).WithRetryAfter(200 * time.Millisecond)
}

// memberAdvice says what is to be thought of a number of voters.
func memberAdvice(voters int) string {
	if voters%2 == 1 {
		return ""
	}
	return fmt.Sprintf("The metadata group has %d voters, which survive the loss of %d, as %d would: an even number "+
		"only adds one that may fail. Add one or remove one.", voters, (voters-1)/2, voters-1)
}
