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

// idColumns are columns of which the third one has bloom filters.
func idColumns() []schema.Column {
	columns := cols("ts:TimestampMillisecond", "n:Int64", "id:String")
	columns[2].Index = &schema.Index{
		Kind: schema.SkippingIndex, Options: schema.DefaultIndexOptions(schema.SkippingIndex),
	}
	return columns
}

// segmentOf writes rows to a segment with row groups of 100 rows, in the layout of object storage, in a folder below
// dir. Its integers are as other engines want them.
func segmentOf(t testing.TB, dir string, columns []schema.Column, order uint64, rows [][]any) query.Segment {
	t.Helper()
	dir, err := os.MkdirTemp(dir, "segment")
	if err != nil {
		t.Fatal(err)
	}
	tab := table("t", columns)
	tab.Schema.ID = 1
	metas, err := segment.Write(segment.Config{
		FS: vfs.OS, Dir: dir, RowGroupRows: 100, NextID: func() uint64 { return 1 },
	}, tab.Schema, []*column.Batch{batch(t, columns, rows...)})
	if err != nil || len(metas) != 1 {
		t.Fatalf("%d files, %v", len(metas), err)
	}
	to := filepath.Join(dir, "striped.parquet")
	from := filepath.Join(dir, segment.FileName(1))
	m, err := segment.StripeWith(vfs.OS, from, &metas[0], to, segment.Extra{PlainIntegers: true})
	if err != nil {
		t.Fatal(err)
	}
	s := query.Segment{
		Path: to, CRC: m.FileCRC, Order: order, Rows: m.Rows, MinTime: m.MinTime, MaxTime: m.MaxTime,
	}
	for _, c := range m.Columns {
		s.Columns = append(s.Columns, query.SegmentColumn{ID: c.ID, FieldID: c.FieldID, Name: c.Name, Type: c.Type})
	}
	return s
}

// TestRunsOfRowGroups asks for values in row groups that are no neighbours. What is between them is damaged, so the
// answer shows that it is not read.
func TestRunsOfRowGroups(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	e.off("pages", "direct") // the engine reads the file
	var rows [][]any
	for i := range 1000 {
		rows = append(rows, []any{i, i, fmt.Sprintf("id-%d", i*7919)})
	}
	tab := table("t", idColumns())
	tab.Segments = []query.Segment{segmentOf(t, dir, idColumns(), 1, rows)}
	units, err := segment.ReadUnits(vfs.OS, tab.Segments[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(tab.Segments[0].Path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, u := range units.List {
		if u.Kind != segment.ChunkUnit || slices.Contains([]int{2, 5, 6, 9}, u.Group) {
			continue
		}
		if _, err := f.WriteAt(make([]byte, u.Length), u.Offset); err != nil {
			t.Fatal(err)
		}
	}
	sql := fmt.Sprintf("SELECT n FROM t WHERE id IN ('id-%d', 'id-%d', 'id-%d', 'id-%d') ORDER BY n", 250*7919, 555*7919,
		601*7919, 999*7919)
	if got := mustQuery(t, e, sql, tab); !slices.Equal(got, []string{"250", "555", "601", "999"}) {
		t.Errorf("got %v", got)
	}
}

// TestRunsRandom compares statements that ask for values in several row groups with the same ones without filters, on
// tables whose segments overlap, that merge rows or not, and with so many runs that files are read by one scan.
func TestRunsRandom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	with, without := openEngine(t, dir), openEngine(t, dir)
	with.off("pages", "direct", "kept")
	without.off("pages", "direct", "kept", "filters")
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 5))
		columns := idColumns()
		merge := query.Merge(seed % 3)
		if merge != query.Append {
			columns[2].Semantic = schema.Tag
		}
		tab := table("t", columns)
		tab.Merge = merge
		for k := range 2 + 10*int(seed%2) {
			var rows [][]any
			for i := range 700 {
				rows = append(rows, []any{k*300 + i, r.IntN(50), fmt.Sprintf("id-%d", (k*300+i)*7919)})
			}
			tab.Segments = append(tab.Segments, segmentOf(t, dir, columns, uint64(k+1), rows))
		}
		for range 12 {
			var ids []string
			for range 1 + r.IntN(30) {
				ids = append(ids, fmt.Sprintf("'id-%d'", r.IntN(len(tab.Segments)*300+500)*7919))
			}
			where := " WHERE id IN (" + strings.Join(ids, ", ") + ")"
			for _, sql := range []string{
				"SELECT ts, n, id FROM t" + where + " ORDER BY ALL",
				"SELECT n, count(*), min(id) FROM t" + where + " AND n > 10 GROUP BY n ORDER BY ALL",
			} {
				want, got := mustQuery(t, without, sql, tab), mustQuery(t, with, sql, tab)
				if !slices.Equal(got, want) {
					t.Errorf("seed %d, merge %d, %s:\n got %v\nwant %v", seed, merge, sql, got, want)
				}
			}
		}
	}
}
