package placement

import (
	"fmt"
	"slices"
)

// balance adds the moves that even the nodes' scores out: again and again the one that
// lowers their variance most for its bytes, until they are close or a limit is reached.
func (p *planner) balance() {
	budget := int64(p.limits.Share * float64(p.bytes))
	for p.uneven() {
		s, from, to := p.bestMove()
		if s == nil || len(p.plan.Moves) > 0 && s.Bytes > budget {
			return
		}
		budget -= s.Bytes
		p.move(s, from.ID, to, fmt.Sprintf("balance: node %s has a load of %.2f, node %s one of %.2f", from.ID, p.score(from), to.ID, p.score(to)))
	}
}

// up are the nodes among which shards are balanced.
func (p *planner) up() []*nodeState {
	return slices.DeleteFunc(slices.Clone(p.nodes), func(n *nodeState) bool { return n.State != Up })
}

// uneven tells whether two scores differ by more than the limit.
func (p *planner) uneven() bool {
	nodes := p.up()
	if len(nodes) < 2 {
		return false
	}
	lowest, highest, sum := p.score(nodes[0]), p.score(nodes[0]), 0.0
	for _, n := range nodes {
		x := p.score(n)
		lowest, highest, sum = min(lowest, x), max(highest, x), sum+x
	}
	return highest-lowest > p.limits.Spread*sum/float64(len(nodes))
}

// least is the smallest gain that is worth a move. It keeps rounding errors, and
// shards without load, from moving to and fro.
const least = 1e-6

// bestMove returns the move with the largest gain for its bytes, or nil.
func (p *planner) bestMove() (shard *Shard, from, to *nodeState) {
	best := 0.0
	for _, s := range p.shards {
		if p.moved[s.ID] || s.Busy {
			continue
		}
		for _, id := range s.Replicas {
			a := p.byID[id]
			if a == nil || a.State != Up || a.moves >= p.limits.NodeMoves {
				continue
			}
			for _, b := range p.nodes {
				if !p.allowed(s, a, b) {
					continue
				}
				gain := p.gain(s, a, b)
				// A move costs something whatever its size.
				if worth := gain / float64(s.Bytes+1<<20); gain > least && worth > best {
					best, shard, from, to = worth, s, a, b
				}
			}
		}
	}
	return shard, from, to
}

// allowed tells whether a replica of s may move from a to b.
func (p *planner) allowed(s *Shard, a, b *nodeState) bool {
	if b.State != Up || b.moves >= p.limits.NodeMoves || slices.Contains(s.Replicas, b.ID) ||
		float64(b.Used+s.Bytes) > p.limits.Fill*float64(b.Capacity) {
		return false
	}
	// Never more replicas in one zone than before.
	return b.Zone == a.Zone || b.Zone == "" || p.sameZone(s, b) == 0
}

// gain is by how much a move lowers the sum of the squares of the scores, which, as
// the mean hardly changes, is the variance but for a factor.
func (p *planner) gain(s *Shard, a, b *nodeState) float64 {
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
	before := squares()
	shift := func(n *nodeState, sign int64) {
		n.Used += sign * s.Bytes
		n.ingest += float64(sign) * s.Ingest
		n.replicas += int(sign)
	}
	shift(a, -1)
	shift(b, 1)
	after := squares()
	shift(a, 1)
	shift(b, -1)
	return before - after
}
