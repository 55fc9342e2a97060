package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"cordwood/proto/schema"
	"cordwood/shard/query"
)

// alikeStatements read only times. %[1]s is replaced by a moment. All statements except the last
// few are answered from bounds where the bounds allow it.
var alikeStatements = []string{
	"SELECT count(*) FROM t",
	"SELECT 1 AS one, 'x' FROM t ORDER BY one",
	"SELECT date_trunc('minute', ts) AS m, count(*), typeof(m) FROM t GROUP BY m ORDER BY m",
	"SELECT date_trunc('SECOND', x.ts) AS m, count(*) FROM t AS x GROUP BY date_trunc('SECOND', x.ts) ORDER BY m",
	"SELECT m, count(*) FROM (SELECT date_trunc('week', ts) AS m FROM public.t) GROUP BY m ORDER BY m",
	"SELECT date_trunc('month', ts) AS m, date_trunc('day', ts) AS d, count(*) FROM t GROUP BY ALL ORDER BY m, d",
	"SELECT time_bucket(INTERVAL 10 SECOND, ts) AS m, count(*) FROM t GROUP BY m ORDER BY m",
	"SELECT time_bucket(INTERVAL '3 days', ts) AS m, count(*) FROM t GROUP BY m ORDER BY m",
	"SELECT time_bucket(INTERVAL '1 month', ts) AS m, count(*) FROM t GROUP BY m ORDER BY m",
	"SELECT ts::DATE AS d, count(*) FROM t GROUP BY d ORDER BY d",
	"SELECT count(*) FROM t WHERE ts >= TIMESTAMP '%[1]s'",
	"SELECT count(*) FROM t WHERE ts = '%[1]s' OR NOT ts < '%[1]s'",
	"SELECT date_trunc('hour', ts) AS m, count(*) FROM t WHERE ts BETWEEN '%[1]s' AND TIMESTAMP '%[1]s' + INTERVAL 1 " +
		"HOUR GROUP BY m ORDER BY m",
	"SELECT count(*) FILTER (WHERE ts > '%[1]s'), count(*) FROM t WHERE epoch(ts) != 60",
	"SELECT count(*) FROM t WHERE date_trunc('minute', ts) = '%[1]s'",
	"SELECT count(*) FROM t WHERE ts < now() AND ts > now() - INTERVAL 1 YEAR",
	"WITH c AS (SELECT date_trunc('minute', ts) AS m FROM t) SELECT count(*) FROM c a JOIN c b USING (m)",
	"SELECT m, sum(n) OVER (ORDER BY m) FROM (SELECT date_trunc('minute', ts) AS m, count(*) AS n FROM t GROUP BY m) " +
		"ORDER BY m",
	"SELECT (SELECT count(*) FROM t WHERE ts > '%[1]s'), 1",
	"SELECT DISTINCT date_trunc('minute', ts) AS m FROM t ORDER BY m LIMIT 3",
	// The following statements use the time index in other ways, so bounds do not answer them.
	"SELECT date_trunc('minute', ts) AS ts, count(*) FROM t GROUP BY ALL ORDER BY 1",
	"SELECT date_trunc('minute', ts) AS ts, count(*) FROM t GROUP BY ts ORDER BY 1, 2",
	"SELECT count(*), min(ts), max(ts) FROM t WHERE ts > '%[1]s'",
	"SELECT date_trunc('minute', ts) AS m, count(*), sum(n) FROM t GROUP BY m ORDER BY m",
	"SELECT date_trunc('minute', ts) AS m, any_value(t.\"TS\") IS NULL FROM t GROUP BY m ORDER BY m",
	"SELECT date_trunc(CASE WHEN ts > '%[1]s' THEN 'minute' ELSE 'hour' END, ts) AS m, count(*) FROM t GROUP BY m " +
		"ORDER BY m",
	"SELECT count(*) FROM t a, t b WHERE date_trunc('minute', a.ts) = date_trunc('minute', b.ts)",
	"SELECT date_trunc('minute', ts) AS m, count(*) FROM (SELECT * FROM t) GROUP BY m ORDER BY m",
	"SELECT count(*) FROM t WHERE t.ts IN ('%[1]s', '1970-01-01')",
	"SELECT m, count(*) FROM (SELECT date_trunc('minute', ts) AS m, t FROM t) GROUP BY m ORDER BY m",
}

