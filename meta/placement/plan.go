package placement

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// NodeState is the availability of a node for moves.
type NodeState int

// The states of a node.
const (
	Up       NodeState = iota // accepts replicas
	Draining                  // all its replicas are moved away, and it takes none
	Down                      // its replicas count as lost
	Away                      // silent, perhaps only for a moment: its replicas count, but it takes none
)

// Node is a node that holds shards, as a plan needs it.
type Node struct {
	ID, Zone string
	State    NodeState
	// Capacity and Used are bytes of its disk. A node without capacity takes nothing.
	Capacity, Used int64
	// Moves is the number of moves in which it already takes part.
	Moves int
}

// Shard is a shard, as a plan needs it.
type Shard struct {
	ID uint32
	// Want is the wanted number of replicas.
	Want int
	// Replicas are the nodes with a replica.
	Replicas []string
	// Bytes is the size of one replica. Ingest is its ingest rate in bytes a second.
	Bytes  int64
	Ingest float64
	// Busy means that an operation for it is running already, so it is left unchanged.
	Busy bool
	// Leaving means that it will be retired: it is not moved only for balance, and does not count
	// for balance.
	Leaving bool
}

// Move is one step of a plan: a replica that is added, removed, or both in that order.
type Move struct {
	Shard uint32
	// From loses its replica, and To gets one. From is empty if a replica is only added, and To if one is only
	// removed.
	From, To string
	Bytes    int64
	Reason   string
}

// Blocked is a step that is needed but impossible, with what is missing.
type Blocked struct {
	Shard  uint32
	Node   string // the node that it is about, or empty
	Reason string
}

// Plan lists the next steps. More may be necessary afterwards.
type Plan struct {
	Moves   []Move
	Blocked []Blocked
	// Loads are the present loads of the nodes that may take replicas, in the order of node ids.
	Loads []NodeLoad
	// Even is a text that gives the reason why nothing is moved for balance. It is empty if
	// something is moved, or if something else has to be done first.
	Even string
}

// NodeLoad is the load of a node that counts for balance.
type NodeLoad struct {
	Node     string
	Replicas int // except replicas of shards that leave
	// Capacity and Used are bytes of its disk. Ingest is the total ingest rate of its replicas in
	// bytes a second.
	Capacity, Used int64
	Ingest         float64
	// Score combines these values. 1 would be a full disk with all replicas and the whole ingest.
	Score float64
}

// Limits limit a plan. The zero value means the defaults.
type Limits struct {
	// NodeMoves is the maximum number of concurrent moves of a node. Default: 2.
	NodeMoves int
	// Fill is the share of a disk that may be used after a move. Default: 0.8.
	Fill float64
	// MustFill is the same for necessary moves: repairs, and moves from nodes that are being
	// drained. A node below Fill is preferred. Default: 0.9.
	MustFill float64
	// Spread is the unevenness of nodes above which shards are moved for balance: the share of the
	// mean by which two scores may differ. Half of it applies to the numbers of replicas. Default:
	// 0.1.
	Spread float64
	// Share is the share of all bytes that one plan may move for balance. Default: 0.05, but always
	// one shard.
	Share float64
}

func (l Limits) withDefaults() Limits {
	l.NodeMoves = cmp.Or(l.NodeMoves, 2)
	l.Fill = cmp.Or(l.Fill, 0.8)
	l.MustFill = max(cmp.Or(l.MustFill, 0.9), l.Fill)
	l.Spread = cmp.Or(l.Spread, 0.1)
	l.Share = cmp.Or(l.Share, 0.05)
	return l
}

// Make plans in this order: new replicas for lost and missing ones, moves from nodes that are being
// drained, removal of surplus replicas, and moves that put replicas of a shard into different
// zones. Only if there is nothing of this kind, done or blocked, it plans moves for balance.
//
// It is a pure function whose result does not depend on the order of its arguments. If sizes do not
// change, making and executing plans ends after finitely many steps: every move for balance lowers
// the variance of the nodes' scores.
func Make(nodes []Node, shards []Shard, limits Limits) Plan {
	p := newPlanner(nodes, shards, limits.withDefaults())
	for _, n := range p.up() {
		p.plan.Loads = append(p.plan.Loads, NodeLoad{n.ID, n.replicas, n.Capacity, n.Used, n.ingest, p.score(n)})
	}
	for _, step := range []func(*Shard){p.repair, p.drain, p.trim, p.separate} {
		for _, s := range p.shards {
			if !s.Busy {
				step(s)
			}
		}
	}
	if len(p.plan.Moves) == 0 && len(p.plan.Blocked) == 0 {
		p.balance()
	}
	return p.plan
}

