package replica

import (
	"context"
	"fmt"
)

// WaitLeader waits until this replica leads its group and has applied everything
// that was committed before. It returns ctx's error, what ended the replica, or
// an error if the replica was closed.
func (r *Replica) WaitLeader(ctx context.Context) error {
	for {
		r.leading.Lock()
		ready, changed := r.ready, r.changed
		r.leading.Unlock()
		if ready && r.failure() == nil { // what failed stays ready for a moment
			return nil
		}
		select {
		case <-changed:
		case <-r.failed:
			return fmt.Errorf("replica %s: wait for leadership: %w", r.cfg.Group, r.failErr)
		case <-r.stop:
			return fmt.Errorf("replica %s: wait for leadership: %w", r.cfg.Group, ErrClosed)
		case <-ctx.Done():
			return fmt.Errorf("replica %s: wait for leadership: %w", r.cfg.Group, ctx.Err())
		}
	}
}

// watchLeadership keeps ready up to date until the replica stops.
func (r *Replica) watchLeadership() {
	defer r.watching.Done()
	for {
		select {
		case <-r.stop:
			return
		case <-r.failed:
			r.setReady(0)
			return
		case leads := <-r.raft.LeaderCh():
			r.metrics.changes.Inc()
			r.setReady(0)
			term := r.raft.CurrentTerm()
			if leads && r.barrier() && r.raft.CurrentTerm() == term {
				r.setReady(term)
				if r.first.CompareAndSwap(true, false) {
					// The next entry tells the others what is committed: else they would hear it with a
					// heartbeat, and not be ready before.
					r.barrier()
				}
			}
		}
	}
}

// barrier waits until everything committed before has been applied. It is false
// if leadership was lost first.
func (r *Replica) barrier() bool {
	if !r.enter() {
		return false
	}
	done := make(chan error, 1)
	go func() {
		defer r.inflight.Done()
		done <- r.await(r.raft.Barrier(0))
	}()
	select {
	case err := <-done:
		return err == nil
	case <-r.failed:
	case <-r.stop:
	}
	return false
}

// setReady notes in which term this member leads and has applied all that was committed
// before; 0: it does not.
func (r *Replica) setReady(term uint64) {
	r.leading.Lock()
	defer r.leading.Unlock()
	if r.ready == (term > 0) && r.readyTerm == term {
		return
	}
	r.ready, r.readyTerm = term > 0, term
	close(r.changed)
	r.changed = make(chan struct{})
}
