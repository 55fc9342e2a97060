package segment

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	arrowparquet "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/parquet-go/parquet-go"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/vfs"
)

// value returns a value of a view as text, as it is stored in the file: seconds as milliseconds,
// short integers as 32 bits, floats as their bits.
func value(v *column.View, row int) string {
	switch {
	case v == nil || v.IsNull(row):
		return "null"
	case v.Type.IsBytes():
		return fmt.Sprintf("%q", v.Bytes(row))
	case v.Type == schema.Float32:
		return fmt.Sprintf("%#x", math.Float32bits(float32(v.Float(row))))
	case v.Type.IsFloat():
		return fmt.Sprintf("%#x", math.Float64bits(v.Float(row)))
	case v.Type == schema.TimestampSecond:
		return fmt.Sprint(thousandfold(v.Int(row)))
	case v.Type == schema.Int64 || v.Type == schema.Uint64 || v.Type.IsTimestamp():
		return fmt.Sprint(v.Int(row))
	}
	return fmt.Sprint(int32(v.Int(row)))
}

// wide returns a table with a column of every type, and several columns of types with several
// encodings.
func wide(t testing.TB) *schema.Table {
	words := []string{"ts:TimestampNanosecond:TIMESTAMP"}
	for i := range 3 {
		for _, typ := range schema.Types() {
			words = append(words, fmt.Sprintf("%s%d:%s", strings.ToLower(typ.String()), i, typ))
		}
	}
	tab := tableOf(t, words...)
	for i := range tab.Columns {
		if i%4 == 1 {
			tab.Columns[i].Index = &schema.Index{
				Kind:    schema.SkippingIndex,
				Options: schema.DefaultIndexOptions(schema.SkippingIndex),
			}
		}
	}
	return tab
}

// style is the distribution of the values of a column.
type style int

const (
	constant style = iota
	few
	runs
	small
	wild
	extreme
	huge
	never
	styles
)

// fill returns batches of random rows. Every column has a style and a share of nulls.
func fill(t testing.TB, r *rand.Rand, tab *schema.Table, sizes ...int) []*column.Batch {
	t.Helper()
	kinds := make([]style, len(tab.Columns))
	nulls := make([]int, len(tab.Columns))
	for i := range kinds {
		kinds[i], nulls[i] = style(r.IntN(int(styles))), []int{0, 0, 2, 10, 50, 99}[r.IntN(6)]
	}
	var batches []*column.Batch
	at := int64(0)
	for _, rows := range sizes {
		var b column.Builder
		cols := make([]*column.Col, len(tab.Columns))
		for row := range rows {
			for i, def := range tab.Columns {
				if i > 0 && (kinds[i] == never || r.IntN(100) < nulls[i] || kinds[i] == runs && nulls[i] > 10 && row/200%2 == 0) {
					continue
				}
				if cols[i] == nil {
					cols[i] = b.Add(def)
				}
				if i == 0 {
					at += int64(r.IntN(1000))
					cols[i].SetInt(row, at)
					continue
				}
				random(r, cols[i], row, kinds[i])
			}
			b.EndRow()
		}
		b.Finish()
		batch, err := column.Decode(b.Encode(nil, column.Header{TableID: tab.ID}), nil)
		if err != nil {
			t.Fatal(err)
		}
		batches = append(batches, batch)
	}
	return batches
}

func random(r *rand.Rand, c *column.Col, row int, k style) {
	n := []uint64{7, r.Uint64N(5), uint64(row / 100), r.Uint64N(3000), r.Uint64(), r.Uint64N(2), r.Uint64N(100_000), 0}[k]
	switch {
	case c.Type.IsBytes():
		switch k {
		case extreme:
			c.SetString(row, []string{"", "\xff\xff"}[n])
		case huge:
			c.SetString(row, strings.Repeat("long value ", int(n%200)))
		case wild:
			c.SetString(row, fmt.Sprintf("%016x", n))
		default:
			c.SetString(row, fmt.Sprint("2026-01-05T00:00:00 ", n))
		}
	case c.Type == schema.Boolean:
		c.SetInt(row, int64(n&1))
	case c.Type.IsFloat():
		switch k {
		case extreme:
			c.SetFloat(row, []float64{
				math.NaN(), math.Copysign(0, -1), 0, math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64,
			}[r.IntN(7)])
		case wild:
			c.SetFloat(row, r.NormFloat64())
		default:
			c.SetFloat(row, float64(n)/8)
		}
	default:
		v := int64(n)
		lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
		if c.Type.IsInteger() && c.Type != schema.Uint64 {
			lo, hi = c.Type.IntRange()
		}
		if c.Type == schema.TimestampSecond {
			lo, hi = lo/1000, hi/1000 // Parquet stores milliseconds
		}
		switch {
		case k == extreme:
			v = []int64{lo, hi}[n]
		case v < lo || v > hi:
			v = lo + int64(n%uint64(hi-lo))
		}
		c.SetInt(row, v)
	}
}

// expected returns the values of a file's column in the order of the file.
func expected(id uint32, batches []*column.Batch, rows []RowRef) []string {
	var want []string
	views := make([]*column.View, len(batches))
	for i, b := range batches {
		views[i] = b.Column(id)
	}
	for _, r := range rows {
		want = append(want, value(views[r.Batch], int(r.Row)))
	}
	return want
}

// sample is a file with random rows.
type sample struct {
	cfg     Config // with which it was written
	meta    Meta
	table   *schema.Table
	batches []*column.Batch
	rows    []RowRef // in the order of the file
}

