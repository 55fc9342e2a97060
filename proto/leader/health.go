package leader

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
)

const (
	// minTry is the least time that a node gets for one bounded call.
	minTry = time.Second
	// tryFactor is how many times longer than usual a call may take.
	tryFactor = 8
	// avoidFirst and avoidMost bound the time for which a node that did not answer is
	// called after all others.
	avoidFirst = time.Second
	avoidMost  = 15 * time.Second
)

// Nodes is what a process has seen of the nodes that it calls. The zero value is ready.
type Nodes struct{ byID sync.Map } // string → *Health

// Health returns what is known of a node.
func (n *Nodes) Health(node string) *Health {
	if h, ok := n.byID.Load(node); ok {
		return h.(*Health)
	}
	h, _ := n.byID.LoadOrStore(node, &Health{})
	return h.(*Health)
}

// DownLast sorts nodes so that the ones that did not answer lately come last.
func (n *Nodes) DownLast(nodes []string) {
	now := time.Now()
	rank := func(id string) int {
		if n.Health(id).Down(now) {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(nodes, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
}

// Call makes one call to a node, bounded in time unless bound is 0, and notes in the node's
// health whether it answered. late reports that it did not within bound.
func (n *Nodes) Call(
	ctx context.Context, node string, conn grpc.ClientConnInterface, bound time.Duration, call func(context.Context) error,
) (late bool, err error) {
	try := ctx
	if bound > 0 {
		var cancel context.CancelFunc
		try, cancel = context.WithTimeout(ctx, bound)
		defer cancel()
	}
	h, start := n.Health(node), time.Now()
	err = errs.FromGRPC(call(try))
	late = err != nil && bound > 0 && ctx.Err() == nil && (try.Err() != nil || errs.CodeOf(err) == errs.DeadlineExceeded)
	switch {
	case err == nil:
		h.answered(time.Since(start))
	case late || Broken(err):
		h.Silent()
		Wake(conn)
	case ctx.Err() == nil:
		h.spoke()
	}
	return late, err
}

// Health is what a process has seen of a node: whether it answers, and how fast. Latency
// matters too: a node whose disk hangs takes connections as if it were well.
type Health struct {
	mu       sync.Mutex    // guards the rest
	usual    time.Duration // a moving average of successful calls
	failures int           // in a row
	until    time.Time     // it is called last until then
}

// answered notes a call that succeeded, and how long it took.
func (h *Health) answered(took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.usual == 0 {
		h.usual = took
	}
	h.usual += (took - h.usual) / 8
	h.failures, h.until = 0, time.Time{}
}

// spoke notes that a node answered, even if with a refusal.
func (h *Health) spoke() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures, h.until = 0, time.Time{}
}

// Silent notes that a node did not answer in time, or could not be reached.
func (h *Health) Silent() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.until = time.Now().Add(min(avoidFirst<<min(h.failures, 10), avoidMost))
	h.failures++
}

// avoided reports whether the node is to be called after all others. When its time is over,
// one caller finds out how it is now; for the others it is avoided a little longer.
func (h *Health) avoided(now time.Time) bool {
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

// Down reports whether the node did not answer lately. It sends nothing to find out.
func (h *Health) Down(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failures > 0 && now.Before(h.until)
}

// TryTimeout returns how long the node may take for one call, at most most.
func (h *Health) TryTimeout(most time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return min(max(tryFactor*h.usual, minTry), most)
}

// Wake has a connection tried again now, rather than after the pause of gRPC, which grows
// with every failure: a node that was away a moment ago may be back.
func Wake(conn grpc.ClientConnInterface) {
	if c, ok := conn.(interface{ ResetConnectBackoff() }); ok {
		c.ResetConnectBackoff()
	}
}
