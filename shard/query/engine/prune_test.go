package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/plan"
)

// hourly returns a table with a segment and a batch in turn for each hour from base on.
func hourly(t testing.TB, dir, unit string, base time.Time, hours int) query.Table {
	columns := cols("ts:Timestamp"+unit, "n:Int64", "host:String")
	tab := table("t", columns)
	for h := range hours {
		at := base.Add(time.Duration(h) * time.Hour)
		var rows [][]any
		for i := range 6 {
			ns := at.Add(time.Duration(i) * 10 * time.Minute).UnixNano()
			rows = append(rows, []any{ns / (1e9 / columns[0].Type.UnitsPerSecond()), h, fmt.Sprint("h", i)})
		}
		if h%2 == 0 {
			tab.Segments = append(tab.Segments, fileOf(t, dir, 2, columns, rows...))
		} else {
			tab.Batches = append(tab.Batches, batch(t, columns, rows...))
		}
	}
	return tab
}

// whole returns the table without the information that pruning uses.
func whole(t query.Table) query.Table {
	t.Segments = append([]query.Segment(nil), t.Segments...)
	for i := range t.Segments {
		t.Segments[i].MinTime, t.Segments[i].MaxTime = -1<<62, 1<<62
	}
	return t
}

// TestPrune checks that conditions exclude the expected parts, and never a matching row.
func TestPrune(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	base := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		SQL string
		// maximum number of the twelve parts that all references together may read
		most int
	}{
		{"SELECT count(*) FROM t", 12},
		{"SELECT count(*) FROM t WHERE ts >= '2026-01-05 03:00:00' AND ts < '2026-01-05 04:00:00'", 3},
		{"SELECT count(*) FROM t WHERE ts > TIMESTAMP '2026-01-05 10:30:00'", 2},
		{"SELECT count(*) FROM t WHERE t.ts > '2026-01-05T10:30:00Z'", 2},
		{"SELECT count(*) FROM t WHERE public.t.ts > '2026-01-05T10:30:00Z'", 12},
		{"SELECT count(*) FROM t AS x WHERE x.ts > '2026-01-05 10:30'", 2},
		{"SELECT count(*) FROM t WHERE '2026-01-05 10:30:00' < ts", 2},
		{"SELECT count(*) FROM t WHERE ts BETWEEN '2026-01-05 02:10:00' AND '2026-01-05 02:20:00'", 1},
		{"SELECT count(*) FROM t WHERE NOT ts < '2026-01-05 10:30:00'", 2},
		{"SELECT count(*) FROM t WHERE NOT (ts < '2026-01-05 10:30:00' OR n = 3)", 2},
		{"SELECT count(*) FROM t WHERE NOT (ts BETWEEN '2026-01-05 02:10:00' AND '2026-01-05 02:20:00')", 12},
		{"SELECT count(*) FROM t WHERE ts < '2026-01-05 01:00:00' OR ts > '2026-01-05 11:10:00'", 3},
		{"SELECT count(*) FROM t WHERE ts < '2026-01-05 01:00:00' OR n = 7", 12},
		{"SELECT count(*) FROM t WHERE (ts < '2026-01-05 01:00:00' OR n = 7) AND ts < '2026-01-05 01:30:00'", 2},
		{"SELECT count(*) FROM t WHERE ts IN ('2026-01-05 01:10:00', '2026-01-05 09:20:00')", 2},
		{"SELECT count(*) FROM t WHERE ts = '2026-01-05 01:10:00'", 1},
		{"SELECT count(*) FROM t WHERE ts != '2026-01-05 01:10:00'", 12},
		{"SELECT count(*) FROM t WHERE date_trunc('hour', ts) = '2026-01-05 04:00:00'", 3},
		{"SELECT count(*) FROM t WHERE date_trunc('day', ts) = '2026-01-05'", 12},
		{"SELECT count(*) FROM t WHERE time_bucket(INTERVAL '1 hour', ts) >= '2026-01-05 10:00:00'", 3},
		{"SELECT count(*) FROM t WHERE ts::DATE = '2026-01-05'", 12},
		{"SELECT count(*) FROM t WHERE ts::DATE = '2026-01-06'", 0},
		// DuckDB drops the time of the text.
		{"SELECT count(*) FROM t WHERE ts::DATE = '2026-01-05 05:00:00'", 12},
		{"SELECT count(*) FROM t WHERE ts::DATE IN ('2026-01-05 05:00:00', '2026-01-05 23:00:00')", 12},
		{"SELECT count(*) FROM t WHERE ts::DATE BETWEEN '2026-01-05 05:00:00' AND '2026-01-05 06:00:00'", 12},
		{"SELECT count(*) FROM t WHERE ts::DATE >= '2026-01-05 23:00:00'", 12},
		{"SELECT count(*) FROM t WHERE ts::DATE <= '2026-01-05 00:30:00'", 12},
		{"SELECT count(*) FROM t WHERE ts::DATE = '2026-01-05 01:00:00+02'", 12},
		{"SELECT count(*) FROM t WHERE ts::DATE = DATE '2026-01-05'", 12},
		{"SELECT count(*) FROM t WHERE ts::TIMESTAMP < '2026-01-05 00:30:00'", 1},
		{"SELECT count(*) FROM t WHERE ts >= CAST('2026-01-05 11:00:00' AS TIMESTAMP) - INTERVAL '1 hour'", 3},
		{"SELECT count(*) FROM t WHERE ts >= TIMESTAMP '2026-01-05 11:00:00' - INTERVAL 90 MINUTES", 4},
		{"SELECT count(*) FROM t WHERE ts < TIMESTAMP '2025-12-05 01:30:00' + INTERVAL 1 MONTH", 12},
		{"SELECT count(*) FROM t WHERE ts < TIMESTAMP '2025-11-01 01:30:00' + INTERVAL 1 MONTH", 0},
		{"SELECT count(*) FROM t WHERE epoch_ms(ts) >= 1767607200000", 3},
		{"SELECT count(*) FROM t WHERE epoch(ts) < 1767574800", 2},
		{"SELECT count(*) FROM t WHERE ts >= make_timestamp(1767607200000000)", 3},
		{"SELECT count(*) FROM t WHERE ts >= to_timestamp(1767607200.5)", 3},
		{"SELECT count(*) FROM t WHERE ts > now() - INTERVAL '1 hour'", 0},
		{"SELECT count(*) FROM t WHERE ts > current_timestamp - INTERVAL 100 YEARS AND ts < current_date", 12},
		{"SELECT count(*) FROM t WHERE ts > '2026-01-05 13:30:00+02:00'", 12},
		// Each reference is pruned by itself.
		{
			"SELECT count(*) FROM t a JOIN t b ON a.n = b.n AND a.ts < '2026-01-05 01:30:00' WHERE b.ts < '2026-01-05 00:30:00'",
			3,
		},
		{"SELECT count(*) FROM t a LEFT JOIN t b ON a.n = b.n AND a.ts < '2026-01-05 00:30:00'", 24},
		{"SELECT count(*), count(b.n) FROM t a LEFT JOIN t b ON a.n = b.n + 1 WHERE a.ts < '2026-01-05 00:30:00'", 13},
		{
			"SELECT count(*), count(b.n) FROM t a LEFT JOIN t b ON a.n = b.n WHERE b.ts < '2026-01-05 00:30:00' OR b.ts IS NULL",
			24,
		},
		{"SELECT count(*), count(a.n) FROM t a FULL JOIN t b ON a.n = b.n + 1 WHERE a.ts < '2026-01-05 00:30:00'", 24},
		{"SELECT count(*), sum(b.n) FROM t a ASOF JOIN t b ON a.ts >= b.ts WHERE b.ts > '2026-01-05 11:30:00'", 24},
		{"SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM t b WHERE b.ts < '2026-01-05 00:30:00' AND b.n = t.n)", 13},
		{"SELECT count(*) FROM t WHERE n IN (SELECT n FROM t WHERE ts < '2026-01-05 00:30:00')", 13},
		{"WITH x AS (SELECT * FROM t WHERE ts < '2026-01-05 00:30:00') SELECT count(*) FROM x, x y", 1},
		{"SELECT count(*) FROM (SELECT n AS ts FROM t) WHERE ts < 3", 12},
		{"SELECT count(*) FROM (SELECT now() AS ts, n FROM t) AS t WHERE t.ts > '2026-01-06'", 12},
		// A column takes precedence over an alias in the list.
		{"SELECT ts + INTERVAL 1 DAY AS ts FROM t WHERE ts < '2026-01-05 00:30:00'", 1},
		{"SELECT count(*) FROM t GROUP BY n HAVING max(ts) < '2026-01-05 00:30:00'", 12},
		{"SELECT n FROM t QUALIFY row_number() OVER (ORDER BY ts) = 1 AND ts < '2026-01-05 00:30:00'", 12},
		{"SELECT sum(n) FROM t WHERE ts < (SELECT max(ts) FROM t WHERE ts < '2026-01-05 00:30:00')", 13},
		{"SELECT count(*) FROM t WHERE CASE WHEN n > 3 THEN ts > '2026-01-05 10:30:00' ELSE true END", 12},
		{"SELECT count(*) FROM t x(ts2, ts, h) WHERE ts < 3", 12},
	} {
		for _, unit := range []string{"Second", "Nanosecond"} {
			tab := hourly(t, dir, unit, base, 12)
			a, err := ask(e, c.SQL, tab)
			if err != nil {
				t.Errorf("%s: %v", c.SQL, err)
				continue
			}
			want := mustQuery(t, e, c.SQL, whole(tab))
			if got := strings.Join(a.rows, " "); got != strings.Join(want, " ") {
				t.Errorf("%s, %s: got %s, want %s", unit, c.SQL, got, want)
			}
			if n := partsRead(t, e, c.SQL, tab); n > c.most {
				t.Errorf("%s, %s: reads %d parts, want at most %d", unit, c.SQL, n, c.most)
			}
		}
	}
}

