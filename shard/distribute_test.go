package shard

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
)

// spreadNodes are three nodes with a table in append mode and a table that merges rows. Each is
// spread over four shards; shard 9 has the same rows.
type spreadNodes struct {
	*testNodes
	spread, whole []*shardpb.QueryTable
}

func newSpreadNodes(t *testing.T, rows int) *spreadNodes {
	c := &spreadNodes{testNodes: newTestNodes(t, map[string][]uint32{"a": {1, 4}, "b": {2}, "c": {3, 9}})}
	rng := rand.New(rand.NewPCG(3, 5))
	for id, options := range []map[string]string{{"append_mode": "true"}, nil} {
		name := []string{"logs", "state"}[id]
		spread, whole := wideDef(uint64(id+1), name, options, 1, 2, 3, 4), wideDef(uint64(id+1), name, options, 9)
		for seq := range uint64(8) {
			var of [4][]int
			for i := range rows / 8 {
				n := int(seq)*rows/16 + i // half of them are written twice
				of[n%7%4] = append(of[n%7%4], n)
			}
			for i, numbers := range of {
				state := rng.Uint64()
				put := func(d *schemapb.Table, shard uint32, seq uint64) {
					c.write(shard, wideRows(rand.New(rand.NewPCG(state, 0)), d, seq, numbers), d)
				}
				put(spread, uint32(i+1), seq+1)
				put(whole, 9, 4*seq+uint64(i)+1)
			}
		}
		c.spread, c.whole = append(c.spread, tableOf(spread, 1, 2, 3, 4)), append(c.whole, tableOf(whole, 9))
	}
	return c
}

// explained returns the part of EXPLAIN that shows how a statement was split.
func (c *spreadNodes) explained(sql string) string {
	c.t.Helper()
	rows, _, err := c.ask(&shardpb.QueryRequest{Sql: "EXPLAIN " + sql, Database: "public", Tables: c.spread})
	if err != nil {
		c.t.Fatalf("EXPLAIN %s: %v", sql, err)
	}
	i := slices.IndexFunc(rows, func(row string) bool { return strings.HasPrefix(row, "split|") })
	if i < 0 {
		c.t.Fatalf("EXPLAIN %s does not show how the statement was split: %q", sql, rows)
	}
	return strings.TrimPrefix(rows[i], "split|")
}

// TestSplitStatements compares the answers of split statements with the answers of a single shard.
func TestSplitStatements(t *testing.T) {
	t.Parallel()
	c := newSpreadNodes(t, 4000)
	for _, test := range []struct{ sql, kind string }{
		{"SELECT count(*) FROM logs", "aggregate over 4 shards, in 3 parts"},
		{
			"SELECT host, count(*), sum(n), avg(n), min(s), max(u64) FROM logs WHERE ok GROUP BY host ORDER BY host",
			"aggregate",
		},
		{"SELECT host, median(n), count(DISTINCT n) FROM logs GROUP BY host ORDER BY host", "pairs"},
		{"SELECT * FROM logs WHERE n > 900000000", "rows over 4 shards"},
		{"SELECT ts, host, n FROM logs ORDER BY ts DESC, n, host LIMIT 30", "top"},
		{"SELECT ts FROM logs ORDER BY ts DESC LIMIT 30 OFFSET 20", "top"},
		{"SELECT ts FROM logs WHERE ok ORDER BY ts LIMIT 400", "top"},
		{"SELECT ts::TEXT AS ts FROM logs ORDER BY ts LIMIT 9", "the name ts is a column and an alias"},
		{"SELECT ts AS m FROM logs ORDER BY ts LIMIT 9", "top"},
		{"SELECT ok IS NULL FROM logs ORDER BY ts LIMIT 0", "top"},
		{"SELECT * FROM state ORDER BY ts DESC, host LIMIT 7", "top"},
		{"SELECT ts FROM state ORDER BY ts DESC LIMIT 100 OFFSET 100000", "top"},
		{"SELECT DISTINCT host FROM logs", "distinct"},
		{
			"SELECT date_trunc('hour', ts) AS h, count(*) FROM state GROUP BY h ORDER BY h LIMIT 9",
			"aggregate over 4 shards, in 3 parts",
		},
		{"SELECT host, sum(n), count(s) FROM state GROUP BY ROLLUP (host) ORDER BY ALL", "aggregate"},
		{"SELECT string_agg(s, ',' ORDER BY s) FROM logs", "project over 4 shards, in 3 parts"},
		{
			"SELECT count(*) FROM logs l JOIN state s ON l.ts = s.ts AND l.host = s.host",
			"rows of other nodes are fetched: it reads several tables",
		},
	} {
		if said := c.explained(test.sql); !strings.Contains(said, test.kind) {
			t.Errorf("EXPLAIN %s: %s, want %s", test.sql, said, test.kind)
		}
		want, _, err := c.ask(&shardpb.QueryRequest{Sql: test.sql, Database: "public", Tables: c.whole})
		if err != nil {
			t.Fatalf("%s: in one shard: %v", test.sql, err)
		}
		got, _, err := c.ask(&shardpb.QueryRequest{Sql: test.sql, Database: "public", Tables: c.spread})
		if err != nil {
			t.Errorf("%s: %v", test.sql, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-one shard +several):\n%s", test.sql, diff)
		}
	}
}

