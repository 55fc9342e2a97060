package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"cordwood/proto/errs"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// fakeRows is a result with the given batches and an optional error at the end.
type fakeRows struct {
	schema  *arrow.Schema
	batches []arrow.RecordBatch
	at      int
	err     error
}

func (r *fakeRows) Schema() *arrow.Schema { return r.schema }
func (r *fakeRows) Next() bool            { r.at++; return r.at <= len(r.batches) }
func (r *fakeRows) RecordBatch() arrow.RecordBatch {
	return r.batches[r.at-1]
}

func (r *fakeRows) Err() error {
	if r.at > len(r.batches) {
		return r.err
	}
	return nil
}

func rowsOf(batches ...arrow.RecordBatch) *fakeRows {
	return &fakeRows{schema: batches[0].Schema(), batches: batches}
}

// parseJSON returns a batch of the schema from a JSON array of objects.
func parseJSON(t testing.TB, schema *arrow.Schema, text string) arrow.RecordBatch {
	t.Helper()
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// allTypes returns a row of values, a row of extremes and a row of nulls, with a column for every type in the
// engine's answers.
func allTypes(t testing.TB, parquetOnly bool) arrow.RecordBatch {
	mem := memory.DefaultAllocator
	var fields []arrow.Field
	var columns []arrow.Array
	add := func(name string, typ arrow.DataType, fill func(b array.Builder)) {
		b := array.NewBuilder(mem, typ)
		fill(b)
		a := b.NewArray()
		if a.Len() == 2 {
			b2, err := array.Concatenate([]arrow.Array{a, array.MakeArrayOfNull(mem, typ, 1)}, mem)
			if err != nil {
				t.Fatal(err)
			}
			a = b2
		}
		fields = append(fields, arrow.Field{Name: name, Type: typ, Nullable: true})
		columns = append(columns, a)
	}
	text := func(values ...string) func(array.Builder) {
		return func(b array.Builder) {
			for _, v := range values {
				if err := b.AppendValueFromString(v); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	add("bool", arrow.FixedWidthTypes.Boolean, text("true", "false"))
	add("i8", arrow.PrimitiveTypes.Int8, text("1", "-128"))
	add("i64", arrow.PrimitiveTypes.Int64, text("9223372036854775807", "-9223372036854775808"))
	add("u8", arrow.PrimitiveTypes.Uint8, text("1", "255"))
	add("u64", arrow.PrimitiveTypes.Uint64, text("18446744073709551615", "0"))
	add("f32", arrow.PrimitiveTypes.Float32, text("0.1", "NaN"))
	add("f64", arrow.PrimitiveTypes.Float64, func(b array.Builder) {
		b.(*array.Float64Builder).AppendValues([]float64{0.1, math.Inf(-1)}, nil)
	})
	add("f64b", arrow.PrimitiveTypes.Float64, func(b array.Builder) {
		b.(*array.Float64Builder).AppendValues([]float64{2, 1e-9}, nil)
	})
	add("str", arrow.BinaryTypes.String, text("Jörg, \"日本\"\n\t\\ \x01", ""))
	add("bin", arrow.BinaryTypes.Binary, func(b array.Builder) {
		b.(*array.BinaryBuilder).Append([]byte{0, 255, 1})
		b.(*array.BinaryBuilder).Append(nil)
	})
	for _, u := range []struct {
		unit   arrow.TimeUnit
		values [2]int64
	}{
		{arrow.Second, [2]int64{1700000000, -62135596801}},
		{arrow.Millisecond, [2]int64{1700000000123, -1}},
		{arrow.Microsecond, [2]int64{1700000000123456, 1700000000000000}},
		{arrow.Nanosecond, [2]int64{1700000000123456789, math.MinInt64}},
	} {
		add("ts_"+u.unit.String(), &arrow.TimestampType{Unit: u.unit}, func(b array.Builder) {
			for _, v := range u.values {
				b.(*array.TimestampBuilder).Append(arrow.Timestamp(v))
			}
		})
	}
	add("date", arrow.FixedWidthTypes.Date32, func(b array.Builder) {
		b.(*array.Date32Builder).AppendValues([]arrow.Date32{19848, -719528}, nil)
	})
	add("time", arrow.FixedWidthTypes.Time64us, func(b array.Builder) {
		b.(*array.Time64Builder).AppendValues([]arrow.Time64{3723000001, 0}, nil)
	})
	add("huge", &arrow.Decimal128Type{Precision: 38, Scale: 0}, func(b array.Builder) {
		b.(*array.Decimal128Builder).Append(decimal128.FromI64(-7))
		n, err := decimal128.FromString("99999999999999999999999999999999999999", 38, 0)
		if err != nil {
			t.Fatal(err)
		}
		b.(*array.Decimal128Builder).Append(n)
	})
	add("dec", &arrow.Decimal128Type{Precision: 10, Scale: 2}, func(b array.Builder) {
		b.(*array.Decimal128Builder).Append(decimal128.FromI64(-12345))
		b.(*array.Decimal128Builder).Append(decimal128.FromI64(5))
	})
	add("list", arrow.ListOf(arrow.PrimitiveTypes.Int64), text(`[1,null,3]`, `[]`))
	add("struct", arrow.StructOf(
		arrow.Field{Name: "a", Type: arrow.BinaryTypes.String, Nullable: true},
		arrow.Field{Name: "t", Type: &arrow.TimestampType{Unit: arrow.Second}, Nullable: true},
	), text(`{"a":"x\"y","t":"2023-11-14 22:13:20"}`, `{"a":null,"t":null}`))
	add("map", arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32),
		text(`[{"key":"k","value":1},{"key":"q\"","value":null}]`, `[]`))
	add("dict", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.BinaryTypes.String},
		text("red", "green"))
	if !parquetOnly {
		add("interval", arrow.FixedWidthTypes.MonthDayNanoInterval, func(b array.Builder) {
			b.(*array.MonthDayNanoIntervalBuilder).Append(arrow.MonthDayNanoInterval{
				Months:      14,
				Days:        1,
				Nanoseconds: 1500000000,
			})
			b.(*array.MonthDayNanoIntervalBuilder).Append(arrow.MonthDayNanoInterval{Nanoseconds: -1})
		})
	}
	add("nothing", arrow.Null, func(b array.Builder) { b.AppendNulls(3) })
	fields = append(fields, arrow.Field{
		Name: "json", Type: arrow.BinaryTypes.String, Nullable: true,
		Metadata: arrow.NewMetadata([]string{TypeKey}, []string{"Json"}),
	})
	b := array.NewStringBuilder(mem)
	b.AppendValues([]string{`{"a":[1]}`, "null", ""}, []bool{true, true, false})
	columns = append(columns, b.NewArray())
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, 3)
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (-want +got):\n%s", path, d)
	}
}

