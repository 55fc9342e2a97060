package simulation

import (
	"context"
	"slices"
	"time"

	"cordwood/proto/errs"
	"cordwood/shard/replica"
)

// fault is one way in which a simulation is broken. It mends itself, or is mended at
// the end.
type fault struct {
	name string
	do   func(*World)
}

var faults = []fault{
	{"crash", (*World).crashOne},
	{"crash of all", (*World).crashAll},
	{"restart", (*World).restart},
	{"partition", (*World).partition},
	{"one-way partition", (*World).oneWay},
	{"bridge", (*World).bridge},
	{"isolated leader", (*World).isolateLeader},
	{"slow link", (*World).slowLink},
	{"mend", func(w *World) { w.net.Heal(); w.event("the network is mended") }},
	{"hand-over", (*World).handOver},
	{"move", (*World).move},
	{"crash of a leader", (*World).crashLeader},
	{"long crash", (*World).longCrash},
	{"table move", (*World).moveTable},
}

func (w *World) breakSomething() {
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

func (w *World) anyNode() *Node { return w.nodes[w.rng.IntN(len(w.nodes))] }

// crashOne has a node crash and come back after a while.
func (w *World) crashOne() {
	n := w.anyNode()
	w.event("crash %s", n.ID)
	n.Crash()
	time.Sleep(time.Duration(w.rng.Int64N(int64(10 * time.Second))))
	w.begin(n)
}

// crashLeader has the leader of a group crash, and come back when another leads.
func (w *World) crashLeader() {
	n, _ := w.leader(w.groups[w.rng.IntN(len(w.groups))].ID)
	if n == nil {
		return
	}
	w.event("crash %s, a leader", n.ID)
	n.Crash()
	time.Sleep(10 * time.Second)
	w.begin(n)
}

// longCrash has a node miss so much that the others' logs no longer reach back to it.
func (w *World) longCrash() {
	n := w.anyNode()
	w.event("crash %s for long", n.ID)
	n.Crash()
	time.Sleep(90 * time.Second)
	w.begin(n)
}

// begin starts a node; that it cannot is a violation.
func (w *World) begin(n *Node) {
	if err := w.startNode(n); err != nil {
		w.event("BUG: start of %s: %v", n.ID, err)
		w.failed = append(w.failed, "start of node "+n.ID+": "+err.Error())
		return
	}
	w.event("%s is back", n.ID)
}

func (w *World) crashAll() {
	w.event("crash all")
	for _, n := range w.nodes {
		n.Crash()
	}
	time.Sleep(time.Duration(w.rng.Int64N(int64(3 * time.Second))))
	for _, n := range w.nodes {
		w.begin(n)
	}
}

func (w *World) restart() {
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
func (w *World) split() (a, b []string) {
	k := 1 + w.rng.IntN(len(w.nodes)-1)
	for i, p := range w.rng.Perm(len(w.nodes)) {
		if i < k {
			a = append(a, w.nodes[p].ID)
		} else {
			b = append(b, w.nodes[p].ID)
		}
	}
	if w.rng.IntN(2) == 0 {
		a = append(a, w.routers[w.rng.IntN(len(w.routers))].id)
	}
	return a, b
}

func (w *World) partition() {
	a, b := w.split()
	w.event("cut %v from %v", a, b)
	w.net.Cut(a, b, false)
}

func (w *World) oneWay() {
	a, b := w.split()
	w.event("cut %v to %v, one way", a, b)
	w.net.Cut(a, b, true)
}

// bridge leaves one node that reaches two sides which do not reach each other.
func (w *World) bridge() {
	a, b := w.split()
	if len(b) < 2 {
		return
	}
	w.event("cut %v from %v, with %s between", a, b[1:], b[0])
	w.net.Cut(a, b[1:], false)
}

func (w *World) isolateLeader() {
	g := w.groups[w.rng.IntN(len(w.groups))]
	n, _ := w.leader(g.ID)
	if n == nil {
		return
	}
	var rest []string
	for _, o := range w.nodes {
		if o != n {
			rest = append(rest, o.ID)
		}
	}
	w.event("cut %s, which leads shard %d, from the other nodes", n.ID, g.ID)
	w.net.Cut([]string{n.ID}, rest, false)
}

func (w *World) slowLink() {
	a, b := w.anyNode(), w.anyNode()
	d := time.Duration(50+w.rng.IntN(1500)) * time.Millisecond
	w.event("%s and %s are %s apart", a.ID, b.ID, d)
	w.net.Slow(a.ID, b.ID, d)
}

func (w *World) handOver() {
	g := w.groups[w.rng.IntN(len(w.groups))]
	_, s := w.leader(g.ID)
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	w.event("hand shard %d over: %v", g.ID, s.StepDown(ctx))
}

// move replaces a member of a group by a node that has none, as an operation of the
// cluster does: the new one learns, votes, and the old one leaves.
func (w *World) move() {
	g := w.groups[w.rng.IntN(len(w.groups))]
	have := w.replicas(g.ID)
	var free []*Node
	for _, n := range w.nodes {
		if !slices.Contains(have, n.ID) && !n.has(g.ID) && n.Up() {
			free = append(free, n)
		}
	}
	if len(free) == 0 {
		return
	}
	to, from := free[w.rng.IntN(len(free))], have[w.rng.IntN(len(have))]
	w.event("move a replica of shard %d from %s to %s", g.ID, from, to.ID)
	if err := to.join(g); err != nil {
		w.failed = append(w.failed, "join of node "+to.ID+": "+err.Error())
		return
	}
	w.mu.Lock()
	w.members[g.ID] = append(w.members[g.ID], to.ID)
	w.mu.Unlock()
	for _, step := range []struct {
		kind replica.ChangeKind
		node string
	}{{replica.AddLearner, to.ID}, {replica.Promote, to.ID}, {replica.Remove, from}} {
		if err := w.change(g.ID, step.kind, step.node); err != nil {
			w.event("move of shard %d: %s %s: %v", g.ID, step.kind, step.node, err)
			return // what is begun stays: the group is larger, which is harmless
		}
	}
	w.mu.Lock()
	w.members[g.ID] = slices.DeleteFunc(w.members[g.ID], func(id string) bool { return id == from })
	w.mu.Unlock()
	w.node(from).leave(context.Background(), g.ID)
	w.event("moved a replica of shard %d from %s to %s", g.ID, from, to.ID)
}

// change tries a change of a group's members until it is made, or for a minute.
func (w *World) change(id uint32, kind replica.ChangeKind, node string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var err error = errs.New(errs.ShardNotReady, "no leader was found")
	for ctx.Err() == nil {
		if n, s := w.leader(id); s != nil {
			if kind == replica.Remove && n.ID == node {
				_ = s.StepDown(ctx) // tried again with the next leader
			} else if err = s.Change(ctx, kind, node); err == nil {
				return nil
			}
		}
		time.Sleep(500 * time.Millisecond)
	}
	return err
}
