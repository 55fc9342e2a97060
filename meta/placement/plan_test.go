package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const gib = 1 << 30

// nodesOf builds nodes with 100 GiB from words such as "a/zone1", "b/zone2:draining".
func nodesOf(words ...string) []Node {
	var out []Node
	for _, w := range words {
		w, state, _ := strings.Cut(w, ":")
		id, zone, _ := strings.Cut(w, "/")
		n := Node{ID: id, Zone: zone, Capacity: 100 * gib}
		switch state {
		case "draining":
			n.State = Draining
		case "down":
			n.State = Down
		case "away":
			n.State = Away
		case "busy":
			n.Moves = 2
		case "tight":
			n.Used = 80 * gib
		case "crowded":
			n.Used = 86 * gib
		case "full":
			n.Used = 92 * gib
		}
		out = append(out, n)
	}
	return out
}

// of returns a shard of 4 GiB.
func of(id uint32, want int, replicas ...string) Shard {
	return Shard{ID: id, Want: want, Replicas: replicas, Bytes: 4 * gib, Ingest: 1000}
}

// text returns a plan without its reasons, one step on each line.
func text(p Plan) []string {
	out := []string{}
	for _, m := range p.Moves {
		out = append(out, fmt.Sprintf("shard %d: %s -> %s", m.Shard, m.From, m.To))
	}
	for _, b := range p.Blocked {
		out = append(out, fmt.Sprintf("shard %d blocked: %s", b.Shard, b.Reason))
	}
	return out
}

