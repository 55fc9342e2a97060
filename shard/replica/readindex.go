package replica

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/proto/errs"
)

// verifier asks the other members whether this one still leads. One round of questions serves
// all callers that wait when it begins; later callers wait for the next round.
type verifier struct {
	life *life
	ask  func() error // asks one round of questions

	mu      sync.Mutex // guards the rest
	running bool
	next    *round // the round that begins when the running one has ended
}

// round is one round of questions.
type round struct {
	done chan struct{} // closed when err is set
	err  error
}

// verify waits until a round that began after the call has ended.
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

// runRounds runs rounds until no caller waits for one.
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

// verifyOnce asks all members whether this one still leads. Raft sends the heartbeats, but it
// also counts the answers of learners, and answers to what was sent before it was asked: neither
// excludes that another leader was elected. The wire knows which voters have answered since.
// Raft's own answer is not waited for: it never comes if raft is shut down before it took the
// question up.
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
			return raft.ErrLeadershipLost // a member is in a newer term, and raft will notice
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

// ReadIndex returns an index of the log, and its term, such that a member that has
// applied it (see WaitApplied) holds everything that was acknowledged before the call.
// It has been applied here when it is returned. Only the leader knows it; on other members
// the reason of the error is NotLeader.
func (r *Replica) ReadIndex(ctx context.Context) (index, term uint64, err error) {
	term, leads := r.leadsIn()
	if !leads {
		return 0, 0, r.refusal(raft.ErrNotLeader)
	}
	// The term must still be the same at the end: a member that was deposed and elected again a
	// moment ago does not know yet what others committed in between.
	commit := r.raft.CommitIndex()
	// The only voter needs no confirmation that it leads, and its raft may be waiting for room
	// on the disk, which is no reason not to read. A voter that was added after the index was
	// taken cannot have acknowledged anything before.
	if !r.SoleVoter() {
		if err := r.verifying.verify(ctx); err != nil {
			if ctx.Err() != nil {
				return 0, 0, errs.Wrap(errs.ContextCode(ctx.Err()), ctx.Err(), "read index of %s", r.cfg.Group)
			}
			return 0, 0, r.notLeader(err)
		}
	}
	if now := r.raft.CurrentTerm(); now != term || !r.IsLeader() {
		return 0, 0, r.notLeader(fmt.Errorf("the term changed from %d to %d meanwhile", term, now))
	}
	last, known := r.log.LastCommand(commit)
	if !known {
		return r.fsm.Applied(), term, nil
	}
	if err := r.WaitApplied(ctx, last); err != nil {
		return 0, 0, err
	}
	return last, term, nil
}

// notLeader returns the error of a member that does not lead any more.
func (r *Replica) notLeader(cause error) error {
	e := errs.Wrap(errs.ShardNotReady, cause, "%s: node %s does not lead it any more", r.cfg.Group, r.cfg.NodeID)
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
