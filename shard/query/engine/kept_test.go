package engine

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/plan"
	"cordwood/shard/query/partial"
)

// openKeeping opens an engine that keeps partial results of segments of any size.
func openKeeping(t testing.TB, dir string) *Engine {
	e := openEngine(t, dir)
	e.settings.MinKept, e.settings.MinByParts = 1, 0
	return e
}

// keptTable is a table that changes between queries.
type keptTable struct {
	t   *testing.T
	rng *rand.Rand
	dir string
	query.Table
	written uint64
}

func (k *keptTable) rows(columns []schema.Column) [][]any {
	var out [][]any
	for range 1 + k.rng.IntN(40) {
		row := randomRow(k.rng)
		if k.Merge != query.Append {
			row[0] = 1_700_000_000_000 + 1000*k.rng.IntN(10_000) // make some identities equal
		}
		for range columns[len(row):] {
			row = append(row, nil)
		}
		if columns[len(columns)-1].ID == schema.DeletedColumnID && k.rng.IntN(3) == 0 {
			row[len(row)-1] = true
		}
		out = append(out, row)
	}
	if k.Merge != query.Append {
		// A segment has at most one row of an identity.
		seen := map[any]bool{}
		out = slices.DeleteFunc(out, func(row []any) bool { was := seen[row[0]]; seen[row[0]] = true; return was })
	}
	return out
}

// columns returns the columns with which new rows are written.
func (k *keptTable) columns() []schema.Column {
	if k.rng.IntN(3) == 0 {
		return append(slices.Clone(k.Schema.Columns), schema.DeletedColumn())
	}
	return k.Schema.Columns
}

// change makes a random change that can happen to a table between two queries.
func (k *keptTable) change() {
	columns := k.columns()
	switch k.rng.IntN(8) {
	case 0, 1:
		seg := fileOf(k.t, k.dir, 7, columns, k.rows(columns)...)
		k.written++
		seg.Order, seg.CRC = k.written, uint32(k.written)
		k.Segments = append(slices.Clone(k.Segments), seg)
	case 2:
		k.Batches = []*column.Batch{batch(k.t, columns, k.rows(columns)...)}
	case 3: // a compaction replaces two segments, and reuses one path
		if len(k.Segments) < 2 || k.Merge != query.Append {
			return
		}
		seg := fileOf(k.t, k.dir, 7, columns, k.rows(columns)...)
		path := k.Segments[0].Path
		if err := os.Rename(seg.Path, path+".new"); err != nil {
			k.t.Fatal(err)
		}
		// DuckDB caches a footer by the path and the time of the file.
		if err := os.Rename(path+".new", path); err != nil {
			k.t.Fatal(err)
		}
		k.written++
		seg.Path, seg.Order, seg.CRC = path, k.written, uint32(k.written)
		k.Segments = append([]query.Segment{seg}, k.Segments[2:]...)
	case 4:
		before := int64(1_700_000_000_000 + k.rng.IntN(8_000_000))
		if k.ExpiredBefore = &before; k.rng.IntN(2) == 0 {
			k.ExpiredBefore = nil
		}
	case 5: // ALTER: n becomes NOT NULL, with a default for rows that lack it
		value := fmt.Sprint(k.rng.IntN(9))
		altered := slices.Clone(k.Schema.Columns)
		n := &altered[8]
		n.NotNull, n.Default = !n.NotNull, &value
		k.Schema = (&schema.Table{Name: "logs", Columns: altered}).Index()
	case 6: // ALTER: n gets a wider type
		altered := slices.Clone(k.Schema.Columns)
		altered[8].Type = schema.Int64
		k.Schema = (&schema.Table{Name: "logs", Columns: altered}).Index()
	case 7: // DELETE by the time
		if len(k.Segments) > 0 {
			k.Segments = slices.Clone(k.Segments[1:])
		}
	}
}

