package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const mib = 1 << 20

func TestSpreadTables(t *testing.T) {
	two := []ShardLoad{{ID: 1, Node: "a", Open: true}, {ID: 2, Node: "b", Open: true}}
	for _, c := range []struct {
		name   string
		shards []ShardLoad
		tables []TableLoad
		want   []string
	}{
		{"nothing is hot", two, []TableLoad{{ID: 1, Shard: 1, Rate: 1000}, {ID: 2, Shard: 1, Rate: 1000}}, nil},
		{"one of two goes to the new shard", two, []TableLoad{
			{ID: 1, Shard: 1, Rate: 10 * mib}, {ID: 2, Shard: 1, Rate: 10 * mib},
		}, []string{"table 1: 1 -> 2"}},
		{"a single hot table stays", two, []TableLoad{{ID: 1, Shard: 1, Rate: 10 * mib}, {ID: 2, Shard: 1, Rate: 10}}, nil},
		{"small differences are left", two, []TableLoad{
			{ID: 1, Shard: 1, Rate: 10 * mib}, {ID: 2, Shard: 2, Rate: 8 * mib}, {ID: 3, Shard: 1, Rate: 2 * mib},
		}, nil},
		{
			"tables that are fixed stay", two,
			[]TableLoad{{ID: 1, Shard: 1, Rate: 10 * mib, Fixed: true}, {ID: 2, Shard: 1, Rate: 8 * mib}},
			[]string{"table 2: 1 -> 2"},
		},
		{
			"shards that are not open take none",
			[]ShardLoad{two[0], {ID: 2, Node: "b"}},
			[]TableLoad{{ID: 1, Shard: 1, Rate: 10 * mib}, {ID: 2, Shard: 1, Rate: 10 * mib}},
			nil,
		},
		{
			"another node is better than another shard",
			[]ShardLoad{two[0], {ID: 2, Node: "a", Open: true}, {ID: 3, Node: "b", Open: true}},
			[]TableLoad{{ID: 1, Shard: 1, Rate: 10 * mib}, {ID: 2, Shard: 1, Rate: 10 * mib}},
			[]string{"table 1: 1 -> 3"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, m := range SpreadTables(c.shards, c.tables, TableLimits{}) {
				got = append(got, fmt.Sprintf("table %d: %d -> %d", m.Table, m.From, m.To))
				if m.Reason == "" {
					t.Error("a move without a reason")
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEmptiest(t *testing.T) {
	shards := []ShardLoad{{1, "a", true}, {2, "a", true}, {3, "b", true}, {4, "c", false}, {5, "b", true}}
	tables := []TableLoad{{ID: 1, Shard: 3, Rate: 5}, {ID: 2, Shard: 1, Rate: 1}}
	for _, c := range []struct {
		keep []uint32
		n    int
		want []uint32
	}{
		{nil, 2, []uint32{2, 5}},
		{[]uint32{3}, 3, []uint32{3, 2, 5}},
		{[]uint32{4, 9}, 2, []uint32{4, 2}},
		{nil, 9, []uint32{2, 5, 1, 3}},
	} {
		if diff := cmp.Diff(c.want, Emptiest(shards, tables, c.keep, c.n)); diff != "" {
			t.Errorf("keep %v, %d (-want +got):\n%s", c.keep, c.n, diff)
		}
	}
}

// FuzzSpreadTables executes plans for random loads. They must end, must not depend on the order of
// the arguments, and must never move a fixed table or use a closed shard.
func FuzzSpreadTables(f *testing.F) {
	for seed := range uint64(30) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 2))
		var shards []ShardLoad
		for i := range 1 + r.IntN(12) {
			shards = append(shards, ShardLoad{ID: uint32(i + 1), Node: fmt.Sprint("n", r.IntN(5)), Open: r.IntN(8) > 0})
		}
		var tables []TableLoad
		for i := range r.IntN(60) {
			tables = append(tables, TableLoad{
				ID: uint64(i + 1), Shard: uint32(1 + r.IntN(len(shards))), Rate: r.ExpFloat64() * 5 * mib, Fixed: r.IntN(6) == 0,
			})
		}
		for round := 0; ; round++ {
			if round > 200 {
				t.Fatal("no end of plans")
			}
			plan := SpreadTables(shards, tables, TableLimits{})
			shuffled := slices.Clone(tables)
			r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			if diff := cmp.Diff(plan, SpreadTables(shards, shuffled, TableLimits{})); diff != "" {
				t.Fatalf("another order gives another plan:\n%s", diff)
			}
			if len(plan) == 0 {
				return
			}
			for _, m := range plan {
				at := &tables[slices.IndexFunc(tables, func(t TableLoad) bool { return t.ID == m.Table })]
				to := shards[slices.IndexFunc(shards, func(s ShardLoad) bool { return s.ID == m.To })]
				if at.Fixed || at.Shard != m.From || !to.Open {
					t.Fatalf("a move that must not be: %+v", m)
				}
				at.Shard = m.To
			}
		}
	})
}