func records(rows Rows) ([]byte, int64, error) {
	b := NewBuffer(NewBudget(1<<30, 1<<30))
	defer b.Release()
	n, err := AppendRecords(b, rows)
	var out bytes.Buffer
	if _, werr := b.WriteTo(&out); werr != nil {
		return nil, 0, werr
	}
	return out.Bytes(), n, err
}

func TestGolden(t *testing.T) {
	got, n, err := records(rowsOf(allTypes(t, false)))
	if err != nil || n != 3 {
		t.Fatal(n, err)
	}
	if !json.Valid(got) {
		t.Errorf("svcdb_v1 is not JSON: %s", got)
	}
	golden(t, "all.svcdb_v1.json", bytes.ReplaceAll(append(got, '\n'), []byte("],["), []byte("],\n[")))
	for _, f := range []Format{NDJSON, CSV, CSVWithNames, CSVWithNamesAndTypes, Table} {
		t.Run(f.String(), func(t *testing.T) {
			var out bytes.Buffer
			n, err := Write(&out, f, rowsOf(allTypes(t, false)))
			if err != nil || n != 3 {
				t.Fatal(n, err)
			}
			golden(t, "all."+f.String()+".txt", out.Bytes())
			if f == NDJSON {
				for _, line := range bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n")) {
					if !json.Valid(line) {
						t.Errorf("no JSON: %s", line)
					}
				}
			}
		})
	}
}

