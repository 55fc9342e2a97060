// Package simulation runs a cluster with virtual time, over a network and disks in memory, causes faults that depend
// on a seed, and compares the answers to clients with the content of the replicas.
//
// The parts are real, from the routers' write path down to raft and the files, including the metadata group and the
// coordinator: only time, connections, the file system of shards and the raft logs are simulated. A run depends only
// on its seed, except for the order in which goroutines run. DESIGN.md describes what is real, what is checked, and
// how to repeat a seed.
package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"cordwood/proto/metapb"
	"cordwood/shard"
)

// World is a run.
type World struct {
	opt     Options
	rng     *rand.Rand
	net     *Network
	cluster *cluster
	dir     string
	tables  []table
	history *History
	schemas *schemaHistory
	watched *watched
	answers *answers
	// queries is the number of answered queries.
	queries atomic.Int64
	routers []*router
	start   time.Time
	flipped bool      // a bit of some disk was flipped
	copied  *diskCopy // copy of the disk that is set back, or nil

	mu      sync.Mutex // guards the fields below
	nodes   []*Node
	events  []string
	failed  []string // errors of nodes that ended themselves
	closing bool
}

// Run runs a simulation in a synctest bubble and returns the faults that it found. dir is an empty
// folder.
func Run(opt Options, dir string) (*Report, error) {
	w := &World{
		opt: opt, rng: rand.New(rand.NewPCG(opt.Seed, 2)), history: newHistory(), dir: dir,
		schemas: &schemaHistory{start: time.Now()}, watched: newWatched(), answers: newAnswers(), start: time.Now(),
	}
	w.net = NewNetwork(rand.New(rand.NewPCG(opt.Seed, 3)), opt.Delay, opt.Jitter)
	w.cluster = &cluster{
		net: w.net, log: opt.Logger, mutant: opt.Mutant, shards: opt.Groups, archives: newArchives(), failed: w.nodeFailed,
	}
	if opt.Cold {
		w.cluster.objects = newObjects(opt.Seed, dir)
	}
	for i := range opt.Nodes {
		id := fmt.Sprint("n", i+1)
		w.nodes = append(w.nodes, newNode(id, dir, w.cluster))
		if i < 3 {
			w.cluster.founders = append(w.cluster.founders, id)
		}
		if i < opt.Metas {
			w.cluster.metas = append(w.cluster.metas, id)
		}
	}
	for i := range opt.Groups {
		t := table{name: fmt.Sprint("t", i+1)}
		if i == 0 {
			t.spread = opt.Groups
		}
		w.tables = append(w.tables, t)
	}
	if opt.Merging {
		w.tables = append(w.tables, table{name: "m1", merges: true})
	}
	if opt.Cold {
		w.tables = append(w.tables, table{name: coldTable, spread: opt.Groups, cold: true})
	}
	defer w.close()
	for _, n := range w.nodes {
		if err := n.Start(); err != nil {
			return nil, err
		}
	}
	for i := range 2 {
		r, err := w.newRouter(i)
		if err != nil {
			return nil, err
		}
		w.routers = append(w.routers, r)
	}
	if err := w.found(); err != nil {
		return nil, err
	}
	return w.run()
}

// found waits until the cluster has its shards, and creates the tables.
func (w *World) found() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	meta := w.routers[0].meta
	for changed := meta.Changed(); len(meta.Shards()) < w.opt.Groups; changed = meta.Changed() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the cluster has %d shards after %s, want %d", len(meta.Shards()), time.Since(w.start),
				w.opt.Groups)
		case <-changed:
		}
	}
	for _, t := range w.tables {
		if _, err := meta.Propose(ctx, ensure(t.name, t.options(), t.columns())); err != nil {
			return fmt.Errorf("create table %s: %w", t.name, err)
		}
	}
	w.event("the cluster is created")
	return nil
}

func (w *World) event(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := fmt.Sprintf("%8s ", time.Since(w.start).Round(time.Millisecond)) + fmt.Sprintf(format, args...)
	w.opt.Logger.Info("EVENT " + text)
	w.events = append(w.events, text)
}

// violation records a broken guarantee.
func (w *World) violation(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.event("BUG: %s", text)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = append(w.failed, text)
}

// nodeFailed is called when a process ends itself because it cannot trust a disk. The node is restarted soon.
func (w *World) nodeFailed(n *Node, err error) {
	if errors.Is(err, errDead) {
		return
	}
	if n.damaged.Load() {
		w.event("%s ends itself: %v", n.ID, err)
	} else {
		w.violation("node %s ends itself: %v", n.ID, err)
	}
	go func() {
		n.Crash()
		time.Sleep(2 * time.Second)
		w.mu.Lock()
		closing := w.closing
		w.mu.Unlock()
		if !closing {
			w.begin(n)
		}
	}()
}

func (w *World) allNodes() []*Node {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.nodes)
}

func (w *World) nodeIDs() []string {
	var ids []string
	for _, n := range w.allNodes() {
		ids = append(ids, n.ID)
	}
	return ids
}

