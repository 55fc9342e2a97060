package replica

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/proto/errs"
)

// ChangeKind is a change of a group's members.
type ChangeKind int

const (
	// AddLearner adds a node that gets the log and does not vote.
	AddLearner ChangeKind = iota + 1
	// Promote lets a learner vote.
	Promote
	// Remove removes a node, voter or learner.
	Remove
	// Lead transfers leadership to a voter.
	Lead
)

// String returns the change in words.
func (k ChangeKind) String() string {
	switch k {
	case AddLearner:
		return "add a learner"
	case Promote:
		return "promote a learner"
	case Remove:
		return "remove a member"
	case Lead:
		return "transfer leadership"
	}
	return "change of an unknown kind"
}

const (
	// promoteLag is the number of entries that a learner may lack when it is promoted. After the
	// promotion the group may have to wait for them.
	promoteLag = 1000
	// A learner is promoted only if its last answer is at most promoteSilence old.
	promoteSilence = 2 * time.Second
)

// Members returns the node ids of the group's voters and learners, as this member knows
// them, each sorted.
func (r *Replica) Members() (voters, learners []string) {
	for _, m := range r.group.members() {
		if m.Voter {
			voters = append(voters, m.NodeID)
		} else {
			learners = append(learners, m.NodeID)
		}
	}
	return voters, learners
}

// Change changes the members of the group, or its leader, and waits until the change is committed.
// If the change has been made already, it succeeds. Only the leader can make changes: on other
// members the reason of the error is NotLeader, and the error contains the leader's id. Busy means
// that nothing was changed and that the caller may try again later. OutcomeUnknown means that the
// change may still be made.
//
// A learner is promoted, and a voter made the leader, only if it answers and has nearly all of the
// log. A leader does not remove itself, and the last voter cannot be removed.
func (r *Replica) Change(ctx context.Context, kind ChangeKind, node string) error {
	if node == "" {
		return errs.New(errs.InvalidArguments, "%s: %s: no node is given; specify the node", r.cfg.Group, kind)
	}
	if r.raft.State() != raft.Leader {
		return r.refusal(raft.ErrNotLeader)
	}
	c := change{r: r, kind: kind, id: raft.ServerID(node), addr: raft.ServerAddress(node)}
	members := r.group.members()
	if at := slices.IndexFunc(members, func(m Member) bool { return m.NodeID == node }); at >= 0 {
		c.member = &members[at]
	}
	begin, err := c.prepare()
	if err != nil || begin == nil {
		return err
	}
	return r.settle(ctx, kind, node, begin)
}

// change is one change of the group.
type change struct {
	r      *Replica
	kind   ChangeKind
	id     raft.ServerID
	addr   raft.ServerAddress
	member *Member // the member that is changed; nil if the node is not a member
}

func (c *change) refuse(format string, args ...any) *errs.Error {
	return errs.New(errs.IllegalState, "%s: %s, node %s: "+format, append([]any{c.r.cfg.Group, c.kind, c.id}, args...)...)
}

// prepare returns a function that begins the change, or nil if the change has been made already.
func (c *change) prepare() (begin func() raft.Future, err error) {
	running, timeout := c.r.raft, c.r.cfg.EnqueueTimeout
	switch c.kind {
	case AddLearner:
		if c.member != nil {
			return nil, nil
		}
		return func() raft.Future { return running.AddNonvoter(c.id, c.addr, 0, timeout) }, nil
	case Promote:
		return c.promote()
	case Remove:
		if c.member == nil {
			return nil, nil
		}
		if string(c.id) == c.r.cfg.NodeID {
			return nil, c.refuse("it leads; transfer leadership first")
		}
		return func() raft.Future { return running.RemoveServer(c.id, 0, timeout) }, nil
	case Lead:
		return c.handOver()
	}
	return nil, c.refuse("no such change")
}

func (c *change) promote() (begin func() raft.Future, err error) {
	if c.member == nil {
		return nil, c.refuse("it is not a learner; add it first")
	}
	if c.member.Voter {
		return nil, nil
	}
	if err := c.checkReady("vote", promoteSilence); err != nil {
		return nil, err
	}
	return func() raft.Future { return c.r.raft.AddVoter(c.id, c.addr, 0, c.r.cfg.EnqueueTimeout) }, nil
}