// TestKeptRandom compares an engine that keeps partial results with an engine that does not. It
// runs random statements over tables that change, both whole and split for several nodes.
func TestKeptRandom(t *testing.T) {
	dir := t.TempDir()
	plain := openEngine(t, dir)
	plain.parts = nil
	asked := 0
	e := openKeeping(t, dir)
	for seed := *splitSeed; seed < *splitSeed+uint64(*splitSeeds)/2; seed++ {
		rng := rand.New(rand.NewPCG(seed, 20))
		k := &keptTable{t: t, rng: rng, dir: dir}
		k.Table = table("logs", placedColumns)
		k.Merge = []query.Merge{query.Append, query.Append, query.LastRow, query.LastNonNull}[rng.IntN(4)]
		for range 6 {
			k.change()
		}
		type asks struct {
			sql    string
			sorted bool
		}
		var list []asks
		for len(list) < 4 {
			sql, sorted := statements{rng}.statement()
			s, err := e.Split(t.Context(), &query.Request{SQL: sql, Database: "public", Tables: []query.Table{k.Table}})
			if err == nil && (s.Kind == "aggregate" || s.Kind == "pairs") {
				list = append(list, asks{sql, sorted})
			}
		}
		for range 5 {
			k.change()
			for range 3 {
				for _, a := range list {
					asked++
					k.compare(e, plain, a.sql, a.sorted, seed)
				}
			}
		}
		if t.Failed() {
			return
		}
	}
	known := e.parts.Stats().Hits
	t.Logf("%d statements; the partials of %d segments were kept", asked, known)
	if known < int64(asked)/4 {
		t.Errorf("the partials of only %d segments were kept, in %d statements", known, asked)
	}
}

// compare runs a statement on both engines, whole and split.
func (k *keptTable) compare(e, plain *Engine, sql string, sorted bool, seed uint64) {
	k.t.Helper()
	want, err := ask(plain, sql, k.Table)
	if err != nil {
		k.t.Fatalf("seed %d: %s: without kept partials: %v", seed, sql, err)
	}
	got, err := ask(e, sql, k.Table)
	if err != nil {
		k.t.Errorf("seed %d: %s: %v", seed, sql, err)
		return
	}
	if diff := same(got, want, sorted); diff != "" {
		k.t.Errorf("seed %d, %s: %s: %s", seed, k.Merge, sql, diff)
	}
	p := &placed{all: k.Table, nodes: []query.Table{k.Table}}
	if got, reason, err := p.splitAnswer(k.t, e, sql); err != nil {
		k.t.Errorf("seed %d: %s: %v", seed, sql, err)
	} else if reason == "" {
		if diff := same(got, want, sorted); diff != "" {
			k.t.Errorf("seed %d, %s, as a part: %s: %s", seed, k.Merge, sql, diff)
		}
	}
}

// TestKeptSlidingHour checks a time condition that moves forward: only the segments at its border
// are read. Segments whose rows all meet the condition are not read again.
func TestKeptSlidingHour(t *testing.T) {
	dir := t.TempDir()
	e := openKeeping(t, dir)
	columns := cols("ts:TimestampMillisecond", "host:String", "n:Int64")
	var parts []any
	for i := range 10 {
		var rows [][]any
		for j := range 60 {
			rows = append(rows, []any{(i*60 + j) * 1000, fmt.Sprint("host-", j%3), j})
		}
		parts = append(parts, fileOf(t, dir, 20, columns, rows...))
	}
	tab := table("logs", columns, parts...)
	for i := range 10 {
		sql := fmt.Sprintf("SELECT host, count(*) AS c, sum(n), max(ts) FROM logs WHERE ts >= '1970-01-01 00:00:%02d' "+
			"AND n > 1 GROUP BY host ORDER BY host", i+10)
		want := mustQuery(t, openEngine(t, dir), sql, tab)
		p := &placed{all: tab, nodes: []query.Table{tab}}
		got, reason, err := p.splitAnswer(t, e, sql)
		if err != nil || reason != "" {
			t.Fatal(reason, err)
		}
		if !slices.Equal(got.rows, want) {
			t.Errorf("%s: %v, want %v", sql, got.rows, want)
		}
	}
	// Nine of ten segments are beyond the border. The first statement finds no kept result, the
	// second stores them, and eight use them.
	if s := e.parts.Stats(); s.Hits != 8*9 || s.Misses != 2*9 || s.Bytes == 0 {
		t.Errorf("%+v", s)
	}
}