func TestArrowRoundTrip(t *testing.T) {
	rec := allTypes(t, false)
	var out bytes.Buffer
	if _, err := Write(&out, Arrow, rowsOf(rec, rec)); err != nil {
		t.Fatal(err)
	}
	r, err := ipc.NewReader(&out)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for ; r.Next(); n++ {
		if !array.RecordApproxEqual(rec, r.RecordBatch(), array.WithNaNsEqual(true)) {
			t.Errorf("batch %d: got %v", n, r.RecordBatch())
		}
	}
	if n != 2 || r.Err() != nil {
		t.Errorf("%d batches, %v", n, r.Err())
	}
}

func TestParquet(t *testing.T) {
	rec := allTypes(t, true)
	var out bytes.Buffer
	n, err := Write(&out, Parquet, rowsOf(rec, rec))
	if err != nil || n != 6 {
		t.Fatal(n, err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if f.NumRows() != 6 || len(f.Root().Columns()) != int(rec.NumCols()) {
		t.Errorf("%d rows of %d columns", f.NumRows(), len(f.Root().Columns()))
	}
	_, err = Write(io.Discard, Parquet, rowsOf(allTypes(t, false)))
	if errs.CodeOf(err) != errs.Unsupported || !strings.Contains(err.Error(), `column "interval"`) {
		t.Errorf("interval: %v", err)
	}
}

// TestParquetRowGroups checks that the rows and bytes of a row group, and thereby the memory, are limited.
func TestParquetRowGroups(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewStringBuilder(memory.DefaultAllocator)
	for i := range 100 {
		b.Append(strings.Repeat(string(rune('a'+i%26)), 100_000))
	}
	rec := array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, 100)
	var out bytes.Buffer
	if _, err := Write(&out, Parquet, rowsOf(rec, rec, rec, rec, rec, rec, rec, rec)); err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.RowGroups()) != 3 || f.NumRows() != 800 {
		t.Errorf("%d row groups of %d rows, want 3 of 800", len(f.RowGroups()), f.NumRows())
	}
}

func TestEmptyAndDuplicates(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: arrow.PrimitiveTypes.Int64},
		{Name: "a", Type: arrow.PrimitiveTypes.Int64},
		{Name: "a_1", Type: arrow.PrimitiveTypes.Int64},
	}, nil)
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.Append(5)
	col := b.NewArray()
	one := array.NewRecordBatch(schema, []arrow.Array{col, col, col}, 1)
	empty := array.NewRecordBatch(schema, []arrow.Array{
		array.NewSlice(col, 0, 0), array.NewSlice(col, 0, 0), array.NewSlice(col, 0, 0),
	}, 0)
	tests := []struct {
		f    Format
		rec  []arrow.RecordBatch
		want string
	}{
		{NDJSON, []arrow.RecordBatch{one}, `{"a":5,"a_2":5,"a_1":5}` + "\n"},
		{NDJSON, []arrow.RecordBatch{empty}, ""},
		{NDJSON, nil, ""},
		{CSVWithNamesAndTypes, nil, "a,a,a_1\r\nInt64,Int64,Int64\r\n"},
		{Table, nil, "+---+---+-----+\n| a | a | a_1 |\n+---+---+-----+\n+---+---+-----+\n"},
	}
	for _, tt := range tests {
		var out bytes.Buffer
		if _, err := Write(&out, tt.f, &fakeRows{schema: schema, batches: tt.rec}); err != nil {
			t.Fatal(err)
		}
		if out.String() != tt.want {
			t.Errorf("%s: got %q, want %q", tt.f, out.String(), tt.want)
		}
	}
	got, n, err := records(&fakeRows{schema: schema})
	want := `{"records":{"schema":{"column_schemas":[{"name":"a","data_type":"Int64"},{"name":"a","data_type":"Int64"},` +
		`{"name":"a_1","data_type":"Int64"}]},"rows":[],"total_rows":0}}`
	if err != nil || n != 0 || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestErrors checks that a failed result never looks complete.
