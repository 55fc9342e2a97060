package split

import (
	"fmt"
	"strings"

	"cordwood/shard/query/engine/sql"
)

// DuckDB's approx_count_distinct is HyperLogLog with 64 registers. The lowest six bits of a value's
// hash choose a register. The value's rank is one more than the number of trailing zeros of the
// other bits, and a register keeps the largest rank. Nodes group by the register; the final
// statement takes the largest ranks of all nodes and computes DuckDB's estimate from them.
//
// The estimate is from Otmar Ertl, New cardinality estimation algorithms for HyperLogLog sketches,
// 2017.

const (
	// register is the register of a value, and rank its rank. %s is the value.
	register = `CAST(hash(%s) & 63 AS INTEGER)`
	rank     = `bit_count(xor(CAST((hash(%[1]s) >> 6) | 288230376151711744 AS BIGINT), ` +
		`CAST(((hash(%[1]s) >> 6) | 288230376151711744) - 1 AS BIGINT)))`
	// probe is a hash that differs between engines with different hash functions, whose ranks must
	// not be combined.
	probe = "max(" + Probe + ")"
	// sigmaTerms is how many terms of the series for empty registers are computed. With 63 of 64
	// registers empty, the next term is below 1e-60.
	sigmaTerms = 13
)

// estimate returns an expression for the approximate number of distinct values: the number that
// DuckDB would estimate for the rows of all nodes.
func (m *merging) estimate(n sql.Node) (string, error) {
	args := sql.Args(n)
	if m.sets != nil || len(args) != 1 {
		return "", notSplit(causeAggregate, "approx_count_distinct of grouping sets or several arguments")
	}
	of, _ := args[0].(sql.Node)
	value, err := text(of)
	if err != nil {
		return "", err
	}
	there := "(" + value + ") IS NOT NULL"
	if f, ok := n["filter"].(sql.Node); ok {
		filter, err := text(f)
		if err != nil {
			return "", err
		}
		there += " AND " + filter
	}
	pairs := fmt.Sprintf("CASE WHEN %s THEN "+register+" END", there, value)
	if m.pairs != "" && m.pairs != pairs {
		return "", notSplit(causeAggregate, "the distinct values of two expressions")
	}
	m.pairs = pairs
	m.best = m.part(fmt.Sprintf("max("+rank+")", value))
	empty := fmt.Sprintf(`((64 - count(*) FILTER (WHERE "__first" AND %s IS NOT NULL)) / CAST(64 AS DOUBLE))`, pairsName)
	// x + x²·1 + x⁴·2 + x⁸·4 …
	sigma := []string{empty}
	for k := range sigmaTerms {
		sigma = append(sigma, fmt.Sprintf("pow(%s, %d) * %d", empty, 2<<k, 1<<k))
	}
	return fmt.Sprintf(`CASE WHEN min(%[4]s) IS DISTINCT FROM max(%[4]s) THEN CAST(error(`+
		`'approx_count_distinct: the nodes hash values in different ways, because their engines differ') AS BIGINT) ELSE `+
		`CAST(CASE WHEN %[1]s = 1 THEN 0 ELSE round(0.721347520444481703680 * 4096 / (`+
		`sum(pow(CAST(2 AS DOUBLE), -"__best")) FILTER (WHERE "__first" AND %[2]s IS NOT NULL) + `+
		`64 * (%[3]s))) END AS BIGINT) END`,
		empty, pairsName, strings.Join(sigma, " + "), m.part(probe)), nil
}