// TestExplainFetchedRows checks that EXPLAIN lists the rows that other nodes send, and that only EXPLAIN ANALYZE
// fetches them.
func TestExplainFetchedRows(t *testing.T) {
	t.Parallel()
	c := newSpreadNodes(t, 400)
	const unfetched = "nothing was fetched: the segments and the plan are those of this node's rows"
	for _, test := range []struct {
		sql   string
		lines []string
		rows  string // a pattern of the number of rows that are fetched
	}{
		{
			"SELECT count(*) FROM logs l JOIN state s ON l.ts = s.ts AND l.host = s.host",
			[]string{
				": it reads several tables", "\npublic.logs: shards ", ", all rows", "\npublic.state: shards ",
			},
			`[1-9]\d*`,
		},
		{
			"SELECT ts::TEXT AS ts FROM logs WHERE n = 5 ORDER BY ts LIMIT 9",
			[]string{": the name ts is a column and an alias", "\npublic.logs: shards ", `, columns ts, n, WHERE "n" IN (5)`},
			"0",
		},
	} {
		for options, fetches := range map[string]bool{"": false, "ANALYZE ": true} {
			before := c.scans.Load()
			said := c.explained(options + test.sql)
			for _, line := range append(test.lines, "rows of other nodes are fetched") {
				if !strings.Contains(said, line) {
					t.Errorf("EXPLAIN %s%s: %q, want %q", options, test.sql, said, line)
				}
			}
			if strings.Contains(said, unfetched) == fetches {
				t.Errorf("EXPLAIN %s%s: %q", options, test.sql, said)
			}
			if regexp.MustCompile(`\nnode \S+: public.logs, shard \d, \d+ rows, \d+ bytes, \S+\n(?s:.*)`+
				`\nfetched: `+test.rows+` rows, \d+ bytes$`).MatchString(said) != fetches {
				t.Errorf("EXPLAIN %s%s: the rows of each node: %q", options, test.sql, said)
			}
			if scans := c.scans.Load() - before; scans > 0 != fetches {
				t.Errorf("EXPLAIN %s%s: %d shards were scanned", options, test.sql, scans)
			}
		}
	}
}