func TestErrors(t *testing.T) {
	rec := allTypes(t, true)
	broken := errors.New("shard 3 went away")
	for f := NDJSON; f <= Parquet; f++ {
		var out bytes.Buffer
		if _, err := Write(&out, f, &fakeRows{schema: rec.Schema(), err: broken}); !errors.Is(err, broken) || out.Len() != 0 {
			t.Errorf("%s: first batch: %v, %d bytes", f, err, out.Len())
		}
		if _, err := Write(&out, f, &fakeRows{
			schema:  rec.Schema(),
			batches: []arrow.RecordBatch{rec},
			err:     broken,
		}); !errors.Is(err, broken) {
			t.Errorf("%s: second batch: %v", f, err)
		}
		if f == Parquet {
			if _, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len())); err == nil {
				t.Error("a Parquet file that failed has a footer")
			}
		}
		if _, err := Write(failing{}, f, rowsOf(rec)); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s: failing writer: %v", f, err)
		}
	}
	if _, _, err := records(&fakeRows{schema: rec.Schema(), err: broken}); !errors.Is(err, broken) {
		t.Error(err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestBudget(t *testing.T) {
	budget := NewBudget(2*chunkBytes, 3*chunkBytes)
	a, b := NewBuffer(budget), NewBuffer(budget)
	if err := a.Append(make([]byte, 2*chunkBytes)); err != nil || a.Len() != 2*chunkBytes {
		t.Fatal(err, a.Len())
	}
	if err := a.Append([]byte{1}); errs.CodeOf(err) != errs.RuntimeResourcesExhausted || errs.From(err).Status() != 400 ||
		!strings.Contains(err.Error(), "ndjson") {
		t.Errorf("beyond the limit of one buffer: %v", err)
	}
	if err := b.Append(make([]byte, chunkBytes+1)); errs.CodeOf(err) != errs.RateLimited {
		t.Errorf("beyond the limit of all buffers: %v", err)
	}
	a.Release()
	if err := b.Append(make([]byte, chunkBytes/2)); err != nil {
		t.Error(err)
	}
	b.Release()
	if budget.used != 0 {
		t.Errorf("%d bytes are lost", budget.used)
	}
}

func TestTimestampText(t *testing.T) {
	for _, tt := range []struct {
		v    int64
		unit arrow.TimeUnit
		want string
	}{
		{0, arrow.Second, "1970-01-01T00:00:00Z"},
		{-1, arrow.Nanosecond, "1969-12-31T23:59:59.999999999Z"},
		{951782400, arrow.Second, "2000-02-29T00:00:00Z"},
		{4107542400, arrow.Second, "2100-03-01T00:00:00Z"},
		{1700000000100, arrow.Millisecond, "2023-11-14T22:13:20.100Z"},
		{1700000000000120, arrow.Microsecond, "2023-11-14T22:13:20.000120Z"},
		{math.MaxInt64, arrow.Nanosecond, "2262-04-11T23:47:16.854775807Z"},
		{253402300800, arrow.Second, "+10000-01-01T00:00:00Z"},
		{-62198755200, arrow.Second, "-0001-01-01T00:00:00Z"},
	} {
		if got := string(appendTimestamp(nil, tt.v, tt.unit)); got != tt.want {
			t.Errorf("%d %s: got %s, want %s", tt.v, tt.unit, got, tt.want)
		}
	}
}

func TestParseNames(t *testing.T) {
	for _, f := range formats {
		got, err := Parse(strings.ToUpper(f.name))
		if err != nil || got.String() != f.name {
			t.Errorf("%s: %v, %v", f.name, got, err)
		}
	}
	if _, err := Parse("xml"); errs.CodeOf(err) != errs.InvalidArguments || !strings.Contains(err.Error(), "ndjson") {
		t.Errorf("xml: %v", err)
	}
}

// TestTableWidths tests cells wider than the sample, wide characters and control characters.
func TestTableWidths(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "s", Type: arrow.BinaryTypes.String}, {Name: "n", Type: arrow.PrimitiveTypes.Int64},
	}, nil)
	first := parseJSON(t, schema, `[{"s":"日本","n":1},{"s":"a\u001b[31m\nb","n":-20},{"s":"\u202e","n":3}]`)
	var out bytes.Buffer
	if _, err := Write(&out, Table, rowsOf(first)); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		`+-----------+-----+`,
		`| s         | n   |`,
		`+-----------+-----+`,
		`| 日本      |   1 |`,
		`| a\x1b[31m | -20 |`,
		`| b         |     |`,
		`| \u{202e}  |   3 |`,
		`+-----------+-----+`, ``,
	}, "\n")
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	var batches []arrow.RecordBatch
	for range tableSampleRows {
		batches = append(batches, parseJSON(t, schema, `[{"s":"x","n":1}]`))
	}
	batches = append(batches, parseJSON(t, schema, `[{"s":"longer","n":1}]`))
	out.Reset()
	if _, err := Write(&out, Table, rowsOf(batches...)); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(out.String(), "| x | 1 |\n| longer | 1 |\n+---+---+\n") {
		t.Errorf("got …%s", out.String()[out.Len()-80:])
	}
}

