package replica

import (
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"
)

// life records how a replica ends: by a failure or by Close. The channels are closed in the order
// failed (only by a failure), ended, stop (only by Close).
type life struct {
	// gate guards closing; it is held for reading only while a call is counted.
	gate     sync.RWMutex
	closing  bool
	inflight sync.WaitGroup // calls that wait for raft

	failOnce sync.Once
	failed   chan struct{} // closed when the replica failed; failErr is set before
	failErr  error

	ended chan struct{} // closed before raft is shut down
	end   func()        // closes ended; may be called again
	stop  chan struct{} // closed by Close
}

func newLife() *life {
	l := &life{failed: make(chan struct{}), ended: make(chan struct{}), stop: make(chan struct{})}
	l.end = sync.OnceFunc(func() { close(l.ended) })
	return l
}

// enter counts a call in flight, unless the replica is closing. The caller must call inflight.Done.
func (l *life) enter() bool {
	l.gate.RLock()
	defer l.gate.RUnlock()
	if l.closing {
		return false
	}
	l.inflight.Add(1)
	return true
}

// beginClose refuses further calls, and reports whether it is the first to do so.
func (l *life) beginClose() (first bool) {
	l.gate.Lock()
	defer l.gate.Unlock()
	first = !l.closing
	l.closing = true
	return first
}

// markFailed records that the replica failed, and then calls then. Only the first call has an
// effect.
func (l *life) markFailed(err error, then func()) {
	l.failOnce.Do(func() {
		l.failErr = err
		close(l.failed)
		l.end()
		then()
	})
}

// failure returns the error that ended the replica, or nil.
func (l *life) failure() error {
	select {
	case <-l.failed:
		return l.failErr
	default:
		return nil
	}
}

// running gives callbacks access to raft. They may be called before Open has started it.
type running struct{ atomic.Pointer[raft.Raft] }

// leads reports whether this member leads in a term and has another member.
func (r *running) leads(id raft.ServerID, term uint64) bool {
	now := r.Load()
	return now != nil && now.State() == raft.Leader && now.CurrentTerm() == term && r.hasMember(string(id))
}

// hasMember reports whether a node is a member of the group.
func (r *running) hasMember(node string) bool {
	now := r.Load()
	if now == nil {
		return false
	}
	for _, s := range now.GetConfiguration().Configuration().Servers {
		if string(s.ID) == node {
			return true
		}
	}
	return false
}

// commitIndex returns the index of the last entry that raft knows to be committed.
func (r *running) commitIndex() uint64 {
	if now := r.Load(); now != nil {
		return now.CommitIndex()
	}
	return 0
}

// lastIndex returns the last index of the log.
func (r *running) lastIndex() uint64 {
	if now := r.Load(); now != nil {
		return now.LastIndex()
	}
	return 0
}
