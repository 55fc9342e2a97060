package metaclient

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"

	"cordwood/proto/metapb"
)

// lease is the leader's promise not to answer a change before the view of this client has it. It ends after a short
// time. For this client it starts when the request is sent, and for the leader later, so the leader's end comes last.
type lease struct {
	holder string        // a random name
	taken  chan struct{} // receives a value when a lease has begun

	mu       sync.Mutex // guards the rest
	since    time.Time
	length   time.Duration
	index    uint64 // the index that the view must have
	reported uint64 // the last index of the view that was reported to the leader
}

func newLease() *lease {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails
	return &lease{holder: hex.EncodeToString(id[:]), taken: make(chan struct{}, 1)}
}

// covers reports whether a view at the index has everything that was acknowledged by now.
func (l *lease) covers(index uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lasts() && index >= l.index
}

// lasts reports whether the lease has not ended. The process's clock may stop while the machine is suspended, and the
// wall clock may be set, so both must agree. l.mu must be held.
func (l *lease) lasts() bool {
	now := time.Now()
	wall := now.Round(0).Sub(l.since.Round(0))
	return l.length > 0 && now.Sub(l.since) < l.length && wall >= 0 && wall < l.length
}

// take begins the lease of an answer, unless a request that was sent later has been answered already.
func (l *lease) take(sent time.Time, reached uint64, resp *metapb.ReadIndexResponse) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if sent.Before(l.since) {
		return
	}
	l.since, l.length, l.index = sent, time.Duration(resp.GetLeaseNanos()), resp.GetIndex()
	l.reported = max(l.reported, reached)
	select {
	case l.taken <- struct{}{}:
	default:
	}
}

// end gives up the lease.
func (l *lease) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.length, l.reported = 0, 0
}

// owes reports whether the leader waits for the report that the view has reached the index.
func (l *lease) owes(index uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lasts() && l.reported < index
}

// renew is readIndex that also requests a lease.
func (c *Client) renew(ctx context.Context) (uint64, error) {
	sent, reached := time.Now(), c.view.index()
	resp, err := ask(ctx, c.members, "read the metadata",
		func(ctx context.Context, m metapb.MetaClient) (*metapb.ReadIndexResponse, error) {
			return m.ReadIndex(ctx, &metapb.ReadIndexRequest{Holder: c.lease.holder, Reached: reached})
		})
	if err != nil {
		return 0, err
	}
	c.lease.take(sent, reached, resp)
	return resp.GetIndex(), nil
}

// reportReached reports to the leader, while there is a lease, the index of the view whenever it
// changes. Without the report, a change waits for the end of the lease.
func (c *Client) reportReached(ctx context.Context) {
	for ctx.Err() == nil {
		changed := c.view.changedCh()
		if index := c.view.index(); c.lease.owes(index) {
			_, err := ask(ctx, c.members, "report the index of the metadata",
				func(ctx context.Context, m metapb.MetaClient) (*metapb.ReachedResponse, error) {
					return m.Reached(ctx, &metapb.ReachedRequest{Holder: c.lease.holder, Reached: index})
				})
			if err == nil {
				c.lease.mu.Lock()
				c.lease.reported = max(c.lease.reported, index)
				c.lease.mu.Unlock()
				continue // the view may have changed meanwhile
			}
		}
		select {
		case <-changed:
		case <-c.lease.taken: // the view may have changed since the request was sent
		case <-ctx.Done():
		}
	}
}
