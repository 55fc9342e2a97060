package engine

import (
	"slices"
	"testing"

	"cordwood/proto/schema"
	"cordwood/shard/query"
)

// TestRowCounts compares row counts taken from the parts of a table with row counts by DuckDB. It
// also checks for which statements the parts are enough.
func TestRowCounts(t *testing.T) {
	dir := t.TempDir()
	e, plain := openEngine(t, dir), openEngine(t, dir)
	plain.off("count")
	columns := cols("ts:TimestampMillisecond", "n:Int64")
	rows := func(from, to int) (out [][]any) {
		for i := from; i < to; i++ {
			out = append(out, []any{i * 1000, i})
		}
		return out
	}
	early, late := fileOf(t, dir, 50, columns, rows(0, 100)...), fileOf(t, dir, 50, columns, rows(105, 200)...)
	late.Order = 1
	memory := batch(t, columns, rows(200, 230)...)
	whole := table("logs", columns, early, late, memory)
	marked := append(columns[:2:2], schema.DeletedColumn())
	deletes := table("logs", columns, early, batch(t, marked, []any{200_000, 1, true}, []any{201_000, 2, nil}))
	expired, some := whole, int64(150_000)
	expired.ExpiredBefore = &some
	border := whole
	hundred := int64(100_000)
	border.ExpiredBefore = &hundred
	merging := table("logs", columns, early, late)
	merging.Merge = query.LastRow
	overlapping := table("logs", columns, early, early)
	overlapping.Merge = query.LastRow
	damaged := whole
	damaged.Segments = slices.Clone(whole.Segments)
	damaged.Segments[0].Damaged = "cut short"
	for _, c := range []struct {
		sql       string
		tab       query.Table
		fromParts bool // the parts determine the number
	}{
		{"SELECT count(*) FROM logs", whole, true},
		{"SELECT count(*) AS c, count(*) FROM logs AS l", whole, true},
		{`SELECT COUNT(*) AS "Zeilen" FROM public.logs`, whole, true},
		{"SELECT count(*) FROM logs", table("logs", columns), true},
		{"SELECT count(*) FROM logs WHERE ts >= '1969-12-31' AND ts < '1970-01-02'", whole, true},
		{"SELECT count(*) FROM logs WHERE ts >= '1970-01-01 00:01:40'", whole, true},
		{"SELECT count(*) FROM logs WHERE ts > '1970-01-01 00:01:42'", whole, true},
		{"SELECT count(*) FROM logs l WHERE l.ts BETWEEN '1969-12-31' AND '1970-01-01 00:01:42'", whole, true},
		{"SELECT count(*) FROM logs WHERE NOT ts < '1970-01-01 00:01:42'", whole, true},
		{"SELECT count(*) FROM logs WHERE ts > '1970-01-01 00:01:30'", whole, false},
		{"SELECT count(*) FROM logs WHERE ts BETWEEN '1970-01-01 00:00:10' AND '1970-01-02'", whole, false},
		{"SELECT count(*) FROM logs WHERE ts > '1970-01-01 00:01:42' OR ts < '1970-01-01 00:01:41'", whole, true},
		{"SELECT count(*) FROM logs WHERE ts > '1970-01-01' OR ts > NULL", whole, false},
		{"SELECT count(*) FROM logs WHERE ts < now()", whole, true},
		{"SELECT count(*) FROM logs WHERE ts > now() - INTERVAL 1 HOUR", whole, true},
		{"SELECT count(*) FROM logs WHERE ts IS NOT NULL", whole, false},
		{"SELECT count(*) FROM logs WHERE ts <> '1970-01-01 00:00:05'", whole, false},
		{"SELECT count(*) FROM logs WHERE date_trunc('hour', ts) < '1970-01-02'", whole, true},
		{"SELECT count(*) FROM logs WHERE n >= 0", whole, false},
		{"SELECT count(*) FROM logs WHERE n >= 0 OR ts > '1970-01-01'", whole, false},
		{"SELECT count(*) FILTER (WHERE n > 3) FROM logs", whole, false},
		{"SELECT count(n) FROM logs", whole, false},
		{"SELECT count(*) + 1 FROM logs", whole, false},
		{"SELECT count(*) FROM logs HAVING count(*) > 1000", whole, false},
		{"SELECT count(*) FROM logs LIMIT 0", whole, false},
		{"SELECT count(*) FROM logs", deletes, false},
		{"SELECT count(*) FROM logs", expired, false},
		{"SELECT count(*) FROM logs", border, true},
		{"SELECT count(*) FROM logs", merging, true},
		{"SELECT count(*) FROM logs", overlapping, false},
		{"SELECT count(*) FROM logs WHERE ts > '1970-01-01 00:01:42'", damaged, true},
	} {
		t.Run(c.sql, func(t *testing.T) {
			before := e.direct.Load()
			got, err := ask(e, c.sql, c.tab)
			if err != nil {
				t.Fatal(err)
			}
			want, err := ask(plain, c.sql, c.tab)
			if err != nil {
				t.Fatal(err)
			}
			if diff := same(got, want, true); diff != "" {
				t.Error(diff)
			}
			if fromParts := e.direct.Load() > before; fromParts != c.fromParts {
				t.Errorf("answered from the parts: %v", fromParts)
			}
		})
	}
	if _, err := ask(e, "SELECT count(*) FROM logs", damaged); err == nil {
		t.Error("a damaged segment was counted")
	}
}
