package engine

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestFromUnion checks that statements over a UNION ALL in FROM are split for each of its operands, and compares the
// answers.
func TestFromUnion(t *testing.T) {
	e := openEngine(t, t.TempDir())
	p := place(t, rand.New(rand.NewPCG(3, 2)), 2000, 3)
	const union = "(SELECT host, status, took, bytes, n, ts, ok, path FROM logs WHERE ok UNION ALL " +
		"SELECT path, n, took, bytes, status, ts, ok, host FROM logs WHERE n > 0)"
	for _, c := range []struct {
		sql     string
		workers []string // parts of the statements for nodes
	}{
		{
			"SELECT count(*) FROM " + union + " u",
			[]string{`SELECT count(*) AS "__a0" FROM "public"."logs" WHERE "ok"`, `WHERE ("n" > 0)`},
		},
		{
			"SELECT host, count(*) AS c FROM " + union + " AS u GROUP BY host ORDER BY c DESC, host LIMIT 5",
			[]string{`SELECT "host" AS "__g0", count(*) AS "__a0" FROM "public"."logs"`, `SELECT "path" AS "__g0"`},
		},
		{
			"WITH u AS " + union + " SELECT status % 7 AS s, sum(bytes), avg(n), min(took), count(DISTINCT path) FROM u " +
				"WHERE took > 10 GROUP BY 1 HAVING count(*) > 2 ORDER BY 1",
			[]string{`WHERE ("ok" AND ("took" > 10)) GROUP BY 1, 2`, `(CAST("n" AS BIGINT) % 7) AS "__g0"`},
		},
		{
			"SELECT approx_count_distinct(path), count(host) FROM " + union + " u WHERE ts > '2023-11-14 22:30:00'",
			[]string{"max(hash('cordwood'", "max(hash('cordwood'"},
		},
		{
			"SELECT count(*), stddev(took), median(n) FROM (SELECT * FROM " + union + " AS v WHERE status > 3) AS w " +
				"WHERE bytes % 2 = 0",
			[]string{`("status" > 3)`, `(CAST("n" AS BIGINT) > 3)`},
		},
		{
			"SELECT host, status, count(*), GROUPING(host, status) FROM " + union +
				" GROUP BY GROUPING SETS ((host), (status)) ORDER BY ALL",
			[]string{"GROUP BY 1, 2", "GROUP BY 1, 2"},
		},
		{ // with LIMIT, the operands get it
			"SELECT host, count(*) FROM (SELECT host, ts, path FROM logs UNION ALL SELECT path, ts, host FROM logs " +
				"ORDER BY ts, host, path LIMIT 300) AS u GROUP BY host ORDER BY ALL",
			[]string{`ORDER BY "ts", "host", "path" LIMIT 300`, `ORDER BY "ts", "path", "host" LIMIT 300`},
		},
		{
			"WITH u AS (SELECT n AS a, path FROM logs UNION ALL SELECT count(*), host FROM logs GROUP BY host UNION ALL " +
				"SELECT DISTINCT bytes, host FROM logs ORDER BY 1 DESC, 2 LIMIT 40 OFFSET 2) " +
				"SELECT count(*), sum(a), max(path) FROM u WHERE a > 3",
			[]string{`ORDER BY "n" DESC, "path" LIMIT 42`, "GROUP BY 1", `ORDER BY "bytes" DESC, "host" LIMIT 42`},
		},
		{
			"SELECT host, bytes FROM " + union + " ORDER BY took DESC NULLS LAST, bytes, host LIMIT 9 OFFSET 2",
			[]string{"LIMIT 11", "LIMIT 11"},
		},
		{
			"SELECT DISTINCT host, ok FROM " + union,
			[]string{"SELECT DISTINCT", "SELECT DISTINCT"},
		},
		{ // operands with literals, other types and names
			"SELECT kind, v, count(*) FROM (SELECT 'a' AS kind, n AS v FROM logs UNION ALL SELECT 'b', path FROM logs " +
				"UNION ALL SELECT NULL, took FROM logs) GROUP BY ALL ORDER BY ALL",
			[]string{`CAST("n" AS VARCHAR)`, `"path" AS "__g1"`, `CAST("took" AS VARCHAR)`},
		},
		{
			"SELECT max(v), count(v), sum(w) FROM (SELECT n AS v, 1 AS one FROM logs UNION ALL BY NAME " +
				"SELECT bytes AS w, n AS v, 2 AS two FROM logs)",
			[]string{`CAST(NULL AS BIGINT)`, `"bytes"`},
		},
		{ // names that differ in the case of a letter that is not ASCII
			`SELECT "é", "É" FROM (SELECT host AS "é", path AS "É" FROM logs UNION ALL SELECT path, host FROM logs)`,
			[]string{`"host"`, `"path"`},
		},
		{ // operands that are split by themselves
			"SELECT sum(c), count(*) FROM (SELECT host, count(*) AS c FROM logs GROUP BY host UNION ALL " +
				"SELECT path, count(*) FROM logs GROUP BY 1 HAVING count(*) > 20 UNION ALL SELECT path, n FROM logs)",
			[]string{`"host" AS "__g0"`, `"path" AS "__g0"`, `sum(CAST("n" AS BIGINT)) AS "__a0"`},
		},
		{
			"SELECT count(*) FROM (SELECT host FROM logs UNION ALL SELECT DISTINCT path FROM logs UNION ALL " +
				"(SELECT path FROM logs ORDER BY ts LIMIT 7))",
			[]string{"count(*)", "SELECT DISTINCT", "LIMIT 7"},
		},
	} {
		s := splitOfLogs(t, e, p, c.sql)
		if s.Reason != "" {
			t.Errorf("%s: not split: %s", c.sql, s.Reason)
			continue
		}
		for i, b := range s.Blocks {
			if i < len(c.workers) && !strings.Contains(b.Worker, c.workers[i]) {
				t.Errorf("%s: the statement for operand %d lacks %s: %s", c.sql, i, c.workers[i], b.Worker)
			}
		}
		want, err := ask(e, c.sql, p.all)
		if err != nil {
			t.Fatal(c.sql, err)
		}
		got, _, err := p.splitAnswer(t, e, c.sql)
		if err != nil {
			t.Fatal(c.sql, err)
		}
		if diff := same(got, want, strings.Contains(c.sql, "ORDER BY")); diff != "" {
			t.Errorf("%s: %s", c.sql, diff)
		}
	}
}

