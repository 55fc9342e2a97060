package engine

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// sharedWith writes a file of three tables. The second, with id 1, has the rows of a batch. The other two have rows
// that would match the tests' queries if they were mistaken for rows of the second table.
func sharedWith(t testing.TB, columns []schema.Column, groupRows int, b *column.Batch) query.Segment {
	t.Helper()
	tab := table("t", columns)
	tab.Schema.ID = 1
	mark := -1
	for i, c := range columns {
		if c.ID == schema.DeletedColumnID {
			mark = i
		}
	}
	others := cols("ts:"+columns[0].Type.String(), "host:String", "id:String", "n:String")
	spec := segment.Spec{Shared: true}
	tables := []query.Table{table("a", others), tab, table("z", others)}
	for i, x := range tables {
		x.Schema.ID = uint64(i)
		spec.Tables = append(spec.Tables, segment.TableColumns{Table: x.Schema})
	}
	dir := t.TempDir()
	w, err := segment.NewWriter(segment.Config{
		FS: vfs.OS, Dir: dir, RowGroupRows: groupRows, NextID: func() uint64 { return 1 },
	}, spec)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range tables {
		of := b
		if i != 1 {
			var rows [][]any
			for n := range 3000 {
				rows = append(rows, []any{n * 60, "h1", fmt.Sprint("id", n*5), "77"})
			}
			of = batch(t, others, rows...)
		}
		refs := make([]segment.RowRef, of.Rows)
		for row := range refs {
			refs[row] = segment.RowRef{Time: of.Column(1).Int(row), Row: uint32(row)}
		}
		segment.Sort(x.Schema, []*column.Batch{of}, refs)
		if err := w.Append(x.Schema, []*column.Batch{of}, refs); err != nil {
			t.Fatal(err)
		}
	}
	m, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	span := m.Tables[1]
	s := query.Segment{
		Path: filepath.Join(dir, segment.FileName(m.ID)), Shared: true, Rows: span.Rows, MinTime: span.MinTime,
		MaxTime: span.MaxTime,
	}
	for _, c := range m.Columns {
		if have := tab.Schema.Column(c.TableName()); have != nil && have.ID == c.ID && have.Type == c.Type &&
			have.Semantic == c.Semantic || mark >= 0 && c.ID == schema.DeletedColumnID {
			s.Columns = append(s.Columns, query.SegmentColumn{ID: c.ID, FieldID: c.FieldID, Name: c.Name, Type: c.Type})
		}
	}
	return s
}

// segmented returns a table of a few segments as shards write them, some of which may be shared
// with others, and a batch: with nulls, late rows, rows marked deleted, a column that some files
// lack, and one that has another name by now.
func segmented(t testing.TB, r *rand.Rand, merge query.Merge, shared bool) query.Table {
	unit := []string{"Second", "Millisecond", "Nanosecond"}[r.IntN(3)]
	columns := cols("ts:Timestamp"+unit, "host:String", "id:String", "n:Int64", "k:UInt32", "f:Float64", "ok:Boolean",
		"body:Json", "old:String")
	for _, i := range []int{2, 3, 4} {
		columns[i].Index = &schema.Index{
			Kind:    schema.SkippingIndex,
			Options: schema.DefaultIndexOptions(schema.SkippingIndex),
		}
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
				ts = max(ts-30_000, part*20_000) // a late row
			}
			next++
			row := []any{
				ts, fmt.Sprint("h", next%3), fmt.Sprintf("id%d", next%15_000), next % 5000, next % 70_000, float64(next) / 3,
				next%2 == 0, fmt.Sprintf(`{"a":%d}`, next), "x",
			}
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
		if shared && r.IntN(2) == 0 {
			s := sharedWith(t, used, 2000+r.IntN(9000), b)
			s.Order = uint64(part) + 1
			tab.Segments = append(tab.Segments, s)
			continue
		}
		file := indexed(t, t.TempDir(), used, 6000+r.IntN(9000), b)
		for i := range file.Segments {
			file.Segments[i].Order = uint64(part) + 1
		}
		tab.Segments = append(tab.Segments, file.Segments...)
	}
	now := append([]schema.Column(nil), columns[:8]...) // the column old was dropped
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

