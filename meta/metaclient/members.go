package metaclient

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// members knows who may be a member of the metadata group, and who leads it.
type members struct {
	list func() []string
	dial func(nodeID string) (grpc.ClientConnInterface, error)
	try  time.Duration // bounds a call to one of several
	// lostAfter is Config.LostAfter.
	lostAfter time.Duration

	mu     sync.Mutex
	leader string // as far as is known, or ""
	// lost is since when nobody answered as the leader; zero: somebody did last.
	lost time.Time
}

func newMembers(cfg Config) *members {
	m := &members{list: cfg.Members, dial: cfg.Dial, try: cfg.TryTimeout, lostAfter: cmp.Or(cfg.LostAfter, lostAfter)}
	if cfg.Conn != nil {
		m.list = func() []string { return []string{""} }
		m.dial = func(string) (grpc.ClientConnInterface, error) { return cfg.Conn, nil }
	}
	return m
}

func (m *members) hint() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.leader
}

func (m *members) setLeader(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leader, m.lost = id, time.Time{}
}

// leaderless notes that nobody in a whole round was the leader, and returns for how long that
// has been so.
func (m *members) leaderless() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lost.IsZero() {
		m.lost = time.Now()
	}
	return time.Since(m.lost)
}

// notLeader forgets that the member leads.
func (m *members) notLeader(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.leader == id {
		m.leader = ""
	}
}

// client is how the member is called now.
func (m *members) client(id string) (metapb.MetaClient, error) {
	conn, err := m.dial(id)
	if err != nil {
		return nil, errs.Wrap(errs.ShardUnreachable, err, "reach node %s of the metadata group", id).WithRetryAfter(100 * time.Millisecond)
	}
	return metapb.NewMetaClient(conn), nil
}

// redial has a connection that broke made anew at the next call, rather than after the
// pause that grpc makes between its attempts, which grows to minutes.
func (m *members) redial(id string) {
	if conn, err := m.dial(id); err == nil {
		if c, ok := conn.(interface{ ResetConnectBackoff() }); ok {
			c.ResetConnectBackoff()
		}
	}
}

// Pauses between rounds of calls, and how many hints are followed without one.
const (
	shortPause = 20 * time.Millisecond
	longPause  = 500 * time.Millisecond
	maxHops    = 3
	// lostAfter is how long nobody must have led until a call asks everybody once only, by
	// default: an election takes less, so that waiting is of no use. The calls that are made
	// each second find out when somebody leads again.
	lostAfter = 5 * time.Second
)

// ask calls f with the leader, or whoever may know it, until f succeeds, fails for good,
// or ctx ends. A call to one of several members is bounded, so that one that stands
// still does not stop the others. repeat says that f may be done twice: then a call of
// unknown outcome is made again, too.
func (m *members) ask(ctx context.Context, what string, repeat bool, f func(ctx context.Context, c metapb.MetaClient) error) error {
	var (
		pause   = shortPause
		try     = m.try
		tried   = map[string]bool{} // in this round
		target  = m.hint()
		hops    int
		unknown bool // a call may have had an effect
		last    *errs.Error
	)
	for {
		ids := m.list()
		if target == "" {
			target = firstUntried(ids, tried)
		}
		if target == "" && len(ids) == 1 {
			target = ids[0]
		}
		if len(ids) == 0 {
			last = errs.New(errs.ShardNotReady, "%s: no member of the metadata group is known yet", what).WithRetryAfter(time.Second)
		} else {
			bound := try
			if len(ids) == 1 {
				bound = 0
			}
			err := m.once(ctx, target, bound, f)
			if err == nil {
				m.setLeader(target)
				return nil
			}
			last = errs.From(err)
		}
		if timedOut(ctx, last) {
			try *= 2 // it may be slow, rather than standing still
		}
		next := ""
		again, same := false, false
		switch {
		case len(ids) == 0:
			again = true
		case last.Reason == errs.NotLeader:
			again = true
			m.notLeader(target)
			if last.Leader != target && hops < maxHops {
				next = last.Leader
			}
		case last.Reason == errs.Busy:
			again, same = true, true
		case last.Reason == errs.OutcomeUnknown, timedOut(ctx, last), last.Code == errs.ShardUnreachable:
			m.notLeader(target)
			again = repeat || last.Reason == "" && last.Code == errs.ShardUnreachable
			unknown = unknown || last.Reason != "" || last.Code != errs.ShardUnreachable
		}
		if !again || ctx.Err() != nil {
			return m.giveUp(ctx, what, len(ids), unknown, last)
		}
		if same {
			next = target
		}
		tried[target] = true
		if next != "" && !same && !tried[next] {
			hops++
			target = next
			continue
		}
		if !same {
			if next = firstUntried(ids, tried); next != "" {
				target = next
				continue
			}
			if since := m.leaderless(); since > m.lostAfter && len(ids) > 1 {
				return m.lostLeader(what, len(ids), since, unknown, last)
			}
			// Everybody was asked: begin a new round after a pause, with whoever was named.
			clear(tried)
			hops, next = 0, last.Leader
		}
		select {
		case <-ctx.Done():
			return m.giveUp(ctx, what, len(ids), unknown, last)
		case <-time.After(max(last.RetryAfter, pause/2+rand.N(pause))):
		}
		pause = min(2*pause, longPause)
		target = next
	}
}