func TestMake(t *testing.T) {
	for _, c := range []struct {
		name   string
		nodes  []Node
		shards []Shard
		want   []string
	}{
		{"nothing to do", nodesOf("a", "b", "c"), []Shard{of(1, 3, "a", "b", "c")}, []string{}},
		{"a replica is missing", nodesOf("a", "b", "c"), []Shard{of(1, 3, "a", "b")}, []string{"shard 1:  -> c"}},
		{"a node is lost", nodesOf("a", "b", "c:down", "d"), []Shard{of(1, 3, "a", "b", "c")}, []string{"shard 1: c -> d"}},
		{"a node is not listed", nodesOf("a", "b", "d"), []Shard{of(1, 3, "a", "b", "c")}, []string{"shard 1: c -> d"}},
		{
			"all are lost", nodesOf("a:down", "b"),
			[]Shard{of(1, 1, "a")},
			[]string{"shard 1 blocked: every replica is on a node that is down: bring one back, or restore the shard " +
				"from a backup"},
		},
		{
			"no node for a repair", nodesOf("a", "b", "c:down"),
			[]Shard{of(1, 3, "a", "b", "c")},
			[]string{"shard 1 blocked: node c is down; all nodes that are up (2) have a replica; add a node"},
		},
		{
			"no zone for a repair", nodesOf("a/1", "b/2", "c/3:down", "d/2", "e/3:full"),
			[]Shard{of(1, 3, "a", "b", "c")},
			[]string{"shard 1 blocked: node c is down; no node has room for 4294967296 bytes below 90 % of its disk: " +
				"add a node or space"},
		},
		{
			"fewer zones than replicas", nodesOf("a/1", "b/2", "c/2:down", "d/1"),
			[]Shard{of(1, 3, "a", "b", "c")},
			[]string{"shard 1: c -> d"},
		},
		{"a silent node is waited for", nodesOf("a", "b", "c:away", "d"), []Shard{of(1, 3, "a", "b", "c")}, []string{}},
		{
			"a silent node takes nothing", nodesOf("a", "b", "c:away"),
			[]Shard{of(1, 3, "a", "b")},
			[]string{"shard 1 blocked: has 2 of 3 replicas; all nodes that are up (2) have a replica; " +
				"add a node"},
		},
		{
			"what must move may fill a disk further", nodesOf("a:draining", "b:tight"),
			[]Shard{of(1, 1, "a")},
			[]string{"shard 1: a -> b"},
		},
		{
			"a disk with room is preferred", nodesOf("a:draining", "b:tight", "c"),
			[]Shard{of(1, 1, "a"), of(2, 1, "c"), of(3, 1, "c")},
			[]string{"shard 1: a -> c"},
		},
		{
			"a busy node takes no more", nodesOf("a:draining", "b:busy", "c"),
			[]Shard{of(1, 1, "a"), of(2, 1, "c")},
			[]string{"shard 1: a -> c"},
		},
		{
			"a busy shard is left", nodesOf("a:draining", "b"),
			[]Shard{{ID: 1, Want: 1, Replicas: []string{"a"}, Busy: true}},
			[]string{},
		},
		{"drain", nodesOf("a:draining", "b"), []Shard{of(1, 1, "a"), of(2, 1, "b")}, []string{"shard 1: a -> b"}},
		{
			"drain as far as moves are allowed", nodesOf("a:draining", "b", "c"),
			[]Shard{of(1, 1, "a"), of(2, 1, "a"), of(3, 1, "a")},
			[]string{"shard 1: a -> b", "shard 2: a -> c"},
		},
		{
			"drain without another node", nodesOf("a:draining"),
			[]Shard{of(1, 1, "a")},
			[]string{"shard 1 blocked: cannot leave the node that is drained: no other node is up: add a node"},
		},
		{
			"fewer replicas are wanted", nodesOf("a", "b", "c"),
			[]Shard{of(1, 1, "a", "b", "c")},
			[]string{"shard 1: a -> ", "shard 1: b -> "},
		},
		{
			"the surplus one is on the drained node", nodesOf("a", "b:draining"),
			[]Shard{of(1, 1, "a", "b")},
			[]string{"shard 1: b -> "},
		},
		{"zones apart", nodesOf("a/1", "b/1", "c/2", "d/3"), []Shard{of(1, 3, "a", "b", "c")}, []string{"shard 1: a -> d"}},
		{"a new node gets a share", nodesOf("a", "b"), []Shard{
			of(1, 1, "a"), of(2, 1, "a"), of(3, 1, "a"),
			of(4, 1, "a"),
		}, []string{"shard 1: a -> b"}},
		{
			"an empty node among many gets some", append(nodesOf("a", "b", "c", "d", "e"), Node{
				ID: "f", Capacity: 100 * gib, Used: 4 * gib,
			}),
			[]Shard{
				{ID: 1, Want: 1, Replicas: []string{"a"}},
				{ID: 2, Want: 1, Replicas: []string{"a"}},
				{ID: 3, Want: 1, Replicas: []string{"b"}},
				{ID: 4, Want: 1, Replicas: []string{"b"}},
				{ID: 5, Want: 1, Replicas: []string{"c"}},
				{ID: 6, Want: 1, Replicas: []string{"d"}},
				{ID: 7, Want: 1, Replicas: []string{"e"}},
			},
			[]string{"shard 1: a -> f"},
		},
		{
			"an empty node on the same full disk gets a share", nodesOf("a:crowded", "b:crowded"),
			[]Shard{{ID: 1, Want: 1, Replicas: []string{"a"}, Bytes: 1 << 20}, {
				ID: 2, Want: 1, Replicas: []string{"a"}, Bytes: 1 << 20,
			}},
			[]string{"shard 1: a -> b"},
		},
		{"an empty node with a fuller disk gets none", nodesOf("a", "b:crowded"), []Shard{
			{ID: 1, Want: 1, Replicas: []string{"a"}, Bytes: 1 << 20}, {ID: 2, Want: 1, Replicas: []string{"a"}, Bytes: 1 << 20},
		}, []string{}},
		{
			"shares of next to nothing move nothing", nodesOf("a", "b", "c"),
			[]Shard{
				{ID: 1, Want: 1, Replicas: []string{"a"}, Ingest: 5000},
				{ID: 2, Want: 1, Replicas: []string{"b"}},
				{ID: 3, Want: 1, Replicas: []string{"c"}},
				{ID: 4, Want: 1, Replicas: []string{"a"}, Ingest: 5000},
			},
			[]string{},
		},
		{
			"shares of much do", nodesOf("a", "b", "c"),
			[]Shard{
				{ID: 1, Want: 1, Replicas: []string{"a"}, Ingest: 50e6},
				{ID: 2, Want: 1, Replicas: []string{"b"}},
				{ID: 3, Want: 1, Replicas: []string{"c"}},
				{ID: 4, Want: 1, Replicas: []string{"a"}, Ingest: 50e6},
			},
			[]string{"shard 1: a -> b", "shard 2: b -> c"},
		},
		{
			"replicas of shards that leave do not make a node full", nodesOf("a", "b"),
			[]Shard{
				{ID: 1, Want: 1, Replicas: []string{"a"}},
				{ID: 2, Want: 1, Replicas: []string{"b"}},
				{ID: 3, Want: 1, Replicas: []string{"a"}, Bytes: 60 * gib, Ingest: 50e6, Leaving: true},
				{ID: 4, Want: 1, Replicas: []string{"a"}, Leaving: true},
			},
			[]string{},
		},
		{
			"nor even", nodesOf("a", "b"),
			[]Shard{
				{ID: 1, Want: 1, Replicas: []string{"a"}},
				{ID: 2, Want: 1, Replicas: []string{"a"}},
				{ID: 3, Want: 1, Replicas: []string{"b"}, Bytes: 4 * gib, Ingest: 1000, Leaving: true},
				{ID: 4, Want: 1, Replicas: []string{"b"}, Leaving: true},
			},
			[]string{"shard 1: a -> b"},
		},
		{
			"a drained node loses them as well", nodesOf("a:draining", "b"),
			[]Shard{{ID: 3, Want: 1, Replicas: []string{"a"}, Bytes: 4 * gib, Leaving: true}},
			[]string{"shard 3: a -> b"},
		},
		{
			"one large shard cannot be balanced", nodesOf("a", "b"),
			[]Shard{{ID: 1, Want: 1, Replicas: []string{"a"}, Bytes: 60 * gib}},
			[]string{},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			nodes := settled(c.nodes, c.shards)
			got := Make(nodes, c.shards, Limits{})
			if diff := cmp.Diff(c.want, text(got)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			for _, m := range got.Moves {
				if m.Reason == "" {
					t.Errorf("shard %d moves without a reason", m.Shard)
				}
			}
			if (got.Even == "") != (len(got.Moves)+len(got.Blocked) > 0) {
				t.Errorf("%d moves, %d blocked, and why there is nothing to even out: %q", len(got.Moves),
					len(got.Blocked), got.Even)
			}
			slices.Reverse(nodes)
			shards := slices.Clone(c.shards)
			slices.Reverse(shards)
			if diff := cmp.Diff(got, Make(nodes, shards, Limits{})); diff != "" {
				t.Errorf("another order gives another plan:\n%s", diff)
			}
		})
	}
}

