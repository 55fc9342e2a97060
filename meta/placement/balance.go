package placement

import (
	"cmp"
	"fmt"
	"slices"

	"cordwood/proto/words"
)

// balance adds moves that equalise the nodes' scores: repeatedly the move that lowers their
// variance most for its bytes, until the scores are close or a limit is reached.
func (p *planner) balance() {
	budget := int64(p.limits.Share * float64(p.bytes))
	for p.uneven() {
		s, from, to := p.bestMove()
		if s == nil || len(p.plan.Moves) > 0 && s.Bytes > budget {
			if len(p.plan.Moves) == 0 {
				p.plan.Even = p.stuck()
			}
			return
		}
		budget -= s.Bytes
		p.move(s, from.ID, to, fmt.Sprintf("balance: node %s has %s and a load of %.2f, node %s %d and %.2f", from.ID,
			words.Count(from.replicas, "replica"), p.score(from), to.ID, to.replicas, p.score(to)))
	}
	if len(p.plan.Moves) == 0 {
		p.plan.Even = p.even()
	}
}

// even returns the reason why even nodes are left unchanged.
func (p *planner) even() string {
	nodes := p.up()
	if len(nodes) < 2 {
		return fmt.Sprintf("%s take replicas, but balance needs two", words.Say(len(nodes), "node can", "nodes can"))
	}
	scores, counts := p.spans(nodes)
	hold := fmt.Sprintf("%d to %d replicas each", int(counts.low), int(counts.high))
	if counts.low == counts.high {
		hold = words.Count(int(counts.low), "replica") + " each"
	}
	return fmt.Sprintf("the nodes are even enough: they hold %s, and their loads are %.2f to %.2f. Replicas are "+
		"moved when two nodes differ by %d replicas or by %.2f in load",
		hold, scores.low, scores.high, p.lopsidedFrom(counts), p.limits.Spread*scores.mean)
}

// stuck returns the reason why uneven nodes are left unchanged.
func (p *planner) stuck() string {
	nodes := p.up()
	least := slices.MinFunc(nodes, func(a, b *nodeState) int {
		return cmp.Or(cmp.Compare(a.replicas, b.replicas), cmp.Compare(p.score(a), p.score(b)), cmp.Compare(a.ID, b.ID))
	})
	switch {
	case !slices.ContainsFunc(p.shards, func(s *Shard) bool { return !s.Busy && !s.Leaving }):
		return "an operation is running for each shard: ask again when these have ended"
	case least.moves >= p.limits.NodeMoves:
		return fmt.Sprintf("node %s, which has the lowest load, takes part in %d moves: ask again when they have "+
			"ended", least.ID,
			least.moves)
	case float64(least.Used) > p.limits.MustFill*float64(least.Capacity):
		return fmt.Sprintf("node %s, which has the lowest load, could take more, but %d %% of its disk is used, and no "+
			"replica goes where it is more than %.0f %%: add space",
			least.ID, 100*least.Used/max(least.Capacity, 1), 100*p.limits.MustFill)
	case !slices.ContainsFunc(nodes, func(n *nodeState) bool { return n != least && p.roomFrom(n, least, 0) }):
		return fmt.Sprintf("node %s, which has the lowest load, could take more, but %d %% of its disk is used: above %.0f "+
			"%% "+
			"it takes replicas only from nodes whose disks are as full",
			least.ID, 100*least.Used/max(least.Capacity, 1), 100*p.limits.Fill)
	}
	return "the nodes are not even, but no move of a single replica makes them more so"
}

// span is the range of a measure of nodes.
type span struct{ low, high, mean float64 }

// spans returns the spans of the scores, and of the numbers of replicas.
func (p *planner) spans(nodes []*nodeState) (scores, counts span) {
	measure := func(of func(*nodeState) float64) span {
		s := span{low: of(nodes[0]), high: of(nodes[0])}
		for _, n := range nodes {
			x := of(n)
			s.low, s.high, s.mean = min(s.low, x), max(s.high, x), s.mean+x/float64(len(nodes))
		}
		return s
	}
	return measure(p.score), measure(func(n *nodeState) float64 { return float64(n.replicas) })
}

// lopsidedFrom returns the difference in replicas from which two nodes are uneven. With many nodes or
// full disks, a node without replicas hardly changes the scores, but it should still get some.
func (p *planner) lopsidedFrom(counts span) int {
	return max(2, int(2*p.limits.Spread*counts.mean)+1)
}

