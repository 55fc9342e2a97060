package leader

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// Group remembers which node leads a raft group, for one process.
type Group struct {
	nodes *Nodes

	mu     sync.Mutex // guards the fields below; not held during a call
	leader string     // the node that last answered as leader, or was reported as leader; "" if not known
	// lost is the time since which no node has answered as leader; zero if the last call found one.
	lost time.Time
	// tested is when a caller last tested the ailing group.
	tested time.Time
	// found is closed when a node answers as leader again.
	found chan struct{}
	// scouted is set if one of the waiting searches will look for the leader soon, so that the others can wait
	// longer.
	scouted bool
}

// NewGroup returns a group without knowledge of its leader. Its nodes are among the given ones.
func NewGroup(nodes *Nodes) *Group { return &Group{nodes: nodes, found: make(chan struct{})} }

// Order returns the group's members in the order in which to call them: the presumed leader first,
// even if it is not among them, and members that did not answer recently last.
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

// Found records that a node answered as the leader.
func (g *Group) Found(node string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.lost.IsZero() {
		close(g.found)
		g.found = make(chan struct{})
	}
	g.leader, g.lost = node, time.Time{}
}

// Reported records the leader that some node reported.
func (g *Group) Reported(leader string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leader = leader
}

// replace records that a node does not lead, and the leader that it reported, or "".
func (g *Group) replace(node, named string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if named != "" {
		g.leader = named
	} else if g.leader == node {
		g.leader = ""
	}
}

// leaderless records that no node answered as the leader in a whole round.
func (g *Group) leaderless() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lost.IsZero() {
		g.lost = time.Now()
	}
}

// Leaderless returns how long no node has answered as the leader, or 0 if the last call found one.
func (g *Group) Leaderless() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lost.IsZero() {
		return 0
	}
	return time.Since(g.lost)
}

// A group counts as ailing after it has had no leader for ailingAfter. After each ailingFor, one caller tests it.
const (
	ailingAfter = time.Second
	ailingFor   = 5 * time.Second
)

// Ailing reports whether the group has had no leader for a while, so that work should go elsewhere
// if possible. Every few seconds it returns false for one caller, which then tests the group.
func (g *Group) Ailing() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lost.IsZero() || time.Since(g.lost) <= ailingAfter {
		return false
	}
	if ailing := g.lost.Add(ailingAfter); g.tested.Before(ailing) {
		g.tested = ailing
	}
	if time.Since(g.tested) > ailingFor {
		g.tested = time.Now()
		return false
	}
	return true
}

// scoutEvery is the maximum time between two attempts to find a leader while searches wait for it.
const scoutEvery = 200 * time.Millisecond

// await waits for about pause, or until another search has found the leader. One of the waiting
// searches waits for at most scoutEvery. It returns false if ctx ended, or would end earlier.
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

// jitter changes d randomly by up to a quarter.
func jitter(d time.Duration) time.Duration { return d*3/4 + rand.N(d/2+1) }

// sleep pauses for d, or until early is closed. It returns false if ctx ended, or would end
// earlier.
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
