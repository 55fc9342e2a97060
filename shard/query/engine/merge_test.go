package engine

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cordwood/shard/query/engine/plan"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/segment"

	gocmp "github.com/google/go-cmp/cmp"
)

// mergeColumns has two tags, one of them a number, and three fields.
var mergeColumns = []schema.Column{
	{ID: 1, Name: "ts", Type: schema.TimestampSecond, Semantic: schema.Timestamp},
	{ID: 2, Name: "host", Type: schema.String, Semantic: schema.Tag},
	{ID: 3, Name: "core", Type: schema.Int32, Semantic: schema.Tag},
	{ID: 4, Name: "load", Type: schema.Float64, Semantic: schema.Field},
	{ID: 5, Name: "note", Type: schema.String, Semantic: schema.Field},
	{ID: 6, Name: "extra", Type: schema.JSON, Semantic: schema.Field},
}

// mergeRow is a row of this table; op is the value of the hidden column.
type mergeRow struct {
	ts                            int
	host, core, load, note, extra any
	op                            any
	how                           query.Merge // the merge mode when it was written
}

func (r mergeRow) key() string { return fmt.Sprint(r.ts, r.host, r.core) }

func (r mergeRow) values(hidden bool) []any {
	out := []any{r.ts, r.host, r.core, r.load, r.note, r.extra}
	if hidden {
		out = append(out, r.op)
	}
	return out
}

// mergeModel returns the rows that a table shows after the given rows were written in order.
func mergeModel(rows []mergeRow) []string {
	type state struct {
		row     mergeRow
		deleted bool
	}
	byKey := map[string]*state{}
	var order []*state
	for _, r := range rows {
		if r.how == query.Append {
			order = append(order, &state{row: r, deleted: r.op == true})
			continue
		}
		s := byKey[r.key()]
		if s == nil {
			s = &state{row: mergeRow{ts: r.ts, host: r.host, core: r.core}}
			byKey[r.key()] = s
			order = append(order, s)
		}
		s.deleted = r.op == true
		if r.how == query.LastRow {
			s.row = r
			if s.deleted {
				s.row.load, s.row.note, s.row.extra = nil, nil, nil
			}
			continue
		}
		if r.op != nil {
			s.row.load, s.row.note, s.row.extra = nil, nil, nil
		}
		if r.op == true {
			continue
		}
		s.row.load = cmp.Or(r.load, s.row.load)
		s.row.note = cmp.Or(r.note, s.row.note)
		s.row.extra = cmp.Or(r.extra, s.row.extra)
	}
	var out []string
	for _, s := range order {
		if !s.deleted {
			var values []string
			for _, v := range s.row.values(false)[1:] {
				values = append(values, strings.ReplaceAll(fmt.Sprint(v), "<nil>", "NULL"))
			}
			out = append(out, fmt.Sprint(s.row.ts)+"|"+strings.Join(values, "|"))
		}
	}
	slices.Sort(out)
	return out
}

// TestMerge compares tables that merge rows with the model. The rows are spread at random over
// segments, shared segments and batches.
func TestMerge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := openEngine(t, dir)
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 1))
		how := []query.Merge{query.Merge(seed % 3)}
		for seed >= 60 && len(how) < 4 && r.IntN(4) > 0 { // the merge mode changed before
			how = append(how, query.Merge(r.IntN(3)))
		}
		written, tab := randomMerge(t, r, dir, how)
		want := mergeModel(written)
		const list = "SELECT epoch(ts)::BIGINT, host, core, load, note, extra FROM m"
		got := mustQuery(t, e, list, tab)
		slices.Sort(got)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d, merge %s: -want +got:\n%s", seed, how, diff)
		}
		// Read only some columns, with conditions on the identity and on fields.
		for _, c := range []struct {
			where string
			keep  func([]string) bool
		}{
			{"note = 'n1'", func(v []string) bool { return v[4] == "n1" }},
			{"host = 'a' AND core = 1", func(v []string) bool { return v[1] == "a" && v[2] == "1" }},
			{
				"ts >= '1970-01-01 00:00:20' AND load IS NULL",
				func(v []string) bool { return len(v[0]) > 1 && v[0] >= "20" && v[3] == "NULL" },
			},
			{"ts = '1970-01-01 00:00:07' OR note IS NULL", func(v []string) bool { return v[0] == "7" || v[4] == "NULL" }},
		} {
			n := 0
			for _, row := range want {
				if c.keep(strings.Split(row, "|")) {
					n++
				}
			}
			if got := mustQuery(t, e, "SELECT count(*) FROM m WHERE "+c.where, tab)[0]; got != fmt.Sprint(n) {
				t.Fatalf("seed %d, merge %s, %s: got %s rows, want %d", seed, how, c.where, got, n)
			}
		}
		if got := mustQuery(t, e, "SELECT * FROM m LIMIT 1", tab); len(got) == 1 &&
			len(strings.Split(got[0], "|")) != len(mergeColumns) {
			t.Fatalf("seed %d: SELECT * shows %q", seed, got[0])
		}
	}
}

