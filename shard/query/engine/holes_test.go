package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"cordwood/proto/column"
	"cordwood/shard/query"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// TestHoleIsFilled reads a column that is a hole in a striped file, and reads it again once the hole is filled, as the
// files of object storage are. The time of the file stays the same. The engine's cache of files served the hole again.
func TestHoleIsFilled(t *testing.T) {
	dir := t.TempDir()
	columns := cols("ts:TimestampMillisecond", "n:Int64", "m:Int64")
	rows, sum := make([][]any, 5000), 0
	for i := range rows {
		rows[i] = []any{i, i * 7919 % 10_007, i % 3}
		sum += i * 7919 % 10_007
	}
	tab := table("t", columns)
	tab.Schema.ID = 1
	metas, err := segment.Write(segment.Config{
		FS: vfs.OS, Dir: dir, RowGroupRows: 500, NextID: func() uint64 { return 1 },
	}, tab.Schema, []*column.Batch{batch(t, columns, rows...)})
	if err != nil || len(metas) != 1 {
		t.Fatalf("%d files, %v", len(metas), err)
	}
	striped := filepath.Join(dir, "striped.parquet")
	m, err := segment.Stripe(vfs.OS, filepath.Join(dir, segment.FileName(1)), &metas[0], striped)
	if err != nil {
		t.Fatal(err)
	}
	s := query.Segment{Path: striped, CRC: m.FileCRC, Rows: m.Rows, MinTime: m.MinTime, MaxTime: m.MaxTime}
	for _, c := range m.Columns {
		s.Columns = append(s.Columns, query.SegmentColumn{ID: c.ID, FieldID: c.FieldID, Name: c.Name, Type: c.Type})
	}
	tab.Segments = []query.Segment{s}
	units, err := segment.ReadUnits(vfs.OS, striped)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(striped, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(units.List, func(u segment.Unit) bool { return u.Field == 2 && u.Kind == segment.ChunkUnit })
	unit := units.List[at]
	bytes := make([]byte, unit.Length)
	if _, err := f.ReadAt(bytes, unit.Offset); err != nil {
		t.Fatal(err)
	}
	write := func(b []byte) {
		t.Helper()
		if _, err := f.WriteAt(b, unit.Offset); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(striped, info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
	e := openEngine(t, dir)
	e.off(specialPaths...) // so that only DuckDB reads the file
	write(make([]byte, unit.Length))
	const SQL = "SELECT sum(n)::BIGINT FROM t"
	if a, err := ask(e, SQL, tab); err == nil {
		t.Fatalf("the sum over a hole is %v", a.rows)
	}
	write(bytes)
	a, err := ask(e, SQL, tab)
	if err != nil {
		t.Fatalf("after the hole was filled: %v", err)
	}
	if want := mustQuery(t, e, fmt.Sprintf("SELECT %d::BIGINT", sum)); !slices.Equal(a.rows, want) {
		t.Errorf("the sum is %v, want %v", a.rows, want)
	}
}
