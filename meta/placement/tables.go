package placement

import (
	"cmp"
	"fmt"
	"slices"
)

// ShardLoad is a shard, as a plan for tables needs it.
type ShardLoad struct {
	ID uint32
	// Node is the node that takes the shard's writes.
	Node string
	// Open means that tables may be moved to it.
	Open bool
}

// TableLoad is a table, as a plan for tables needs it.
type TableLoad struct {
	ID uint64
	// Shard is the shard that takes the table's writes.
	Shard uint32
	// Rate is its ingest rate in bytes a second.
	Rate float64
	// Fixed means that it must stay where it is.
	Fixed bool
}

// TableMove is one step of a plan for tables: another shard takes the writes of a table.
type TableMove struct {
	Table    uint64
	From, To uint32
	Rate     float64
	Reason   string
}

// TableLimits limit a plan for tables. The zero value means the defaults.
type TableLimits struct {
	// Moves is the maximum number of tables that are moved at a time. Default: 4.
	Moves int
	// MinRate is the minimum ingest rate, in bytes a second, of a table that is worth a move.
	// Default: 1 MiB/s.
	MinRate float64
	// Gain is the share by which a move must lower the unevenness. Default: 0.1.
	Gain float64
}

// SpreadTables plans moves of hot tables so that first the nodes and then the shards have similar
// ingest rates. It is a pure function whose result does not depend on the order of its arguments.
// Executing its plans ends after finitely many steps, because every move lowers the same measure by
// a minimum share.
func SpreadTables(shards []ShardLoad, tables []TableLoad, limits TableLimits) []TableMove {
	limits.Moves = cmp.Or(limits.Moves, 4)
	limits.MinRate = cmp.Or(limits.MinRate, 1<<20)
	limits.Gain = cmp.Or(limits.Gain, 0.1)
	shards, tables = slices.Clone(shards), slices.Clone(tables)
	slices.SortFunc(shards, func(a, b ShardLoad) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(tables, func(a, b TableLoad) int { return cmp.Compare(a.ID, b.ID) })

	node := map[uint32]string{}
	perShard, perNode := map[uint32]float64{}, map[string]float64{}
	for _, s := range shards {
		node[s.ID] = s.Node
	}
	for _, t := range tables {
		perShard[t.Shard] += t.Rate
		perNode[node[t.Shard]] += t.Rate
	}
	// measure is the value that a move has to lower: mainly the unevenness of nodes.
	measure := 0.0
	for _, s := range shards {
		measure += shardWeight * perShard[s.ID] * perShard[s.ID]
	}
	for _, rate := range sortedValues(perNode) {
		measure += rate * rate
	}

	var plan []TableMove
	moved := map[uint64]bool{}
	for len(plan) < limits.Moves {
		best, bestGain := TableMove{}, 0.0
		for _, t := range tables {
			if t.Fixed || moved[t.ID] || t.Rate < limits.MinRate {
				continue
			}
			for _, s := range shards {
				if !s.Open || s.ID == t.Shard {
					continue
				}
				gain := shardWeight * lowered(perShard[t.Shard], perShard[s.ID], t.Rate)
				if a, b := node[t.Shard], s.Node; a != b {
					gain += lowered(perNode[a], perNode[b], t.Rate)
				}
				if gain > bestGain {
					best, bestGain = TableMove{Table: t.ID, From: t.Shard, To: s.ID, Rate: t.Rate}, gain
				}
			}
		}
		if bestGain <= limits.Gain*measure {
			return plan
		}
		best.Reason = fmt.Sprintf("the table has %.1f of %.1f MiB/s of the ingest of shard %d; shard %d has %.1f MiB/s",
			best.Rate/(1<<20), perShard[best.From]/(1<<20), best.From, best.To, perShard[best.To]/(1<<20))
		measure -= bestGain
		moved[best.Table] = true
		perShard[best.From] -= best.Rate
		perShard[best.To] += best.Rate
		perNode[node[best.From]] -= best.Rate
		perNode[node[best.To]] += best.Rate
		i := slices.IndexFunc(tables, func(t TableLoad) bool { return t.ID == best.Table })
		tables[i].Shard = best.To
		plan = append(plan, best)
	}
	return plan
}

// shardWeight is the weight of the unevenness of shards against the unevenness of nodes.
const shardWeight = 0.1

// lowered returns the decrease of the sum of two squares if rate moves from a to b.
func lowered(a, b, rate float64) float64 {
	return a*a + b*b - (a-rate)*(a-rate) - (b+rate)*(b+rate)
}

// sortedValues makes the sum of floats independent of the order of a map.
func sortedValues(m map[string]float64) []float64 {
	out := make([]float64, 0, len(m))
	for _, v := range m {
		out = append(out, v)
	}
	slices.Sort(out)
	return out
}

// Emptiest returns up to n open shards: first the shards of keep, in their order, then those with
// the lowest ingest rates.
func Emptiest(shards []ShardLoad, tables []TableLoad, keep []uint32, n int) []uint32 {
	rate, count := map[uint32]float64{}, map[string]int{}
	for _, t := range tables {
		rate[t.Shard] += t.Rate
	}
	node := map[uint32]string{}
	for _, s := range shards {
		node[s.ID] = s.Node
	}
	var out []uint32
	for _, id := range keep {
		if _, ok := node[id]; ok && len(out) < n && !slices.Contains(out, id) {
			out = append(out, id)
			count[node[id]]++
		}
	}
	for len(out) < n {
		best := -1
		for i, s := range shards {
			if !s.Open || slices.Contains(out, s.ID) {
				continue
			}
			// Nodes without a part yet come first, because one node is not faster with two parts.
			if best < 0 || cmp.Or(cmp.Compare(count[s.Node], count[shards[best].Node]),
				cmp.Compare(rate[s.ID], rate[shards[best].ID]), cmp.Compare(s.ID, shards[best].ID)) < 0 {
				best = i
			}
		}
		if best < 0 {
			break
		}
		out = append(out, shards[best].ID)
		count[shards[best].Node]++
	}
	return out
}