// TestRowsOfSegments compares statements that read single rows with the same statements over whole
// files. The tables have files of their own, files shared with other tables, and a quarantined
// file.
func TestRowsOfSegments(t *testing.T) {
	t.Parallel()
	e, whole := openEngine(t, "/"), openEngine(t, "/")
	whole.off("pages", "codes", "direct")
	e.settings.MinAttempt, whole.settings.MinAttempt = 100, 100
	fromPages, fromShared, refused, answered := 0, 0, 0, 0
	for seed := range uint64(15) {
		r := rand.New(rand.NewPCG(seed, 77))
		shared, aside := seed >= 9, seed%9 >= 3 && seed%2 == 1
		tab := segmented(t, r, query.Merge(seed%3), shared)
		if aside {
			// The file cannot be read, so the correct answer is without it.
			tab.Segments[1].Damaged = "a byte is not what it was"
			if err := os.Remove(tab.Segments[1].Path); err != nil {
				t.Fatal(err)
			}
		}
		if r.IntN(3) == 0 {
			before := int64(r.IntN(100_000))
			tab.ExpiredBefore = &before
		}
		id, n, at := r.IntN(15_000), r.IntN(5000), r.IntN(190_000)
		unit := map[schema.Type]string{
			schema.TimestampSecond:      "make_timestamp(%d000000)",
			schema.TimestampMillisecond: "epoch_ms(%d)",
			schema.TimestampNanosecond:  "make_timestamp_ns(%d)",
		}[tab.Schema.TimeIndex().Type]
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
			fmt.Sprintf("SELECT host, count(*) FROM t WHERE ts >= %s AND id < 'id5' AND ts < %s GROUP BY ALL ORDER BY ALL", from,
				to),
			fmt.Sprintf("SELECT id FROM t WHERE ts > %s AND id = 'id%d' ORDER BY ALL", from, id),
			"SELECT * FROM t ORDER BY ts DESC, ALL LIMIT 10",
			"SELECT ts, host, id, number FROM t ORDER BY ts DESC, host, id, number LIMIT 30 OFFSET 5",
			fmt.Sprintf("SELECT ts, number FROM t WHERE number %% 17 = %d ORDER BY ts DESC, number LIMIT 20", n%17),
		} {
			if strings.Contains(sql, ", ALL") {
				sql = "SELECT ts, host, f, body, k FROM t ORDER BY ts DESC, host, f, k LIMIT 10"
			}
			if aside {
				// Either both runs need the file and report it, or neither does.
				_, err := ask(whole, sql, tab)
				_, err2 := ask(e, sql, tab)
				if (err == nil) != (err2 == nil) ||
					err != nil && (!strings.Contains(err.Error(), "damaged") || err.Error() != err2.Error()) {
					t.Errorf("seed %d, %s: %v; over whole files: %v", seed, sql, err2, err)
				}
				if err != nil {
					refused++
					continue
				}
				answered++
			}
			got, want := mustQuery(t, e, sql, tab), mustQuery(t, whole, sql, tab)
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("seed %d, merge %d, %s: got %d rows, want %d\n%s\n%s", seed, tab.Merge, sql, len(got), len(want),
					first(got), first(want))
			}
			if aside {
				continue // a query for the newest rows may not need a file that the full plan reads
			}
			plan := strings.Join(mustQuery(t, e, "EXPLAIN "+sql, tab), " ")
			if strings.Contains(plan, "rows read by the page index") {
				fromPages++
				if shared {
					fromShared++
				}
			}
			if strings.Contains(strings.Join(mustQuery(t, whole, "EXPLAIN "+sql, tab), " "), "rows read by the page index") {
				t.Errorf("%s: not read from whole files", sql)
			}
		}
	}
	t.Logf("%d statements read single rows, %d of them also from shared files; "+
		"with a quarantined file %d were refused and %d answered", fromPages, fromShared, refused, answered)
	if fromPages < 20 || fromShared < 5 {
		t.Errorf("only %d statements read single rows, only %d of them from shared files", fromPages, fromShared)
	}
	if refused < 5 || answered < 5 {
		t.Errorf("with a quarantined file only %d statements were refused, only %d answered", refused, answered)
	}
}

func first(rows []string) string { return strings.Join(rows[:min(len(rows), 5)], "\n") }

// TestAnotherFile replaces a cached file by another one with the same path, as happens when a
// replica is created again. Nothing of the old file may be seen.
func TestAnotherFile(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	columns := cols("ts:TimestampSecond", "id:String", "status:Int64", "path:String")
	columns[1].Index = &schema.Index{Kind: schema.SkippingIndex, Options: schema.DefaultIndexOptions(schema.SkippingIndex)}
	for round := range 3 {
		var rows [][]any
		for i := range 20_000 {
			rows = append(rows, []any{
				i, fmt.Sprintf("id%08d", (i*7919+round)%20_000), 200 + (i+round)%3, fmt.Sprintf("/%d/%d", round, i%100),
			})
		}
		tab := indexed(t, dir, columns, 20_000, batch(t, columns, rows...))
		for range 4 { // the last queries use the caches
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
		t.Errorf("%d statements answered without DuckDB, %+v", e.direct.Load(), e.PageCache())
	}
}
