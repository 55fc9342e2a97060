package segment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/segment/parquet"
	"cordwood/shard/vfs"
)

// This file writes and reads rows of very different sizes, and compares the memory that this takes
// with the size of the rows.

// sizedBatch returns a batch of rows whose texts in the column msg have the given sizes. Texts that
// are not random have few different values for each size.
func sizedBatch(t testing.TB, tab *schema.Table, r *rand.Rand, sizes []int, random bool) *column.Batch {
	t.Helper()
	var b column.Builder
	ts, msg := b.Add(tab.Columns[0]), b.Add(tab.Columns[1])
	for i, size := range sizes {
		ts.SetInt(i, int64(i))
		text := make([]byte, size)
		for at := range text {
			text[at] = 'x'
		}
		if random && size > 0 {
			copy(text, fmt.Sprintf("%016x", r.Uint64()))
		}
		msg.SetString(i, string(text))
		b.EndRow()
	}
	batch, err := column.Decode(b.Encode(nil, column.Header{TableID: tab.ID, SchemaVersion: tab.Version}), nil)
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

// allocated returns how many bytes f allocates on the heap, including garbage.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// textBytes returns the total size of the texts of batches.
func textBytes(batches []*column.Batch) (n int) {
	for _, b := range batches {
		for i := range b.Cols {
			for row := 0; b.Cols[i].Type.IsBytes() && row < b.Rows; row++ {
				n += len(b.Cols[i].Bytes(row))
			}
		}
	}
	return n
}

// memoryFor returns the maximum allocation for writing or reading texts bytes: a constant for each
// file, and each text a few times, because it is copied to the row group, when the row group grows,
// and to pages.
func memoryFor(texts int) uint64 { return 48<<20 + 12*uint64(texts) }

// checkGroups checks that the row groups of a file stay within their limits, and reads the file
// back.
func checkGroups(t testing.TB, dir string, m *Meta, want int) {
	t.Helper()
	path := filepath.Join(dir, FileName(m.ID))
	r, err := Open(vfs.OS, path, m)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	largest, rows, texts := 0, int64(0), 0
	took := allocated(func() {
		for {
			b, err := r.Next(maxBatchRows)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			rows += int64(b.Rows)
			for i := range b.Cols {
				for row := 0; b.Cols[i].Type.IsBytes() && row < b.Rows; row++ {
					largest = max(largest, len(b.Cols[i].Bytes(row)))
					texts += len(b.Cols[i].Bytes(row))
				}
			}
			if most := heavyGroupBytes + 4<<20 + 2*largest; len(b.Mem) > most {
				t.Errorf("a batch of %d rows has %d bytes, more than %d", b.Rows, len(b.Mem), most)
			}
		}
	})
	if rows != m.Rows || texts != want {
		t.Errorf("read %d rows with %d bytes of text, want %d with %d", rows, texts, m.Rows, want)
	}
	if most := memoryFor(texts); took > most {
		t.Errorf("reading took %d bytes, more than %d", took, most)
	}
	for i := range r.md.RowGroups {
		g := &r.md.RowGroups[i]
		size := int64(0)
		for k := range g.Columns {
			if md := &g.Columns[k].MetaData; md.DictionaryPageOffset == 0 {
				size += md.TotalUncompressedSize
			}
		}
		if most := int64(2*maxGroupBytes + 2*largest + 4<<20); g.NumRows > 1 && size > most {
			t.Errorf("row group %d: %d rows of %d bytes, more than %d", i, g.NumRows, size, most)
		}
	}
}

// writeHostile writes batches at once and in pieces, and checks the allocated memory.
func writeHostile(t testing.TB, tab *schema.Table, batches []*column.Batch) {
	t.Helper()
	dir, id := t.TempDir(), uint64(0)
	cfg := Config{FS: vfs.OS, Dir: dir, NextID: func() uint64 { id++; return id }}
	texts := textBytes(batches)
	took := allocated(func() {
		metas, err := Write(cfg, tab, batches)
		if err != nil || len(metas) != 1 {
			t.Fatalf("%d files: %v", len(metas), err)
		}
		checkGroups(t, dir, &metas[0], texts)
	})
	if most := 2 * memoryFor(texts); took > most {
		t.Errorf("at once: it took %d bytes for %d bytes of text, more than %d", took, texts, most)
	}
	took = allocated(func() {
		w := mustWriter(t, cfg, Spec{Tables: []TableColumns{{Table: tab}}})
		rows := allRows(tab, batches...)
		for len(rows) > 0 {
			n := min(len(rows), 5000)
			if err := w.Append(tab, batches, rows[:n]); err != nil {
				t.Fatal(err)
			}
			rows = rows[n:]
		}
		m, err := w.Finish()
		if err != nil {
			t.Fatal(err)
		}
		checkGroups(t, dir, &m, texts)
	})
	if most := 2 * memoryFor(texts); took > most {
		t.Errorf("in pieces: it took %d bytes for %d bytes of text, more than %d", took, texts, most)
	}
}

// repeat returns a list with the size n times.
func repeat(n, size int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = size
	}
	return out
}

