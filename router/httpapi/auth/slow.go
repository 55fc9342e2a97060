package auth

import (
	"context"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"time"

	"cordwood/proto/errs"
)

// The limits of slow checks.
const (
	// maxSlowWaiting limits the number of waiting checks.
	maxSlowWaiting = 64
	// slowWait is the longest wait of a check.
	slowWait = 2 * time.Second
)

// slowChecks limits the checks of slow password hashes to a quarter of the processors. The checks of networks with the
// fewest failed sign-ins and waiting checks come first, so that clients that guess, even from many addresses, do not
// keep out others.
type slowChecks struct {
	wait time.Duration

	mu      sync.Mutex // guards the fields below
	free    int
	waiting []*check // by rank, then by arrival
}

// check is a waiting check. turn receives nil when the check may start, or the reason why it may not.
type check struct {
	turn    chan error
	network netip.Addr
	// rank is the number of failed sign-ins of the network in the last minute, and of its checks that waited already.
	rank int
}

func newSlowChecks() *slowChecks {
	return &slowChecks{wait: slowWait, free: max(1, runtime.GOMAXPROCS(0)/4)}
}

func errTooManyChecks() error {
	return errs.New(errs.RateLimited,
		"too many sign-ins wait for their password to be checked; try again in a few seconds").WithRetryAfter(slowWait)
}

// enter waits until a check of a client in the network may start. failures is the number of failed sign-ins of the
// network. The caller must call leave when the check has ended.
func (q *slowChecks) enter(ctx context.Context, network netip.Addr, failures int) (leave func(), err error) {
	c, err := q.queue(network, failures)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return q.leave, nil
	}
	timer := time.NewTimer(q.wait)
	defer timer.Stop()
	select {
	case err = <-c.turn:
	case <-ctx.Done():
		err = q.giveUp(c, ctx.Err())
	case <-timer.C:
		err = q.giveUp(c, errTooManyChecks())
	}
	if err != nil {
		return nil, err
	}
	return q.leave, nil
}

// queue takes a free place and returns nil, or puts the check into the queue and returns it. If the queue is full, the
// check with the highest rank is refused.
func (q *slowChecks) queue(network netip.Addr, failures int) (*check, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.free > 0 {
		q.free--
		return nil, nil
	}
	c := &check{turn: make(chan error, 1), network: network, rank: failures}
	at := 0
	for _, o := range q.waiting {
		if o.network == network {
			c.rank++
		}
	}
	for at < len(q.waiting) && q.waiting[at].rank <= c.rank {
		at++
	}
	if len(q.waiting) >= maxSlowWaiting {
		last := len(q.waiting) - 1
		if at > last {
			return nil, errTooManyChecks()
		}
		q.waiting[last].turn <- errTooManyChecks()
		q.waiting = q.waiting[:last]
	}
	q.waiting = slices.Insert(q.waiting, at, c)
	return c, nil
}

// giveUp removes c from the queue and returns err. If c got a place in the meantime, giveUp passes the place on.
func (q *slowChecks) giveUp(c *check, err error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case turn := <-c.turn:
		if turn == nil {
			q.next()
		}
	default:
		q.waiting = slices.DeleteFunc(q.waiting, func(o *check) bool { return o == c })
	}
	return err
}

func (q *slowChecks) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next()
}

// next gives a free place to the first check. mu must be held.
func (q *slowChecks) next() {
	if len(q.waiting) == 0 {
		q.free++
		return
	}
	q.waiting[0].turn <- nil
	q.waiting = slices.Delete(q.waiting, 0, 1)
}
