package format

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

// writeCSV writes lines in the format of RFC 4180, which end with \r\n. A null is empty, an empty text is "",
// timestamps are in RFC 3339 as in NDJSON, and nested values are JSON.
func writeCSV(o *output, rows Rows, names, types bool, options Options) error {
	fields := rows.Schema().Fields()
	if names {
		o.line(fields, func(f arrow.Field) string {
			if options.NoFormulas && isFormula(f.Name) {
				return "'" + f.Name
			}
			return f.Name
		})
	}
	if types {
		o.line(fields, TypeName)
	}
	var value []byte
	for rows.Next() {
		rec := rows.RecordBatch()
		columns := make([]cell, len(fields))
		for i := range columns {
			columns[i] = cellOf(rec.Column(i), style{times: true})
			if options.NoFormulas && Text(rec.Column(i)) != nil {
				columns[i] = withoutFormulas(columns[i])
			}
		}
		for row := range int(rec.NumRows()) {
			for c, cell := range columns {
				if c > 0 {
					o.buf = append(o.buf, ',')
				}
				if isNull(rec.Column(c), row) {
					continue
				}
				value = cell(value[:0], row)
				o.buf = appendCSV(o.buf, value)
			}
			o.buf = append(o.buf, "\r\n"...)
			if err := o.spill(); err != nil {
				return err
			}
		}
		if err := o.batchDone(); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return o.write()
}

// withoutFormulas puts an apostrophe in front of the formulas among the texts of a cell.
func withoutFormulas(c cell) cell {
	var value []byte
	return func(dst []byte, row int) []byte {
		value = c(value[:0], row)
		if isFormula(value) {
			dst = append(dst, '\'')
		}
		return append(dst, value...)
	}
}

// isFormula reports whether a spreadsheet may run a text as a formula. Some spreadsheets skip tabs and line ends at the
// begin of a cell, and read wide characters like their narrow forms.
func isFormula[T string | []byte](text T) bool {
	first, _ := utf8.DecodeRuneInString(string(text[:min(len(text), utf8.UTFMax)]))
	return len(text) > 0 && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first)
}

func (o *output) line(fields []arrow.Field, value func(arrow.Field) string) {
	for i, f := range fields {
		if i > 0 {
			o.buf = append(o.buf, ',')
		}
		o.buf = appendCSV(o.buf, []byte(value(f)))
	}
	o.buf = append(o.buf, "\r\n"...)
}

// appendCSV writes a value, in quotes if it needs them.
func appendCSV(dst, v []byte) []byte {
	if len(v) > 0 && v[0] != ' ' && v[len(v)-1] != ' ' && !bytes.ContainsAny(v, ",\"\n\r") {
		return append(dst, v...)
	}
	dst = append(dst, '"')
	for {
		i := bytes.IndexByte(v, '"')
		if i < 0 {
			break
		}
		dst = append(append(dst, v[:i+1]...), '"')
		v = v[i+1:]
	}
	return append(append(dst, v...), '"')
}
