package engine

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cordwood/proto/schema"
	"cordwood/shard/query"
)

// TestExplainSegments pins the text of EXPLAIN about planning.
func TestExplainSegments(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	e.settings.MinAttempt = 1
	tab := hourly(t, dir, "Second", time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC), 12)
	merging := tab
	merging.Merge = query.LastRow
	merging.Batches = append(merging.Batches[:len(merging.Batches):len(merging.Batches)], merging.Batches[0])
	columns := cols("ts:TimestampSecond", "id:String")
	columns[1].Index = &schema.Index{Kind: schema.SkippingIndex, Options: schema.DefaultIndexOptions(schema.SkippingIndex)}
	var rows [][]any
	for i := range 100 {
		rows = append(rows, []any{i, string(rune('a'+i%26)) + "-id"})
	}
	ids := indexed(t, dir, columns, 10, batch(t, columns, rows...))
	expired := tab
	before := time.Date(2026, 1, 5, 6, 0, 0, 0, time.UTC).Unix()
	expired.ExpiredBefore = &before
	for _, c := range []struct {
		SQL  string
		tab  query.Table
		want string
	}{
		{"SELECT * FROM t", tab, "public.t: 6 of 6 segments; 36 of 36 rows in memory; 3 of 3 columns"},
		{
			"SELECT n FROM t WHERE ts < '2026-01-05 01:30:00'", tab,
			"public.t: 1 of 6 segments, 5 left out by time; 6 of 36 rows in memory; 2 of 3 columns",
		},
		{"SELECT n FROM t", expired, "public.t: 3 of 6 segments, 6 parts expired; 18 of 36 rows in memory; 2 of 3 columns"},
		{
			"SELECT n FROM t", merging,
			"public.t: 6 of 6 segments; 42 of 42 rows in memory; 7 parts overlap and are merged; 2 of 3 columns",
		},
		{"SELECT * FROM t WHERE id = 'none'", ids, "public.t: 0 of 1 segments, 1 left out by bloom or token filters; " +
			"0 of 10 row groups by filters; 0 of 0 rows in memory; 2 of 2 columns\n" +
			"  answered without the plan below: 0 rows found, 0 examined, 0 row groups read by the page index"},
		{
			"SELECT id FROM t WHERE id = 'b-id' AND ts >= '1970-01-01 00:00:30' LIMIT 9", ids,
			"public.t: 1 of 1 segments; 4 of 10 row groups by filters; 0 of 0 rows in memory; 2 of 2 columns\n" +
				"  answered without the plan below: 2 rows found, 4 examined, 4 row groups read by the page index",
		},
		{
			"SELECT a.n FROM t a JOIN t b USING (n) WHERE a.ts < '2026-01-05 00:30:00'", tab,
			"public.t: 1 of 6 segments, 5 left out by time; 0 of 36 rows in memory; 2 of 3 columns\n" +
				"public.t: 6 of 6 segments; 36 of 36 rows in memory; 2 of 3 columns",
		},
		{
			"SELECT n FROM t ORDER BY ts DESC LIMIT 3", tab,
			"public.t: 0 of 6 segments; 6 of 36 rows in memory; 2 of 3 columns\n" +
				"  answered without the plan below: 3 rows found, 6 examined, 0 row groups read by the page index",
		},
		{
			"SELECT n, 1 FROM t ORDER BY ts DESC LIMIT 3", tab,
			"public.t: 6 of 6 segments; 36 of 36 rows in memory; 2 of 3 columns\n" +
				"  the newest rows are searched for from 2026-01-05T11:00:00Z on; earlier rows are read only if these are too few",
		},
	} {
		for _, word := range []string{"EXPLAIN ", "EXPLAIN ANALYZE "} {
			got := mustQuery(t, e, word+c.SQL, c.tab)
			if len(got) != 2 || got[0] != "segments|"+c.want {
				t.Errorf("%s%s:\n got %s\nwant segments|%s", word, c.SQL, got[0], c.want)
			}
		}
	}
}

// TestExplainHidesPaths checks that EXPLAIN does not show where files are: a right to read a table
// does not include this.
func TestExplainHidesPaths(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	columns := cols("ts:TimestampSecond", "id:String")
	tab := indexed(t, dir, columns, 10, batch(t, columns, []any{1, "a"}, []any{2, "b"}))
	for range 6 {
		more := indexed(t, dir, columns, 10, batch(t, columns, []any{1, "a"}, []any{2, "b"}))
		tab.Segments = append(tab.Segments, more.Segments...)
	}
	const sql = "SELECT id, count(*),\n'x\"y' FROM t JOIN t AS u USING (id) GROUP BY id"
	for explain, want := range map[string]string{
		"EXPLAIN ": "│",
		"EXPLAIN ANALYZE ": "\nEXPLAIN ANALYZE SELECT id, count(*), 'x\"y' FROM t JOIN t AS u USING " +
			"(id) GROUP BY id\n",
		"EXPLAIN (FORMAT json) ":              `"READ_PARQUET"`,
		"EXPLAIN (ANALYZE, FORMAT json) ":     `SELECT id, count(*),\n'x\"y' FROM t JOIN t AS u USING (id) GROUP BY id",`,
		"EXPLAIN (ANALYZE) /* a\ncomment */ ": "│",
	} {
		got := strings.Join(mustQuery(t, e, explain+sql, tab), "\n")
		// In the box of a scan, a path is broken into pieces. The path contains the name of this
		// test.
		if strings.Contains(got, "TestExplain") || strings.Contains(got, filepath.Base(filepath.Dir(dir))) ||
			strings.Contains(got, "/tmp") || !strings.Contains(got, want) {
			t.Errorf("%s:\n%s\nwant %s", explain, got, want)
		}
		if strings.Contains(got, "│") && strings.Contains(got, "parquet") {
			t.Errorf("%s:\n%s", explain, got)
		}
	}
}
