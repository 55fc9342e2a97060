package direct

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"cordwood/shard/query/engine/plan"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"cordwood/proto/column"
	"cordwood/proto/schema"

	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
)

// This file writes rows in the format of DuckDB's answers.

// arrowTypes are the Arrow types that DuckDB uses for columns.
var arrowTypes = map[schema.Type]arrow.DataType{
	schema.Boolean:              arrow.FixedWidthTypes.Boolean,
	schema.Int8:                 arrow.PrimitiveTypes.Int8,
	schema.Int16:                arrow.PrimitiveTypes.Int16,
	schema.Int32:                arrow.PrimitiveTypes.Int32,
	schema.Int64:                arrow.PrimitiveTypes.Int64,
	schema.Uint8:                arrow.PrimitiveTypes.Uint8,
	schema.Uint16:               arrow.PrimitiveTypes.Uint16,
	schema.Uint32:               arrow.PrimitiveTypes.Uint32,
	schema.Uint64:               arrow.PrimitiveTypes.Uint64,
	schema.Float32:              arrow.PrimitiveTypes.Float32,
	schema.Float64:              arrow.PrimitiveTypes.Float64,
	schema.String:               arrow.BinaryTypes.String,
	schema.JSON:                 arrow.BinaryTypes.String,
	schema.Binary:               arrow.BinaryTypes.Binary,
	schema.TimestampSecond:      &arrow.TimestampType{Unit: arrow.Second},
	schema.TimestampMillisecond: &arrow.TimestampType{Unit: arrow.Millisecond},
	schema.TimestampMicrosecond: &arrow.TimestampType{Unit: arrow.Microsecond},
	schema.TimestampNanosecond:  &arrow.TimestampType{Unit: arrow.Nanosecond},
}

const (
	// maxBatch is about the largest size of a batch in the stream, and flushBytes how many bytes of the stream are
	// collected before send is called. They are those of answers of DuckDB.
	maxBatch   = 512 << 10
	flushBytes = 256 << 10
)

// Answer sends the rows as an Arrow IPC stream.
func (rows *Rows) Answer(send func(ipc []byte) error) error {
	d := rows.run
	fields := make([]arrow.Field, len(d.out))
	for i, c := range d.out {
		t, ok := arrowTypes[c.Type]
		if !ok {
			return fmt.Errorf("column %q: type %d has no Arrow type", c.name, c.Type)
		}
		fields[i] = arrow.Field{Name: c.name, Type: t, Nullable: true}
		if c.Type == schema.JSON {
			fields[i].Metadata = arrow.NewMetadata([]string{plan.TypeKey}, []string{plan.TypeJSON})
		}
	}
	var buf bytes.Buffer
	s := arrow.NewSchema(fields, nil)
	w := ipc.NewWriter(&buf, ipc.WithSchema(s))
	for hits := range slices.Chunk(rows.hits, rows.perBatch()) {
		if err := rows.write(w, s, hits); err != nil {
			return fmt.Errorf("write rows as Arrow IPC: %w", err)
		}
		if buf.Len() < flushBytes {
			continue
		}
		if err := send(buf.Bytes()); err != nil {
			return err
		}
		buf.Reset()
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("write the end of Arrow IPC: %w", err)
	}
	return send(buf.Bytes())
}

// Bytes returns about the memory of the rows.
func (rows *Rows) Bytes() int64 { return int64(rows.bytes) }

// perBatch returns how many rows a batch of the answer has, so that it has about maxBatch bytes.
func (rows *Rows) perBatch() int {
	if n := len(rows.hits); rows.bytes > maxBatch {
		return max(1, n*maxBatch/rows.bytes)
	}
	return max(1, len(rows.hits))
}

// write writes some of the rows as a batch.
func (rows *Rows) write(w *ipc.Writer, s *arrow.Schema, hits []hit) error {
	d := rows.run
	columns := make([]arrow.Array, len(d.out))
	for i := range d.out {
		columns[i] = d.array(rows, hits, &d.out[i], s.Field(i).Type)
		defer columns[i].Release()
	}
	record := array.NewRecordBatch(s, columns, int64(len(hits)))
	defer record.Release()
	return w.Write(record)
}

// array returns a column of some of the rows as an Arrow array.
func (d *Run) array(rows *Rows, hits []hit, c *outColumn, t arrow.DataType) arrow.Array {
	b := array.NewBuilder(arrowmem.DefaultAllocator, t)
	defer b.Release()
	b.Reserve(len(hits))
	appendInt := inserter(b)
	var v *column.View
	for i, h := range hits {
		if i == 0 || h.place != hits[i-1].place {
			v = columnOf(rows.places[h.place].batch, c.ID)
		}
		row := int(h.row)
		switch {
		case v == nil || v.IsNull(row):
			b.AppendNull()
		case c.Type == schema.Binary:
			b.(*array.BinaryBuilder).Append(v.Bytes(row))
		case c.Type.IsBytes():
			b.(*array.StringBuilder).BinaryBuilder.Append(v.Bytes(row))
		case c.Type == schema.Float32:
			b.(*array.Float32Builder).Append(float32(v.Float(row)))
		case c.Type == schema.Float64:
			b.(*array.Float64Builder).Append(v.Float(row))
		default:
			appendInt(v.Int(row))
		}
	}
	return b.NewArray()
}

// inserter returns a function that appends integers, times and booleans to a builder.
func inserter(b array.Builder) func(v int64) {
	switch b := b.(type) {
	case *array.BooleanBuilder:
		return func(v int64) { b.Append(v != 0) }
	case *array.Int8Builder:
		return func(v int64) { b.Append(int8(v)) }
	case *array.Int16Builder:
		return func(v int64) { b.Append(int16(v)) }
	case *array.Int32Builder:
		return func(v int64) { b.Append(int32(v)) }
	case *array.Int64Builder:
		return b.Append
	case *array.Uint8Builder:
		return func(v int64) { b.Append(uint8(v)) }
	case *array.Uint16Builder:
		return func(v int64) { b.Append(uint16(v)) }
	case *array.Uint32Builder:
		return func(v int64) { b.Append(uint32(v)) }
	case *array.Uint64Builder:
		return func(v int64) { b.Append(uint64(v)) }
	case *array.TimestampBuilder:
		return func(v int64) { b.Append(arrow.Timestamp(v)) }
	}
	return func(int64) { panic("the builder does not take integers") }
}

// Summary returns the text of EXPLAIN about the statement.
func (rows *Rows) Summary() string {
	d := rows.run
	p := d.Plan
	var b strings.Builder
	files, memory := make(map[string]bool), int64(0)
	groups := make(map[rowGroup]bool)
	for _, pl := range rows.places {
		switch {
		case pl.file == nil && pl.looked:
			memory += pl.rows
		case pl.looked:
			files[pl.file.segment.Path] = true
			groups[pl.rowGroup()] = true
		}
	}
	fmt.Fprintf(&b, "%s: %d of %d segments%s", p.Ref.Name, len(files), p.Pruned.Segments, p.Explain(&plan.Source{}))
	fmt.Fprintf(&b, "; %d of %d rows in memory; %d of %d columns\n  answered without the plan below: "+
		"%d rows found, %d examined, %d row groups read by the page index",
		memory, p.Pruned.Memtable, len(d.columnsRead()), len(p.View.Columns), d.found, d.examined, len(groups))
	return b.String()
}
