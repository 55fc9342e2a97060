package split

import (
	"slices"

	"cordwood/shard/query/engine/sql"
)

// Hashed contains the statements that count distinct values by their hashes, for values that are
// too large to be sent.
//
// Values with different hashes are different. Each node sends the hash of each of its distinct
// values. A hash that only one node sends is one value. If several nodes send a hash, they are
// asked for its values.
type Hashed struct {
	// Hashes returns the hash of each distinct value of a node, and Probe. Probe differs between engines that hash in
	// different ways.
	Hashes string
	// Before and After enclose a list of hashes. The resulting statement returns the distinct values with these hashes,
	// each after its hash.
	Before, After string
	// Final computes the answer from one row with the number of values, in NumberColumn. Worker is
	// the statement that would return this row for all rows.
	Worker, Final string
}

// Probe is a statement that returns the hash of a literal. Engines with different answers must not
// combine hashes.
const Probe = "hash('cordwood', 1, CAST(0.5 AS DOUBLE))"

// numberName is the name of the column with the number of distinct values.
const numberName = `"__n"`

// hashed returns the statements that count by hashes. It returns nil if the statement requests more
// than numbers of distinct values.
func (m *merging) hashed() *Hashed {
	if m.pairs == "" || len(m.groups) > 0 || len(m.parts) > 0 || m.sets != nil || m.ranks || m.best != "" || m.project {
		return nil
	}
	other := func(v any) bool {
		found := false
		sql.EachNode(v, func(n sql.Node) bool {
			found = found || isAggregate(n) && sql.LowerASCII(sql.Text(n, "function_name")) != "count"
			return !found
		})
		return found
	}
	if slices.ContainsFunc(m.items, func(n sql.Node) bool { return other(n) }) || other(m.having) ||
		slices.ContainsFunc(m.orders, func(o order) bool { return other(o.by) }) {
		return nil
	}
	source, err := m.source()
	if err != nil {
		return nil
	}
	counted := &merging{block: m.block, keys: m.keys, number: numberName}
	h := &Hashed{Worker: "SELECT count(DISTINCT " + m.pairs + ") AS " + numberName + source}
	items, err := counted.finals()
	if err != nil {
		return nil
	}
	after, err := counted.after()
	if err != nil {
		return nil
	}
	h.Final = "SELECT " + items + " FROM " + Partials + after
	values := " FROM (SELECT " + m.pairs + " AS " + pairsName + source + " GROUP BY 1) WHERE "
	h.Hashes = `SELECT hash(` + pairsName + `) AS "__k"` + values + pairsName + ` IS NOT NULL UNION ALL SELECT ` + Probe
	h.Before, h.After = `SELECT hash(`+pairsName+`) AS "__k", `+pairsName+values+"hash("+pairsName+") IN (", ")"
	return h
}
