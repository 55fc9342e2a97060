package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	// Remove takes a node out, voter or learner.
	Remove
	// Lead hands leadership to a voter.
	Lead
)

// String is the change in words.
func (k ChangeKind) String() string {
	switch k {
	case AddLearner:
		return "add a learner"
	case Promote:
		return "promote a learner"
	case Remove:
		return "remove a member"
	case Lead:
		return "hand leadership on"
	}
	return "change of an unknown kind"
}

const (
	// promoteLag is how many entries a learner may lack when it is promoted: from then on
	// the group may have to wait for it.
	promoteLag = 1000
	// promoteSilence is how long ago it may have answered last.
	promoteSilence = 2 * time.Second
)

// Members are the node ids of the group's voters and learners, as this member knows
// them, each sorted.
func (r *Replica) Members() (voters, learners []string) {
	for _, m := range r.members() {
		if m.Voter {
			voters = append(voters, m.NodeID)
		} else {
			learners = append(learners, m.NodeID)
		}
	}
	return voters, learners
}

func (r *Replica) members() []Member {
	servers := r.raft.GetConfiguration().Configuration().Servers
	out := make([]Member, 0, len(servers))
	for _, s := range servers {
		m := Member{NodeID: string(s.ID), Voter: s.Suffrage == raft.Voter, Silent: -1}
		if m.NodeID == r.cfg.NodeID {
			m.Silent, m.LastIndex = 0, r.raft.LastIndex()
		} else if p := r.wire.progress(m.NodeID); !p.at.IsZero() {
			m.Silent, m.LastIndex = time.Since(p.at), p.last
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b Member) int {
		if a.NodeID < b.NodeID {
			return -1
		}
		return 1
	})
	return out
}

// Change changes the members of the group, or who leads it, and waits until that is
// committed. A change that is made already succeeds. Only the leader can do it: the
// reason of the error is NotLeader on others, and then it names the leader. Busy means
// that nothing was changed and that it may be tried again later, OutcomeUnknown that it
// may still come about.
//
// A learner is promoted, and a voter made the leader, only when it answers and has nearly
// all of the log. A leader does not remove itself, and the last voter stays.
func (r *Replica) Change(ctx context.Context, kind ChangeKind, node string) error {
	if node == "" {
		return errs.New(errs.InvalidArguments, "%s: %s: no node is given", r.cfg.Group, kind)
	}
	if r.raft.State() != raft.Leader {
		return r.refusal(raft.ErrNotLeader)
	}
	members := r.members()
	at := slices.IndexFunc(members, func(m Member) bool { return m.NodeID == node })
	refuse := func(format string, args ...any) *errs.Error {
		return errs.New(errs.IllegalState, "%s: %s, node %s: "+format, append([]any{r.cfg.Group, kind, node}, args...)...)
	}
	id, addr := raft.ServerID(node), raft.ServerAddress(node)
	switch kind {
	case AddLearner:
		if at >= 0 {
			return nil
		}
		return r.settled(ctx, kind, node, func() raft.Future { return r.raft.AddNonvoter(id, addr, 0, r.cfg.EnqueueTimeout) })
	case Promote:
		if at < 0 {
			return refuse("it is no learner; add it first")
		}
		m := members[at]
		if m.Voter {
			return nil
		}
		if lag := r.lag(m); m.Silent < 0 || m.Silent > promoteSilence || lag > promoteLag {
			return refuse("it lacks %d entries and answered last %s ago: it is not ready to vote", lag, m.Silent.Round(time.Millisecond)).
				WithReason(errs.Busy).WithRetryAfter(time.Second)
		}
		return r.settled(ctx, kind, node, func() raft.Future { return r.raft.AddVoter(id, addr, 0, r.cfg.EnqueueTimeout) })
	case Remove:
		switch {
		case at < 0:
			return nil
		case node == r.cfg.NodeID:
			return refuse("it leads; hand leadership on first")
		}
		return r.settled(ctx, kind, node, func() raft.Future { return r.raft.RemoveServer(id, 0, r.cfg.EnqueueTimeout) })
	case Lead:
		switch {
		case node == r.cfg.NodeID:
			return nil
		case at < 0 || !members[at].Voter:
			return refuse("it does not vote in the group")
		}
		// Writes wait while a hand-over lasts, so none is begun that cannot end soon: a node
		// that has just died counts as alive for some seconds still.
		m := members[at]
		if lag := r.lag(m); m.Silent < 0 || m.Silent > r.cfg.HeartbeatTimeout || lag > promoteLag {
			return refuse("it lacks %d entries and answered last %s ago: it is not ready to lead", lag, m.Silent.Round(time.Millisecond)).
				WithReason(errs.Busy).WithRetryAfter(time.Second)
		}
		return r.settled(ctx, kind, node, func() raft.Future { return r.raft.LeadershipTransferToServer(id, addr) })
	}
	return refuse("no such change")
}

