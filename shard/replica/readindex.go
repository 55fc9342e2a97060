package replica

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/proto/errs"
)

// verifier asks the other members whether this one still leads, once for all that wait
// for the answer.
type verifier struct {
	mu      sync.Mutex // guards the rest
	running bool
	next    *round // the round that begins when the running one has ended
}

// round is one question.
type round struct {
	done chan struct{} // closed when err is set
	err  error
}

// verify waits until a round that began after the call has ended.
func (r *Replica) verify(ctx context.Context) error {
	v := &r.verifying
	v.mu.Lock()
	if v.next == nil {
		v.next = &round{done: make(chan struct{})}
	}
	mine := v.next
	if !v.running {
		if !r.enter() {
			v.next = nil
			v.mu.Unlock()
			return ErrClosed
		}
		v.running = true
		go r.verifyRounds()
	}
	v.mu.Unlock()
	select {
	case <-mine.done:
		return mine.err
	case <-ctx.Done():
		return ctx.Err()
	case <-r.failed:
		return r.failErr
	}
}

// verifyRounds runs rounds until nobody waits for one.
func (r *Replica) verifyRounds() {
	defer r.inflight.Done()
	v := &r.verifying
	for {
		v.mu.Lock()
		now := v.next
		v.next = nil
		v.running = now != nil
		v.mu.Unlock()
		if now == nil {
			return
		}
		now.err = r.verifyOnce()
		close(now.done)
	}
}

// verifyOnce asks all members whether this one still leads. Raft sends the heartbeats, but it
// counts the answers of learners, and answers to what was sent before it was asked: they do not
// keep others from having elected somebody. The wire tells which voters answered since. Raft's
// own answer is not waited for: it never comes if raft is shut down before it took the question up.
func (r *Replica) verifyOnce() error {
	term, round := r.raft.CurrentTerm(), r.wire.rounds.Add(1)
	r.inflight.Add(1) // the caller is counted, so nobody has stopped waiting
	go func() {
		defer r.inflight.Done()
		r.raft.VerifyLeader()
	}()
	for {
		changed, moved := r.LeadsChanged(), r.wire.move()
		switch {
		case r.raft.CurrentTerm() != term || r.raft.State() != raft.Leader || !r.IsLeader():
			return raft.ErrLeadershipLost
		case r.wire.newest.Load() > term:
			return raft.ErrLeadershipLost // some member knows a newer term, and raft will notice
		case r.votersConfirmed(term, round):
			return nil
		}
		select {
		case <-moved:
		case <-changed:
		case <-r.failed:
			return r.failErr
		case <-r.stop:
			return ErrClosed
		}
	}
}

// ReadIndex returns an index of the log, and its term, such that a member that has
// applied it (see WaitApplied) holds everything that was acknowledged before the call.
// It has been applied here when it is returned. Only the leader can tell; on others the
// reason of the error is NotLeader.
func (r *Replica) ReadIndex(ctx context.Context) (index, term uint64, err error) {
	term, leads := r.leadsIn()
	if !leads {
		return 0, 0, r.refusal(raft.ErrNotLeader)
	}
	// Whoever was deposed and elected again a moment ago does not know yet what others committed
	// in between: the term is the one in which everything before was applied.
	commit := r.raft.CommitIndex()
	// The only voter needs nobody to tell it that it leads; and its raft may be waiting for
	// room on the disk, which is no reason not to read. Whoever else came to vote after the
	// index was taken cannot have acknowledged anything before.
	var verified error
	if !r.soleVoter() {
		verified = r.verify(ctx)
	}
	if err := verified; err != nil {
		if ctx.Err() != nil {
			return 0, 0, errs.Wrap(errs.ContextCode(ctx.Err()), ctx.Err(), "read index of %s", r.cfg.Group)
		}
		return 0, 0, r.notLeader(err)
	}
	if now := r.raft.CurrentTerm(); now != term || !r.IsLeader() {
		return 0, 0, r.notLeader(fmt.Errorf("the term changed from %d to %d meanwhile", term, now))
	}
	last, known := r.store.lastCommand(commit)
	if !known {
		return r.fsm.Applied(), term, nil
	}
	if err := r.WaitApplied(ctx, last); err != nil {
		return 0, 0, err
	}
	return last, term, nil
}

