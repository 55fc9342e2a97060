package replica

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// leadership records whether this member leads and is ready: it has applied everything that was
// committed before its term.
type leadership struct {
	mu      sync.Mutex    // guards the rest
	term    uint64        // the term in which the member is ready to lead; 0 if it is not ready
	changed chan struct{} // closed, and replaced, when term changes
}

func (l *leadership) init() { l.changed = make(chan struct{}) }

// set records the term in which this member is ready to lead, or 0 if it is not ready.
func (l *leadership) set(term uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.term == term {
		return
	}
	l.term = term
	close(l.changed)
	l.changed = make(chan struct{})
}

// get returns the term, and a channel that is closed when it has changed.
func (l *leadership) get() (term uint64, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.term, l.changed
}

// IsLeader reports whether this replica leads and has applied everything that was committed before
// it became leader. The result may be outdated when IsLeader returns.
func (r *Replica) IsLeader() bool {
	_, leads := r.leadsIn()
	return leads
}

// leadsIn is like IsLeader, but also returns the term.
func (r *Replica) leadsIn() (term uint64, leads bool) {
	term, _ = r.leading.get()
	return term, term > 0 && r.failure() == nil
}

// LeadsInTerm returns the term in which this replica leads, or 0 if it does not lead.
func (r *Replica) LeadsInTerm() uint64 {
	term, leads := r.leadsIn()
	if !leads {
		return 0
	}
	return term
}

// LeadsChanged returns a channel that is closed when the result of IsLeader has changed. Get the
// channel before calling IsLeader; otherwise a change may be missed.
func (r *Replica) LeadsChanged() <-chan struct{} {
	_, changed := r.leading.get()
	return changed
}

// WaitLeader waits until this replica leads its group and has applied everything that was committed
// before. It returns the error of ctx, the error that ended the replica, or an error if the replica
// was closed.
func (r *Replica) WaitLeader(ctx context.Context) error {
	return r.waitChange(ctx, "wait for leadership", nil, r.IsLeader)
}

// waitChange waits until holds returns true. It calls holds again whenever leadership changes, and
// when tick, which may be nil, receives.
func (r *Replica) waitChange(ctx context.Context, what string, tick <-chan time.Time, holds func() bool) error {
	for {
		changed := r.LeadsChanged()
		if holds() {
			return nil
		}
		var err error
		select {
		case <-changed:
			continue
		case <-tick:
			continue
		case <-r.failed:
			err = r.failErr
		case <-r.stop:
			err = ErrClosed
		case <-ctx.Done():
			err = ctx.Err()
		}
		return fmt.Errorf("replica %s: %s: %w", r.cfg.Group, what, err)
	}
}

// watchLeadership keeps leading up to date until the replica stops.
func (r *Replica) watchLeadership() {
	for {
		select {
		case <-r.stop:
			return
		case <-r.failed:
			r.leading.set(0)
			return
		case leads := <-r.raft.LeaderCh():
			r.metrics.changes.Inc()
			r.leading.set(0)
			if leads {
				r.beginToLead()
			}
		}
	}
}

// beginToLead waits until everything that was committed before has been applied.
func (r *Replica) beginToLead() {
	term, begun := r.raft.CurrentTerm(), time.Now()
	if !r.barrier() || r.raft.CurrentTerm() != term {
		return
	}
	r.wire.Led(term, begun, r.raft.AppliedIndex())
	r.leading.set(term)
	if r.first.CompareAndSwap(true, false) {
		// The next entry shows the other members the commit index. Otherwise they would learn it
		// with a later append, and would not be ready before.
		r.barrier()
	}
}

// barrier waits until everything committed before has been applied. It returns
// false if leadership was lost first.
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
