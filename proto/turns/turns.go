// Package turns limits the queries that run and those that wait, and divides the slots among databases and, within a
// database, among users.
//
// One user holds at most Config.PerUser slots, and the last quarter is reserved for users without
// running queries, so that another user's first query finds a slot. While several databases have
// queries, the last eighth is reserved for databases without running queries. The next free slot goes to the
// database with the fewest running queries, in it to the user with the fewest, and among these to the one who has
// waited longest.
//
// A query that waits for something slow, such as object storage, can lend its slot meanwhile; see Slot.
//
// Places limits other work, which only computes, and divides it among databases too.
package turns

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
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
	// Limit returns the maximum number of queries of a database that run at a time; ok is false if there is none. It
	// may change. By default there is none. It must not call the gate.
	Limit func(database string) (n int, ok bool)
	// Over returns the error for a query that waited in vain because of Limit. Required with Limit.
	Over func(database string) error
}

// Gate admits queries. It is safe for concurrent use.
type Gate struct {
	running, perUser, reserve int
	waiting, waitingPerUser   int
	maxWait                   time.Duration
	limit                     func(database string) (n int, ok bool)
	over                      func(database string) error

	mu     sync.Mutex // guards the fields below
	used   int
	waits  int
	away   int                 // queries that have lent their slot
	shares map[shareKey]*share // users with running or waiting queries, by database
	users  map[string]*user
	groups map[string]*group // databases that had queries lately
	grants uint64
}

// group counts the queries of a database.
type group struct {
	running, waiting, away int
	last                   uint64    // number of its last grant
	seen                   time.Time // when it last had queries
}

// turn is a waiting query. ready receives nil when it may run, or an error.
type turn struct {
	share *share
	at    *list.Element
	ready chan error
	// back means that the query has run before, and lent its slot.
	back bool
}