// TestExplainFirst checks that EXPLAIN ANALYZE shows what nodes sent for subqueries that are run first, and why such a
// subquery prevents a split; and that EXPLAIN remembers that it did.
func TestExplainFirst(t *testing.T) {
	t.Parallel()
	c := newSpreadNodes(t, 4000)
	const many = "SELECT count(*) FROM logs WHERE n IN (SELECT n FROM logs)"
	for _, test := range []struct{ sql, want string }{
		{
			"SELECT count(*) FROM logs WHERE host IN (SELECT host FROM state)",
			`first: SELECT DISTINCT host FROM state\n  EXPLAIN does not run it\. .* more than 900 values, rows are fetched\.`,
		},
		{
			"ANALYZE SELECT count(*) FROM logs WHERE host IN (SELECT host FROM state)",
			`first: SELECT DISTINCT host FROM state\n  [1-9]\d* values in \S+, [1-9]\d+ bytes from nodes\n` +
				`  node \S+: shards [\d ]+, [1-9]\d* rows, [1-9]\d+ bytes, `,
		},
		{
			"ANALYZE SELECT count(*) FROM logs WHERE host IN (SELECT l.host FROM logs l JOIN state s USING (ts, host))",
			`first: SELECT DISTINCT l\.host .*\n  \d+ values? in \S+\n` +
				`  rows of other nodes are fetched: it reads several tables.*\n(?s:.*)` +
				`\n  node \S+: public.logs, shard \d, [1-9]\d* rows, (?s:.*)\n  fetched: \d+ rows`,
		},
		{
			"ANALYZE SELECT count(*) FROM logs WHERE EXISTS (SELECT 1 FROM state WHERE n > 5)",
			`first: SELECT 1 FROM state WHERE n > 5\n  0 values in \S+, [1-9]\d+ bytes from nodes\n  node \S+: shards `,
		},
		{many, `more than 900 values, rows are fetched`},
		{
			"ANALYZE " + many,
			`rows of other nodes are fetched: a subquery has more than 900 values.*\n` +
				`first: SELECT DISTINCT n FROM logs\n  failed after \S+: .* more than 900 values.*from nodes\n  node \S+: shards `,
		},
		{
			many, `rows of other nodes are fetched: in the last 10 minutes, a subquery of this statement returned more ` +
				`than 900`,
		},
	} {
		if said := c.explained(test.sql); !regexp.MustCompile(test.want).MatchString(said) {
			t.Errorf("EXPLAIN %s: %s, want %s", test.sql, said, test.want)
		}
	}
}

// TestLargestGroups checks that the groups with the largest counts are found from a few groups of
// each node if these suffice, and otherwise from all groups.
func TestLargestGroups(t *testing.T) {
	t.Parallel()
	c := newSpreadNodes(t, 12_000)
	for _, test := range []struct {
		sql string
		few bool
	}{
		{"SELECT CASE WHEN n % 3 = 0 THEN 0 ELSE n END AS g, count(*) FROM logs GROUP BY g ORDER BY 2 DESC, g LIMIT 1", true},
		{
			"SELECT CASE WHEN n % 3 < 2 THEN n % 3 ELSE n END AS g, avg(n), count(n) AS c, max(s) FROM logs " +
				"WHERE n IS NOT NULL GROUP BY g ORDER BY c DESC, g LIMIT 1 OFFSET 1", true,
		},
		{"SELECT n, count(*) AS c FROM logs GROUP BY n ORDER BY c DESC, n LIMIT 10", false},
		{"SELECT n, s, count(*) FROM logs GROUP BY ALL ORDER BY 3 DESC, n, s LIMIT 3", true},
	} {
		want, _, err := c.ask(&shardpb.QueryRequest{Sql: test.sql, Database: "public", Tables: c.whole})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second run knows which groups suffice
			got, _, err := c.ask(&shardpb.QueryRequest{Sql: test.sql, Database: "public", Tables: c.spread})
			if err != nil {
				t.Fatalf("%s: %v", test.sql, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-one shard +several):\n%s", test.sql, diff)
			}
		}
		will := map[bool]string{true: "each node first sends only its 1000 groups", false: "each node sends all groups"}
		if said := c.explained(test.sql); !strings.Contains(said, "\nlargest groups: "+will[test.few]) {
			t.Errorf("EXPLAIN %s: %s", test.sql, said)
		}
		said := c.explained("ANALYZE " + test.sql)
		did := map[bool]string{true: "the 1000 groups of each node with the largest counts were", false: "each node sent all"}
		if !strings.Contains(said, "\nlargest groups: "+did[test.few]) {
			t.Errorf("EXPLAIN ANALYZE %s: %s", test.sql, said)
		}
	}
}