// planner is a plan in progress: nodes and shards as they will be after it.
type planner struct {
	limits Limits
	nodes  []*nodeState // by id
	byID   map[string]*nodeState
	shards []*Shard // by id
	zones  int      // zones with nodes that take replicas
	ingest float64
	bytes  int64
	count  int
	moved  map[uint32]bool
	plan   Plan
}

type nodeState struct {
	Node
	ingest   float64
	replicas int
	moves    int
	leaving  int64 // bytes of replicas of shards that leave
}

func newPlanner(nodes []Node, shards []Shard, limits Limits) *planner {
	p := &planner{limits: limits, byID: map[string]*nodeState{}, moved: map[uint32]bool{}}
	zones := map[string]bool{}
	for _, n := range nodes {
		if p.byID[n.ID] != nil {
			continue
		}
		s := &nodeState{Node: n, moves: n.Moves}
		p.nodes = append(p.nodes, s)
		p.byID[n.ID] = s
		if n.State == Up && n.Zone != "" {
			zones[n.Zone] = true
		}
	}
	p.zones = len(zones)
	slices.SortFunc(p.nodes, func(a, b *nodeState) int { return cmp.Compare(a.ID, b.ID) })
	for _, s := range shards {
		s.Replicas = slices.Clone(s.Replicas)
		slices.Sort(s.Replicas)
		p.shards = append(p.shards, &s)
		for _, id := range s.Replicas {
			p.bytes += s.Bytes
			if !s.Leaving {
				p.ingest += s.Ingest
				p.count++
			}
			if n := p.byID[id]; n != nil {
				n.count(&s, 1)
			}
		}
	}
	slices.SortFunc(p.shards, func(a, b *Shard) int { return cmp.Compare(a.ID, b.ID) })
	return p
}

// count adds the replicas of a shard to the balance of a node, or subtracts them. Replicas of a
// leaving shard do not count: nodes that are even with them would be uneven after it has left.
func (n *nodeState) count(s *Shard, replicas int) {
	if s.Leaving {
		n.leaving += int64(replicas) * s.Bytes
		return
	}
	n.ingest += float64(replicas) * s.Ingest
	n.replicas += replicas
}

// leastIngest is the total ingest rate for each node, in bytes a second, at which ingest counts
// fully. The shares of a tiny rate change all the time.
const leastIngest = 1 << 20

// score returns the load of a node. 1 would be a full disk with the whole ingest.
func (p *planner) score(n *nodeState) float64 {
	score := 0.0
	if n.Capacity > 0 {
		score += 0.5 * float64(max(n.Used-n.leaving, 0)) / float64(n.Capacity)
	}
	score += 0.3 * n.ingest / max(p.ingest, leastIngest*float64(len(p.nodes)))
	if p.count > 0 {
		score += 0.2 * float64(n.replicas) / float64(p.count)
	}
	return score
}

// alive returns the replicas of a shard on nodes that are not down.
func (p *planner) alive(s *Shard) []string {
	return slices.DeleteFunc(slices.Clone(s.Replicas), func(id string) bool {
		n := p.byID[id]
		return n == nil || n.State == Down
	})
}

// repair replaces lost replicas and adds missing ones.
func (p *planner) repair(s *Shard) {
	alive := p.alive(s)
	lost := slices.DeleteFunc(slices.Clone(s.Replicas), func(id string) bool { return slices.Contains(alive, id) })
	for len(alive) < s.Want {
		from, reason := "", fmt.Sprintf("has %d of %d replicas", len(alive), s.Want)
		if len(lost) > 0 {
			from = lost[0]
			reason = fmt.Sprintf("node %s is down", from)
		}
		if len(alive) == 0 && len(s.Replicas) > 0 {
			p.block(s, from, "every replica is on a node that is down: bring one back, or restore the shard from a backup")
			return
		}
		to, why := p.target(s, alive, nil)
		if to == nil {
			p.block(s, from, reason+"; "+why)
			return
		}
		p.move(s, from, to, reason)
		if from != "" {
			lost = lost[1:]
		}
		alive = append(alive, to.ID)
	}
}

