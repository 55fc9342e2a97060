package simulation

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// fault is one kind of fault of a simulation. It ends by itself, or is repaired at the end.
type fault struct {
	name string
	do   func(breaker)
}

var faults = []fault{
	{"crash", breaker.crashOne},
	{"crash of all", breaker.crashAll},
	{"restart", breaker.restart},
	{"partition", breaker.partition},
	{"one-way partition", breaker.oneWay},
	{"bridge", breaker.bridge},
	{"isolated leader", breaker.isolateLeader},
	{"slow link", breaker.slowLink},
	{"mend", func(w breaker) { w.net.Heal(); w.event("the network is mended") }},
	{"hand-over", breaker.handOver},
	{"move", breaker.moveShard},
	{"crash of a leader", breaker.crashLeader},
	{"long crash", breaker.longCrash},
	{"table move", breaker.moveTable},
	{"drain", breaker.drain},
	{"undrain", breaker.undrain},
	{"cancel", breaker.cancel},
	{"bit flip", breaker.flipBit},
	{"slow copy", breaker.slowCopy},
	{"wrong clock", breaker.wrongClock},
	{"standstill", breaker.suspendLeader},
	{"cut learner", breaker.cutLearner},
	{"crash in an operation", breaker.crashInOperation},
	{"disk set back", breaker.setBack},
	{"full disk", breaker.fullDisk},
	{"slow disk", breaker.slowDisk},
	{"metadata's disk", breaker.troubledMeta},
	{"added again", breaker.addAgain},
}

// breaker causes the faults of a world: each method is a fault, or a part of one.
type breaker struct{ *World }

// breakSomething causes one of the faults that the options allow, at random.
func (w breaker) breakSomething() {
	var may []fault
	for _, f := range faults {
		if slices.Contains(w.opt.Faults, f.name) {
			may = append(may, f)
		}
	}
	if w.opt.Mend {
		w.net.Heal()
		time.Sleep(w.opt.Pause / 2)
	}
	may[w.rng.IntN(len(may))].do(w)
	if w.rng.IntN(3) == 0 {
		w.net.Heal()
		w.event("the network is repaired")
	}
}

func (w *World) anyNode() *Node {
	all := w.allNodes()
	return all[w.rng.IntN(len(all))]
}

// anyLeader returns a random node that leads the metadata group or a shard, and the group that it leads. It returns
// nil if there is none.
func (w breaker) anyLeader() (*Node, string) {
	all := w.shards()
	if k := w.rng.IntN(len(all) + 1); k < len(all) {
		n, _ := w.leader(all[k].Id)
		return n, fmt.Sprint("shard ", all[k].Id)
	}
	return w.metaLeader(), "the metadata"
}

// wrongClock sets the clock of a node to a time that is wrong by up to two years or by minutes, or to the right time.
// The node may be restarted at the same time. At most half of the nodes have a wrong clock, because the majority must
// be right.
func (w breaker) wrongClock() {
	n, wrong := w.anyNode(), 0
	all := w.allNodes()
	for _, other := range all {
		if other != n && other.wrong.Load() != 0 {
			wrong++
		}
	}
	off := time.Duration(w.rng.Int64N(int64(4*365*24*time.Hour))) - 2*365*24*time.Hour
	switch {
	case wrong >= (len(all)-1)/2 || w.rng.IntN(4) == 0:
		off = 0
	case w.rng.IntN(2) == 0:
		off = time.Duration(w.rng.Int64N(int64(4*time.Hour))) - 2*time.Hour
	}
	n.wrong.Store(int64(off))
	w.event("the clock of %s is wrong by %s", n.ID, off)
	if w.rng.IntN(2) == 0 {
		w.event("crash %s", n.ID)
		n.Crash()
		w.begin(n)
	}
}

// crashOne crashes a node, which restarts after a while.
func (w breaker) crashOne() {
	n := w.anyNode()
	w.event("crash %s", n.ID)
	n.Crash()
	time.Sleep(time.Duration(w.rng.Int64N(int64(10 * time.Second))))
	w.begin(n)
}

