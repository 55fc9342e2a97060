package replica

import (
	"context"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/proto/errs"
)

// WaitApplied waits until the command with that index, and everything before it, has been applied
// here. index must be the index of a command, as Propose and ReadIndex return it.
func (r *Replica) WaitApplied(ctx context.Context, index uint64) error {
	r.fsm.waiters.Add(1)
	defer r.fsm.waiters.Add(-1)
	for {
		progress := r.fsm.progressed()
		if r.fsm.Applied() >= index {
			return nil
		}
		select {
		case <-progress:
		case <-r.failed:
			return errs.Wrap(errs.StorageUnavailable, r.failErr, "%s: wait for index %d", r.cfg.Group, index)
		case <-r.stop:
			return errs.Wrap(errs.ShardNotReady, ErrClosed, "%s: wait for index %d", r.cfg.Group,
				index).WithReason(errs.NotLeader)
		case <-ctx.Done():
			return errs.Wrap(errs.ContextCode(ctx.Err()), ctx.Err(), "%s: wait for index %d, %d is applied", r.cfg.Group, index,
				r.fsm.Applied())
		}
	}
}

// hasApplied reports whether everything up to index is applied. index may belong to any kind of
// entry.
func (r *Replica) hasApplied(index uint64) bool {
	if r.raft.AppliedIndex() < index {
		return false // some entries have not been passed to the state machine yet
	}
	last, known := r.log.LastCommand(index)
	return !known || r.fsm.Applied() >= last
}

// readyPoll is how often WaitReady checks whether a follower has caught up. Polling is needed
// because not every step applies an entry.
const readyPoll = 20 * time.Millisecond

// Ready reports whether WaitReady would return at once.
func (r *Replica) Ready() bool {
	if r.failure() != nil {
		return false
	}
	if r.IsLeader() {
		return true
	}
	if r.Leader() == "" || r.raft.State() != raft.Follower {
		return false
	}
	if r.caughtUp.Load() {
		return true
	}
	// The leader sends its commit index with its first append to this process.
	commit := r.wire.LeaderCommit()
	if commit == 0 || !r.hasApplied(commit) {
		return false
	}
	r.caughtUp.Store(true)
	return true
}

// WaitReady waits until this member leads and has applied all that was committed before. It also
// returns if the member follows a known leader and has applied what was committed when this leader
// first reported it.
func (r *Replica) WaitReady(ctx context.Context) error {
	poll := time.NewTicker(readyPoll)
	defer poll.Stop()
	return r.waitChange(ctx, "wait until the member is ready", poll.C, r.Ready)
}

// Staleness returns a bound on the age of this member's state, by its own clock: everything
// acknowledged before it has been applied here, except what a new leader acknowledged while this
// member still followed a deposed one (at most one heartbeat timeout; package wire has the
// argument). On the leader it is the age of the newest heartbeats that a majority of voters has
// answered. known is false if the member has received too few messages since it was opened, or
// leads and has not been answered.
func (r *Replica) Staleness() (d time.Duration, known bool) {
	if r.failure() != nil {
		return 0, false
	}
	if term, leads := r.leadsIn(); leads {
		return r.group.confirmedAge(term)
	}
	at, known := r.wire.AppliedSince(r.hasApplied)
	if !known {
		return 0, false
	}
	return time.Since(at), true
}