// drain moves replicas from nodes that are being drained.
func (p *planner) drain(s *Shard) {
	for _, id := range slices.Clone(s.Replicas) {
		n := p.byID[id]
		if n == nil || n.State != Draining || len(p.alive(s)) > s.Want {
			continue // trim removes a surplus replica from this node
		}
		to, why := p.target(s, p.alive(s), n)
		if to == nil {
			p.block(s, id, "cannot leave the node that is drained: "+why)
			continue
		}
		p.move(s, id, to, "the node is drained")
	}
}

// trim removes surplus replicas: lost ones first, then those on nodes that are being drained, then
// those on the most loaded node.
func (p *planner) trim(s *Shard) {
	for len(s.Replicas) > max(s.Want, 1) && len(p.alive(s)) >= s.Want {
		worst := slices.MaxFunc(s.Replicas, func(a, b string) int {
			return cmp.Or(cmp.Compare(p.burden(s, a), p.burden(s, b)), cmp.Compare(b, a))
		})
		if len(p.alive(s)) == s.Want && slices.Contains(p.alive(s), worst) {
			return
		}
		before := len(s.Replicas)
		p.move(s, worst, nil, fmt.Sprintf("has %d replicas, but %d are wanted", before, s.Want))
		if len(s.Replicas) == before {
			return // its node has enough moves already
		}
	}
}

// burden orders the replicas of a shard by preference for removal.
func (p *planner) burden(s *Shard, id string) float64 {
	n := p.byID[id]
	switch {
	case n == nil || n.State == Down:
		return math.Inf(1)
	case n.State == Draining:
		return 1e6
	case n.Zone != "" && p.sameZone(s, n) > 1:
		return 1e3 + p.score(n)
	}
	return p.score(n)
}

// sameZone counts the replicas of a shard in a node's zone.
func (p *planner) sameZone(s *Shard, n *nodeState) int {
	count := 0
	for _, id := range s.Replicas {
		if other := p.byID[id]; other != nil && other.Zone == n.Zone {
			count++
		}
	}
	return count
}

// separate moves a replica that shares its zone with another one of the shard, if
// there are enough zones.
func (p *planner) separate(s *Shard) {
	if p.zones < s.Want || p.moved[s.ID] {
		return
	}
	for _, id := range slices.Clone(s.Replicas) {
		n := p.byID[id]
		if n == nil || n.State != Up || n.Zone == "" || p.sameZone(s, n) < 2 {
			continue
		}
		if to, _ := p.target(s, p.alive(s), n); to != nil && p.sameZone(s, to) == 0 {
			p.move(s, id, to, fmt.Sprintf("zone %s has another replica", n.Zone))
		}
	}
}

func (p *planner) block(s *Shard, node, reason string) {
	p.plan.Blocked = append(p.plan.Blocked, Blocked{Shard: s.ID, Node: node, Reason: reason})
}

// move adds a step to the plan and applies it to the planner's state. If a node of the step takes
// part in enough moves already, the step is left for the next plan.
func (p *planner) move(s *Shard, from string, to *nodeState, reason string) {
	source := p.byID[from]
	if source != nil && source.State != Down && source.moves >= p.limits.NodeMoves {
		return
	}
	m := Move{Shard: s.ID, From: from, Reason: reason}
	if from != "" {
		s.Replicas = slices.DeleteFunc(s.Replicas, func(id string) bool { return id == from })
	}
	if source != nil {
		source.moves++
		source.Used -= s.Bytes
		source.count(s, -1)
	}
	if to != nil {
		m.To, m.Bytes = to.ID, s.Bytes
		to.moves++
		to.Used += s.Bytes
		to.count(s, 1)
		s.Replicas = append(s.Replicas, to.ID)
		slices.Sort(s.Replicas)
	}
	p.moved[s.ID] = true
	p.plan.Moves = append(p.plan.Moves, m)
}