// TestMergedZeros checks that merging rows keeps the sign of zero, and values that are no number.
func TestMergedZeros(t *testing.T) {
	t.Parallel()
	e := openEngine(t, t.TempDir())
	columns := []schema.Column{
		{ID: 1, Name: "ts", Type: schema.TimestampSecond, Semantic: schema.Timestamp},
		{ID: 2, Name: "d", Type: schema.Float64, Semantic: schema.Field},
		{ID: 3, Name: "f", Type: schema.Float32, Semantic: schema.Field},
		schema.DeletedColumn(),
	}
	zero, nan := math.Copysign(0, -1), math.NaN()
	for _, how := range []query.Merge{query.LastRow, query.LastNonNull} {
		for _, marked := range []bool{false, true} {
			tab, op := table("m", columns[:3]), []any(nil)
			if marked {
				op = []any{false}
			}
			tab.Merge = how
			of := columns[:3+len(op)]
			for _, v := range []float64{1, zero} {
				tab.Batches = append(tab.Batches, batch(t, of, append([]any{1, v, v}, op...),
					append([]any{2, nan, nan}, op...)))
			}
			got := mustQuery(t, e, "SELECT 1 / d, 1 / f FROM m ORDER BY ts", tab)
			if want := []string{"-Inf|-Inf", "NaN|NaN"}; !slices.Equal(got, want) {
				t.Errorf("merge %s, marked %t: %q, want %q", how, marked, got, want)
			}
		}
	}
}

// randomMerge writes random rows to a table whose merge mode changes over time. A row with op set
// is marked deleted.
func randomMerge(t *testing.T, r *rand.Rand, dir string, ways []query.Merge) (written []mergeRow, tab query.Table) {
	tab = table("m", mergeColumns)
	how := ways[0]
	change := func(before uint64) {
		for len(ways) > 1 && r.IntN(3) == 0 {
			tab.Eras = append(tab.Eras, query.Era{Before: before, Batches: len(tab.Batches), Merge: how})
			ways = ways[1:]
			how = ways[0]
		}
	}
	tab.Schema.ID = 77
	pick := func(values ...any) any { return values[r.IntN(len(values))] }
	day, deletes := 0, r.IntN(2) == 0
	row := func() mergeRow {
		m := mergeRow{
			ts: day*10 + r.IntN(8), host: pick("a", "b", nil), core: pick(1, 2, nil),
			load: pick(0.5, 1.5, nil), note: pick("n1", "n2", "", nil), extra: pick(`{"k":1}`, nil), how: how,
		}
		if deletes && r.IntN(4) == 0 {
			m.op = pick(true, true, false)
		}
		if how == query.Append && m.op == false {
			m.op = nil
		}
		return m
	}
	fileColumns := func() []schema.Column {
		if deletes || r.IntN(4) == 0 {
			return append(slices.Clone(mergeColumns), schema.DeletedColumn())
		}
		return mergeColumns
	}
	orders := r.Perm(8)
	slices.Sort(orders)
	for i := range r.IntN(7) {
		day = r.IntN(4)
		change(uint64(orders[i]) + 1)
		var rows []mergeRow
		seen := map[string]bool{}
		for range 1 + r.IntN(12) {
			if m := row(); how == query.Append || !seen[m.key()] {
				seen[m.key()] = true
				rows = append(rows, m)
			}
		}
		columns := fileColumns()
		var values [][]any
		for _, m := range rows {
			values = append(values, m.values(len(columns) > len(mergeColumns)))
		}
		var s query.Segment
		if r.IntN(3) == 0 {
			s = sharedSegment(t, dir, 77, columns, values...)
		} else {
			s = fileOf(t, dir, 1+r.IntN(5), columns, values...)
		}
		s.Order = uint64(orders[i]) + 1
		tab.Segments = append(tab.Segments, s)
		written = append(written, rows...)
	}
	// The engine must use Order, not the position in the list.
	r.Shuffle(len(tab.Segments), func(i, k int) { tab.Segments[i], tab.Segments[k] = tab.Segments[k], tab.Segments[i] })
	for range r.IntN(4) {
		day = r.IntN(4)
		change(math.MaxUint64)
		columns := fileColumns()
		var values [][]any
		for range 1 + r.IntN(10) {
			m := row()
			written = append(written, m)
			values = append(values, m.values(len(columns) > len(mergeColumns)))
		}
		tab.Batches = append(tab.Batches, batch(t, columns, values...))
	}
	tab.Merge = how
	return written, tab
}