// TestHostileSizes writes rows of a size that the first rows do not predict.
func TestHostileSizes(t *testing.T) {
	tab := tableOf(t, "ts:TimestampNanosecond:TIMESTAMP", "msg:String")
	tab.Columns[1].Index = index(schema.FulltextIndex)
	for _, c := range []struct {
		name   string
		sizes  [][]int // by batch
		random bool
	}{
		{"one large text, then short ones", [][]int{{1_500_000}, repeat(60_000, 20)}, true},
		{"short texts, then a large one", [][]int{repeat(60_000, 20), {15_000_000}}, true},
		{"large texts among short ones", [][]int{repeat(30_000, 20), {3_000_000}, repeat(30_000, 20), {3_000_000}}, true},
		{"more than a row group of 64 kB each", [][]int{repeat(600, 64<<10), repeat(600, 64<<10)}, true},
		{"one that is larger than a row group", [][]int{repeat(5000, 20), {65 << 20}, repeat(5000, 20)}, true},
		{"empty texts", [][]int{repeat(60_000, 0)}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			var batches []*column.Batch
			for _, sizes := range c.sizes {
				batches = append(batches, sizedBatch(t, tab, r, sizes, c.random))
			}
			writeHostile(t, tab, batches)
		})
	}
}

// TestHostileDictionaries writes texts that need almost no memory in their batches' dictionaries,
// and two hundred times as much without a dictionary.
func TestHostileDictionaries(t *testing.T) {
	tab := tableOf(t, "ts:TimestampNanosecond:TIMESTAMP", "msg:String")
	var batches []*column.Batch
	for i := range 30 {
		var rows []row
		text := strings.Repeat(fmt.Sprintf("%08d", i), 5000)
		for at := range 200 {
			rows = append(rows, row{"ts": 200*i + at, "msg": text})
		}
		batches = append(batches, batchOf(t, tab, rows...))
	}
	if size := len(batches[0].Mem); size > 100_000 {
		t.Fatalf("a batch of one text has %d bytes", size)
	}
	dir := t.TempDir()
	m := write(t, dir, tab, batches...)[0]
	checkGroups(t, dir, &m, textBytes(batches))
}

// FuzzWriteSizes writes rows of arbitrary sizes.
func FuzzWriteSizes(f *testing.F) {
	f.Add([]byte{200, 1, 3, 255}, uint64(1), true)
	f.Add([]byte{5, 255, 5, 255, 0, 9, 180, 40}, uint64(2), true)
	f.Add([]byte{160, 160, 160, 1, 1, 1}, uint64(3), false)
	tab := tableOf(f, "ts:TimestampNanosecond:TIMESTAMP", "msg:String")
	f.Fuzz(func(t *testing.T, shape []byte, seed uint64, random bool) {
		r := rand.New(rand.NewPCG(seed, 1))
		var batches []*column.Batch
		left := 24 << 20
		for i := 0; i+1 < min(len(shape), 16); i += 2 {
			size := 1 << (shape[i] / 12) // up to 2 MB
			n := min(1+int(shape[i+1])*int(shape[i+1])/2, max(left/(size+16), 1))
			sizes := repeat(n, size)
			left -= n * size
			batches = append(batches, sizedBatch(t, tab, r, sizes, random))
		}
		if len(batches) > 0 {
			writeHostile(t, tab, batches)
		}
	})
}

