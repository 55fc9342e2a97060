package simulation

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// fault is one way in which a simulation is broken. It mends itself, or is mended at
// the end.
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
	{"standstill", breaker.standStill},
	{"cut learner", breaker.cutLearner},
	{"crash in an operation", breaker.crashInOperation},
	{"disk set back", breaker.setBack},
	{"full disk", breaker.fullDisk},
	{"slow disk", breaker.slowDisk},
	{"metadata's disk", breaker.troubledMeta},
}

// breaker breaks a world: each of its methods is a fault, or a part of one.
type breaker struct{ *World }

// breakSomething does one of the faults that the options allow, by chance.
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
		w.event("the network is mended")
	}
}

func (w *World) anyNode() *Node {
	all := w.allNodes()
	return all[w.rng.IntN(len(all))]
}

// anyLeader returns the node that leads the metadata group or a shard, by chance, and what it
// leads; nil if nobody does.
func (w breaker) anyLeader() (*Node, string) {
	all := w.shards()
	if k := w.rng.IntN(len(all) + 1); k < len(all) {
		n, _ := w.leader(all[k].Id)
		return n, fmt.Sprint("shard ", all[k].Id)
	}
	return w.metaLeader(), "the metadata"
}

// wrongClock sets the clock of a node wrong by up to two years, or by minutes, or right; it may be
// started again with it. At most half of the nodes have a wrong one: what a majority says is right.
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
	w.event("the clock of %s is %s off", n.ID, off)
	if w.rng.IntN(2) == 0 {
		w.event("crash %s", n.ID)
		n.Crash()
		w.begin(n)
	}
}

// crashOne has a node crash and come back after a while.
func (w breaker) crashOne() {
	n := w.anyNode()
	w.event("crash %s", n.ID)
	n.Crash()
	time.Sleep(time.Duration(w.rng.Int64N(int64(10 * time.Second))))
	w.begin(n)
}

// crashLeader has the leader of a group crash, and come back when another leads.
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

// longCrash has a node miss so much that the others' logs no longer reach back to it.
func (w breaker) longCrash() {
	n := w.anyNode()
	w.event("crash %s for long", n.ID)
	n.Crash()
	time.Sleep(90 * time.Second)
	w.begin(n)
}

// begin starts a node; that it cannot is a violation.
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

// split cuts the nodes in two.
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

// bridge leaves one node that reaches two sides which do not reach each other.
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
	w.event("%s and %s are %s apart", a.ID, b.ID, d)
	w.net.Slow(a.ID, b.ID, d)
}

// slowCopy has a router's copy of the metadata lag behind: its way to one node is slow, by
// which it may follow the metadata, and those to others are not.
func (w breaker) slowCopy() {
	r, n := w.routers[w.rng.IntN(len(w.routers))], w.anyNode()
	d := time.Duration(300+w.rng.IntN(1700)) * time.Millisecond
	w.event("%s and %s are %s apart", r.id, n.ID, d)
	w.net.Slow(r.id, n.ID, d)
}

// handOver has a leader hand on what it leads, as before a restart.
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
	w.event("%s, which leads %s, hands all that it leads over", n.ID, what)
	p.host.StepDown(ctx)
	if p.member != nil {
		_ = p.member.StepDown(ctx) // nobody may be there to take over
	}
}