// timedOut tells whether the call, but not ctx, ran out of time.
func timedOut(ctx context.Context, e *errs.Error) bool {
	return e.Code == errs.DeadlineExceeded && ctx.Err() == nil
}

// giveUp is the error of ask.
func (m *members) giveUp(ctx context.Context, what string, known int, unknown bool, last *errs.Error) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) || known <= 1 && last.Code != errs.DeadlineExceeded && !errors.Is(last, context.DeadlineExceeded) {
		return last
	}
	e := errs.Wrap(errs.ShardNotReady, last, "%s: none of %d members of the metadata group answered as its leader in time; are most of them up?", what, known)
	if known <= 1 {
		// It is there: its log waits for the disk.
		e = errs.Wrap(errs.ShardNotReady, last, "%s: it did not answer in time, is its disk full, or slow? The outcome is unknown", what)
		unknown = true
	}
	e.Code, e.RetryAfter, e.Leader = errs.ShardNotReady, time.Second, ""
	if unknown {
		e.Reason = errs.OutcomeUnknown
	}
	return e
}

// lostLeader is the error of a call while nobody has led for longer than an election takes.
func (m *members) lostLeader(what string, known int, since time.Duration, unknown bool, last *errs.Error) error {
	e := errs.Wrap(errs.ShardNotReady, last, "%s: the metadata group has had no leader for %s: more than half of its voters must be up; none of the %d members known here leads",
		what, since.Round(time.Second), known)
	e.Code, e.RetryAfter, e.Leader = errs.ShardNotReady, 2*time.Second, ""
	if unknown {
		e.Reason = errs.OutcomeUnknown
	}
	return e
}

func firstUntried(ids []string, tried map[string]bool) string {
	i := slices.IndexFunc(ids, func(id string) bool { return !tried[id] })
	if i < 0 {
		return ""
	}
	return ids[i]
}

// once makes one call, bounded in time unless bound is 0. Its error is an *errs.Error.
func (m *members) once(ctx context.Context, id string, bound time.Duration, f func(ctx context.Context, c metapb.MetaClient) error) error {
	c, err := m.client(id)
	if err != nil {
		return err
	}
	call := ctx
	if bound > 0 {
		var cancel context.CancelFunc
		call, cancel = context.WithTimeout(ctx, bound)
		defer cancel()
	}
	if err := f(call, c); err != nil {
		e := errs.From(errs.FromGRPC(err))
		if e.Code == errs.ShardUnreachable {
			m.redial(id)
		}
		return e
	}
	return nil
}
