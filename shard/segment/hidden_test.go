package segment

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cordwood/proto/column"
	"cordwood/shard/vfs"
)

// hiddenFileOf writes rows, and stripes them with hidden columns of all columns.
func hiddenFileOf(t *testing.T, dir string, columns []string, rows ...row) (m Meta, path string) {
	t.Helper()
	tab := tableOf(t, columns...)
	batches := []*column.Batch{batchOf(t, tab, rows...)}
	metas, err := Write(Config{FS: vfs.OS, Dir: dir, RowGroupRows: 3, NextID: func() uint64 { return 1 }}, tab, batches)
	if err != nil || len(metas) != 1 {
		t.Fatalf("%d files, %v", len(metas), err)
	}
	var ids []uint32
	for _, c := range tab.Columns {
		ids = append(ids, c.ID)
	}
	path = filepath.Join(dir, FileName(2))
	m, err = StripeWith(vfs.OS, filepath.Join(dir, FileName(1)), &metas[0], path, Extra{Hidden: ids})
	if err != nil {
		t.Fatal(err)
	}
	m.ID = 2
	if err := Check(vfs.OS, dir, &m, true); err != nil {
		t.Fatal(err)
	}
	return m, path
}

// TestHiddenColumns compares hidden columns with their columns, as DuckDB reads them.
func TestHiddenColumns(t *testing.T) {
	dir := t.TempDir()
	var rows []row
	for i, ns := range []int{0, 1, -1, 999, 1000, -1000, -1001, 1_700_000_000_123_456_789, math.MaxInt64 - 9} {
		r := row{"ts": i, "ns": ns, "ms": i * 1001, "s": -i}
		if i%3 > 0 {
			r["u"], r["big"] = math.MaxUint32-i, i
		}
		rows = append(rows, r)
	}
	m, path := hiddenFileOf(t, dir, []string{
		"ts:TimestampNanosecond:TIMESTAMP", "ns:TimestampNanosecond", "ms:TimestampMillisecond", "s:TimestampSecond",
		"u:UInt32", "big:UInt64", "us:TimestampMicrosecond", "n:Int64",
	}, rows...)
	var names []string
	for _, c := range m.Columns {
		if c.Hidden() {
			names = append(names, c.Name)
		}
	}
	if want := []string{"ts@us", "ns@us", "ms@us", "s@us", "u@long", "big@decimal"}; !slices.Equal(names, want) {
		t.Fatalf("hidden columns %v, want %v", names, want)
	}
	got := query(t, fmt.Sprintf(`SELECT count(*) FILTER ("ts@us" = make_timestamp(0)) AS ts,
		count(*) FILTER (epoch_us("ns@us")::HUGEINT * 1000 <= epoch_ns(ns) AND
			epoch_us("ns@us")::HUGEINT * 1000 > epoch_ns(ns)::HUGEINT - 1000) AS ns,
		count(*) FILTER ("ms@us" = ms) AS ms, count(*) FILTER ("s@us" = s) AS s,
		count(*) FILTER ("u@long" = u::BIGINT) AS u, count("u@long") AS us,
		count(*) FILTER ("big@decimal" = big::DECIMAL(20,0)) AS big, typeof(any_value("big@decimal")) AS t
		FROM '%s'`, path))
	if want := "ts|ns|ms|s|u|us|big|t\n9|9|9|9|6|6|6|DECIMAL(20,0)\n"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	// Our reader does not see them.
	in, err := Open(vfs.OS, path, &m)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	b, err := in.Next(100)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(b.Cols); n == 0 || b.Cols[n-1].ID >= HiddenID {
		t.Errorf("column %d of %d is read", b.Cols[n-1].ID, n)
	}
	if u := mustUnits(t, dir, &m); u == nil {
		t.Error("no checksums")
	}
}

// TestHiddenColumnLeftOut has a time that cannot be converted.
func TestHiddenColumnLeftOut(t *testing.T) {
	m, _ := hiddenFileOf(t, t.TempDir(), []string{"ts:TimestampNanosecond:TIMESTAMP", "ms:TimestampMillisecond"},
		row{"ts": 1, "ms": math.MaxInt64 / 1000}, row{"ts": 2, "ms": math.MaxInt64/1000 + 1})
	for _, c := range m.Columns {
		if c.Hidden() && c.Name != "ts@us" {
			t.Errorf("the hidden column %s", c.Name)
		}
	}
	if n := len(m.Columns); n != 3 {
		t.Errorf("%d columns", n)
	}
}

// TestHiddenNames has columns with the names of hidden ones.
func TestHiddenNames(t *testing.T) {
	m, _ := hiddenFileOf(t, t.TempDir(), []string{
		"ts:TimestampNanosecond:TIMESTAMP", "TS@us:String", "ts@us#1073741825:String",
	}, row{"ts": 1, "TS@us": "a", "ts@us#1073741825": "b"})
	if name := m.Columns[3].Name; name != "ts@us#1073741825#1073741825" {
		t.Errorf("the name is %s", name)
	}
}

// TestPlainIntegers has integers of all types. Those that are plain have no logical type, and are read as before.
func TestPlainIntegers(t *testing.T) {
	dir := t.TempDir()
	names := []string{"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"}
	low := []int{math.MinInt8, math.MinInt16, math.MinInt32, math.MinInt64, 0, 0, 0, 0}
	high := []int{
		math.MaxInt8, math.MaxInt16, math.MaxInt32, math.MaxInt64, math.MaxUint8, math.MaxUint16,
		math.MaxUint32, math.MaxInt64,
	}
	columns := []string{"ts:TimestampMicrosecond:TIMESTAMP"}
	for i, kind := range []string{"Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"} {
		columns = append(columns, names[i]+":"+kind)
	}
	var rows []row
	for i := range 8 {
		r := row{"ts": i}
		for k, name := range names {
			r[name] = []int{low[k], high[k], i}[i%3]
		}
		rows = append(rows, r, row{"ts": i})
	}
	tab := tableOf(t, columns...)
	batches := []*column.Batch{batchOf(t, tab, rows...)}
	metas, err := Write(Config{FS: vfs.OS, Dir: dir, RowGroupRows: 5, NextID: func() uint64 { return 1 }}, tab, batches)
	if err != nil || len(metas) != 1 {
		t.Fatalf("%d files, %v", len(metas), err)
	}
	path := filepath.Join(dir, FileName(2))
	m, err := StripeWith(vfs.OS, filepath.Join(dir, FileName(1)), &metas[0], path, Extra{PlainIntegers: true})
	if err != nil {
		t.Fatal(err)
	}
	m.ID = 2
	if err := Check(vfs.OS, dir, &m, true); err != nil {
		t.Fatal(err)
	}
	all := allRows(tab, batches...)
	Sort(tab, batches, all)
	mustRead(t, dir, &m, batches, all, 3)
	got := query(t, fmt.Sprintf("SELECT string_agg(column_type, ' ') AS t FROM (DESCRIBE FROM '%s')", path))
	if want := "t\nTIMESTAMP INTEGER INTEGER INTEGER BIGINT INTEGER INTEGER UINTEGER UBIGINT\n"; got != want {
		t.Errorf("types %s", got)
	}
	for i, name := range names {
		statement := "SELECT min(%[1]s), max(%[1]s), count(*) FILTER (%[1]s >= %[3]d) FROM '%[2]s'"
		got := query(t, fmt.Sprintf(statement, name, path, high[i]))
		if want := fmt.Sprintf("\n%d|%d|3\n", low[i], high[i]); !strings.HasSuffix(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
