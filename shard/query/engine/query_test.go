package engine

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/sql"

	"github.com/google/go-cmp/cmp"
)

var (
	logColumns = cols("ts:TimestampNanosecond", "host:String", "code:Int64", "took:Float64", "extra:Json")
	logRows    = [][]any{
		{1_000_000_001, "a", 200, 0.5, `{"k":"v1"}`},
		{2_000_000_002, "b", 404, 1.5, nil},
		{3_000_000_003, "a", 500, nil, `{"k":"v3"}`},
		{4_000_000_004, nil, 200, 2.5, nil},
		{5_000_000_005, "c", 200, 0.25, `{"k":"v5"}`},
	}
)

// logs returns a table with two rows in a segment and three in memory.
func logs(t testing.TB, dir, name string) query.Table {
	return table(name, logColumns, fileOf(t, dir, 0, logColumns, logRows[:2]...), batch(t, logColumns, logRows[2:]...))
}

func TestStatements(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	tables := []query.Table{
		logs(t, dir, "logs"),
		table("hosts", cols("ts:TimestampSecond", "host:String", "zone:String"),
			batch(t, cols("ts:TimestampSecond", "host:String", "zone:String"), []any{0, "a", "x"}, []any{0, "b", "y"})),
		in("other", logs(t, dir, "logs")),
		table("odd \"name", cols("ts:TimestampSecond", "odd \"column:Int64", "select:Int64"),
			batch(t, cols("ts:TimestampSecond", "odd \"column:Int64", "select:Int64"), []any{0, 1, 2})),
		table("empty", logColumns),
		in("information_schema", table("tables", cols("ts:TimestampSecond", "table_name:String"),
			batch(t, cols("ts:TimestampSecond", "table_name:String"), []any{0, "logs"}))),
	}
	for _, c := range []struct{ SQL, want string }{
		// Projections: any columns in any order, no column, and a column only in the filter.
		{"SELECT code FROM logs ORDER BY ts", "200 404 500 200 200"},
		{"SELECT code, host FROM logs ORDER BY ts", "200|a 404|b 500|a 200|NULL 200|c"},
		{"SELECT host, code FROM logs ORDER BY ts", "a|200 b|404 a|500 NULL|200 c|200"},
		{
			"SELECT took, code, took, epoch_ns(ts) FROM logs ORDER BY ts LIMIT 2",
			"0.5|200|0.5|1000000001 1.5|404|1.5|2000000002",
		},
		{"SELECT count(*) FROM logs", "5"},
		{"SELECT count(*) FROM logs WHERE code = 200", "3"},
		{"SELECT host FROM logs WHERE code = 404", "b"},
		{"SELECT host FROM logs WHERE took > 1 ORDER BY ts", "b NULL"},
		{"SELECT code FROM logs WHERE host IS NULL", "200"},
		{"SELECT 1 FROM logs", "1 1 1 1 1"},
		{"FROM logs SELECT max(code)", "500"},
		{"SELECT * FROM logs WHERE code = 404", `1970-01-01T00:00:02.000000002|b|404|1.5|NULL`},
		{"SELECT * EXCLUDE (ts, extra) FROM logs WHERE code = 500", "a|500|NULL"},
		{"SELECT COLUMNS('c.*') FROM logs WHERE code = 500", "500"},
		{"SELECT extra->>'$.k' FROM logs WHERE extra IS NOT NULL ORDER BY ts", "v1 v3 v5"},
		{"SELECT json_extract_string(extra, 'k') FROM logs WHERE code = 500", "v3"},
		// Names.
		{"SELECT logs.code FROM logs WHERE logs.host = 'b'", "404"},
		{"SELECT public.logs.code FROM public.logs WHERE public.logs.host = 'b'", "404"},
		{"SELECT public.logs.code FROM logs WHERE PUBLIC . /* c */ logs . host = 'b'", "404"},
		{"SELECT cordwood.public.logs.code FROM cordwood.public.logs WHERE host = 'b'", "404"},
		{"SELECT l.code FROM logs AS l WHERE l.host = 'b'", "404"},
		{"SELECT x FROM logs AS l(t, h, x) WHERE h = 'b'", "404"},
		{`SELECT "odd ""column", "select" FROM "odd ""name"`, "1|2"},
		{`SELECT "odd ""name"."odd ""column" FROM public."odd ""name"`, "1"},
		{"SELECT table_name FROM information_schema.tables", "logs"},
		{"SELECT information_schema.tables.table_name FROM information_schema.tables", "logs"},
		{"SELECT /* FROM nowhere */ code -- FROM nowhere\n FROM /* logs */ logs WHERE host = 'b' -- ; select", "404"},
		{"SELECT code FROM\u00a0logs\u3000WHERE host\u00a0=\u00a0'b'", "404"},
		{"SELECT 'é\u00a0' || code FROM logs WHERE host = 'b'", "é\u00a0404"},
		// More than one table.
		{"SELECT count(*) FROM logs a JOIN logs b USING (code)", "11"},
		{"SELECT count(*) FROM logs, other.logs", "25"},
		{"SELECT count(*) FROM logs JOIN other.logs ON public.logs.ts = other.logs.ts WHERE other.logs.code = 200", "3"},
		{"SELECT zone, count(*) FROM logs JOIN hosts USING (host) GROUP BY zone ORDER BY zone", "x|2 y|1"},
		{"SELECT host FROM logs WHERE EXISTS (SELECT 1 FROM hosts WHERE hosts.host = public.logs.host) ORDER BY ts", "a b a"},
		{"SELECT count(*) FROM (SELECT * FROM logs UNION ALL SELECT * FROM other.logs)", "10"},
		{"SELECT (SELECT max(code) FROM logs)", "500"},
		{"SELECT code FROM logs WHERE ts = (SELECT max(ts) FROM logs)", "200"},
		{
			"SELECT l.code, z.zone FROM logs l ASOF JOIN hosts z ON l.host = z.host AND l.ts >= z.ts ORDER BY l.ts",
			"200|x 404|y 500|x",
		},
		{"SELECT code, u.x FROM logs, unnest([1, 2]) AS u(x) WHERE code = 404 ORDER BY 2", "404|1 404|2"},
		{"SELECT key, value FROM logs, json_each(extra) WHERE code = 500", `k|"v3"`},
		// CTEs, including CTEs that hide tables.
		{"WITH logs AS (SELECT 7 AS x) SELECT x FROM logs", "7"},
		{"WITH logs AS (SELECT max(code) AS x FROM logs) SELECT x FROM logs", "500"},
		{"WITH a AS (SELECT code FROM logs), b AS (SELECT max(code) AS m FROM a) SELECT m FROM b", "500"},
		{"WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 4) SELECT sum(n) FROM r", "10"},
		{
			"WITH a AS (SELECT 1 AS x) SELECT x, (WITH a AS (SELECT 2 AS x) SELECT x FROM a), (SELECT x FROM a) FROM a",
			"1|2|1",
		},
		{"SELECT count(*) FROM (WITH hosts AS (SELECT 1) SELECT * FROM hosts), hosts", "2"},
		// Windows, aggregates, time.
		{
			"SELECT code, row_number() OVER (PARTITION BY code ORDER BY ts) FROM logs ORDER BY ts",
			"200|1 404|1 500|1 200|2 200|3",
		},
		{"SELECT code - lag(code) OVER (ORDER BY ts) FROM logs QUALIFY row_number() OVER (ORDER BY ts) = 2", "204"},
		{"SELECT date_trunc('minute', ts), count(*) FROM logs GROUP BY 1", "1970-01-01T00:00:00|5"},
		{
			"SELECT time_bucket(INTERVAL '2 seconds', ts) AS b, count(*) FROM logs GROUP BY b ORDER BY b LIMIT 1",
			"1970-01-01T00:00:00|1",
		},
		{"SELECT count(*) FROM logs WHERE ts > now() - INTERVAL 1 HOUR", "0"},
		{"SELECT count(*) FROM logs WHERE ts < current_timestamp AND ts < now() AND ts < to_timestamp(3.5)", "3"},
		{"SELECT count(*) FROM logs WHERE ts >= '1970-01-01T00:00:03Z' AND ts < '1970-01-01 00:00:05'", "2"},
		{"SELECT count(*) FILTER (WHERE code = 200), round(quantile_cont(took, 0.5), 3) FROM logs", "3|1"},
		{"SELECT code, count(*) FROM logs GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL", "200|3"},
		{"SELECT count(*) FROM logs USING SAMPLE 100%", "5"},
		{"SELECT host FROM logs WHERE host SIMILAR TO '[bc]' ORDER BY ts", "b c"},
		{"SELECT regexp_extract(host || code, '([a-z])([0-9]+)', 2) FROM logs WHERE code = 404", "404"},
		{
			"SELECT * FROM (PIVOT logs ON code IN (200, 404) USING count(*) GROUP BY host) ORDER BY host NULLS LAST",
			"a|1|0 b|0|1 c|1|0 NULL|1|0",
		},
		{
			"SELECT lpad(code::VARCHAR, 5, '0'), repeat('ab', 3), range(3), format('{:>5}', 'x'), printf('%05d', 7) FROM logs " +
				"WHERE code = 404",
			"00404|ababab|[0,1,2]|    x|00007",
		},
		{"SELECT list_transform([1, 2], x -> x + 1), [x * 2 FOR x IN [1, 2] IF x > 1]", "[2,3]|[4]"},
		{"SELECT count(*) FROM range(100000)", "100000"},
		{"VALUES (1), (2)", "1 2"},
		{"TABLE hosts", "1970-01-01T00:00:00|a|x 1970-01-01T00:00:00|b|y"},
		{"SELECT column_name, column_type FROM (DESCRIBE hosts)", "ts|TIMESTAMP_S host|VARCHAR zone|VARCHAR"},
		{"SELECT column_name, max FROM (SUMMARIZE SELECT code FROM logs)", "code|500"},
		// Empty tables and answers without rows.
		{"SELECT * FROM empty", ""},
		{"SELECT count(*), max(code) FROM empty", "0|NULL"},
		{"SELECT count(*) FROM logs LEFT JOIN empty USING (code)", "5"},
		{";; SELECT 1 ; ;", "1"},
	} {
		a, err := ask(e, c.SQL, tables...)
		if err != nil {
			t.Errorf("%s: %v", c.SQL, err)
			continue
		}
		if got := strings.Join(a.rows, " "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.SQL, got, c.want)
		}
	}
}