// settled adds the sizes of the shards to the nodes' usage.
func settled(nodes []Node, shards []Shard) []Node {
	nodes = slices.Clone(nodes)
	for _, s := range shards {
		for i := range nodes {
			if slices.Contains(s.Replicas, nodes[i].ID) {
				nodes[i].Used += s.Bytes
			}
		}
	}
	return nodes
}

// follow executes a plan.
func follow(t testing.TB, nodes []Node, shards []Shard, p Plan) {
	for _, m := range p.Moves {
		s := &shards[slices.IndexFunc(shards, func(s Shard) bool { return s.ID == m.Shard })]
		for i := range nodes {
			switch nodes[i].ID {
			case m.From:
				nodes[i].Used -= s.Bytes
			case m.To:
				nodes[i].Used += s.Bytes
				if nodes[i].State != Up || slices.Contains(s.Replicas, m.To) {
					t.Fatalf("a replica of shard %d goes to node %s, state %d, which has one: %v", s.ID, m.To,
						nodes[i].State, s.Replicas)
				}
			}
		}
		if m.From != "" {
			s.Replicas = slices.DeleteFunc(slices.Clone(s.Replicas), func(id string) bool { return id == m.From })
		}
		if m.To != "" {
			s.Replicas = append(slices.Clone(s.Replicas), m.To)
		}
	}
}

// FuzzMake executes plans in random clusters. They must end, no shard may ever have fewer living
// replicas than before or than wanted, and no disk may be overfilled.
func FuzzMake(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		var nodes []Node
		for i := range 1 + r.IntN(9) {
			n := Node{ID: fmt.Sprintf("n%d", i), Capacity: int64(50+r.IntN(200)) * gib, State: NodeState(max(0, r.IntN(7)-3))}
			if seed%2 == 0 {
				n.Zone = fmt.Sprintf("z%d", r.IntN(4))
			}
			nodes = append(nodes, n)
		}
		var shards []Shard
		for i := range r.IntN(30) {
			s := Shard{ID: uint32(i + 1), Want: 1 + 2*r.IntN(2), Bytes: int64(r.IntN(8000)) << 20, Ingest: r.ExpFloat64() * 1e6}
			for range 1 + r.IntN(4) {
				if id := fmt.Sprintf("n%d", r.IntN(len(nodes)+1)); !slices.Contains(s.Replicas, id) {
					s.Replicas = append(s.Replicas, id)
				}
			}
			shards = append(shards, s)
		}
		nodes = settled(nodes, shards)
		living := func(s Shard) int {
			n := 0
			for _, node := range nodes {
				if node.State != Down && slices.Contains(s.Replicas, node.ID) {
					n++
				}
			}
			return n
		}
		for round := 0; ; round++ {
			if round > 400 {
				t.Fatal("no end of plans")
			}
			p := Make(nodes, shards, Limits{})
			if len(p.Moves) == 0 {
				break
			}
			before := make([]int, len(shards))
			for i, s := range shards {
				before[i] = living(s)
			}
			part := map[string]int{}
			for _, m := range p.Moves {
				part[m.To]++
			}
			delete(part, "")
			for id, n := range part {
				if n > 2 {
					t.Fatalf("node %s gets %d replicas at a time", id, n)
				}
			}
			follow(t, nodes, shards, p)
			for i, s := range shards {
				if now := living(s); now < min(before[i], s.Want) {
					t.Fatalf("shard %d had %d living replicas, has %d, wants %d: %v", s.ID, before[i], now, s.Want, text(p))
				}
			}
			for _, n := range nodes {
				if part[n.ID] > 0 && float64(n.Used) > 0.9*float64(n.Capacity) {
					t.Fatalf("node %s was filled to %d of %d bytes", n.ID, n.Used, n.Capacity)
				}
			}
		}
	})
}