// TestExplainAnalyzeAsksTheNodes checks that EXPLAIN ANALYZE reports what each node returned and how long its stages
// took, and that EXPLAIN only asks the nodes what they would read.
func TestExplainAnalyzeAsksTheNodes(t *testing.T) {
	t.Parallel()
	c := newSpreadNodes(t, 200)
	if said := c.explained("SELECT count(*) FROM logs"); strings.Contains(said, " bytes, ") ||
		strings.Count(said, "\n  reads ") != 3 || strings.Count(said, " rows in memory; ") != 3 {
		t.Errorf("EXPLAIN: %s", said)
	}
	// A table that merges rows needs a statement for each shard.
	said := c.explained("ANALYZE SELECT host, count(*) FROM state WHERE ts < '1990-01-01' GROUP BY host")
	if strings.Count(said, "\n  reads ") != 3 || strings.Count(said, "0 of 0 segments") != 4 {
		t.Errorf("EXPLAIN ANALYZE: %s", said)
	}
	for _, node := range []string{"node-a: shards 1 4", "node-b: shards 2", "node-c: shards 3"} {
		if said := c.explained("ANALYZE SELECT count(*) FROM logs"); !strings.Contains(said, "node "+node+", ") ||
			strings.Count(said, " bytes, ") != 3 || strings.Count(said, ", 1 row, ") != 3 ||
			!strings.Contains(said, "all nodes had answered after ") || !strings.Contains(said, "the statement was split in ") ||
			strings.Count(said, ", statement run in ") != 3 {
			t.Errorf("EXPLAIN ANALYZE: %s", said)
		}
	}
}

// TestExplainSubqueries checks what EXPLAIN shows of subqueries that are run first, and that only ANALYZE runs them.
func TestExplainSubqueries(t *testing.T) {
	t.Parallel()
	c := newSpreadNodes(t, 200)
	const sql = "SELECT count(*) FROM logs WHERE host IN (SELECT host FROM state WHERE host IS NOT NULL)"
	said := c.explained(sql)
	if !strings.Contains(said, "\nfirst: SELECT DISTINCT host FROM state") ||
		!strings.Contains(said, "IN (CAST(NULL AS VARCHAR))") {
		t.Errorf("EXPLAIN: %s", said)
	}
	said = c.explained("ANALYZE " + sql)
	if !strings.Contains(said, "\n  7 values in ") || strings.Contains(said, "NULL AS") {
		t.Errorf("EXPLAIN ANALYZE: %s", said)
	}
}

// TestExplainSeveral checks what EXPLAIN shows of a statement whose queries are each split by itself. Of two equal
// queries, the nodes run one.
func TestExplainSeveral(t *testing.T) {
	t.Parallel()
	c := newSpreadNodes(t, 200)
	const sql = "SELECT count(*) AS n FROM logs UNION ALL SELECT count(*) FROM state UNION ALL SELECT count(*) FROM logs"
	for _, analyze := range []string{"", "ANALYZE "} {
		said := c.explained(analyze + sql)
		if !strings.HasPrefix(said, "3 queries of the statement, each split by itself\nlast: (SELECT ") ||
			strings.Count(said, "\neach: ") != 2 || strings.Count(said, "\nnode ") != 6 ||
			strings.Contains(said, "all nodes had answered") != (analyze != "") {
			t.Errorf("EXPLAIN %s: %s", analyze, said)
		}
	}
}

// counters returns the sums of the metrics of all nodes, by name and label.
func (c *spreadNodes) counters() map[string]float64 {
	c.t.Helper()
	out := map[string]float64{}
	for _, n := range c.nodes {
		families, err := n.metrics.Gather()
		if err != nil {
			c.t.Fatal(err)
		}
		for _, f := range families {
			for _, m := range f.Metric {
				name := strings.TrimPrefix(f.GetName(), "cordwood_query_")
				for _, l := range m.Label {
					name += " " + l.GetValue()
				}
				out[name] += m.GetCounter().GetValue()
			}
		}
	}
	return out
}

