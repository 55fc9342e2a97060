package auth

import (
	"container/list"
	"hash/maphash"
	"net/netip"
	"sync"
	"time"

	"cordwood/proto/lru"
	"cordwood/router/access"
)

// The limits on guessing passwords.
const (
	// guessWindow is the period in which failures are counted.
	guessWindow = time.Minute
	// maxFailures is the number of failures of a user from one address that lock this pair until guessWindow ends.
	maxFailures = 10
	// maxPairs limits the numbers of pairs and networks that are counted, and of pairs that signed in. The oldest are
	// removed first.
	maxPairs = 100_000
)

// guesses counts failed sign-ins for each pair of user and address, and for each network. It counts pairs so that a
// client cannot lock out the same user at other addresses, or other users at the same address.
type guesses struct {
	now   func() time.Time
	seed  maphash.Seed
	pairs tallies[pair]
	nets  tallies[netip.Addr] // by the result of wide

	mu   sync.Mutex                  // guards good
	good *lru.Cache[pair, time.Time] // when pairs signed in last, to the second
}

// pair is a user and a client's address. The user is stored as a hash of the name, because names may be long.
type pair struct {
	user uint64
	host netip.Addr
}

func newGuesses(now func() time.Time) *guesses {
	return &guesses{now: now, seed: maphash.MakeSeed(), good: lru.New[pair, time.Time](maxPairs)}
}

func (g *guesses) pair(user string, from netip.Addr) pair {
	return pair{maphash.String(g.seed, user), access.Network(from)}
}

// locked returns how long sign-ins of the pair are refused, or 0 if they are not refused.
func (g *guesses) locked(user string, from netip.Addr) time.Duration {
	now := g.now()
	n, since := g.pairs.count(g.pair(user, from), now)
	if n < maxFailures {
		return 0
	}
	return max(since.Add(guessWindow).Sub(now), time.Nanosecond)
}

// succeeded records that the user signed in from the address.
func (g *guesses) succeeded(user string, from netip.Addr) {
	k, now := g.pair(user, from), g.now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if last, ok := g.good.Get(k); !ok || now.Sub(last) >= time.Second {
		g.good.Put(k, now, 1)
	}
}

// trusted reports whether the user signed in from the address within the time rememberIdle.
func (g *guesses) trusted(user string, from netip.Addr) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	last, ok := g.good.Peek(g.pair(user, from))
	return ok && g.now().Sub(last) <= rememberIdle
}

// failures returns the number of failed sign-ins of the address's network, which wide returns.
func (g *guesses) failures(from netip.Addr) int {
	n, _ := g.nets.count(wide(from), g.now())
	return n
}

// wide returns the network of an address that one client may have as a whole: the first 24 bits of an IPv4 address, and
// the first 48 of an IPv6 address.
func wide(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	bits := 48
	if a.Is4() {
		bits = 24
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return a // never fails, because addresses have more bits
	}
	return p.Addr()
}

// failed counts a failure, and reports whether the pair is now locked.
func (g *guesses) failed(user string, from netip.Addr) (locks bool) {
	now := g.now()
	g.nets.add(wide(from), now)
	return g.pairs.add(g.pair(user, from), now) == maxFailures
}

// tallies counts events by key. Each key has a time window, which starts with its first event.
type tallies[K comparable] struct {
	mu    sync.Mutex // guards the fields below
	byKey map[K]*list.Element
	order list.List // of *tally, sorted by the start of their windows
}

type tally[K comparable] struct {
	key   K
	since time.Time
	n     int
}

func (t *tallies[K]) count(k K, now time.Time) (n int, since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.byKey[k]
	if !ok {
		return 0, now
	}
	c := e.Value.(*tally[K])
	if now.Sub(c.since) >= guessWindow {
		return 0, now
	}
	return c.n, c.since
}

// add counts an event, and returns the number of events in its window.
func (t *tallies[K]) add(k K, now time.Time) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byKey == nil {
		t.byKey = map[K]*list.Element{}
	}
	for e := t.order.Front(); e != nil; e = t.order.Front() {
		c := e.Value.(*tally[K])
		if now.Sub(c.since) < guessWindow && len(t.byKey) < maxPairs {
			break
		}
		delete(t.byKey, c.key)
		t.order.Remove(e)
	}
	e, ok := t.byKey[k]
	if !ok {
		e = t.order.PushBack(&tally[K]{key: k, since: now})
		t.byKey[k] = e
	}
	c := e.Value.(*tally[K])
	c.n++
	return c.n
}
