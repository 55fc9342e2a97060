package replica

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/proto/errs"
)

// verifier asks the other members whether this one still leads. One round of requests serves all
// callers that wait when it starts; later callers wait for the next round.
type verifier struct {
	life *life
	ask  func() error // asks one round of requests

	mu      sync.Mutex // guards the rest
	running bool
	next    *round // the round that starts when the running one has ended
}

// round is one round of requests.
type round struct {
	done chan struct{} // closed when err is set
	err  error
}

// verify waits for a round that starts after the call.
func (v *verifier) verify(ctx context.Context) error {
	v.mu.Lock()
	if v.next == nil {
		v.next = &round{done: make(chan struct{})}
	}
	mine := v.next
	if !v.running {
		if !v.life.enter() {
			v.next = nil
			v.mu.Unlock()
			return ErrClosed
		}
		v.running = true
		go v.runRounds()
	}
	v.mu.Unlock()
	select {
	case <-mine.done:
		return mine.err
	case <-ctx.Done():
		return ctx.Err()
	case <-v.life.failed:
		return v.life.failErr
	}
}

// runRounds runs rounds as long as callers wait for one.
func (v *verifier) runRounds() {
	defer v.life.inflight.Done()
	for {
		v.mu.Lock()
		now := v.next
		v.next = nil
		v.running = now != nil
		v.mu.Unlock()
		if now == nil {
			return
		}
		now.err = v.ask()
		close(now.done)
	}
}

// verifyOnce asks all members whether this one still leads. Raft sends the heartbeats. Its own
// count includes answers of learners, and answers to earlier messages, so it does not prove that no
// other leader was elected. The wire records which voters have answered since. The caller does not
// wait for raft's own answer, because it never arrives if raft is shut down first.
func (r *Replica) verifyOnce() error {
	term, round := r.raft.CurrentTerm(), r.wire.NextRound()
	r.inflight.Add(1) // the caller is counted, so Close still waits
	go func() {
		defer r.inflight.Done()
		r.raft.VerifyLeader()
	}()
	for {
		changed, answered := r.LeadsChanged(), r.wire.Answered()
		switch {
		case r.raft.CurrentTerm() != term || r.raft.State() != raft.Leader || !r.IsLeader():
			return raft.ErrLeadershipLost
		case r.wire.NewestTerm() > term:
			return raft.ErrLeadershipLost // a member is in a newer term, which raft will notice
		case r.group.confirm(term, round):
			return nil
		}
		select {
		case <-answered:
		case <-changed:
		case <-r.failed:
			return r.failErr
		case <-r.stop:
			return ErrClosed
		}
	}
}

// ReadIndex returns an index of the log and its term. A member that has applied the index (see
// WaitApplied) has everything that was acknowledged before the call. This member has applied it
// when ReadIndex returns. Only the leader can answer; on other members the reason of the error is
// NotLeader.
func (r *Replica) ReadIndex(ctx context.Context) (index, term uint64, err error) {
	index, p, err := r.ReadProgress(ctx)
	return index, p.Term, err
}

// ReadProgress is like ReadIndex, and also returns how far the group is. The entry of the progress may
// be after index, because not every entry is a command.
func (r *Replica) ReadProgress(ctx context.Context) (index uint64, p Progress, err error) {
	term, leads := r.leadsIn()
	if !leads {
		return 0, Progress{}, r.refusal(raft.ErrNotLeader)
	}
	// The term must still be the same at the end. A member that was deposed and elected again a
	// moment ago does not yet know what others have committed in between.
	commit := r.raft.CommitIndex() // of an entry of this term, since the leader is ready
	// A sole voter needs no confirmation that it leads. Its raft may be waiting for disk space, and
	// that must not block reads. A voter that was added after the index was read cannot have
	// acknowledged anything before.
	if !r.SoleVoter() {
		if err := r.verifying.verify(ctx); err != nil {
			if ctx.Err() != nil {
				return 0, Progress{}, errs.Wrap(errs.ContextCode(ctx.Err()), ctx.Err(), "read index of %s", r.cfg.Group)
			}
			return 0, Progress{}, r.notLeader(err)
		}
	}
	if now := r.raft.CurrentTerm(); now != term || !r.IsLeader() {
		return 0, Progress{}, r.notLeader(fmt.Errorf("the term changed from %d to %d during the request", term, now))
	}
	p = Progress{Term: term, Index: commit}
	last, known := r.log.LastCommand(commit)
	if !known {
		return r.fsm.Applied(), p, nil
	}
	if err := r.WaitApplied(ctx, last); err != nil {
		return 0, Progress{}, err
	}
	return last, p, nil
}

// notLeader returns the error of a member that no longer leads.
func (r *Replica) notLeader(cause error) error {
	e := errs.Wrap(errs.ShardNotReady, cause, "%s: node %s no longer leads it", r.cfg.Group, r.cfg.NodeID)
	leader := r.Leader()
	if leader == r.cfg.NodeID {
		leader = ""
	}
	return e.WithLeader(leader).WithRetryAfter(50 * time.Millisecond)
}

// CheckLeads returns nil if this member leads, and otherwise the error that Propose would
// return: with reason NotLeader and the leader's id, if it is known.
func (r *Replica) CheckLeads() error {
	if r.raft.State() == raft.Leader {
		return nil
	}
	return r.refusal(raft.ErrNotLeader)
}
