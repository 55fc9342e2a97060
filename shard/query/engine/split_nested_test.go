package engine

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"cordwood/shard/query"
)

// splitOfLogs returns how a statement over the table logs is split.
func splitOfLogs(t *testing.T, e *Engine, p *placed, sql string) *query.Split {
	t.Helper()
	s, err := e.Split(t.Context(), &query.Request{
		SQL: sql, Database: "public", Tables: []query.Table{{Database: "public", Name: "logs", Schema: p.all.Schema}},
	})
	if err != nil {
		t.Fatalf("%.60s: %v", sql, err)
	}
	return s
}

// TestRepeatedExpressions checks that a statement is not split if the expressions of its inner queries would be copied
// too often: each level of the second statement doubles its expression.
func TestRepeatedExpressions(t *testing.T) {
	e := openEngine(t, t.TempDir())
	p := place(t, rand.New(rand.NewPCG(1, 2)), 10, 2)
	nested := func(depth int, item string) string {
		return strings.Repeat("SELECT "+item+" AS n FROM (", depth) + "SELECT bytes AS n FROM logs" +
			strings.Repeat(")", depth)
	}
	for sql, reason := range map[string]string{
		nested(3, "n + n"):  "",
		nested(30, "n"):     "",
		nested(30, "n + n"): "the expressions of its inner query are used too often",
	} {
		s := splitOfLogs(t, e, p, sql)
		if s.Reason != reason {
			t.Errorf("%.60s: the reason is %q, want %q", sql, s.Reason, reason)
		}
	}
}

// TestLongSubqueries checks that the bytes parsed to find the subqueries of a statement are limited: each level
// of nested subqueries is parsed again with all levels below.
func TestLongSubqueries(t *testing.T) {
	e := openEngine(t, t.TempDir())
	p := place(t, rand.New(rand.NewPCG(1, 2)), 10, 2)
	nested := func(length int) string {
		const depth = 8
		return "SELECT count(*) FROM logs WHERE n IN (" + strings.Repeat("SELECT n FROM logs WHERE n IN (", depth) +
			"SELECT n FROM logs WHERE path <> '" + strings.Repeat("x", length) + "'" + strings.Repeat(")", depth+1)
	}
	for length, reason := range map[int]string{
		10:      "",
		200_000: "it is too long to find its subqueries in expressions",
	} {
		s := splitOfLogs(t, e, p, nested(length))
		if s.Reason != reason {
			t.Errorf("length %d: the reason is %q, want %q", length, s.Reason, reason)
		}
	}
}

// TestManyBlocks checks that a statement with too many queries is not split: each is planned as a
// separate block.
func TestManyBlocks(t *testing.T) {
	e := openEngine(t, t.TempDir())
	p := place(t, rand.New(rand.NewPCG(1, 2)), 10, 2)
	tooMany := fmt.Sprintf("more than %d of its queries read tables; read fewer tables in one statement", maxBlocks)
	for n, reason := range map[int]string{3: "", maxBlocks: "", maxBlocks + 1: tooMany} {
		list := make([]string, n)
		for i := range list {
			list[i] = "(SELECT count(*) AS n FROM logs)"
		}
		union := strings.Join(list, " UNION ALL ")
		for _, text := range []string{union, "SELECT sum(n) FROM (" + union + ")"} {
			if s := splitOfLogs(t, e, p, text); s.Reason != reason {
				t.Errorf("%d queries: the reason is %q, want %q", n, s.Reason, reason)
			}
		}
	}
}

// TestRowsOfUnnest checks that a function that makes several rows of one is not dropped with its column.
func TestRowsOfUnnest(t *testing.T) {
	e := openEngine(t, t.TempDir())
	p := place(t, rand.New(rand.NewPCG(1, 2)), 50, 2)
	for sql, split := range map[string]bool{
		"SELECT count(*) FROM (SELECT host, unnest([1, 2]) FROM logs)":                                 false,
		"SELECT host, count(*) FROM (SELECT host, UNLIST([1, 2]) + 1 FROM logs) GROUP BY 1":            false,
		"SELECT host FROM (SELECT *, regexp_split_to_table(path, '/') FROM logs)":                      false,
		"WITH u AS (SELECT generate_subscripts([n, 2], 1), n FROM logs) SELECT sum(n) FROM u":          false,
		"SELECT count(*) FROM (SELECT host FROM (SELECT * REPLACE (unnest([]) AS path) FROM logs))":    false,
		"SELECT count(*) FROM (SELECT DISTINCT unnest([host, path]) AS h FROM logs)":                   true,
		"SELECT unnest([host, path]) AS h FROM logs":                                                   true,
		"SELECT host FROM logs WHERE n IN (SELECT unnest([1, 2, 3]))":                                  true,
		"SELECT count(*) FROM (SELECT unnest([host]) AS h, ts FROM logs ORDER BY ts, h, path LIMIT 3)": true,
	} {
		s := splitOfLogs(t, e, p, sql)
		if (s.Reason == "") != split || !split && !strings.Contains(s.Reason, "unnest()") {
			t.Errorf("%s: the reason is %q", sql, s.Reason)
		}
		if s.Reason != "" || len(s.First) > 0 {
			continue
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
