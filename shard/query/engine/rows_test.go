package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/query"
)

// segmented is a table of a few segments as shards write them, and a batch: with nulls,
// late rows, rows marked deleted, a column that some files lack, and one that has
// another name by now.
func segmented(t testing.TB, r *rand.Rand, dir string, merge query.Merge) query.Table {
	unit := []string{"Second", "Millisecond", "Nanosecond"}[r.IntN(3)]
	columns := cols("ts:Timestamp"+unit, "host:String", "id:String", "n:Int64", "k:UInt32", "f:Float64", "ok:Boolean", "body:Json", "old:String")
	for _, i := range []int{2, 3, 4} {
		columns[i].Index = &schema.Index{Kind: schema.SkippingIndex, Options: schema.DefaultIndexOptions(schema.SkippingIndex)}
	}
	if merge != query.Append {
		columns[1].Semantic = schema.Tag
	}
	deleted := schema.DeletedColumn()
	hidden := append(append([]schema.Column(nil), columns...), deleted)
	tab := query.Table{}
	next := 0
	for part := range 5 {
		used := columns
		if part%2 == 1 {
			used = hidden
		}
		var rows [][]any
		ts := part * 40_000
		for range []int{50, 3000, 20_000}[r.IntN(3)] {
			ts += 1 + r.IntN(4)
			if part > 0 && r.IntN(2000) == 0 {
				ts = max(ts-30_000, part*20_000) // late
			}
			next++
			row := []any{ts, fmt.Sprint("h", next%3), fmt.Sprintf("id%d", next%15_000), next % 5000, next % 70_000, float64(next) / 3, next%2 == 0, fmt.Sprintf(`{"a":%d}`, next), "x"}
			for c := 2; c < len(row); c++ {
				if r.IntN(9) == 0 {
					row[c] = nil
				}
			}
			if part%2 == 1 {
				row = append(row, []any{nil, false, true}[r.IntN(3)])
			}
			rows = append(rows, row)
		}
		if merge != query.Append {
			seen := make(map[string]bool)
			unique := rows[:0]
			for _, row := range rows {
				if key := fmt.Sprint(row[0], row[1]); !seen[key] {
					seen[key] = true
					unique = append(unique, row)
				}
			}
			rows = unique
		}
		b := batch(t, used, rows...)
		if part == 4 {
			tab.Batches = []*column.Batch{b}
			break
		}
		file := indexed(t, t.TempDir(), used, 6000+r.IntN(9000), b)
		for i := range file.Segments {
			file.Segments[i].Order = uint64(part) + 1
		}
		tab.Segments = append(tab.Segments, file.Segments...)
	}
	now := append([]schema.Column(nil), columns[:8]...) // old is gone
	now[3].Name = "number"
	if r.IntN(2) == 0 {
		now[3].NotNull, now[3].Default = true, new(string)
		*now[3].Default = "77"
	}
	now = append(now, schema.Column{ID: 99, Name: "fresh", Type: schema.String, Semantic: schema.Field})
	out := table("t", now)
	out.Schema.ID, out.Segments, out.Batches, out.Merge = 1, tab.Segments, tab.Batches, merge
	return out
}

