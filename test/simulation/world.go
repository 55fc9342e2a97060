// Package simulation runs shards of several nodes with virtual time, over a network and
// disks in memory, breaks them in every way that a seed says, and checks what the
// clients were told against what the replicas hold.
//
// The parts are real, from the routers' write path down to raft and the files: only time,
// connections, the file system, the raft log and the metadata are simulated. A run is a function
// of its seed but for the order in which goroutines run.
package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"cordwood/proto/schemapb"
	"cordwood/shard"
)

// Options say what a run does. They are drawn from the seed; a test may set some.
type Options struct {
	Seed    uint64
	Nodes   int
	Groups  int
	Writers int // for each group
	// Duration is how long the nodes are broken, in virtual time.
	Duration time.Duration
	// Delay and Jitter are those of the network.
	Delay, Jitter time.Duration
	// Faults are the names of those that may occur; see faults.
	Faults []string
	// Pause is the mean time between two faults.
	Pause time.Duration
	// Mend has the network be mended before each fault.
	Mend bool

	// Mutant breaks the system on purpose: a checker has to find it.
	Mutant Mutant
	Logger *slog.Logger
}

// Mutant is a fault of the program that a checker must find.
type Mutant int

// The mutants.
const (
	Sound Mutant = iota
	// SkipSync answers appends to the log before they are synced.
	SkipSync
	// LoseLog has a node come back without its log and files.
	LoseLog
	// SkipDedup gives a batch another identity when it is sent again.
	SkipDedup
	// AckEarly acknowledges what was only sent.
	AckEarly
	// SkipFence takes it that a batch whose fate is unknown was not stored, and sends it to
	// the shard where the table is now.
	SkipFence
	// StaleRead reads from a replica without asking the leader how far it must be.
	StaleRead
)

func (o Options) String() string {
	return fmt.Sprintf("seed %d: %d nodes, %d groups, %d writers each, %s, delay %s to %s, a fault of %s every %s",
		o.Seed, o.Nodes, o.Groups, o.Writers, o.Duration, o.Delay, o.Delay+o.Jitter, strings.Join(o.Faults, ", "), o.Pause)
}

// Draw chooses the options of a seed.
func Draw(seed uint64) Options {
	rng := rand.New(rand.NewPCG(seed, 1))
	o := Options{
		Seed: seed, Nodes: 3 + 2*rng.IntN(2), Groups: 1 + rng.IntN(3), Writers: 1 + rng.IntN(3),
		Duration: time.Duration(2+rng.IntN(6)) * time.Minute,
		Delay:    time.Duration(rng.IntN(20)) * time.Millisecond, Jitter: time.Duration(1+rng.IntN(20)) * time.Millisecond,
		Pause: time.Duration(3+rng.IntN(20)) * time.Second, Logger: slog.New(slog.DiscardHandler),
	}
	for _, f := range faults { // a swarm: some faults hide others
		if rng.IntN(2) == 0 {
			o.Faults = append(o.Faults, f.name)
		}
	}
	if len(o.Faults) == 0 {
		o.Faults = []string{faults[rng.IntN(len(faults))].name}
	}
	return o
}

// World is a run.
type World struct {
	opt     Options
	rng     *rand.Rand
	net     *Network
	nodes   []*Node
	groups  []Group
	tables  []uint64
	history *History

	metadata *Metadata
	routers  []*router

	mu      sync.Mutex // guards members
	members map[uint32][]string
	events  []string
	failed  []string // what no node may do
	start   time.Time
}

