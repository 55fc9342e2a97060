package spool

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
)

var table = (&schema.Table{ID: 7, Database: "public", Name: "t", Version: 1, Columns: []schema.Column{
	{ID: 1, Name: "ts", Type: schema.TimestampMillisecond, Semantic: schema.Timestamp, NotNull: true},
	{ID: 2, Name: "host", Type: schema.String, Semantic: schema.Tag},
	{ID: 3, Name: "m", Type: schema.String, Semantic: schema.Field},
}}).Index()

// stream returns an Arrow IPC stream of rows of ts and m. Every third m is null.
func stream(t *testing.T, rows int, text string) *bytes.Buffer {
	t.Helper()
	s := arrow.NewSchema([]arrow.Field{
		{Name: "ts", Type: &arrow.TimestampType{Unit: arrow.Millisecond}},
		{Name: "m", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	var buf bytes.Buffer
	w := ipc.NewWriter(&buf, ipc.WithSchema(s))
	for from := 0; from < rows; from += 1000 {
		ts := array.NewTimestampBuilder(memory.DefaultAllocator, &arrow.TimestampType{Unit: arrow.Millisecond})
		m := array.NewStringBuilder(memory.DefaultAllocator)
		n := min(1000, rows-from)
		for i := range n {
			ts.Append(arrow.Timestamp(1_700_000_000_000 + (from+i)*1000))
			if (from+i)%3 == 0 {
				m.AppendNull()
			} else {
				m.Append(fmt.Sprint(text, from+i))
			}
		}
		if err := w.Write(array.NewRecordBatch(s, []arrow.Array{ts.NewArray(), m.NewArray()}, int64(n))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &buf
}

// TestSpool keeps few rows in memory and many in files. It checks that no row is lost and that no
// file stays.
func TestSpool(t *testing.T) {
	text := strings.Repeat("x", 100)
	for _, tt := range []struct {
		rows   int
		memory int64
		files  bool
	}{{0, 1 << 30, false}, {5, 0, false}, {20_000, 1 << 30, false}, {100_000, 0, true}} {
		path := t.TempDir() + "/fetched"
		d, err := Open(path, 1<<30, tt.memory)
		if err != nil {
			t.Fatal(err)
		}
		s, err := d.New(table, []uint32{1, 3}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Read(stream(t, tt.rows, text)); err != nil {
			t.Fatal(err)
		}
		segments, batches, err := s.Rows()
		if err != nil {
			t.Fatal(err)
		}
		rows, nulls := int64(0), 0
		for _, seg := range segments {
			rows += seg.Rows
			if info, err := os.Stat(seg.Path); err != nil || info.Size() == 0 || len(seg.Columns) != 2 ||
				seg.MinTime < 1_700_000_000_000 || seg.MaxTime < seg.MinTime {
				t.Errorf("segment %+v: %v", seg, err)
			}
		}
		for _, b := range batches {
			rows += int64(b.Rows)
			nulls += b.Column(3).Nulls
		}
		if rows != int64(tt.rows) || (len(segments) > 0) != tt.files || !tt.files && nulls != (tt.rows+2)/3 {
			t.Errorf("%d rows: %d, %d segments, %d nulls in memory", tt.rows, rows, len(segments), nulls)
		}
		if (d.Used() > 0) != tt.files {
			t.Errorf("%d rows: %d bytes on disk", tt.rows, d.Used())
		}
		for range 2 {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		left, _ := os.ReadDir(path)
		if len(left) > 0 || d.Used() != 0 || d.kept.Load() != 0 {
			t.Errorf("%d files, %d bytes on disk and %d of memory are left", len(left), d.Used(), d.kept.Load())
		}
	}
}

// TestSpoolWithoutTimes reads rows without the time index: all of them get the time of the spool.
func TestSpoolWithoutTimes(t *testing.T) {
	d, err := Open(t.TempDir()+"/fetched", 1<<30, 0)
	if err != nil {
		t.Fatal(err)
	}
	m := array.NewStringBuilder(memory.DefaultAllocator)
	for i := range 100_000 {
		m.Append(fmt.Sprint(i, strings.Repeat("x", 100)))
	}
	of := arrow.NewSchema([]arrow.Field{{Name: "m", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	var buf bytes.Buffer
	w := ipc.NewWriter(&buf, ipc.WithSchema(of))
	if err := w.Write(array.NewRecordBatch(of, []arrow.Array{m.NewArray()}, 100_000)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := d.New(table, []uint32{3}, 77)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Read(&buf); err != nil {
		t.Fatal(err)
	}
	segments, batches, err := s.Rows()
	if err != nil {
		t.Fatal(err)
	}
	rows := int64(0)
	for _, seg := range segments {
		if rows += seg.Rows; seg.MinTime != 77 || seg.MaxTime != 77 {
			t.Errorf("a segment with times from %d to %d", seg.MinTime, seg.MaxTime)
		}
	}
	for _, b := range batches {
		if rows += int64(b.Rows); b.MinTime != 77 || b.MaxTime != 77 {
			t.Errorf("a batch with times from %d to %d", b.MinTime, b.MaxTime)
		}
	}
	if rows != 100_000 || len(segments) == 0 || len(batches) == 0 {
		t.Errorf("%d rows in %d segments and %d batches", rows, len(segments), len(batches))
	}
}

func TestSpoolRefuses(t *testing.T) {
	d, err := Open(t.TempDir()+"/fetched", 100<<10, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.New(table, []uint32{1, 9}, 0); err == nil {
		t.Error("a column that the table lacks")
	}
	s, err := d.New(table, []uint32{1, 3}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Read(stream(t, 100_000, strings.Repeat("x", 100))); errs.CodeOf(err) != errs.RuntimeResourcesExhausted {
		t.Errorf("more than the folder may hold: %v", err)
	}
	other, err := d.New(table, []uint32{1, 2, 3}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.Read(stream(t, 5, "x")); errs.CodeOf(err) != errs.Internal {
		t.Errorf("columns are missing: %v", err)
	}
}

// numbers returns an Arrow IPC stream of a time and a number, of one type.
func numbers[T any](t *testing.T, of arrow.DataType, build func(b array.Builder, v T), values ...T) *bytes.Buffer {
	t.Helper()
	s := arrow.NewSchema([]arrow.Field{
		{Name: "ts", Type: &arrow.TimestampType{Unit: arrow.Millisecond}}, {Name: "n", Type: of, Nullable: true},
	}, nil)
	ts := array.NewTimestampBuilder(memory.DefaultAllocator, &arrow.TimestampType{Unit: arrow.Millisecond})
	n := array.NewBuilder(memory.DefaultAllocator, of)
	for i, v := range values {
		ts.Append(arrow.Timestamp(i))
		build(n, v)
	}
	n.AppendNull()
	ts.Append(arrow.Timestamp(len(values)))
	var buf bytes.Buffer
	w := ipc.NewWriter(&buf, ipc.WithSchema(s))
	if err := w.Write(array.NewRecordBatch(s, []arrow.Array{ts.NewArray(), n.NewArray()}, int64(len(values)+1))); err !=
		nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &buf
}

// TestWidened reads a column from shards that know its wider type earlier or later than this node.
func TestWidened(t *testing.T) {
	int64s := func(b array.Builder, v int64) { b.(*array.Int64Builder).Append(v) }
	doubles := func(b array.Builder, v float64) { b.(*array.Float64Builder).Append(v) }
	for _, c := range []struct {
		have, want schema.Type
		from       *bytes.Buffer
		values     string
	}{
		{schema.Int64, schema.Float64, numbers(t, arrow.PrimitiveTypes.Float64, doubles, 1.5, -2), "[1.5 -2]"},
		{schema.Int32, schema.Int64, numbers(t, arrow.PrimitiveTypes.Int64, int64s, 1<<40, -2), "[1.099511627776e+12 -2]"},
		{
			schema.Float64, schema.Float64, numbers(t, arrow.PrimitiveTypes.Int64, int64s, 1<<53, -2),
			"[9.007199254740992e+15 -2]",
		},
	} {
		d, err := Open(t.TempDir()+"/fetched", 1<<30, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		of := (&schema.Table{
			ID:      7,
			Columns: []schema.Column{table.Columns[0], {ID: 3, Name: "n", Type: c.have, Semantic: schema.Field}},
		}).Index()
		s, err := d.New(of, []uint32{1, 3}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Read(c.from); err != nil {
			t.Errorf("%s from %s: %v", c.have, c.want, err)
			continue
		}
		_, batches, err := s.Rows()
		if err != nil {
			t.Fatal(err)
		}
		v := batches[0].Column(3)
		got := []float64{v.Float(0), v.Float(1)}
		if v.Type != c.want || s.Table().Column("n").Type != c.want || fmt.Sprint(got) != c.values || v.Nulls != 1 ||
			of.Column("n").Type != c.have {
			t.Errorf("%s: type %s, in the table %s, values %v, %d nulls, want type %s, %s, 1", c.have, v.Type,
				s.Table().Column("n").Type, got, v.Nulls, c.want, c.values)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
