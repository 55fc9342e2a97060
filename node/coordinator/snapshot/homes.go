package snapshot

import (
	"cmp"
	"fmt"
	"slices"

	"cordwood/proto/metapb"
	"cordwood/proto/words"
)

// homes orders the nodes that may get a replica.
type homes struct {
	snap     *Snapshot
	first    string          // preferred over all others; may be empty
	zones    map[string]bool // zones that have a replica of the shard
	replicas map[string]int  // by node
	heads    map[string]int  // number of shards by their first node, which usually leads
}

func newHomes(snap *Snapshot, first string) *homes {
	h := &homes{snap: snap, first: first, zones: map[string]bool{}, replicas: map[string]int{}, heads: map[string]int{}}
	for _, s := range snap.Status.Shards {
		for i, id := range slices.Concat(s.Replicas, s.Learners) {
			h.replicas[id]++
			if i == 0 {
				h.heads[id]++
			}
		}
	}
	return h
}

// able returns the nodes that may get a replica, without the nodes in not.
func (h *homes) able(not []string) (ids []string) {
	for _, n := range h.snap.Status.Nodes {
		if id := n.GetNode().GetId(); h.snap.WhyNoReplicas(id) == "" && !slices.Contains(not, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// best returns the node that should get the next replica: in a zone without one, with the fewest
// replicas.
func (h *homes) best(ids []string) string {
	return slices.MinFunc(ids, func(a, b string) int {
		return cmp.Or(
			CompareBool(b == h.first, a == h.first),
			CompareBool(h.zones[h.snap.Zone(a)], h.zones[h.snap.Zone(b)]),
			cmp.Compare(h.replicas[a], h.replicas[b]), cmp.Compare(h.heads[a], h.heads[b]), cmp.Compare(a, b))
	})
}

// use records that a node has or will get a replica of the shard.
func (h *homes) use(id string) {
	if z := h.snap.Zone(id); z != "" {
		h.zones[z] = true
	}
}

// Homes chooses n nodes for a new shard: first the node first, if it is set and may get a replica, then the nodes
// with the fewest replicas, preferring zones without a replica. It chooses none of the nodes in not. If there are not
// enough nodes, why describes what is missing.
func Homes(snap *Snapshot, n int, first string, not ...string) (nodes []string, why string) {
	h := newHomes(snap, first)
	able := h.able(not)
	if len(able) < n {
		return nil, fmt.Sprintf("a shard of %s needs as many nodes that hold shards, and %s up: add %d",
			words.Count(n, "replica"),
			words.Pick(len(able), "1 is", fmt.Sprintf("%d are", len(able))), n-len(able))
	}
	for len(nodes) < n {
		best := h.best(able)
		able = slices.DeleteFunc(able, func(id string) bool { return id == best })
		nodes = append(nodes, best)
		h.use(best)
	}
	// The first node usually leads, and should not always be the same one.
	slices.SortFunc(nodes, func(a, b string) int {
		return cmp.Or(CompareBool(b == first, a == first), cmp.Compare(h.heads[a], h.heads[b]), cmp.Compare(a, b))
	})
	return nodes, ""
}

// HomeBeside returns the node that should get a replica of a shard in place of another node, or an
// empty text. It prefers zones without other replicas of the shard, and nodes with few replicas.
func HomeBeside(snap *Snapshot, s *metapb.Shard, instead string) string {
	h := newHomes(snap, "")
	for _, id := range s.Replicas {
		if id != instead {
			h.use(id)
		}
	}
	able := h.able(s.Replicas)
	if len(able) == 0 {
		return ""
	}
	return h.best(able)
}

// CompareBool orders false before true.
func CompareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
