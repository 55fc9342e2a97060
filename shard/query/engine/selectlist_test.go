package engine

import (
	"strings"
	"testing"

	"cordwood/shard/query"
)

// TestNamesOfExpressions checks that columns without an alias are named as the client wrote them,
// wherever their rows are.
func TestNamesOfExpressions(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	columns := cols("ts:TimestampSecond", "n:Int64", "msg:String")
	tab := table("t", columns, fileOf(t, dir, 10, columns, []any{1, 2, "a"}), batch(t, columns, []any{2, 3, "b"}))
	zoned := func(sql string) *query.Request {
		return &query.Request{SQL: sql, Database: "public", Tables: []query.Table{tab}, Timezone: "Europe/Berlin"}
	}
	for sql, want := range map[string]string{
		`SELECT '{"n":[1]}'::JSON->>'$.n.[0]' FROM t`:                    `'{"n":[1]}'::JSON->>'$.n.[0]'`,
		"SELECT msg ~ 'a', msg ~* 'A', `msg` !~ 'b' FROM t":              "msg ~ 'a'|msg ~* 'A'|`msg` !~ 'b'",
		"SELECT ts > '2026-01-01', n FROM t":                             "ts > '2026-01-01'|n",
		"SELECT ts > '2026-01-01' AS late, msg ~ 'a' found FROM t":       "late|found",
		"SELECT matches(msg, 'a'),  matches_term(msg, 'a') FROM t":       "matches(msg, 'a')|matches_term(msg, 'a')",
		"SELECT date_trunc('hour', ts), public.t.n, public.t.n+1 FROM t": "date_trunc('hour', ts)|n|public.t.n+1",
		"SELECT n+1, *, msg ~ 'a' FROM t":                                "(n + 1)|ts|n|msg|msg ~ 'a'",
		"SELECT msg ~ 'a', *, * FROM t": "regexp_full_match(msg, " +
			"'(?s:.*)(?:a)(?s:.*)')|ts|n|msg|ts|n|msg",
		"SELECT count(*), count(*) AS n FROM t":                       "count_star()|n",
		"SELECT [n,  2], {'a': n}, (1, n), mode(n) FROM t GROUP BY n": "[n, 2]|{'a': n}|(1, n)|mode(n)",
		"SELECT left(msg, 1), count(*) FROM t GROUP BY 1":             "left(msg, 1)|count_star()",
		"SELECT msg LIKE 'a%', max(n) FROM t GROUP BY ALL":            "msg LIKE 'a%'|max(n)",
		"SELECT extract(hour FROM ts), ts AT TIME ZONE 'UTC', left(msg, 1) FROM t": "extract(hour FROM ts)|" +
			"ts AT TIME ZONE 'UTC'|left(msg, 1)",
		"SELECT msg LIKE 'a%', msg NOT ILIKE '%b_', true FROM t": "msg LIKE 'a%'|msg NOT ILIKE '%b_'|true",
		"SELECT time_bucket(INTERVAL '1 hour', ts), ts + INTERVAL 1 DAY, DATE '2026-01-01', *, [n] FROM t": "time_bucket(" +
			"INTERVAL '1 hour', ts)|ts + INTERVAL 1 DAY|DATE '2026-01-01'|ts|n|msg|[n]",
		"SELECT * FROM t": "ts|n|msg",
		"SELECT msg ~ 'a', count(DISTINCT `n`) FROM t WHERE msg ~ 'a' GROUP BY 1": "msg ~ 'a'|count(DISTINCT n)",
		"SELECT DISTINCT `n`, msg ~ 'a', n+1 IS DISTINCT /* */ FROM 1 FROM t WHERE msg ~ " +
			"'a'": "n|msg ~ 'a'|((n + 1) IS DISTINCT FROM 1)",
		"SELECT DISTINCT * FROM t WHERE msg ~ 'a'":                        "ts|n|msg",
		"WITH c AS (SELECT 1) SELECT msg ~ 'a', (SELECT 1 FROM c) FROM t": "msg ~ 'a'|(SELECT 1 FROM c)",
		"SELECT (SELECT count(*) FROM t)  -\n(SELECT " +
			"max(n) FROM t)": "(SELECT count(*) FROM t) - (SELECT max(n) FROM t)",
		"SELECT n, n IN (SELECT n FROM t) FROM t":                                       "n|n IN (SELECT n FROM t)",
		"WITH c AS (SELECT n FROM t) SELECT DISTINCT exists(SELECT 1 FROM t), n FROM c": "exists(SELECT 1 FROM t)|n",
		"SELECT n IS DISTINCT FROM (SELECT max(n) FROM t), 'a, " +
			"from' FROM t": "n IS DISTINCT FROM (SELECT max(n) FROM t)|'a, from'",
		"SELECT (SELECT max(n) FROM t) + 1 UNION ALL SELECT 2": "(SELECT max(n) FROM t) + 1",
		"SELECT *, (SELECT max(n) FROM t) + 1 FROM t":          "ts|n|msg|(SELECT max(n) FROM t) + 1",
		"SELECT *, *, (SELECT max(n) FROM t) + 1 FROM t":       "ts|n|msg|ts|n|msg|column_7",
		"SELECT (SELECT max(n) FROM t) + 1 AS x FROM t":        "x",
		"SELECT (SELECT max(n) FROM t WHERE msg = '" + strings.Repeat("x", 300) +
			"') + 1": "(SELECT max(n) FROM t WHERE msg = '" + strings.Repeat("x",
			200-len("(SELECT max(n) FROM t WHERE msg = '")) + "…",
	} {
		a, err := request(t.Context(), e, zoned(sql))
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		var names []string
		for _, f := range a.schema.Fields() {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, "|"); got != want {
			t.Errorf("%.80s: columns\n%s, want\n%s", sql, got, want)
		}
		bare := zoned(sql)
		bare.Tables = []query.Table{{Database: "public", Name: "t", Schema: tab.Schema}}
		parts, err := e.Split(t.Context(), bare)
		if err != nil {
			t.Fatalf("split %s: %v", sql, err)
		}
		for _, name := range names {
			if parts.Kind == "aggregate" && !strings.Contains(parts.Final, `"`+strings.ReplaceAll(name, `"`, `""`)+`"`) {
				t.Errorf("%.80s: the split statement lacks the name %s: %s", sql, name, parts.Final)
			}
		}
	}
}

