package simulation

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"time"
)

// A suspended node does nothing for a while and then continues, as if its process got SIGSTOP or its machine was
// moved. Goroutines cannot be stopped from outside, so they are held where they would have an effect: data on the
// network waits, and raft's main loop, which notices that no member has answered for longer than the lease, waits
// before it reacts. Changes in memory alone cannot be distinguished from changes immediately afterwards.

// gate holds its callers while it is shut. The zero value is open.
type gate struct {
	mu   sync.Mutex
	shut chan struct{} // closed when the gate is opened; nil if it is open
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut == nil {
		g.shut = make(chan struct{})
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}

// pass waits until the gate is open, or ctx ends.
func (g *gate) pass(ctx context.Context) error {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut == nil {
		return nil
	}
	select {
	case <-shut:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gate) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut != nil
}

// stop suspends a node. reach lets others reach it again, and resume also lets it continue. Its goroutines continue in
// a random order.
func (n *Node) stop() {
	n.calls.close()
	n.loops.close()
	n.cluster.net.Freeze(n.ID, true)
}

func (n *Node) reach() {
	n.cluster.net.Freeze(n.ID, false)
	n.calls.open()
}

func (n *Node) resume() {
	n.reach()
	n.loops.open()
}

// raftLoop is the main loop of a raft group in stack traces.
const raftLoop = "hashicorp/raft.(*Raft).run("

// holding is a log handler that holds raft's main loops while a node is suspended. It works because raft logs a line
// before it steps down and before it stands for election.
type holding struct {
	slog.Handler
	loops *gate
}

// Enabled implements slog.Handler.
func (h holding) Enabled(ctx context.Context, level slog.Level) bool {
	if h.loops.isShut() {
		stack := make([]byte, 16<<10)
		if stack = stack[:runtime.Stack(stack, false)]; strings.Contains(string(stack), raftLoop) {
			_ = h.loops.pass(context.Background()) // opened at the end of the process
		}
	}
	return h.Handler.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (h holding) WithAttrs(attrs []slog.Attr) slog.Handler {
	return holding{h.Handler.WithAttrs(attrs), h.loops}
}

// WithGroup implements slog.Handler.
func (h holding) WithGroup(name string) slog.Handler {
	return holding{h.Handler.WithGroup(name), h.loops}
}

// suspendLeader suspends a node, usually a leader, and usually for longer than others wait for a leader. The node
// can be reached again before, or when, its groups notice how much time has passed.
func (w breaker) suspendLeader() {
	n, what := w.anyLeader()
	if n == nil || w.rng.IntN(4) == 0 {
		n, what = w.anyNode(), "perhaps no group"
	}
	if n.calls.isShut() || !n.Up() {
		return
	}
	still := 500*time.Millisecond + time.Duration(w.rng.Int64N(int64(15*time.Second)))
	late := time.Duration(0)
	if w.rng.IntN(3) > 0 {
		late = time.Duration(w.rng.Int64N(int64(2 * time.Second)))
	}
	w.event("%s, which leads %s, is suspended for %s, and its groups for another %s", n.ID, what, still, late)
	n.stop()
	go func() {
		time.Sleep(still)
		n.reach()
		time.Sleep(late)
		n.resume()
	}()
	time.Sleep(time.Duration(w.rng.Int64N(int64(still + late))))
}
