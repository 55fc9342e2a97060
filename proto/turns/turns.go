// Package turns limits the queries that run and those that wait, and divides the slots among users.
//
// One user holds at most Config.PerUser slots, and the last quarter is reserved for users without
// running queries, so that another user's first query finds a slot. The next free slot goes to the
// user with the fewest running queries, and among these to the one who has waited longest.
package turns

import (
	"container/list"
	"context"
	"sync"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/words"
)

// Config configures a Gate. Running, Waiting and MaxWait must be positive.
type Config struct {
	// Running is the maximum number of queries that run at a time.
	Running int
	// PerUser is the maximum number of queries of one user that run at a time. The default value is
	// three quarters of Running.
	PerUser int
	// Waiting is the maximum number of queries that wait.
	Waiting int
	// WaitingPerUser is the maximum number of queries of one user that wait. The default value is
	// half of Waiting.
	WaitingPerUser int
	// MaxWait is how long a query may wait.
	MaxWait time.Duration
}

// Gate admits queries. It is safe for concurrent use.
type Gate struct {
	running, perUser, reserve int
	waiting, waitingPerUser   int
	maxWait                   time.Duration

	mu     sync.Mutex // guards the fields below
	used   int
	waits  int
	shares map[string]*share // users with running or waiting queries
	grants uint64
}

// share counts the running and waiting queries of a user.
type share struct {
	running int
	waiting list.List // of *turn
	last    uint64    // number of its last grant
}

// turn is a waiting query. ready receives nil when it may run, or an error.
type turn struct {
	share *share
	at    *list.Element
	ready chan error
}

// New returns a Gate.
func New(cfg Config) *Gate {
	g := &Gate{running: cfg.Running, waiting: cfg.Waiting, maxWait: cfg.MaxWait, shares: map[string]*share{}}
	quarter := max(1, cfg.Running/4)
	g.perUser = cfg.PerUser
	if g.perUser == 0 {
		g.perUser = cfg.Running - quarter
	}
	g.perUser = min(max(1, g.perUser), cfg.Running)
	g.reserve = min(quarter, cfg.Running-g.perUser)
	if g.waitingPerUser = cfg.WaitingPerUser; g.waitingPerUser == 0 {
		g.waitingPerUser = max(1, cfg.Waiting/2)
	}
	return g
}

// Enter waits for a slot for the user with this key; leave returns it. The error has code
// errs.ShardBusy, or is the error of ctx.
func (g *Gate) Enter(ctx context.Context, key string) (leave func(), err error) {
	t, err := g.queue(key)
	if err != nil {
		return nil, err
	}
	leave = func() { g.leave(key) }
	if t == nil {
		return leave, nil
	}
	timer := time.NewTimer(g.maxWait)
	defer timer.Stop()
	select {
	case err = <-t.ready:
	case <-timer.C:
		err = g.giveUp(key, t, g.busy("%s, and none made room for this one within %s", running(g.running), g.maxWait))
	case <-ctx.Done():
		err = g.giveUp(key, t, ctx.Err())
	}
	if err != nil {
		return nil, err
	}
	return leave, nil
}

// queue takes a slot and returns nil, or adds the query to the waiting ones and returns it.
func (g *Gate) queue(key string) (*turn, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.shares[key]
	if s == nil {
		s = &share{}
		g.shares[key] = s
	}
	defer g.forget(key)
	if g.mayRun(s) {
		g.grant(s)
		return nil, nil
	}
	if n := s.waiting.Len(); n >= g.waitingPerUser {
		return nil, g.busy("of this user, %s and %s already, which is the most for one user", running(s.running), waiting(n))
	}
	if g.waits >= g.waiting && !g.makeRoom(s) {
		return nil, g.busy("%s, and %s already", running(g.used), waiting(g.waits))
	}
	t := &turn{share: s, ready: make(chan error, 1)}
	t.at = s.waiting.PushBack(t)
	g.waits++
	return t, nil
}

// makeRoom refuses the youngest query of the user with the most waiting queries. It does so only if these are more
// than s would have.
func (g *Gate) makeRoom(s *share) bool {
	most := s
	for _, other := range g.shares {
		if other.waiting.Len() > most.waiting.Len() {
			most = other
		}
	}
	if most.waiting.Len() <= s.waiting.Len()+1 {
		return false
	}
	last := most.waiting.Back()
	most.waiting.Remove(last)
	g.waits--
	last.Value.(*turn).ready <- g.busy("%s, and most that wait are of this user: this one made room for one of "+
		"another user", running(g.used))
	return true
}

// mayRun reports whether there is a slot for one more query of s.
func (g *Gate) mayRun(s *share) bool {
	free := g.running - g.used
	return s.running < g.perUser && (free > g.reserve || s.running == 0 && free > 0)
}

// grant gives a slot to s.
func (g *Gate) grant(s *share) {
	g.used++
	s.running++
	g.grants++
	s.last = g.grants
}

// leave returns a slot, and admits the queries that may have it.
func (g *Gate) leave(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.used--
	g.shares[key].running--
	g.forget(key)
	g.next()
}

// next admits waiting queries as long as there are slots for them.
func (g *Gate) next() {
	for {
		var first *share
		for _, s := range g.shares {
			if s.waiting.Len() == 0 || !g.mayRun(s) {
				continue
			}
			if first == nil || s.running < first.running || s.running == first.running && s.last < first.last {
				first = s
			}
		}
		if first == nil {
			return
		}
		e := first.waiting.Front()
		first.waiting.Remove(e)
		g.waits--
		g.grant(first)
		e.Value.(*turn).ready <- nil
	}
}

// giveUp removes t from its queue and returns err. If t was admitted meanwhile, its slot is
// returned.
func (g *Gate) giveUp(key string, t *turn, err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case came := <-t.ready:
		if came == nil {
			g.used--
			t.share.running--
			g.next()
		}
	default:
		t.share.waiting.Remove(t.at)
		g.waits--
	}
	g.forget(key)
	return err
}

// forget removes the share of a user without running or waiting queries.
func (g *Gate) forget(key string) {
	if s := g.shares[key]; s != nil && s.running == 0 && s.waiting.Len() == 0 {
		delete(g.shares, key)
	}
}

// Counts returns the numbers of running and waiting queries.
func (g *Gate) Counts() (running, waiting int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.used, g.waits
}

func (g *Gate) busy(format string, args ...any) error {
	e := errs.New(errs.ShardBusy, format, args...)
	e.Msg += "; try again later"
	return e.WithRetryAfter(time.Second)
}

// running and waiting return a number of queries as a text.
func running(n int) string { return words.Say(n, "query is running", "queries are running") }
func waiting(n int) string { return words.Say(n, "waits", "wait") }