func (c *change) handOver() (begin func() raft.Future, err error) {
	if string(c.id) == c.r.cfg.NodeID {
		return nil, nil
	}
	if c.member == nil || !c.member.Voter {
		return nil, c.refuse("it does not vote in the group")
	}
	// Writes wait during a transfer of leadership, so only a transfer that can end soon is begun. A
	// node that has just died may still count as alive for some seconds.
	if err := c.checkReady("lead", c.r.cfg.HeartbeatTimeout); err != nil {
		return nil, err
	}
	return func() raft.Future { return c.r.raft.LeadershipTransferToServer(c.id, c.addr) }, nil
}

// checkReady returns an error with reason Busy if the member lacks too many entries or was silent
// for too long.
func (c *change) checkReady(to string, maxSilence time.Duration) error {
	m := *c.member
	if lag := c.r.group.lag(m); m.Silent < 0 || m.Silent > maxSilence || lag > promoteLag {
		return c.refuse("it lacks %d entries and answered last %s ago: it is not ready to %s", lag,
			m.Silent.Round(time.Millisecond), to).
			WithReason(errs.Busy).WithRetryAfter(time.Second)
	}
	return nil
}

// StepDown transfers leadership to another voter. Among the voters that answered recently, lack few
// entries and are not in avoid, it chooses the one with most of the log. It does nothing if this
// member does not lead or is the only voter. Reason Busy means that there is no such voter, and
// that this member still leads.
func (r *Replica) StepDown(ctx context.Context, avoid ...string) error {
	if r.raft.State() != raft.Leader || r.SoleVoter() {
		return nil
	}
	ready, rest := r.group.successors(avoid, r.cfg.HeartbeatTimeout)
	err := error(errs.New(errs.ShardNotReady, "%s: %s: no other voter is ready to lead: %s", r.cfg.Group, Lead,
		strings.Join(rest, ", ")).
		WithReason(errs.Busy).WithRetryAfter(time.Second))
	for _, m := range ready {
		// A node that has just died may still count as alive. Then the next node is tried.
		if err = r.settle(ctx, Lead, m.NodeID, func() raft.Future {
			return r.raft.LeadershipTransferToServer(raft.ServerID(m.NodeID), raft.ServerAddress(m.NodeID))
		}); err == nil || ctx.Err() != nil || r.raft.State() != raft.Leader {
			return err
		}
	}
	return err
}

// StepDownUnreachable is like StepDown, for a member that other nodes cannot reach. It fails
// with reason Busy unless the other voters that are ready to lead and not in avoid are a majority,
// because the next leader cannot reach this member either.
func (r *Replica) StepDownUnreachable(ctx context.Context, avoid ...string) error {
	if r.raft.State() != raft.Leader || r.SoleVoter() {
		return nil
	}
	ready, rest := r.group.successors(avoid, r.cfg.HeartbeatTimeout)
	if voters, _ := r.Members(); len(ready) < len(voters)/2+1 {
		return errs.New(errs.ShardNotReady, "%s: %s: without this node %d of %d voters have to be ready, and %d are: %s",
			r.cfg.Group, Lead,
			len(voters)/2+1, len(voters), len(ready), strings.Join(rest, ", ")).WithReason(errs.Busy).WithRetryAfter(time.Second)
	}
	return r.StepDown(ctx, avoid...)
}

// settle begins a change and waits until it is made, or ctx ends.
func (r *Replica) settle(ctx context.Context, kind ChangeKind, node string, begin func() raft.Future) error {
	if !r.enter() {
		return errs.Wrap(errs.ShardNotReady, ErrClosed, "%s: %s", r.cfg.Group, kind).WithReason(errs.NotLeader)
	}
	done := make(chan error, 1)
	go func() {
		defer r.inflight.Done()
		done <- r.await(begin())
	}()
	select {
	case err := <-done:
		switch {
		case err == nil:
			r.cfg.Logger.Info("changed the group", "group", r.cfg.Group, "change", kind.String(), "node", node)
			return nil
		case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrEnqueueTimeout),
			errors.Is(err, raft.ErrLeadershipTransferInProgress):
			return r.refusal(err)
		}
		return errs.Wrap(errs.StorageUnavailable, err, "%s: %s %s", r.cfg.Group, kind,
			node).WithReason(errs.OutcomeUnknown).WithRetryAfter(time.Second)
	case <-ctx.Done():
		return errs.Wrap(errs.ContextCode(ctx.Err()), ctx.Err(), "%s: %s %s: the outcome is unknown", r.cfg.Group, kind,
			node).WithReason(errs.OutcomeUnknown)
	case <-r.failed:
		return unknown(r.cfg.Group, errs.StorageUnavailable, r.failErr)
	}
}
