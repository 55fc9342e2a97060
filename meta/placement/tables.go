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

	rates := newTableRates(shards, tables)
	measure := rates.measure()
	var plan []TableMove
	for len(plan) < limits.Moves {
		best, gain := rates.bestMove(limits.MinRate)
		if gain <= limits.Gain*measure {
			return plan
		}
		best.Reason = fmt.Sprintf("the table has %.1f of %.1f MiB/s of the ingest of shard %d; shard %d has %.1f MiB/s",
			best.Rate/(1<<20), rates.perShard[best.From]/(1<<20), best.From, best.To, rates.perShard[best.To]/(1<<20))
		measure -= gain
		rates.move(best)
		plan = append(plan, best)
	}
	return plan
}

// tableRates are the ingest rates after the moves of a plan.
type tableRates struct {
	shards   []ShardLoad
	tables   []TableLoad
	node     map[uint32]string // of a shard
	perShard map[uint32]float64
	perNode  map[string]float64
	moved    map[uint64]bool // tables
}

func newTableRates(shards []ShardLoad, tables []TableLoad) *tableRates {
	l := &tableRates{
		shards: shards, tables: tables,
		node: map[uint32]string{}, perShard: map[uint32]float64{}, perNode: map[string]float64{}, moved: map[uint64]bool{},
	}
	for _, s := range shards {
		l.node[s.ID] = s.Node
	}
	for _, t := range tables {
		l.perShard[t.Shard] += t.Rate
		l.perNode[l.node[t.Shard]] += t.Rate
	}
	return l
}

// measure returns the value that a move has to lower: mainly the unevenness of nodes.
func (r *tableRates) measure() float64 {
	sum := 0.0
	for _, s := range r.shards {
		sum += shardWeight * r.perShard[s.ID] * r.perShard[s.ID]
	}
	for _, rate := range sortedValues(r.perNode) {
		sum += rate * rate
	}
	return sum
}

// bestMove returns the move that lowers the measure most, and by how much: 0 if no move lowers it. Tables with a rate
// below minRate stay, and no table moves twice.
func (r *tableRates) bestMove(minRate float64) (best TableMove, bestGain float64) {
	for _, t := range r.tables {
		if t.Fixed || r.moved[t.ID] || t.Rate < minRate {
			continue
		}
		for _, s := range r.shards {
			if !s.Open || s.ID == t.Shard {
				continue
			}
			gain := shardWeight * squaresGain(r.perShard[t.Shard], r.perShard[s.ID], t.Rate)
			if a, b := r.node[t.Shard], s.Node; a != b {
				gain += squaresGain(r.perNode[a], r.perNode[b], t.Rate)
			}
			if gain > bestGain {
				best, bestGain = TableMove{Table: t.ID, From: t.Shard, To: s.ID, Rate: t.Rate}, gain
			}
		}
	}
	return best, bestGain
}

// move carries out a move.
func (r *tableRates) move(m TableMove) {
	r.moved[m.Table] = true
	r.perShard[m.From] -= m.Rate
	r.perShard[m.To] += m.Rate
	r.perNode[r.node[m.From]] -= m.Rate
	r.perNode[r.node[m.To]] += m.Rate
	i := slices.IndexFunc(r.tables, func(t TableLoad) bool { return t.ID == m.Table })
	r.tables[i].Shard = m.To
}

// shardWeight is the weight of the unevenness of shards against the unevenness of nodes.
const shardWeight = 0.1

// squaresGain returns by how much a² + b² decreases if rate moves from a to b.
func squaresGain(a, b, rate float64) float64 {
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
