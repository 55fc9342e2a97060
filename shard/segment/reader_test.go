package segment

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/vfs"
)

// mustRead compares a segment, read in batches of at most maxRows rows, with the rows that were
// written.
func mustRead(t *testing.T, dir string, m *Meta, batches []*column.Batch, rows []RowRef, maxRows int) {
	t.Helper()
	r, err := Open(vfs.OS, filepath.Join(dir, FileName(m.ID)), m)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var kept []*column.Batch
	for at := 0; ; {
		b, err := r.Next(maxRows)
		if errors.Is(err, io.EOF) {
			if at != len(rows) {
				t.Fatalf("%d rows, want %d", at, len(rows))
			}
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if b.Rows == 0 || b.Rows > maxRows || b.TableID != m.TableID || b.SchemaVersion != m.SchemaVersion {
			t.Fatalf("header %+v", b.Header)
		}
		kept = append(kept, b)
		at += b.Rows
	}
	// Batches must stay unchanged while the next ones are read.
	at := 0
	for _, b := range kept {
		part := rows[at : at+b.Rows]
		lo, hi := part[0].Time, part[0].Time
		for _, r := range part {
			lo, hi = min(lo, r.Time), max(hi, r.Time)
		}
		if b.MinTime != lo || b.MaxTime != hi {
			t.Fatalf("rows from %d on: times %d to %d, want %d to %d", at, b.MinTime, b.MaxTime, lo, hi)
		}
		for _, c := range m.Columns {
			v := b.Column(c.ID)
			if v != nil {
				mustBeAligned(t, b, v)
			}
			nulls := 0
			for i, want := range expected(c.ID, batches, part) {
				got := value(v, i)
				if got != want {
					t.Fatalf("column %q, row %d: %s, want %s", c.Name, at+i, got, want)
				}
				if want == "null" {
					nulls++
				}
			}
			if v != nil && (v.Nulls != nulls || v.Type != c.Type) {
				t.Fatalf("column %q: %d nulls, type %s, want %d, %s", c.Name, v.Nulls, v.Type, nulls, c.Type)
			}
		}
		at += b.Rows
	}
}

// mustBeAligned checks the guarantees for users of views: alignment, and room after every section.
func mustBeAligned(t *testing.T, b *column.Batch, v *column.View) {
	t.Helper()
	base := uintptr(unsafe.Pointer(unsafe.SliceData(b.Mem)))
	for name, s := range map[string][]byte{
		"validity": v.Validity, "data": v.Data, "offsets": v.Offsets, "codes": v.Codes,
	} {
		if len(s) == 0 {
			continue
		}
		at := uintptr(unsafe.Pointer(unsafe.SliceData(s))) - base
		if at%8 != 0 || at+uintptr(len(s))+16 > uintptr(len(b.Mem)) {
			t.Fatalf("column %d: %s at %d, %d bytes, in memory of %d", v.ID, name, at, len(s), len(b.Mem))
		}
	}
}

func TestReadBack(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 2))
			s := newSample(t, r, seed)
			dir, cfg, tab, batches, rows := s.cfg.Dir, s.cfg, s.table, s.batches, s.rows
			for _, n := range []int{1 << 20, 1 + r.IntN(3000), 63} {
				mustRead(t, dir, &s.meta, batches, rows, n)
			}

			// Write the rows in pieces and in another order, with a Writer.
			r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			w, err := NewWriter(cfg, Spec{Tables: []TableColumns{{Table: tab, Columns: Columns(batches)}}})
			if err != nil {
				t.Fatal(err)
			}
			for at := 0; at < len(rows); {
				n := min(1+r.IntN(1500), len(rows)-at)
				if err := w.Append(tab, batches, rows[at:at+n]); err != nil {
					t.Fatal(err)
				}
				at += n
			}
			m, err := w.Finish()
			if err != nil {
				t.Fatal(err)
			}
			mustRead(t, dir, &m, batches, rows, 1+r.IntN(3000))
		})
	}
}

// TestReadHuge reads values that fill a page each and have common prefixes.
func TestReadHuge(t *testing.T) {
	tab := tableOf(t, "ts:TimestampSecond:TIMESTAMP", "long:String", "prefix:String", "mixed:Json")
	var rows []row
	for i := range 70 {
		r := row{
			"ts":     i,
			"long":   fmt.Sprint(i, strings.Repeat("0123456789", i*3000)),
			"prefix": strings.Repeat("x", 100_000) + fmt.Sprint(i),
		}
		if i%10 == 3 {
			r["mixed"] = strings.Repeat("y", 3<<20)
		} else if i%3 == 0 {
			r["mixed"] = fmt.Sprint(i)
		}
		rows = append(rows, r)
	}
	batches := []*column.Batch{batchOf(t, tab, rows...)}
	dir := t.TempDir()
	m := write(t, dir, tab, batches...)[0]
	mustRead(t, dir, &m, batches, allRows(tab, batches...), 33)
}

// goldenMeta returns the Meta of a file in testdata with the rows of goldenRows.
func goldenMeta(t testing.TB, file []byte) *Meta {
	t.Helper()
	m := &Meta{
		ID: 1, TableID: 7, SchemaVersion: 3, Rows: 500, Bytes: int64(len(file)), MaxTime: 499e9,
		FileCRC: crc32.Checksum(file, castagnoli),
	}
	var err error
	if m.FooterCRC, err = footerCRC(bytes.NewReader(file), m.Bytes); err != nil {
		t.Fatal(err)
	}
	tab := goldenTable(t)
	for _, c := range tab.Columns {
		m.Columns = append(m.Columns, Column{ID: c.ID, FieldID: c.ID, Name: c.Name, Type: c.Type, Semantic: c.Semantic})
	}
	m.Columns[21].Name, m.Columns[21].Logical = "Few#22", "Few"
	return m
}