// up returns the nodes among which shards are balanced.
func (p *planner) up() []*nodeState {
	return slices.DeleteFunc(slices.Clone(p.nodes), func(n *nodeState) bool { return n.State != Up })
}

// uneven reports whether two scores, or two numbers of replicas, differ by more than the limit.
func (p *planner) uneven() bool {
	nodes := p.up()
	if len(nodes) < 2 {
		return false
	}
	_, counts := p.spans(nodes)
	return p.farApart() || int(counts.high-counts.low) >= p.lopsidedFrom(counts)
}

// farApart reports whether two scores differ by more than the limit. If none do, replicas move only
// from nodes with more replicas: ingest rates fluctuate, and replicas would follow them.
func (p *planner) farApart() bool {
	scores, _ := p.spans(p.up())
	return scores.high-scores.low > p.limits.Spread*scores.mean
}

// least is the minimum gain of a move. It prevents moves back and forth because of rounding errors,
// or of shards without load.
const least = 1e-6

// bestMove returns the move with the largest gain for its bytes, or nil.
func (p *planner) bestMove() (shard *Shard, from, to *nodeState) {
	best, byCount := 0.0, !p.farApart()
	for _, s := range p.shards {
		if p.moved[s.ID] || s.Busy || s.Leaving {
			continue
		}
		for _, id := range s.Replicas {
			a := p.byID[id]
			if a == nil || a.State != Up || a.moves >= p.limits.NodeMoves {
				continue
			}
			for _, b := range p.nodes {
				evens := a.replicas >= b.replicas+2
				if !p.allowed(s, a, b) || byCount && !evens {
					continue
				}
				gain := p.gain(s, a, b, evens)
				// Every move has a fixed cost besides its bytes.
				if worth := gain / float64(s.Bytes+1<<20); gain > least && worth > best {
					best, shard, from, to = worth, s, a, b
				}
			}
		}
	}
	return shard, from, to
}

// allowed reports whether a replica of s may move from a to b.
func (p *planner) allowed(s *Shard, a, b *nodeState) bool {
	if b.State != Up || b.moves >= p.limits.NodeMoves || slices.Contains(s.Replicas, b.ID) || !p.roomFrom(a, b, s.Bytes) {
		return false
	}
	// Never put more replicas into one zone than before.
	return b.Zone == a.Zone || b.Zone == "" || p.sameZone(s, b) == 0
}

// sameFill is the difference in relative usage up to which two disks count as equally full.
const sameFill = 0.01

// roomFrom reports whether a replica of the given size may move from a to b for balance: there is
// space, or both disks are about equally full, as when they are the same disk.
func (p *planner) roomFrom(a, b *nodeState, bytes int64) bool {
	fill := func(used, capacity int64) float64 { return float64(used) / float64(max(capacity, 1)) }
	after := fill(b.Used+bytes, b.Capacity)
	return after <= p.limits.Fill || after <= p.limits.MustFill && after <= fill(a.Used, a.Capacity)+sameFill
}

// overshoot limits a move to reversing the difference of two nodes by this share of it. A move that
// only exchanges the nodes is not worth its bytes, and would be reversed at the next change.
const overshoot = 0.5

// gain returns how much a move lowers the sum of the squared scores. As the mean hardly changes,
// this is proportional to the variance. It is 0 if the move overshoots, unless it equalises the
// numbers of replicas.
func (p *planner) gain(s *Shard, a, b *nodeState, evens bool) float64 {
	squares := func() float64 {
		mean, nodes := 0.0, p.up()
		for _, n := range nodes {
			mean += p.score(n) / float64(len(nodes))
		}
		sum := 0.0
		for _, n := range nodes {
			d := p.score(n) - mean
			sum += d * d
		}
		return sum
	}
	before, apart := squares(), p.score(a)-p.score(b)
	shift := func(n *nodeState, sign int) {
		n.Used += int64(sign) * s.Bytes
		n.count(s, sign)
	}
	shift(a, -1)
	shift(b, 1)
	after, reversed := squares(), p.score(b)-p.score(a)
	shift(a, 1)
	shift(b, -1)
	if reversed > overshoot*apart && !evens {
		return 0
	}
	return before - after
}
