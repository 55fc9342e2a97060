package turns

import (
	"context"
	"sync"

	"cordwood/proto/words"
)

// Slot is the slot of a running query. Its methods may be called concurrently, but only one Return at a time.
type Slot struct {
	g   *Gate
	key shareKey

	mu         sync.Mutex // guards the fields below; locked before Gate.mu
	away, left bool
}

// Slot waits for a slot for a query of a database, as EnterDatabase does.
func (g *Gate) Slot(ctx context.Context, database, user string) (*Slot, error) {
	key := shareKey{database, user}
	t, err := g.queue(key)
	if err == nil && t != nil {
		err = g.await(ctx, t, g.maxWait)
	}
	if err != nil {
		return nil, err
	}
	return &Slot{g: g, key: key}, nil
}

// Leave returns the slot for good. It may be called twice.
func (s *Slot) Leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.left:
	case s.away:
		s.g.mu.Lock()
		share := s.g.shares[s.key]
		s.g.goAway(share, -1)
		s.g.forget(share)
		s.g.mu.Unlock()
	default:
		s.g.leave(s.key)
	}
	s.left = true
}

// Lend gives the slot to other queries until Return. If too many queries have lent theirs, it returns an error with the
// code errs.ShardBusy: then the query should end, so that neither its slot nor its memory is held by what it waits for.
func (s *Slot) Lend() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left || s.away {
		return nil
	}
	g := s.g
	g.mu.Lock()
	defer g.mu.Unlock()
	share := g.shares[s.key]
	if g.away >= awayFactor*g.running || share.user.away >= awayFactor*g.perUser {
		return g.busy("%s for object storage already", words.Say(g.away, "query waits", "queries wait"))
	}
	s.away = true
	g.goAway(share, 1)
	g.run(share, -1)
	g.next()
	return nil
}

// awayFactor is how many times as many queries as may run can have lent their slots, in all and of a user.
const awayFactor = 4

// Return waits until the query has its slot again. Queries that have not begun wait longer. After an error, which
// is that of ctx, the query has no slot any more.
func (s *Slot) Return(ctx context.Context) error {
	s.mu.Lock()
	lent := s.away && !s.left
	s.mu.Unlock()
	if !lent {
		return nil
	}
	t := s.g.queueBack(s.key)
	var err error
	if t != nil {
		err = s.g.await(ctx, t, 0)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = false
	s.g.mu.Lock()
	share := s.g.find(s.key)
	s.g.goAway(share, -1)
	s.g.forget(share)
	s.g.mu.Unlock()
	switch {
	case err != nil:
		s.left = true
	case s.left: // Leave was called meanwhile
		s.g.leave(s.key)
	}
	return err
}

// goAway adds n to the numbers of queries that have lent their slot. mu is held.
func (g *Gate) goAway(s *share, n int) {
	g.away += n
	s.away += n
	s.user.away += n
	s.group.away += n
}

// queueBack takes a slot and returns nil, or puts a query that has lent its slot before all other ones of its user.
func (g *Gate) queueBack(key shareKey) *turn {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.shares[key]
	if g.mayRun(s) {
		g.grant(s)
		return nil
	}
	t := &turn{share: s, ready: make(chan error, 1), back: true}
	t.at = s.waiting.PushFront(t)
	g.wait(s, 1)
	return t
}

// WaitsHeader is the header of an answer whose query waits for object storage.
const WaitsHeader = "cordwood-waits"

// waitsKey is the key of a function in a context.
type waitsKey struct{}

// WithWaits returns a context in which Waits calls a function, until its query has rows.
func WithWaits(ctx context.Context, waits func() error) context.Context {
	return context.WithValue(ctx, waitsKey{}, waits)
}

// Waits says that the query of ctx waits for object storage. If it returns an error, the query should end.
func Waits(ctx context.Context) error {
	if waits, ok := ctx.Value(waitsKey{}).(func() error); ok {
		return waits()
	}
	return nil
}