// TestQueryMetrics checks the counters of statements by how they were split or why not, and of the
// bytes that nodes return.
func TestQueryMetrics(t *testing.T) {
	t.Parallel()
	c := newSpreadNodes(t, 200)
	for _, test := range []struct {
		sql, metric string
		bytes       bool
	}{
		{"SELECT count(*) FROM logs", "split_total aggregate", true},
		{"SELECT * FROM logs WHERE n > 900000000", "split_total rows", true},
		{"EXPLAIN SELECT count(*) FROM logs", "", false},
		{"EXPLAIN ANALYZE SELECT count(*) FROM logs", "split_total aggregate", true},
		{"EXPLAIN ANALYZE SELECT count(*) FROM logs l JOIN state s ON l.ts = s.ts", "hauled_total join", false},
		{
			"SELECT count(*) FROM (SELECT n FROM logs UNION ALL SELECT u64 FROM state WHERE ok) WHERE n > 5",
			"split_total several", true,
		},
		{"SELECT string_agg(s, ',' ORDER BY s) FROM logs", "split_total project", true},
		{"SELECT s, rank() OVER (ORDER BY s) FROM logs", "hauled_total window", false},
		{"SELECT count(*) FROM logs l JOIN state s ON l.ts = s.ts", "hauled_total join", false},
		{"SELECT sum(CAST(regexp_extract(s, '.') || '1' AS DOUBLE)) > 0, nothing FROM logs", "", false},
	} {
		before := c.counters()
		_, _, _ = c.ask(&shardpb.QueryRequest{Sql: test.sql, Database: "public", Tables: c.spread}) // the last one fails
		for name, n := range c.counters() {
			d := n - before[name]
			if name == "partial_bytes_total" {
				if d > 0 != test.bytes {
					t.Errorf("%s: %v bytes of partial results", test.sql, d)
				}
				continue
			}
			if want := map[bool]float64{true: 1}[name == test.metric]; d != want {
				t.Errorf("%s: %s grew by %v, want %v", test.sql, name, d, want)
			}
		}
		if _, ok := c.counters()[test.metric]; test.metric != "" && !ok {
			t.Errorf("%s: no metric %q: %v", test.sql, test.metric, c.counters())
		}
	}
}

// TestErrorsOfParts checks that errors refer to the client's statement, not to the statement for
// nodes.
func TestErrorsOfParts(t *testing.T) {
	t.Parallel()
	c := newSpreadNodes(t, 200)
	for _, sql := range []string{
		"SELECT sum(CAST(s AS INTEGER)) FROM logs",
		"SELECT nothing, count(*) FROM logs GROUP BY nothing",
		"SELECT count(*) FROM logs WHERE CAST(s AS DATE) > '2024-01-01'",
	} {
		_, _, want := c.ask(&shardpb.QueryRequest{Sql: sql, Database: "public", Tables: c.whole})
		_, _, got := c.ask(&shardpb.QueryRequest{Sql: sql, Database: "public", Tables: c.spread})
		if want == nil || got == nil || fmt.Sprint(want) != fmt.Sprint(got) {
			t.Errorf("%s: %v, in one shard %v", sql, got, want)
		}
	}
}

// TestPartOfAnotherNode runs a part on a node that lacks some of its shards. The node fetches the
// rows and does not split the statement again.
func TestPartOfAnotherNode(t *testing.T) {
	t.Parallel()
	c := newSpreadNodes(t, 400)
	const sql = "SELECT host, count(*) FROM logs GROUP BY host"
	want, _, err := c.ask(&shardpb.QueryRequest{Sql: sql, Database: "public", Tables: c.whole})
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := c.ask(&shardpb.QueryRequest{Sql: sql, Database: "public", Tables: c.spread, Part: true})
	if err != nil || !cmp.Equal(want, got) {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
	rows, _, err := c.ask(&shardpb.QueryRequest{Sql: "EXPLAIN " + sql, Database: "public", Tables: c.spread, Part: true})
	if said := strings.Join(rows, "\n"); err != nil || strings.Contains(said, "\neach: ") ||
		!strings.Contains(said, "split|rows of other nodes are fetched\npublic.logs: shards ") {
		t.Errorf("a part was split again: %v, %q", err, rows)
	}
}
