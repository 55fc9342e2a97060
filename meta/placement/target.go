package placement

import (
	"fmt"
	"slices"
)

// target returns the best node for another replica of s, besides those on the nodes in alive.
// leaving, if set, gives up its replica for it. If there is no such node, why describes what is
// missing.
func (p *planner) target(s *Shard, alive []string, leaving *nodeState) (best *nodeState, why string) {
	taken := p.zonesOf(alive, leaving)
	spread := p.zones >= s.Want
	up, free, room, tight := 0, 0, 0, false
	for _, n := range p.nodes {
		if n.State != Up {
			continue
		}
		up++
		if slices.Contains(s.Replicas, n.ID) || spread && taken[n.Zone] {
			continue
		}
		free++
		if float64(n.Used+s.Bytes) > p.limits.MustFill*float64(n.Capacity) {
			continue
		}
		room++
		if n.moves >= p.limits.NodeMoves {
			continue
		}
		full := float64(n.Used+s.Bytes) > p.limits.Fill*float64(n.Capacity)
		if best == nil || tight && !full || tight == full && p.score(n) < p.score(best) {
			best, tight = n, full
		}
	}
	switch {
	case best != nil:
		return best, ""
	case free == 0 && spread && len(taken) > 0:
		return nil, fmt.Sprintf("of the nodes that are up (%d) none is in a zone without a replica: add a node in "+
			"another zone", up)
	case free == 0 && up == 0:
		return nil, "no other node is up: add a node"
	case free == 0:
		return nil, fmt.Sprintf("all nodes that are up (%d) have a replica; add a node", up)
	case room == 0:
		return nil, fmt.Sprintf("no node has room for %d bytes below %.0f %% of its disk: add a node or space", s.Bytes,
			100*p.limits.MustFill)
	}
	return nil, fmt.Sprintf("every node with room takes part in %d moves: wait for them", p.limits.NodeMoves)
}

// zonesOf returns the zones of the nodes in alive except leaving.
func (p *planner) zonesOf(alive []string, leaving *nodeState) map[string]bool {
	zones := map[string]bool{}
	for _, id := range alive {
		if n := p.byID[id]; n != leaving && n != nil && n.Zone != "" {
			zones[n.Zone] = true
		}
	}
	return zones
}
