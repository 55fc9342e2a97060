package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"cordwood/shard/query"
	"cordwood/shard/query/engine/sql"
)

// TestLongStatementsAreKept checks that statements with thousands of literals are parsed once, and that the memory for
// them is bounded.
func TestLongStatementsAreKept(t *testing.T) {
	dir := t.TempDir()
	tab, _ := webServerLogs(t, dir, 100)
	e := openEngine(t, dir)
	for name, n := range map[string]int{
		"texts in IN": 3600, "numbers in IN": 3600, "list": 3600, "OR": 900, "AND": 900, "CASE": 900,
	} {
		req := &query.Request{SQL: longLists[name](n), Database: "public", Tables: []query.Table{tab}}
		if _, err := e.Analyze(t.Context(), req.SQL, "public"); err != nil {
			t.Fatal(err)
		}
		parts, err := e.Split(t.Context(), req)
		if err != nil || parts.Reason != "" {
			t.Fatalf("%s: %v, %s", name, err, parts.Reason)
		}
		part := *req
		part.SQL = parts.Worker
		run := func() {
			if err := e.Query(t.Context(), &part, func([]byte) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		run()
		asked, worker := e.cache.get(cacheKey(req.SQL, "public")), e.cache.get(cacheKey(parts.Worker, "public"))
		if asked == nil || worker == nil {
			t.Fatalf("%s: the statement is kept: %t; that for nodes: %t", name, asked != nil, worker != nil)
		}
		run()
		again, err := e.Split(t.Context(), req)
		if err != nil || again.Worker != parts.Worker {
			t.Fatalf("%s: %v", name, err)
		}
		// Nothing was parsed again, because that would have replaced the kept statement.
		if e.cache.get(cacheKey(req.SQL, "public")) != asked || e.cache.get(cacheKey(parts.Worker, "public")) != worker {
			t.Errorf("%s: the statement was parsed again", name)
		}
	}
	for i := range 40 {
		sql := fmt.Sprintf("%s AND status > %d", longLists["texts in IN"](900), i)
		if _, err := e.Analyze(t.Context(), sql, "public"); err != nil {
			t.Fatal(err)
		}
	}
	if got := e.cache.kept.Weight(); got > cachedUnits || got < cachedUnits/2 {
		t.Errorf("the cache of %d units has %d", cachedUnits, got)
	}
	long := longLists["texts in IN"](10_000)
	if _, err := e.Analyze(t.Context(), long, "public"); err != nil || e.cache.get(cacheKey(long, "public")) != nil {
		t.Errorf("%v; a statement of %d bytes is kept", err, len(long))
	}
}

// TestManyExpressions checks that the time to split a statement grows with the number of its expressions: with the
// square of it, as before, 8,000 took more than a minute.
func TestManyExpressions(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	columns := cols("ts:TimestampSecond", "n:Int64")
	tab := table("t", columns, fileOf(t, dir, 10, columns, []any{1, 2}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	parts, err := e.Split(ctx, &query.Request{
		SQL: "SELECT " + repeated(8000, "n + %[1]d AS c%[1]d", ", ") + " FROM t WHERE n > 0", Database: "public",
		Tables: []query.Table{tab},
	})
	if err != nil || parts.Reason != "" || ctx.Err() != nil {
		t.Fatal(parts, err, ctx.Err())
	}
}

// TestShortenedLists checks that a statement with long lists is split as it would be without shortening them, and that
// the statement for nodes has all literals.
func TestShortenedLists(t *testing.T) {
	dir := t.TempDir()
	tab, _ := webServerLogs(t, dir, 1000)
	e := openEngine(t, dir)
	texts, numbers := repeated(300, "'host-%06d''s'", ", "), repeated(400, "%d", " ,\n")
	negative, times := repeated(300, "-%d", ","), repeated(300, "'2026-01-01 00:00:00.%06d'", ",")
	for name, sql := range map[string]string{
		"short":        "SELECT count(*) FROM logs WHERE status IN (1, 2)",
		"texts":        "SELECT host, count(*) FROM logs WHERE host IN (" + texts + ") GROUP BY host",
		"numbers":      "SELECT count(*), max(ts) FROM logs WHERE status not in (" + numbers + ") AND ts < now()",
		"negative":     "SELECT count(*) FROM logs WHERE status IN(" + negative + ")",
		"two":          "SELECT * FROM logs WHERE status IN (" + numbers + ") AND host NOT IN (" + texts + ") LIMIT 3",
		"HAVING":       "SELECT host, count(*) FROM logs GROUP BY host HAVING count(*) IN (" + numbers + ")",
		"name":         "SELECT status IN (" + numbers + "), count(*) FROM logs GROUP BY 1",
		"text of name": "SELECT host IN (" + texts + ") FROM logs ORDER BY ts LIMIT 2",
		"alias":        "SELECT status IN (" + numbers + ") AS a, count(DISTINCT host) FROM logs GROUP BY a",
		"best": "SELECT path, count(*) AS n FROM logs WHERE status IN (" + numbers + ") GROUP BY path ORDER BY n DESC " +
			"LIMIT 9",
		"times":    "SELECT count(*) FROM logs WHERE ts IN (" + times + ")",
		"subquery": "SELECT count(*) FROM logs WHERE host IN (SELECT host FROM logs WHERE status IN (" + numbers + "))",
		"union": "SELECT count(*) FROM logs WHERE status IN (" + numbers + ") UNION ALL SELECT count(*) FROM logs WHERE " +
			"host IN (" + texts + ")",
		"in a text":  "SELECT count(*) FROM logs WHERE host = 'a IN (" + numbers + ")'",
		"mark":       "SELECT count(*) FROM logs WHERE status IN (" + numbers + ") AND status < 2146999999",
		"wrong":      "SELECT count(*) FROM logs WHERE nowhere IN (" + numbers + ")",
		"wrong type": "SELECT count(*) FROM logs WHERE status IN (" + texts + ")",
		"not split":  "SELECT count(*) FROM logs WHERE status IN (" + numbers + ") AND random() > 2",
	} {
		req := &query.Request{SQL: sql, Database: "public", Tables: []query.Table{tab}}
		got, err := e.Split(t.Context(), req)
		want, errWhole := e.split(t.Context(), req)
		if fmt.Sprint(err) != fmt.Sprint(errWhole) {
			t.Errorf("%s: %v, want %v", name, err, errWhole)
		}
		if err != nil {
			continue
		}
		form := func(text string) string {
			return strings.NewReplacer(" ", "", "\n", "", "(", "", ")", "").Replace(text)
		}
		a, b := got.At(time.Unix(0, 0)).With(form), want.At(time.Unix(0, 0)).With(form)
		a.Moment, b.Moment = "", ""
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s:\n%+v\nwant\n%+v", name, a, b)
		}
	}
}

// TestTreesOfLists checks that the syntax tree of a statement with long lists is the one that DuckDB's parser makes.
func TestTreesOfLists(t *testing.T) {
	e := openEngine(t, t.TempDir())
	in, err := e.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer e.release(in, false)
	texts := repeated(300, "'hé%06d''s'", ", ")
	numbers := repeated(300, "-%03d", " ,\n ") + ", 5000000000, -2147483647,-3000000000, 2147483647 ,2147483649, -0"
	for _, text := range []string{
		"SELECT 1, a IN (" + numbers + ") FROM t WHERE b IN (" + texts + ") AND c NOT IN (" + numbers + ") OR é > abs(2)",
		"SELECT [x + 1 FOR x IN (" + numbers + ")], a IN (1, 2)",
		"SELECT a IN (1, -2147483648, " + numbers + ")",
		"SELECT a IN (1, " + texts + "), b IN (" + texts + ", ('b'))",
		"WITH t AS (SELECT a IN (" + texts + ") FROM u) SELECT * FROM t WHERE a IN (SELECT b WHERE c IN(" + texts +
			"))",
	} {
		parsed := 0
		_, got, err := sql.Parse(text, "public", func(text string) (string, error) {
			parsed += len(text)
			return in.SyntaxTree(text)
		})
		if err != nil {
			t.Fatalf("%.60s: %v", text, err)
		}
		_, want, err := sql.Parse(text, "public", func(part string) (string, error) {
			if part != text {
				return "", errors.New("only the whole text is parsed")
			}
			return in.SyntaxTree(part)
		})
		if err != nil {
			t.Fatalf("%.60s: %v", text, err)
		}
		if !reflect.DeepEqual(got, want) {
			a, b := fmt.Sprint(got), fmt.Sprint(want)
			for a != "" && b != "" && a[0] == b[0] {
				a, b = a[1:], b[1:]
			}
			t.Errorf("%.60s: %.300s\nwant\n%.300s", text, a, b)
		}
		whole := strings.Contains(text, "2147483648") || strings.Contains(text, "IN (1, '")
		if whole != (parsed >= len(text)) {
			t.Errorf("%.60s: %d of %d bytes were parsed", text, parsed, len(text))
		}
	}
}