// newSample writes random rows of all types to a file. n selects their number.
func newSample(t *testing.T, r *rand.Rand, n uint64) sample {
	t.Helper()
	s := sample{table: wide(t)}
	sizes := [][]int{{1}, {2}, {65}, {1000, 1, 64, 935}, {300, 5000, 3000}}[n%5]
	s.batches = fill(t, r, s.table, sizes...)
	id := uint64(0)
	s.cfg = Config{
		FS: vfs.OS, Dir: t.TempDir(), RowGroupRows: 1 + r.IntN(4000), NextID: func() uint64 { id++; return id },
	}
	metas, err := Write(s.cfg, s.table, s.batches)
	if err != nil || len(metas) != 1 {
		t.Fatalf("%d files, %v", len(metas), err)
	}
	s.meta, s.rows = metas[0], allRows(s.table, s.batches...)
	Sort(s.table, s.batches, s.rows)
	return s
}

// TestOracles writes random rows and checks what parquet-go and arrow-go read.
func TestOracles(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := newSample(t, rand.New(rand.NewPCG(seed, 1)), seed)
			b, err := os.ReadFile(filepath.Join(s.cfg.Dir, FileName(1)))
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range s.meta.Columns {
				want := expected(c.ID, s.batches, s.rows)
				mustEqual(t, "parquet-go", c, want, readParquetGo(t, b, i))
				mustEqual(t, "arrow-go", c, want, readArrow(t, b, i))
			}
		})
	}
}

func mustEqual(t *testing.T, by string, c Column, want, got []string) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%s, column %q: %d values, want %d", by, c.Name, len(got), len(want))
	}
	for i := range want {
		if want[i] != got[i] {
			t.Fatalf("%s, column %q, row %d: %s, want %s", by, c.Name, i, got[i], want[i])
		}
	}
}

func readParquetGo(t *testing.T, b []byte, column int) []string {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range f.RowGroups() {
		pages := g.ColumnChunks()[column].Pages()
		for {
			p, err := pages.ReadPage()
			if err != nil {
				break
			}
			values := make([]parquet.Value, p.NumValues())
			if n, _ := p.Values().ReadValues(values); n != len(values) {
				t.Fatalf("%d values of %d", n, len(values))
			}
			for _, v := range values {
				switch v.Kind() {
				case parquet.ByteArray:
					got = append(got, fmt.Sprintf("%q", v.ByteArray()))
				case parquet.Float:
					got = append(got, fmt.Sprintf("%#x", math.Float32bits(v.Float())))
				case parquet.Double:
					got = append(got, fmt.Sprintf("%#x", math.Float64bits(v.Double())))
				case parquet.Boolean:
					got = append(got, map[bool]string{false: "0", true: "1"}[v.Boolean()])
				case parquet.Int32:
					got = append(got, fmt.Sprint(v.Int32()))
				case parquet.Int64:
					got = append(got, fmt.Sprint(v.Int64()))
				default:
					got = append(got, "null")
				}
			}
			parquet.Release(p)
		}
		pages.Close()
	}
	return got
}

func readArrow(t *testing.T, b []byte, column int) []string {
	t.Helper()
	f, err := file.NewParquetReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var got []string
	for g := range f.NumRowGroups() {
		c, err := f.RowGroup(g).Column(column)
		if err != nil {
			t.Fatal(err)
		}
		switch c := c.(type) {
		case *file.BooleanColumnChunkReader:
			got = append(got, batchesOf(t, c.ReadBatch, func(v bool) string { return map[bool]string{false: "0", true: "1"}[v] },
				c.HasNext, c.Descriptor().MaxDefinitionLevel())...)
		case *file.Int32ColumnChunkReader:
			got = append(got, batchesOf(t, c.ReadBatch, func(v int32) string { return fmt.Sprint(v) }, c.HasNext,
				c.Descriptor().MaxDefinitionLevel())...)
		case *file.Int64ColumnChunkReader:
			got = append(got, batchesOf(t, c.ReadBatch, func(v int64) string { return fmt.Sprint(v) }, c.HasNext,
				c.Descriptor().MaxDefinitionLevel())...)
		case *file.Float32ColumnChunkReader:
			got = append(got, batchesOf(t, c.ReadBatch, func(v float32) string {
				return fmt.Sprintf("%#x", math.Float32bits(v))
			}, c.HasNext, c.Descriptor().MaxDefinitionLevel())...)
		case *file.Float64ColumnChunkReader:
			got = append(got, batchesOf(t, c.ReadBatch, func(v float64) string {
				return fmt.Sprintf("%#x", math.Float64bits(v))
			}, c.HasNext, c.Descriptor().MaxDefinitionLevel())...)
		case *file.ByteArrayColumnChunkReader:
			got = append(got, batchesOf(t, c.ReadBatch, func(v arrowparquet.ByteArray) string {
				return fmt.Sprintf("%q", []byte(v))
			}, c.HasNext, c.Descriptor().MaxDefinitionLevel())...)
		}
	}
	return got
}

// batchesOf reads all values of a chunk with a reader of arrow-go.
func batchesOf[T any](t *testing.T, read func(int64, []T, []int16, []int16) (int64, int, error), text func(T) string,
	more func() bool, level int16,
) []string {
	t.Helper()
	var got []string
	values, levels := make([]T, 512), make([]int16, 512)
	for more() {
		total, n, err := read(512, values, levels, nil)
		if err != nil {
			t.Fatal(err)
		}
		next := 0
		for i := range total {
			if level > 0 && levels[i] == 0 {
				got = append(got, "null")
				continue
			}
			got = append(got, text(values[next]))
			next++
		}
		if next != n {
			t.Fatalf("%d values, %d levels", n, next)
		}
	}
	return got
}
