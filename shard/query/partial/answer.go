package partial

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"cordwood/shard/query"
)

// maxAnswered is the maximum number of rows of partials that Answer combines. The engine is faster
// for more rows.
const maxAnswered = 200_000

// Answer computes the answer from partials, each an Arrow IPC stream. limit is the maximum number
// of its rows; 0 means no limit. It returns false if the engine has to compute the answer. The
// engine also reports faults of a stream.
func Answer(streams [][]byte, m *query.Combine, limit uint64) (stream []byte, ok bool) {
	rec, err := readAll(streams)
	if err != nil || rec == nil {
		return nil, false
	}
	if int(rec.NumCols()) != m.Groups+len(m.How) || !mergeable(rec, m.How) || m.Groups == 0 && rec.NumRows() == 0 {
		return nil, false
	}
	if rec, err = Merge(rec, m.How); err != nil {
		return nil, false
	}
	rows := sortedRows(rec, m.Orders)
	rows = rows[min(uint64(len(rows)), m.Offset):]
	if m.Limited {
		rows = rows[:min(uint64(len(rows)), m.Limit)]
	}
	if limit > 0 {
		rows = rows[:min(uint64(len(rows)), limit)]
	}
	fields, columns := make([]arrow.Field, len(m.Columns)), make([]arrow.Array, len(m.Columns))
	for i, at := range m.Columns {
		fields[i] = rec.Schema().Field(at)
		fields[i].Name = m.Names[i]
		columns[i] = take(rec.Column(at), rows)
	}
	meta := rec.Schema().Metadata()
	s := arrow.NewSchema(fields, &meta)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(s))
	if len(rows) > 0 {
		err = w.Write(array.NewRecordBatch(s, columns, int64(len(rows))))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, false
	}
	return out.Bytes(), true
}

// readAll returns the rows of several streams with the same columns, or nil if there are too many.
func readAll(streams [][]byte) (arrow.RecordBatch, error) {
	var s *arrow.Schema
	var list []arrow.RecordBatch
	rows := int64(0)
	for _, stream := range streams {
		r, err := NewReader(stream)
		if err != nil {
			return nil, err
		}
		if s == nil {
			s = r.Schema()
		}
		for r.Next() {
			rec := r.RecordBatch()
			if rows += rec.NumRows(); rows > maxAnswered || rec.NumCols() != int64(s.NumFields()) {
				return nil, nil
			}
			rec.Retain()
			list = append(list, rec)
		}
		err = r.Err()
		r.Release()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	if s == nil {
		return nil, nil
	}
	return Concat(s, list)
}

// sortedRows returns the numbers of the rows in sorted order.
func sortedRows(rec arrow.RecordBatch, orders []query.Order) []int {
	rows := make([]int, rec.NumRows())
	for i := range rows {
		rows[i] = i
	}
	if len(orders) == 0 {
		return rows
	}
	compare := make([]func(a, b int) int, len(orders))
	for i, o := range orders {
		compare[i] = inOrder(rec.Column(o.Column), o)
	}
	slices.SortStableFunc(rows, func(a, b int) int {
		for _, c := range compare {
			if n := c(a, b); n != 0 {
				return n
			}
		}
		return 0
	})
	return rows
}

// inOrder returns a function that compares two rows by a column.
func inOrder(c arrow.Array, o query.Order) func(a, b int) int {
	less := comparer(c)
	return func(a, b int) int {
		switch x, y := c.IsNull(a), c.IsNull(b); {
		case x && y:
			return 0
		case x || y:
			if x == o.NullsFirst {
				return -1
			}
			return 1
		}
		if o.Descending {
			a, b = b, a
		}
		switch {
		case less(a, b):
			return -1
		case less(b, a):
			return 1
		}
		return 0
	}
}
