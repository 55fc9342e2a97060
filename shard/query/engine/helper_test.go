package engine

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/duck"
	"cordwood/shard/query/engine/plan"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/parquet-go/parquet-go"
)

// openEngine opens an engine that can read files below dir.
func openEngine(t testing.TB, dir string) *Engine {
	t.Helper()
	e, err := Open(Config{
		MemoryLimit: 512 << 20, Threads: 2, TempDir: filepath.Join(t.TempDir(), "tmp"), Dirs: []string{dir},
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// openSession opens a session on a DuckDB instance until the test ends. Statements on it are not
// checked.
func openSession(t testing.TB, e *Engine) *duck.Session {
	t.Helper()
	in, err := e.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := in.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		e.release(in, false)
	})
	return s
}

// answer is the result of a query, as text.
type answer struct {
	schema *arrow.Schema
	rows   []string // values separated by |
}

// ask runs a statement over tables of the database public.
func ask(e *Engine, sql string, tables ...query.Table) (*answer, error) {
	return request(context.Background(), e, &query.Request{SQL: sql, Database: "public", Tables: tables})
}

func request(ctx context.Context, e *Engine, req *query.Request) (*answer, error) {
	var stream bytes.Buffer
	err := e.Query(ctx, req, func(ipc []byte) error {
		stream.Write(ipc)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return read(&stream)
}

// read reads an answer.
func read(stream io.Reader) (*answer, error) {
	r, err := ipc.NewReader(stream)
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	defer r.Release()
	a := &answer{schema: r.Schema()}
	for r.Next() {
		rec := r.RecordBatch()
		for row := range int(rec.NumRows()) {
			values := make([]string, rec.NumCols())
			for c := range values {
				if values[c] = "NULL"; !rec.Column(c).IsNull(row) {
					values[c] = rec.Column(c).ValueStr(row)
				}
			}
			a.rows = append(a.rows, strings.Join(values, "|"))
		}
	}
	return a, r.Err()
}

// mustQuery runs a statement, fails the test on an error, and returns the rows.
func mustQuery(t testing.TB, e *Engine, sql string, tables ...query.Table) []string {
	t.Helper()
	a, err := ask(e, sql, tables...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return a.rows
}

// cols builds the columns of a table from words such as "ts:TimestampNanosecond". The first is the
// time index; ids count from 1.
func cols(words ...string) []schema.Column {
	var out []schema.Column
	for i, w := range words {
		name, typeName, _ := strings.Cut(w, ":")
		c := schema.Column{ID: uint32(i + 1), Name: name, Semantic: schema.Field}
		for _, ty := range schema.Types() {
			if ty.String() == typeName {
				c.Type = ty
			}
		}
		if c.Type == schema.Invalid {
			panic("no type " + typeName)
		}
		if i == 0 {
			c.Semantic = schema.Timestamp
		}
		out = append(out, c)
	}
	return out
}

// build collects rows. A value is nil, int, float64, bool or string, depending on the column.
func build(columns []schema.Column, rows [][]any) *column.Builder {
	b := &column.Builder{}
	var cs []*column.Col
	for _, c := range columns {
		cs = append(cs, b.Add(c))
	}
	for i, row := range rows {
		for k, v := range row {
			switch v := v.(type) {
			case nil:
				cs[k].SetNull(i)
			case int:
				cs[k].SetInt(i, int64(v))
			case int64:
				cs[k].SetInt(i, v)
			case bool:
				cs[k].SetInt(i, int64(map[bool]int{true: 1}[v]))
			case float64:
				cs[k].SetFloat(i, v)
			case string:
				cs[k].SetString(i, v)
			default:
				panic(fmt.Sprintf("value of type %T", v))
			}
		}
		b.EndRow()
	}
	b.Finish()
	return b
}

// batch encodes and decodes rows, as a shard's log does.
func batch(t testing.TB, columns []schema.Column, rows ...[]any) *column.Batch {
	t.Helper()
	return decode(t, build(columns, rows))
}

func decode(t testing.TB, b *column.Builder) *column.Batch {
	t.Helper()
	out, err := column.Decode(b.Encode(nil, column.Header{TableID: 1}), nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// fileField is a column of a Parquet file that keeps its position; parquet.Group would sort the
// columns.
type fileField struct {
	parquet.Node
	name string
}

func (f fileField) Name() string                           { return f.name }
func (f fileField) Value(base reflect.Value) reflect.Value { return base }

type fileRoot struct {
	parquet.Node
	fields []parquet.Field
}

func (r fileRoot) Fields() []parquet.Field { return r.fields }

// parquetNode returns the Parquet type that segments use for a column.
func parquetNode(c schema.Column) parquet.Node {
	var n parquet.Node
	switch c.Type {
	case schema.Boolean:
		n = parquet.Leaf(parquet.BooleanType)
	case schema.Int8, schema.Int16, schema.Int32, schema.Int64:
		n = parquet.Int(8 << (c.Type - schema.Int8))
	case schema.Uint8, schema.Uint16, schema.Uint32, schema.Uint64:
		n = parquet.Uint(8 << (c.Type - schema.Uint8))
	case schema.Float32:
		n = parquet.Leaf(parquet.FloatType)
	case schema.Float64:
		n = parquet.Leaf(parquet.DoubleType)
	case schema.String, schema.JSON:
		n = parquet.String()
	case schema.Binary:
		n = parquet.Leaf(parquet.ByteArrayType)
	case schema.TimestampSecond, schema.TimestampMillisecond:
		n = parquet.TimestampAdjusted(parquet.Millisecond, false)
	case schema.TimestampMicrosecond:
		n = parquet.TimestampAdjusted(parquet.Microsecond, false)
	case schema.TimestampNanosecond:
		n = parquet.TimestampAdjusted(parquet.Nanosecond, false)
	}
	if c.Semantic != schema.Timestamp {
		n = parquet.Optional(n)
	}
	return parquet.FieldID(n, int(int32(c.ID)))
}

// fileOf writes rows to a Parquet file in dir, with row groups of groupRows rows.
func fileOf(t testing.TB, dir string, groupRows int, columns []schema.Column, rows ...[]any) query.Segment {
	t.Helper()
	b := build(columns, rows)
	root := fileRoot{Node: parquet.Group{}}
	for _, c := range columns {
		root.fields = append(root.fields, fileField{Node: parquetNode(c), name: c.Name})
	}
	file, err := os.CreateTemp(dir, "*.parquet")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := parquet.NewWriter(file, parquet.NewSchema("table", root), parquet.Compression(&parquet.Zstd))
	s := query.Segment{Path: file.Name(), Rows: int64(len(rows))}
	for i := range rows {
		row := make(parquet.Row, 0, len(columns))
		for k, c := range b.Cols() {
			row = append(row, parquetValue(c, i).Level(0, map[bool]int{true: 1}[!c.IsNull(i) && c.Semantic != schema.Timestamp],
				k))
			if c.Semantic == schema.Timestamp {
				ts := c.Int(i)
				if i == 0 {
					s.MinTime, s.MaxTime = ts, ts
				}
				s.MinTime, s.MaxTime = min(s.MinTime, ts), max(s.MaxTime, ts)
			}
		}
		if _, err := w.WriteRows([]parquet.Row{row}); err != nil {
			t.Fatal(err)
		}
		if groupRows > 0 && (i+1)%groupRows == 0 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range columns {
		s.Columns = append(s.Columns, query.SegmentColumn{ID: c.ID, Name: c.Name, Type: c.Type})
	}
	return s
}

func parquetValue(c *column.Col, row int) parquet.Value {
	if c.IsNull(row) {
		return parquet.NullValue()
	}
	switch c.Type {
	case schema.Boolean:
		return parquet.BooleanValue(c.Int(row) != 0)
	case schema.Float32:
		return parquet.FloatValue(float32(c.Float(row)))
	case schema.Float64:
		return parquet.DoubleValue(c.Float(row))
	case schema.String, schema.JSON, schema.Binary:
		return parquet.ByteArrayValue(bytes.Clone(c.Bytes(row)))
	case schema.Int8, schema.Int16, schema.Int32, schema.Uint8, schema.Uint16, schema.Uint32:
		return parquet.Int32Value(int32(c.Int(row)))
	case schema.TimestampSecond:
		return parquet.Int64Value(1000 * c.Int(row))
	}
	return parquet.Int64Value(c.Int(row))
}

// table returns a table of the database public.
func table(name string, columns []schema.Column, parts ...any) query.Table {
	t := query.Table{Database: "public", Name: name, Schema: (&schema.Table{Name: name, Columns: columns}).Index()}
	for _, p := range parts {
		switch p := p.(type) {
		case query.Segment:
			t.Segments = append(t.Segments, p)
		case *column.Batch:
			t.Batches = append(t.Batches, p)
		}
	}
	return t
}

// in returns the table as a table of another database.
func in(database string, t query.Table) query.Table {
	t.Database = database
	return t
}

// plansOf returns the plans of a statement. The reductions that off names are not tried.
func plansOf(t testing.TB, e *Engine, sql string, tab query.Table, off ...string) *plan.Planned {
	t.Helper()
	st, err := e.parse(t.Context(), sql, "public")
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	settings := *e.settings
	settings.Off = map[string]bool{}
	for _, name := range off {
		settings.Off[name] = true
	}
	req := &query.Request{Tables: []query.Table{tab}}
	planned, err := plan.New(t.Context(), st.Statement, st.shape, req, time.Now(), &settings)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return planned
}

// sourceOf returns the source that a plan reads.
func sourceOf(t testing.TB, p *plan.Plan, whole bool) *plan.Source {
	t.Helper()
	s, err := p.Source(t.Context(), whole)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// off switches the given reductions and executors off, so that tests and benchmarks can compare.
func (e *Engine) off(names ...string) {
	for _, name := range names {
		e.settings.Off[name] = true
	}
}