// Run runs a simulation in a synctest bubble and returns what was found wrong. dir is
// an empty folder.
func Run(opt Options, dir string) (*Report, error) {
	w := &World{
		opt: opt, rng: rand.New(rand.NewPCG(opt.Seed, 2)), history: newHistory(),
		members: map[uint32][]string{}, start: time.Now(),
	}
	w.net = NewNetwork(rand.New(rand.NewPCG(opt.Seed, 3)), opt.Delay, opt.Jitter)
	w.metadata = newMetadata(rand.New(rand.NewPCG(opt.Seed, 4)))
	var ids []string
	for i := range opt.Nodes {
		id := fmt.Sprint("n", i+1)
		n := newNode(id, dir, w.net, opt.Logger)
		n.mutant = opt.Mutant
		w.nodes = append(w.nodes, n)
		ids = append(ids, id)
	}
	for i := range opt.Groups {
		g := Group{ID: uint32(i + 1)}
		for k := range 3 {
			g.Founders = append(g.Founders, ids[(i+k)%len(ids)])
		}
		w.groups = append(w.groups, g)
		w.members[g.ID] = slices.Clone(g.Founders)
		w.tables = append(w.tables, uint64(g.ID))
		w.metadata.put(definition(uint64(g.ID), &schemapb.Placement{Epoch: 1, ShardId: g.ID}))
	}
	defer w.close()
	for _, n := range w.nodes {
		if err := w.startNode(n); err != nil {
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
	return w.run()
}

func (w *World) event(format string, args ...any) {
	w.events = append(w.events, fmt.Sprintf("%8s ", time.Since(w.start).Round(time.Millisecond))+fmt.Sprintf(format, args...))
}

// replicas lists the members of a shard, as the metadata would.
func (w *World) replicas(id uint32) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.members[id])
}

func (w *World) nodeIDs() []string {
	ids := make([]string, len(w.nodes))
	for i, n := range w.nodes {
		ids[i] = n.ID
	}
	return ids
}

// startNode starts a node with the groups that it has, or should have.
func (w *World) startNode(n *Node) error {
	var open []Group
	for _, g := range w.groups {
		if n.has(g.ID) || slices.Contains(w.replicas(g.ID), n.ID) {
			open = append(open, g)
		}
	}
	return n.Start(open)
}

func (w *World) node(id string) *Node {
	return w.nodes[slices.IndexFunc(w.nodes, func(n *Node) bool { return n.ID == id })]
}

// leader is the node that leads a group, if one does.
func (w *World) leader(id uint32) (*Node, *shard.Shard) {
	for _, n := range w.nodes {
		if s := n.shard(id); s != nil && s.Leads() {
			return n, s
		}
	}
	return nil, nil
}

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
				pause: time.Duration(20+w.rng.IntN(200)) * time.Millisecond, timeout: 10 * time.Second, mutant: w.opt.Mutant,
			}
			writers.Go(func() { wr.run(writing) })
		}
	}
	reading, stopReading := context.WithCancel(context.Background())
	var readers sync.WaitGroup
	defer readers.Wait()
	defer stopReading()
	stale := make(chan string, 64)
	for _, table := range w.tables {
		readers.Go(func() { w.readAlong(reading, table, stale) })
	}

	end := w.start.Add(w.opt.Duration)
	for time.Now().Before(end) {
		time.Sleep(w.opt.Pause/2 + time.Duration(w.rng.Int64N(int64(w.opt.Pause))))
		w.breakSomething()
	}
	healed := time.Now()
	if err := w.heal(); err != nil {
		return nil, err
	}
	r := &Report{Options: w.opt}
	r.Recovery, r.Stuck = w.awaitWritable(healed)
	stop()
	writers.Wait()
	stopReading()
	readers.Wait()
	close(stale)
	for s := range stale {
		r.Violations = append(r.Violations, s)
	}
	w.check(r)
	r.Events, r.Acked, r.Longest = w.events, w.history.acked, w.history.longest
	return r, nil
}

// heal mends the network and starts every node.
func (w *World) heal() error {
	w.net.Heal()
	w.event("heal")
	for _, n := range w.nodes {
		if !n.Up() {
			if err := w.startNode(n); err != nil {
				return fmt.Errorf("start of node %s: %w", n.ID, err)
			}
		}
	}
	return nil
}

func (w *World) close() {
	for _, n := range w.nodes {
		n.Crash()
	}
	for _, r := range w.routers {
		r.close()
	}
	time.Sleep(time.Minute) // of virtual time: what was under way gives up
}
