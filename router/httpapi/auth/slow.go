package auth

import (
	"container/list"
	"context"
	"runtime"
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

// slowChecks limits the checks of slow password hashes to a quarter of the processors. Requests from suspect
// addresses are served only if no other request waits, and are refused if too many others wait.
type slowChecks struct {
	wait time.Duration

	mu       sync.Mutex // guards the fields below
	free     int
	waiting  list.List // of *check
	suspects list.List // of *check
}

// check is a waiting check. turn receives nil when the check may start, or the reason why it may not.
type check struct {
	turn chan error
	in   *list.List
	at   *list.Element
}

func newSlowChecks() *slowChecks {
	return &slowChecks{wait: slowWait, free: max(1, runtime.GOMAXPROCS(0)/4)}
}

func errTooManyChecks() error {
	return errs.New(errs.RateLimited,
		"too many sign-ins wait for their password to be checked; try again in a few seconds").WithRetryAfter(slowWait)
}

// enter waits until a check may start. The caller must call leave when the check has ended.
func (q *slowChecks) enter(ctx context.Context, suspect bool) (leave func(), err error) {
	c, err := q.queue(suspect)
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

// queue takes a free place and returns nil, or puts the check into the queue and returns it.
func (q *slowChecks) queue(suspect bool) (*check, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.free > 0 {
		q.free--
		return nil, nil
	}
	if q.waiting.Len()+q.suspects.Len() >= maxSlowWaiting {
		last := q.suspects.Back()
		if suspect || last == nil {
			return nil, errTooManyChecks()
		}
		q.suspects.Remove(last)
		last.Value.(*check).turn <- errTooManyChecks()
	}
	c := &check{turn: make(chan error, 1), in: &q.waiting}
	if suspect {
		c.in = &q.suspects
	}
	c.at = c.in.PushBack(c)
	return c, nil
}

// giveUp removes c from its queue and returns err. If c got a place in the meantime, giveUp passes the place on.
func (q *slowChecks) giveUp(c *check, err error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case turn := <-c.turn:
		if turn == nil {
			q.next()
		}
	default:
		c.in.Remove(c.at)
	}
	return err
}

func (q *slowChecks) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next()
}

// next gives a free place to the check that has waited longest. mu must be held.
func (q *slowChecks) next() {
	for _, l := range []*list.List{&q.waiting, &q.suspects} {
		if e := l.Front(); e != nil {
			l.Remove(e)
			e.Value.(*check).turn <- nil
			return
		}
	}
	q.free++
}
