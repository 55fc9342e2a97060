package engine

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestDateTrunc compares our date_trunc for nanoseconds with DuckDB's, which is called by its
// longer name. It also checks the column names of the answer.
func TestDateTrunc(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	columns := cols("ts:TimestampNanosecond", "n:Int64")
	r := rand.New(rand.NewPCG(1, 2))
	var rows [][]any
	for i, at := range []int64{
		0, 1, -1, 999, -999, 1000, -1000, -1001, 59999999999, 60e9, -60e9, -60e9 - 1, -60e9 - 1000, math.MaxInt64,
		-math.MaxInt64, math.MaxInt64 - 1, -math.MaxInt64 + 1, 1767225600e9,
	} {
		rows = append(rows, []any{at, i})
	}
	for i := range 5000 {
		at := int64(r.Uint64()) >> r.IntN(60)
		if r.IntN(2) == 0 {
			at = 1767225600e9 + int64(i)*1e8
		}
		rows = append(rows, []any{at, i})
	}
	tab := table("t", columns, fileOf(t, dir, 3000, columns, rows[:4000]...), batch(t, columns, rows[4000:]...))
	for _, unit := range []string{"second", "Minute", "hour"} {
		for _, sql := range []string{
			"SELECT date_trunc('U', ts), typeof(date_trunc('U', ts)), n FROM t ORDER BY n, ts",
			"SELECT date_trunc('U', ts) AS m, min(n), count(*) FROM t WHERE date_trunc('U', ts) > '1971-01-01' GROUP BY m " +
				"ORDER BY m",
			"SELECT DATE_TRUNC ( 'U' , x.ts) + INTERVAL 1 HOUR AS m, sum(n) FROM t x GROUP BY ALL ORDER BY m",
			"SELECT date_trunc('U', ts) AS ts, sum(n) FROM t GROUP BY ALL ORDER BY 1",
			"SELECT date_trunc('U', ts), sum(n) FROM (SELECT n::TIMESTAMP_S::VARCHAR::TIMESTAMP AS ts, n FROM (SELECT " +
				"epoch_ms(n) AS n FROM t)) GROUP BY 1 ORDER BY 1",
			"SELECT a.n, date_trunc('U', b.ts) FROM t a LEFT JOIN (SELECT date_trunc('U', ts) AS m, ts, n FROM t) b ON a.n = " +
				"b.n + 1 AND b.n < 9 ORDER BY ALL",
			"SELECT n, (SELECT max(date_trunc('U', ts)) FROM t y WHERE y.n = x.n) FROM t x WHERE n < 3 ORDER BY ALL",
			"SELECT n FROM t ORDER BY date_trunc('U', ts), n DESC LIMIT 20",
			"SELECT date_trunc('U', ts), row_number() OVER (PARTITION BY date_trunc('U', ts) ORDER BY n, " +
				"ts) FROM t ORDER BY ALL",
		} {
			sql := strings.ReplaceAll(sql, "U", unit)
			sql = strings.ReplaceAll(sql, unit+"nion", "Union")
			plain := strings.NewReplacer("date_trunc(", "datetrunc(", "DATE_TRUNC (", "datetrunc (").Replace(sql)
			want, wrong := ask(e, plain, tab)
			got, err := ask(e, sql, tab)
			if err != nil || wrong != nil {
				if err == nil || wrong == nil {
					t.Errorf("%s: %v, want %v", sql, err, wrong)
				}
				continue
			}
			for i := range got.rows {
				if got.rows[i] != want.rows[i] {
					t.Errorf("%s: row %d is %s, want %s", sql, i, got.rows[i], want.rows[i])
					break
				}
			}
			name := strings.ReplaceAll(want.schema.Field(0).Name, "datetrunc(", "date_trunc(")
			if got.schema.Field(0).Name != name {
				t.Errorf("%s: column %s, want %s", sql, got.schema.Field(0).Name, name)
			}
		}
	}
	if _, err := ask(e, "SELECT date_trunc('minute', ts), n FROM t GROUP BY n", tab); err == nil ||
		strings.Contains(err.Error(), "cordwood_") {
		t.Errorf("a column that is not grouped: %v", err)
	}
	if got := mustQuery(t, e, "EXPLAIN SELECT n FROM t WHERE date_trunc('minute', ts) = '2026-01-01'",
		tab); !strings.Contains(got[1], "cordwood_trunc") {
		t.Errorf("our date_trunc is not called: %s", got[1])
	}
}
