package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cordwood/proto/column"
	"cordwood/shard/query"
)

// TestMomentsAtTheBorder compares conditions on times with DuckDB's own answers, for rows at exactly the time of
// the condition and a unit before and after it. If the type of the column can hold that time, whole rows are
// answered without the engine.
func TestMomentsAtTheBorder(t *testing.T) {
	t.Parallel()
	e, plain, keeping := openEngine(t, "/"), openEngine(t, "/"), openKeeping(t, "/")
	plain.off("bounds", "codes", "direct", "newest", "count", "times", "pages", "trunc")
	at := time.Date(2026, 1, 5, 0, 20, 0, 0, time.UTC)
	for unit, digits := range map[string]int{"Second": 0, "Millisecond": 3, "Microsecond": 6, "Nanosecond": 9} {
		columns := cols("ts:Timestamp"+unit, "status:Int64")
		per := columns[0].Type.UnitsPerSecond()
		border := at.UnixNano() / (int64(time.Second) / per)
		var rows [][]any
		for i := range int64(9_000) { // many before, and one at each unit around the border
			rows = append(rows, []any{border - 20_000*per + i*per, i % 3})
		}
		for i := int64(-20); i < 20; i++ {
			rows = append(rows, []any{border + i, i & 3})
		}
		tab := table("t", columns)
		tab.Schema.ID = 1
		tab.Segments = indexed(t, t.TempDir(), columns, 4000, batch(t, columns, rows...)).Segments
		late := slices.Clone(rows[:30])
		tab.Batches = []*column.Batch{batch(t, columns, late...)}
		for _, text := range []string{
			"2026-01-05 00:20:00", "2026-01-05 00:20:00.003", "2026-01-05 00:19:59.999997",
			"2026-01-05 00:20:00.000000004", "2026-01-05T00:20:00",
		} {
			for _, op := range []string{"<", "<=", ">", ">=", "=", "<>"} {
				where := fmt.Sprintf("ts %s '%s'", op, text)
				before := e.direct.Load()
				compareAnswers(t, e, plain, "SELECT * FROM t WHERE "+where+" ORDER BY ts DESC LIMIT 25", tab)
				fraction := ""
				if i := strings.Index(text, "."); i >= 0 {
					fraction = strings.TrimRight(text[i+1:], "0")
				}
				exact := len(fraction) <= digits && !strings.Contains(text, "T")
				if exact && strings.Trim(op, "=") != "" && op != "<>" && e.direct.Load() == before {
					t.Errorf("%s, %s: DuckDB was needed", unit, where)
				}
				for _, sql := range []string{
					"SELECT count(*) FROM t WHERE %s", "SELECT status, count(*) FROM t WHERE %s GROUP BY status ORDER BY status",
					"SELECT date_trunc('minute', ts) AS m, count(*) FROM t WHERE NOT %s GROUP BY m ORDER BY m",
					"SELECT status, count(*) AS n, count(status) FILTER (WHERE status > 1) FROM t WHERE %s AND ts > '2026-01-04' " +
						"GROUP BY ALL ORDER BY ALL",
				} {
					sql = fmt.Sprintf(sql, where)
					compareAnswers(t, e, plain, sql, tab)
					for range 4 * (len(op) % 2) { // < and >, and =
						compareAnswers(t, keeping, plain, sql, tab)
					}
				}
			}
		}
	}
}

// TestFarMomentsAreRead counts rows by day whose last times exceed the range of nanoseconds.
func TestFarMomentsAreRead(t *testing.T) {
	t.Parallel()
	e, plain := openEngine(t, "/"), openEngine(t, "/")
	plain.off("bounds", "codes", "direct", "newest", "count", "times", "pages", "trunc")
	columns := cols("ts:TimestampMicrosecond", "status:Int64")
	const far = int64(9_000_000_000_000_000_000) // in the year 287168, in microseconds
	var rows [][]any
	for i := range int64(8_000) {
		rows = append(rows, []any{i * 1_000_000, i & 3})
	}
	for i := range int64(5) {
		rows = append(rows, []any{far + i, i & 3})
	}
	tab := table("t", columns)
	tab.Schema.ID = 1
	tab.Segments = indexed(t, t.TempDir(), columns, 4000, batch(t, columns, rows...)).Segments
	for _, sql := range []string{
		"SELECT ts::DATE AS m, count(*) FROM t GROUP BY m ORDER BY m",
		"SELECT date_trunc('hour', ts) AS m, count(*) FROM t WHERE ts >= '1970-01-01 01:00:00' GROUP BY m ORDER BY m",
		"SELECT status, count(*) FROM t WHERE ts >= '1970-01-01 01:00:00' GROUP BY status ORDER BY status",
	} {
		compareAnswers(t, e, plain, sql, tab)
	}
}

// compareAnswers compares the answers of two engines.
func compareAnswers(t *testing.T, e, plain *Engine, sql string, tab query.Table) {
	t.Helper()
	want, err := ask(plain, sql, tab)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	got, err := ask(e, sql, tab)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if diff := same(got, want, !strings.Contains(sql, "LIMIT")); diff != "" {
		t.Errorf("%s: %s", sql, diff)
	}
}
