package simulation

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"time"
)

// A node that stands still, as one whose process got SIGSTOP, or whose machine was moved, does nothing,
// and then continues where it was. Goroutines cannot be stopped from outside, so they are held where
// they would have an effect: what comes and goes over the network waits, and raft's main loop, which notices that
// nobody has answered for longer than the lease, waits before it draws the conclusion. What
// happens meanwhile in memory alone nobody can tell from what happens at once afterwards.

// gate holds those who come to it while it is shut. The zero value is open.
type gate struct {
	mu   sync.Mutex
	shut chan struct{} // closed when it is opened; nil: it is open
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

// stop has a node stand still. reach lets others reach it again, and goOn lets it continue as well:
// which of its goroutines is the first to run is not said.
func (n *Node) stop() {
	n.calls.close()
	n.loops.close()
	n.cluster.net.Freeze(n.ID, true)
}

func (n *Node) reach() {
	n.cluster.net.Freeze(n.ID, false)
	n.calls.open()
}

func (n *Node) goOn() {
	n.reach()
	n.loops.open()
}

// raftLoop is the main loop of a raft group, as stacks name it.
const raftLoop = "hashicorp/raft.(*Raft).run("

// holding is a handler of log lines which holds raft's main loops while a node stands still: they
// have something to say before they step down, and before they stand for election.
type holding struct {
	slog.Handler
	loops *gate
}

// Enabled implements slog.Handler.
func (h holding) Enabled(ctx context.Context, level slog.Level) bool {
	if h.loops.isShut() {
		stack := make([]byte, 16<<10)
		if stack = stack[:runtime.Stack(stack, false)]; strings.Contains(string(stack), raftLoop) {
			_ = h.loops.pass(context.Background()) // a process that ends opens it
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

// standStill has a node, mostly one that leads, stand still, mostly for longer than others wait for a
// leader. It is reached again before, or when, its groups notice how much time has passed.
func (w breaker) standStill() {
	n, what := w.anyLeader()
	if n == nil || w.rng.IntN(4) == 0 {
		n, what = w.anyNode(), "perhaps nothing"
	}
	if n.calls.isShut() || !n.Up() {
		return
	}
	still := 500*time.Millisecond + time.Duration(w.rng.Int64N(int64(15*time.Second)))
	late := time.Duration(0)
	if w.rng.IntN(3) > 0 {
		late = time.Duration(w.rng.Int64N(int64(2 * time.Second)))
	}
	w.event("%s, which leads %s, stands still for %s, and its groups for %s more", n.ID, what, still, late)
	n.stop()
	go func() {
		time.Sleep(still)
		n.reach()
		time.Sleep(late)
		n.goOn()
	}()
	time.Sleep(time.Duration(w.rng.Int64N(int64(still + late))))
}
