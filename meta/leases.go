package meta

import (
	"context"
	"sync"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// Leases let routers answer statements from their copies of the state without asking the leader.
// While a router has a lease, the leader answers a change only when the router's copy has the
// change, or the lease has ended. So an answered change is in every copy that may be used.

const (
	// leaseTime is the time for which a router may use its copy after it sent its request.
	leaseTime = 500 * time.Millisecond
	// leaseKept is the time for which the leader respects a lease. It is longer, because clocks may
	// run at different speeds.
	leaseKept = leaseTime + leaseTime/5
	// maxLeases is the maximum number of leases. Further routers get none, and ask the leader each
	// time.
	maxLeases = 4096
)

// leases are the leases that this member has given while it leads.
type leases struct {
	mu   sync.Mutex // guards the rest
	term uint64
	// began is when this member first noticed that it leads in this term. Leases of earlier leaders
	// end at most leaseKept later. alone is set if there are no such leases.
	began time.Time
	alone bool
	held  map[string]lease
	// moved is closed, and replaced, when a holder has reached a later index.
	moved chan struct{}
}

// lease is the lease of one router.
type lease struct {
	until   time.Time
	reached uint64 // the index that its copy has reached
}

// startTerm drops the leases of earlier terms. alone means that earlier leaders have given none.
func (l *leases) startTerm(term uint64, alone bool, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil || term > l.term {
		l.term, l.began, l.alone, l.held = term, now, alone, map[string]lease{}
		if l.moved == nil {
			l.moved = make(chan struct{})
		}
	}
}

// deposed is called when a change was applied and this member no longer leads. It may not have
// noticed the term of the change, and so all leases have to end.
func (l *leases) deposed(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.began, l.alone = now, false
	if l.moved == nil {
		l.moved = make(chan struct{})
	}
}

// grant records a lease before the index of its answer is determined, so that every change either
// is in that index, or waits for the holder. It returns false if there are too many.
func (l *leases) grant(holder string, reached uint64, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	had, again := l.held[holder]
	if !again && len(l.held) >= maxLeases {
		for id, h := range l.held {
			if now.After(h.until) {
				delete(l.held, id)
			}
		}
		if len(l.held) >= maxLeases {
			return false
		}
	}
	l.held[holder] = lease{until: now.Add(leaseKept), reached: max(had.reached, reached)}
	l.move()
	return true
}

// in reports whether the leases are those of a term.
func (l *leases) in(term uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.term == term
}

// reach records the index that a holder's copy has reached.
func (l *leases) reach(holder string, reached uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h, ok := l.held[holder]; ok {
		h.reached = max(h.reached, reached)
		l.held[holder] = h
		l.move()
	}
}

// move wakes the waiting changes. l.mu must be held.
func (l *leases) move() {
	close(l.moved)
	l.moved = make(chan struct{})
}

// pending returns the maximum time that a change with the given index still has to wait, and a
// channel that is closed when that may have changed.
func (l *leases) pending(index uint64, now time.Time) (wait time.Duration, moved <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.alone {
		wait = l.began.Add(leaseKept).Sub(now)
	}
	for id, h := range l.held {
		left := h.until.Sub(now)
		switch {
		case left <= 0:
			delete(l.held, id)
		case h.reached < index:
			wait = max(wait, left)
		}
	}
	return wait, l.moved
}

// noticeTerm drops the leases of earlier terms if this member leads in a new one. It must be called
// before a command of the term is put through the log.
func (m *Meta) noticeTerm() {
	if term := m.replica.LeadsInTerm(); term > 0 {
		m.leases.startTerm(term, m.replica.SoleVoter() || m.machine.version.Load() < metapb.ProtocolLeases, m.cfg.Now())
	}
}

// awaitLeases waits until a change with the given index may be answered.
func (m *Meta) awaitLeases(ctx context.Context, index uint64) error {
	if index == 0 || m.machine.version.Load() < metapb.ProtocolLeases {
		return nil
	}
	m.noticeTerm()
	if !m.replica.IsLeader() {
		m.leases.deposed(m.cfg.Now())
	}
	for {
		wait, moved := m.leases.pending(index, m.cfg.Now())
		if wait <= 0 {
			return nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-moved:
		case <-timer.C:
		case <-m.stop:
			timer.Stop()
			return errs.New(errs.ShardNotReady, "propose to meta: this member is being closed, and the outcome is unknown").
				WithReason(errs.OutcomeUnknown)
		case <-ctx.Done():
			timer.Stop()
			return errs.Wrap(errs.ContextCode(ctx.Err()), ctx.Err(), "propose to meta: the outcome is unknown").
				WithReason(errs.OutcomeUnknown)
		}
		timer.Stop()
	}
}

// leased records a lease for the holder, and reports whether the answer may grant it. If
// the group has only one voter, it grants no leases: asking it is cheap, and without leases its
// changes never wait for a holder.
func (m *Meta) leased(req *metapb.ReadIndexRequest) bool {
	m.noticeTerm()
	if req.GetHolder() == "" || len(req.GetHolder()) > maxIDLen || m.replica.SoleVoter() || !m.replica.IsLeader() ||
		m.machine.version.Load() < metapb.ProtocolLeases {
		return false
	}
	return m.leases.grant(req.Holder, req.Reached, m.cfg.Now())
}

// Reached records the index that the copy of a lease's holder has reached.
func (m *Meta) Reached(_ context.Context, req *metapb.ReachedRequest) (*metapb.ReachedResponse, error) {
	if err := m.replica.CheckLeads(); err != nil {
		return nil, errs.ToGRPC(err)
	}
	m.leases.reach(req.GetHolder(), req.GetReached())
	return &metapb.ReachedResponse{}, nil
}