func goldenTable(t testing.TB) *schema.Table {
	return tableOf(t, "host:String:TAG", "ts:TimestampNanosecond:TIMESTAMP", "bool:Boolean", "i8:Int8", "i16:Int16",
		"i32:Int32", "i64:Int64",
		"u8:UInt8", "u16:UInt16", "u32:UInt32", "u64:UInt64", "f32:Float32", "f64:Float64", "text:String",
		"bin:Binary", "doc:Json",
		"ts_s:TimestampSecond", "ts_ms:TimestampMillisecond", "ts_us:TimestampMicrosecond", "ts_ns:TimestampNanosecond",
		"few:String", "Few:Int64")
}

// goldenRows returns the rows of the golden files.
func goldenRows() []row {
	var rows []row
	for i := range 500 {
		n := int64(i)
		r := row{
			"host": fmt.Sprint("h", i%3), "ts": n * 1e9, "bool": i%2 == 0, "i8": n%256 - 128, "i16": n*131 - 32768,
			"i32": n*7919 - math.MaxInt32, "i64": n*1e15 - math.MaxInt64,
			"u8": n % 256, "u16": n * 131, "u32": n * 7919, "u64": uint64(n) * 1e16, "f32": float64(float32(n) / 3),
			"f64": float64(n) / 7, "text": fmt.Sprint("value ", n*n), "bin": string([]byte{byte(n), 0, 255}),
			"doc":  fmt.Sprintf(`{"n":%d}`, n),
			"ts_s": n, "ts_ms": n * 1e3, "ts_us": -n, "ts_ns": n * n, "few": fmt.Sprint("few words ", i%5), "Few": n % 4,
		}
		if i%7 == 0 {
			r = row{"ts": n * 1e9}
		}
		if i%50 == 3 {
			r["f64"], r["f32"] = math.NaN(), math.Copysign(0, -1)
			r["i64"], r["u64"] = int64(math.MinInt64), uint64(math.MaxUint64)
		}
		rows = append(rows, r)
	}
	return rows
}

// TestGolden reads files of earlier versions: parquet-go wrote v1, and our own encoder wrote v2 on
// 2026-11-22.
func TestGolden(t *testing.T) {
	for _, name := range []string{"v1.parquet", "v2.parquet"} {
		t.Run(name, func(t *testing.T) {
			file, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, FileName(1)), file, 0o644); err != nil {
				t.Fatal(err)
			}
			m := goldenMeta(t, file)
			if err := Check(vfs.OS, dir, m, true); err != nil {
				t.Fatal(err)
			}
			tab := goldenTable(t)
			batches := []*column.Batch{batchOf(t, tab, goldenRows()...)}
			rows := allRows(tab, batches...)
			Sort(tab, batches, rows)
			for _, n := range []int{1000, 77, 1} {
				mustRead(t, dir, m, batches, rows, n)
			}
			filters, err := readFulltext(vfs.OS, filepath.Join(dir, FileName(1)))
			if err != nil {
				t.Fatal(err)
			}
			if !filters.MayContain(nil, 21, 0, "WORDS") || filters.MayContain(nil, 21, 1, "absent") {
				t.Error("the token filters exclude an existing word")
			}
		})
	}
}

// TestGoldenIsWritten fails if the bytes that the writer writes change. If the change is intended,
// keep the old file, and test its successor next to it.
func TestGoldenIsWritten(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("libzstd may have another version here, and compress to other bytes")
	}
	want, err := os.ReadFile("testdata/v2.parquet")
	if err != nil {
		t.Fatal(err)
	}
	tab := goldenTable(t)
	tab.Columns[13].Index = &schema.Index{
		Kind:    schema.SkippingIndex,
		Options: schema.DefaultIndexOptions(schema.SkippingIndex),
	}
	tab.Columns[20].Index = &schema.Index{
		Kind:    schema.FulltextIndex,
		Options: schema.DefaultIndexOptions(schema.FulltextIndex),
	}
	rows := goldenRows()
	dir := t.TempDir()
	metas, err := Write(Config{FS: vfs.OS, Dir: dir, RowGroupRows: 300, NextID: func() uint64 { return 1 }}, tab,
		[]*column.Batch{batchOf(t, tab, rows[:200]...), batchOf(t, tab, rows[200:]...)})
	if err != nil || len(metas) != 1 {
		t.Fatalf("%d files, %v", len(metas), err)
	}
	got, err := os.ReadFile(filepath.Join(dir, FileName(1)))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		name := filepath.Join(os.TempDir(), "cordwood-v2.parquet")
		t.Errorf("other bytes than in testdata, from %d on; they are in %s: %v", firstDifference(got, want), name,
			os.WriteFile(name, got, 0o644))
	}
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// TestConcurrently runs several goroutines that write and read at the same time and exchange
// memory.
func TestConcurrently(t *testing.T) {
	tab := wide(t)
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 9))
			batches := fill(t, r, tab, 700, 300)
			rows := allRows(tab, batches...)
			Sort(tab, batches, rows)
			for range 3 {
				dir := t.TempDir()
				m := write(t, dir, tab, batches...)[0]
				mustRead(t, dir, &m, batches, rows, 400)
			}
		})
	}
}
