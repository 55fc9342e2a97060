package split

import (
	"slices"

	"cordwood/shard/query/engine/sql"
)

// Hashed is how the number of different values is found by their hashes, if the values are too many to be sent.
//
// Values of different hashes are different. So each node sends the hash of each of its different values, and a hash
// that came once is one value. Only those values are sent whose hashes came several times.
type Hashed struct {
	// Hashes returns the hash of each different value of a node, and Probe among them, which two engines that hash in
	// other ways do not share.
	Hashes string
	// Before and After are the text around a list of hashes, in the statement for the different values that have
	// these.
	Before, After string
	// Final makes the answer of NumberColumn of what Worker describes: a single row with the number of values.
	Worker, Final string
}

// Probe is the statement for a hash that tells engines apart.
const Probe = "hash('cordwood', 1, CAST(0.5 AS DOUBLE))"

// numberName is the column of the number of different values.
const numberName = `"__n"`

// hashed returns how a statement for nothing but numbers of different values is answered by hashes; nil: it asks for
// something else.
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
	h.Before, h.After = "SELECT "+pairsName+values+"hash("+pairsName+") IN (", ")"
	return h
}