// partsRead counts the parts that a statement reads.
func partsRead(t testing.TB, e *Engine, sql string, tab query.Table) int {
	t.Helper()
	planned := plansOf(t, e, sql, tab)
	n := 0
	for _, p := range planned.Plans {
		s := sourceOf(t, p, true)
		n += len(s.Plain)
		for _, group := range s.Merges {
			n += len(group)
		}
	}
	return n
}

// TestNeed checks that only columns that a statement can name are read.
func TestNeed(t *testing.T) {
	e := openEngine(t, t.TempDir())
	columns := cols("ts:TimestampSecond", "a:Int64", "b:Int64", "c:Int64", "Big:Int64")
	tab := table("t", columns, batch(t, columns, []any{1, 2, 3, 4, 5}))
	for sql, want := range map[string]int{
		"SELECT count(*) FROM t":                 1,
		"SELECT a FROM t WHERE b = 3":            3,
		"SELECT big FROM t":                      2,
		"SELECT * FROM t":                        5,
		"FROM t":                                 5,
		"SELECT t FROM t":                        5,
		"SELECT x FROM t x":                      5,
		"SELECT * EXCLUDE (a) FROM t":            5,
		"SELECT COLUMNS('a|b') FROM t":           5,
		"SELECT x.a FROM t x JOIN t y USING (b)": 3,
		"SELECT a FROM t NATURAL JOIN t x":       5,
		"SELECT z FROM t x(z)":                   5,

		"SELECT count(*) FROM (PIVOT t ON a IN (2) USING sum(b))": 5,

		"SUMMARIZE t":                 5,
		"SELECT c FROM t ORDER BY a":  3,
		"SELECT a FROM t ORDER BY #1": 5,
	} {
		planned := plansOf(t, e, sql, tab)
		if got := len(planned.Plans[0].Need(planned.Plans[0].St.Whole)); got != want {
			t.Errorf("%s: %d columns, want %d", sql, got, want)
		}
		mustQuery(t, e, sql, tab)
	}
	if _, err := ask(e, "SELECT d FROM t", tab); err == nil ||
		!strings.Contains(err.Error(), `"a"`) && !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("a name that is no column: %v, want the existing columns", err)
	}
}