// New returns a Gate.
func New(cfg Config) *Gate {
	g := &Gate{running: cfg.Running, waiting: cfg.Waiting, maxWait: cfg.MaxWait, shares: map[shareKey]*share{}}
	g.users, g.groups, g.limit, g.over = map[string]*user{}, map[string]*group{}, cfg.Limit, cfg.Over
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
func (g *Gate) Enter(ctx context.Context, user string) (leave func(), err error) {
	return g.EnterDatabase(ctx, "", user)
}

// EnterDatabase is Enter for a query of a database. The error may also be one of Config.Over.
func (g *Gate) EnterDatabase(ctx context.Context, database, user string) (leave func(), err error) {
	s, err := g.Slot(ctx, database, user)
	if err != nil {
		return nil, err
	}
	return s.Leave, nil
}

// await waits until a query may run, or for at most a time if it is not 0.
func (g *Gate) await(ctx context.Context, t *turn, most time.Duration) error {
	var late <-chan time.Time
	if most > 0 {
		timer := time.NewTimer(most)
		defer timer.Stop()
		late = timer.C
	}
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for {
		select {
		case err := <-t.ready:
			return err
		case <-look.C:
			g.again() // the limit of a database may have changed
		case <-late:
			return g.giveUp(t, g.waitedInVain(t.share))
		case <-ctx.Done():
			return g.giveUp(t, g.endedWaiting(ctx.Err(), t.share))
		}
	}
}

// lookAgain is the interval at which waiting queries look whether the limit of their database has changed.
const lookAgain = 200 * time.Millisecond

// again admits queries whose database has got a higher limit.
func (g *Gate) again() {
	if g.limit == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next()
}

// waitedInVain returns the error for a query that has waited for the longest time.
func (g *Gate) waitedInVain(s *share) error {
	g.mu.Lock()
	limited := g.full(s)
	g.mu.Unlock()
	if limited {
		return g.over(s.key.database)
	}
	return g.busy("%s, and none made room for this one within %s", running(g.running), g.maxWait)
}

// find returns the share of a user in a database.
func (g *Gate) find(key shareKey) *share {
	s := g.shares[key]
	if s != nil {
		return s
	}
	u, d := g.users[key.user], g.groups[key.database]
	if u == nil {
		u = &user{}
		g.users[key.user] = u
	}
	if d == nil {
		d = &group{}
		g.groups[key.database] = d
	}
	s = &share{key: key, user: u, group: d}
	g.shares[key] = s
	return s
}

// queue takes a slot and returns nil, or adds the query to the waiting ones and returns it.
func (g *Gate) queue(key shareKey) (*turn, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.find(key)
	s.group.seen = time.Now()
	defer g.forget(s)
	if g.mayRun(s) {
		g.grant(s)
		return nil, nil
	}
	n := s.user.waiting
	if n >= g.waitingPerUser && g.full(s) {
		return nil, g.over(s.key.database)
	}
	if n >= g.waitingPerUser {
		return nil, g.busy("of this user, %s and %s already, which is the most for one user", running(s.user.running),
			waiting(n))
	}
	if g.waits >= g.waiting && !g.makeRoom(s) {
		if g.full(s) {
			return nil, g.over(s.key.database)
		}
		return nil, g.busy("%s, and %s already", running(g.used), waiting(g.waits))
	}
	t := &turn{share: s, ready: make(chan error, 1)}
	t.at = s.waiting.PushBack(t)
	g.wait(s, 1)
	return t, nil
}

// wait adds n to the numbers of waiting queries.
func (g *Gate) wait(s *share, n int) {
	g.waits += n
	s.user.waiting += n
	s.group.waiting += n
}

// makeRoom refuses the youngest query of the user with the most waiting queries, in the database with the most waiting
// queries. It does so only if these are more than s would have.
func (g *Gate) makeRoom(s *share) bool {
	most := s
	for _, other := range g.shares {
		longer := other.waiting.Len() > most.waiting.Len()
		if other.group != most.group {
			longer = other.waiting.Len() > 0 && (other.group.waiting > most.group.waiting ||
				longer && other.group.waiting == most.group.waiting)
		}
		if longer {
			most = other
		}
	}
	if most.group == s.group || most.group.waiting <= s.group.waiting+1 {
		if most.waiting.Len() <= s.waiting.Len()+1 {
			return false
		}
	}
	last := most.waiting.Back()
	if last.Value.(*turn).back {
		return false
	}
	most.waiting.Remove(last)
	g.wait(most, -1)
	g.forget(most)
	last.Value.(*turn).ready <- g.busy("%s, and most that wait are of this user or database: this one made room for one "+
		"of another", running(g.used))
	return true
}

// full reports whether the database of s runs as many queries as its limit allows.
func (g *Gate) full(s *share) bool {
	if g.limit == nil {
		return false
	}
	n, ok := g.limit(s.key.database)
	return ok && s.group.running >= n
}

// mayRun reports whether there is a slot for one more query of s.
func (g *Gate) mayRun(s *share) bool {
	free := g.running - g.used
	switch {
	case free <= 0 || s.user.running >= g.perUser || g.full(s):
		return false
	case s.group.running > 0 && free <= g.running/8 && g.othersActive(s):
		return false
	}
	return free > g.reserve || s.user.running == 0
}

// othersActive reports whether another database without running queries had queries lately.
func (g *Gate) othersActive(s *share) bool {
	for _, other := range g.groups {
		if other != s.group && other.running == 0 && time.Since(other.seen) < activeFor {
			return true
		}
	}
	return false
}

// run adds n to the numbers of running queries.
func (g *Gate) run(s *share, n int) {
	g.used += n
	s.running += n
	s.user.running += n
	s.group.running += n
	s.group.seen = time.Now()
}

// grant gives a slot to s.
func (g *Gate) grant(s *share) {
	g.run(s, 1)
	g.grants++
	s.last, s.group.last = g.grants, g.grants
}

// leave returns a slot, and admits the queries that may have it.
func (g *Gate) leave(key shareKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.shares[key]
	g.run(s, -1)
	g.forget(s)
	g.next()
}

// next admits waiting queries as long as there are slots for them.
func (g *Gate) next() {
	for g.used < g.running {
		var first *share
		for _, s := range g.shares {
			if s.waiting.Len() > 0 && g.mayRun(s) && (first == nil || s.before(first)) {
				first = s
			}
		}
		if first == nil {
			return
		}
		e := first.waiting.Front()
		first.waiting.Remove(e)
		g.wait(first, -1)
		g.grant(first)
		e.Value.(*turn).ready <- nil
	}
}

// endedWaiting returns the error for a query whose context ended while it waited. If its time was up because of the
// limit of its database, the error contains that of the limit, too.
func (g *Gate) endedWaiting(why error, s *share) error {
	g.mu.Lock()
	limited := g.full(s)
	g.mu.Unlock()
	if limited && errors.Is(why, context.DeadlineExceeded) {
		return fmt.Errorf("%w while the query waited: %w", why, g.over(s.key.database))
	}
	return why
}

// giveUp removes t from its queue and returns err. If t was admitted meanwhile, its slot is
// returned.
func (g *Gate) giveUp(t *turn, err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case came := <-t.ready:
		if came == nil {
			g.run(t.share, -1)
			g.next()
		}
	default:
		t.share.waiting.Remove(t.at)
		g.wait(t.share, -1)
	}
	g.forget(t.share)
	return err
}

// forget removes a share, user and database without running or waiting queries. A database is removed later.
func (g *Gate) forget(s *share) {
	if s.running == 0 && s.away == 0 && s.waiting.Len() == 0 && g.shares[s.key] == s {
		delete(g.shares, s.key)
	}
	if s.user.running == 0 && s.user.away == 0 && s.user.waiting == 0 && g.users[s.key.user] == s.user && !g.uses(s.user) {
		delete(g.users, s.key.user)
	}
	for name, d := range g.groups {
		if d.running == 0 && d.away == 0 && d.waiting == 0 && time.Since(d.seen) >= activeFor {
			delete(g.groups, name)
		}
	}
}

// uses reports whether a share of the user is left.
func (g *Gate) uses(u *user) bool {
	for _, s := range g.shares {
		if s.user == u {
			return true
		}
	}
	return false
}
