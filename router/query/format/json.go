package format

import (
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/router/vrl/value"
)

// cells returns the nullable cells of every column of the batch.
func cells(rec arrow.RecordBatch, s style) []cell {
	out := make([]cell, rec.NumCols())
	for i := range out {
		out[i] = nullable(rec.Column(i), s)
	}
	return out
}

// writeNDJSON writes an object for each row.
func writeNDJSON(o *output, rows Rows, options Options) error {
	names := uniqueNames(rows.Schema())
	keys := make([][]byte, len(names))
	for i, name := range names {
		keys[i] = append(value.AppendJSONString([]byte{','}, name), ':')
	}
	for rows.Next() {
		rec := rows.RecordBatch()
		columns := cells(rec, style{quote: true, times: true, safe: options.Safe})
		for row := range int(rec.NumRows()) {
			o.buf = append(o.buf, '{')
			key := 1 // the first key has no comma before it
			for c, cell := range columns {
				if options.OmitNulls && isNull(rec.Column(c), row) {
					continue
				}
				o.buf = cell(append(o.buf, keys[c][key:]...), row)
				key = 0
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
func AppendRecords(b *Buffer, rows Rows) (n int64, err error) { return appendRecords(b, rows, false) }

// AppendSafeRecords appends rows like AppendRecords, for readers whose numbers are doubles: integers beyond ±(2^53−1),
// also in times, NaN and infinities are texts.
func AppendSafeRecords(b *Buffer, rows Rows) (n int64, err error) {
	return appendRecords(b, rows, true)
}

func appendRecords(b *Buffer, rows Rows, safe bool) (n int64, err error) {
	buf := append(b.scratch[:0], `{"records":{"schema":{"column_schemas":[`...)
	var sums []sumType
	for i, f := range rows.Schema().Fields() {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = value.AppendJSONString(append(buf, `{"name":`...), f.Name)
		if buf = append(buf, `,"data_type":`...); isSum(f) {
			sums = append(sums, sumType{column: i, at: b.Len() + int64(len(buf))})
		}
		buf = value.AppendJSONString(buf, TypeName(f))
		buf = append(buf, '}')
	}
	buf = append(buf, `]},"rows":[`...)
	for rows.Next() {
		rec := rows.RecordBatch()
		for i := range sums {
			sums[i].see(rec)
		}
		columns := cells(rec, style{quote: true, safe: safe})
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
	for _, sum := range sums {
		if err == nil && !sum.large {
			b.replace(sum.at, int64Type)
		}
	}
	return n, err
}

// The engine's sum of integers has 38 digits, because it may exceed 64 bits. It rarely does, and few clients of
// svcdb_v1 support decimals. If all values of an answer fit into 64 bits, the type is therefore named Int64.
//
// int64Type has the same length as the name of the wide type. JSON allows spaces there.
const int64Type = `"Int64"           `

// isSum reports whether a column has the type of such a sum.
func isSum(f arrow.Field) bool {
	d, ok := f.Type.(*arrow.Decimal128Type)
	return ok && d.Precision == 38 && d.Scale == 0
}

// sumType is the position of such a column's type in an answer.
type sumType struct {
	column int
	at     int64
	large  bool // a value is beyond 64 bits
}

func (s *sumType) see(rec arrow.RecordBatch) {
	values, ok := rec.Column(s.column).(*array.Decimal128)
	if !ok {
		s.large = true
		return
	}
	for i := range values.Len() {
		if v := values.Value(i); !values.IsNull(i) && v.HighBits() != int64(v.LowBits())>>63 {
			s.large = true
		}
	}
}