// TestRowsOfSegments compares statements for which single rows are read with the same
// over whole files, on tables of every kind.
func TestRowsOfSegments(t *testing.T) {
	e, whole := openEngine(t, "/"), openEngine(t, "/")
	whole.wholeFiles = true
	e.minAttempt, whole.minAttempt = 100, 100
	lent := 0
	for seed := range uint64(9) {
		r := rand.New(rand.NewPCG(seed, 77))
		dir := t.TempDir()
		tab := segmented(t, r, dir, query.Merge(seed%3))
		if r.IntN(3) == 0 {
			before := int64(r.IntN(100_000))
			tab.ExpiredBefore = &before
		}
		id, n, at := r.IntN(15_000), r.IntN(5000), r.IntN(190_000)
		unit := map[schema.Type]string{schema.TimestampSecond: "make_timestamp(%d000000)", schema.TimestampMillisecond: "epoch_ms(%d)", schema.TimestampNanosecond: "make_timestamp_ns(%d)"}[tab.Schema.TimeIndex().Type]
		from, to := fmt.Sprintf(unit, at), fmt.Sprintf(unit, at+r.IntN(3000))
		for _, sql := range []string{
			fmt.Sprintf("SELECT * FROM t WHERE id = 'id%d' ORDER BY ALL", id),
			fmt.Sprintf("SELECT number, fresh FROM t WHERE id = 'id%d' AND number > 100 ORDER BY ALL", id),
			fmt.Sprintf("SELECT * FROM t WHERE id IN ('id%d', 'id%d', 'none') AND ok ORDER BY ALL", id, id+1),
			fmt.Sprintf("SELECT ts, body, ok FROM t WHERE number = %d ORDER BY ALL", n),
			fmt.Sprintf("SELECT f FROM t x WHERE %d = x.k ORDER BY ALL", id),
			fmt.Sprintf("SELECT host FROM t WHERE id = 'id%d' OR number = %d ORDER BY ALL", id, n),
			fmt.Sprintf("SELECT host FROM t WHERE NOT id = 'id%d' AND k = %d ORDER BY ALL", id, id),
			fmt.Sprintf("SELECT a.id, b.number FROM t a JOIN t b ON a.id = b.id WHERE a.id = 'id%d' ORDER BY ALL", id),
			"SELECT * FROM t WHERE id = 'no such' ORDER BY ALL",
			"SELECT * FROM t WHERE number = 77 ORDER BY ALL",
			"SELECT count(*) FROM t WHERE number IN (77, 78)",
			"SELECT count(*) FROM t WHERE host = 'h1'",
			fmt.Sprintf("SELECT * FROM t WHERE ts BETWEEN %s AND %s ORDER BY ALL", from, to),
			fmt.Sprintf("SELECT count(*), sum(number) FROM t WHERE ts >= %s AND ts < %s", from, to),
			fmt.Sprintf("SELECT host, count(*) FROM t WHERE ts >= %s AND id < 'id5' AND ts < %s GROUP BY ALL ORDER BY ALL", from, to),
			fmt.Sprintf("SELECT id FROM t WHERE ts > %s AND id = 'id%d' ORDER BY ALL", from, id),
			"SELECT * FROM t ORDER BY ts DESC, ALL LIMIT 10",
			"SELECT ts, host, id, number FROM t ORDER BY ts DESC, host, id, number LIMIT 30 OFFSET 5",
			fmt.Sprintf("SELECT ts, number FROM t WHERE number %% 17 = %d ORDER BY ts DESC, number LIMIT 20", n%17),
		} {
			if strings.Contains(sql, ", ALL") {
				sql = "SELECT ts, host, f, body, k FROM t ORDER BY ts DESC, host, f, k LIMIT 10"
			}
			got, want := mustQuery(t, e, sql, tab), mustQuery(t, whole, sql, tab)
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("seed %d, merge %d, %s: got %d rows, want %d\n%s\n%s", seed, tab.Merge, sql, len(got), len(want), first(got), first(want))
			}
			plan := strings.Join(mustQuery(t, e, "EXPLAIN "+sql, tab), " ")
			if strings.Contains(plan, "rows read by the index of pages") {
				lent++
			}
			if strings.Contains(strings.Join(mustQuery(t, whole, "EXPLAIN "+sql, tab), " "), "rows read by the index of pages") {
				t.Errorf("%s: not read from whole files", sql)
			}
		}
	}
	if lent < 20 {
		t.Errorf("single rows were read for %d statements", lent)
	}
}

func first(rows []string) string { return strings.Join(rows[:min(len(rows), 5)], "\n") }

// TestAnotherFile has another file take the path of one that was read before, as when a
// replica is made anew: nothing of the old one is seen.
func TestAnotherFile(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	columns := cols("ts:TimestampSecond", "id:String", "status:Int64", "path:String")
	columns[1].Index = &schema.Index{Kind: schema.SkippingIndex, Options: schema.DefaultIndexOptions(schema.SkippingIndex)}
	for round := range 3 {
		var rows [][]any
		for i := range 20_000 {
			rows = append(rows, []any{i, fmt.Sprintf("id%08d", (i*7919+round)%20_000), 200 + (i+round)%3, fmt.Sprintf("/%d/%d", round, i%100)})
		}
		tab := indexed(t, dir, columns, 20_000, batch(t, columns, rows...))
		for range 4 { // the last ones from what is kept
			got, err := ask(e, "SELECT * FROM t WHERE id = 'id00000007'", tab)
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(rows, func(row []any) bool { return row[1] == "id00000007" })
			if len(got.rows) != 1 || !strings.Contains(got.rows[0], rows[at][3].(string)) {
				t.Errorf("round %d: one id: %v, want row %d: %v", round, got.rows, at, rows[at])
			}
			if got, err = ask(e, "SELECT ts, path FROM t WHERE status = 201 ORDER BY ts DESC LIMIT 2", tab); err != nil {
				t.Fatal(err)
			}
			if len(got.rows) != 2 || !strings.Contains(got.rows[0], fmt.Sprintf("/%d/", round)) {
				t.Errorf("round %d: newest rows: %v", round, got.rows)
			}
			if got, err = ask(e, "SELECT status, count(*) FROM t GROUP BY status ORDER BY status", tab); err != nil {
				t.Fatal(err)
			}
			want := make([]int, 3)
			for _, row := range rows {
				want[row[2].(int)-200]++
			}
			for i, row := range got.rows {
				if !strings.Contains(row, fmt.Sprint(want[i])) {
					t.Errorf("round %d: by status: %v, want %v", round, got.rows, want)
				}
			}
		}
	}
	if e.direct.Load() != 24 || e.PageCache().Hits == 0 {
		t.Errorf("%d statements answered without the engine, %+v", e.direct.Load(), e.PageCache())
	}
}