// TestKeptMovingRange checks that a statement on one node whose range moves is a repeated one, although its
// text is another one each time.
func TestKeptMovingRange(t *testing.T) {
	dir := t.TempDir()
	e := openKeeping(t, dir)
	columns := cols("ts:TimestampMillisecond", "host:String")
	var parts []any
	for i := range 10 {
		var rows [][]any
		for j := range 60 {
			rows = append(rows, []any{(i*60 + j) * 1000, fmt.Sprint("host-", j%3)})
		}
		parts = append(parts, fileOf(t, dir, 20, columns, rows...))
	}
	tab := table("logs", columns, parts...)
	for i := range 10 {
		sql := fmt.Sprintf("SELECT host, count(*) AS c FROM logs WHERE ts >= '1970-01-01 00:00:%02d' GROUP BY host "+
			"ORDER BY host", i+10)
		if got, want := mustQuery(t, e, sql, tab), mustQuery(t, openEngine(t, dir), sql, tab); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", sql, got, want)
		}
	}
	if s := e.parts.Stats(); s.Hits < 6*9 {
		t.Errorf("%+v", s)
	}
}

// TestKeptLarge checks that partial results with as many groups as rows are not kept, and that the
// statement is answered nevertheless.
func TestKeptLarge(t *testing.T) {
	dir := t.TempDir()
	e := openKeeping(t, dir)
	columns := cols("ts:TimestampMillisecond", "id:String")
	var rows [][]any
	for i := range 10_000 {
		rows = append(rows, []any{i, fmt.Sprint("id-", i)})
	}
	tab := table("logs", columns, fileOf(t, dir, 0, columns, rows...))
	for i := range 5 {
		got := mustQuery(t, e, "SELECT id, count(*) FROM logs GROUP BY id", tab)
		if len(got) != 10_000 || !strings.HasSuffix(got[0], "|1") {
			t.Fatalf("%d: %d rows, as %s", i, len(got), got[0])
		}
	}
	if s := e.parts.Stats(); s.Hits != 0 || s.Bytes != 0 {
		t.Errorf("%+v", s)
	}
	// The partial results of the small segment next to the large one are not used either.
	e = openKeeping(t, dir)
	tab = table("logs", columns, fileOf(t, dir, 0, columns, rows...),
		fileOf(t, dir, 0, columns, []any{20_000, "x"}, []any{20_001, "y"}))
	for range 5 {
		if got := mustQuery(t, e, "SELECT id, count(*) FROM logs GROUP BY id", tab); len(got) != 10_002 {
			t.Fatalf("%d rows", len(got))
		}
	}
	if s := e.parts.Stats(); s.Hits != 0 {
		t.Errorf("%+v", s)
	}
}

// TestKeptEstimate checks that partials are not computed if the dictionary of a column shows that
// they are too large to be kept.
func TestKeptEstimate(t *testing.T) {
	e := openKeeping(t, "/")
	columns := cols("ts:TimestampMillisecond", "id:String", "path:String", "host:String", "n:Int64")
	var rows [][]any
	for i := range 20_000 {
		rows = append(rows, []any{
			i, fmt.Sprintf("%x", rand.Uint64()), fmt.Sprint("/p/", i%6000), fmt.Sprint("h", i%9), i % 50,
		})
	}
	tab := table("t", columns)
	tab.Schema.ID = 1
	tab.Segments = indexed(t, t.TempDir(), columns, 20_000, batch(t, columns, rows...)).Segments
	st, req, err := e.study(t.Context(), &query.Request{
		SQL: "SELECT * FROM t", Database: "public", Tables: []query.Table{tab},
	})
	if err != nil {
		t.Fatal(err)
	}
	planned, err := plan.New(t.Context(), st.Statement, st.shape, req, time.Now(), e.settings)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"id": true, "path": true, "host": false, "n": false, "absent": false} {
		if got := planned.Plans[0].ManyValues(&tab.Segments[0], name, 4096); got != want {
			t.Errorf("%s: many values: %v", name, got)
		}
	}
	for sql, want := range map[string]bool{
		"SELECT path, count(*) FROM t GROUP BY path": true, "SELECT host, count(*) FROM t GROUP BY host": false,
		"SELECT path, count(*) FROM t WHERE n = 7 GROUP BY path": false,
	} {
		for range 4 {
			mustQuery(t, e, sql, tab)
		}
		if large := e.parts.Stats().Bytes == 0; want != large {
			t.Errorf("%s: too large: %v", sql, large)
		}
		e.parts = partial.New(1 << 20)
	}
}