// node returns the node with an id, or nil if its disk was lost.
func (w *World) node(id string) *Node {
	all := w.allNodes()
	if i := slices.IndexFunc(all, func(n *Node) bool { return n.ID == id }); i >= 0 {
		return all[i]
	}
	return nil
}

// leader returns the node that leads a shard, or nil.
func (w *World) leader(id uint32) (*Node, *shard.Shard) {
	for _, n := range w.allNodes() {
		if s := n.shard(id); s != nil && s.Leads() {
			return n, s
		}
	}
	return nil, nil
}

// leaders returns the nodes that consider themselves leaders of a shard. There may be several, until deposed leaders
// notice that they no longer lead.
func (w *World) leaders(id uint32) (out []*Node) {
	for _, n := range w.allNodes() {
		if s := n.shard(id); s != nil && s.Leads() {
			out = append(out, n)
		}
	}
	return out
}

// awaitLeader waits until a replica leads a shard, and returns it. Leadership is transferred from
// time to time, so that leaders are distributed over the nodes.
func (w *World) awaitLeader(id uint32) (*shard.Shard, error) {
	for begun := time.Now(); time.Since(begun) < maxRecovery; time.Sleep(100 * time.Millisecond) {
		if _, s := w.leader(id); s != nil {
			return s, nil
		}
	}
	return nil, fmt.Errorf("shard %d has had no leader for %s", id, maxRecovery)
}

// metaLeader returns the node that leads the metadata group, or nil.
func (w *World) metaLeader() *Node {
	for _, n := range w.allNodes() {
		if p := n.process(); p != nil && p.member != nil && p.member.Leads() {
			return n
		}
	}
	return nil
}

// shards lists the shards, according to a router.
func (w *World) shards() []*metapb.Shard { return w.routers[0].meta.Shards() }

func (w *World) run() (*Report, error) {
	writing, stop := context.WithCancel(context.Background())
	var writers sync.WaitGroup
	defer writers.Wait()
	defer stop()
	id := int64(0)
	for _, table := range w.tables {
		for range w.opt.Writers {
			id++
			wr := &writer{
				id: id, table: table, keyed: id%2 == 0, routers: w.routers, history: w.history,
				start: w.start, pause: time.Duration(50+w.rng.IntN(300)) * time.Millisecond, timeout: 10 * time.Second,
				mutant: w.opt.Mutant,
			}
			writers.Go(func() { wr.run(writing) })
		}
	}
	watching, stopWatching := context.WithCancel(context.Background())
	var watchers sync.WaitGroup
	defer watchers.Wait()
	defer stopWatching()
	for i, table := range w.tables {
		for k := range 2 {
			rng := rand.New(rand.NewPCG(w.opt.Seed, uint64(100+2*i+k)))
			watchers.Go(func() { w.readAlong(watching, fmt.Sprintf("reader %d of %s", k, table.name), table, rng) })
		}
	}
	for i, table := range w.tables {
		if table.cold { // the engine of the simulation reads no objects
			continue
		}
		rng := rand.New(rand.NewPCG(w.opt.Seed, uint64(200+i)))
		watchers.Go(func() { w.queryAlong(watching, table, rng) })
	}
	for i, r := range w.routers {
		rng := rand.New(rand.NewPCG(w.opt.Seed, 10+uint64(i)))
		watchers.Go(func() { w.schemas.changeSchemas(watching, i, r, rng) })
		watchers.Go(func() { w.watched.follow(watching, r) })
	}

	for end := time.Now().Add(w.opt.Duration); time.Now().Before(end); {
		time.Sleep(w.opt.Pause/2 + time.Duration(w.rng.Int64N(int64(w.opt.Pause))))
		breaker{w}.breakSomething()
	}
	healed := time.Now()
	w.heal()
	r := &Report{Options: w.opt, schemas: w.schemas}
	r.Recovery, r.Stuck = w.awaitWritable(healed)
	stop()
	writers.Wait()
	stopWatching()
	watchers.Wait()
	if len(r.Stuck) == 0 {
		w.awaitOperations()
		w.settleObjects()
		r.Joined = w.joined()
	}
	w.check(r)
	r.Queries, r.Parts, r.Taken = w.queries.Load(), w.cluster.parts.Load(), w.cluster.taken()
	r.Events, r.Acked, r.Longest = w.events, w.history.acked, w.history.longest
	return r, nil
}

// heal repairs the network and starts every node.
func (w *World) heal() {
	w.net.Heal()
	w.event("heal")
	for _, n := range w.allNodes() {
		n.resume()
		n.shards.mend()
		n.metas.mend()
		w.begin(n)
	}
}

func (w *World) close() {
	w.mu.Lock()
	w.closing = true
	w.mu.Unlock()
	for _, r := range w.routers {
		r.close()
	}
	var closing sync.WaitGroup
	for _, n := range w.allNodes() {
		closing.Go(n.Crash)
	}
	closing.Wait()
	time.Sleep(time.Minute) // virtual time, so that pending calls time out
}