// TestAlike compares answers from bounds with those from rows, for tables in files and in
// memory, of every unit, with expired and deleted rows, before 1970 and around it.
func TestAlike(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e, plain := openEngine(t, dir), openEngine(t, dir)
	plain.off("bounds", "codes", "direct")
	for seed := range uint64(16) {
		r := rand.New(rand.NewPCG(seed, 3))
		unit := []string{"Second", "Millisecond", "Microsecond", "Nanosecond"}[seed%4]
		columns := cols("ts:Timestamp"+unit, "n:Int64")
		if seed%5 == 4 {
			columns = append(columns, schema.DeletedColumn())
		}
		units := columns[0].Type.UnitsPerSecond()
		begin := []int64{-600, 0, 1767225600, -86400 * 5, 951782400}[r.IntN(5)] * units
		step := units * []int64{1, 5, 30, 3600, 86400}[r.IntN(5)]
		if units > 1 && r.IntN(3) == 0 {
			step = 1 + units/7
		}
		tab := table("t", columns[:2])
		tab.Merge = query.Merge(r.IntN(3))
		at := begin
		for part := range 9 {
			var rows [][]any
			for i := range 1 + r.IntN(60) {
				if tab.Merge != query.Append || r.IntN(3) > 0 {
					at += 1 + r.Int64N(step)
				}
				if r.IntN(10) == 0 {
					at = (at/step + 1) * step // on a boundary
				}
				row := []any{at, i}
				if len(columns) > 2 {
					row = append(row, []any{nil, false, true}[r.IntN(3)])
				}
				rows = append(rows, row)
			}
			if part < 7 {
				s := fileOf(t, dir, 1+r.IntN(10), columns, rows...)
				s.Order = uint64(part) + 1
				tab.Segments = append(tab.Segments, s)
			} else {
				tab.Batches = append(tab.Batches, batch(t, columns, rows...))
			}
		}
		if r.IntN(3) == 0 {
			before := begin + r.Int64N(at-begin)
			tab.ExpiredBefore = &before
		}
		for _, sql := range alikeStatements {
			about := begin + r.Int64N(at-begin)
			if r.IntN(2) == 0 {
				about = about / step * step
			}
			sql := strings.ReplaceAll(sql, "%[1]s", columns[0].Type.Moment(about).UTC().Format(time.RFC3339Nano))
			want := strings.Join(mustQuery(t, plain, sql, tab), " ")
			if got := strings.Join(mustQuery(t, e, sql, tab), " "); got != want {
				t.Errorf("seed %d, %s, merge %d, %s:\n got %s\nwant %s", seed, unit, tab.Merge, sql, got, want)
			}
		}
	}
}

// TestAlikeOnlyTimes queries a table whose only column is its time index, with statements that do
// not name this column.
func TestAlikeOnlyTimes(t *testing.T) {
	dir := t.TempDir()
	e, plain := openEngine(t, dir), openEngine(t, dir)
	plain.off("bounds", "codes", "direct")
	columns := cols("ts:TimestampSecond")
	tab := table("t", columns)
	tab.Segments = append(tab.Segments, fileOf(t, dir, 10, columns, []any{10}, []any{11}, []any{90}))
	tab.Batches = append(tab.Batches, batch(t, columns, []any{100}, []any{105}))
	for _, sql := range []string{
		"SELECT * FROM t", "FROM t", "SELECT * FROM t WHERE true ORDER BY 1",
		"SELECT max(COLUMNS('t.')), min(COLUMNS(*)) FROM t", "SELECT max(#1) FROM t",
		"SELECT count(*) FROM (SELECT DISTINCT * FROM t)", "SELECT t FROM t", "SELECT count(DISTINCT t) FROM t",
		"SELECT * FROM t x(y)", "SELECT max(y) FROM t x(y)",
		"SELECT count(*) FROM t a NATURAL JOIN (SELECT make_timestamp(10000000) AS ts)",
		"SELECT max(c) FROM (TABLE t) x(c)", "SELECT count(*) FROM (SUMMARIZE t)",
		"SELECT max(x.a) FROM (SELECT unnest(t) AS a FROM t) x",
		"SELECT date_trunc('minute', ts) AS m, max(COLUMNS('t.')) FROM t GROUP BY m ORDER BY m",
	} {
		want, werr := request(t.Context(), plain, &query.Request{SQL: sql, Database: "public", Tables: []query.Table{tab}})
		got, err := request(t.Context(), e, &query.Request{SQL: sql, Database: "public", Tables: []query.Table{tab}})
		switch {
		case err != nil || werr != nil:
			if fmt.Sprint(err) != fmt.Sprint(werr) {
				t.Errorf("%s: %v, want %v", sql, err, werr)
			}
		case strings.Join(got.rows, " ") != strings.Join(want.rows, " "):
			t.Errorf("%s: got %s, want %s", sql, got.rows, want.rows)
		}
	}
}

// TestAlikeReadsLittle checks that rows which are answered from bounds are not read, and that rows
// with infinite times are.
func TestAlikeReadsLittle(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	columns := cols("ts:TimestampNanosecond", "n:Int64")
	tab := table("t", columns)
	for part := range 3 {
		var rows [][]any
		for i := range 100 {
			rows = append(rows, []any{int64(part*100+i) * 1e9, i})
		}
		tab.Segments = append(tab.Segments, fileOf(t, dir, 10, columns, rows...))
	}
	tab.Batches = append(tab.Batches, batch(t, columns, []any{int64(301e9), 1}, []any{int64(math.MaxInt64), 1}))
	for sql, want := range map[string]string{
		"SELECT count(*) FROM t": "0 of 3 segments; 300 rows counted by the bounds of their times; 2 of 2 rows in memory; " +
			"1 of 2 columns",
		"SELECT count(*) FROM t WHERE ts >= make_timestamp_ns(155000000000)": "1 of 3 segments, 1 left out by time; " +
			"140 rows counted by the bounds of their times; 2 of 2 rows in memory; 1 of 2 columns",
		"SELECT date_trunc('minute', ts) AS m, count(*) FROM t " +
			"GROUP BY m": "0 of 3 segments; 300 rows counted by the bounds of their times; 2 of 2 rows in memory; " +
			"1 of 2 columns",
		"SELECT time_bucket(INTERVAL 1 MINUTE, ts) AS m, max(n) FROM t " +
			"GROUP BY m": "3 of 3 segments; 2 of 2 rows in memory; 2 of 2 columns",
	} {
		got := mustQuery(t, e, "EXPLAIN "+sql, tab)[0]
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
}