// TestMomentBounds checks that the bounds of a constant contain DuckDB's value of it.
func TestMomentBounds(t *testing.T) {
	e := openEngine(t, t.TempDir())
	for _, text := range []string{
		"'2026-01-05'", "'2026-1-5 1:02:03'", "'2026-01-05T01:02:03.999999999Z'", "'2026-01-05 01:02:03+02'",
		"'2026-01-05 01:02:03-11:30'",
		"TIMESTAMP '2024-02-29 23:59:59.9'", "DATE '2024-02-29'", "CAST('2024-02-29 12:00:00' AS DATE)",
		"TIMESTAMP '2024-03-31' - INTERVAL 1 MONTH", "TIMESTAMP '2024-03-31' - INTERVAL '1 year 2 months 3 days 04 hours'",
		"TIMESTAMP '2024-01-31' + INTERVAL 13 MONTHS", "INTERVAL 2 WEEKS + TIMESTAMP '2024-01-31'",
		"TIMESTAMP '2024-01-31' + INTERVAL 1 QUARTER",
		"make_timestamp(1767607200000001)", "to_timestamp(1767607200.75)", "epoch_ms(1767607200123)", "make_timestamp_ns(-5)",
		"to_timestamp(-1)",
		"date_trunc('month', TIMESTAMP '2024-01-31 10:11:12')", "date_trunc('decade', TIMESTAMP '2029-12-31 10:11:12')",
		"now()", "current_timestamp - INTERVAL '90 minutes'", "current_date", "today() + INTERVAL 1 DAY",
		"now() - to_days(3)", "now() - to_hours(-3)",
	} {
		st, err := e.parse(t.Context(), "SELECT 1 FROM t WHERE ts = "+text, "public")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		c := plan.Constants{Now: time.Now(), Column: func(string) bool { return false }}
		if len(st.Tables[0].Conds) != 1 {
			t.Fatalf("%s: no condition", text)
		}
		s, ok := c.Moment(st.Tables[0].Conds[0].Expr["right"])
		if !ok {
			t.Errorf("%s: no bounds", text)
			continue
		}
		got := mustQuery(t, e, fmt.Sprintf("SELECT epoch_us((%s)::TIMESTAMP) BETWEEN %d AND %d", text, s.Lo/1000, s.Hi/1000))
		if got[0] != "true" {
			t.Errorf("%s: not within %v", text, s)
		}
		if width := s.Hi - s.Lo; width > int64(40*24*time.Hour) && !strings.Contains(text, "decade") {
			t.Errorf("%s: bounds are %v apart", text, time.Duration(width))
		}
	}
	st, err := e.parse(t.Context(), "SELECT 1 FROM t WHERE ts = now() - INTERVAL (1.5) MONTHS", "public")
	if err != nil {
		t.Fatal(err)
	}
	c := plan.Constants{Now: time.Now(), Column: func(string) bool { return false }}
	if _, ok := c.Moment(st.Tables[0].Conds[0].Expr["right"]); ok {
		t.Error("a fraction of a month has bounds")
	}
	if _, ok := plan.ParseMoment("yesterday"); ok {
		t.Error("yesterday has bounds")
	}
	if got := plan.Nanoseconds(1<<60, schema.TimestampSecond); got != 1<<63-1 {
		t.Errorf("seconds beyond the range: %d", got)
	}
}