func TestColumnNames(t *testing.T) {
	e := openEngine(t, t.TempDir())
	tab := table("logs", logColumns)
	for sql, want := range map[string]string{
		"SELECT count(*), lower(public.logs.host), max(code) AS m FROM logs GROUP BY ALL": "count_star() " +
			"lower(public.logs.host) m",
		"SELECT code, code FROM logs":                "code code",
		"SELECT INTERVAL 1 DAY AS a, code FROM logs": "a code",
		"SELECT * FROM logs":                         "ts host code took extra",
	} {
		a, err := ask(e, sql, tab)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		var names []string
		for _, f := range a.schema.Fields() {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: got %s, want %s", sql, got, want)
		}
	}
}

// TestColumnsChange checks segments that lack a column, have it under an older name, or have
// columns that were dropped.
func TestColumnsChange(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	old := []schema.Column{
		{ID: 1, Name: "ts", Type: schema.TimestampMillisecond, Semantic: schema.Timestamp},
		{ID: 2, Name: "dropped", Type: schema.String, Semantic: schema.Field},
		{ID: 3, Name: "before", Type: schema.Int64, Semantic: schema.Field},
	}
	now := []schema.Column{
		{ID: 5, Name: "added", Type: schema.JSON, Semantic: schema.Field},
		{ID: 1, Name: "ts", Type: schema.TimestampMillisecond, Semantic: schema.Timestamp},
		{ID: 3, Name: "after", Type: schema.Int64, Semantic: schema.Field},
		// another column with the name of the dropped one
		{ID: 4, Name: "dropped", Type: schema.Float64, Semantic: schema.Field},
	}
	tab := table("t", now,
		fileOf(t, dir, 0, old, []any{1, "x", 10}),
		fileOf(t, dir, 0, now, []any{`{"a":1}`, 2, 20, 0.5}),
		fileOf(t, dir, 0, old[:1], []any{3}),
		batch(t, old, []any{4, "y", 40}),
		batch(t, now, []any{nil, 5, 50, 1.5}),
		batch(t, old[:1], []any{6}),
	)
	want := []string{
		`NULL|1970-01-01T00:00:00.001|10|NULL`, `{"a":1}|1970-01-01T00:00:00.002|20|0.5`,
		`NULL|1970-01-01T00:00:00.003|NULL|NULL`,
		`NULL|1970-01-01T00:00:00.004|40|NULL`, `NULL|1970-01-01T00:00:00.005|50|1.5`,
		`NULL|1970-01-01T00:00:00.006|NULL|NULL`,
	}
	if diff := cmp.Diff(want, mustQuery(t, e, "SELECT * FROM t ORDER BY ts", tab)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"6|4|2|1"},
		mustQuery(t, e, "SELECT count(*), count(after), count(dropped), count(added->>'a') FROM t", tab)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAwkwardColumnNames(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	columns := cols("ts:TimestampNanosecond", "A:Int64", "a:Int64", "rowid:Int64", "filename:Int64",
		"file_row_number:Int64",
		"file_index:Int64", "a.b:Int64", "it's \"odd\":Int64", "ts_1:Int64", "TS:Int64", "select:Int64",
		"日本:Int64", " :Int64")
	row := func(n int) []any {
		out := []any{n}
		for i := 1; i < len(columns); i++ {
			out = append(out, 100*n+i)
		}
		return out
	}
	tab := table("t", columns, fileOf(t, dir, 0, columns, row(1)), batch(t, columns, row(2)))
	a, err := ask(e, "SELECT * FROM t ORDER BY ts", tab)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range a.schema.Fields() {
		names = append(names, f.Name)
	}
	if diff := cmp.Diff("ts A a rowid filename file_row_number file_index a.b it's \"odd\" ts_1 TS select 日本  ",
		strings.Join(names, " ")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for i, n := range []int{1, 2} {
		want := fmt.Sprintf("1970-01-01T00:00:00.%09d", n)
		for k := 1; k < len(columns); k++ {
			want += fmt.Sprintf("|%d", 100*n+k)
		}
		if diff := cmp.Diff(want, a.rows[i]); diff != "" {
			t.Errorf("row %d: -want +got:\n%s", n, diff)
		}
	}
	for _, name := range names[1:] {
		sql := fmt.Sprintf("SELECT count(*) FROM t WHERE %s > 0", sql.QuoteName(name))
		if got := mustQuery(t, e, sql, tab); got[0] != "2" {
			t.Errorf("%s: got %s", sql, got)
		}
	}
}

func TestExpired(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	for _, unit := range []string{"Second", "Millisecond", "Microsecond", "Nanosecond"} {
		columns := cols("ts:Timestamp"+unit, "n:Int64")
		tab := table("t", columns,
			fileOf(t, dir, 0, columns, []any{10, 1}, []any{20, 2}), fileOf(t, dir, 0, columns, []any{30, 3}),
			batch(t, columns, []any{20, 4}, []any{21, 5}), batch(t, columns, []any{5, 6}))
		for before, want := range map[int64]string{
			0: "1 2 3 4 5 6", 5: "1 2 3 4 5 6", 6: "1 2 3 4 5", 20: "2 3 4 5", 21: "3 5", 31: "",
			math.MinInt64: "1 2 3 4 5 6", math.MaxInt64: "",
		} {
			tab.ExpiredBefore = &before
			if got := strings.Join(mustQuery(t, e, "SELECT n FROM t ORDER BY n", tab), " "); got != want {
				t.Errorf("%s, expired before %d: got %s, want %s", unit, before, got, want)
			}
		}
	}
}

func TestLimit(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	tab := logs(t, dir, "logs")
	big := cols("ts:TimestampSecond")
	var rows [][]any
	for i := range 10_000 {
		rows = append(rows, []any{i})
	}
	many := table("many", big, batch(t, big, rows...))
	for _, c := range []struct {
		SQL   string
		limit uint64
		want  int
	}{
		{"SELECT code FROM logs", 3, 3},
		{"SELECT code FROM logs", 100, 5},
		{"SELECT code FROM logs LIMIT 2", 3, 2},
		{"SELECT code FROM logs LIMIT 4", 3, 3},
		{"SELECT code FROM logs OFFSET 1", 3, 3},
		{"SELECT code FROM logs; -- the end", 3, 3},
		{"SELECT code FROM logs -- the end", 3, 3},
		{"SELECT code FROM logs UNION ALL SELECT code FROM logs ORDER BY 1", 7, 7},
		{"(SELECT code FROM logs LIMIT 4)", 3, 3},
		{"SUMMARIZE logs", 3, 3},
		{"VALUES (1), (2), (3)", 2, 2},
		{"SELECT uuid() FROM logs", 2, 2},
		{"SELECT ts FROM many", 2049, 2049},
		{"SELECT ts FROM many", 4096, 4096},
		{"SELECT ts FROM many LIMIT 9000", 2047, 2047},
		{"EXPLAIN SELECT code FROM logs", 3, 2},
	} {
		a, err := request(t.Context(), e, &query.Request{
			SQL: c.SQL, Database: "public", Tables: []query.Table{tab, many}, Limit: c.limit,
		})
		if err != nil {
			t.Errorf("%s: %v", c.SQL, err)
		} else if len(a.rows) != c.want {
			t.Errorf("%s, limit %d: %d rows, want %d", c.SQL, c.limit, len(a.rows), c.want)
		}
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	tab := logs(t, dir, "logs")
	gone := fileOf(t, dir, 0, logColumns, logRows...)
	gone.Path += ".gone"
	for _, c := range []struct {
		SQL  string
		code errs.Code
		text string // part of the message
	}{
		{"SELEC 1", errs.InvalidSyntax, `at or near "SELEC" (position 0)`},
		{"EXPLAIN SELECT 1 +", errs.InvalidSyntax, "(position 18)"},
		{"SELECT code FRM logs", errs.InvalidSyntax, "(position 16)"},
		{"SELECT * FROM", errs.InvalidSyntax, "at end of input"},
		{"SELECT 'open", errs.InvalidSyntax, "unterminated"},
		{"", errs.InvalidSyntax, "empty"},
		{" -- nothing", errs.InvalidSyntax, "empty"},
		{"SELECT 1\x00", errs.InvalidSyntax, "NUL"},
		{"SELECT '\xff'", errs.InvalidSyntax, "UTF-8"},
		{"SELECT " + strings.Repeat(" ", sql.MaxSQL), errs.InvalidArguments, "bytes"},
		{"SELECT * FROM nowhere", errs.TableNotFound, "table public.nowhere does not exist"},
		{"SELECT * FROM other.logs", errs.TableNotFound, "table other.logs does not exist"},
		{"SELECT nope FROM logs", errs.ColumnNotFound, `"nope"`},
		{"SELECT code FROM logs WHERE nope = 1", errs.ColumnNotFound, "(position 28)"},
		{"SELECT logs.nope FROM logs", errs.ColumnNotFound, `"nope"`},
		{"SELECT public.logs.nope FROM logs", errs.ColumnNotFound, `"nope"`},
		{"SELECT l.code FROM logs", errs.PlanQuery, `"l"`},
		{"SELECT nosuch(code) FROM logs", errs.PlanQuery, "nosuch"},
		{"SELECT sum(host) FROM logs", errs.PlanQuery, "sum(VARCHAR)"},
		{"SELECT host, count(*) FROM logs", errs.PlanQuery, "GROUP BY"},
		{"SELECT code FROM logs a, logs b", errs.PlanQuery, "mbiguous"},
		{"SELECT host::INT FROM logs", errs.InvalidArguments, "'a'"},
		{"SELECT 9223372036854775807 + code FROM logs", errs.InvalidArguments, "verflow"},
		{"SELECT TIMESTAMP 'yesterday'", errs.InvalidArguments, "yesterday"},
		{"SELECT (SELECT code FROM logs)", errs.InvalidArguments, "More than one row"},
		{"SELECT error('mine')", errs.InvalidArguments, "mine"},
		{"SELECT strptime(host, '%Q') FROM logs", errs.InvalidArguments, ""},
		{"SELECT regexp_matches(host, '(') FROM logs", errs.InvalidArguments, ""},
		{"SELECT * FROM gone", errs.StorageUnavailable, "read a segment"},
	} {
		_, err := ask(e, c.SQL, tab, table("gone", logColumns, gone))
		if errs.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%.60s:\n got %d %v\nwant %d …%s…", c.SQL, errs.CodeOf(err), err, c.code, c.text)
		}
	}
	for zone, ok := range map[string]bool{
		"": true, "UTC": true, "Etc/UTC": true, "Europe/Atlantis": false, "Nowhere": false,
	} {
		_, err := request(t.Context(), e, &query.Request{SQL: "SELECT 1", Timezone: zone})
		if (err == nil) != ok || !ok && errs.CodeOf(err) != errs.InvalidArguments {
			t.Errorf("time zone %q: %v", zone, err)
		}
	}
	bad := batch(t, logColumns, logRows...)
	bad.Cols[2].Type = schema.Float64
	if _, err := ask(e, "SELECT * FROM logs", table("logs", logColumns, bad)); errs.CodeOf(err) != errs.Internal {
		t.Errorf("a batch of another type: %v", err)
	}
	bad = batch(t, logColumns, logRows...)
	bad.Cols[1].Offsets = bad.Cols[1].Offsets[:4]
	if _, err := ask(e, "SELECT * FROM logs", table("logs", logColumns, bad)); errs.CodeOf(err) != errs.Internal {
		t.Errorf("a batch with short offsets: %v", err)
	}
}
