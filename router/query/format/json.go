package format

import (
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"cordwood/router/vrl/value"
)

// cells are the nullable cells of every column of the batch.
func cells(rec arrow.RecordBatch, s style) []cell {
	out := make([]cell, rec.NumCols())
	for i := range out {
		out[i] = nullable(rec.Column(i), s)
	}
	return out
}

// writeNDJSON writes an object a row, with every column.
func writeNDJSON(o *output, rows Rows) error {
	names := uniqueNames(rows.Schema())
	keys := make([][]byte, len(names))
	for i, name := range names {
		open := byte(',')
		if i == 0 {
			open = '{'
		}
		keys[i] = append(value.AppendJSONString([]byte{open}, name), ':')
	}
	for rows.Next() {
		rec := rows.RecordBatch()
		columns := cells(rec, style{quote: true, times: true})
		for row := range int(rec.NumRows()) {
			for c, cell := range columns {
				o.buf = cell(append(o.buf, keys[c]...), row)
			}
			o.buf = append(o.buf, "}\n"...)
			if err := o.spill(); err != nil {
				return err
			}
		}
		if err := o.batchDone(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// AppendRecords writes rows to b as the records element of a svcdb_v1 answer,
// braces included, and returns how many rows there were.
func AppendRecords(b *Buffer, rows Rows) (n int64, err error) {
	buf := append(b.scratch[:0], `{"records":{"schema":{"column_schemas":[`...)
	for i, f := range rows.Schema().Fields() {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = value.AppendJSONString(append(buf, `{"name":`...), f.Name)
		buf = value.AppendJSONString(append(buf, `,"data_type":`...), TypeName(f))
		buf = append(buf, '}')
	}
	buf = append(buf, `]},"rows":[`...)
	for rows.Next() {
		rec := rows.RecordBatch()
		columns := cells(rec, style{quote: true})
		for row := range int(rec.NumRows()) {
			if n > 0 {
				buf = append(buf, ',')
			}
			n++
			buf = append(buf, '[')
			for c, cell := range columns {
				if c > 0 {
					buf = append(buf, ',')
				}
				buf = cell(buf, row)
			}
			buf = append(buf, ']')
			if len(buf) >= flushBytes {
				if err := b.Append(buf); err != nil {
					return n, err
				}
				buf = buf[:0]
			}
		}
	}
	if err := rows.Err(); err != nil {
		return n, err
	}
	buf = strconv.AppendInt(append(buf, `],"total_rows":`...), n, 10)
	err = b.Append(append(buf, "}}"...))
	b.scratch = buf[:0]
	return n, err
}