func benchRows(b *testing.B) arrow.RecordBatch {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "ts", Type: &arrow.TimestampType{Unit: arrow.Nanosecond}},
		{Name: "status", Type: arrow.PrimitiveTypes.Int64},
		{Name: "path", Type: arrow.BinaryTypes.String},
		{Name: "took", Type: arrow.PrimitiveTypes.Float64},
		{Name: "agent", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	rb := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range 2048 {
		rb.Field(0).(*array.TimestampBuilder).Append(arrow.Timestamp(1700000000000000000 + int64(i)*1234567))
		rb.Field(1).(*array.Int64Builder).Append(int64(200 + i%5))
		rb.Field(2).(*array.StringBuilder).Append(fmt.Sprintf("/api/v1/items/%d?page=2", i))
		rb.Field(3).(*array.Float64Builder).Append(float64(i) / 7)
		if i%10 == 0 {
			rb.Field(4).AppendNull()
		} else {
			rb.Field(4).(*array.StringBuilder).Append("Mozilla/5.0 (X11; Linux x86_64) \"quoted\" Gecko/20100101")
		}
	}
	return rb.NewRecordBatch()
}

func BenchmarkWrite(b *testing.B) {
	rec := benchRows(b)
	for _, f := range []Format{NDJSON, CSV, Table, Arrow, Parquet} {
		b.Run(f.String(), func(b *testing.B) {
			var n counter
			b.ReportAllocs()
			for b.Loop() {
				n = 0
				if _, err := Write(&n, f, rowsOf(rec, rec, rec, rec)); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(n))
		})
	}
	b.Run("svcdb_v1", func(b *testing.B) {
		budget := NewBudget(1<<30, 1<<30)
		b.ReportAllocs()
		for b.Loop() {
			buf := NewBuffer(budget)
			if _, err := AppendRecords(buf, rowsOf(rec, rec, rec, rec)); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(buf.Len())
			buf.Release()
		}
	})
}

type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

// TestSumsOfIntegers checks that the type of a column with 38 digits is named Int64 in svcdb_v1 if all values fit into
// 64 bits.
func TestSumsOfIntegers(t *testing.T) {
	kind := &arrow.Decimal128Type{Precision: 38}
	of := func(name string, values ...string) (arrow.Field, arrow.Array) {
		b := array.NewDecimal128Builder(memory.DefaultAllocator, kind)
		for _, v := range values {
			if v == "" {
				b.AppendNull()
				continue
			}
			n, err := decimal128.FromString(v, 38, 0)
			if err != nil {
				t.Fatal(err)
			}
			b.Append(n)
		}
		return arrow.Field{Name: name, Type: kind, Nullable: true}, b.NewArray()
	}
	a, as := of("a", "9223372036854775807", "-9223372036854775808", "")
	b, bs := of("b", "1", "9223372036854775808", "2")
	c, cs := of("c", "", "", "")
	rec := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{a, b, c}, nil), []arrow.Array{as, bs, cs}, 3)
	got, _, err := records(rowsOf(rec))
	if err != nil {
		t.Fatal(err)
	}
	want := `"column_schemas":[{"name":"a","data_type":"Int64"           },{"name":"b","data_type":"Decimal128(38,0)"},` +
		`{"name":"c","data_type":"Int64"           }]`
	if !json.Valid(got) || !strings.Contains(string(got), want) ||
		!strings.Contains(string(got), "[-9223372036854775808,9223372036854775808,null]") {
		t.Errorf("got %s", got)
	}
}

