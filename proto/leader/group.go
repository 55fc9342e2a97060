package leader

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// Group is what a process remembers of one raft group: which node leads it.
type Group struct {
	nodes *Nodes

	mu     sync.Mutex // guards the rest; not held across a call
	leader string     // the node that last answered as leader, or was named; "" if not known
	// lost is since when no node answered as leader; zero: one did last.
	lost time.Time
	// found is closed when one does again.
	found chan struct{}
	// scouted: a search that waits looks for the leader soon, and others need not.
	scouted bool
}

// NewGroup returns a group about which nothing is known yet, whose nodes are among those given.
func NewGroup(nodes *Nodes) *Group { return &Group{nodes: nodes, found: make(chan struct{})} }

// Order lists the group's members as they are to be called: the presumed leader first, also
// if it is not among them, and last the members that did not answer lately.
func (g *Group) Order(members []string) []string {
	leader := g.Leader()
	if len(members) == 0 || len(members) == 1 && (leader == "" || leader == members[0]) {
		return members
	}
	now := time.Now()
	out := make([]string, 0, len(members)+1)
	var last []string
	add := func(id string) {
		if g.nodes.Health(id).avoided(now) {
			last = append(last, id)
		} else {
			out = append(out, id)
		}
	}
	if leader != "" {
		add(leader)
	}
	for _, id := range members {
		if id != leader {
			add(id)
		}
	}
	return append(out, last...)
}

// Leader returns the node that is believed to lead, or "".
func (g *Group) Leader() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.leader
}

// Found notes that a node answered as the leader.
func (g *Group) Found(node string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.lost.IsZero() {
		close(g.found)
		g.found = make(chan struct{})
	}
	g.leader, g.lost = node, time.Time{}
}

// replace notes that a node does not lead, and which one it named; "": none.
func (g *Group) replace(node, named string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if named != "" {
		g.leader = named
	} else if g.leader == node {
		g.leader = ""
	}
}

// leaderless notes that no node answered as the leader in a whole round.
func (g *Group) leaderless() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lost.IsZero() {
		g.lost = time.Now()
	}
}

// Leaderless returns how long no node has answered as the leader; 0: one did last.
func (g *Group) Leaderless() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lost.IsZero() {
		return 0
	}
	return time.Since(g.lost)
}

// A group counts as ailing once it has lacked a leader for ailingAfter, and for ailingFor
// then, before one caller is sent to find out.
const (
	ailingAfter = time.Second
	ailingFor   = 5 * time.Second
)

// Ailing reports whether the group has lacked a leader for a while, so that work is better
// taken elsewhere. Every few seconds it is false for one caller, which finds out.
func (g *Group) Ailing() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lost.IsZero() {
		return false
	}
	since := time.Since(g.lost)
	if since > ailingAfter+ailingFor {
		g.lost = time.Now().Add(-ailingAfter)
		return false
	}
	return since > ailingAfter
}

// scoutEvery is how long, at most, no search looks for a leader that searches wait for.
const scoutEvery = 200 * time.Millisecond

// await waits for about pause, or until another search has found the leader. One of the searches
// that wait waits for scoutEvery at most. False: ctx ended, or would end, before.
func (g *Group) await(ctx context.Context, pause time.Duration) bool {
	g.mu.Lock()
	found, scout := g.found, !g.scouted && pause > scoutEvery
	if scout {
		g.scouted, pause = true, scoutEvery
	}
	g.mu.Unlock()
	if scout {
		defer func() {
			g.mu.Lock()
			g.scouted = false
			g.mu.Unlock()
		}()
	}
	return sleep(ctx, jitter(pause), found)
}

// jitter spreads d by a quarter either way.
func jitter(d time.Duration) time.Duration { return d*3/4 + rand.N(d/2+1) }

// sleep pauses for d, or until early is closed. False: ctx ended, or would end, before.
func sleep(ctx context.Context, d time.Duration, early <-chan struct{}) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-early:
		return true
	case <-ctx.Done():
		return false
	}
}