// crashLeader crashes the leader of a group, which restarts when another node leads.
func (w breaker) crashLeader() {
	n, what := w.anyLeader()
	if n == nil {
		return
	}
	w.event("crash %s, which leads %s", n.ID, what)
	n.Crash()
	time.Sleep(10 * time.Second)
	w.begin(n)
}

// longCrash keeps a node down until the others have removed the entries that it needs from their logs.
func (w breaker) longCrash() {
	n := w.anyNode()
	w.event("crash %s for long", n.ID)
	n.Crash()
	time.Sleep(90 * time.Second)
	w.begin(n)
}

// begin starts a node. A failed start is a violation.
func (w *World) begin(n *Node) {
	if n.Up() {
		return
	}
	if err := n.Start(); err != nil {
		w.violation("start of %v", err)
		return
	}
	w.event("%s is back", n.ID)
}

func (w breaker) crashAll() {
	w.event("crash all")
	var crashing sync.WaitGroup
	for _, n := range w.allNodes() {
		crashing.Go(n.Crash)
	}
	crashing.Wait()
	time.Sleep(time.Duration(w.rng.Int64N(int64(3 * time.Second))))
	for _, n := range w.allNodes() {
		w.begin(n)
	}
}

func (w breaker) restart() {
	n := w.anyNode()
	w.event("restart %s", n.ID)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := n.Stop(ctx); err != nil {
		w.event("stop of %s: %v", n.ID, err)
	}
	w.begin(n)
}

// split divides the network into two parts.
func (w breaker) split() (a, b []string) {
	ids := w.nodeIDs()
	k := 1 + w.rng.IntN(len(ids)-1)
	for i, p := range w.rng.Perm(len(ids)) {
		if i < k {
			a = append(a, ids[p])
		} else {
			b = append(b, ids[p])
		}
	}
	if w.rng.IntN(2) == 0 {
		a = append(a, w.routers[w.rng.IntN(len(w.routers))].id)
	}
	return a, b
}

func (w breaker) partition() {
	a, b := w.split()
	w.event("cut %v from %v", a, b)
	w.net.Cut(a, b, false)
}

func (w breaker) oneWay() {
	a, b := w.split()
	w.event("cut %v to %v, one way", a, b)
	w.net.Cut(a, b, true)
}

// bridge divides the network into two parts that do not reach each other, and one node that reaches both.
func (w breaker) bridge() {
	a, b := w.split()
	if len(b) < 2 {
		return
	}
	w.event("cut %v from %v, with %s between", a, b[1:], b[0])
	w.net.Cut(a, b[1:], false)
}

func (w breaker) isolateLeader() {
	n, what := w.anyLeader()
	if n == nil {
		return
	}
	var rest []string
	for _, o := range w.allNodes() {
		if o != n {
			rest = append(rest, o.ID)
		}
	}
	w.event("cut %s, which leads %s, from the other nodes", n.ID, what)
	w.net.Cut([]string{n.ID}, rest, false)
}

func (w breaker) slowLink() {
	a, b := w.anyNode(), w.anyNode()
	d := time.Duration(50+w.rng.IntN(1500)) * time.Millisecond
	w.event("the delay between %s and %s is %s", a.ID, b.ID, d)
	w.net.Slow(a.ID, b.ID, d)
}

// slowCopy delays a router's copy of the metadata. It slows down the router's connection to one node, which the
// router may follow.
func (w breaker) slowCopy() {
	r, n := w.routers[w.rng.IntN(len(w.routers))], w.anyNode()
	d := time.Duration(300+w.rng.IntN(1700)) * time.Millisecond
	w.event("the delay between %s and %s is %s", r.id, n.ID, d)
	w.net.Slow(r.id, n.ID, d)
}

// handOver makes a leader transfer its leaderships, as before a restart.
func (w breaker) handOver() {
	n, what := w.anyLeader()
	if n == nil {
		return
	}
	p := n.process()
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	w.event("%s, which leads %s, transfers all its leaderships", n.ID, what)
	p.host.StepDown(ctx)
	if p.member != nil {
		_ = p.member.StepDown(ctx) // there may be no successor
	}
}
