package shardclient

import (
	"sync"
	"time"

	"google.golang.org/grpc"
)

const (
	// minTry is the least time that a node gets for one try of a write, where another
	// one may be asked instead.
	minTry = time.Second
	// tryFactor is how many times longer than usual a try may take.
	tryFactor = 8
	// avoidFirst and avoidMost bound the time for which a node that did not answer is
	// asked after all others.
	avoidFirst = time.Second
	avoidMost  = 15 * time.Second
)

// health is what a Client has seen of a node: whether it answers, and how fast. It is a
// matter of latency too: a node whose disk hangs takes connections as if it were well.
type health struct {
	mu       sync.Mutex
	usual    time.Duration // a moving average of successful writes
	failures int           // in a row
	until    time.Time     // it is asked last until then
}

// answered notes a write that took so long.
func (h *health) answered(took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.usual == 0 {
		h.usual = took
	}
	h.usual += (took - h.usual) / 8
	h.failures, h.until = 0, time.Time{}
}

// spoke notes that a node answered, be it with a refusal.
func (h *health) spoke() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures, h.until = 0, time.Time{}
}

// silent notes that a node did not answer in time, or could not be reached.
func (h *health) silent(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.until = now.Add(min(avoidFirst<<min(h.failures, 10), avoidMost))
	h.failures++
}

// avoided tells whether the node is to be asked after all others. When its time is over
// one caller finds out how it is now; for the others it is avoided a little longer.
func (h *health) avoided(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failures == 0 {
		return false
	}
	if now.Before(h.until) {
		return true
	}
	h.until = now.Add(avoidFirst)
	return false
}

// down is avoided without finding out how the node is now.
func (h *health) down(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failures > 0 && now.Before(h.until)
}

// try is how long the node may take for one try.
func (h *health) try(most time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return min(max(tryFactor*h.usual, minTry), most)
}

// health returns what is known of a node.
func (c *Client) health(node string) *health {
	if h, ok := c.nodes.Load(node); ok {
		return h.(*health)
	}
	h, _ := c.nodes.LoadOrStore(node, &health{})
	return h.(*health)
}

// wake has a connection be tried again now, rather than after a pause that grows with
// every failure: a node that was away a moment ago may be back.
func wake(conn grpc.ClientConnInterface) {
	if c, ok := conn.(interface{ ResetConnectBackoff() }); ok {
		c.ResetConnectBackoff()
	}
}
