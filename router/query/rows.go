package query

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"cordwood/router/query/format"
)

// textRows returns a result with text columns.
func textRows(names []string, rows [][]string) array.RecordReader {
	fields := make([]arrow.Field, len(names))
	columns := make([]arrow.Array, len(names))
	for c, name := range names {
		fields[c] = arrow.Field{Name: name, Type: arrow.BinaryTypes.String}
		b := array.NewStringBuilder(memory.DefaultAllocator)
		for _, row := range rows {
			b.Append(row[c])
		}
		columns[c] = b.NewArray()
	}
	s := arrow.NewSchema(fields, nil)
	r, err := array.NewRecordReader(s, []arrow.RecordBatch{array.NewRecordBatch(s, columns, int64(len(rows)))})
	if err != nil {
		panic(err) // only if the batch had another schema
	}
	return r
}

// limited ends a result at a maximum number of rows.
type limited struct {
	format.Rows
	left    uint64
	current arrow.RecordBatch
}

// Next implements format.Rows.
func (l *limited) Next() bool {
	if l.current != nil {
		l.current.Release()
		l.current = nil
	}
	if l.left == 0 || !l.Rows.Next() {
		return false
	}
	rec := l.Rows.RecordBatch()
	if n := uint64(rec.NumRows()); n > l.left {
		rec = rec.NewSlice(0, int64(l.left))
	} else {
		rec.Retain()
	}
	l.left -= uint64(rec.NumRows())
	l.current = rec
	return true
}

// RecordBatch implements format.Rows.
func (l *limited) RecordBatch() arrow.RecordBatch { return l.current }

// Err implements format.Rows.
func (l *limited) Err() error {
	if l.left == 0 {
		return nil
	}
	return l.Rows.Err()
}