// TestClaimedLengths changes each byte of a file's footer and reads the filters. A length in the
// footer must not be trusted.
func TestClaimedLengths(t *testing.T) {
	tab := tableOf(t, "ts:TimestampNanosecond:TIMESTAMP", "msg:String", "n:Int64")
	tab.Columns[1].Index, tab.Columns[2].Index = index(schema.FulltextIndex), index(schema.InvertedIndex)
	var rows []row
	for i := range 100 {
		rows = append(rows, row{"ts": i, "msg": fmt.Sprint("text ", i*7919), "n": i * 7919})
	}
	dir := t.TempDir()
	m := write(t, dir, tab, batchOf(t, tab, rows...))[0]
	sound, err := vfs.ReadFile(vfs.OS, filepath.Join(dir, FileName(m.ID)))
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []byte{0xFF, 0xF8, 0xFC, 0x7F} { // 0xF8, 0xFC: more than 14 texts, more than 14 structures
		for at := range sound {
			data := bytes.Clone(sound)
			data[at] = value
			if at+5 < len(data) && value&0xF0 == 0xF0 {
				copy(data[at+1:], "\xff\xff\xff\xff\x07") // a length of 2^31-1
			}
			if took := allocated(func() { readAnything(data) }); took > 8<<20 {
				t.Fatalf("byte %d of %d is %#x: reading took %d bytes", at, len(sound), value, took)
			}
		}
	}
}

// readAnything reads a file that may be damaged, with its footer and its index.
func readAnything(data []byte) {
	if md, err := parquet.ReadFooter(bytes.NewReader(data), int64(len(data))); err == nil {
		for i := range md.RowGroups {
			for k := range md.RowGroups[i].Columns {
				if k+1 >= len(md.Schema) || md.RowGroups[i].Columns[k].MetaData.NumValues > 1<<16 {
					continue // Open compares both with the manifest
				}
				c, err := parquet.NewChunkReader(bytes.NewReader(data), &md.Schema[1+k], &md.RowGroups[i].Columns[k].MetaData)
				for err == nil {
					_, err = c.Next()
				}
			}
		}
	}
	if u, err := readUnits(bytes.NewReader(data), int64(len(data))); err == nil && u != nil {
		_ = u.Verify(bytes.NewReader(data))
	}
	f, err := readFilters(bytes.NewReader(data), int64(len(data)), false)
	if err != nil {
		return
	}
	for g := range f.Groups {
		columns := []Column{
			{ID: 1, FieldID: 1, Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp},
			{ID: 2, FieldID: 2, Name: "msg", Type: schema.String},
			{ID: 3, FieldID: 3, Name: "n", Type: schema.Int64},
		}
		f.MayContain(bytes.NewReader(data), 2, g, "some words")
		_, _ = f.Rows(bytes.NewReader(data), g, columns, []Run{{0, int(min(f.Groups[g].Rows, 100))}})
		_, _, _ = f.Find(bytes.NewReader(data), g, columns[1], [][]byte{[]byte("text 7919")}, 10)
		_, _ = f.MayHave(bytes.NewReader(data), 3, g, make([]byte, 8))
	}
}

// FuzzReadFile reads files with arbitrary bytes. Reading must not panic, and must not allocate
// memory for lengths that are only claimed.
func FuzzReadFile(f *testing.F) {
	tab := tableOf(f, "ts:TimestampNanosecond:TIMESTAMP", "msg:String", "n:Int64")
	var rows []row
	for i := range 20 {
		rows = append(rows, row{"ts": i, "msg": fmt.Sprint("text ", i%3), "n": i * 7919})
	}
	dir := f.TempDir()
	m := write(f, dir, tab, batchOf(f, tab, rows...))[0]
	sound, err := vfs.ReadFile(vfs.OS, filepath.Join(dir, FileName(m.ID)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sound)
	f.Add(sound[len(sound)/2:])
	striped := mustStripe(f, dir, &m, 99)
	alike, err := vfs.ReadFile(vfs.OS, filepath.Join(dir, FileName(striped.ID)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(alike)
	f.Fuzz(func(t *testing.T, data []byte) {
		if took := allocated(func() { readAnything(data) }); took > 32<<20+uint64(1000*len(data)) {
			t.Fatalf("reading %d bytes took %d", len(data), took)
		}
	})
}
