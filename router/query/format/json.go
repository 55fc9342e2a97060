package format

import (
	"strconv"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

const hexDigits = "0123456789abcdef"

// plain has true for the bytes that stand for themselves in a JSON string.
var plain = func() (t [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// appendJSONString writes s as a JSON string. What is not UTF-8 becomes U+FFFD.
func appendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if plain[c] {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[from:i]...), "\uFFFD"...)
				from = i + 1
			}
			i += size
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

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
		keys[i] = append(appendJSONString([]byte{open}, name), ':')
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
		buf = appendJSONString(append(buf, `{"name":`...), f.Name)
		buf = appendJSONString(append(buf, `,"data_type":`...), TypeName(f))
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
