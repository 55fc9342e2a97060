package engine

import (
	"slices"
	"strings"
	"testing"

	"cordwood/shard/query"
)

// TestNeededRows checks which conditions the rows that another node sends must meet: comparisons of columns with
// literals, also in joins and behind BETWEEN, but none that a row without a match in an outer join need not meet.
func TestNeededRows(t *testing.T) {
	e := openEngine(t, t.TempDir())
	columns := cols("ts:TimestampNanosecond", "n:Int64", "f:Float64", "s:String")
	logs, hosts := table("logs", columns), table("hosts", columns)
	for sql, want := range map[string]string{
		"SELECT s FROM logs WHERE n > 5":                                                    `"n" > 5`,
		"SELECT s FROM logs WHERE 5 > n AND s <= 'it''s'":                                   `"n" < 5 AND "s" <= 'it''s'`,
		"SELECT s FROM logs WHERE f BETWEEN 0.25 AND 2":                                     `"f" >= 0.25 AND "f" <= 2`,
		"SELECT s FROM logs WHERE n NOT BETWEEN 1 AND 2":                                    "",
		"SELECT s FROM logs WHERE NOT n < 5":                                                `"n" >= 5`,
		"SELECT s FROM logs WHERE n < 5 OR n > 9":                                           "",
		"SELECT s FROM logs WHERE n < f AND n < 300.5 AND n <> 7":                           "",
		"SELECT l.s FROM logs l JOIN hosts h ON l.s = h.s WHERE l.n >= 5":                   `"n" >= 5`,
		"SELECT l.s FROM hosts h LEFT JOIN logs l ON l.s = h.s AND l.n >= 5":                "",
		"SELECT h.s FROM hosts h LEFT JOIN logs l ON l.s = h.s WHERE coalesce(l.n, 9) >= 5": "",
	} {
		needs, err := e.Needs(t.Context(), &query.Request{SQL: sql, Database: "public", Tables: []query.Table{logs, hosts}})
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		for _, n := range needs {
			if n.Name.Name == "logs" && n.Where != want {
				t.Errorf("%s: the rows meet %q, want %q", sql, n.Where, want)
			}
			if n.Name.Name == "hosts" && n.Where != "" {
				t.Errorf("%s: the rows of the other table meet %q", sql, n.Where)
			}
		}
	}
}

// TestNeededColumns checks which columns are fetched of each table: those that a reference to it may read, whatever the
// other tables of the statement need.
func TestNeededColumns(t *testing.T) {
	e := openEngine(t, t.TempDir())
	columns := cols("ts:TimestampNanosecond", "n:Int64", "f:Float64", "s:String", "j:Json")
	a, b := table("a", columns), table("b", columns)
	c := table("c", cols("ts:TimestampNanosecond", "n:Int64", "own:String"))
	elsewhere := table("a", columns)
	elsewhere.Database = "logs"
	for sql, want := range map[string]string{
		"SELECT count(*) FROM a JOIN b ON a.s = b.s WHERE a.n > 5":                              "a: n s, b: s",
		"SELECT count(*) FROM a AS x JOIN b AS y USING (s) WHERE x.ts > now()":                  "a: ts s, b: s",
		"SELECT count(*) FROM a JOIN b ON a.s = b.s WHERE public.a.f > 5":                       "a: f s, b: s",
		"SELECT a.n AS f, b.f AS n FROM a JOIN b ON a.s = b.s ORDER BY a.ts":                    "a: ts n s, b: f s",
		"SELECT x.n, y.f FROM a AS x JOIN a AS y ON x.s = y.s":                                  "a: n f s",
		"SELECT a.s, own FROM a JOIN c ON a.n = c.n":                                            "a: n s, c: n own",
		"SELECT a.*, c.own FROM a JOIN c ON a.n = c.n":                                          "a: ts n f s j, c: n own",
		"SELECT * FROM a JOIN c ON a.n = c.n":                                                   "a: ts n f s j, c: ts n own",
		"SELECT * FROM (SELECT a.s, c.own FROM a JOIN c ON a.n = c.n)":                          "a: n s, c: n own",
		"SELECT s FROM a WHERE EXISTS (SELECT * FROM c WHERE c.n = a.n)":                        "a: n s, c: ts n own",
		"SELECT s FROM a WHERE f > (SELECT max(n) FROM b WHERE b.s = a.s)":                      "a: n f s, b: n s",
		"SELECT f FROM a WHERE n IN (SELECT n FROM c WHERE own > s)":                            "a: n f s, c: n own",
		"SELECT s FROM a UNION ALL SELECT own FROM c ORDER BY s":                                "a: s, c: own",
		"WITH x AS (SELECT n FROM a), y AS (SELECT f, s FROM b) SELECT x.n, y.f FROM x, y":      "a: n, b: f s",
		"WITH x AS (SELECT n FROM a) SELECT count(*) FROM x, b WHERE x.n = b.n":                 "a: n, b: n",
		"SELECT count(*) FROM a, b":                                                             "a: ts, b: ts",
		"SELECT a.s FROM a NATURAL JOIN c":                                                      "a: ts n f s j, c: ts n own",
		"SELECT a FROM a JOIN c ON a.n = c.n":                                                   "a: ts n f s j, c: ts n own",
		"SELECT x.j->>'s' FROM a AS x JOIN b AS y ON x.n = y.n":                                 "a: n s j, b: n s",
		"SELECT b.n FROM a JOIN logs.a AS b ON a.s = b.s":                                       "a: s, logs.a: n s",
		"SELECT logs.a.n, public.a.f FROM a JOIN logs.a ON public.a.s = logs.a.s":               "a: n f s, logs.a: n f s",
		"SELECT l.v FROM a, LATERAL (SELECT a.n + c.n AS v FROM c WHERE own = s) AS l":          "a: n s, c: n own",
		"SELECT x.n, y.own FROM a AS x ASOF JOIN c AS y ON x.n = y.n AND x.ts >= y.ts":          "a: ts n, c: ts n own",
		"SELECT max(COLUMNS(x.*)) FROM (SELECT n, s FROM a) AS x, c":                            "a: n s, c: n",
		"SELECT sum(b.n) OVER (PARTITION BY a.s ORDER BY a.ts) AS f FROM a JOIN b ON a.s = b.s": "a: ts s, b: n s",
		"SELECT t.a1 FROM a AS t(a1, a2) JOIN c ON t.a2 = c.n":                                  "a: ts n f s j, c: ts n own",
	} {
		tables := []query.Table{a, b, c, elsewhere}
		needs, err := e.Needs(t.Context(), &query.Request{SQL: sql, Database: "public", Tables: tables})
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		var got []string
		for _, n := range needs {
			got = append(got, strings.TrimPrefix(n.Name.String(), "public.")+": "+strings.Join(n.Columns, " "))
		}
		slices.Sort(got)
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: reads %s, want %s", sql, strings.Join(got, ", "), want)
		}
	}
	if n := e.whole.Load(); n > 0 {
		t.Errorf("%d statements needed more columns than they seemed to read", n)
	}
}