// TestNotFromUnion checks that statements over a UNION ALL are not split if the answers could differ, and that the
// reason is that of the statement.
func TestNotFromUnion(t *testing.T) {
	e := openEngine(t, t.TempDir())
	p := place(t, rand.New(rand.NewPCG(3, 2)), 10, 2)
	for sql, reason := range map[string]string{
		"SELECT count(*) FROM (SELECT host FROM logs UNION SELECT path FROM logs LIMIT 5)": "several tables",
		"SELECT count(*) FROM (SELECT random() AS r FROM logs UNION ALL SELECT n FROM logs) WHERE r > 1": "" +
			"random()",
		"SELECT max(a.n) FROM logs AS a JOIN (SELECT n FROM logs UNION ALL SELECT n FROM logs) AS b USING (n)": "" +
			"several tables",
		"SELECT count(*) FROM (SELECT n, list_transform([n], lambda x: x + 1) FROM logs UNION ALL " +
			"SELECT n, [n] FROM logs)": "it has a lambda function",
		"SELECT count(*) FROM (SELECT unnest([host, path]) FROM logs UNION ALL SELECT host FROM logs)":          "unnest()",
		"SELECT md5(host), count(*) FROM (SELECT host FROM logs UNION ALL SELECT path FROM logs) GROUP BY host": "md5",
	} {
		if s := splitOfLogs(t, e, p, sql); !strings.Contains(s.Reason, reason) || s.Reason == "" {
			t.Errorf("%s: the reason is %q, want %q", sql, s.Reason, reason)
		}
	}
}