func (r *Replica) notLeader(cause error) error {
	e := errs.Wrap(errs.ShardNotReady, cause, "%s: node %s does not lead it any more", r.cfg.Group, r.cfg.NodeID)
	leader := r.Leader()
	if leader == r.cfg.NodeID {
		leader = ""
	}
	return e.WithLeader(leader).WithRetryAfter(50 * time.Millisecond)
}

// CheckLeads returns nil if this member leads, and else the error that Propose would
// return: with reason NotLeader and the leader's id, if it is known.
func (r *Replica) CheckLeads() error {
	if r.raft.State() == raft.Leader {
		return nil
	}
	return r.refusal(raft.ErrNotLeader)
}

// Leader is the node id of the leader that this member knows; empty if it knows none.
func (r *Replica) Leader() string {
	_, id := r.raft.LeaderWithID()
	return string(id)
}

// WaitApplied waits until the command with that index, and everything before it, is
// applied here. index must be that of a command, as Propose and ReadIndex return it.
func (r *Replica) WaitApplied(ctx context.Context, index uint64) error {
	return r.waitFor(ctx, "index "+fmt.Sprint(index), func() bool { return r.fsm.Applied() >= index })
}

// waitFor waits until something holds that may hold after more was applied.
func (r *Replica) waitFor(ctx context.Context, what string, holds func() bool) error {
	r.fsm.waits.Add(1)
	defer r.fsm.waits.Add(-1)
	for {
		moved := r.fsm.move()
		if holds() {
			return nil
		}
		select {
		case <-moved:
		case <-r.failed:
			return errs.Wrap(errs.StorageUnavailable, r.failErr, "%s: wait for %s", r.cfg.Group, what)
		case <-r.stop:
			return errs.Wrap(errs.ShardNotReady, ErrClosed, "%s: wait for %s", r.cfg.Group, what).WithReason(errs.NotLeader)
		case <-ctx.Done():
			return errs.Wrap(errs.ContextCode(ctx.Err()), ctx.Err(), "%s: wait for %s, %d is applied", r.cfg.Group, what, r.fsm.Applied())
		}
	}
}

// hasApplied tells whether everything up to index, which may be any entry's, is applied.
func (r *Replica) hasApplied(index uint64) bool {
	if r.raft.AppliedIndex() < index {
		return false // some of it has not even been handed over
	}
	last, known := r.store.lastCommand(index)
	return !known || r.fsm.Applied() >= last
}

// readyPoll is how often WaitReady looks whether a follower has caught up: not every
// step on the way there is an entry that is applied.
const readyPoll = 20 * time.Millisecond

// Ready tells whether WaitReady would return at once.
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
	// A leader tells what is committed with its first append of this process's life.
	told := r.wire.told.Load()
	if told == 0 || !r.hasApplied(told) {
		return false
	}
	r.caughtUp.Store(true)
	return true
}

// WaitReady waits until this member leads and has applied all that was committed before,
// or follows a leader that it knows and has applied what was committed when that leader
// first told it.
func (r *Replica) WaitReady(ctx context.Context) error {
	poll := time.NewTicker(readyPoll)
	defer poll.Stop()
	for {
		changed := r.LeadsChanged()
		if r.Ready() {
			return nil
		}
		select {
		case <-changed:
		case <-poll.C:
		case <-r.failed:
			return fmt.Errorf("replica %s: wait until it is ready: %w", r.cfg.Group, r.failErr)
		case <-r.stop:
			return fmt.Errorf("replica %s: wait until it is ready: %w", r.cfg.Group, ErrClosed)
		case <-ctx.Done():
			return fmt.Errorf("replica %s: wait until it is ready: %w", r.cfg.Group, ctx.Err())
		}
	}
}