// TestNamesOfTruncatedTimes checks that a column has the same name whether or not its date_trunc was replaced.
func TestNamesOfTruncatedTimes(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	columns := cols("ts:TimestampNanosecond", "n:Int64")
	tab := table("t", columns, fileOf(t, dir, 10, columns, []any{1, 2}), batch(t, columns, []any{2, 3}))
	const want = "count_star() FILTER (WHERE (date_trunc('hour', ts) < '2026-01-01'))"
	for _, from := range []string{"t", "(SELECT * FROM t UNION ALL SELECT * FROM t)"} {
		sql := "SELECT count(*) FILTER (WHERE date_trunc('hour', ts) < '2026-01-01') FROM " + from
		a, err := request(t.Context(), e, &query.Request{SQL: sql, Database: "public", Tables: []query.Table{tab}})
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if got := a.schema.Field(0).Name; got != want {
			t.Errorf("%s: column %s, want %s", sql, got, want)
		}
	}
}

// TestNamesOfConvertedIntegers checks that a column has the same name whether or not the integers next to a time were
// converted. They are converted when the statement runs, and not when it is split.
func TestNamesOfConvertedIntegers(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	for _, kind := range []string{"Nanosecond", "Microsecond", "Millisecond", "Second"} {
		columns := cols("ts:Timestamp"+kind, "n:Int64")
		tab := table("t", columns, fileOf(t, dir, 10, columns, []any{1, 2}), batch(t, columns, []any{2, 3}))
		bare := query.Table{Database: "public", Name: "t", Schema: tab.Schema}
		for _, number := range []string{"17", "-17", "- 17", "1_7"} {
			sql := "SELECT count(*) FILTER (WHERE ts = " + number + ") FROM t"
			a, err := request(t.Context(), e, &query.Request{SQL: sql, Database: "public", Tables: []query.Table{tab}})
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			s, err := e.Split(t.Context(), &query.Request{SQL: sql, Database: "public", Tables: []query.Table{bare}})
			if err != nil || s.Reason != "" {
				t.Fatalf("%s: %v, %+v", sql, err, s)
			}
			if name := a.schema.Field(0).Name; !strings.Contains(s.Final, `AS "`+name+`"`) {
				t.Errorf("%s of %s: column %s, the split statement is %s", sql, kind, name, s.Final)
			}
		}
	}
}