// TestDistinctOperands checks which operands of set operations send distinct rows only.
func TestDistinctOperands(t *testing.T) {
	e := openEngine(t, t.TempDir())
	p := place(t, rand.New(rand.NewPCG(3, 2)), 200, 3)
	for sql, kinds := range map[string]string{
		"SELECT host FROM logs UNION SELECT path FROM logs WHERE ok": "distinct distinct",
		"SELECT host FROM logs UNION ALL SELECT path FROM logs UNION SELECT host FROM logs": "" +
			"distinct distinct distinct",
		"SELECT host FROM logs EXCEPT SELECT path FROM logs":                                            "distinct distinct",
		"SELECT host, n FROM logs UNION (SELECT path, n FROM logs ORDER BY n, path LIMIT 3) ORDER BY 2": "distinct top",
		"SELECT host FROM logs UNION SELECT path FROM logs UNION ALL SELECT host FROM logs":             "rows rows rows",
		"SELECT host FROM logs EXCEPT ALL SELECT path FROM logs":                                        "rows rows",
		// As texts, 0 and -0 differ.
		"SELECT took FROM logs UNION SELECT path FROM logs": "rows distinct",
	} {
		s := splitOfLogs(t, e, p, sql)
		var got []string
		for _, b := range s.Blocks {
			got = append(got, b.Kind)
		}
		if strings.Join(got, " ") != kinds {
			t.Errorf("%s: %q, want %q; %s", sql, got, kinds, s.Reason)
		}
		want, err := ask(e, sql, p.all)
		if err != nil {
			t.Fatal(sql, err)
		}
		if got, _, err := p.splitAnswer(t, e, sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		} else if diff := same(got, want, false); diff != "" {
			t.Errorf("%s: %s", sql, diff)
		}
	}
}

// TestDrawn checks that functions such as random() are called in the last step, over the rows of the LIMIT only.
func TestDrawn(t *testing.T) {
	e := openEngine(t, t.TempDir())
	p := place(t, rand.New(rand.NewPCG(3, 2)), 200, 3)
	for _, c := range []struct{ sql, worker, without string }{
		{
			"SELECT random() AS r FROM logs LIMIT 3", `SELECT 1 AS "__v1" FROM "public"."logs" LIMIT 3`,
			"SELECT 0.5 AS r FROM logs LIMIT 3",
		},
		{
			"SELECT uuid() IS NULL AS u, ts, n + random() * 0 AS x, n, path || '!' AS p FROM logs WHERE n > 3 " +
				"ORDER BY ts DESC, bytes, host LIMIT 5 OFFSET 2",
			"LIMIT 7",
			"SELECT false AS u, ts, n + 0::DOUBLE AS x, n, path || '!' AS p FROM logs WHERE n > 3 " +
				"ORDER BY ts DESC, bytes, host LIMIT 5 OFFSET 2",
		},
		{
			"SELECT *, random() < 2 AS r FROM logs ORDER BY ts, bytes, path LIMIT 4", "LIMIT 4",
			"SELECT *, true AS r FROM logs ORDER BY ts, bytes, path LIMIT 4",
		},
		{"SELECT random() FROM logs", "", ""},
		{"SELECT host FROM logs ORDER BY random() LIMIT 3", "", ""},
		{"SELECT host FROM logs WHERE random() < 0.5 LIMIT 3", "", ""},
		{"SELECT DISTINCT random() FROM logs LIMIT 3", "", ""},
		{"SELECT sum(n * random()) FROM logs LIMIT 3", "", ""},
	} {
		s := splitOfLogs(t, e, p, c.sql)
		if c.worker == "" {
			if s.Cause != "volatile" {
				t.Errorf("%s: the cause is %q: %s", c.sql, s.Cause, s.Worker)
			}
			continue
		}
		if !s.Draws || !strings.Contains(s.Worker, c.worker) || strings.Contains(s.Worker, "random") {
			t.Errorf("%s: %+v", c.sql, s)
			continue
		}
		want, err := ask(e, c.without, p.all)
		if err != nil {
			t.Fatal(c.without, err)
		}
		got, _, err := p.splitAnswer(t, e, c.sql)
		switch {
		case err != nil:
			t.Errorf("%s: %v", c.sql, err)
		case strings.Contains(c.sql, "ORDER BY"):
			if diff := same(got, want, true); diff != "" {
				t.Errorf("%s: %s", c.sql, diff)
			}
		case len(got.rows) != len(want.rows):
			t.Errorf("%s: %d rows", c.sql, len(got.rows))
		}
	}
}