// TestSafeIntegers writes for readers whose numbers are doubles.
func TestSafeIntegers(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "i", Type: arrow.PrimitiveTypes.Int64},
		{Name: "u", Type: arrow.PrimitiveTypes.Uint64},
		{Name: "f", Type: arrow.PrimitiveTypes.Float64},
		{Name: "t", Type: arrow.FixedWidthTypes.Timestamp_ns},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	b.Field(0).(*array.Int64Builder).AppendValues([]int64{1<<53 - 1, -(1 << 53), 5}, nil)
	b.Field(1).(*array.Uint64Builder).AppendValues([]uint64{1<<64 - 1, 1 << 53, 7}, nil)
	b.Field(2).(*array.Float64Builder).AppendValues([]float64{math.NaN(), math.Inf(-1), 1e300}, nil)
	b.Field(3).(*array.TimestampBuilder).AppendValues([]arrow.Timestamp{1767607200000000001, 0, 5}, nil)
	rec := b.NewRecordBatch()
	var out bytes.Buffer
	if _, err := WriteSafe(&out, NDJSON, rowsOf(rec)); err != nil {
		t.Fatal(err)
	}
	want := `{"i":9007199254740991,"u":"18446744073709551615","f":"NaN","t":"2026-01-05T10:00:00.000000001Z"}
{"i":"-9007199254740992","u":"9007199254740992","f":"-Infinity","t":"1970-01-01T00:00:00Z"}
{"i":5,"u":7,"f":1e+300,"t":"1970-01-01T00:00:00.000000005Z"}
`
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	buf := NewBuffer(NewBudget(1<<20, 1<<20))
	defer buf.Release()
	if _, err := AppendSafeRecords(buf, rowsOf(rec)); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if _, err := buf.WriteTo(&out); err != nil || !strings.Contains(out.String(), `"NaN","1767607200000000001"],`) {
		t.Errorf("%v: %s", err, out.String())
	}
}

// TestSafeDecimals checks that decimals with too many digits are texts for readers whose numbers are doubles, also
// within lists.
func TestSafeDecimals(t *testing.T) {
	kind := &arrow.Decimal128Type{Precision: 38, Scale: 4}
	list := array.NewListBuilder(memory.DefaultAllocator, kind)
	b := array.NewDecimal128Builder(memory.DefaultAllocator, kind)
	for _, v := range []string{
		"12345678901234567.89", "99999999999.9999", "-999999999999.9999", "0.5", "100000000000000000", "-0.0001",
	} {
		n, err := decimal128.FromString(v, 38, 4)
		if err != nil {
			t.Fatal(err)
		}
		b.Append(n)
		list.Append(true)
		list.ValueBuilder().(*array.Decimal128Builder).Append(n)
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "d", Type: kind}, {Name: "l", Type: arrow.ListOf(kind)}}, nil)
	rec := array.NewRecordBatch(schema, []arrow.Array{b.NewArray(), list.NewArray()}, 6)
	var out bytes.Buffer
	if _, err := WriteSafe(&out, NDJSON, rowsOf(rec)); err != nil {
		t.Fatal(err)
	}
	want := `{"d":"12345678901234567.8900","l":["12345678901234567.8900"]}
{"d":99999999999.9999,"l":[99999999999.9999]}
{"d":"-999999999999.9999","l":["-999999999999.9999"]}
{"d":0.5000,"l":[0.5000]}
{"d":"100000000000000000.0000","l":["100000000000000000.0000"]}
{"d":-0.0001,"l":[-0.0001]}
`
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestOmitNulls checks that rows without their nulls are objects, also if the first column or all columns are null.
func TestOmitNulls(t *testing.T) {
	rec := parseJSON(t, arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "b", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "c", Type: arrow.Null, Nullable: true},
	}, nil), `[{"a":1,"b":"x"},{"b":"y"},{"a":2},{}]`)
	var out bytes.Buffer
	if n, err := WriteWith(&out, NDJSON, rowsOf(rec), Options{OmitNulls: true}); err != nil || n != 4 {
		t.Fatalf("%d rows: %v", n, err)
	}
	want := "{\"a\":1,\"b\":\"x\"}\n{\"b\":\"y\"}\n{\"a\":2}\n{}\n"
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