// lag is how many entries a member lacks, as far as it has said.
func (r *Replica) lag(m Member) uint64 {
	last := r.raft.LastIndex()
	return last - min(last, m.LastIndex)
}

// StepDown hands leadership to the voter that has most of the log, of those that answered
// lately, lack little, and are none of avoid. It does nothing if this member does not lead or
// is the only voter. Reason Busy means that there is no such voter, and that this member
// leads as before.
func (r *Replica) StepDown(ctx context.Context, avoid ...string) error {
	if r.raft.State() != raft.Leader || r.soleVoter() {
		return nil
	}
	ready, rest := r.successors(avoid)
	err := error(errs.New(errs.ShardNotReady, "%s: %s: no other voter is ready to lead: %s", r.cfg.Group, Lead, strings.Join(rest, ", ")).
		WithReason(errs.Busy).WithRetryAfter(time.Second))
	for _, m := range ready {
		// Who has just died may count as alive still: then the next one is asked.
		if err = r.settled(ctx, Lead, m.NodeID, func() raft.Future {
			return r.raft.LeadershipTransferToServer(raft.ServerID(m.NodeID), raft.ServerAddress(m.NodeID))
		}); err == nil || ctx.Err() != nil || r.raft.State() != raft.Leader {
			return err
		}
	}
	return err
}

// HandOn is StepDown of a member that others cannot reach: it does nothing unless those of the
// other voters that answer, and are none of avoid, are a majority without this one. Whoever
// leads next does not reach this one either.
func (r *Replica) HandOn(ctx context.Context, avoid ...string) error {
	if r.raft.State() != raft.Leader || r.soleVoter() {
		return nil
	}
	ready, rest := r.successors(avoid)
	if voters, _ := r.Members(); len(ready) < len(voters)/2+1 {
		return errs.New(errs.ShardNotReady, "%s: %s: without this node %d of %d voters have to be ready, and %d are: %s", r.cfg.Group, Lead,
			len(voters)/2+1, len(voters), len(ready), strings.Join(rest, ", ")).WithReason(errs.Busy).WithRetryAfter(time.Second)
	}
	return r.StepDown(ctx, avoid...)
}

// successors are the voters that may lead now, those with most of the log first, and in words
// why the rest may not.
func (r *Replica) successors(avoid []string) (ready []Member, rest []string) {
	for _, m := range r.members() {
		switch lag := r.lag(m); {
		case !m.Voter || m.NodeID == r.cfg.NodeID:
		case slices.Contains(avoid, m.NodeID):
			rest = append(rest, fmt.Sprintf("node %s is about to stop or to be emptied, or cannot be reached", m.NodeID))
		case m.Silent < 0:
			rest = append(rest, fmt.Sprintf("node %s has not answered", m.NodeID))
		case m.Silent > r.cfg.HeartbeatTimeout:
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

// settled begins a change and waits until it is made, or ctx ends.
func (r *Replica) settled(ctx context.Context, kind ChangeKind, node string, begin func() raft.Future) error {
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
		case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrEnqueueTimeout), errors.Is(err, raft.ErrLeadershipTransferInProgress):
			return r.refusal(err)
		}
		return errs.Wrap(errs.StorageUnavailable, err, "%s: %s %s", r.cfg.Group, kind, node).WithReason(errs.OutcomeUnknown).WithRetryAfter(time.Second)
	case <-ctx.Done():
		return errs.Wrap(errs.ContextCode(ctx.Err()), ctx.Err(), "%s: %s %s: the outcome is unknown", r.cfg.Group, kind, node).WithReason(errs.OutcomeUnknown)
	case <-r.failed:
		return r.unknown(errs.StorageUnavailable, r.failErr)
	}
}

// setTrailing tells raft how much of the log to keep behind the next snapshot.
func (r *Replica) setTrailing() error {
	n := uint64(1)
	if !r.SoleMember() {
		n = max(r.cfg.TrailingLogs, r.store.entriesOf(r.cfg.TrailingBytes, r.raft.LastIndex()))
	}
	conf := r.raft.ReloadableConfig()
	if conf.TrailingLogs == n {
		return nil
	}
	conf.TrailingLogs = n
	return r.raft.ReloadConfig(conf)
}
