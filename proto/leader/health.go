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
	// minTry is the minimum time limit of a call.
	minTry = time.Second
	// tryFactor is how many times longer than usual a call may take.
	tryFactor = 8
	// avoidFirst and avoidMost are the first and the maximum time for which a node that did not
	// answer is called after all other nodes.
	avoidFirst = time.Second
	avoidMost  = 15 * time.Second
)

// Nodes records the health of the nodes that a process calls. The zero value is ready to use.
type Nodes struct{ byID sync.Map } // string → *Health

// Health returns the health of a node.
func (n *Nodes) Health(node string) *Health {
	if h, ok := n.byID.Load(node); ok {
		return h.(*Health)
	}
	h, _ := n.byID.LoadOrStore(node, &Health{})
	return h.(*Health)
}

// DownLast sorts nodes so that those that did not answer recently come last.
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

// Call makes one call to a node, with a time limit unless bound is 0, and records in the node's
// health whether it answered. late reports that it did not answer within bound.
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

// Health records whether a node answers, and how fast. Latency matters too: a node whose disk hangs
// accepts connections as if it worked.
type Health struct {
	mu       sync.Mutex    // guards the rest
	usual    time.Duration // a moving average of successful calls
	failures int           // consecutive failures
	until    time.Time     // the time until which it is called last
	asking   int           // the number of questions whether it is alive that it has not answered yet
	since    time.Time     // when the first of them was sent
}

// answered records a successful call and its duration.
func (h *Health) answered(took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.usual == 0 {
		h.usual = took
	}
	h.usual += (took - h.usual) / 8
	h.failures, h.until = 0, time.Time{}
}

// spoke records that a node answered, even with a refusal.
func (h *Health) spoke() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures, h.until = 0, time.Time{}
}

// Silent records that a node did not answer in time, or could not be reached.
func (h *Health) Silent() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.until = time.Now().Add(min(avoidFirst<<min(h.failures, 10), avoidMost))
	h.failures++
}

// ask records that the node is asked whether it is alive. The caller calls done when it no longer waits for the answer.
func (h *Health) ask(now time.Time) (done func(answered bool)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.asking++; h.since.IsZero() {
		h.since = now
	}
	return func(answered bool) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.asking--; answered || h.asking == 0 {
			h.since = time.Time{}
		}
	}
}

// unheard returns for how long other calls have waited for a sign of the node.
func (h *Health) unheard(now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.since.IsZero() {
		return 0
	}
	return now.Sub(h.since)
}

// avoided reports whether the node should be called after all others. When the time is over, one caller tests the
// node; other callers avoid it a little longer.
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

// Down reports whether the node did not answer recently. It sends nothing to the node.
func (h *Health) Down(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failures > 0 && now.Before(h.until)
}

// TryTimeout returns the time limit of one call to the node. It is not above most.
func (h *Health) TryTimeout(most time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return min(max(tryFactor*h.usual, minTry), most)
}

// Wake makes a connection retry now. Otherwise gRPC would pause, longer after every failure,
// although the node may be running again.
func Wake(conn grpc.ClientConnInterface) {
	if c, ok := conn.(interface{ ResetConnectBackoff() }); ok {
		c.ResetConnectBackoff()
	}
}