// sharedSegment writes a file with rows of the table, and rows of another table before and after
// them. The file's field ids differ from the column ids.
func sharedSegment(t testing.TB, dir string, tableID int, columns []schema.Column, rows ...[]any) query.Segment {
	t.Helper()
	slots := []schema.Column{{ID: segment.TableFieldID, Name: plan.TableName, Type: schema.Uint64, Semantic: schema.Field}}
	for i, c := range columns {
		c.ID = uint32(100 + i)
		slots = append(slots, c)
	}
	strange := func(id int) []any {
		out := []any{id, 5}
		for range columns[1:] {
			out = append(out, nil)
		}
		return out
	}
	all := [][]any{strange(tableID - 1), strange(tableID - 1)}
	for _, row := range rows {
		all = append(all, append([]any{tableID}, row...))
	}
	all = append(all, strange(tableID+1))
	s := fileOf(t, dir, 0, slots, all...)
	s.Shared, s.Rows, s.Columns = true, int64(len(rows)), nil
	s.MinTime, s.MaxTime = 1<<62, -1<<62
	for _, row := range rows {
		ts := int64(row[0].(int))
		s.MinTime, s.MaxTime = min(s.MinTime, ts), max(s.MaxTime, ts)
	}
	for i, c := range columns {
		s.Columns = append(s.Columns, query.SegmentColumn{ID: c.ID, FieldID: slots[i+1].ID, Name: c.Name, Type: c.Type})
	}
	return s
}

// TestSharedSegment reads tables in append mode from shared files.
func TestSharedSegment(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	tab := table("logs", logColumns, sharedSegment(t, dir, 9, logColumns, logRows[:3]...),
		fileOf(t, dir, 0, logColumns, logRows[3:4]...), batch(t, logColumns, logRows[4:]...))
	tab.Schema.ID = 9
	for sql, want := range map[string]string{
		"SELECT code FROM logs ORDER BY ts":                          "200 404 500 200 200",
		"SELECT count(*) FROM logs":                                  "5",
		"SELECT count(*) FROM logs WHERE ts < '1970-01-01 00:00:03'": "2",
		"SELECT extra->>'k' FROM logs WHERE code = 500":              "v3",
	} {
		if got := strings.Join(mustQuery(t, e, sql, tab), " "); got != want {
			t.Errorf("%s: got %s, want %s", sql, got, want)
		}
	}
	tab.Schema.ID = 10
	if got := mustQuery(t, e, "SELECT count(*) FROM logs WHERE code IS NULL", query.Table{
		Database: "public", Name: "logs", Schema: tab.Schema, Segments: tab.Segments[:1], Batches: []*column.Batch{},
	}); got[0] != "1" {
		t.Errorf("the other table's rows: got %v", got)
	}
}
