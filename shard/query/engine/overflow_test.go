package engine

import (
	"strings"
	"testing"

	"cordwood/proto/schema"
	"cordwood/shard/query"
)

// placedOnTwo returns the rows of two nodes, the first of which has the largest n.
func placedOnTwo(t *testing.T) *placed {
	one := batch(t, placedColumns, []any{1, "a", 200, 0.5, 1, true, "/", nil, 1<<31 - 1})
	two := batch(t, placedColumns, []any{2, "b", 200, 0.5, 1, true, "/", nil, 5})
	p := &placed{columns: placedColumns}
	of := query.Table{
		Database: "public", Name: "logs", Schema: (&schema.Table{Name: "logs", Columns: p.columns}).Index(),
	}
	p.all = of
	p.all.Batches = append(p.all.Batches, one, two)
	for _, b := range p.all.Batches {
		node := of
		node.Batches = append(node.Batches, b)
		p.nodes = append(p.nodes, node)
	}
	return p
}

// TestSumsBeyondHugeint checks that the error of a sum with too many digits says so, on one node and on several. DuckDB
// multiplies constants by the number of rows, so its own message names a multiplication.
func TestSumsBeyondHugeint(t *testing.T) {
	e := openEngine(t, t.TempDir())
	p := placedOnTwo(t)
	const most = "170141183460469231731687303715884105727"
	for _, sql := range []string{
		"SELECT sum(" + most + ") FROM logs", "SELECT avg(" + most + ") FROM logs",
		"SELECT sum(" + most + " - n + n) FROM logs", "SELECT ok, sum(" + most + ") FROM logs GROUP BY ok",
	} {
		_, errOne := ask(e, sql, p.all)
		_, reason, errSeveral := p.splitAnswer(t, e, sql)
		for where, err := range map[string]error{"one node": errOne, "several nodes": errSeveral} {
			if err == nil || !strings.Contains(err.Error(), "a sum of integers has more than 38 digits; cast") {
				t.Errorf("%s: on %s: %v %s", sql, where, err, reason)
			}
		}
	}
}

// TestOverflowBelowAggregates checks that an overflow in the argument of an aggregate is an error on one node and on
// several. DuckDB would compute sum(n + 1) as sum(n) + count(n), but not beside other aggregates of n + 1, which the
// statement for nodes has or lacks.
func TestOverflowBelowAggregates(t *testing.T) {
	e := openEngine(t, t.TempDir())
	p := placedOnTwo(t)
	for _, sql := range []string{
		"SELECT sum(n + 1) FROM logs", "SELECT avg(n + 1) FROM logs", "SELECT host, sum(n + 1) FROM logs GROUP BY host",
		"SELECT sum(n + 1), max(n + 1) FROM logs", "SELECT sum(1 + n) FILTER (WHERE ok) FROM logs",
		"SELECT sum(n + 1), avg(n + 1), count(n + 1) FROM logs", "SELECT stddev(n - -1) FROM logs",
		"SELECT sum(k) FROM (SELECT n + 1 AS k FROM logs)", "SELECT median(n + 1) FROM logs",
	} {
		_, errOne := ask(e, sql, p.all)
		_, reason, errSeveral := p.splitAnswer(t, e, sql)
		for where, err := range map[string]error{"one node": errOne, "several nodes": errSeveral} {
			if err == nil || !strings.Contains(err.Error(), "Overflow") {
				t.Errorf("%s: on %s: %v %s", sql, where, err, reason)
			}
		}
	}
}