// TestKeptExplain checks that EXPLAIN reports for how many segments results are kept.
func TestKeptExplain(t *testing.T) {
	dir := t.TempDir()
	e := openKeeping(t, dir)
	columns := cols("ts:TimestampMillisecond", "n:Int64")
	tab := table("logs", columns, fileOf(t, dir, 0, columns, []any{1, 1}), fileOf(t, dir, 0, columns, []any{2, 5}),
		batch(t, columns, []any{3, 7}))
	const sql = "SELECT n % 2 AS odd, sum(n) FROM logs GROUP BY odd"
	for i := range 4 {
		plan := strings.Join(mustQuery(t, e, "EXPLAIN "+sql, tab), "\n")
		if known := strings.Contains(plan, "the results of 2 segments are known"); known != (i == 3) {
			t.Errorf("after %d queries: %s", i, plan)
		}
		mustQuery(t, e, sql, tab)
	}
}

// TestKeptNothing checks the aggregates over no rows: the sum is null, and the count is 0.
func TestKeptNothing(t *testing.T) {
	dir := t.TempDir()
	e := openKeeping(t, dir)
	columns := cols("ts:TimestampMillisecond", "n:Int64")
	tab := table("logs", columns, fileOf(t, dir, 0, columns, []any{1, 1}, []any{2, 5}))
	for range 4 {
		if got := mustQuery(t, e, "SELECT sum(n) FROM logs WHERE n > 1", tab); !slices.Equal(got, []string{"5"}) {
			t.Error(got)
		}
		// No row of any segment meets the condition.
		got := mustQuery(t, e, "SELECT sum(n), count(*) FROM logs WHERE n > 100", tab)
		if !slices.Equal(got, []string{"NULL|0"}) {
			t.Error(got)
		}
	}
}

// TestKeptKeys checks that a kept result is not used for another file at the same path, nor for
// another definition of the table.
func TestKeptKeys(t *testing.T) {
	dir := t.TempDir()
	e := openKeeping(t, dir)
	columns := cols("ts:TimestampMillisecond", "n:Int64")
	const sql = "SELECT count(*), sum(n), min(n) FROM logs"
	ask := func(tab query.Table, want string) {
		t.Helper()
		before := e.parts.Stats().Hits
		for range 4 {
			if got := mustQuery(t, e, sql, tab); !slices.Equal(got, []string{want}) {
				t.Errorf("%v, want %s", got, want)
			}
		}
		if e.parts.Stats().Hits == before {
			t.Error("no partial result was kept")
		}
	}
	seg := fileOf(t, dir, 0, columns, []any{1, 1}, []any{2, 5})
	seg.CRC = 1
	ask(table("logs", columns, seg), "2|6|1")
	other := fileOf(t, dir, 0, columns, []any{1, 10}, []any{2, 50}, []any{3, 70})
	if err := os.Rename(other.Path, seg.Path); err != nil {
		t.Fatal(err)
	}
	other.Path, other.CRC = seg.Path, 2
	ask(table("logs", columns, other), "3|130|10")

	older := fileOf(t, dir, 0, columns[:1], []any{1}, []any{2})
	ask(table("logs", columns, older), "2|NULL|NULL")
	for _, value := range []string{"7", "9"} {
		altered := slices.Clone(columns)
		altered[1].NotNull, altered[1].Default = true, &value
		ask(table("logs", altered, older), map[string]string{"7": "2|14|7", "9": "2|18|9"}[value])
	}
}
