package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cordwood/proto/column"
	"cordwood/proto/schema"
)

// TestCounted compares statements that are answered by counts of codes with the same statements
// over all rows. It covers every type, nulls, deleted and expired rows, and rows in memory.
func TestCounted(t *testing.T) {
	t.Parallel()
	e, plain, keeping := openEngine(t, "/"), openEngine(t, "/"), openKeeping(t, "/")
	plain.off("bounds", "codes", "direct")
	counted := 0
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 6))
		columns := cols("ts:TimestampSecond", "i:Int64", "u:UInt64", "w:UInt32", "s:Int16", "name:String", "many:String",
			"f:Float64", "b:Boolean")
		hidden := append(append([]schema.Column(nil), columns...), schema.DeletedColumn())
		rows := func(n, from int, deleted bool) (out [][]any) {
			for k := range n {
				row := []any{
					from + k, []any{200, 404, 500, -1, int64(math.MinInt64), nil}[r.IntN(6)],
					[]any{0, int64(math.MaxInt64), -1}[r.IntN(3)],
					[]any{7, 1<<32 - 1, nil}[r.IntN(3)], []any{-300, 4, 5}[r.IntN(3)], []any{"it's", "", "ü", "A", nil}[r.IntN(5)],
					fmt.Sprint(r.IntN(300)), []any{0.1, math.NaN(), nil}[r.IntN(3)], []any{true, false, nil}[r.IntN(3)],
				}
				if deleted {
					row = append(row, []any{true, nil}[r.IntN(2)])
				}
				out = append(out, row)
			}
			return out
		}
		out := table("t", columns)
		out.Schema.ID = 1
		for part := range 3 {
			used, mark := columns, part == 2 && seed%2 == 0
			if mark {
				used = hidden
			}
			file := indexed(t, t.TempDir(), used, 1000+r.IntN(900), batch(t, used, rows(4000, part*4000, mark)...))
			out.Segments = append(out.Segments, file.Segments...)
		}
		out.Batches = []*column.Batch{batch(t, columns, rows(50, 12_000, false)...)}
		if seed == 3 {
			before := int64(4500)
			out.ExpiredBefore = &before
		}
		for _, c := range []string{"i", "u", "w", "s", "name", "many", "f", "b"} {
			for _, sql := range []string{
				"SELECT %[1]s, count(*) FROM t GROUP BY %[1]s ORDER BY ALL",
				"SELECT count(%[1]s), count(*), min(%[1]s), max(%[1]s) FROM t",
				"SELECT count(DISTINCT %[1]s) FROM t WHERE %[1]s IS NOT NULL", "SELECT %[1]s AS v, count(*) AS n FROM t WHERE " +
					"%[1]s IS NULL OR %[1]s <> '4' GROUP BY v HAVING count(*) > 3 ORDER BY n DESC, v LIMIT 3",
				"SELECT count(*) FILTER (WHERE %[1]s IS NULL) FROM t x",
				// The conditions on the time are met by all rows, by the rows of some row groups or files, or by no
				// row. Other statements put the times in buckets.
				"SELECT %[1]s, count(*) FROM t WHERE ts > '1970-1-1' AND ts < now() - INTERVAL 1 DAY GROUP BY %[1]s ORDER BY ALL",
				"SELECT %[1]s, count(*) FROM t WHERE ts > '1970-01-01 01:00:00' GROUP BY %[1]s ORDER BY ALL",
				"SELECT %[1]s, count(*) FROM t WHERE ts BETWEEN make_timestamp(1500000000) AND '1970-01-01 02:30:00' GROUP BY " +
					"%[1]s ORDER BY ALL",
				"SELECT %[1]s, count(*) FROM t WHERE NOT (ts < '1970-01-01 02:00:00') OR %[1]s IS NULL GROUP BY %[1]s ORDER BY ALL",
				"SELECT %[1]s, count(*) FROM t WHERE ts > '2030-01-01' GROUP BY %[1]s ORDER BY ALL",
				"SELECT date_trunc('hour', ts), %[1]s, count(*) FROM t WHERE ts > '1970-01-01 00:20:00' GROUP BY ALL ORDER BY ALL",
				"SELECT time_bucket(INTERVAL 2 HOURS, ts), count(%[1]s), count(DISTINCT %[1]s) FROM t GROUP BY 1 ORDER BY ALL",
				"SELECT count(%[1]s) FILTER (WHERE ts < '1970-01-01 01:06:40') AS n, count(*) FROM t WHERE ts <> '1970-01-01'",
				// Statements that cannot be answered by counts.
				"SELECT %[1]s, count(*), max(ts) FROM t GROUP BY %[1]s ORDER BY ALL", "SELECT list(%[1]s ORDER BY ts)[1:20] FROM t",
				"SELECT %[1]s FROM t ORDER BY ts LIMIT 30",
				"SELECT a.%[1]s, count(*) FROM t a JOIN t b USING (ts) GROUP BY 1 ORDER BY ALL",
				"SELECT count(*) FROM (SELECT DISTINCT %[1]s FROM t)", "SELECT DISTINCT %[1]s FROM t ORDER BY 1",
				"SELECT %[1]s, count(*) OVER () FROM t ORDER BY ALL LIMIT 2",
			} {
				sql = fmt.Sprintf(sql, c)
				got, err := ask(e, sql, out)
				want, wantErr := ask(plain, sql, out)
				if err != nil || wantErr != nil {
					if err == nil || wantErr == nil || err.Error() != wantErr.Error() {
						t.Errorf("seed %d, %s: error %v, want %v", seed, sql, err, wantErr)
					}
					continue
				}
				if !slices.Equal(got.rows, want.rows) || !got.schema.Equal(want.schema) {
					t.Errorf("seed %d, %s: got %v, want %v", seed, sql, got.rows, want.rows)
				}
				for range 3 * (seed % 2) { // from the second time on, rows that are only counted have a weight
					kept, err := ask(keeping, sql, out)
					if err != nil || strings.Contains(sql, "ORDER BY") && !slices.Equal(kept.rows, want.rows) {
						t.Errorf("seed %d, %s: with kept partial results %v, want %v (%v)", seed, sql, kept, want.rows, err)
					}
				}
			}
			if strings.Contains(mustQuery(t, e, fmt.Sprintf("EXPLAIN SELECT %[1]s, count(*) FROM t GROUP BY %[1]s", c), out)[0],
				"rows counted by the codes") {
				counted++
				if c == "many" || c == "f" || c == "b" {
					t.Errorf("seed %d: %s was counted", seed, c)
				}
			}
		}
	}
	counts := func(part int, where string) string {
		columns := cols("ts:TimestampSecond", "status:Int64")
		var rows [][]any
		for k := range 40_000 { // more rows than are read by the page index
			rows = append(rows, []any{k, k % 3})
		}
		tab := table("t", columns)
		tab.Schema.ID = 1
		tab.Segments = indexed(t, t.TempDir(), columns, part, batch(t, columns, rows...)).Segments
		return mustQuery(t, e, "EXPLAIN SELECT status, count(*) FROM t WHERE "+where+" GROUP BY status", tab)[0]
	}
	for where, want := range map[string]string{
		"ts >= '1969-12-31'":            "; 40000 rows counted by the codes",
		"ts < now() - INTERVAL 30 DAYS": "; 40000 rows counted by the codes",
		"ts >= make_timestamp(10)":      "; 40000 rows counted by the codes", // in the first second
		"ts >= '1970-01-01 02:00:00'":   "; 32800 rows counted by the codes",
		"ts >= '1970-01-01 10:00:00'":   "; 0 of 0 rows in memory",
	} {
		if got := counts(5000, where); !strings.Contains(got, want) {
			t.Errorf("%s: EXPLAIN says %q, want %q", where, got, want)
		}
	}
	if counted < 15 {
		t.Errorf("%d columns were counted by their codes", counted)
	}
}
